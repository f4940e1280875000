// Programs and events; and the end of a sequence.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include "fuzz/inputs/call_sequence.h"
#include "pjrt/testing/programs_testing.h"

namespace isthmus::fuzz {
namespace {

constexpr const char* kNames[kNumPrograms] = {"stablehlo.add", "accumulate", "may_donate", "host",
                                              "fail",          "wait",       "no_outputs"};
constexpr size_t kMaxObjects = 64;

Values sum(const std::vector<Values>& inputs) {
  Values out;
  for (size_t i = 0; i < kElements; ++i) {
    if (inputs[0][i] && inputs[1][i]) out[i] = *inputs[0][i] + *inputs[1][i];
  }
  return out;
}

size_t arity(int program) { return program == kAdd || program == kAccumulate ? 2 : 1; }
bool donatesFirst(int program) { return program == kAccumulate || program == kMayDonate; }

// CompileOptionsProto: one replica and partition on device 0, or compile_portable_executable.
std::string options(bool isPortable) {
  return isPortable ? std::string("\x1a\x04\x20\x01\x28\x01\x20\x01", 8)
                    : std::string("\x1a\x04\x20\x01\x28\x01", 6);
}

// Whether what a device has can be reached by its address.
bool isHostAddressable(PJRT_Client* client, PJRT_Device* device) {
  const float value = 0;
  auto from = make<PJRT_Client_BufferFromHostBuffer_Args>();
  from.client = client;
  from.data = &value;
  from.type = PJRT_Buffer_Type_F32;
  from.device = device;
  expectOk(call(api().PJRT_Client_BufferFromHostBuffer, from), "BufferFromHostBuffer");
  auto drop = make<PJRT_Event_Destroy_Args>();
  drop.event = from.done_with_host_buffer;
  expectOk(call(api().PJRT_Event_Destroy, drop), "Event_Destroy");
  auto where = make<PJRT_Buffer_IsOnCpu_Args>();
  where.buffer = from.buffer;
  expectOk(call(api().PJRT_Buffer_IsOnCpu, where), "IsOnCpu");
  auto destroy = make<PJRT_Buffer_Destroy_Args>();
  destroy.buffer = from.buffer;
  expectOk(call(api().PJRT_Buffer_Destroy, destroy), "Buffer_Destroy");
  return where.is_on_cpu;
}

}  // namespace

World::World() : client(createClient()) {
  auto all = make<PJRT_Client_AddressableDevices_Args>();
  all.client = client;
  expectOk(call(api().PJRT_Client_AddressableDevices, all), "AddressableDevices");
  devices.assign(all.addressable_devices, all.addressable_devices + all.num_addressable_devices);
  for (PJRT_Device* device : devices) {
    auto list = make<PJRT_Device_AddressableMemories_Args>();
    list.device = device;
    expectOk(call(api().PJRT_Device_AddressableMemories, list), "AddressableMemories");
    memories.push_back(list.memories[0]);
    hostMemories.push_back(list.memories[1]);
  }
  isOnHost = isHostAddressable(client, devices[0]);
  for (const char* name : kNames) {
    for (bool isPortable : {false, true}) {
      Outcome outcome;
      programs.push_back(compile(client, name, options(isPortable), outcome));
      expectOk(outcome, "Compile");
    }
  }
}

void World::destroy() {
  for (PJRT_LoadedExecutable* program : programs) fuzz::destroy(program);
  auto args = make<PJRT_Client_Destroy_Args>();
  args.client = client;
  expectOk(call(api().PJRT_Client_Destroy, args), "Client_Destroy");
}

bool CallSequence::isBlocked() const {
  return std::any_of(launches_.begin(), launches_.end(), [](const Content::Ref& launch) {
    return launch->state() == State::kPending || launch->state() == State::kOpen;
  });
}

void CallSequence::execute() {
  const int program = number(0, kNumPrograms - 1);
  const bool isPortable = chance(2), keepsFirst = chance(4);
  const size_t where = isPortable ? number(0, kNumDevices - 1) : 0;
  std::vector<size_t> chosen;
  for (size_t i = 0; i < arity(program); ++i) chosen.push_back(pick() - buffers_.data());
  const bool donates = donatesFirst(program) && !keepsFirst;
  bool isLegal = !(donates && chosen.size() == 2 && chosen[0] == chosen[1]);
  std::vector<PJRT_Buffer*> arguments;
  std::vector<Content::Ref> inputs;
  for (size_t index : chosen) {
    const Buffer& buffer = buffers_[index];
    isLegal &= !buffer.isDeleted && buffer.isFloat && buffer.device == where;
    arguments.push_back(buffer.handle);
    inputs.push_back(buffer.content);
  }
  const int64_t kept[] = {0};
  auto settings = make<PJRT_ExecuteOptions>();
  settings.non_donatable_input_indices = kept;
  settings.num_non_donatable_input_indices = keepsFirst ? 1 : 0;
  PJRT_Buffer* output = nullptr;
  PJRT_Buffer** outputs = &output;
  PJRT_Buffer* const* lists = arguments.data();
  PJRT_Event* complete = nullptr;
  auto args = make<PJRT_LoadedExecutable_Execute_Args>();
  args.executable = world_.programs[program * 2 + isPortable];
  args.options = &settings;
  args.argument_lists = &lists;
  args.num_devices = 1;
  args.num_args = arguments.size();
  args.output_lists = &outputs;
  args.device_complete_events = &complete;
  args.execute_device = isPortable ? device(where) : nullptr;
  if (!accepted(call(api().PJRT_LoadedExecutable_Execute, args), isLegal, kNames[program])) return;
  if (donates) buffers_[chosen[0]].isDeleted = true;
  Content::Ref result;
  if (program == kWait) inputs.push_back(waiters_);
  if (program == kFail) inputs.push_back(Content::error());
  if (arity(program) == 2) {
    result = Content::computed(inputs, &sum);
  } else {
    result = Content::after(inputs);
  }
  launches_.push_back(result);
  if (program != kNoOutputs) add(output, result, where);
  watch(complete, result);
  outlast(complete);
}

// An executable of this sequence's own: run over bytes, deleted, and refused from then on.
void CallSequence::scratchExecutable() {
  // Rarely: compilation has a thread of its own each time.
  if (!chance(16)) return execute();
  Outcome outcome;
  PJRT_LoadedExecutable* loaded =
      compile(world_.client, kNames[number(0, kNumPrograms - 1)], options(true), outcome);
  expectOk(outcome, "Compile");
  auto get = make<PJRT_LoadedExecutable_GetExecutable_Args>();
  get.loaded_executable = loaded;
  expectOk(call(api().PJRT_LoadedExecutable_GetExecutable, get), "GetExecutable");
  auto serialize = make<PJRT_Executable_Serialize_Args>();
  serialize.executable = get.executable;
  expectOk(call(api().PJRT_Executable_Serialize, serialize), "Serialize");
  auto load = make<PJRT_Executable_DeserializeAndLoad_Args>();
  load.client = world_.client;
  load.serialized_executable = serialize.serialized_bytes;
  load.serialized_executable_size = serialize.serialized_bytes_size;
  if (call(api().PJRT_Executable_DeserializeAndLoad, load).ok())
    fuzz::destroy(load.loaded_executable);
  serialize.serialized_executable_deleter(serialize.serialized_executable);
  auto remove = make<PJRT_LoadedExecutable_Delete_Args>();
  remove.executable = loaded;
  expectOk(call(api().PJRT_LoadedExecutable_Delete, remove), "LoadedExecutable_Delete");
  if (chance(2)) fuzz::destroy(loaded), loaded = nullptr;
  auto drop = make<PJRT_Executable_Destroy_Args>();
  drop.executable = get.executable;
  expectOk(call(api().PJRT_Executable_Destroy, drop), "Executable_Destroy");
  if (loaded != nullptr) fuzz::destroy(loaded);
}

// ---- Events

// Only of what happens without anybody's help.
void CallSequence::check(Watched& watched) {
  auto await = make<PJRT_Event_Await_Args>();
  await.event = watched.event;
  const Outcome outcome = call(api().PJRT_Event_Await, await);
  const bool isGood = watched.content->state() == State::kValue;
  if (outcome.ok() != isGood) {
    std::fprintf(stderr, "an event %s: %s\n", isGood ? "failed" : "should have failed",
                 outcome.message.c_str());
    std::abort();
  }
  auto ready = make<PJRT_Event_IsReady_Args>();
  ready.event = watched.event;
  expectOk(call(api().PJRT_Event_IsReady, ready), "Event_IsReady");
  expect(ready.is_ready, "an event that was awaited is ready");
  auto error = make<PJRT_Event_Error_Args>();
  error.event = watched.event;
  expect(call(api().PJRT_Event_Error, error).ok() == isGood, "an event keeps its error");
  if (!isGood || watched.destination == nullptr) return;
  const Values values = watched.content->values();
  for (size_t i = 0; i < watched.count; ++i) {
    const auto& value = values[watched.first + i];
    expect(!value || *value == watched.destination[i], "the data that came is what was computed");
  }
}

void CallSequence::event() {
  if (watched_.empty()) return readyEvent();
  const size_t index = number(0, static_cast<int>(watched_.size()) - 1);
  Watched& watched = watched_[index];
  const State state = watched.content->state();
  switch (number(0, 3)) {
    case 0: {
      auto args = make<PJRT_Event_OnReady_Args>();
      args.event = watched.event;
      args.user_arg = this;
      args.callback = [](PJRT_Error* error, void* self) {
        consume(error);
        ++static_cast<CallSequence*>(self)->callbacks_;
      };
      expectOk(call(api().PJRT_Event_OnReady, args), "Event_OnReady");
      ++expectedCallbacks_;
      return;
    }
    case 1: {
      auto args = make<PJRT_Event_IsReady_Args>();
      args.event = watched.event;
      expectOk(call(api().PJRT_Event_IsReady, args), "Event_IsReady");
      expect(!(state == State::kPending && args.is_ready), "an event is not ready too early");
      return;
    }
    case 2:
      if ((state == State::kValue || state == State::kError) && !isBlocked()) check(watched);
      return;
    default: {
      // Those that duties set stay until they are set.
      for (const Duty& duty : duties_) {
        if (duty.event == watched.event) return;
      }
      auto args = make<PJRT_Event_Destroy_Args>();
      args.event = watched.event;
      expectOk(call(api().PJRT_Event_Destroy, args), "Event_Destroy");
      watched_.erase(watched_.begin() + index);
    }
  }
}

// ---- The sequence

void CallSequence::step() {
  using Step = void (CallSequence::*)();
  static constexpr Step kSteps[] = {
      &CallSequence::fromHost,       &CallSequence::viewOfMemory, &CallSequence::errorBuffer,
      &CallSequence::uninitialized,  &CallSequence::deleteBuffer, &CallSequence::destroyBuffer,
      &CallSequence::copyToMemory,   &CallSequence::toHost,       &CallSequence::rawToHost,
      &CallSequence::rawToHostLater, &CallSequence::bitcast,      &CallSequence::donateLater,
      &CallSequence::reference,      &CallSequence::dereference,  &CallSequence::readPointer,
      &CallSequence::readyEvent,     &CallSequence::inspect,      &CallSequence::createAlias,
      &CallSequence::createEvent,    &CallSequence::doDuty,       &CallSequence::execute,
      &CallSequence::execute,        &CallSequence::execute,      &CallSequence::scratchExecutable,
      &CallSequence::createTransfer, &CallSequence::transferStep, &CallSequence::transferStep,
      &CallSequence::event,          &CallSequence::event,        &CallSequence::dmaMap,
      &CallSequence::topology};
  if (buffers_.size() > kMaxObjects) return destroyBuffer();
  (this->*kSteps[number(0, std::size(kSteps) - 1)])();
}

void CallSequence::finish() {
  while (!duties_.empty()) fulfil(duties_.size() - 1, (duties_.size() + failsOdd_) % 2 == 0);
  for (Transfer& transfer : transfers_) {
    for (auto& entry : transfer.entries) {
      if (!entry.isComplete) entry.content->fail();
    }
    auto args = make<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args>();
    args.transfer_manager = transfer.handle;
    expectOk(call(api().PJRT_AsyncHostToDeviceTransferManager_Destroy, args), "destroy transfers");
  }
  waiters_->keep(Content::of({}));
  testing::releaseWaiters();
  if (destroysClientFirst_) world_.destroy();
  for (Watched& watched : watched_) {
    check(watched);
    auto args = make<PJRT_Event_Destroy_Args>();
    args.event = watched.event;
    expectOk(call(api().PJRT_Event_Destroy, args), "Event_Destroy");
  }
  for (const auto& [data, content] : lent_) {
    const Values values = content->values();
    for (size_t i = 0; i < kElements; ++i)
      expect(values[i] == data[i], "host arrays stay as they are");
  }
  for (Buffer& buffer : buffers_) destroy(buffer);
  // Callbacks and the ends of views may come a little later, on threads of the plugin.
  for (int wait = 0; wait < 50000; ++wait) {
    if (callbacks_ == expectedCallbacks_ && deletions_ == expectedDeletions_ &&
        ends_ == expectedEnds_) {
      break;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  expect(ends_ == expectedEnds_, "launches and copies end");
  expect(callbacks_ == expectedCallbacks_, "each callback of an event runs once");
  expect(deletions_ == expectedDeletions_, "each view says once that it is not needed any more");
  testing::holdWaiters();
}

bool CallSequence::run() {
  testing::holdWaiters();
  // At the end the bytes are used up.
  destroysClientFirst_ = number(0, 31) == 31;
  failsOdd_ = number(0, 1);
  while (in_.remaining_bytes() > 0) step();
  finish();
  return destroysClientFirst_;
}

}  // namespace isthmus::fuzz
