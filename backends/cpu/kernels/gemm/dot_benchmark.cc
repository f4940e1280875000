// Speed of isthmus_rt_dot. Run with --benchmark_filter=...; the last argument of each name is the
// number of threads.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>

#include "backends/cpu/kernels/gemm/dot.h"
#include "backends/cpu/kernels/kernel_benchmark.h"
#include "backends/cpu/kernels/kernel_testing.h"

namespace isthmus::cpu {
namespace {

struct Shape {
  const char* name;
  ElementType type, result;
  int64_t batch, m, n, k;
  bool rhsTransposed;
};

using E = ElementType;
const Shape kShapes[] = {
    {"f32_1024", E::kF32, E::kF32, 1, 1024, 1024, 1024, false},
    {"f32_1024_nt", E::kF32, E::kF32, 1, 1024, 1024, 1024, true},
    {"f32_512", E::kF32, E::kF32, 1, 512, 512, 512, false},
    {"f32_256x512x512", E::kF32, E::kF32, 1, 256, 512, 512, false},
    {"f32_100x100x2000_nt", E::kF32, E::kF32, 1, 100, 100, 2000, true},
    {"f32_64x64x4096", E::kF32, E::kF32, 1, 64, 64, 4096, false},
    {"f32_120x256x1024", E::kF32, E::kF32, 1, 120, 256, 1024, false},
    {"f32_128", E::kF32, E::kF32, 1, 128, 128, 128, false},
    {"f32_16", E::kF32, E::kF32, 1, 16, 16, 16, false},
    {"f32_64x1024x1024", E::kF32, E::kF32, 1, 64, 1024, 1024, false},
    {"f32_lstm_32x512x128", E::kF32, E::kF32, 1, 32, 512, 128, false},
    {"f32_4x1024x1024", E::kF32, E::kF32, 1, 4, 1024, 1024, false},
    {"f32_matvec_4096", E::kF32, E::kF32, 1, 4096, 1, 4096, false},
    {"f32_vecmat_4096", E::kF32, E::kF32, 1, 1, 4096, 4096, false},
    {"f32_mlp_128x10x784", E::kF32, E::kF32, 1, 128, 10, 784, false},
    {"f32_narrow_4096x32x4096", E::kF32, E::kF32, 1, 4096, 32, 4096, false},
    {"f64_narrow_2048x16x2048", E::kF64, E::kF64, 1, 2048, 16, 2048, false},
    {"f64_512", E::kF64, E::kF64, 1, 512, 512, 512, false},
    {"f64_1024", E::kF64, E::kF64, 1, 1024, 1024, 1024, false},
    {"bf16_1024", E::kBF16, E::kBF16, 1, 1024, 1024, 1024, false},
    {"f16_512", E::kF16, E::kF16, 1, 512, 512, 512, false},
    {"s8_512", E::kS8, E::kS32, 1, 512, 512, 512, false},
    {"s32_512", E::kS32, E::kS32, 1, 512, 512, 512, false},
    {"c64_512", E::kC64, E::kC64, 1, 512, 512, 512, false},
    {"f32_attention_qk", E::kF32, E::kF32, 96, 128, 128, 64, true},
    {"f32_attention_pv", E::kF32, E::kF32, 96, 128, 64, 128, false},
    {"f32_batch1000_8", E::kF32, E::kF32, 1000, 8, 8, 8, false},
};

void run(benchmark::State& state, const Shape& s, int threads) {
  std::vector<int64_t> lhs{s.batch, s.m, s.k}, rhs{s.batch, s.k, s.n}, batching{0}, lc{2}, rc{1};
  if (s.rhsTransposed) rhs = {s.batch, s.n, s.k}, rc = {2};
  auto d =
      makeDotDescriptor({s.type, lhs, {}}, {s.type, rhs, {}}, s.result, batching, batching, lc, rc);
  std::mt19937 rng(1);
  testing::AlignedCopy a(testing::randomElements(s.type, s.batch * s.m * s.k, rng));
  testing::AlignedCopy b(testing::randomElements(s.type, s.batch * s.k * s.n, rng));
  testing::AlignedCopy c(
      std::vector<char>(static_cast<size_t>(s.batch * s.m * s.n) * storageBytes(s.result)));
  void* buffers[] = {a.data(), b.data(), c.data()};
  testing::BenchmarkRun run(threads);
  for (auto _ : state) isthmus_rt_dot(&run.run, &*d, buffers);
  state.counters["GF/s"] = benchmark::Counter(2e-9 * double(s.batch * s.m) * double(s.n * s.k),
                                              benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace
}  // namespace isthmus::cpu

int main(int argc, char** argv) {
  for (const auto& shape : isthmus::cpu::kShapes) {
    for (int threads : {1, 2}) {
      std::string name = std::string(shape.name) + "/" + std::to_string(threads);
      auto body = [&shape, threads](benchmark::State& state) {
        isthmus::cpu::run(state, shape, threads);
      };
      benchmark::RegisterBenchmark(name.c_str(), body)
          ->UseRealTime()
          ->ComputeStatistics("min", [](const std::vector<double>& v) {
            return *std::min_element(v.begin(), v.end());
          });
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
