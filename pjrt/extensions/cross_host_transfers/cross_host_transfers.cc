// Extension 12: buffers sent to, and received from, devices of other processes.
#include "pjrt/buffer/layout.h"
#include "pjrt/entry.h"
#include "pjrt/event.h"
#include "pjrt/extensions/extensions.h"
#include "pjrt/handles.h"
#include "runtime/buffer/process_transfers.h"

namespace isthmus::pjrt {
namespace {

Status sendBuffers(PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args& args) {
  ISTHMUS_REQUIRE(args, client);
  if (args.num_buffers == 0) return {};
  ISTHMUS_REQUIRE(args, buffers);
  ISTHMUS_REQUIRE(args, dst_global_device_ids);
  ISTHMUS_REQUIRE(args, transfer_keys);
  ISTHMUS_REQUIRE(args, send_events);
  Client& client = args.client->client;
  // All is checked before anything is sent, since nothing can be called back.
  std::vector<Device*> destinations;
  for (size_t i = 0; i < args.num_buffers; ++i) {
    args.send_events[i] = nullptr;
    ISTHMUS_RETURN_IF_ERROR(checkPresent(args, args.buffers[i] != nullptr, "buffers[i]"));
    ISTHMUS_ASSIGN_OR_RETURN(Device * device, client.lookupDevice(args.dst_global_device_ids[i]));
    if (device->isAddressable()) {
      return invalidArgument("CrossHostSendBuffers: device ", device->id(), " of buffer ", i,
                             " is of this process");
    }
    destinations.push_back(device);
  }
  for (size_t i = 0; i < args.num_buffers; ++i) {
    StatusOr<Event> sent =
        sendToProcess(fromHandle(args.buffers[i]), *destinations[i], args.transfer_keys[i]);
    // Of one that cannot be sent the event says so; the others are on their way.
    args.send_events[i] = toHandle(sent.ok() ? std::move(*sent) : Event::of(sent.status()));
  }
  return {};
}

Status receiveBuffers(PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args& args) {
  ISTHMUS_REQUIRE(args, client);
  if (args.num_shapes == 0) return {};
  ISTHMUS_REQUIRE(args, shape_num_dims);
  ISTHMUS_REQUIRE(args, num_dims);
  ISTHMUS_REQUIRE(args, element_types);
  ISTHMUS_REQUIRE(args, device);
  ISTHMUS_REQUIRE(args, src_global_device_ids);
  ISTHMUS_REQUIRE(args, transfer_keys);
  ISTHMUS_REQUIRE(args, buffers);
  Client& client = args.client->client;
  Memory* memory = fromHandle(args.device).defaultMemory();
  if (memory == nullptr) {
    return invalidArgument("CrossHostReceiveBuffers: device ", fromHandle(args.device).id(),
                           " is of another process");
  }
  std::vector<Device*> sources;
  std::vector<ArrayType> types;
  for (size_t i = 0; i < args.num_shapes; ++i) {
    args.buffers[i] = nullptr;
    ISTHMUS_ASSIGN_OR_RETURN(Device * device, client.lookupDevice(args.src_global_device_ids[i]));
    if (device->isAddressable()) {
      return invalidArgument("CrossHostReceiveBuffers: device ", device->id(), " of buffer ", i,
                             " is of this process");
    }
    sources.push_back(device);
    ISTHMUS_ASSIGN_OR_RETURN(
        ArrayType type,
        toDeviceArrayType(args.element_types[i], args.num_dims[i], args.shape_num_dims[i],
                          args.layouts != nullptr ? args.layouts[i] : nullptr));
    types.push_back(std::move(type));
  }
  for (size_t i = 0; i < args.num_shapes; ++i) {
    StatusOr<BufferRef> buffer =
        receiveFromProcess(*memory, types[i], *sources[i], args.transfer_keys[i]);
    if (!buffer.ok()) buffer = client.errorBuffer(*memory, types[i], buffer.status());
    ISTHMUS_RETURN_IF_ERROR(buffer.status());
    args.buffers[i] = toHandle(std::move(*buffer));
  }
  return {};
}

}  // namespace

PJRT_Extension_Base& crossHostTransfersExtension() {
  static PJRT_CrossHostTransfers_Extension extension = {
      .base = {sizeof(PJRT_CrossHostTransfers_Extension), PJRT_Extension_Type_CrossHostTransfers,
               nullptr},
      .PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers =
          kStub<PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args>,
      // Nobody can have what it asks for: a descriptor that the function above made.
      .PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice = nullptr,
      .PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers = kEntry<&receiveBuffers>,
      .PJRT_Transfers_PJRT_Client_CrossHostSendBuffers = kEntry<&sendBuffers>,
  };
  return extension.base;
}

}  // namespace isthmus::pjrt
