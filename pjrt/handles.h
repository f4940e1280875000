// The objects behind the opaque handles of the C API.
//
// Buffers, devices and loaded executables are the runtime's own objects under another name, so the
// calls on the dispatch path allocate nothing but the object itself. The others are structures of
// this layer, which hold what callers may point into.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "isthmus/backend.h"
#include "isthmus/pjrt_c_api.h"
#include "pjrt/named_value.h"
#include "runtime/buffer/buffer.h"
#include "runtime/client.h"
#include "runtime/device/device.h"
#include "runtime/device/topology.h"
#include "runtime/memory/mapped_ranges.h"
#include "runtime/memory/memory.h"

// One memory of a device description (extension 6).
struct PJRT_MemoryDescription {
  std::string kind;
  int kindId;
};

// Owned by a PJRT_TopologyDescription.
struct PJRT_DeviceDescription {
  explicit PJRT_DeviceDescription(const isthmus::DeviceDescription& description);
  PJRT_DeviceDescription(const PJRT_DeviceDescription&) = delete;

  const isthmus::DeviceDescription& description;
  isthmus::pjrt::NamedValueList attributes;
  std::vector<PJRT_MemoryDescription> memories;
  std::vector<const PJRT_MemoryDescription*> memoryPointers;
  size_t defaultMemory = static_cast<size_t>(-1);
};

// Owned by the client, or by the caller that created it.
struct PJRT_TopologyDescription {
  PJRT_TopologyDescription(isthmus::Topology topology, bool isOwnedByClient);
  PJRT_TopologyDescription(const PJRT_TopologyDescription&) = delete;

  const isthmus::Topology topology;
  const bool isOwnedByClient;
  isthmus::pjrt::NamedValueList attributes;
  std::vector<std::unique_ptr<PJRT_DeviceDescription>> descriptions;
  std::vector<PJRT_DeviceDescription*> descriptionPointers;
  std::vector<int> memoryKindIds;
};

namespace isthmus::pjrt {

// A memory with the framework's data on it. PJRT_Memory itself is only the vtable pointer.
struct MemoryHandle : PJRT_Memory {
  explicit MemoryHandle(isthmus::Memory& memory);
  ~MemoryHandle();
  MemoryHandle(const MemoryHandle&) = delete;

  struct UserData {
    void* data;
    void (*destroy)(void*);
  };

  isthmus::Memory& memory;
  std::mutex mutex;
  std::unordered_map<const void*, UserData> userData;
};

}  // namespace isthmus::pjrt

// Belongs to the runtime's client and dies with it, that is when the framework's handle and all
// buffers and executables are gone. The framework's handle is one reference of the runtime client.
struct PJRT_Client {
  explicit PJRT_Client(isthmus::Client& client);
  PJRT_Client(const PJRT_Client&) = delete;

  // What PJRT_Client_Create attached to a runtime client.
  static PJRT_Client& of(isthmus::Client& client) {
    return *static_cast<PJRT_Client*>(client.attachment());
  }

  isthmus::Client& client;
  PJRT_TopologyDescription topology;
  isthmus::MappedRanges mapped;
  std::vector<std::unique_ptr<isthmus::pjrt::MemoryHandle>> memories;  // by Memory::id()
  std::vector<PJRT_Memory*> memoryPointers;                            // in the client's order
  // The memories of each device, one device after another.
  std::unordered_map<const isthmus::Device*, std::vector<PJRT_Memory*>> deviceMemories;
};

namespace isthmus::pjrt {

inline Device& fromHandle(PJRT_Device* device) { return *reinterpret_cast<Device*>(device); }
inline PJRT_Device* toHandle(Device* device) { return reinterpret_cast<PJRT_Device*>(device); }
inline PJRT_Device* const* toHandles(std::span<Device* const> devices) {
  return reinterpret_cast<PJRT_Device* const*>(devices.data());
}

inline Memory& fromHandle(PJRT_Memory* memory) {
  return static_cast<MemoryHandle*>(memory)->memory;
}
inline PJRT_Memory* toHandle(Memory& memory) {
  return PJRT_Client::of(memory.client()).memories[memory.id()].get();
}

inline Buffer& fromHandle(PJRT_Buffer* buffer) { return *reinterpret_cast<Buffer*>(buffer); }
// Gives the reference to the caller, who destroys it with PJRT_Buffer_Destroy.
inline PJRT_Buffer* toHandle(BufferRef buffer) {
  return reinterpret_cast<PJRT_Buffer*>(buffer.detach());
}

// The element type of a request; kInvalidArgument if it is none that this plugin knows.
StatusOr<ElementType> toElementType(PJRT_Buffer_Type type);
// A valid array type from a caller's shape. Copies `dims`.
StatusOr<ArrayType> toArrayType(PJRT_Buffer_Type type, const int64_t* dims, size_t rank);

// Equal numbers for equal kinds, in every client and topology; never 0.
int memoryKindId(std::string_view kind);

}  // namespace isthmus::pjrt
