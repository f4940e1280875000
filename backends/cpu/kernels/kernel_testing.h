// What the tests and benchmarks of this folder share: a run with its own threads, random data.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
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

}  // namespace isthmus::cpu::testing
