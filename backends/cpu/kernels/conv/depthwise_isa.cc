// Inner loops of depthwise convolution and of its gradients; compiled once per instruction set.
#include "backends/cpu/kernels/conv/depthwise_kernels.h"

#ifndef ISTHMUS_ISA
#error "compile this file with ISTHMUS_ISA set to v2, v3 or v4"
#endif

namespace isthmus::cpu::ISTHMUS_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <typename T>
void sumOfProducts(const void* inputPtr, const int64_t* inputOffsets, const void* kernelPtr,
                   const int64_t* kernelOffsets, int64_t terms, void* outputPtr, int64_t count) {
  typedef T Vec __attribute__((vector_size(kVectorBytes), aligned(1), may_alias));
  constexpr int64_t lanes = kVectorBytes / sizeof(T);
  const T* input = static_cast<const T*>(inputPtr);
  const T* kernel = static_cast<const T*>(kernelPtr);
  T* output = static_cast<T*>(outputPtr);
  auto at = [](const T* p) { return *reinterpret_cast<const Vec*>(p); };
  int64_t c = 0;
  for (; c + 4 * lanes <= count; c += 4 * lanes) {
    Vec sum[4] = {};
    for (int64_t t = 0; t < terms; ++t) {
      const T* x = input + inputOffsets[t] + c;
      const T* w = kernel + kernelOffsets[t] + c;
#pragma clang loop unroll(full)
      for (int v = 0; v < 4; ++v) sum[v] += at(x + v * lanes) * at(w + v * lanes);
    }
#pragma clang loop unroll(full)
    for (int v = 0; v < 4; ++v) *reinterpret_cast<Vec*>(output + c + v * lanes) = sum[v];
  }
  for (; c + lanes <= count; c += lanes) {
    Vec sum = {};
    for (int64_t t = 0; t < terms; ++t) {
      sum += at(input + inputOffsets[t] + c) * at(kernel + kernelOffsets[t] + c);
    }
    *reinterpret_cast<Vec*>(output + c) = sum;
  }
  for (; c < count; ++c) {
    T sum = 0;
    for (int64_t t = 0; t < terms; ++t) {
      sum += input[inputOffsets[t] + c] * kernel[kernelOffsets[t] + c];
    }
    output[c] = sum;
  }
}

}  // namespace

SumOfProducts sumOfProductsF32() { return sumOfProducts<float>; }
SumOfProducts sumOfProductsF64() { return sumOfProducts<double>; }

}  // namespace isthmus::cpu::ISTHMUS_ISA
