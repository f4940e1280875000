// Passes of complex transforms over the lines of an array, several lines at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "backends/cpu/abi.h"
#include "backends/cpu/kernels/fft/fft_plan.h"
#include "backends/cpu/kernels/parallel_for.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {

// At least `length` values a line: as many as let arrays that lie behind each other begin a quarter
// of 4 KiB apart, so that the values that a stage reads and writes together, which are a power of
// two apart in most transforms, do not all fall into the same set of the first-level cache.
inline int64_t apartInCache(int64_t length) {
  constexpr int64_t way = 4096 / 32;  // in values of all lanes
  return (length + way - 1) / way * way + way / 4;
}

// A pass over all lines along one dimension of an array seen as [outer, length, inner]: what its
// kinds share. A group of lines is transformed together.
template <typename T>
struct Lines {
  RunServices& services;
  const T* source;
  T* target;
  int64_t count;
  int64_t length;
  int64_t inner;  // 1 in real transforms
  T scale;
  std::atomic<bool> outOfMemory{false};

  const FftKernels<T> kernels = FftPlan<T>::kernels();

  // Memory for groups of `values` values per line.
  template <typename Group>
  void forGroups(int64_t begin, int64_t end, bool together, int64_t values, Group group) {
    const int64_t lanes = together ? kFftLanes<T> : 1;
    Scratch<T> memory(services, values * lanes);
    if (!memory) {
      outOfMemory = true;
      return;
    }
    for (int64_t g = begin; g < end; ++g) {
      group(memory.data(), g * lanes, std::min(lanes, count - g * lanes), lanes);
    }
  }
};

template <typename T>
struct ComplexPass : Lines<T> {
  bool inverse;
  // Whole groups and lines alone, see FftOrder.
  std::shared_ptr<const FftPlan<T>> grouped, alone;
  // If set (for several lines): what value k of line l is multiplied by, at
  // (group * length + k) * kFftLanes + lane, conjugated in inverse transforms; and the lines then
  // lie behind each other in `target`.
  const T* twiddleRe = nullptr;
  const T* twiddleIm = nullptr;

  void operator()(int64_t begin, int64_t end, bool together) {
    const int64_t length = apartInCache(std::max(grouped->scratchLength(), alone->scratchLength()));
    this->forGroups(begin, end, together, 4 * length,
                    [&](T* memory, int64_t first, int64_t lines, int64_t lanes) {
                      T *re = memory, *im = re + length * lanes, *spareRe = im + length * lanes,
                        *spareIm = spareRe + length * lanes;
                      load(re, im, first, lines, lanes);
                      const auto& plan = lines == kFftLanes<T> ? grouped : alone;
                      if (plan->transform(together, inverse, re, im, spareRe, spareIm)) {
                        re = spareRe, im = spareIm;
                      }
                      if (twiddleRe) {
                        storeTurned(re, im, first, lines);
                      } else {
                        store(re, im, first, lines, lanes);
                      }
                    });
  }

  int64_t lineOffset(int64_t line) const {
    return line / this->inner * this->length * this->inner + line % this->inner;
  }
  int64_t lineStride() const { return this->inner == 1 ? this->length : 1; }
  // Whether the kernels can move these lines: all lanes, and lines beside or behind each other.
  bool areRegular(int64_t first, int64_t lines, int64_t lanes) const {
    return lanes > 1 && lines == lanes &&
           (this->inner == 1 || first % this->inner + lines <= this->inner);
  }

  void load(T* re, T* im, int64_t first, int64_t lines, int64_t lanes) const {
    const int64_t n = this->length, inner = this->inner;
    if (areRegular(first, lines, lanes)) {
      return this->kernels.loadLines(this->source + 2 * lineOffset(first), lineStride(), inner, n,
                                     re, im);
    }
    for (int64_t l = 0; l < lanes; ++l) {
      const T* line = l < lines ? this->source + 2 * lineOffset(first + l) : nullptr;
      for (int64_t k = 0; k < n; ++k) {
        re[k * lanes + l] = line ? line[2 * k * inner] : T(0);
        im[k * lanes + l] = line ? line[2 * k * inner + 1] : T(0);
      }
    }
  }
  void store(const T* re, const T* im, int64_t first, int64_t lines, int64_t lanes) const {
    const int64_t n = this->length, inner = this->inner;
    if (areRegular(first, lines, lanes)) {
      return this->kernels.storeLines(re, im, this->scale, n, this->target + 2 * lineOffset(first),
                                      lineStride(), inner);
    }
    for (int64_t l = 0; l < lines; ++l) {
      T* line = this->target + 2 * lineOffset(first + l);
      for (int64_t k = 0; k < n; ++k) {
        line[2 * k * inner] = re[k * lanes + l] * this->scale;
        line[2 * k * inner + 1] = im[k * lanes + l] * this->scale;
      }
    }
  }
  void storeTurned(T* re, T* im, int64_t first, int64_t lines) const {
    constexpr int64_t lanes = kFftLanes<T>;
    const int64_t n = this->length, at = first * n;
    // With real and imaginary parts exchanged, the product is that with the conjugate.
    this->kernels.multiplySingle(n * lanes, twiddleRe + at, twiddleIm + at, inverse ? im : re,
                                 inverse ? re : im);
    T* to = this->target + 2 * first * n;
    if (lines == lanes) return this->kernels.storeLines(re, im, T(1), n, to, n, 1);
    for (int64_t l = 0; l < lines; ++l) {
      for (int64_t k = 0; k < n; ++k) {
        to[2 * (l * n + k)] = re[k * lanes + l];
        to[2 * (l * n + k) + 1] = im[k * lanes + l];
      }
    }
  }
};

template <typename T, typename Pass>
bool runPass(RunServices& services, Pass& pass) {
  // One line alone is not worth filling lanes with zeros for.
  const bool together = pass.count > 1;
  const int64_t lanes = together ? kFftLanes<T> : 1;
  const int64_t groups = (pass.count + lanes - 1) / lanes;
  if (groups < 2 || groups * lanes * pass.length < 8192) {
    pass(0, groups, together);
  } else {
    parallelFor(services, groups, std::max<int64_t>(1, 4096 / (lanes * pass.length)),
                [&](int64_t begin, int64_t end) { pass(begin, end, together); });
  }
  return !pass.outOfMemory;
}

template <typename T>
bool runComplex(RunServices& services, bool inverse, int64_t n, const T* source, T* target,
                int64_t lines, int64_t inner, double scale) {
  auto alone = FftPlan<T>::get(n, FftOrder::kAlone);
  // DUCC takes lines alone that would not fit in its part of the cache together.
  constexpr int64_t kCacheBytes = 512 << 10;
  const int64_t together = inner == 1 ? 2 * kFftLanes<T> + 1 : 3;
  const bool fits = n <= kCacheBytes / static_cast<int64_t>(2 * sizeof(T)) / together;
  auto grouped = fits ? FftPlan<T>::get(n, FftOrder::kGrouped) : alone;
  ComplexPass<T> pass{
      {services, source, target, lines, n, inner, static_cast<T>(scale)}, inverse, grouped, alone};
  return runPass<T>(services, pass);
}

}  // namespace isthmus::cpu
