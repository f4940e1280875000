// What a launch costs beside the program: inline, queued, with donation, with many arguments.
#include <benchmark/benchmark.h>

#include "runtime/memory/host_allocator.h"
#include "runtime/runtime_testing.h"
#include "runtime/threads/thread_pool.h"

namespace isthmus {
namespace {

using isthmus::testing::f32;
using isthmus::testing::Fixture;
using isthmus::testing::output;
using isthmus::testing::parameter;

void launchOnce(LoadedExecutable& program, Buffer* argument, BufferRef& result) {
  DeviceLaunch launch{{&argument, 1}, {&result, 1}, nullptr};
  if (!program.execute({&launch, 1}, {}).ok()) std::abort();
}

// One scalar in, one out, run on the calling thread.
void inlineScalar(benchmark::State& state) {
  Fixture fixture;
  auto program = fixture.addOne(1, true);
  BufferRef x = fixture.buffer({1});
  for (auto _ : state) {
    BufferRef y;
    launchOnce(*program, x.get(), y);
    benchmark::DoNotOptimize(y);
  }
}
BENCHMARK(inlineScalar);

// The same, each result the next argument, given away.
void inlineDonatedChain(benchmark::State& state) {
  Fixture fixture;
  auto program = fixture.addOne(1, true, DonationKind::kMustAlias);
  BufferRef x = fixture.buffer({1});
  for (auto _ : state) {
    BufferRef y;
    launchOnce(*program, x.get(), y);
    x = std::move(y);
  }
}
BENCHMARK(inlineDonatedChain);

// Through the device's thread and back.
void queuedScalarAwaited(benchmark::State& state) {
  Fixture fixture;
  auto program = fixture.addOne(1, false);
  BufferRef x = fixture.buffer({1});
  for (auto _ : state) {
    BufferRef y;
    launchOnce(*program, x.get(), y);
    benchmark::DoNotOptimize(y->readyEvent().await());
  }
}
BENCHMARK(queuedScalarAwaited)->UseRealTime();

// Through the device's thread, not waiting for each.
void queuedScalarChain(benchmark::State& state) {
  Fixture fixture;
  auto program = fixture.addOne(1, false);
  BufferRef x = fixture.buffer({1});
  for (auto _ : state) {
    BufferRef y;
    launchOnce(*program, x.get(), y);
    x = std::move(y);
  }
  benchmark::DoNotOptimize(x->readyEvent().await());
}
BENCHMARK(queuedScalarChain)->UseRealTime();

// As many arguments and results as a model has parameters.
void inlineManyArguments(benchmark::State& state) {
  Fixture fixture;
  auto count = static_cast<size_t>(state.range(0));
  ProgramInfo info;
  for (size_t i = 0; i < count; ++i) {
    info.parameters.push_back(parameter(f32({1}), DonationKind::kMustAlias, static_cast<int>(i)));
    info.outputs.push_back(output(f32({1})));
  }
  auto program = fixture.load(info, [](const RunRequest&) -> Status { return {}; }, true);
  std::vector<BufferRef> values;
  for (size_t i = 0; i < count; ++i) values.push_back(fixture.buffer({1}));
  std::vector<Buffer*> arguments(count);
  std::vector<BufferRef> results(count);
  for (auto _ : state) {
    for (size_t i = 0; i < count; ++i) arguments[i] = values[i].get();
    DeviceLaunch launch{arguments, results, nullptr};
    if (!program->execute({&launch, 1}, {}).ok()) std::abort();
    std::swap(values, results);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(inlineManyArguments)->Arg(10)->Arg(300);

void hostScalar(benchmark::State& state) {
  Fixture fixture;
  float value = 1;
  HostArray array{&value, f32({})};
  for (auto _ : state) {
    benchmark::DoNotOptimize(fixture.client->bufferFromHost(fixture.memory(), array));
  }
}
BENCHMARK(hostScalar);

void allocate(benchmark::State& state) {
  auto bytes = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    void* data = hostAllocate(bytes);
    benchmark::DoNotOptimize(data);
    hostDeallocate(data, bytes);
  }
}
BENCHMARK(allocate)->Arg(4)->Arg(1 << 14)->Arg(1 << 20)->Arg(64 << 20);

void emptyLoop(benchmark::State& state) {
  for (auto _ : state) parallelFor(state.range(0), 1, [](int64_t, int64_t) {});
}
BENCHMARK(emptyLoop)->Arg(1)->Arg(64)->UseRealTime();

}  // namespace
}  // namespace isthmus

BENCHMARK_MAIN();
