// Buffers: host memory in and out, deletion, external references, copies, aliases.
#include "runtime/buffer/buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <thread>

#include "runtime/runtime_testing.h"

namespace isthmus {
namespace {

using isthmus::testing::f32;
using isthmus::testing::Fixture;
using isthmus::testing::read;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string messageOf(const Status& status) { return std::string(status.message()); }

constexpr int64_t kLarge = 100000;

std::vector<float> iota(int64_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

class FromHost : public ::testing::TestWithParam<HostBufferSemantics> {};
INSTANTIATE_TEST_SUITE_P(Semantics, FromHost,
                         ::testing::Values(HostBufferSemantics::kImmutableOnlyDuringCall,
                                           HostBufferSemantics::kImmutableUntilTransferCompletes,
                                           HostBufferSemantics::kImmutableZeroCopy,
                                           HostBufferSemantics::kMutableZeroCopy));

TEST_P(FromHost, KeepsThePromise) {
  Fixture fixture;
  bool isZeroCopy = GetParam() >= HostBufferSemantics::kImmutableZeroCopy;
  for (int64_t count : {int64_t{0}, int64_t{3}, kLarge}) {
    std::vector<float> values = iota(count);
    HostArray array{values.data(), f32({count}), std::nullopt, GetParam()};
    auto made = fixture.client->bufferFromHost(fixture.memory(), array).value();
    bool isAlias = isZeroCopy && count == kLarge;
    EXPECT_EQ(made.buffer->pointer().value() == values.data(), isAlias);
    EXPECT_EQ(made.hostMemoryDone.isReady(), !isAlias);
    EXPECT_EQ(read(*made.buffer).value(), values);
    if (!isAlias && count > 0) {
      std::vector<float> before = values;
      values.assign(count, -1);
      EXPECT_EQ(read(*made.buffer).value(), before);
    }
    made.buffer->release();
    EXPECT_TRUE(made.hostMemoryDone.isReady());
  }
}

TEST_P(FromHost, StridedArraysAreCopied) {
  Fixture fixture;
  std::vector<float> values = iota(kLarge);
  const int64_t strides[] = {-4};
  HostArray array{values.data() + kLarge - 1, f32({kLarge}), strides, GetParam()};
  auto made = fixture.client->bufferFromHost(fixture.memory(), array).value();
  EXPECT_TRUE(made.hostMemoryDone.isReady());
  std::vector<float> reversed(values.rbegin(), values.rend());
  EXPECT_EQ(read(*made.buffer).value(), reversed);
}

// Vectors that straddle cache lines are read more slowly, each time, than a small array is copied.
TEST(FromHost, SmallArraysAreUsedInPlaceWhereLinesBegin) {
  Fixture fixture;
  constexpr int64_t kSmall = 8000;
  std::vector<float> values(kSmall + 32);
  float* line = values.data();
  while (reinterpret_cast<uintptr_t>(line) % kBufferAlignment != 0) ++line;
  for (float* data : {line, line + 4}) {
    HostArray array{data, f32({kSmall}), std::nullopt, HostBufferSemantics::kImmutableZeroCopy};
    auto made = fixture.client->bufferFromHost(fixture.memory(), array).value();
    EXPECT_EQ(made.buffer->pointer().value() == data, data == line);
  }
}

// kLarge of the values, the first of them amid a cache line. There is one more.
HostArray arrayAmidALine(std::vector<float>& values) {
  float* data = values.data();
  if (reinterpret_cast<uintptr_t>(data) % kBufferAlignment == 0) ++data;
  return {data, f32({kLarge}), std::nullopt, HostBufferSemantics::kImmutableZeroCopy};
}

// Programs that read a large one again and again get an aligned copy; what only one reads is none.
TEST(FromHost, LargeArraysAreAlignedWhenProgramsHaveReadThem) {
  Fixture fixture;
  std::vector<float> values = iota(kLarge + 32);
  const HostArray array = arrayAmidALine(values);
  const auto* data = static_cast<const float*>(array.data);
  const std::vector<float> expected(data, data + kLarge);
  enum class Case { kAlone, kReadByOthers, kAddressKnown, kReferenced };
  for (Case what : {Case::kAlone, Case::kReadByOthers, Case::kAddressKnown, Case::kReferenced}) {
    auto made = fixture.client->bufferFromHost(fixture.memory(), array).value();
    Buffer& buffer = *made.buffer;
    if (what == Case::kAddressKnown) EXPECT_EQ(buffer.pointer().value(), data);
    if (what == Case::kReferenced) EXPECT_TRUE(buffer.addExternalReference().ok());
    if (what == Case::kReadByOthers) EXPECT_TRUE(buffer.hold());
    for (int use = 0; use < 4; ++use) {
      ASSERT_TRUE(buffer.hold());
      buffer.noteUse();
      const void* read = buffer.storage().value()->data();
      const bool isCopied = what == Case::kAlone && use > 1;
      EXPECT_EQ(read == data, !isCopied);
      EXPECT_EQ(made.hostMemoryDone.isReady(), isCopied);
      buffer.dropHold();
    }
    EXPECT_EQ(read(buffer).value(), expected);
    if (what == Case::kReadByOthers) {
      // As soon as the others are done.
      buffer.dropHold();
      ASSERT_TRUE(buffer.hold());
      buffer.noteUse();
      buffer.dropHold();
      EXPECT_TRUE(made.hostMemoryDone.isReady());
    }
    if (what == Case::kReferenced) EXPECT_TRUE(buffer.dropExternalReference().ok());
    buffer.release();
    EXPECT_TRUE(made.hostMemoryDone.isReady());
  }
}

TEST(FromHost, ArraysAreAlignedWhileOthersRead) {
  Fixture fixture;
  for (int round = 0; round < 50; ++round) {
    auto values = std::make_unique<std::vector<float>>(kLarge + 32, static_cast<float>(round));
    const HostArray array = arrayAmidALine(*values);
    auto made = fixture.client->bufferFromHost(fixture.memory(), array).value();
    made.hostMemoryDone.onReady([&](const Status&) { values.reset(); });
    std::atomic<int> wrong{0};
    auto use = [&] {
      for (int i = 0; i < 20; ++i) {
        made.buffer->hold();
        made.buffer->noteUse();
        const auto* read = static_cast<const float*>(made.buffer->storage().value()->data());
        for (int64_t at : {int64_t{0}, kLarge / 2, kLarge - 1}) {
          if (read[at] != static_cast<float>(round)) ++wrong;
        }
        made.buffer->dropHold();
      }
    };
    {
      std::jthread a(use), b(use), c(use);
    }
    made.buffer->release();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(values, nullptr);
  }
}

// Whoever reads meanwhile, and in whichever way, reads the same; the host's memory goes at the end.
TEST(FromHost, ArraysAreAlignedWhileOthersReleaseDonateAndRefer) {
  Fixture fixture;
  for (int round = 0; round < 200; ++round) {
    auto values = std::make_unique<std::vector<float>>(kLarge + 32, static_cast<float>(round));
    const HostArray array = arrayAmidALine(*values);
    auto made = fixture.client->bufferFromHost(fixture.memory(), array).value();
    Buffer& buffer = *made.buffer;
    made.hostMemoryDone.onReady([&](const Status&) {
      std::ranges::fill(*values, -1.0F);  // who still reads it sees that
      values.reset();
    });
    std::atomic<int> wrong{0};
    auto check = [&](const void* contents) {
      const auto* read = static_cast<const float*>(contents);
      for (int64_t at : {int64_t{0}, kLarge / 2, kLarge - 1}) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
        if (read[at] != static_cast<float>(round)) ++wrong;
      }
    };
    auto use = [&] {
      for (int i = 0; i < 20 && buffer.hold(); ++i) {
        buffer.noteUse();
        check(buffer.storage().value()->data());
        buffer.dropHold();
      }
    };
    auto refer = [&] {
      for (int i = 0; i < round % 4 && buffer.addExternalReference().ok(); ++i) {
        check(buffer.pointer().value());
        EXPECT_TRUE(buffer.dropExternalReference().ok());
      }
    };
    auto donate = [&] {
      for (int i = 0; i < round % 5; ++i) {
        if (!buffer.donate()) continue;
        if (buffer.isExclusive()) check(buffer.storage().value()->data());
        buffer.undoDonate();
      }
      if (round % 2 == 0) buffer.release();
    };
    {
      std::jthread a(use), b(use), c(refer), d(donate);
    }
    if (round % 2 != 0) buffer.release();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(values, nullptr);
  }
}

TEST(FromHost, MisalignedMemoryIsCopied) {
  Fixture fixture;
  std::vector<char> bytes(kLarge * 4 + 1);
  HostArray array{bytes.data() + 1, f32({kLarge}), std::nullopt,
                  HostBufferSemantics::kImmutableZeroCopy};
  auto made = fixture.client->bufferFromHost(fixture.memory(), array).value();
  EXPECT_NE(made.buffer->pointer().value(), bytes.data() + 1);
  EXPECT_TRUE(made.hostMemoryDone.isReady());
}

TEST(FromHost, BadArraysAreRefused) {
  Fixture fixture;
  auto make = [&](HostArray array) {
    return messageOf(fixture.client->bufferFromHost(fixture.memory(), array).status());
  };
  float x = 0;
  const int64_t strides[] = {4, 4};
  EXPECT_THAT(make({&x, f32({-1})}), HasSubstr("tensor<-1xf32>"));
  EXPECT_THAT(make({&x, f32({int64_t{1} << 62, 4})}), HasSubstr("expected dimensions"));
  EXPECT_THAT(make({nullptr, f32({1})}), HasSubstr("data is null"));
  EXPECT_THAT(make({&x, f32({1}), strides}), HasSubstr("2 strides, expected 1"));
  EXPECT_EQ(make({nullptr, f32({0})}), "");
}

TEST(ToHost, StridesAndBounds) {
  Fixture fixture;
  std::vector<float> values = {1, 2, 3, 4, 5, 6};
  HostArray array{values.data(), f32({2, 3})};
  BufferRef x = fixture.client->bufferFromHost(fixture.memory(), array).value().buffer;
  std::vector<float> out(6);
  const int64_t fortran[] = {4, 8};
  ASSERT_TRUE(x->copyToHost(out.data(), 24, fortran).value().await().ok());
  EXPECT_THAT(out, ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(messageOf(x->copyToHost(out.data(), 20).status()), HasSubstr("room for 20 bytes"));
  EXPECT_FALSE(x->copyToHost(out.data(), 24, std::vector<int64_t>{4}).ok());
  x->release();
  EXPECT_THAT(messageOf(x->copyToHost(out.data(), 24).status()), HasSubstr("deleted"));
}

TEST(ToHost, LargeCopiesComeBack) {
  Fixture fixture;
  std::vector<float> values = iota(1 << 20);
  BufferRef x = fixture.buffer(values);
  EXPECT_EQ(read(*x).value(), values);
  std::vector<float> out(values.size());
  Event done = x->copyToHost(out.data(), out.size() * 4).value();
  x->release();
  x.reset();
  EXPECT_TRUE(done.await().ok());
  EXPECT_EQ(out, values);
}

TEST(ToHost, RawRangesAreCheckedInTheEvent) {
  Fixture fixture;
  BufferRef x = fixture.buffer({1, 2, 3, 4});
  float out[2] = {};
  ASSERT_TRUE(x->copyRawToHost(out, 4, 8).await().ok());
  EXPECT_EQ(out[0], 2);
  EXPECT_EQ(out[1], 3);
  EXPECT_EQ(x->copyRawToHost(out, 16, 0).await().code(), StatusCode::kOk);
  EXPECT_EQ(x->copyRawToHost(out, 12, 8).await().message(),
            "Copy raw buffer called on buffer size 16 with invalid offset 12, transfer size 8");
  EXPECT_EQ(x->copyRawToHost(out, -1, 1).await().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(x->copyRawToHost(out, INT64_MAX, 8).await().code(), StatusCode::kInvalidArgument);
}

TEST(Deletion, GivesMemoryBackOnce) {
  Fixture fixture;
  BufferRef x = fixture.buffer({1, 2});
  EXPECT_EQ(fixture.memory().stats().bytesInUse, 8);
  EXPECT_FALSE(x->isDeleted());
  x->release();
  x->release();
  EXPECT_TRUE(x->isDeleted());
  EXPECT_EQ(fixture.memory().stats().bytesInUse, 0);
  EXPECT_EQ(x->readyEvent().await().message(), "buffer has been deleted or donated");
  EXPECT_FALSE(x->pointer().ok());
  EXPECT_FALSE(x->hold());
  EXPECT_FALSE(x->donate());
}

TEST(Deletion, ExternalReferencesKeepTheMemory) {
  Fixture fixture;
  BufferRef x = fixture.buffer({1, 2});
  ASSERT_TRUE(x->addExternalReference().ok());
  const auto* data = static_cast<const float*>(x->pointer().value());
  x->release();
  EXPECT_EQ(x->pointer().value(), data);
  EXPECT_EQ(data[1], 2);
  EXPECT_EQ(fixture.memory().stats().bytesInUse, 8);
  EXPECT_FALSE(x->addExternalReference().ok());
  EXPECT_TRUE(x->dropExternalReference().ok());
  EXPECT_EQ(fixture.memory().stats().bytesInUse, 0);
  Status status = x->dropExternalReference();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "Attempting to decrease reference on a buffer with zero reference count.");
}

TEST(Views, CallTheDeleterOnce) {
  Fixture fixture;
  std::vector<float> values = {1, 2, 3};
  int calls = 0;
  BufferRef x =
      fixture.client->viewOfMemory(fixture.memory(), f32({3}), values.data(), [&] { ++calls; })
          .value();
  EXPECT_EQ(x->pointer().value(), values.data());
  EXPECT_FALSE(x->isExclusive());
  BufferRef other = x->copyToMemory(*fixture.device().findMemory("pinned_host")).value();
  x.reset();
  EXPECT_EQ(calls, 0);
  EXPECT_THAT(read(*other).value(), ElementsAre(1, 2, 3));
  other->release();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(fixture.memory().stats().bytesInUse, 0);
  auto* odd = reinterpret_cast<char*>(values.data()) + 1;
  EXPECT_FALSE(fixture.client->viewOfMemory(fixture.memory(), f32({2}), odd, nullptr).ok());
}

TEST(Copies, ToTheSameMemoryAreCopies) {
  Fixture fixture;
  BufferRef x = fixture.buffer({1, 2});
  BufferRef y = x->copyToMemory(fixture.memory()).value();
  EXPECT_THAT(read(*y).value(), ElementsAre(1, 2));
  EXPECT_NE(x->pointer().value(), y->pointer().value());
}

TEST(Copies, ToAnotherMemoryArriveThere) {
  Fixture fixture(2);
  BufferRef x = fixture.buffer({1, 2});
  for (Memory* memory : fixture.client->memories()) {
    BufferRef y = x->copyToMemory(*memory).value();
    EXPECT_EQ(&y->memory(), memory);
    EXPECT_EQ(&y->device(), &memory->device());
    EXPECT_THAT(read(*y).value(), ElementsAre(1, 2));
  }
  Fixture other;
  EXPECT_FALSE(x->copyToMemory(other.memory()).ok());
}

TEST(Copies, OfPendingBuffersWait) {
  Fixture fixture(2);
  auto [late, promise] =
      AliasPromise::make(fixture.memory(), std::make_shared<const ArrayType>(f32({2})));
  BufferRef same = late->copyToMemory(fixture.memory()).value();
  BufferRef there = late->copyToMemory(fixture.memory(1)).value();
  BufferRef cast = late->bitcast({ElementType::kS64, {}}).value();
  std::vector<float> out(2);
  Event read = late->copyToHost(out.data(), 8).value();
  EXPECT_FALSE(same->readyEvent().isReady());
  EXPECT_FALSE(there->readyEvent().isReady());
  EXPECT_FALSE(read.isReady());
  late->release();
  BufferRef source = fixture.buffer({5, 6});
  ASSERT_TRUE(promise->fulfill(*source).ok());
  source->release();
  EXPECT_TRUE(read.await().ok());
  EXPECT_THAT(out, ElementsAre(5, 6));
  EXPECT_THAT(isthmus::testing::read(*same).value(), ElementsAre(5, 6));
  EXPECT_THAT(isthmus::testing::read(*there).value(), ElementsAre(5, 6));
  EXPECT_TRUE(cast->readyEvent().await().ok());
}

TEST(Copies, ErrorsTravel) {
  Fixture fixture(2);
  auto [late, promise] =
      AliasPromise::make(fixture.memory(), std::make_shared<const ArrayType>(f32({2})));
  BufferRef same = late->copyToMemory(fixture.memory()).value();
  BufferRef there = late->copyToMemory(fixture.memory(1)).value();
  ASSERT_TRUE(promise->fail(internalError("no luck")).ok());
  EXPECT_EQ(same->readyEvent().await().message(), "no luck");
  EXPECT_EQ(there->readyEvent().await().message(), "no luck");
  EXPECT_EQ(read(*late).status().message(), "no luck");
}

TEST(Alias, AbandonedPromiseIsAnError) {
  Fixture fixture;
  auto [late, promise] =
      AliasPromise::make(fixture.memory(), std::make_shared<const ArrayType>(f32({2})));
  BufferRef wrong = fixture.buffer({1});
  EXPECT_FALSE(promise->fulfill(*wrong).ok());
  promise.reset();
  EXPECT_EQ(late->readyEvent().await().code(), StatusCode::kCancelled);
}

TEST(Alias, IsOfItsOwnMemory) {
  Fixture fixture(2);
  Fixture other;
  auto [late, promise] =
      AliasPromise::make(fixture.memory(), std::make_shared<const ArrayType>(f32({2})));
  BufferRef there = fixture.buffer({1, 2})->copyToMemory(fixture.memory(1)).value();
  EXPECT_THAT(messageOf(promise->fulfill(*there)), HasSubstr("fulfilled with a buffer in"));
  EXPECT_FALSE(promise->fulfill(*other.buffer({1, 2})).ok());
  EXPECT_TRUE(promise->fulfill(*fixture.buffer({3, 4})).ok());
  EXPECT_THAT(read(*late).value(), ElementsAre(3, 4));
}

TEST(DonateAfter, WaitsForTheDependency) {
  Fixture fixture;
  BufferRef x = fixture.buffer({1, 2});
  void* address = x->pointer().value();
  Promise dependency;
  BufferRef y = x->donateAfter(dependency.event()).value();
  EXPECT_TRUE(x->isDeleted());
  EXPECT_FALSE(y->readyEvent().isReady());
  dependency.set();
  EXPECT_THAT(read(*y).value(), ElementsAre(1, 2));
  EXPECT_EQ(y->pointer().value(), address);
  EXPECT_FALSE(x->donateAfter(Event()).ok());
  BufferRef z = y->donateAfter(Event::of(internalError("dependency failed"))).value();
  EXPECT_EQ(z->readyEvent().await().message(), "dependency failed");
}

TEST(Bitcast, SharesTheBytes) {
  Fixture fixture;
  BufferRef x = fixture.buffer({1.0f, 2.0f});
  BufferRef y = x->bitcast({ElementType::kU32, {2, 1}}).value();
  uint32_t bits[2];
  ASSERT_TRUE(y->copyToHost(bits, 8).value().await().ok());
  EXPECT_EQ(bits[0], 0x3f800000u);
  EXPECT_EQ(bits[1], 0x40000000u);
  EXPECT_FALSE(x->bitcast({ElementType::kU32, {3}}).ok());
}

TEST(Buffers, KeepTheClientAlive) {
  Fixture fixture;
  BufferRef x = fixture.buffer({1, 2});
  fixture.client.reset();
  EXPECT_THAT(read(*x).value(), ElementsAre(1, 2));
  EXPECT_EQ(x->memory().kind(), "device");
}

TEST(Donation, UndoneAfterADeleteLeavesTheBufferDeleted) {
  Fixture fixture;
  BufferRef x = fixture.buffer({1, 2, 3});
  ASSERT_TRUE(x->donate());
  x->release();  // by the owner, while a launch tries its arguments
  x->undoDonate();
  EXPECT_TRUE(x->isDeleted());
  EXPECT_FALSE(x->hold());
  EXPECT_EQ(fixture.memory().stats().bytesInUse, 0);

  BufferRef y = fixture.buffer({1, 2, 3});
  ASSERT_TRUE(y->donate());
  y->undoDonate();
  EXPECT_FALSE(y->isDeleted());
  EXPECT_THAT(read(*y).value(), ElementsAre(1, 2, 3));
}

TEST(ExternalReferences, AreBounded) {
  Fixture fixture;
  BufferRef x = fixture.buffer({1});
  constexpr int kMany = 1 << 24;
  for (int i = 0; i < kMany; ++i) ASSERT_TRUE(x->addExternalReference().ok());
  EXPECT_EQ(x->addExternalReference().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(read(*x).value(), ElementsAre(1));
}

}  // namespace
}  // namespace isthmus
