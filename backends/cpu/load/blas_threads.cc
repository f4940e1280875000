// OpenBLAS's functions are found in the libraries that the process has loaded: SciPy brings its
// own.
#include "backends/cpu/load/blas_threads.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <mutex>
#include <string_view>

#include "runtime/threads/fork.h"
#include "runtime/threads/fork_mutex.h"

namespace isthmus::cpu {
namespace {

struct OpenBlas {
  void (*setThreads)(int) = nullptr;
  int (*threads)() = nullptr;
};

// NumPy's, whose integers are longer and whose functions have other names, is not LAPACK for
// jaxlib.
int findOpenBlas(dl_phdr_info* info, size_t, void* result) {
  const std::string_view path = info->dlpi_name;
  if (path.substr(path.rfind('/') + 1).find("openblas") == path.npos) return 0;
  void* library = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return 0;
  auto& found = *static_cast<OpenBlas*>(result);
  for (auto [set, get] :
       {std::pair("scipy_openblas_set_num_threads", "scipy_openblas_get_num_threads"),
        std::pair("openblas_set_num_threads", "openblas_get_num_threads")}) {
    found.setThreads = reinterpret_cast<void (*)(int)>(dlsym(library, set));
    found.threads = reinterpret_cast<int (*)()>(dlsym(library, get));
    if (found.setThreads != nullptr && found.threads != nullptr) return 1;
  }
  found = {};
  dlclose(library);
  return 0;
}

class BlasThreads {
 public:
  void limit() {
    std::lock_guard lock(mutex_);
    if (generation_ != forkGeneration()) {
      // Who limited them stayed in the parent process.
      generation_ = forkGeneration();
      users_ = 0;
    }
    if (users_++ > 0) return;
    if (before_ = blas_.threads(); before_ > 1) blas_.setThreads(1);
  }

  void restore() {
    std::lock_guard lock(mutex_);
    if (users_ == 0 || --users_ > 0) return;
    // Whoever else has set another number means it.
    if (before_ > 1 && blas_.threads() == 1) blas_.setThreads(before_);
  }

  bool isThere() const { return blas_.setThreads != nullptr; }

  static BlasThreads& ofProcess() {
    static auto* threads = new BlasThreads();
    return *threads;
  }

 private:
  BlasThreads() { dl_iterate_phdr(findOpenBlas, &blas_); }

  OpenBlas blas_;
  ForkMutex mutex_;
  uint32_t generation_ = forkGeneration();
  int users_ = 0;
  int before_ = 0;
};

}  // namespace

OneBlasThread::OneBlasThread(bool isWanted)
    : isWanted_(isWanted && BlasThreads::ofProcess().isThere()) {
  if (isWanted_) BlasThreads::ofProcess().limit();
}

OneBlasThread::~OneBlasThread() {
  if (isWanted_) BlasThreads::ofProcess().restore();
}

}  // namespace isthmus::cpu
