// openTransport: loads the library that has Gloo in it from beside this one.
#include <dlfcn.h>

#include <filesystem>

#include "runtime/collectives/gloo/module.h"
#include "runtime/collectives/transport.h"

namespace isthmus {
namespace {

// Beside the library (or program) that this code is in.
std::filesystem::path modulePath() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&openTransport), &info) == 0 || info.dli_fname == nullptr) {
    return "libisthmus_gloo.so";
  }
  return std::filesystem::path(info.dli_fname).parent_path() / "libisthmus_gloo.so";
}

StatusOr<OpenGloo*> loadModule() {
  std::string path = modulePath();
  // Never unloaded: connections of other clients may live in it.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Status(StatusCode::kUnavailable,
                  internal::concatenate("a job of several processes needs Gloo: ", dlerror()));
  }
  auto* open = reinterpret_cast<OpenGloo*>(dlsym(library, "isthmus_open_gloo"));
  if (open == nullptr) return internalError(path, " has no isthmus_open_gloo");
  return open;
}

}  // namespace

StatusOr<std::unique_ptr<Transport>> openTransport(KeyValueStore& store,
                                                   const TransportOptions& options) {
  ISTHMUS_ASSIGN_OR_RETURN(OpenGloo * open, loadModule());
  std::unique_ptr<Transport> transport;
  Status status;
  open(store, options, transport, status);
  if (!status.ok()) return status;
  return transport;
}

}  // namespace isthmus
