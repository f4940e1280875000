// The pool: alignment, reuse, bounds, threads and exhaustion.
#include "runtime/memory/host_allocator.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "runtime/memory/guarded_blocks.h"

namespace isthmus {
namespace {

constexpr int64_t kBound = 64 << 20;
[[maybe_unused]] const bool kEnvironmentSet =
    setenv("ISTHMUS_HOST_CACHE_BYTES", std::to_string(kBound).c_str(), 1) == 0;

#if __has_feature(address_sanitizer)
constexpr bool kPooled = false;
#else
constexpr bool kPooled = true;
#endif

TEST(HostAllocator, EverySizeIsAlignedAndUsableToItsEnd) {
  std::vector<std::pair<char*, size_t>> blocks;
  std::set<char*> addresses;
  auto add = [&](size_t bytes) {
    auto* data = static_cast<char*>(hostAllocate(bytes));
    ASSERT_NE(data, nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u) << bytes;
    EXPECT_TRUE(addresses.insert(data).second) << bytes;
    std::memset(data, static_cast<int>(blocks.size() & 0x7f), bytes);
    blocks.emplace_back(data, bytes);
  };
  for (size_t bytes = 0; bytes < 3000; ++bytes) add(bytes);
  for (size_t bytes = 4096; bytes <= (size_t{1} << 23); bytes *= 2) {
    for (int delta : {-64, -1, 0, 1, 63}) add(bytes + delta);
  }
  // Overlapping blocks would have overwritten each other.
  for (size_t i = 0; i < blocks.size(); ++i) {
    auto [data, bytes] = blocks[i];
    for (size_t j = 0; j < bytes; j += std::max<size_t>(1, bytes / 64)) {
      ASSERT_EQ(data[j], static_cast<char>(i & 0x7f)) << bytes;
    }
    if (bytes > 0) ASSERT_EQ(data[bytes - 1], static_cast<char>(i & 0x7f)) << bytes;
    hostDeallocate(data, bytes);
  }
}

// A kernel of many arrays would find all of them in the same sets of the first-level cache.
TEST(HostAllocator, LargeBlocksBeginAtDifferentLinesOfTheirPages) {
  if (!kPooled) GTEST_SKIP() << "AddressSanitizer bypasses the pool";
  for (size_t bytes : {size_t{100'000}, size_t{3} << 20}) {
    hostAllocatorTrim();
    std::set<uintptr_t> lines;
    std::vector<void*> blocks;
    for (int i = 0; i < 16; ++i) {
      blocks.push_back(hostAllocate(bytes));
      lines.insert(reinterpret_cast<uintptr_t>(blocks.back()) % 4096);
    }
    for (void* block : blocks) hostDeallocate(block, bytes);
    EXPECT_EQ(lines.size(), 16u) << bytes;
  }
}

TEST(HostAllocator, FreedBlocksAreReused) {
  if (!kPooled) GTEST_SKIP() << "AddressSanitizer bypasses the pool";
  for (size_t bytes : {size_t{100}, size_t{20000}, size_t{1} << 20, size_t{5} << 20}) {
    void* first = hostAllocate(bytes);
    hostDeallocate(first, bytes);
    void* second = hostAllocate(bytes);
    EXPECT_EQ(first, second) << bytes;
    hostDeallocate(second, bytes);
  }
}

TEST(HostAllocator, CacheIsBounded) {
  if (!kPooled) GTEST_SKIP() << "AddressSanitizer bypasses the pool";
  hostAllocatorTrim();
  EXPECT_EQ(hostAllocatorStats().bytesCached, 0);
  int64_t before = hostAllocatorStats().bytesInUse;
  std::vector<void*> blocks;
  constexpr size_t kBytes = 10 << 20;
  for (int i = 0; i < 10; ++i) blocks.push_back(hostAllocate(kBytes));
  EXPECT_GE(hostAllocatorStats().bytesInUse, before + int64_t{10} * kBytes);
  for (void* block : blocks) hostDeallocate(block, kBytes);
  HostAllocatorStats stats = hostAllocatorStats();
  EXPECT_EQ(stats.bytesInUse, before);
  EXPECT_LE(stats.bytesCached, kBound);
  EXPECT_GE(stats.bytesCached, kBound / 2);
  hostAllocatorTrim();
  EXPECT_EQ(hostAllocatorStats().bytesCached, 0);
}

// 0 under ThreadSanitizer, whose shadow of our memory is resident too.
int64_t residentBytes() {
#if __has_feature(thread_sanitizer)
  return 0;
#endif
  std::ifstream status("/proc/self/statm");
  int64_t total = 0, resident = 0;
  status >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// Blocks of one size once served only that size, for ever.
TEST(HostAllocator, FreedSmallBlocksServeOtherSizesAndReturn) {
  if (!kPooled) GTEST_SKIP() << "AddressSanitizer bypasses the pool";
  constexpr size_t kTotal = 100 << 20;
  hostAllocatorTrim();
  const int64_t before = residentBytes(), usedBefore = hostAllocatorStats().bytesInUse;
  int64_t most = 0;
  for (size_t bytes = 3000; bytes <= 12000; bytes += 1500) {
    std::vector<void*> blocks;
    for (size_t total = 0; total < kTotal; total += bytes) {
      blocks.push_back(hostAllocate(bytes));
      std::memset(blocks.back(), 1, bytes);
    }
    most = std::max(most, residentBytes() - before);
    for (void* block : blocks) hostDeallocate(block, bytes);
  }
  EXPECT_LT(most, int64_t{2} * kTotal);
  // What stays cached is bounded and counted, and goes at a word. This thread keeps some blocks of
  // each size, which keep the chunk that each is in.
  HostAllocatorStats stats = hostAllocatorStats();
  EXPECT_LE(stats.bytesInUse - usedBefore, int64_t{32} << 20);
  EXPECT_LE(stats.bytesCached, kBound);
  hostAllocatorTrim();
  EXPECT_LT(residentBytes() - before, int64_t{16} << 20);
}

TEST(HostAllocator, WhatIsCachedCountsTowardsTheLimit) {
  if (!kPooled) GTEST_SKIP() << "AddressSanitizer bypasses the pool";
  for (int i = 0; i < 4; ++i) {
    std::vector<void*> blocks;
    for (int j = 0; j < 4; ++j) blocks.push_back(hostAllocate((size_t{10} + i) << 20));
    for (void* block : blocks) hostDeallocate(block, (size_t{10} + i) << 20);
    HostAllocatorStats stats = hostAllocatorStats();
    EXPECT_LE(stats.bytesInUse + stats.bytesCached, stats.bytesLimit);
  }
  // So large that what is cached has to go. Nothing touches it.
  HostAllocatorStats stats = hostAllocatorStats();
  EXPECT_GT(stats.bytesCached, 0);
  const auto most = static_cast<size_t>(stats.bytesLimit - stats.bytesInUse) * 8 / 10;
  if (void* data = hostAllocate(most)) {
    stats = hostAllocatorStats();
    EXPECT_LE(stats.bytesInUse + stats.bytesCached, stats.bytesLimit);
    hostDeallocate(data, most);
    hostAllocatorTrim();
  }
}

TEST(HostAllocator, TooMuchIsNull) {
  EXPECT_EQ(hostAllocate(size_t{1} << 60), nullptr);
  EXPECT_EQ(hostAllocate(static_cast<size_t>(hostMemoryLimit()) + 1), nullptr);
  EXPECT_EQ(hostAllocate(SIZE_MAX), nullptr);
}

TEST(HostAllocator, ThreadsPassBlocksToEachOther) {
  constexpr int kThreads = 4;
  std::vector<std::vector<std::pair<char*, size_t>>> handed(kThreads);
  auto run = [&](int thread, bool isFree) {
    std::mt19937 random(thread);
    if (isFree) {
      for (auto [data, bytes] : handed[(thread + 1) % kThreads]) {
        ASSERT_EQ(data[bytes - 1], static_cast<char>((thread + 1) % kThreads));
        hostDeallocate(data, bytes);
      }
      return;
    }
    handed[thread].clear();
    for (int i = 0; i < 2000; ++i) {
      size_t bytes = 1 + random() % (i % 100 == 0 ? 200000 : 2000);
      auto* data = static_cast<char*>(hostAllocate(bytes));
      std::memset(data, thread, bytes);
      handed[thread].emplace_back(data, bytes);
    }
  };
  for (int round = 0; round < 6; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(run, t, round % 2 == 1);
    for (std::thread& thread : threads) thread.join();
  }
}

#if !__has_feature(thread_sanitizer)
TEST(HostAllocator, ChildOfForkCanAllocate) {
  if (!kPooled)
    GTEST_SKIP() << "AddressSanitizer's own quarantine stays locked in the child of a fork";
  // Other threads hold the locks most of the time.
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        for (size_t bytes : {size_t{100000}, size_t{64}}) {
          hostDeallocate(hostAllocate(bytes), bytes);
        }
      }
    });
  }
  for (int round = 0; round < 10; ++round) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (size_t bytes : {size_t{8}, size_t{30000}, size_t{1} << 20}) {
        void* data = hostAllocate(bytes);
        if (data == nullptr) _exit(1);
        std::memset(data, 1, bytes);
        hostDeallocate(data, bytes);
      }
      _exit(42);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 42);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}
#endif

TEST(GuardedBlocks, FaultPastTheEndAndAfterTheyWereFreed) {
  for (size_t bytes : {size_t{64}, size_t{4096}, size_t{100 * 64}}) {
    auto* data = static_cast<volatile char*>(guardedAllocate(bytes));
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
    data[0] = data[bytes - 1] = 1;
    EXPECT_DEATH(data[bytes] = 1, "") << bytes;
    guardedDeallocate(const_cast<char*>(data), bytes);
    EXPECT_DEATH(data[0] = 1, "") << bytes;
  }
  EXPECT_EQ(guardedAllocate(SIZE_MAX), nullptr);
}

}  // namespace
}  // namespace isthmus
