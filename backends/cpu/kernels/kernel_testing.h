// What the tests and benchmarks of this folder share: a run with its own threads, random data.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "backends/cpu/abi.h"
#include "backends/cpu/kernels/element_access.h"

namespace isthmus::cpu::testing {

// Threads made per call: slow, but with no state that could hide a race. Chunks are handed out one
// grain at a time so that every partition gets tested.
class TestServices : public RunServices {
 public:
  explicit TestServices(int threads) : threads_(threads) {}
  int numThreads() const override { return threads_; }
  void parallelFor(int64_t tiles, int64_t grain, TileFunction function, void* context) override {
    if (tiles <= 0) return;
    grain = std::max<int64_t>(grain, 1);
    if (threads_ == 1 || tiles <= grain) return function(context, 0, tiles);
    std::atomic<int64_t> next{0};
    auto work = [&] {
      for (;;) {
        int64_t begin = next.fetch_add(grain);
        if (begin >= tiles) return;
        function(context, begin, std::min(begin + grain, tiles));
      }
    };
    std::vector<std::thread> threads;
    for (int i = 1; i < threads_; ++i) threads.emplace_back(work);
    work();
    for (auto& thread : threads) thread.join();
  }
  void* allocateScratch(size_t bytes) override {
    live_ += static_cast<int64_t>(bytes);
    return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  }
  void freeScratch(void* data, size_t bytes) override {
    live_ -= static_cast<int64_t>(bytes);
    std::free(data);
  }
  Collectives& collectives() override { std::abort(); }
  int64_t liveScratchBytes() const { return live_; }

 private:
  int threads_;
  std::atomic<int64_t> live_{0};
};

struct TestRun {
  explicit TestRun(int threads) : services(threads) {
    run.services = &services;
    run.status = &status;
  }
  TestServices services;
  Status status;
  IsthmusRun run{};
};

// A copy at the beginning of a cache line, where the runtime's buffers begin.
class AlignedCopy {
 public:
  explicit AlignedCopy(const std::vector<char>& data)
      : lines_((data.size() + kBytes - 1) / kBytes) {
    if (!data.empty()) std::memcpy(lines_.data(), data.data(), data.size());
  }
  void* data() { return lines_.data(); }

 private:
  static constexpr size_t kBytes = 64;
  struct alignas(kBytes) Line {
    char bytes[kBytes];
  };
  std::vector<Line> lines_;
};

// `count` random elements of the type: small integers, floats in [-1, 1].
inline std::vector<char> randomElements(ElementType type, int64_t count, std::mt19937& rng) {
  std::vector<char> data(static_cast<size_t>(count) * storageBytes(type));
  for (int64_t i = 0; i < count; ++i) {
    switch (elementClass(type)) {
      case ElementClass::kPred:
        storeElement<uint64_t>(data.data(), type, i, rng() & 1);
        break;
      case ElementClass::kSigned:
      case ElementClass::kUnsigned:
        storeElement<uint64_t>(data.data(), type, i, (uint64_t{rng()} << 32) | rng());
        break;
      case ElementClass::kComplex:
        storeElement<Complex128>(data.data(), type, i,
                                 {std::uniform_real_distribution<double>(-1, 1)(rng),
                                  std::uniform_real_distribution<double>(-1, 1)(rng)});
        break;
      default:
        storeElement<double>(data.data(), type, i,
                             std::uniform_real_distribution<double>(
                                 type == ElementType::kF8E8M0FNU ? 0.01 : -1.0, 1)(rng));
    }
  }
  return data;
}

// A reference's sums of products over two arrays. Elements are decoded once, so that a term costs a
// multiply-add under sanitizers too.
class SumOfProducts {
 public:
  using Wide = std::complex<long double>;

  SumOfProducts(const std::vector<char>& lhs, ElementType lhsType, const std::vector<char>& rhs,
                ElementType rhsType)
      : lhs_(lhs, lhsType), rhs_(rhs, rhsType) {}

  void reset() { real_ = imaginary_ = scale_ = 0, integer_ = 0; }

  // Adds lhs[l] * rhs[r], and `count` - 1 more at the steps.
  void add(int64_t l, int64_t r, int64_t count = 1, int64_t lhsStep = 0, int64_t rhsStep = 0) {
    const bool isReal = lhs_.imaginary.empty() && rhs_.imaginary.empty();
    for (int64_t i = 0; i < count; ++i, l += lhsStep, r += rhsStep) {
      integer_ += lhs_.integers[l] * rhs_.integers[r];
      if (isReal) {
        const long double term = lhs_.real[l] * rhs_.real[r];
        real_ += term;
        scale_ += std::abs(term);
      } else {
        addComplex(lhs_.at(l), rhs_.at(r));
      }
    }
  }

  Wide sum() const { return {real_, imaginary_}; }
  // The magnitudes of all terms, which bound the rounding error of any order.
  long double scale() const { return scale_; }
  // Exact modulo 2^64, where both operands are integers.
  uint64_t integerSum() const { return integer_; }

 private:
  struct Elements {
    Elements(const std::vector<char>& data, ElementType type) {
      const auto count = static_cast<int64_t>(data.size() / storageBytes(type));
      real.resize(count), integers.resize(count);
      const ElementClass kind = elementClass(type);
      if (kind == ElementClass::kComplex) imaginary.resize(count);
      for (int64_t i = 0; i < count; ++i) {
        if (kind == ElementClass::kComplex) {
          const auto value = loadElement<Complex128>(data.data(), type, i);
          real[i] = value.re, imaginary[i] = value.im;
        } else {
          real[i] = loadElement<double>(data.data(), type, i);
          if (kind != ElementClass::kFloat) {
            integers[i] = loadElement<uint64_t>(data.data(), type, i);
          }
        }
      }
    }
    Wide at(int64_t i) const { return {real[i], imaginary.empty() ? 0 : imaginary[i]}; }
    std::vector<long double> real, imaginary;  // no imaginary parts where the type has none
    std::vector<uint64_t> integers;
  };

  // Without the checks for infinity that std::complex makes.
  void addComplex(Wide a, Wide b) {
    const long double re = a.real() * b.real() - a.imag() * b.imag();
    const long double im = a.real() * b.imag() + a.imag() * b.real();
    real_ += re, imaginary_ += im;
    scale_ += std::abs(re) + std::abs(im);
  }

  Elements lhs_, rhs_;
  long double real_ = 0, imaginary_ = 0, scale_ = 0;
  uint64_t integer_ = 0;
};

}  // namespace isthmus::cpu::testing
