// Inner loops of depthwise convolution and of its gradients; compiled once per instruction set.
#include "backends/cpu/kernels/conv/depthwise_kernels.h"
#include "backends/cpu/kernels/element_access.h"
#include "backends/cpu/kernels/vectors.h"

#ifndef ISTHMUS_ISA
#error "compile this file with ISTHMUS_ISA set to v2, v3 or v4"
#endif

namespace isthmus::cpu::ISTHMUS_ISA {
namespace {

// How elements of an array are read into sums of type Sum, and sums written.
template <typename T>
struct Exact {
  using Element = T;
  using Sum = T;
  static Vec<T> load(const T* p) { return ISTHMUS_ISA::load(p); }
  static void store(T* p, Vec<T> sum) { ISTHMUS_ISA::store(p, sum); }
  static T loadOne(const T* p) { return *p; }
  static void storeOne(T* p, T sum) { *p = sum; }
};

struct Bfloats {
  using Element = uint16_t;
  using Sum = float;
  static Vec<float> load(const uint16_t* p) { return loadBfloats(p); }
  static void store(uint16_t* p, Vec<float> sum) { storeBfloats(p, sum); }
  static float loadOne(const uint16_t* p) { return bfloat16ToFloat(*p); }
  static void storeOne(uint16_t* p, float sum) { *p = floatToBfloat16(sum); }
};

template <typename Type>
void sumOfProducts(const void* inputPtr, const int64_t* inputOffsets, const void* kernelPtr,
                   const int64_t* kernelOffsets, int64_t terms, void* outputPtr, int64_t count) {
  using Element = typename Type::Element;
  using Sum = typename Type::Sum;
  constexpr int64_t lanes = kVectorBytes / sizeof(Sum);
  const auto* input = static_cast<const Element*>(inputPtr);
  const auto* kernel = static_cast<const Element*>(kernelPtr);
  auto* output = static_cast<Element*>(outputPtr);
  int64_t c = 0;
  for (; c + 4 * lanes <= count; c += 4 * lanes) {
    Vec<Sum> sum[4] = {};
    for (int64_t t = 0; t < terms; ++t) {
      const Element* x = input + inputOffsets[t] + c;
      const Element* w = kernel + kernelOffsets[t] + c;
#pragma clang loop unroll(full)
      for (int v = 0; v < 4; ++v) sum[v] += Type::load(x + v * lanes) * Type::load(w + v * lanes);
    }
#pragma clang loop unroll(full)
    for (int v = 0; v < 4; ++v) Type::store(output + c + v * lanes, sum[v]);
  }
  for (; c + lanes <= count; c += lanes) {
    Vec<Sum> sum = {};
    for (int64_t t = 0; t < terms; ++t) {
      sum += Type::load(input + inputOffsets[t] + c) * Type::load(kernel + kernelOffsets[t] + c);
    }
    Type::store(output + c, sum);
  }
  for (; c < count; ++c) {
    Sum sum = 0;
    for (int64_t t = 0; t < terms; ++t) {
      sum +=
          Type::loadOne(input + inputOffsets[t] + c) * Type::loadOne(kernel + kernelOffsets[t] + c);
    }
    Type::storeOne(output + c, sum);
  }
}

}  // namespace

SumOfProducts sumOfProductsF32() { return sumOfProducts<Exact<float>>; }
SumOfProducts sumOfProductsF64() { return sumOfProducts<Exact<double>>; }
SumOfProducts sumOfProductsBf16() { return sumOfProducts<Bfloats>; }

}  // namespace isthmus::cpu::ISTHMUS_ISA
