// Calls of the client that concern no buffer: host memory for DMA, and topologies that were
// tampered with.
#include <string>

#include "fuzz/inputs/call_sequence.h"

namespace isthmus::fuzz {

void CallSequence::dmaMap() {
  float* data = chance(8) ? nullptr : hostMemory();
  auto map = make<PJRT_Client_DmaMap_Args>();
  map.client = world_.client;
  map.data = data;
  map.size = kElements * sizeof(float);
  auto unmap = make<PJRT_Client_DmaUnmap_Args>();
  unmap.client = world_.client;
  unmap.data = data;
  // Twice, in any order, or never undone, though the memory goes.
  for (int left = number(1, 3); left > 0; --left) {
    int& times = world_.mapped[data];
    if (chance(2)) {
      times += accepted(call(api().PJRT_Client_DmaMap, map), data != nullptr, "DmaMap");
    } else {
      times -= accepted(call(api().PJRT_Client_DmaUnmap, unmap), times > 0, "DmaUnmap");
    }
    if (times == 0) world_.mapped.erase(data);
  }
}

void CallSequence::topology() {
  auto of = make<PJRT_Client_TopologyDescription_Args>();
  of.client = world_.client;
  expectOk(call(api().PJRT_Client_TopologyDescription, of), "Client_TopologyDescription");
  auto serialize = make<PJRT_TopologyDescription_Serialize_Args>();
  serialize.topology = of.topology;
  expectOk(call(api().PJRT_TopologyDescription_Serialize, serialize), "Topology_Serialize");
  std::string text(serialize.serialized_bytes, serialize.serialized_bytes_size);
  serialize.serialized_topology_deleter(serialize.serialized_topology);
  for (int left = number(0, 4); left > 0; --left) {
    size_t at = number(0, static_cast<int>(text.size()) - 1);
    if (chance(4)) {
      text.erase(at, number(1, 8));
    } else if (chance(2)) {
      text.insert(at, std::to_string(in_.ConsumeIntegral<int64_t>()) + " ");
    } else {
      text[at] = in_.ConsumeIntegral<char>();
    }
    if (text.empty()) break;
  }
  auto args = make<PJRT_TopologyDescription_Deserialize_Args>();
  args.serialized_topology = text.data();
  args.serialized_topology_size = text.size();
  if (!call(api().PJRT_TopologyDescription_Deserialize, args).ok()) return;
  auto list = make<PJRT_TopologyDescription_GetDeviceDescriptions_Args>();
  list.topology = args.topology;
  expectOk(call(api().PJRT_TopologyDescription_GetDeviceDescriptions, list), "descriptions");
  for (size_t i = 0; i < list.num_descriptions; ++i) {
    auto id = make<PJRT_DeviceDescription_Id_Args>();
    id.device_description = list.descriptions[i];
    expectOk(call(api().PJRT_DeviceDescription_Id, id), "DeviceDescription_Id");
    expect(id.id >= 0, "a device has an id");
  }
  auto fingerprint = make<PJRT_TopologyDescription_Fingerprint_Args>();
  fingerprint.topology = args.topology;
  expectOk(call(api().PJRT_TopologyDescription_Fingerprint, fingerprint), "Fingerprint");
  auto destroy = make<PJRT_TopologyDescription_Destroy_Args>();
  destroy.topology = args.topology;
  expectOk(call(api().PJRT_TopologyDescription_Destroy, destroy), "Topology_Destroy");
}

}  // namespace isthmus::fuzz
