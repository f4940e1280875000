// Calls that no caller should make, and legal ones in an order that few expect.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "conformance/check.h"
#include "conformance/checks/launch.h"
#include "conformance/checks/programs.h"
#include "conformance/checks/transfer.h"

namespace isthmus::conformance {
namespace {

// x + 3000000, one by one: what is asked meanwhile is asked of a program that runs.
constexpr std::string_view kLong = R"(module @long {
  func.func public @main(%x: tensor<4xi32>) -> tensor<4xi32> {
    %n = stablehlo.constant dense<3000000> : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<4xi32>
    %step = stablehlo.constant dense<1> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xi32>
      cond {
        %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %j = stablehlo.add %i, %step : tensor<i32>
        %w = stablehlo.add %v, %one : tensor<4xi32>
        stablehlo.return %j, %w : tensor<i32>, tensor<4xi32>
      }
    return %r#1 : tensor<4xi32>
  }
}
)";

// A launch of it, of 0, 1, 2, 3, that nobody has awaited.
struct LongLaunch {
  explicit LongLaunch(Session& s)
      : executable(s.compile(kLong)), x(s.fromHost(HostArray::of<int32_t>({4}, {0, 1, 2, 3}))) {
    Session::ExecuteSettings settings;
    settings.wantsEvents = false;
    result = std::move(s.execute(executable, {{x.get()}}, settings)[0][0]);
  }

  LoadedExecutable executable;
  Buffer x, result;
  const HostArray expected = HostArray::of<int32_t>({4}, {3000000, 3000001, 3000002, 3000003});
};

// Of two arguments, of which the first is donated.
constexpr std::string_view kSumInPlace = R"(module @sum_in_place {
  func.func public @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<4xf32>) -> tensor<4xf32> {
    %r = stablehlo.add %x, %y : tensor<4xf32>
    return %r : tensor<4xf32>
  }
}
)";

// Makes the client of another session. Skips the check if the plugin has one client alone.
void needClient(Session& another) {
  try {
    another.client();
  } catch (const Failure& failure) {
    throw Skip(std::string("there is no second client: ") + failure.what());
  }
}

// The launch is refused or fails, or its result is as expected.
void expectErrorOr(Session& s, const HostArray& expected, PJRT_LoadedExecutable* executable,
                   const std::vector<PJRT_Buffer*>& arguments) {
  std::vector<std::vector<Buffer>> results;
  Outcome outcome = s.tryExecute(executable, {arguments}, 1, {}, &results);
  HostArray array;
  if (!results.empty()) {
    const Outcome read = s.tryToHost(results[0][0].get(), &array);
    if (outcome.ok()) outcome = read;
  }
  if (outcome.ok()) return s.expectEqual(expected, array);
  s.expect(!outcome.message.empty(), "an error with a message", nameOf(outcome.code));
}

struct Range {
  int64_t offset, bytes;
};
// Of 16 bytes.
constexpr Range kOutside[] = {
    {-4, 4},        {0, 20},        {16, 4},        {20, 0},
    {8, INT64_MAX}, {INT64_MAX, 4}, {INT64_MIN, 4}, {INT64_MAX, INT64_MAX}};

}  // namespace

ISTHMUS_CHECK(buffer, raw_ranges, kComplete,
              "raw copies of bytes that the buffer does not have are refused, however large their "
              "offsets and sizes are") {
  Buffer buffer = s.fromHost(floats({1, 2, 3, 4}));
  char data[64] = {};
  auto args = make<PJRT_Buffer_CopyRawToHost_Args>();
  args.buffer = buffer.get();
  args.dst = data;
  args.transfer_size = 16;
  s.mayLack(&PJRT_Api::PJRT_Buffer_CopyRawToHost, args);
  if (args.event) s.succeed("the copy", s.await(args.event));
  std::memset(data, 0x5A, sizeof(data));
  for (const Range& range : kOutside) {
    args.offset = range.offset;
    args.transfer_size = range.bytes;
    args.event = nullptr;
    Outcome outcome = s.call(&PJRT_Api::PJRT_Buffer_CopyRawToHost, args);
    if (outcome.ok() && args.event) outcome = s.await(args.event);
    s.refuse("PJRT_Buffer_CopyRawToHost", outcome,
             "for " + std::to_string(range.bytes) + " bytes at " + std::to_string(range.offset));
  }
  s.expect(std::all_of(data, data + sizeof(data), [](char byte) { return byte == 0x5A; }),
           "no byte written by a copy that is refused", "a write");
}

ISTHMUS_CHECK(buffer, impossible_shapes, kComplete,
              "no buffer is made of dimensions that are negative or whose product overflows") {
  for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{
           {-4}, {int64_t{1} << 40, int64_t{1} << 40}, {INT64_MAX}, {-2, -2}, {3, INT64_MIN}}) {
    const std::string why = "for a first dimension of " + std::to_string(dims[0]);
    auto uninitialized = make<PJRT_Client_CreateUninitializedBuffer_Args>();
    uninitialized.client = s.client();
    uninitialized.shape_dims = dims.data();
    uninitialized.shape_num_dims = dims.size();
    uninitialized.shape_element_type = PJRT_Buffer_Type_F32;
    uninitialized.device = s.device();
    uninitialized.memory = s.defaultMemory(s.device());
    if (s.plugin().has(&PJRT_Api::PJRT_Client_CreateUninitializedBuffer)) {
      s.mustFail(&PJRT_Api::PJRT_Client_CreateUninitializedBuffer, uninitialized, why);
    }
    auto shape = make<PJRT_ShapeSpec>();
    shape.dims = dims.data();
    shape.num_dims = dims.size();
    shape.element_type = PJRT_Buffer_Type_F32;
    auto transfer = make<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>();
    transfer.client = s.client();
    transfer.shape_specs = &shape;
    transfer.num_shape_specs = 1;
    transfer.memory = s.defaultMemory(s.device());
    if (s.plugin().has(&PJRT_Api::PJRT_Client_CreateBuffersForAsyncHostToDevice)) {
      s.mustFail(&PJRT_Api::PJRT_Client_CreateBuffersForAsyncHostToDevice, transfer, why);
    }
  }
}

ISTHMUS_CHECK(buffer, destroyed_while_awaited, kComplete,
              "the ready event of a buffer, and a copy that has begun, come though the buffer is "
              "destroyed meanwhile") {
  LongLaunch launch(s);
  auto ready = make<PJRT_Buffer_ReadyEvent_Args>();
  ready.buffer = launch.result.get();
  s.must(&PJRT_Api::PJRT_Buffer_ReadyEvent, ready);
  int32_t data[4] = {};
  auto copy = make<PJRT_Buffer_ToHostBuffer_Args>();
  copy.src = launch.result.get();
  copy.dst = data;
  copy.dst_size = sizeof(data);
  s.must(&PJRT_Api::PJRT_Buffer_ToHostBuffer, copy);
  launch.result.reset();
  launch.x.reset();
  // Whether it is an error that nobody keeps what was awaited is the plugin's to say.
  s.await(ready.event);
  if (copy.event) s.succeed("a copy that has begun", s.await(copy.event));
  s.expectEqual(launch.expected, HostArray::of<int32_t>({4}, {data, data + 4}));
}

ISTHMUS_CHECK(
    executable, destroyed_while_it_runs, kComplete,
    "a launch ends as if nothing had been, though its executable is deleted and destroyed "
    "meanwhile") {
  LongLaunch launch(s);
  auto remove = make<PJRT_LoadedExecutable_Delete_Args>();
  remove.executable = launch.executable.get();
  s.must(&PJRT_Api::PJRT_LoadedExecutable_Delete, remove);
  launch.executable.reset();
  s.expectEqual(launch.expected, s.toHost(launch.result));
}

ISTHMUS_CHECK(execute, argument_of_another_client, kComplete,
              "a buffer of another client is refused, or its elements are taken") {
  LoadedExecutable executable = s.compile(kAddOne);
  Session other(s.plugin(), s.progress());
  needClient(other);
  Buffer x = other.fromHost(floats({1, 2, 3, 4}));
  expectErrorOr(s, floats({2, 3, 4, 5}), executable.get(), {x.get()});
}

ISTHMUS_CHECK(execute, argument_on_another_device, kComplete,
              "a buffer on another device is refused, or its elements are taken") {
  s.device(1);
  LoadedExecutable executable = s.compile(kAddOne);
  Buffer x = s.fromHost(floats({1, 2, 3, 4}), s.device(1));
  expectErrorOr(s, floats({2, 3, 4, 5}), executable.get(), {x.get()});
}

ISTHMUS_CHECK(execute, wrong_number_of_devices, kComplete,
              "a launch with arguments for more or fewer devices than the program has is refused") {
  LoadedExecutable executable = s.compile(kAddOne);
  Buffer x = s.fromHost(floats({1, 2, 3, 4}));
  std::vector<std::vector<Buffer>> results;
  s.refuse("executing", s.tryExecute(executable.get(), {{x.get()}, {x.get()}}, 1, {}, &results),
           "with arguments for two devices instead of one");
  s.refuse("executing", s.tryExecute(executable.get(), {}, 1, {}, &results),
           "with arguments for no device instead of one");
}

ISTHMUS_CHECK(buffer, on_a_device_of_another_client, kComplete,
              "a device or a memory of another client is refused, or the array is there") {
  Session other(s.plugin(), s.progress());
  needClient(other);
  const HostArray array = floats({1, 2, 3, 4});
  auto args = make<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = s.client();
  args.data = array.bytes.data();
  args.type = array.type;
  args.dims = array.dims.data();
  args.num_dims = 1;
  args.device = other.device();
  if (s.call(&PJRT_Api::PJRT_Client_BufferFromHostBuffer, args).ok()) {
    Buffer buffer(s, args.buffer);
    if (args.done_with_host_buffer) s.succeed("the copy", s.await(args.done_with_host_buffer));
    s.expectEqual(array, s.toHost(buffer));
  }
  Buffer source = s.fromHost(array);
  auto copy = make<PJRT_Buffer_CopyToMemory_Args>();
  copy.buffer = source.get();
  copy.dst_memory = s.defaultMemory(other.device());
  if (s.plugin().has(&PJRT_Api::PJRT_Buffer_CopyToMemory) &&
      s.call(&PJRT_Api::PJRT_Buffer_CopyToMemory, copy).ok()) {
    Buffer there(s, copy.dst_buffer);
    s.expectEqual(array, s.toHost(there));
  }
}

ISTHMUS_CHECK(buffer, alias_of_another_device, kComplete,
              "an alias on one device of a buffer on another is refused, or has its elements") {
  s.device(1);
  const int64_t dims[1] = {4};
  auto create = make<PJRT_Client_CreateAliasBuffer_Args>();
  create.client = s.client();
  create.memory = s.defaultMemory(s.device());
  create.shape_dims = dims;
  create.shape_num_dims = 1;
  create.shape_element_type = PJRT_Buffer_Type_F32;
  s.mayLack(&PJRT_Api::PJRT_Client_CreateAliasBuffer, create);
  Buffer alias(s, create.alias_buffer);
  Buffer there = s.fromHost(floats({1, 2, 3, 4}), s.device(1));
  auto fulfill = make<PJRT_Client_FulfillAliasBuffer_Args>();
  fulfill.client = s.client();
  fulfill.buffer = there.get();
  fulfill.status_code = PJRT_Error_Code_OK;
  fulfill.fulfill_alias_buffer_cb = create.fulfill_alias_buffer_cb;
  if (!s.call(&PJRT_Api::PJRT_Client_FulfillAliasBuffer, fulfill).ok()) return;
  LoadedExecutable executable = s.compile(kAddOne);
  expectErrorOr(s, floats({2, 3, 4, 5}), executable.get(), {alias.get()});
}

ISTHMUS_CHECK(donation, same_buffer_twice, kComplete,
              "a buffer that is donated and read by one launch gets an error, or the result is "
              "right") {
  LoadedExecutable executable = s.compile(kSumInPlace);
  Buffer x = s.fromHost(floats({1, 2, 3, 4}));
  expectErrorOr(s, floats({2, 4, 6, 8}), executable.get(), {x.get(), x.get()});
  if (!s.isDeleted(x)) s.expectEqual(floats({1, 2, 3, 4}), s.toHost(x));
}

ISTHMUS_CHECK(donation, from_many_threads, kComplete,
              "of launches at once to which one buffer is donated, one gets it, and all others an "
              "error") {
  constexpr int kThreads = 8;
  LoadedExecutable executable = s.compile(kAddOneInPlace);
  for (int round = 0; round < 20; ++round) {
    Buffer x = s.fromHost(floats({1, 2, 3, 4}));
    std::array<PJRT_Buffer*, kThreads> outputs{};
    std::array<Outcome, kThreads> outcomes;
    std::atomic<int> waiting{kThreads};
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
          --waiting;
          while (waiting > 0) std::this_thread::yield();
          outcomes[t] = launch(s.plugin(), executable.get(), x.get(), &outputs[t]);
        });
      }
    }
    int launched = 0, right = 0;
    for (int t = 0; t < kThreads; ++t) {
      if (!outcomes[t].ok()) {
        s.refuse("executing", outcomes[t], "with a donated buffer");
        continue;
      }
      ++launched;
      Buffer result(s, outputs[t]);
      HostArray array;
      if (!s.tryToHost(result.get(), &array).ok()) continue;
      ++right;
      s.expectEqual(floats({2, 3, 4, 5}), array);
    }
    s.expect(right == 1, "one result", std::to_string(right) + " of " + std::to_string(launched));
    s.expect(s.isDeleted(x), "a deleted argument", "one that lives");
  }
}

ISTHMUS_CHECK(transfer, pieces, kComplete,
              "pieces of a buffer come in any order, and what does not fit it is refused") {
  Transfer transfer(s, s.device(), 2);
  Buffer buffer;
  s.succeed("retrieving the buffer", transfer.retrieve(0, &buffer));
  const float data[4] = {1, 2, 3, 4};
  for (const Range& range : kOutside) {
    s.refuse("transferring", transfer.send(0, data, range.offset, range.bytes, false),
             std::to_string(range.bytes) + " bytes to " + std::to_string(range.offset));
  }
  for (int index : {-1, 2, INT32_MAX, INT32_MIN}) {
    Buffer none;
    s.refuse("transferring", transfer.send(index, data, 0, 4, false),
             "to buffer " + std::to_string(index) + " of 2");
    s.refuse("retrieving", transfer.retrieve(index, &none),
             "buffer " + std::to_string(index) + " of 2");
  }
  s.succeed("the end", transfer.send(0, data + 2, 8, 8, false));
  s.succeed("the beginning", transfer.send(0, data, 0, 8, true));
  s.expectEqual(floats({1, 2, 3, 4}), s.toHost(buffer));
}

ISTHMUS_CHECK(transfer, ended_early, kComplete,
              "what waits for a buffer whose transfer is given up gets an error") {
  Transfer transfer(s, s.device());
  Buffer buffer;
  s.succeed("retrieving the buffer", transfer.retrieve(0, &buffer));
  const float data[2] = {1, 2};
  s.succeed("a half", transfer.send(0, data, 0, 8, false));
  LoadedExecutable executable = s.compile(kAddOne);
  std::vector<std::vector<Buffer>> results;
  // By another thread, since a launch may wait for its arguments.
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    transfer.destroy();
  });
  Outcome outcome = s.tryExecute(executable.get(), {{buffer.get()}}, 1, {}, &results);
  HostArray array;
  if (!results.empty()) outcome = s.tryToHost(results[0][0].get(), &array);
  s.refuse("executing", outcome, "with half an argument");
  later.join();
  s.refuse("reading", s.tryToHost(buffer.get(), &array), "half a buffer");
}

ISTHMUS_CHECK(event, callbacks_may_call, kComplete,
              "a callback may call the plugin: copy to a device, look at it, and destroy it") {
  struct State {
    std::atomic<bool> isDone{false};
    bool isRight = false;
    const Plugin* plugin;
    PJRT_Client* client;
    PJRT_Device* device;
    PJRT_Event* event;
  } state;
  LongLaunch launch(s);
  auto ready = make<PJRT_Buffer_ReadyEvent_Args>();
  ready.buffer = launch.result.get();
  s.must(&PJRT_Api::PJRT_Buffer_ReadyEvent, ready);
  state.plugin = &s.plugin();
  state.client = s.client();
  state.device = s.device();
  state.event = ready.event;
  auto args = make<PJRT_Event_OnReady_Args>();
  args.event = ready.event;
  args.user_arg = &state;
  args.callback = [](PJRT_Error* error, void* arg) {
    auto& state = *static_cast<State*>(arg);
    const Plugin& plugin = *state.plugin;
    plugin.consume(error);
    const float data[4] = {1, 2, 3, 4};
    const int64_t dims[1] = {4};
    auto make_ = make<PJRT_Client_BufferFromHostBuffer_Args>();
    make_.client = state.client;
    make_.data = data;
    make_.type = PJRT_Buffer_Type_F32;
    make_.dims = dims;
    make_.num_dims = 1;
    make_.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
    make_.device = state.device;
    bool isRight = plugin.call(&PJRT_Api::PJRT_Client_BufferFromHostBuffer, make_).ok();
    if (isRight) {
      auto look = make<PJRT_Buffer_Dimensions_Args>();
      look.buffer = make_.buffer;
      isRight = plugin.call(&PJRT_Api::PJRT_Buffer_Dimensions, look).ok() && look.num_dims == 1;
      auto drop = make<PJRT_Event_Destroy_Args>();
      drop.event = make_.done_with_host_buffer;
      if (drop.event) isRight = plugin.call(&PJRT_Api::PJRT_Event_Destroy, drop).ok() && isRight;
      auto destroy = make<PJRT_Buffer_Destroy_Args>();
      destroy.buffer = make_.buffer;
      isRight = plugin.call(&PJRT_Api::PJRT_Buffer_Destroy, destroy).ok() && isRight;
    }
    state.isRight = isRight;
    state.isDone = true;
  };
  s.must(&PJRT_Api::PJRT_Event_OnReady, args);
  s.succeed("the program", s.awaitReady(launch.result));
  for (int i = 0; i < 5000 && !state.isDone; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  s.expect(state.isDone, "a callback that returns", "none within 5 s");
  s.expect(state.isRight, "calls that succeed in a callback", "an error");
  auto destroy = make<PJRT_Event_Destroy_Args>();
  destroy.event = ready.event;
  s.must(&PJRT_Api::PJRT_Event_Destroy, destroy);
}

ISTHMUS_CHECK(client, dma_ranges, kComplete,
              "memory that is mapped for DMA is unmapped once, and what is not mapped is refused") {
  alignas(4096) static char memory[2 * 4096];
  auto map = make<PJRT_Client_DmaMap_Args>();
  map.client = s.client();
  map.data = memory;
  map.size = 4096;
  s.mayLack(&PJRT_Api::PJRT_Client_DmaMap, map);
  auto unmap = make<PJRT_Client_DmaUnmap_Args>();
  unmap.client = s.client();
  unmap.data = memory + 4096;
  s.mustFail(&PJRT_Api::PJRT_Client_DmaUnmap, unmap, "for memory that is not mapped");
  unmap.data = memory;
  s.must(&PJRT_Api::PJRT_Client_DmaUnmap, unmap);
  s.mustFail(&PJRT_Api::PJRT_Client_DmaUnmap, unmap, "for memory that is not mapped any more");
}

}  // namespace isthmus::conformance
