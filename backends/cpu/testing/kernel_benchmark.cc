// Times the judged kernels on one thread, in GB/s of what they must read and write, and what
// emitting and compiling them takes. kernel_bench.py puts JAX's CPU client beside them.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "backends/cpu/testing/kernel_harness.h"

namespace {

struct Case {
  const char* name;
  const char* inputs;  // the type of the only one
  const char* output;
  const char* body;
  std::vector<size_t> inputElements;
  size_t outputElements;
};

const Case kCases[] = {
    {"exp(tanh(x)) 4M",
     "tensor<4194304xf32>",
     "tensor<4194304xf32>",
     "%t = stablehlo.tanh %0 : tensor<4194304xf32>\n"
     "%out = stablehlo.exponential %t : tensor<4194304xf32>",
     {4194304},
     4194304},
    {"sum of rows 4096^2",
     "tensor<4096x4096xf32>",
     "tensor<4096xf32>",
     "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
     "%out = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : "
     "(tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>",
     {16777216},
     4096},
    {"sum of columns 4096^2",
     "tensor<4096x4096xf32>",
     "tensor<4096xf32>",
     "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
     "%out = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : "
     "(tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>",
     {16777216},
     4096},
    {"softmax 2048x4096",
     "tensor<2048x4096xf32>",
     "tensor<2048x4096xf32>",
     "%l = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
     "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
     "%m = stablehlo.reduce(%0 init: %l) applies stablehlo.maximum across dimensions = [1] : "
     "(tensor<2048x4096xf32>, tensor<f32>) -> tensor<2048xf32>\n"
     "%mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<2048xf32>) -> "
     "tensor<2048x4096xf32>\n"
     "%d = stablehlo.subtract %0, %mb : tensor<2048x4096xf32>\n"
     "%e = stablehlo.exponential %d : tensor<2048x4096xf32>\n"
     "%s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : "
     "(tensor<2048x4096xf32>, tensor<f32>) -> tensor<2048xf32>\n"
     "%sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<2048xf32>) -> "
     "tensor<2048x4096xf32>\n"
     "%out = stablehlo.divide %e, %sb : tensor<2048x4096xf32>",
     {8388608},
     8388608},
    {"transpose 2048x4096",
     "tensor<2048x4096xf32>",
     "tensor<4096x2048xf32>",
     "%out = stablehlo.transpose %0, dims = [1, 0] : (tensor<2048x4096xf32>) -> "
     "tensor<4096x2048xf32>",
     {8388608},
     8388608},
};

// Of this thread's CPU, so that a busy machine disturbs less.
double cpuMicroseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

}  // namespace

// With the argument `fast` or `full`, compiles with that effort.
int main(int argc, char** argv) {
  isthmus::cpu::CodegenOptions options;
  if (argc > 1 && !std::strcmp(argv[1], "fast")) {
    options.effort = isthmus::cpu::CodegenEffort::kFast;
  }
  if (argc > 1 && !std::strcmp(argv[1], "full")) {
    options.effort = isthmus::cpu::CodegenEffort::kFull;
  }
  for (const Case& test : kCases) {
    std::string in = test.inputs, out = test.output;
    std::string text = "func.func @f(%in: " + in + ") -> " + out +
                       " {\n%r = \"isthmus.fusion\"(%in) ({\n^bb0(%0: " + in + "):\n" + test.body +
                       "\nisthmus.yield %out : " + out + "\n}) : (" + in + ") -> " + out +
                       "\nreturn %r : " + out + "\n}\n";
    double emit = 1e30, codegen = 1e30;
    std::unique_ptr<isthmus::codegen::TestKernel> kernel;
    for (int i = 0; i < 5; ++i) {
      auto compiled = isthmus::codegen::TestKernel::compile(text, options);
      if (!compiled.ok()) {
        std::fprintf(stderr, "%s\n", std::string(compiled.status().message()).c_str());
        return 1;
      }
      kernel = std::move(*compiled);
      emit = std::min(emit, kernel->emitMs());
      codegen = std::min(codegen, kernel->codegenMs());
    }
    std::vector<void*> buffers;
    size_t bytes = 0;
    auto allocate = [&](size_t elements) {
      void* memory = std::aligned_alloc(64, (elements * 4 + 63) / 64 * 64);
      for (size_t i = 0; i < elements; ++i) static_cast<float*>(memory)[i] = float(i % 1000) / 500;
      buffers.push_back(memory);
      bytes += elements * 4;
    };
    for (size_t elements : test.inputElements) allocate(elements);
    allocate(test.outputElements);
    double best = 1e30;
    for (int i = 0; i < 20; ++i) {
      double start = cpuMicroseconds();
      kernel->run(buffers);
      best = std::min(best, cpuMicroseconds() - start);
    }
    std::printf("%-24s %9.0f us %7.1f GB/s   emit %.2f ms, code %.2f ms\n", test.name, best,
                static_cast<double>(bytes) / best / 1e3, emit, codegen);
    for (void* memory : buffers) std::free(memory);
  }
}
