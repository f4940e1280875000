// Events and errors through the function table.
#include "pjrt/event.h"

#include <atomic>
#include <thread>

#include "pjrt/error.h"
#include "pjrt/testing/c_api_testing.h"

namespace isthmus::pjrt {
namespace {

const PJRT_Api& api = *pjrtApi();

bool isReady(PJRT_Event* event) {
  auto args = make<PJRT_Event_IsReady_Args>();
  args.event = event;
  EXPECT_PJRT_OK(call(api.PJRT_Event_IsReady, args));
  return args.is_ready;
}

void destroy(PJRT_Event* event) {
  auto args = make<PJRT_Event_Destroy_Args>();
  args.event = event;
  EXPECT_PJRT_OK(call(api.PJRT_Event_Destroy, args));
}

Outcome await(PJRT_Event* event) {
  auto args = make<PJRT_Event_Await_Args>();
  args.event = event;
  return call(api.PJRT_Event_Await, args);
}

PJRT_Event* create() {
  auto args = make<PJRT_Event_Create_Args>();
  EXPECT_PJRT_OK(call(api.PJRT_Event_Create, args));
  return args.event;
}

Outcome set(PJRT_Event* event, PJRT_Error_Code code, std::string_view message) {
  auto args = make<PJRT_Event_Set_Args>();
  args.event = event;
  args.error_code = code;
  args.error_message = message.data();
  args.error_message_size = message.size();
  return call(api.PJRT_Event_Set, args);
}

struct Seen {
  std::atomic<int> calls{0};
  Outcome outcome;
};

Outcome onReady(PJRT_Event* event, Seen& seen) {
  auto args = make<PJRT_Event_OnReady_Args>();
  args.event = event;
  args.user_arg = &seen;
  args.callback = [](PJRT_Error* error, void* userArg) {
    auto& seen = *static_cast<Seen*>(userArg);
    seen.outcome = consume(error);
    ++seen.calls;
  };
  return call(api.PJRT_Event_OnReady, args);
}

TEST(Event, ReadyOneNeedsNoWaiting) {
  PJRT_Event* event = toHandle(Event());
  EXPECT_TRUE(isReady(event));
  EXPECT_PJRT_OK(await(event));
  Seen seen;
  EXPECT_PJRT_OK(onReady(event, seen));
  EXPECT_EQ(seen.calls, 1);
  EXPECT_TRUE(seen.outcome.ok());
  auto error = make<PJRT_Event_Error_Args>();
  error.event = event;
  EXPECT_PJRT_OK(call(api.PJRT_Event_Error, error));
  destroy(event);
  destroy(nullptr);
}

TEST(Event, ErrorIsFreshForEachCaller) {
  PJRT_Event* event = toHandle(Event::of(Status(StatusCode::kDataLoss, "gone")));
  for (int i = 0; i < 2; ++i) {
    Outcome outcome = await(event);
    EXPECT_EQ(outcome.code, PJRT_Error_Code_DATA_LOSS);
    EXPECT_EQ(outcome.message, "gone");
  }
  auto args = make<PJRT_Event_Error_Args>();
  args.event = event;
  EXPECT_EQ(call(api.PJRT_Event_Error, args).message, "gone");
  destroy(event);
}

TEST(Event, ErrorOfAPendingEventIsRefused) {
  PJRT_Event* event = create();
  EXPECT_FALSE(isReady(event));
  auto args = make<PJRT_Event_Error_Args>();
  args.event = event;
  EXPECT_EQ(call(api.PJRT_Event_Error, args).code, PJRT_Error_Code_FAILED_PRECONDITION);
  destroy(event);
}

TEST(Event, CallbackOutlivesTheHandle) {
  Promise promise;
  PJRT_Event* event = toHandle(promise.event());
  Seen seen;
  EXPECT_PJRT_OK(onReady(event, seen));
  destroy(event);
  EXPECT_EQ(seen.calls, 0);
  promise.set(Status(StatusCode::kInternal, "later"));
  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(seen.outcome.code, PJRT_Error_Code_INTERNAL);
  EXPECT_EQ(seen.outcome.message, "later");
}

TEST(Event, SetWakesWaiters) {
  PJRT_Event* event = create();
  Outcome outcome{PJRT_Error_Code_INTERNAL, ""};
  std::thread waiter([&] { outcome = await(event); });
  EXPECT_PJRT_OK(set(event, PJRT_Error_Code_OK, ""));
  waiter.join();
  EXPECT_TRUE(outcome.ok());
  EXPECT_TRUE(isReady(event));
  EXPECT_EQ(set(event, PJRT_Error_Code_OK, "").code, PJRT_Error_Code_FAILED_PRECONDITION);
  destroy(event);
}

TEST(Event, SetCarriesAnError) {
  PJRT_Event* event = create();
  EXPECT_PJRT_OK(set(event, PJRT_Error_Code_UNAVAILABLE, "no link"));
  Outcome outcome = await(event);
  EXPECT_EQ(outcome.code, PJRT_Error_Code_UNAVAILABLE);
  EXPECT_EQ(outcome.message, "no link");
  destroy(event);
}

// The framework's event loop drops an event as soon as it hears of it, whoever else listens.
TEST(Event, ACallbackMayDestroyItBeforeOthersHear) {
  PJRT_Event* event = create();
  auto destroyIt = make<PJRT_Event_OnReady_Args>();
  destroyIt.event = event;
  destroyIt.callback = [](PJRT_Error* error, void* argument) {
    consume(error);
    destroy(static_cast<PJRT_Event*>(argument));
  };
  destroyIt.user_arg = event;
  EXPECT_PJRT_OK(call(pjrtApi()->PJRT_Event_OnReady, destroyIt));
  Seen seen;
  EXPECT_PJRT_OK(onReady(event, seen));
  EXPECT_PJRT_OK(set(event, PJRT_Error_Code_DATA_LOSS, "a message that is not stored inline"));
  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(seen.outcome.message, "a message that is not stored inline");
}

TEST(Event, OnlyCreatedOnesCanBeSet) {
  PJRT_Event* event = toHandle(Event());
  EXPECT_EQ(set(event, PJRT_Error_Code_OK, "").code, PJRT_Error_Code_FAILED_PRECONDITION);
  destroy(event);
}

TEST(Event, DestroyedBeforeItIsSetFailsWhoWaits) {
  PJRT_Event* event = create();
  Seen seen;
  EXPECT_PJRT_OK(onReady(event, seen));
  destroy(event);
  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(seen.outcome.code, PJRT_Error_Code_ABORTED);
}

TEST(Error, CanBeReadThroughItsVtable) {
  PJRT_Error* error = toError(notFound("no ", 7));
  const PJRT_Error_FunctionTable& vtable = *error->vtable;
  EXPECT_EQ(vtable.struct_size, sizeof(PJRT_Error_FunctionTable));
  EXPECT_EQ(vtable.get_code(error), PJRT_Error_Code_NOT_FOUND);
  const char* message = nullptr;
  size_t size = 0;
  vtable.message(error, &message, &size);
  EXPECT_EQ(std::string(message, size), "no 7");
  vtable.for_each_payload(
      error, [](const char*, size_t, const char*, size_t, void*) { FAIL(); }, nullptr);
  vtable.destroy(error);
}

TEST(Error, MadeByCallbacksKeepsCodeAndText) {
  PJRT_Error* error = callbackError(PJRT_Error_Code_ABORTED, "texting", 4);
  Outcome outcome = consume(error);
  EXPECT_EQ(outcome.code, PJRT_Error_Code_ABORTED);
  EXPECT_EQ(outcome.message, "text");
  EXPECT_EQ(callbackError(PJRT_Error_Code_OK, nullptr, 0), nullptr);
  EXPECT_EQ(consume(callbackError(static_cast<PJRT_Error_Code>(99), "x", 1)).code,
            PJRT_Error_Code_UNKNOWN);
}

}  // namespace
}  // namespace isthmus::pjrt
