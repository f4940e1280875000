#include "conformance/plugin.h"

#include <dlfcn.h>

#include <iterator>

namespace isthmus::conformance {

std::string nameOf(PJRT_Error_Code code) {
  static constexpr const char* kNames[] = {"OK",
                                           "CANCELLED",
                                           "UNKNOWN",
                                           "INVALID_ARGUMENT",
                                           "DEADLINE_EXCEEDED",
                                           "NOT_FOUND",
                                           "ALREADY_EXISTS",
                                           "PERMISSION_DENIED",
                                           "RESOURCE_EXHAUSTED",
                                           "FAILED_PRECONDITION",
                                           "ABORTED",
                                           "OUT_OF_RANGE",
                                           "UNIMPLEMENTED",
                                           "INTERNAL",
                                           "UNAVAILABLE",
                                           "DATA_LOSS",
                                           "UNAUTHENTICATED"};
  const auto index = static_cast<size_t>(code);
  return index < std::size(kNames) ? kNames[index] : "error code " + std::to_string(code);
}

Plugin::Plugin(const PJRT_Api* api, std::span<const ClientOption> options) : api_(api) {
  for (const ClientOption& option : options) options_.push_back(option.named());
}

PJRT_Client_Create_Args Plugin::clientArgs() const {
  auto args = make<PJRT_Client_Create_Args>();
  args.create_options = options_.data();
  args.num_options = options_.size();
  return args;
}

Plugin Plugin::load(const std::string& path, std::span<const ClientOption> options) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  using GetApi = const PJRT_Api* (*)();
  auto getApi = reinterpret_cast<GetApi>(dlsym(library, "GetPjrtApi"));
  if (getApi == nullptr) throw std::runtime_error(path + " exports no GetPjrtApi");
  const PJRT_Api* api = getApi();
  if (api == nullptr) throw std::runtime_error("GetPjrtApi returned null");
  return Plugin(api, options);
}

Outcome Plugin::consume(PJRT_Error* error) const {
  if (error == nullptr) return {};
  auto code = make<PJRT_Error_GetCode_Args>();
  code.error = error;
  PJRT_Error* failed = api_->PJRT_Error_GetCode(&code);
  if (failed != nullptr) throw Failure("a code from PJRT_Error_GetCode", "an error");
  auto message = make<PJRT_Error_Message_Args>();
  message.error = error;
  api_->PJRT_Error_Message(&message);
  if (message.message == nullptr && message.message_size != 0) {
    throw Failure("a message from PJRT_Error_Message", "null");
  }
  Outcome outcome{code.code, std::string(message.message, message.message_size)};
  auto destroy = make<PJRT_Error_Destroy_Args>();
  destroy.error = error;
  api_->PJRT_Error_Destroy(&destroy);
  // Tables of errors say OK by no error at all.
  if (outcome.ok()) throw Failure("a null error for success", "an error with code OK");
  return outcome;
}

}  // namespace isthmus::conformance
