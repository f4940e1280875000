// Construction of the structures behind handles.
#include "pjrt/handles.h"

#include <algorithm>
#include <string_view>

namespace isthmus::pjrt {

StatusOr<ElementType> toElementType(PJRT_Buffer_Type type) {
  auto value = static_cast<int32_t>(type);
  if (value <= static_cast<int32_t>(ElementType::kInvalid) ||
      value > static_cast<int32_t>(ElementType::kF6E3M2FN)) {
    return invalidArgument("unknown element type ", value);
  }
  return static_cast<ElementType>(value);
}

StatusOr<ArrayType> toArrayType(PJRT_Buffer_Type type, const int64_t* dims, size_t rank) {
  if (dims == nullptr && rank != 0) return invalidArgument("null dimensions of rank ", rank);
  ArrayType result;
  ISTHMUS_ASSIGN_OR_RETURN(result.elementType, toElementType(type));
  result.dims.assign(dims, dims + rank);
  if (!result.isValid()) {
    return invalidArgument("invalid shape ", result.toString(),
                           ": a dimension is negative or the size does not fit");
  }
  return result;
}

int memoryKindId(std::string_view kind) {
  // FNV-1a, cut to a positive int.
  uint32_t hash = 2166136261u;
  for (char c : kind) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return static_cast<int>(hash & 0x7fffffff) | 1;
}

MemoryHandle::~MemoryHandle() {
  for (const auto& [key, value] : userData) {
    if (value.destroy != nullptr) value.destroy(value.data);
  }
}

}  // namespace isthmus::pjrt

PJRT_DeviceDescription::PJRT_DeviceDescription(const isthmus::DeviceDescription& source)
    : description(source), attributes(source.attributes) {
  for (const auto& memory : source.memories) {
    if (memory.isDefault) defaultMemory = memories.size();
    memories.push_back({memory.kind, isthmus::pjrt::memoryKindId(memory.kind)});
  }
  for (const auto& memory : memories) memoryPointers.push_back(&memory);
}

PJRT_TopologyDescription::PJRT_TopologyDescription(isthmus::Topology source, bool ownedByClient)
    : topology(std::move(source)), isOwnedByClient(ownedByClient), attributes(topology.attributes) {
  for (const auto& device : topology.devices) {
    auto& description = descriptions.emplace_back(std::make_unique<PJRT_DeviceDescription>(device));
    descriptionPointers.push_back(description.get());
    for (const auto& memory : description->memories) {
      if (std::find(memoryKindIds.begin(), memoryKindIds.end(), memory.kindId) ==
          memoryKindIds.end()) {
        memoryKindIds.push_back(memory.kindId);
      }
    }
  }
}

PJRT_Client::PJRT_Client(isthmus::Client& source)
    : client(source), topology(source.topology(), /*isOwnedByClient=*/true) {
  for (isthmus::Memory* memory : source.memories()) {
    if (memories.size() <= static_cast<size_t>(memory->id())) memories.resize(memory->id() + 1);
    memories[memory->id()] = std::make_unique<isthmus::pjrt::MemoryHandle>(*memory);
    memoryPointers.push_back(memories[memory->id()].get());
  }
  for (isthmus::Device* device : source.devices()) {
    for (isthmus::Memory* memory : device->memories()) {
      deviceMemories[device].push_back(memories[memory->id()].get());
    }
  }
}
