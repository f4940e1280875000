// Installed once for the process.
#include "compiler/target/error_handlers.h"

#include <mutex>
#include <new>
#include <stdexcept>

#include "llvm/Support/ErrorHandling.h"

namespace isthmus {

void installErrorHandlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); });
    llvm::install_fatal_error_handler(
        [](void*, const char* reason, bool) { throw std::runtime_error(reason); });
  });
}

}  // namespace isthmus
