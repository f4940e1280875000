// Speed of isthmus_rt_sort and isthmus_rt_top_k.
#include <benchmark/benchmark.h>

#include <numeric>

#include "backends/cpu/kernels/kernel_benchmark.h"
#include "backends/cpu/kernels/kernel_testing.h"
#include "backends/cpu/kernels/sort/sort.h"

namespace isthmus::cpu {
namespace {

using E = ElementType;

void sortRows(benchmark::State& state, E type, bool withIndices) {
  int64_t rows = state.range(0), length = state.range(1);
  std::mt19937 rng(1);
  auto data = testing::randomElements(type, rows * length, rng);
  std::vector<char> result(data.size());
  std::vector<int32_t> index(rows * length), indexResult(rows * length);
  std::iota(index.begin(), index.end(), 0);
  std::vector<int32_t> bytes{int32_t(storageBytes(type))};
  if (withIndices) bytes.push_back(4);
  const std::string d = sortBytes({rows, length, 1, 0, 1, {{type, SortOrder::kNumeric, 0}}}, bytes);
  testing::BenchmarkRun run(static_cast<int>(state.range(2)));
  void* alone[] = {data.data(), result.data()};
  void* pair[] = {data.data(), index.data(), result.data(), indexResult.data()};
  for (auto _ : state) isthmus_rt_sort(&run.run, d.data(), withIndices ? pair : alone);
  state.SetItemsProcessed(state.iterations() * rows * length);
}

void topK(benchmark::State& state) {
  std::mt19937 rng(1);
  auto data = testing::randomElements(E::kF32, 1 << 20, rng);
  std::vector<float> values(64);
  std::vector<int32_t> indices(64);
  TopKDescriptor d{1, 1 << 20, 64, E::kF32, 0};
  testing::BenchmarkRun run(1);
  void* buffers[] = {data.data(), values.data(), indices.data()};
  for (auto _ : state) isthmus_rt_top_k(&run.run, &d, buffers);
}

void shapes(benchmark::internal::Benchmark* b) {
  b->Args({1, 1 << 20, 1})->Args({1, 1 << 20, 2})->Args({1000, 1000, 1})->Args({1000, 1000, 2});
  b->Args({4000, 100, 1})->UseRealTime();
}
BENCHMARK_CAPTURE(sortRows, f32, E::kF32, false)->Apply(shapes);
BENCHMARK_CAPTURE(sortRows, s32, E::kS32, false)->Apply(shapes);
BENCHMARK_CAPTURE(sortRows, f64, E::kF64, false)->Apply(shapes);
BENCHMARK_CAPTURE(sortRows, argsort_f32, E::kF32, true)->Apply(shapes);
BENCHMARK(topK);

}  // namespace
}  // namespace isthmus::cpu

BENCHMARK_MAIN();
