#include "backends/cuda/driver/library.h"

#include "base/shared_library.h"

namespace isthmus::cuda {

StatusOr<Library> loadLibrary(const std::string& path) {
  StatusOr<SharedLibrary> found = SharedLibrary::open("NVIDIA driver", path);
  if (!found.ok()) {
    return notFound(found.status().message(),
                    "; platform cuda needs the driver of an NVIDIA GPU, which brings that library");
  }
  Library library;
  library.path = path;
#define ISTHMUS_CUDA_FIND(name, symbol, parameters)                                   \
  if (Status status = found->find(symbol, library.name); !status.ok()) {              \
    return notFound(status.message(), ": a driver for CUDA 12.0 or newer is needed"); \
  }
  ISTHMUS_CUDA_FUNCTIONS(ISTHMUS_CUDA_FIND)
#undef ISTHMUS_CUDA_FIND
  CUresult code = library.Init(0);
  if (code == CUDA_ERROR_NO_DEVICE) {
    return notFound("the NVIDIA driver at ", path,
                    " finds no device (cuInit: CUDA_ERROR_NO_DEVICE)");
  }
  ISTHMUS_RETURN_IF_ERROR(library.check(code, "cuInit"));
  return library;
}

Status Library::check(CUresult code, const char* call) const {
  if (code == CUDA_SUCCESS) return {};
  const char* name = nullptr;
  const char* sentence = nullptr;
  if (GetErrorName(code, &name) != CUDA_SUCCESS || !name) name = "an error that has no name";
  if (GetErrorString(code, &sentence) != CUDA_SUCCESS || !sentence) sentence = "unknown";
  if (code == CUDA_ERROR_OUT_OF_MEMORY) {
    return resourceExhausted(call, " failed: ", name, " (", sentence, ")");
  }
  if (code == CUDA_ERROR_NO_DEVICE) return notFound(call, " failed: ", name);
  return internalError(call, " failed: ", name, " (", code, ", ", sentence, ")");
}

}  // namespace isthmus::cuda
