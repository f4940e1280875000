// Libraries that are found by name when they are first needed.
#pragma once

#include <span>
#include <string>

#include "isthmus/status.h"

namespace isthmus {

// Stays loaded for as long as the process lives, and keeps its symbols to itself: two drivers may
// bring libraries of the same names.
class SharedLibrary {
 public:
  // Loads the first of `names` that is there. `what` it is, in errors: "cuBLASLt". kNotFound, with
  // the first name and what the linker said of it, if there is none.
  static StatusOr<SharedLibrary> open(std::string what, std::span<const std::string> names);
  static StatusOr<SharedLibrary> open(std::string what, const std::string& name) {
    return open(std::move(what), {&name, 1});
  }

  // Sets `function` to what the library has of that name. kNotFound, naming both, if it has none.
  template <typename Function>
  Status find(const char* symbol, Function*& function) const {
    ISTHMUS_ASSIGN_OR_RETURN(void* address, addressOf(symbol));
    function = reinterpret_cast<Function*>(address);
    return {};
  }

  // By which it was loaded.
  const std::string& name() const { return name_; }

 private:
  SharedLibrary(std::string what, std::string name, void* handle)
      : what_(std::move(what)), name_(std::move(name)), handle_(handle) {}
  StatusOr<void*> addressOf(const char* symbol) const;

  std::string what_, name_;
  void* handle_;
};

}  // namespace isthmus
