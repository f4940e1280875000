// Buffers that a check fills in pieces.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "conformance/session.h"

namespace isthmus::conformance {

// A transfer of arrays of type f32[4] to a device.
class Transfer {
 public:
  Transfer(Session& s, PJRT_Device* device, size_t buffers = 1) : session_(s) {
    const int64_t dims[1] = {4};
    auto shape = make<PJRT_ShapeSpec>();
    shape.dims = dims;
    shape.num_dims = 1;
    shape.element_type = PJRT_Buffer_Type_F32;
    std::vector<PJRT_ShapeSpec> shapes(buffers, shape);
    auto create = make<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>();
    create.client = s.client();
    create.shape_specs = shapes.data();
    create.num_shape_specs = shapes.size();
    create.memory = s.defaultMemory(device);
    s.mayLack(&PJRT_Api::PJRT_Client_CreateBuffersForAsyncHostToDevice, create);
    transfer_ = create.transfer_manager;
  }
  ~Transfer() { destroy(); }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // From any thread.
  void destroy() {
    if (transfer_ == nullptr) return;
    auto args = make<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args>();
    args.transfer_manager = std::exchange(transfer_, nullptr);
    session_.plugin().call(&PJRT_Api::PJRT_AsyncHostToDeviceTransferManager_Destroy, args);
  }
  Outcome retrieve(int index, Buffer* buffer) {
    auto args = make<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>();
    args.transfer_manager = transfer_;
    args.buffer_index = index;
    Outcome outcome =
        session_.call(&PJRT_Api::PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, args);
    if (outcome.ok()) *buffer = Buffer(session_, args.buffer_out);
    return outcome;
  }
  // The first buffer.
  Buffer buffer() {
    Buffer buffer;
    session_.succeed("retrieving the buffer", retrieve(0, &buffer));
    return buffer;
  }
  // Bytes of `data`, which stays until they are there.
  Outcome send(int index, const void* data, int64_t offset, int64_t bytes, bool isLast) {
    auto args = make<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>();
    args.transfer_manager = transfer_;
    args.buffer_index = index;
    args.data = data;
    args.offset = offset;
    args.transfer_size = bytes;
    args.is_last_transfer = isLast;
    Outcome outcome =
        session_.call(&PJRT_Api::PJRT_AsyncHostToDeviceTransferManager_TransferData, args);
    if (outcome.ok() && args.done_with_h2d_transfer) {
      outcome = session_.await(args.done_with_h2d_transfer);
    }
    return outcome;
  }
  // The first buffer gets an error. From any thread.
  Outcome fail(std::string_view reason) {
    auto args = make<PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args>();
    args.transfer_manager = transfer_;
    args.error_code = PJRT_Error_Code_DATA_LOSS;
    args.error_message = reason.data();
    args.error_message_size = reason.size();
    return session_.plugin().call(&PJRT_Api::PJRT_AsyncHostToDeviceTransferManager_SetBufferError,
                                  args);
  }

 private:
  Session& session_;
  PJRT_AsyncHostToDeviceTransferManager* transfer_ = nullptr;
};

}  // namespace isthmus::conformance
