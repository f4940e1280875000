// A PJRT plugin, and how the kit calls it.
#pragma once

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/client_options.h"
#include "isthmus/pjrt_c_api.h"

namespace isthmus::conformance {

// An argument structure as callers make it: sized, everything else zero.
template <typename Args>
Args make() {
  Args args = {};
  args.struct_size = kPjrtStructSize<Args>;
  return args;
}

// What a call returned; the plugin's own object is read and destroyed at once.
struct Outcome {
  PJRT_Error_Code code = PJRT_Error_Code_OK;
  std::string message;
  bool ok() const { return code == PJRT_Error_Code_OK; }
};

// "INVALID_ARGUMENT", or the number of a code that no version has.
std::string nameOf(PJRT_Error_Code code);

// A check stops: the plugin broke the rule.
struct Failure : std::runtime_error {
  Failure(std::string expected, std::string got)
      : std::runtime_error("expected " + expected + ", got " + got),
        expected(std::move(expected)),
        got(std::move(got)) {}
  std::string expected;
  std::string got;
};

// A check stops: the plugin does not have what it is about, and need not.
struct Skip : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Plugin {
 public:
  // Throws std::runtime_error if the library cannot be loaded or exports no GetPjrtApi. Libraries
  // stay loaded until the process ends. `options`, of its clients, outlive it.
  static Plugin load(const std::string& path, std::span<const ClientOption> options);

  const PJRT_Api& api() const { return *api_; }

  // To make a client as the kit was told to. Points into the plugin.
  PJRT_Client_Create_Args clientArgs() const;

  // Whether the plugin's table is long enough for a slot and has something there.
  template <typename Args>
  bool has(PJRT_Entry<Args> PJRT_Api::* slot) const {
    const size_t end = reinterpret_cast<const char*>(&(api_->*slot)) -
                       reinterpret_cast<const char*>(api_) + sizeof(void*);
    return api_->struct_size >= end && api_->*slot != nullptr;
  }

  // Calls an entry. Throws Failure if it is missing.
  template <typename Args>
  Outcome call(PJRT_Entry<Args> PJRT_Api::* slot, Args& args) const {
    if (!has(slot)) throw Failure(functionName<Args>() + " in the table", "none");
    return consume((api_->*slot)(&args));
  }

  // Reads an error, which may be null, and destroys it.
  Outcome consume(PJRT_Error* error) const;

  // "PJRT_Client_Create" for its arguments.
  template <typename Args>
  static std::string functionName() {
    std::string_view name = kPjrtStructName<Args>;
    return std::string(name.substr(0, name.size() - std::string_view("_Args").size()));
  }

 private:
  Plugin(const PJRT_Api* api, std::span<const ClientOption> options);
  const PJRT_Api* api_;
  std::vector<PJRT_NamedValue> options_;
};

}  // namespace isthmus::conformance
