// Extension 6: the memories of a device description, also of devices that are not here.
#include "pjrt/entry.h"
#include "pjrt/extensions/extensions.h"
#include "pjrt/handles.h"

namespace isthmus::pjrt {
namespace {

Status memoryDescriptions(PJRT_DeviceDescription_MemoryDescriptions_Args& args) {
  ISTHMUS_REQUIRE(args, device_description);
  const auto& description = *args.device_description;
  args.memory_descriptions = description.memoryPointers.data();
  args.num_memory_descriptions = description.memoryPointers.size();
  args.default_memory_index = description.defaultMemory;
  return {};
}

Status memoryDescriptionKind(PJRT_MemoryDescription_Kind_Args& args) {
  ISTHMUS_REQUIRE(args, memory_description);
  args.kind = args.memory_description->kind.data();
  args.kind_size = args.memory_description->kind.size();
  args.kind_id = args.memory_description->kindId;
  return {};
}

}  // namespace

PJRT_Extension_Base& memoryDescriptionsExtension() {
  static PJRT_MemoryDescriptions_Extension extension = {
      .base = {sizeof(PJRT_MemoryDescriptions_Extension), PJRT_Extension_Type_MemoryDescriptions,
               nullptr},
      .PJRT_DeviceDescription_MemoryDescriptions = kEntry<&memoryDescriptions>,
      .PJRT_MemoryDescription_Kind = kEntry<&memoryDescriptionKind>,
  };
  return extension.base;
}

}  // namespace isthmus::pjrt
