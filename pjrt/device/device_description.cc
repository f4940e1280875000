// The entries of PJRT_DeviceDescription.
#include "pjrt/bindings.h"
#include "pjrt/entry.h"
#include "pjrt/handles.h"

namespace isthmus::pjrt {
namespace {

Status deviceDescriptionId(PJRT_DeviceDescription_Id_Args& args) {
  ISTHMUS_REQUIRE(args, device_description);
  args.id = args.device_description->description.id;
  return {};
}

Status deviceDescriptionProcessIndex(PJRT_DeviceDescription_ProcessIndex_Args& args) {
  ISTHMUS_REQUIRE(args, device_description);
  args.process_index = args.device_description->description.processIndex;
  return {};
}

Status deviceDescriptionAttributes(PJRT_DeviceDescription_Attributes_Args& args) {
  ISTHMUS_REQUIRE(args, device_description);
  args.attributes = args.device_description->attributes.data();
  args.num_attributes = args.device_description->attributes.size();
  return {};
}

Status deviceDescriptionKind(PJRT_DeviceDescription_Kind_Args& args) {
  ISTHMUS_REQUIRE(args, device_description);
  args.device_kind = args.device_description->description.kind.data();
  args.device_kind_size = args.device_description->description.kind.size();
  return {};
}

Status deviceDescriptionDebugString(PJRT_DeviceDescription_DebugString_Args& args) {
  ISTHMUS_REQUIRE(args, device_description);
  args.debug_string = args.device_description->description.debugString.data();
  args.debug_string_size = args.device_description->description.debugString.size();
  return {};
}

Status deviceDescriptionToString(PJRT_DeviceDescription_ToString_Args& args) {
  ISTHMUS_REQUIRE(args, device_description);
  args.to_string = args.device_description->description.debugString.data();
  args.to_string_size = args.device_description->description.debugString.size();
  return {};
}

}  // namespace

void bindDeviceDescription(PJRT_Api& api) {
  api.PJRT_DeviceDescription_Id = kEntry<&deviceDescriptionId>;
  api.PJRT_DeviceDescription_ProcessIndex = kEntry<&deviceDescriptionProcessIndex>;
  api.PJRT_DeviceDescription_Attributes = kEntry<&deviceDescriptionAttributes>;
  api.PJRT_DeviceDescription_Kind = kEntry<&deviceDescriptionKind>;
  api.PJRT_DeviceDescription_DebugString = kEntry<&deviceDescriptionDebugString>;
  api.PJRT_DeviceDescription_ToString = kEntry<&deviceDescriptionToString>;
}

}  // namespace isthmus::pjrt
