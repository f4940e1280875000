// The inner kernels of depthwise convolution.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/gemm/gemm_kernels.h"
#include "isthmus/types.h"

namespace isthmus::cpu {

// output[c] = sum over t < terms of input[inputOffsets[t] + c] * kernel[kernelOffsets[t] + c] for
// c < count; offsets in elements. Of bf16, sums are in f32 and rounded once.
using SumOfProducts = void (*)(const void* input, const int64_t* inputOffsets, const void* kernel,
                               const int64_t* kernelOffsets, int64_t terms, void* output,
                               int64_t count);

// A row of neighbouring positions with few features each: output[i] = sum over steps s of
// input[s + i] * weights[s][i % period] for i < count, a multiple of the features. Steps are those
// of the runs, each run of neighbours from run.a on; weights lie in their order, `period` of each,
// as elements of sums. Sums of bf16 are in f32 and rounded once; the output is no part of the
// input.
struct RowFilter {
  void (*run)(const GemmRun* runs, int64_t runCount, const void* input, const void* weights,
              void* output, int64_t count) = nullptr;
  int64_t period = 0;       // a multiple of the features
  int64_t weightBytes = 0;  // of an element
};

namespace v2 {
// Without a function where the features fill too many vectors before they begin one again.
RowFilter rowFilterFor(ElementType type, int64_t features);
SumOfProducts sumOfProductsF32();
SumOfProducts sumOfProductsF64();
SumOfProducts sumOfProductsBf16();
}  // namespace v2
namespace v3 {
RowFilter rowFilterFor(ElementType type, int64_t features);
SumOfProducts sumOfProductsF32();
SumOfProducts sumOfProductsF64();
SumOfProducts sumOfProductsBf16();
}  // namespace v3
namespace v4 {
RowFilter rowFilterFor(ElementType type, int64_t features);
SumOfProducts sumOfProductsF32();
SumOfProducts sumOfProductsF64();
SumOfProducts sumOfProductsBf16();
}  // namespace v4

}  // namespace isthmus::cpu
