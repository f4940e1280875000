// What callers promise and keep later: alias buffers, dependencies, destinations, events,
// transfers.
#include "fuzz/inputs/call_sequence.h"
#include "pjrt/testing/programs_testing.h"

namespace isthmus::fuzz {
namespace {

constexpr int64_t kDims[] = {kElements};

PJRT_Memory* memoryOf(PJRT_Buffer* buffer) {
  auto args = make<PJRT_Buffer_Memory_Args>();
  args.buffer = buffer;
  expectOk(call(api().PJRT_Buffer_Memory, args), "Buffer_Memory");
  return args.memory;
}

}  // namespace

// ---- Promises

void CallSequence::createAlias() {
  const size_t where = number(0, kNumDevices - 1);
  auto args = make<PJRT_Client_CreateAliasBuffer_Args>();
  args.client = world_.client;
  args.memory = world_.memories[where];
  args.shape_dims = kDims;
  args.shape_num_dims = 1;
  args.shape_element_type = PJRT_Buffer_Type_F32;
  expectOk(call(api().PJRT_Client_CreateAliasBuffer, args), "CreateAliasBuffer");
  Duty duty{Duty::kAlias, Content::promise()};
  duty.alias = args.fulfill_alias_buffer_cb;
  duty.memory = args.memory;
  add(args.alias_buffer, duty.content, where);
  duties_.push_back(duty);
}

void CallSequence::createEvent() {
  auto args = make<PJRT_Event_Create_Args>();
  expectOk(call(api().PJRT_Event_Create, args), "Event_Create");
  Duty duty{Duty::kEvent, Content::promise()};
  duty.event = args.event;
  watch(args.event, duty.content);
  duties_.push_back(duty);
}

void CallSequence::fulfil(size_t index, bool isFailure) {
  Duty duty = duties_[index];
  const auto code = isFailure ? PJRT_Error_Code_ABORTED : PJRT_Error_Code_OK;
  const char* text = "said so";
  switch (duty.kind) {
    case Duty::kAlias: {
      Buffer* source = isFailure ? nullptr : pick();
      // Waiting for itself it would wait for ever. What has an error by now may wait no more.
      const bool isCyclic = source != nullptr && source->content->dependsOn(*duty.content);
      if (isCyclic && source->content->state() == State::kOpen) return fulfil(index, true);
      auto args = make<PJRT_Client_FulfillAliasBuffer_Args>();
      args.client = world_.client;
      args.status_code = code;
      args.error_message = text;
      args.error_message_size = 7;
      args.buffer = source != nullptr ? source->handle : nullptr;
      args.fulfill_alias_buffer_cb = duty.alias;
      const bool isLegal = source == nullptr || (!source->isDeleted && !isCyclic &&
                                                 memoryOf(source->handle) == duty.memory);
      if (!accepted(call(api().PJRT_Client_FulfillAliasBuffer, args), isLegal,
                    "FulfillAliasBuffer") ||
          isFailure) {
        duty.content->fail();
      } else {
        duty.content->keep(source->content);
      }
      break;
    }
    case Duty::kDonation: {
      PJRT_Buffer_DonateWithControlDependency_Callback_Args args = {sizeof(args), duty.data, code,
                                                                    text, 7};
      duty.donated(&args);
      break;
    }
    case Duty::kRawCopy: {
      PJRT_Buffer_CopyRawToHostFuture_Callback_Args args = {
          sizeof(args), duty.data, code, text, 7, duty.destination};
      duty.destined(&args);
      break;
    }
    case Duty::kEvent: {
      auto args = make<PJRT_Event_Set_Args>();
      args.event = duty.event;
      args.error_code = code;
      args.error_message = text;
      args.error_message_size = 7;
      expectOk(call(api().PJRT_Event_Set, args), "Event_Set");
      accepted(call(api().PJRT_Event_Set, args), false, "Event_Set a second time");
      break;
    }
  }
  if (duty.kind != Duty::kAlias) {
    if (isFailure) {
      duty.content->fail();
    } else {
      duty.content->keep(Content::of({}));
    }
  }
  duties_.erase(duties_.begin() + index);
}

void CallSequence::doDuty() {
  if (!isReleased_ && chance(6)) {
    isReleased_ = true;
    waiters_->keep(Content::of({}));
    testing::releaseWaiters();
  }
  if (duties_.empty()) return;
  fulfil(number(0, static_cast<int>(duties_.size()) - 1), chance(4));
}

// ---- Transfers

void CallSequence::createTransfer() {
  Transfer transfer;
  transfer.device = number(0, kNumDevices - 1);
  std::vector<PJRT_ShapeSpec> shapes(number(0, 3), make<PJRT_ShapeSpec>());
  for (PJRT_ShapeSpec& shape : shapes) {
    shape.dims = kDims;
    shape.num_dims = 1;
    shape.element_type = PJRT_Buffer_Type_F32;
    transfer.entries.push_back({Content::promise(), {}});
  }
  auto args = make<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>();
  args.client = world_.client;
  args.shape_specs = shapes.data();
  args.num_shape_specs = shapes.size();
  args.memory = world_.memories[transfer.device];
  expectOk(call(api().PJRT_Client_CreateBuffersForAsyncHostToDevice, args),
           "CreateBuffersForAsync");
  transfer.handle = args.transfer_manager;
  transfers_.push_back(std::move(transfer));
}

void CallSequence::transferStep() {
  if (transfers_.empty()) return createTransfer();
  const size_t which = number(0, static_cast<int>(transfers_.size()) - 1);
  Transfer& transfer = transfers_[which];
  const int index = number(-1, static_cast<int>(transfer.entries.size()));
  const bool isThere = index >= 0 && index < static_cast<int>(transfer.entries.size());
  auto* entry = isThere ? &transfer.entries[index] : nullptr;
  switch (number(0, 7)) {
    case 0: {
      for (auto& one : transfer.entries) {
        if (!one.isComplete) one.content->fail();
      }
      auto args = make<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args>();
      args.transfer_manager = transfer.handle;
      expectOk(call(api().PJRT_AsyncHostToDeviceTransferManager_Destroy, args),
               "destroy transfers");
      transfers_.erase(transfers_.begin() + which);
      return;
    }
    case 1: {
      auto args = make<PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args>();
      args.transfer_manager = transfer.handle;
      args.buffer_index = index;
      args.error_code = PJRT_Error_Code_ABORTED;
      args.error_message = "no";
      args.error_message_size = 2;
      if (accepted(call(api().PJRT_AsyncHostToDeviceTransferManager_SetBufferError, args),
                   isThere && !entry->isComplete, "SetBufferError")) {
        entry->content->fail();
        entry->isComplete = true;
      }
      return;
    }
    case 2:
    case 3: {
      auto args = make<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>();
      args.transfer_manager = transfer.handle;
      args.buffer_index = index;
      if (accepted(call(api().PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, args),
                   isThere && !entry->isRetrieved, "RetrieveBuffer")) {
        entry->isRetrieved = true;
        add(args.buffer_out, entry->content, transfer.device);
      }
      return;
    }
    default:
      break;
  }
  const int first = number(-1, kElements), count = number(0, kElements);
  const float* data = hostMemory();
  auto args = make<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>();
  args.transfer_manager = transfer.handle;
  args.buffer_index = index;
  args.data = data;
  args.offset = first * static_cast<int>(sizeof(float));
  args.transfer_size = count * static_cast<int>(sizeof(float));
  args.is_last_transfer = chance(2);
  const bool isLegal =
      isThere && !entry->isComplete && first >= 0 && first + count <= static_cast<int>(kElements);
  if (!accepted(call(api().PJRT_AsyncHostToDeviceTransferManager_TransferData, args), isLegal,
                "TransferData")) {
    return;
  }
  for (int i = 0; i < count; ++i) entry->values[first + i] = data[i];
  outlast(args.done_with_h2d_transfer);
  watch(args.done_with_h2d_transfer, Content::of({}));
  if (args.is_last_transfer) {
    entry->content->keep(Content::of(entry->values));
    entry->isComplete = true;
  }
}

}  // namespace isthmus::fuzz
