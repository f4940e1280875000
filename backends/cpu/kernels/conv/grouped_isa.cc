// Convolutions with few features in each group, and their gradients; compiled once per instruction
// set.
//
// A vector holds the features of several groups. Each feature in is spread over the lanes of its
// group by a shuffle that the compiler knows, so that no lane is lost.
#include "backends/cpu/kernels/conv/grouped_kernels.h"
#include "backends/cpu/kernels/gemm/gemm_tile.h"

#ifndef ISTHMUS_ISA
#error "compile this file with ISTHMUS_ISA set to v2, v3 or v4"
#endif

namespace isthmus::cpu::ISTHMUS_ISA {
namespace {

// Positions, their sums and a vector of the kernel share the registers.
#if defined(__AVX512F__)
constexpr int kGroupRows = 10;
#else
constexpr int kGroupRows = 5;
#endif
constexpr int kLanesOfSums = kLanes<float>;

using Sums = Vec<float>;

inline __attribute__((always_inline)) Sums loadInput(const float* p) { return load(p); }
inline __attribute__((always_inline)) Sums loadInput(const uint16_t* p) { return loadBfloats(p); }
inline __attribute__((always_inline)) void storeResult(float* p, Sums sums) { store(p, sums); }
inline __attribute__((always_inline)) void storeResult(uint16_t* p, Sums sums) {
  storeBfloats(p, sums);
}

// Feature `feature` of each group in all lanes of the group.
template <int features, int feature, int... count>
inline __attribute__((always_inline)) Sums spread(Sequence<count...>, Sums x) {
  return __builtin_shufflevector(x, x, ((count - 1) / features * features + feature)...);
}

template <int features, int rows, int feature = 0>
inline __attribute__((always_inline)) void addTap(const Sums (&x)[rows], const float* kernel,
                                                  Sums (&sums)[rows]) {
  const Sums weights = load(kernel + feature * kLanesOfSums);
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r) {
    sums[r] +=
        spread<features, feature>(typename MakeSequence<kLanesOfSums>::Type(), x[r]) * weights;
  }
  if constexpr (feature + 1 < features) {
    addTap<features, rows, feature + 1>(x, kernel, sums);
  }
}

template <typename Input, typename Result, int features, int rows>
void tileOf(const GemmRun* taps, int64_t count, const void* inputData, int64_t rowStride,
            const float* kernel, void* resultData, int64_t ldc) {
  const auto* input = static_cast<const Input*>(inputData);
  auto* result = static_cast<Result*>(resultData);
  Sums sums[rows] = {};
  for (int64_t i = 0; i < count; ++i) {
    Sums x[rows];
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r) x[r] = loadInput(input + taps[i].a + r * rowStride);
    addTap<features, rows>(x, kernel + taps[i].b, sums);
  }
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r) storeResult(result + r * ldc, sums[r]);
}

template <typename Input, typename Result, int features, int... rows>
void tileDispatch(Sequence<rows...>, const GemmRun* taps, int64_t count, const void* input,
                  int64_t rowStride, const float* kernel, void* result, int64_t ldc, int number) {
  using Function =
      void (*)(const GemmRun*, int64_t, const void*, int64_t, const float*, void*, int64_t);
  static constexpr Function table[] = {tileOf<Input, Result, features, rows>...};
  table[number - 1](taps, count, input, rowStride, kernel, result, ldc);
}

template <typename Input, typename Result, int features>
void tile(const GemmRun* taps, int64_t count, const void* input, int64_t rowStride,
          const float* kernel, void* result, int64_t ldc, int rows) {
  tileDispatch<Input, Result, features>(typename MakeSequence<kGroupRows>::Type(), taps, count,
                                        input, rowStride, kernel, result, ldc, rows);
}

template <int features, int feature = 0>
inline __attribute__((always_inline)) void addPosition(Sums x, Sums weights,
                                                       Sums (&sums)[features]) {
  sums[feature] +=
      spread<features, feature>(typename MakeSequence<kLanesOfSums>::Type(), x) * weights;
  if constexpr (feature + 1 < features) addPosition<features, feature + 1>(x, weights, sums);
}

template <typename Input, typename Result, int features>
void sums(const GemmRun* runs, int64_t count, const void* inputData, int64_t inputStep,
          const void* kernelData, int64_t kernelStep, void* resultData, int64_t ldc,
          bool accumulate) {
  // Several sums each where they are few, for the latency of multiply-adds.
  constexpr int ways = features >= 8 ? 1 : 8 / features;
  Sums parts[ways][features] = {};
  for (int64_t i = 0; i < count; ++i) {
    const auto* x = static_cast<const Input*>(inputData) + runs[i].a;
    const auto* weights = static_cast<const Input*>(kernelData) + runs[i].b;
    auto add = [&](Sums(&to)[features]) __attribute__((always_inline)) {
      addPosition<features>(loadInput(x), loadInput(weights), to);
      x += inputStep, weights += kernelStep;
    };
    int64_t left = runs[i].length;
    for (; left >= ways; left -= ways) {
#pragma clang loop unroll(full)
      for (int w = 0; w < ways; ++w) add(parts[w]);
    }
    for (; left > 0; --left) add(parts[0]);
  }
  auto* result = static_cast<Result*>(resultData);
#pragma clang loop unroll(full)
  for (int f = 0; f < features; ++f) {
#pragma clang loop unroll(full)
    for (int w = 1; w < ways; ++w) parts[0][f] += parts[w][f];
    if (accumulate) parts[0][f] += loadInput(result + f * ldc);
    storeResult(result + f * ldc, parts[0][f]);
  }
}

constexpr bool hasGroupsOf(int64_t features) {
  return features < kLanesOfSums && (features == 2 || features == 4 || features == 8);
}

template <typename Input, typename Result>
GroupTile tileOfFeatures(int64_t features) {
  if (!hasGroupsOf(features)) return nullptr;
  if (features == 2) return tile<Input, Result, 2>;
  if (features == 4) return tile<Input, Result, 4>;
  // Of bf16, instructions for pairs of steps do better.
  return sizeof(Input) == 4 ? tile<Input, Result, 8> : GroupTile{nullptr};
}

template <typename Input, typename Result>
GroupSums sumsOfFeatures(int64_t features) {
  if (!hasGroupsOf(features)) return nullptr;
  if (features == 2) return sums<Input, Result, 2>;
  return features == 4 ? sums<Input, Result, 4> : sums<Input, Result, 8>;
}

// choose<Input, Result>(); null for other types.
template <typename Kernel, typename Choose>
Kernel ofTypes(ElementType input, ElementType result, Choose choose) {
  const bool isNarrow = result == ElementType::kBF16;
  if (input == ElementType::kF32 && !isNarrow) return choose.template operator()<float, float>();
  if (input != ElementType::kBF16) return nullptr;
  return isNarrow ? choose.template operator()<uint16_t, uint16_t>()
                  : choose.template operator()<uint16_t, float>();
}

GroupTile tileFor(ElementType input, ElementType result, int64_t features) {
  return ofTypes<GroupTile>(input, result, [=]<typename Input, typename Result>() {
    return tileOfFeatures<Input, Result>(features);
  });
}

GroupSums sumsFor(ElementType input, ElementType result, int64_t features) {
  return ofTypes<GroupSums>(input, result, [=]<typename Input, typename Result>() {
    return sumsOfFeatures<Input, Result>(features);
  });
}

constexpr GroupKernels kKernels{kLanesOfSums, kGroupRows, tileFor, sumsFor};

}  // namespace

const GroupKernels* groupKernels() { return &kKernels; }

}  // namespace isthmus::cpu::ISTHMUS_ISA
