// Buffers filled piece by piece.
#include "runtime/buffer/host_to_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "runtime/runtime_testing.h"

namespace isthmus {
namespace {

using isthmus::testing::f32;
using isthmus::testing::Fixture;
using isthmus::testing::read;
using ::testing::ElementsAre;

TEST(HostToDevice, PiecesInAnyOrder) {
  Fixture fixture;
  auto transfers = HostToDeviceTransfers::create(fixture.memory(), {f32({4}), f32({2})}).value();
  EXPECT_EQ(transfers->bufferCount(), 2u);
  EXPECT_EQ(transfers->bufferSize(0).value(), 16u);
  BufferRef x = transfers->retrieve(0).value();
  EXPECT_FALSE(transfers->retrieve(0).ok());
  EXPECT_FALSE(x->readyEvent().isReady());
  float data[] = {1, 2, 3, 4};
  EXPECT_TRUE(transfers->transferData(0, data + 2, 8, 8, false).value().await().ok());
  EXPECT_FALSE(x->readyEvent().isReady());
  EXPECT_TRUE(transfers->transferData(0, data, 0, 8, true).value().await().ok());
  EXPECT_THAT(read(*x).value(), ElementsAre(1, 2, 3, 4));
  EXPECT_FALSE(transfers->transferData(0, data, 0, 8, true).ok());
  const int64_t reversed[] = {-4};
  HostArray array{data + 1, f32({2}), reversed};
  EXPECT_TRUE(transfers->transferArray(1, array).ok());
  EXPECT_THAT(read(*transfers->retrieve(1).value()).value(), ElementsAre(2, 1));
}

TEST(HostToDevice, BoundsAndErrors) {
  Fixture fixture;
  auto transfers = HostToDeviceTransfers::create(fixture.memory(), {f32({4}), f32({2})}).value();
  float data[4] = {};
  EXPECT_FALSE(transfers->transferData(2, data, 0, 4, true).ok());
  EXPECT_FALSE(transfers->transferData(-1, data, 0, 4, true).ok());
  EXPECT_FALSE(transfers->transferData(0, data, 12, 8, true).ok());
  EXPECT_FALSE(transfers->transferData(0, data, -4, 4, true).ok());
  EXPECT_FALSE(transfers->transferData(0, nullptr, 0, 4, true).ok());
  EXPECT_FALSE(transfers->setError(0, Status()).ok());
  BufferRef x = transfers->retrieve(0).value();
  EXPECT_TRUE(transfers->setError(0, internalError("lost")).ok());
  EXPECT_FALSE(transfers->setError(0, internalError("lost")).ok());
  EXPECT_EQ(x->readyEvent().await().message(), "lost");
  BufferRef y = transfers->retrieve(1).value();
  transfers.reset();
  EXPECT_EQ(y->readyEvent().await().code(), StatusCode::kCancelled);
}

TEST(HostToDevice, DeletedBufferCanStillBeFilled) {
  Fixture fixture;
  auto transfers = HostToDeviceTransfers::create(fixture.memory(), {f32({4})}).value();
  BufferRef x = transfers->retrieve(0).value();
  x->release();
  x.reset();
  float data[4] = {};
  EXPECT_TRUE(transfers->transferData(0, data, 0, 16, true).ok());
  transfers.reset();
  EXPECT_EQ(fixture.memory().stats().bytesInUse, 0);
}

TEST(HostToDevice, PiecesFromSeveralThreads) {
  Fixture fixture;
  constexpr int64_t kCount = 1 << 16;
  auto transfers = HostToDeviceTransfers::create(fixture.memory(), {f32({kCount})}).value();
  BufferRef x = transfers->retrieve(0).value();
  std::vector<float> values(kCount);
  for (int64_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(i);
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t piece = t; piece < 15; piece += 3) {
        int64_t bytes = kCount * 4 / 16;
        ASSERT_TRUE(
            transfers
                ->transferData(0, values.data() + piece * bytes / 4, piece * bytes, bytes, false)
                .ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(x->readyEvent().isReady());
  ASSERT_TRUE(transfers
                  ->transferData(0, values.data() + kCount / 16 * 15, kCount / 16 * 15 * 4,
                                 kCount / 4, true)
                  .ok());
  EXPECT_EQ(read(*x).value(), values);
}

}  // namespace
}  // namespace isthmus
