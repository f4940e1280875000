#include "base/shared_library.h"

#include <dlfcn.h>

namespace isthmus {

StatusOr<SharedLibrary> SharedLibrary::open(std::string what, std::span<const std::string> names) {
  std::string reason = "it has no name";
  for (size_t i = 0; i < names.size(); ++i) {
    if (void* handle = dlopen(names[i].c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return SharedLibrary(std::move(what), names[i], handle);
    }
    const char* said = dlerror();
    if (i == 0) reason = said ? said : "unknown error";
  }
  return notFound("no ", what, " at ", names.empty() ? std::string() : names[0], ": ", reason);
}

StatusOr<void*> SharedLibrary::addressOf(const char* symbol) const {
  if (void* address = dlsym(handle_, symbol)) return address;
  return notFound("the ", what_, " at ", name_, " has no ", symbol);
}

}  // namespace isthmus
