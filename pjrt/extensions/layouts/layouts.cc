// Extension 4: layouts as text. Everything is dense, and row-major unless a caller asks otherwise.
#include "pjrt/extensions/layouts/layouts.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "pjrt/buffer/layout.h"
#include "pjrt/entry.h"
#include "pjrt/executable/loaded_executable.h"
#include "pjrt/extensions/extensions.h"
#include "pjrt/handles.h"
#include "runtime/threads/fork_mutex.h"

namespace isthmus::pjrt {

PJRT_Layouts_MemoryLayout* layoutOf(const ArrayType& type) {
  struct Table {
    ForkMutex mutex;
    std::map<std::vector<int64_t>, PJRT_Layouts_MemoryLayout> layouts;
  };
  static Table& table = *new Table;
  std::vector<int64_t> order = minorToMajorOf(type);
  std::lock_guard lock(table.mutex);
  PJRT_Layouts_MemoryLayout& layout = table.layouts[order];
  if (layout.text.empty()) {
    std::string text = "{";
    for (size_t i = 0; i < order.size(); ++i) {
      text += (i == 0 ? "" : ",") + std::to_string(order[i]);
    }
    layout.text = text + "}";
  }
  return &layout;
}

namespace {

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
  args.layout = layoutOf(fromHandle(args.buffer).type());
  return {};
}

Status clientGetDefaultLayout(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args& args) {
  args.layout = nullptr;
  ISTHMUS_REQUIRE(args, client);
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType type, toArrayType(args.type, args.dims, args.num_dims));
  args.layout = layoutOf(type);
  return {};
}

Status topologyGetDefaultLayout(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args& args) {
  args.layout = nullptr;
  ISTHMUS_REQUIRE(args, topology_description);
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType type, toArrayType(args.type, args.dims, args.num_dims));
  args.layout = layoutOf(type);
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
