// The inner kernel of depthwise convolution.
#pragma once

#include <cstdint>

namespace isthmus::cpu {

// output[c] = sum over t < terms of input[inputOffsets[t] + c] * kernel[kernelOffsets[t] + c] for
// c < count; offsets in elements. Of bf16, sums are in f32 and rounded once.
using SumOfProducts = void (*)(const void* input, const int64_t* inputOffsets, const void* kernel,
                               const int64_t* kernelOffsets, int64_t terms, void* output,
                               int64_t count);

namespace v2 {
SumOfProducts sumOfProductsF32();
SumOfProducts sumOfProductsF64();
SumOfProducts sumOfProductsBf16();
}  // namespace v2
namespace v3 {
SumOfProducts sumOfProductsF32();
SumOfProducts sumOfProductsF64();
SumOfProducts sumOfProductsBf16();
}  // namespace v3
namespace v4 {
SumOfProducts sumOfProductsF32();
SumOfProducts sumOfProductsF64();
SumOfProducts sumOfProductsBf16();
}  // namespace v4

}  // namespace isthmus::cpu
