// Extension 5: types, user data and handlers of the foreign function interface.
#include "pjrt/entry.h"
#include "pjrt/executable/execute_context.h"
#include "pjrt/extensions/extensions.h"
#include "runtime/ffi/registry.h"

namespace isthmus::pjrt {
namespace {

Status typeRegister(PJRT_FFI_Type_Register_Args& args) {
  ISTHMUS_REQUIRE(args, type_name);
  void (*deleter)(void*) = args.type_info != nullptr ? args.type_info->deleter : nullptr;
  ISTHMUS_ASSIGN_OR_RETURN(args.type_id, ffi::registerType({args.type_name, args.type_name_size},
                                                           args.type_id, deleter));
  return {};
}

Status userDataAdd(PJRT_FFI_UserData_Add_Args& args) {
  ISTHMUS_REQUIRE(args, context);
  if (!fromHandle(args.context).add(args.user_data.type_id, args.user_data.data)) {
    return Status(StatusCode::kAlreadyExists, "the execute context has user data of type id " +
                                                  std::to_string(args.user_data.type_id) +
                                                  " already");
  }
  return {};
}

Status registerHandler(PJRT_FFI_Register_Handler_Args& args) {
  ISTHMUS_REQUIRE(args, target_name);
  ISTHMUS_REQUIRE(args, handler);
  ffi::Handler handler;
  handler.bundle.execute = reinterpret_cast<XLA_FFI_Handler*>(args.handler);
  handler.traits = static_cast<XLA_FFI_Handler_Traits>(args.traits);
  std::string_view platform;
  if (args.platform_name != nullptr) platform = {args.platform_name, args.platform_name_size};
  return ffi::registerHandler({args.target_name, args.target_name_size}, platform, handler);
}

}  // namespace

PJRT_Extension_Base& ffiExtension() {
  static PJRT_FFI_Extension extension = {
      .base = {sizeof(PJRT_FFI_Extension), PJRT_Extension_Type_FFI, nullptr},
      .type_register = kEntry<&typeRegister>,
      .user_data_add = kEntry<&userDataAdd>,
      .register_handler = kEntry<&registerHandler>,
  };
  return extension.base;
}

}  // namespace isthmus::pjrt
