// NCCL over the fake driver and the fake NCCL: what ends collectives, and what goes on after that.
#include "backends/cuda/driver/nccl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "backends/cuda/driver/fake/fake_cuda.h"
#include "backends/cuda/driver/fake/fake_nccl.h"
#include "backends/cuda/driver/fake/fake_testing.h"

namespace isthmus::cuda {
namespace {

using testing::HasSubstr;

class NcclTest : public testing::Test {
 protected:
  void SetUp() override {
    FAKE(fake_cuda_reset)(2, 90, 1 << 20);
    FAKE(fake_nccl_fail)(0);
    driver_ = std::move(*Driver::create(ISTHMUS_FAKE_CUDA, {}, 0));
    for (int device = 0; device < 2; ++device) {
      data_[device] = static_cast<float*>(*driver_->allocate(device, Queue::kCompute, 4));
      *data_[device] = static_cast<float>(device + 1);
    }
    load(0);
  }
  void load(double timeoutSeconds) {
    StatusOr<std::unique_ptr<Nccl>> nccl = Nccl::load(ISTHMUS_FAKE_CUDA, *driver_, timeoutSeconds);
    ASSERT_TRUE(nccl.ok()) << nccl.status().message();
    nccl_ = std::move(*nccl);
  }
  // A sum over both devices, in place.
  Status reduce(int device, int64_t launchId, std::function<Status()> abortedBy = nullptr) {
    StatusOr<std::shared_ptr<NcclGroup>> group = nccl_->group({0, 1}, launchId);
    if (!group.ok()) return group.status();
    NcclPart part;
    part.group = *group;
    part.run = runs_[device] = std::make_shared<NcclRun>();
    part.rank = part.device = device;
    part.launchId = launchId;
    part.description = "stablehlo.all_reduce at model.py:7:3";
    part.abortedBy = std::move(abortedBy);
    return nccl_->allReduce(part, NcclType::kF32, NcclReduction::kSum, 1, data_[device],
                            data_[device]);
  }
  Status reduceOnBoth(int64_t launchId) {
    auto other = std::async(std::launch::async, [&] { return reduce(1, launchId); });
    Status own = reduce(0, launchId);
    Status others = other.get();
    for (int device : {0, 1}) {
      EXPECT_TRUE(driver_->synchronize(device, Queue::kCompute).ok());
    }
    return own.ok() ? others : own;
  }

  std::unique_ptr<Driver> driver_;
  std::unique_ptr<Nccl> nccl_;
  float* data_[2];
  std::shared_ptr<NcclRun> runs_[2];
};

TEST_F(NcclTest, devices_meet) {
  EXPECT_TRUE(reduceOnBoth(1).ok());
  EXPECT_EQ(*data_[0], 3);
  EXPECT_EQ(*data_[1], 3);
  EXPECT_TRUE(runs_[0]->failure().ok());
}

TEST_F(NcclTest, devices_that_share_a_gpu_cannot_meet) {
  EXPECT_TRUE(nccl_->canMeet(std::vector<int64_t>{0, 1}));
  EXPECT_TRUE(nccl_->canMeet(std::vector<int64_t>{1, 0}));
  EXPECT_FALSE(nccl_->canMeet(std::vector<int64_t>{0}));
  EXPECT_FALSE(nccl_->canMeet(std::vector<int64_t>{0, 2}));
  driver_ = std::move(*Driver::create(ISTHMUS_FAKE_CUDA, {1}, 2));
  load(0);
  EXPECT_FALSE(nccl_->canMeet(std::vector<int64_t>{0, 1}));
}

TEST_F(NcclTest, what_is_found_later_ends_the_collective_and_the_next_launch_goes_on) {
  FAKE(fake_nccl_fail)(2);
  int aborts = FAKE(fake_nccl_aborts)();
  // The other device never comes.
  Status status = reduce(0, 1);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("unhandled system error"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("model.py:7:3"));
  EXPECT_EQ(runs_[0]->failure().message(), status.message());
  FAKE(fake_nccl_fail)(0);
  // When it comes after all, it is not taken for the next launch.
  EXPECT_EQ(reduce(1, 1).message(), status.message());
  EXPECT_TRUE(reduceOnBoth(2).ok());
  // The communicators of both groups, each once.
  nccl_.reset();
  EXPECT_EQ(FAKE(fake_nccl_aborts)(), aborts + 4);
}

TEST_F(NcclTest, a_device_that_does_not_come_ends_the_wait) {
  load(0.2);
  Status status = reduce(0, 1);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("device 0 has waited longer"));
}

TEST_F(NcclTest, a_failed_part_of_the_launch_ends_the_wait) {
  Status status = reduce(0, 1, [] { return resourceExhausted("no memory on device 1"); });
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no memory on device 1"));
}

TEST_F(NcclTest, an_earlier_run_is_not_failed_by_a_later_one) {
  ASSERT_TRUE(reduceOnBoth(1).ok());
  std::shared_ptr<NcclRun> earlier = runs_[0];
  FAKE(fake_nccl_fail)(2);
  EXPECT_FALSE(reduce(0, 2).ok());
  EXPECT_TRUE(earlier->failure().ok());
}

TEST(Nccl, a_library_that_is_not_there_is_named) {
  FAKE(fake_cuda_reset)(1, 90, 1);
  auto driver = std::move(*Driver::create(ISTHMUS_FAKE_CUDA, {}, 0));
  Status status = Nccl::load("libnowhere.so.2", *driver, 0).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no NCCL at libnowhere.so.2"));
  EXPECT_THAT(std::string(Nccl::load("libdl.so.2", *driver, 0).status().message()),
              HasSubstr("has no ncclCommInitAll"));
}

}  // namespace
}  // namespace isthmus::cuda
