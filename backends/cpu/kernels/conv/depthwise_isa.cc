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

// ---- Rows of few features
// -------------------------------------------------------------------------------------

// One block of periods * sets vectors from output `first` on.
template <typename Type, int periods, int sets>
inline __attribute__((always_inline)) void filterBlock(const GemmRun* runs, int64_t runCount,
                                                       const typename Type::Element* input,
                                                       const typename Type::Sum* weights,
                                                       typename Type::Element* output) {
  using Sum = typename Type::Sum;
  constexpr int64_t lanes = kVectorBytes / sizeof(Sum);
  Vec<Sum> sum[periods * sets] = {};
  const Sum* w = weights;
  for (int64_t i = 0; i < runCount; ++i) {
    const typename Type::Element* x = input + runs[i].a;
    for (int64_t step = 0; step < runs[i].length; ++step, ++x, w += periods * lanes) {
      Vec<Sum> weight[periods];
#pragma clang loop unroll(full)
      for (int v = 0; v < periods; ++v) weight[v] = ISTHMUS_ISA::load(w + v * lanes);
#pragma clang loop unroll(full)
      for (int v = 0; v < periods * sets; ++v) {
        sum[v] += Type::load(x + v * lanes) * weight[v % periods];
      }
    }
  }
#pragma clang loop unroll(full)
  for (int v = 0; v < periods * sets; ++v) Type::store(output + v * lanes, sum[v]);
}

template <typename Type, int periods>
void filterRow(const GemmRun* runs, int64_t runCount, const void* inputPtr, const void* weightsPtr,
               void* outputPtr, int64_t count) {
  using Element = typename Type::Element;
  using Sum = typename Type::Sum;
  // As many sums as hide how long an addition takes.
  constexpr int sets = periods == 1 ? 8 : periods < 4 ? 2 : 1;
  constexpr int64_t period = periods * (kVectorBytes / sizeof(Sum));
  const auto* input = static_cast<const Element*>(inputPtr);
  const auto* weights = static_cast<const Sum*>(weightsPtr);
  auto* output = static_cast<Element*>(outputPtr);
  int64_t i = 0;
  for (; i + sets * period <= count; i += sets * period) {
    filterBlock<Type, periods, sets>(runs, runCount, input + i, weights, output + i);
  }
  if constexpr (periods == 1) {
    for (; i + 4 * period <= count; i += 4 * period) {
      filterBlock<Type, 1, 4>(runs, runCount, input + i, weights, output + i);
    }
    for (; i + 2 * period <= count; i += 2 * period) {
      filterBlock<Type, 1, 2>(runs, runCount, input + i, weights, output + i);
    }
  }
  for (; i + period <= count; i += period) {
    filterBlock<Type, periods, 1>(runs, runCount, input + i, weights, output + i);
  }
  if (i == count) return;
  if (count >= period) {
    // The last outputs again, which gives the same.
    i = count - period;
    return filterBlock<Type, periods, 1>(runs, runCount, input + i, weights, output + i);
  }
  for (; i < count; ++i) {
    Sum sum = 0;
    const Sum* w = weights + i;
    for (int64_t r = 0; r < runCount; ++r) {
      for (int64_t step = 0; step < runs[r].length; ++step, w += period) {
        sum += Type::loadOne(input + runs[r].a + step + i) * *w;
      }
    }
    Type::storeOne(output + i, sum);
  }
}

template <typename Type>
RowFilter rowFilterOf(int64_t features) {
  using Sum = typename Type::Sum;
  constexpr int64_t lanes = kVectorBytes / sizeof(Sum);
  int64_t periods = 1;
  while (periods <= 7 && periods * lanes % features != 0) ++periods;
  RowFilter filter{nullptr, periods * lanes, sizeof(Sum)};
  if (periods == 1) filter.run = filterRow<Type, 1>;
  if (periods == 3) filter.run = filterRow<Type, 3>;
  if (periods == 5) filter.run = filterRow<Type, 5>;
  if (periods == 7) filter.run = filterRow<Type, 7>;
  return filter;
}

}  // namespace

RowFilter rowFilterFor(ElementType type, int64_t features) {
  if (type == ElementType::kBF16) return rowFilterOf<Bfloats>(features);
  return type == ElementType::kF64 ? rowFilterOf<Exact<double>>(features)
                                   : rowFilterOf<Exact<float>>(features);
}

SumOfProducts sumOfProductsF32() { return sumOfProducts<Exact<float>>; }
SumOfProducts sumOfProductsF64() { return sumOfProducts<Exact<double>>; }
SumOfProducts sumOfProductsBf16() { return sumOfProducts<Bfloats>; }

}  // namespace isthmus::cpu::ISTHMUS_ISA
