// A device's queue over the fake driver: copies that block nobody, memory that comes and goes.
#include "backends/cuda/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "backends/cuda/driver/fake/fake_cuda.h"
#include "backends/cuda/driver/fake/fake_testing.h"
#include "backends/cuda/launch/scratch_arena.h"

namespace isthmus::cuda {
namespace {

using testing::HasSubstr;
using testing::Not;

class CudaQueueTest : public testing::Test {
 protected:
  void SetUp() override { start(1 << 20); }

  void start(uint64_t memoryBytes, PinnedPool::Sizes sizes = {}) {
    queue_.reset();
    pinned_.reset();
    FAKE(fake_cuda_reset)(1, 90, memoryBytes);
    driver_ = std::move(*Driver::create(ISTHMUS_FAKE_CUDA, {}, 0));
    pinned_ = std::make_unique<PinnedPool>(*driver_, sizes);
    queue_ = std::make_unique<CudaQueue>(*driver_, *pinned_, 0);
  }
  void* allocate(size_t bytes) {
    StatusOr<DeviceQueue::Block> block = queue_->allocate("device", bytes);
    EXPECT_TRUE(block.ok()) << block.status().message();
    return block.ok() ? block->data : nullptr;
  }
  // Of the device, once what was freed is gone.
  uint64_t usedBytes() {
    EXPECT_TRUE(driver_->synchronize(0, Queue::kAllocate).ok());
    return driver_->memoryUse(0).usedBytes;
  }

  std::unique_ptr<Driver> driver_;
  std::unique_ptr<PinnedPool> pinned_;
  std::unique_ptr<CudaQueue> queue_;
};

TEST_F(CudaQueueTest, copies_go_through_page_locked_memory) {
  std::vector<int> sent(1000), received(1000, -1);
  std::iota(sent.begin(), sent.end(), 0);
  void* data = allocate(4000);
  StatusOr<DeviceEventRef> written = queue_->copyFromHost(data, 0, sent.data(), 4000, {});
  ASSERT_TRUE(written.ok()) << written.status().message();
  DeviceEventRef after[] = {*written};
  StatusOr<DeviceEventRef> read = queue_->copyToHost(data, 400, received.data(), 3600, after);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(received[0], -1);  // nobody has waited
  EXPECT_TRUE((*read)->await().ok());
  EXPECT_TRUE((*read)->isReady());
  EXPECT_EQ(std::vector<int>(received.begin(), received.begin() + 900),
            std::vector<int>(sent.begin() + 100, sent.end()));
  EXPECT_EQ(received[900], -1);
  EXPECT_THAT(std::string(FAKE(fake_cuda_log)()), Not(HasSubstr("ordinary")));
  // The blocks serve later copies.
  EXPECT_TRUE((*written)->await().ok());
  int before = FAKE(fake_cuda_allocations)();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE((*queue_->copyToHost(data, 0, received.data(), 4000, {}))->await().ok());
  }
  EXPECT_EQ(received[999], 999);
  EXPECT_EQ(FAKE(fake_cuda_allocations)(), before);
}

TEST_F(CudaQueueTest, whoever_asks_first_ends_a_copy) {
  int sent = 7, received = 0;
  void* data = allocate(4);
  ASSERT_TRUE(queue_->copyFromHost(data, 0, &sent, 4, {}).ok());
  ASSERT_TRUE(driver_->synchronize(0, Queue::kTransfer).ok());
  DeviceEventRef read = *queue_->copyToHost(data, 0, &received, 4, {});
  FAKE(fake_cuda_hold)(1);
  EXPECT_FALSE(read->isReady());
  FAKE(fake_cuda_hold)(0);
  while (!read->isReady()) EXPECT_EQ(received, 0);
  EXPECT_EQ(received, 7);
  // What has happened is not asked for again.
  int asked = FAKE(fake_cuda_count)("cuEventQuery");
  EXPECT_TRUE(read->isReady() && read->await().ok());
  EXPECT_EQ(FAKE(fake_cuda_count)("cuEventQuery"), asked);
}

TEST_F(CudaQueueTest, page_locked_memory_is_limited) {
  start(uint64_t{4} << 30);
  size_t bytes = PinnedPool::Sizes().largestBlockBytes + 1;
  EXPECT_EQ(pinned_->take(bytes).status().code(), StatusCode::kResourceExhausted);
  // Blocks that nobody uses are kept up to a limit.
  int before = FAKE(fake_cuda_allocations)();
  {
    std::vector<PinnedPool::Block> blocks;
    for (int i = 0; i < 3; ++i) blocks.push_back(std::move(*pinned_->take(100 << 20)));
  }
  EXPECT_EQ(FAKE(fake_cuda_allocations)(), before + 2);
}

TEST_F(CudaQueueTest, memory_is_freed_though_what_was_released_before_is_in_use) {
  void* busy = allocate(1000);
  void* idle = allocate(100);
  FAKE(fake_cuda_hold)(1);
  DeviceEventRef program = *recordEvent(*driver_, 0, Queue::kCompute);
  DeviceEventRef after[] = {program};
  queue_->release("device", busy, 1000, after);
  queue_->release("device", idle, 100, {});
  EXPECT_EQ(usedBytes(), 1000u);
  EXPECT_TRUE(program->await().ok());
  queue_->freePending();
  EXPECT_EQ(usedBytes(), 0u);
}

TEST_F(CudaQueueTest, memory_of_one_size_is_used_again_without_asking_the_driver) {
  void* first = allocate(1000);
  void* second = allocate(1000);
  FAKE(fake_cuda_hold)(1);
  DeviceEventRef after[] = {*recordEvent(*driver_, 0, Queue::kCompute)};
  queue_->release("device", first, 1000, after);
  queue_->release("device", second, 1000, {});
  // The first is still in use.
  EXPECT_EQ(allocate(1000), second);
  EXPECT_NE(allocate(1000), first);
  EXPECT_TRUE(after[0]->await().ok());
  EXPECT_EQ(allocate(1000), first);
  EXPECT_EQ(FAKE(fake_cuda_count)("cuMemAllocAsync"), 3);
  EXPECT_EQ(FAKE(fake_cuda_count)("cuMemFreeAsync"), 0);
  EXPECT_EQ(usedBytes(), 3000u);
}

TEST_F(CudaQueueTest, memory_that_is_kept_goes_where_other_sizes_need_it) {
  start(10'000);
  for (size_t bytes : {1000, 600, 1000, 600}) {
    void* data = allocate(bytes);
    queue_->release("device", data, bytes, {});
    queue_->freePending();
  }
  EXPECT_EQ(usedBytes(), 0u);
  EXPECT_EQ(FAKE(fake_cuda_count)("cuMemAllocAsync"), 2);
  EXPECT_NE(allocate(9500), nullptr);
  EXPECT_EQ(usedBytes(), 9500u);
}

TEST(BlockCache, what_was_kept_longest_ago_makes_room) {
  char bytes[4];
  BlockCache kept(5 * 1024);
  EXPECT_TRUE(kept.keep(&bytes[0], 2048).empty());
  EXPECT_TRUE(kept.keep(&bytes[1], 2048).empty());
  EXPECT_EQ(kept.keep(&bytes[2], 5 * 1024 + 1), std::vector<void*>{&bytes[2]});
  EXPECT_TRUE(kept.keep(&bytes[2], 0).empty());  // counts as 512
  EXPECT_EQ(kept.keep(&bytes[3], 1000), std::vector<void*>{&bytes[0]});
  EXPECT_EQ(kept.bytes(), 3048u);
  EXPECT_EQ(kept.take(20), nullptr);
  EXPECT_EQ(kept.take(0), &bytes[2]);
  EXPECT_EQ(kept.take(2048), &bytes[1]);
  EXPECT_EQ(kept.take(2048), nullptr);
  EXPECT_EQ(kept.takeAll(), std::vector<void*>{&bytes[3]});
  EXPECT_EQ(kept.bytes(), 0u);
}

TEST_F(CudaQueueTest, nothing_is_held_back_for_ever_by_many_that_are_in_use) {
  std::vector<void*> blocks;
  for (int i = 0; i < 40; ++i) blocks.push_back(allocate(10));
  FAKE(fake_cuda_hold)(1);
  DeviceEventRef program = *recordEvent(*driver_, 0, Queue::kCompute);
  DeviceEventRef copied = *recordEvent(*driver_, 0, Queue::kTransfer);
  for (int i = 0; i < 40; ++i) {
    DeviceEventRef after[] = {i == 20 ? copied : program};
    queue_->release("device", blocks[static_cast<size_t>(i)], 10, after);
  }
  EXPECT_TRUE(copied->await().ok());
  for (int i = 0; i < 40; ++i) queue_->freePending();
  EXPECT_EQ(usedBytes(), 390u);
}

TEST_F(CudaQueueTest, memory_that_is_about_to_be_free_is_waited_for) {
  start(1000);
  void* data = allocate(800);
  std::vector<char> host(800);
  FAKE(fake_cuda_hold)(1);
  DeviceEventRef after[] = {*queue_->copyToHost(data, 0, host.data(), 800, {})};
  queue_->release("device", data, 800, after);
  EXPECT_NE(allocate(900), nullptr);
  EXPECT_EQ(FAKE(fake_cuda_count)("cuMemPoolTrimTo"), 1);
}

// Though more than is page-locked for it.
TEST_F(CudaQueueTest, nobody_waits_for_large_copies) {
  start(1 << 20, {.largestBlockBytes = 1000, .pieceBytes = 300});
  std::vector<int> sent(1000), received(1000, -1);
  std::iota(sent.begin(), sent.end(), 0);
  void* data = allocate(4000);
  FAKE(fake_cuda_hold)(1);
  StatusOr<DeviceEventRef> written = queue_->copyFromHost(data, 0, sent.data(), 4000, {});
  ASSERT_TRUE(written.ok()) << written.status().message();
  DeviceEventRef after[] = {*written};
  StatusOr<DeviceEventRef> read = queue_->copyToHost(data, 400, received.data(), 3600, after);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_FALSE((*read)->isReady());
  EXPECT_EQ(received[0], -1);
  EXPECT_TRUE((*read)->await().ok());
  EXPECT_TRUE((*read)->isReady());
  EXPECT_EQ(std::vector<int>(received.begin(), received.begin() + 900),
            std::vector<int>(sent.begin() + 100, sent.end()));
  EXPECT_EQ(received[900], -1);
  EXPECT_THAT(FAKE(fake_cuda_log)(), Not(HasSubstr("ordinary memory")));
  // What goes wrong is the event's error, and nothing arrives.
  StatusOr<DeviceEventRef> again = queue_->copyToHost(data, 0, received.data(), 4000, {});
  ASSERT_TRUE(again.ok()) << again.status().message();
  FAKE(fake_cuda_fail)("cuEventQuery", CUDA_ERROR_ILLEGAL_ADDRESS, 1);
  EXPECT_EQ((*again)->await().code(), StatusCode::kUnavailable);
  EXPECT_EQ(received[0], 100);
}

TEST_F(CudaQueueTest, programs_share_an_arena_that_grows) {
  start(1000);
  ProgramMemory counted;
  ScratchArena arena(*driver_, 0, counted);
  void* first = arena.take(100, "f")->data();
  EXPECT_EQ(arena.take(60, "g")->data(), first);
  EXPECT_EQ(usedBytes(), 100u);
  // Not beside the smaller one: there is no memory for both.
  ASSERT_TRUE(arena.take(950, "h").ok());
  EXPECT_EQ(usedBytes(), 950u);
  EXPECT_EQ(counted.bytes(), 950);
  ASSERT_EQ(counted.entries().size(), 1u);
  EXPECT_EQ(counted.entries()[0].what, "temporaries of h");
  EXPECT_EQ(arena.take(1001, "i").status().code(), StatusCode::kResourceExhausted);
  // It goes where memory runs out, but not from under a program.
  ASSERT_TRUE(arena.take(600, "j").ok());
  EXPECT_NE(allocate(700), nullptr);
  EXPECT_EQ(counted.bytes(), 0);
  StatusOr<ScratchArena::Lease> lease = arena.take(300, "k");
  ASSERT_TRUE(lease.ok()) << lease.status().message();
  EXPECT_EQ(queue_->allocate("device", 100).status().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace isthmus::cuda
