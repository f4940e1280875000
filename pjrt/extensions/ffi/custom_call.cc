// Extension 1000: handlers of the older custom call signatures.
#include "pjrt/entry.h"
#include "pjrt/extensions/extensions.h"
#include "runtime/ffi/registry.h"

namespace isthmus::pjrt {
namespace {

Status registerCustomCall(PJRT_Isthmus_CustomCall_Register_Args& args) {
  ISTHMUS_REQUIRE(args, target_name);
  ISTHMUS_REQUIRE(args, function);
  ffi::Handler handler;
  handler.untyped = args.function;
  std::string_view platform;
  if (args.platform_name != nullptr) platform = {args.platform_name, args.platform_name_size};
  return ffi::registerHandler({args.target_name, args.target_name_size}, platform, handler);
}

}  // namespace

PJRT_Extension_Base& customCallExtension() {
  static PJRT_Isthmus_CustomCall_Extension extension = {
      .base = {sizeof(PJRT_Isthmus_CustomCall_Extension), PJRT_Extension_Type_Isthmus_CustomCall,
               nullptr},
      .register_custom_call = kEntry<&registerCustomCall>,
  };
  return extension.base;
}

}  // namespace isthmus::pjrt
