// What the benchmarks of this folder share: threads that wait for work, and pooled scratch memory.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "backends/cpu/abi.h"

namespace isthmus::cpu::testing {

// Workers spin a little before they sleep, as those of the runtime do.
class PoolServices : public RunServices {
 public:
  explicit PoolServices(int threads) : threads_(threads) {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  }
  ~PoolServices() override {
    stop_ = true;
    ++generation_;
    generation_.notify_all();
    for (auto& worker : workers_) worker.join();
    for (auto& [bytes, list] : free_) {
      for (void* data : list) std::free(data);
    }
  }
  int numThreads() const override { return threads_; }
  void parallelFor(int64_t tiles, int64_t grain, TileFunction function, void* context) override {
    tiles_ = tiles, grain_ = grain, function_ = function, context_ = context;
    next_ = 0;
    busy_ = threads_ - 1;
    ++generation_;
    generation_.notify_all();
    drain();
    while (busy_.load() != 0) {
    }
  }
  void* allocateScratch(size_t bytes) override {
    std::lock_guard lock(mutex_);
    auto& list = free_[bytes];
    if (!list.empty()) {
      void* data = list.back();
      list.pop_back();
      return data;
    }
    return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  }
  void freeScratch(void* data, size_t bytes) override {
    std::lock_guard lock(mutex_);
    free_[bytes].push_back(data);
  }
  Collectives& collectives() override { std::abort(); }

 private:
  void drain() {
    for (;;) {
      int64_t begin = next_.fetch_add(grain_);
      if (begin >= tiles_) return;
      function_(context_, begin, begin + grain_ < tiles_ ? begin + grain_ : tiles_);
    }
  }
  void work() {
    int seen = 0;
    while (!stop_) {
      int generation = generation_.load();
      for (int spin = 0; generation == seen && spin < 20000; ++spin) {
        __builtin_ia32_pause();
        generation = generation_.load();
      }
      if (generation == seen) {
        generation_.wait(seen);
        continue;
      }
      seen = generation;
      if (stop_) return;
      drain();
      --busy_;
    }
  }

  int threads_;
  std::vector<std::thread> workers_;
  std::atomic<int> generation_{0};
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> next_{0};
  std::atomic<int> busy_{0};
  int64_t tiles_ = 0, grain_ = 1;
  TileFunction function_ = nullptr;
  void* context_ = nullptr;
  std::mutex mutex_;
  std::unordered_map<size_t, std::vector<void*>> free_;
};

struct BenchmarkRun {
  explicit BenchmarkRun(int threads) : services(threads) {
    run.services = &services;
    run.status = &status;
  }
  PoolServices services;
  Status status;
  IsthmusRun run{};
};

}  // namespace isthmus::cpu::testing
