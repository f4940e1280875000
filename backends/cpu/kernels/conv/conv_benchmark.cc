// Speed of isthmus_rt_conv: forward and both gradients of common layers, NHWC and HWIO, in f32 and
// bf16. The last part of each name is the number of threads.
#include <benchmark/benchmark.h>

#include <string>

#include "backends/cpu/kernels/conv/conv.h"
#include "backends/cpu/kernels/kernel_benchmark.h"
#include "backends/cpu/kernels/kernel_testing.h"

namespace isthmus::cpu {
namespace {

struct Layer {
  const char* name;
  int64_t batch, size, in, out, window, stride, groups;
};

const Layer kLayers[] = {
    {"8x56x56x64_3x3", 8, 56, 64, 64, 3, 1, 1},      {"64x28x28x1_3x3x32", 64, 28, 1, 32, 3, 1, 1},
    {"64x14x14x32_3x3x64", 64, 14, 32, 64, 3, 1, 1}, {"64x8x8x16_3x3x32", 64, 8, 16, 32, 3, 1, 1},
    {"16x32x32x64_3x3", 16, 32, 64, 64, 3, 1, 1},    {"8x56x56x64_s2x128", 8, 56, 64, 128, 3, 2, 1},
    {"8x56x56x64_1x1x256", 8, 56, 64, 256, 1, 1, 1}, {"8x56x56x64_dw", 8, 56, 64, 64, 3, 1, 64},
    {"8x56x56x64_g8", 8, 56, 64, 64, 3, 1, 8},       {"8x224x224x3_7x7x64", 8, 224, 3, 64, 7, 2, 1},
};

enum Pass { kForward, kInputGradient, kKernelGradient };

StatusOr<ConvDescriptor> describe(const Layer& l, Pass pass, ElementType type) {
  int64_t pad = (l.window - 1) / 2;
  int64_t out = (l.size + 2 * pad - l.window) / l.stride + 1;
  std::vector<int64_t> image{l.batch, l.size, l.size, l.in};
  std::vector<int64_t> grad{l.batch, out, out, l.out};
  std::vector<int64_t> kernel{l.window, l.window, l.in / l.groups, l.out};
  std::vector<int64_t> s12{1, 2}, s01{0, 1}, strides{l.stride, l.stride}, padding(4, pad);
  bool reversed[] = {true, true};
  if (pass == kForward) {
    ConvNumbers n{0, 3, s12, 2, 3, s01, 0, 3, s12, strides, padding, {}, {}, {}, l.groups, 1};
    return makeConvDescriptor({type, image, {}}, {type, kernel, {}}, type, grad, n);
  }
  if (pass == kInputGradient) {
    // JAX moves the groups of the kernel from its output to its input features first.
    std::vector<int64_t> moved{l.window, l.window, l.in, l.out / l.groups};
    int64_t low = l.window - 1 - pad,
            high = l.size + l.window - 1 - ((out - 1) * l.stride + 1) - low;
    padding = {low, high, low, high};
    ConvNumbers n{0, 3, s12, 3, 2, s01, 0, 3, s12, {}, padding, strides, {}, reversed, l.groups, 1};
    return makeConvDescriptor({type, grad, {}}, {type, moved, {}}, type, image, n);
  }
  int64_t high = (out - 1) * l.stride + l.window - l.size - pad;
  padding = {pad, high, pad, high};
  ConvNumbers n{3, 0, s12, 0, 3, s12, 2, 3, s01, {}, padding, {}, strides, {}, 1, l.groups};
  return makeConvDescriptor({type, image, {}}, {type, grad, {}}, type, kernel, n);
}

void run(benchmark::State& state, const Layer& l, Pass pass, ElementType type, int threads) {
  auto d = describe(l, pass, type);
  if (!d.ok()) return state.SkipWithError(std::string(d.status().message()).c_str());
  std::mt19937 rng(1);
  int64_t elements = std::max(l.in, l.out) * l.size * l.size * l.batch;
  auto a = testing::randomElements(type, elements, rng);
  auto b = testing::randomElements(type, elements, rng);
  std::vector<float> c(elements + l.window * l.window * l.in * l.out);
  void* buffers[] = {a.data(), b.data(), c.data()};
  testing::BenchmarkRun run(threads);
  for (auto _ : state) isthmus_rt_conv(&run.run, &*d, buffers);
  double out = double((l.size - 1) / l.stride + 1);
  state.counters["GF/s"] = benchmark::Counter(
      2e-9 * double(l.batch * l.in * l.out * l.window * l.window / l.groups) * out * out,
      benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace
}  // namespace isthmus::cpu

int main(int argc, char** argv) {
  const char* passes[] = {"forward", "input_gradient", "kernel_gradient"};
  for (const auto& layer : isthmus::cpu::kLayers) {
    for (int pass = 0; pass < 3; ++pass) {
      for (auto type : {isthmus::ElementType::kF32, isthmus::ElementType::kBF16}) {
        for (int threads : {1, 2}) {
          std::string name = std::string(layer.name) + "/" + passes[pass] +
                             (type == isthmus::ElementType::kF32 ? "/f32/" : "/bf16/") +
                             std::to_string(threads);
          auto body = [&layer, pass, type, threads](benchmark::State& state) {
            isthmus::cpu::run(state, layer, static_cast<isthmus::cpu::Pass>(pass), type, threads);
          };
          benchmark::RegisterBenchmark(name.c_str(), body)->UseRealTime();
        }
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
