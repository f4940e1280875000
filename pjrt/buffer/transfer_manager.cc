// The entries of PJRT_AsyncHostToDeviceTransferManager.
#include <memory>
#include <vector>

#include "pjrt/bindings.h"
#include "pjrt/buffer/layout.h"
#include "pjrt/entry.h"
#include "pjrt/event.h"
#include "pjrt/handles.h"
#include "runtime/buffer/host_to_device.h"

struct PJRT_AsyncHostToDeviceTransferManager {
  std::unique_ptr<isthmus::HostToDeviceTransfers> transfers;
  std::vector<isthmus::ArrayType> types;
};

namespace isthmus::pjrt {
namespace {

Status clientCreateBuffersForAsyncHostToDevice(
    PJRT_Client_CreateBuffersForAsyncHostToDevice_Args& args) {
  args.transfer_manager = nullptr;
  ISTHMUS_REQUIRE(args, client);
  ISTHMUS_REQUIRE(args, memory);
  if (args.num_shape_specs != 0) ISTHMUS_REQUIRE(args, shape_specs);
  if (args.device_layouts != nullptr && args.num_device_layouts != 0 &&
      args.num_device_layouts != args.num_shape_specs) {
    return invalidArgument(
        "PJRT_Client_CreateBuffersForAsyncHostToDevice: ", args.num_device_layouts, " layouts for ",
        args.num_shape_specs, " shapes");
  }
  std::vector<ArrayType> types;
  for (size_t i = 0; i < args.num_shape_specs; ++i) {
    const PJRT_ShapeSpec& spec = args.shape_specs[i];
    ISTHMUS_RETURN_IF_ERROR(checkSize(&spec));
    const bool hasLayout = args.device_layouts != nullptr && args.num_device_layouts != 0;
    ISTHMUS_ASSIGN_OR_RETURN(ArrayType type,
                             toDeviceArrayType(spec.element_type, spec.dims, spec.num_dims,
                                               hasLayout ? args.device_layouts[i] : nullptr));
    types.push_back(std::move(type));
  }
  Memory& memory = fromHandle(args.memory);
  if (&memory.client() != &args.client->client) {
    return invalidArgument(
        "PJRT_Client_CreateBuffersForAsyncHostToDevice: the memory is of another client");
  }
  ISTHMUS_ASSIGN_OR_RETURN(auto transfers, HostToDeviceTransfers::create(memory, types));
  args.transfer_manager =
      new PJRT_AsyncHostToDeviceTransferManager{std::move(transfers), std::move(types)};
  return {};
}

Status transferManagerDestroy(PJRT_AsyncHostToDeviceTransferManager_Destroy_Args& args) {
  delete args.transfer_manager;
  return {};
}

Status transferManagerTransferData(PJRT_AsyncHostToDeviceTransferManager_TransferData_Args& args) {
  args.done_with_h2d_transfer = nullptr;
  ISTHMUS_REQUIRE(args, transfer_manager);
  if (args.transfer_size != 0) ISTHMUS_REQUIRE(args, data);
  ISTHMUS_ASSIGN_OR_RETURN(Event event, args.transfer_manager->transfers->transferData(
                                            args.buffer_index, args.data, args.offset,
                                            args.transfer_size, args.is_last_transfer));
  args.done_with_h2d_transfer = toHandle(std::move(event));
  return {};
}

Status transferManagerTransferLiteral(
    PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args& args) {
  args.done_with_h2d_transfer = nullptr;
  ISTHMUS_REQUIRE(args, transfer_manager);
  ISTHMUS_REQUIRE(args, data);
  HostArray array;
  ISTHMUS_ASSIGN_OR_RETURN(
      array.type, toArrayType(args.shape_element_type, args.shape_dims, args.shape_num_dims));
  const auto& types = args.transfer_manager->types;
  if (args.buffer_index < 0 || static_cast<size_t>(args.buffer_index) >= types.size()) {
    return invalidArgument("no buffer ", args.buffer_index, " in a transfer of ", types.size());
  }
  if (array.type != types[args.buffer_index]) {
    return invalidArgument("a literal ", array.type.toString(), " for buffer ", args.buffer_index,
                           " of type ", types[args.buffer_index].toString());
  }
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<int64_t> strides,
                           toByteStrides(args.shape_layout, array.type));
  if (!strides.empty()) array.byteStrides = strides;
  array.data = args.data;
  array.semantics = HostBufferSemantics::kImmutableUntilTransferCompletes;
  ISTHMUS_ASSIGN_OR_RETURN(
      Event event, args.transfer_manager->transfers->transferArray(args.buffer_index, array));
  args.done_with_h2d_transfer = toHandle(std::move(event));
  return {};
}

Status transferManagerRetrieveBuffer(
    PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args& args) {
  args.buffer_out = nullptr;
  ISTHMUS_REQUIRE(args, transfer_manager);
  ISTHMUS_ASSIGN_OR_RETURN(BufferRef buffer,
                           args.transfer_manager->transfers->retrieve(args.buffer_index));
  args.buffer_out = toHandle(std::move(buffer));
  return {};
}

Status transferManagerDevice(PJRT_AsyncHostToDeviceTransferManager_Device_Args& args) {
  ISTHMUS_REQUIRE(args, transfer_manager);
  args.device_out = toHandle(&args.transfer_manager->transfers->device());
  return {};
}

Status transferManagerBufferCount(PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args& args) {
  ISTHMUS_REQUIRE(args, transfer_manager);
  args.buffer_count = args.transfer_manager->transfers->bufferCount();
  return {};
}

Status transferManagerBufferSize(PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args& args) {
  args.buffer_size = 0;
  ISTHMUS_REQUIRE(args, transfer_manager);
  ISTHMUS_ASSIGN_OR_RETURN(args.buffer_size,
                           args.transfer_manager->transfers->bufferSize(args.buffer_index));
  return {};
}

Status transferManagerSetBufferError(
    PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args& args) {
  ISTHMUS_REQUIRE(args, transfer_manager);
  Status error = statusFromParts(args.error_code, args.error_message, args.error_message_size);
  if (error.ok()) {
    return invalidArgument(
        "PJRT_AsyncHostToDeviceTransferManager_SetBufferError: the error code is OK");
  }
  return args.transfer_manager->transfers->setError(args.buffer_index, std::move(error));
}

// Metadata serves only tools that look at transfers; it is checked and dropped.
Status transferManagerAddMetadata(PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args& args) {
  ISTHMUS_REQUIRE(args, transfer_manager);
  return parseNamedValues(args.transfer_metadata, args.num_metadata).status();
}

}  // namespace

void bindTransferManager(PJRT_Api& api) {
  api.PJRT_Client_CreateBuffersForAsyncHostToDevice =
      kEntry<&clientCreateBuffersForAsyncHostToDevice>;
  api.PJRT_AsyncHostToDeviceTransferManager_Destroy = kEntry<&transferManagerDestroy>;
  api.PJRT_AsyncHostToDeviceTransferManager_TransferData = kEntry<&transferManagerTransferData>;
  api.PJRT_AsyncHostToDeviceTransferManager_TransferLiteral =
      kEntry<&transferManagerTransferLiteral>;
  api.PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer = kEntry<&transferManagerRetrieveBuffer>;
  api.PJRT_AsyncHostToDeviceTransferManager_Device = kEntry<&transferManagerDevice>;
  api.PJRT_AsyncHostToDeviceTransferManager_BufferCount = kEntry<&transferManagerBufferCount>;
  api.PJRT_AsyncHostToDeviceTransferManager_BufferSize = kEntry<&transferManagerBufferSize>;
  api.PJRT_AsyncHostToDeviceTransferManager_SetBufferError = kEntry<&transferManagerSetBufferError>;
  api.PJRT_AsyncHostToDeviceTransferManager_AddMetadata = kEntry<&transferManagerAddMetadata>;
}

}  // namespace isthmus::pjrt
