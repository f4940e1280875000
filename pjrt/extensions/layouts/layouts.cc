// Extension 4: layouts as text. Everything is dense row-major.
#include "pjrt/extensions/layouts/layouts.h"

#include <array>

#include "pjrt/entry.h"
#include "pjrt/extensions/extensions.h"
#include "pjrt/handles.h"
#include "pjrt/layout.h"
#include "pjrt/loaded_executable.h"

namespace isthmus::pjrt {

PJRT_Layouts_MemoryLayout* rowMajorLayout(size_t rank) {
  using Table = std::array<PJRT_Layouts_MemoryLayout, 65>;
  static Table& table = *[] {
    auto* layouts = new Table;
    for (size_t i = 0; i < layouts->size(); ++i) (*layouts)[i].text = rowMajorLayoutText(i);
    return layouts;
  }();
  return rank < table.size() ? &table[rank] : nullptr;
}

namespace {

StatusOr<PJRT_Layouts_MemoryLayout*> layoutOf(const ArrayType& type) {
  PJRT_Layouts_MemoryLayout* layout = rowMajorLayout(type.dims.size());
  if (layout == nullptr) return unimplemented("the layout of ", type.toString());
  return layout;
}

Status memoryLayoutDestroy(PJRT_Layouts_MemoryLayout_Destroy_Args&) { return {}; }

Status memoryLayoutSerialize(PJRT_Layouts_MemoryLayout_Serialize_Args& args) {
  ISTHMUS_REQUIRE(args, layout);
  args.serialized_bytes = args.layout->text.data();
  args.serialized_bytes_size = args.layout->text.size();
  args.serialized_layout = reinterpret_cast<PJRT_Layouts_SerializedLayout*>(args.layout);
  args.serialized_layout_deleter = [](PJRT_Layouts_SerializedLayout*) {};
  return {};
}

Status bufferMemoryLayout(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args& args) {
  args.layout = nullptr;
  ISTHMUS_REQUIRE(args, buffer);
  ISTHMUS_ASSIGN_OR_RETURN(args.layout, layoutOf(fromHandle(args.buffer).type()));
  return {};
}

Status clientGetDefaultLayout(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args& args) {
  args.layout = nullptr;
  ISTHMUS_REQUIRE(args, client);
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType type, toArrayType(args.type, args.dims, args.num_dims));
  ISTHMUS_ASSIGN_OR_RETURN(args.layout, layoutOf(type));
  return {};
}

Status topologyGetDefaultLayout(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args& args) {
  args.layout = nullptr;
  ISTHMUS_REQUIRE(args, topology_description);
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType type, toArrayType(args.type, args.dims, args.num_dims));
  ISTHMUS_ASSIGN_OR_RETURN(args.layout, layoutOf(type));
  return {};
}

Status executableGetOutputLayouts(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  args.num_outputs = args.executable->outputLayouts.size();
  args.layouts = args.executable->outputLayouts.data();
  return {};
}

Status executableGetParameterLayouts(PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  args.num_parameters = args.executable->parameterLayouts.size();
  args.layouts = args.executable->parameterLayouts.data();
  return {};
}

}  // namespace

PJRT_Extension_Base& layoutsExtension() {
  static PJRT_Layouts_Extension extension = {
      .base = {sizeof(PJRT_Layouts_Extension), PJRT_Extension_Type_Layouts, nullptr},
      .PJRT_Layouts_MemoryLayout_Destroy = kEntry<&memoryLayoutDestroy>,
      .PJRT_Layouts_MemoryLayout_Serialize = kEntry<&memoryLayoutSerialize>,
      .PJRT_Layouts_PJRT_Client_GetDefaultLayout = kEntry<&clientGetDefaultLayout>,
      .PJRT_Layouts_PJRT_Buffer_MemoryLayout = kEntry<&bufferMemoryLayout>,
      .PJRT_Layouts_PJRT_Topology_GetDefaultLayout = kEntry<&topologyGetDefaultLayout>,
      .PJRT_Layouts_PJRT_Executable_GetOutputLayouts = kEntry<&executableGetOutputLayouts>,
      .PJRT_Layouts_PJRT_Executable_GetParameterLayouts = kEntry<&executableGetParameterLayouts>,
  };
  return extension.base;
}

}  // namespace isthmus::pjrt
