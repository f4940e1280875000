// The bound on the pending commands of a queue, over a fake of OpenCL's functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <vector>

#include "backends/opencl/driver/driver.h"

namespace isthmus::opencl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct FakeEvent {
  int references = 1;
  cl_int status = CL_SUBMITTED;
  bool isFlushed = false;
};

// What the functions below do; one of each test.
struct Fake {
  std::deque<FakeEvent> events;  // of all commands, in the order in which they were enqueued
  std::vector<size_t> awaited;
  int flushes = 0;
  cl_int flushCode = CL_SUCCESS;
  cl_int endsWith = CL_COMPLETE;  // status of a command that is waited for
  bool hasWaitedBeforeFlush = false;
};
Fake* fake = nullptr;

FakeEvent& of(cl_event event) { return *reinterpret_cast<FakeEvent*>(event); }

cl_int CL_API_CALL flush(cl_command_queue) {
  ++fake->flushes;
  for (FakeEvent& event : fake->events) event.isFlushed = true;
  return fake->flushCode;
}

cl_int CL_API_CALL retain(cl_event event) {
  ++of(event).references;
  return CL_SUCCESS;
}

cl_int CL_API_CALL release(cl_event event) {
  --of(event).references;
  return CL_SUCCESS;
}

cl_int CL_API_CALL eventInfo(cl_event event, cl_event_info, size_t, void* value, size_t*) {
  *static_cast<cl_int*>(value) = of(event).status;
  return CL_SUCCESS;
}

cl_int CL_API_CALL waitFor(cl_uint count, const cl_event* events) {
  for (cl_uint i = 0; i < count; ++i) {
    FakeEvent& event = of(events[i]);
    fake->hasWaitedBeforeFlush |= !event.isFlushed;
    for (size_t number = 0; number < fake->events.size(); ++number) {
      if (&fake->events[number] == &event) fake->awaited.push_back(number);
    }
    event.status = fake->endsWith;
  }
  return fake->endsWith < 0 ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS;
}

class CommandQueueTest : public testing::Test {
 protected:
  CommandQueueTest() {
    fake = &fake_;
    library_.Flush = flush;
    library_.RetainEvent = retain;
    library_.ReleaseEvent = release;
    library_.GetEventInfo = eventInfo;
    library_.WaitForEvents = waitFor;
    queue_.emplace(library_, nullptr, 4);
  }
  ~CommandQueueTest() override { fake = nullptr; }

  // As Driver does it.
  CommandEvent enqueue() {
    Status status = queue_->makeRoom();
    EXPECT_TRUE(status.ok()) << status.message();
    return queue_->take(reinterpret_cast<cl_event>(&fake_.events.emplace_back()));
  }

  Fake fake_;
  Library library_;
  std::optional<CommandQueue> queue_;
};

TEST_F(CommandQueueTest, waits_for_nothing_below_the_bound) {
  for (int i = 0; i < 4; ++i) enqueue();
  EXPECT_THAT(fake_.awaited, IsEmpty());
  EXPECT_EQ(fake_.flushes, 0);
}

TEST_F(CommandQueueTest, waits_for_the_older_half_once_it_is_flushed) {
  for (int i = 0; i < 5; ++i) enqueue();
  EXPECT_THAT(fake_.awaited, ElementsAre(0, 1));
  EXPECT_EQ(fake_.flushes, 1);
  EXPECT_FALSE(fake_.hasWaitedBeforeFlush);
  // Two and the new one are pending: there is room for one more.
  enqueue();
  EXPECT_EQ(fake_.flushes, 1);
  enqueue();
  EXPECT_THAT(fake_.awaited, ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(fake_.hasWaitedBeforeFlush);
}

TEST_F(CommandQueueTest, forgets_what_is_over_before_it_waits) {
  for (int i = 0; i < 4; ++i) enqueue();
  fake_.events[1].status = CL_COMPLETE;
  fake_.events[3].status = CL_INVALID_VALUE;  // failed is over
  enqueue();
  EXPECT_THAT(fake_.awaited, IsEmpty());
  EXPECT_EQ(fake_.flushes, 0);
  EXPECT_EQ(fake_.events[1].references, 0);
  EXPECT_EQ(fake_.events[2].references, 1);
  EXPECT_EQ(fake_.events[3].references, 0);
}

TEST_F(CommandQueueTest, makes_room_though_commands_fail) {
  fake_.endsWith = CL_OUT_OF_RESOURCES;
  CommandEvent first = enqueue();
  for (int i = 0; i < 4; ++i) enqueue();
  EXPECT_THAT(fake_.awaited, ElementsAre(0, 1));
  // Who holds the event still learns of it.
  EXPECT_EQ(first.outcome(), CL_OUT_OF_RESOURCES);
  EXPECT_EQ(first.await().code(), StatusCode::kResourceExhausted);
}

TEST_F(CommandQueueTest, waits_alone_or_not_at_all) {
  CommandEvent first = enqueue(), second = enqueue();
  library_.waitsOneByOne = true;
  // The driver computes something while a thread waits in it, which waits for something else.
  static CommandEvent* other;
  static std::optional<Status> outcome;
  other = &second;
  library_.WaitForEvents = [](cl_uint count, const cl_event* events) -> cl_int {
    outcome = other->awaitAlone();
    return waitFor(count, events);
  };
  EXPECT_TRUE(first.await().ok());
  EXPECT_FALSE(outcome.has_value());
  EXPECT_THAT(fake_.awaited, ElementsAre(0));
  library_.WaitForEvents = waitFor;
  outcome = second.awaitAlone();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_TRUE(outcome->ok());
  EXPECT_THAT(fake_.awaited, ElementsAre(0, 1));
}

TEST_F(CommandQueueTest, says_that_it_cannot_flush) {
  for (int i = 0; i < 4; ++i) enqueue();
  fake_.flushCode = CL_INVALID_COMMAND_QUEUE;
  Status status = queue_->makeRoom();
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_NE(status.message().find("clFlush failed: CL_INVALID_COMMAND_QUEUE"), std::string::npos);
  EXPECT_THAT(fake_.awaited, IsEmpty());
}

TEST_F(CommandQueueTest, lets_go_of_each_event) {
  {
    CommandEvent kept = enqueue();
    for (int i = 0; i < 9; ++i) enqueue();
    CommandEvent copied = kept;
    EXPECT_EQ(fake_.events[0].references, 2);  // the queue has forgotten it
    CommandEvent moved = std::move(copied);
    EXPECT_EQ(fake_.events[0].references, 2);
    queue_.reset();
    EXPECT_EQ(fake_.events[0].references, 2);
  }
  for (const FakeEvent& event : fake_.events) EXPECT_EQ(event.references, 0);
}

}  // namespace
}  // namespace isthmus::opencl
