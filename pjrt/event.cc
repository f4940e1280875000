// The entries of PJRT_Event.
#include "pjrt/event.h"

#include <optional>

#include "pjrt/bindings.h"
#include "pjrt/entry.h"

struct PJRT_Event {
  isthmus::Event event;
  // Only in events that the framework made with PJRT_Event_Create.
  std::optional<isthmus::Promise> promise;
};

namespace isthmus::pjrt {
namespace {

// Shared by all handles of events that have happened without error; never destroyed.
PJRT_Event& readyHandle() {
  static PJRT_Event& event = *new PJRT_Event;
  return event;
}

Status eventDestroy(PJRT_Event_Destroy_Args& args) {
  if (args.event == nullptr || args.event == &readyHandle()) return {};
  if (args.event->promise) {
    // Whoever still waits would wait for ever. Does nothing if the event has been set.
    args.event->promise->set(
        Status(StatusCode::kAborted, "PJRT_Event was destroyed before it was set"));
  }
  delete args.event;
  return {};
}

Status eventIsReady(PJRT_Event_IsReady_Args& args) {
  ISTHMUS_REQUIRE(args, event);
  args.is_ready = args.event->event.isReady();
  return {};
}

Status eventError(PJRT_Event_Error_Args& args) {
  ISTHMUS_REQUIRE(args, event);
  if (!args.event->event.isReady()) {
    return failedPrecondition("PJRT_Event_Error: the event is not ready yet");
  }
  return args.event->event.status();
}

Status eventAwait(PJRT_Event_Await_Args& args) {
  ISTHMUS_REQUIRE(args, event);
  // Callbacks that run before this thread wakes up may destroy the handle.
  Event event = args.event->event;
  return event.await();
}

Status eventOnReady(PJRT_Event_OnReady_Args& args) {
  ISTHMUS_REQUIRE(args, event);
  ISTHMUS_REQUIRE(args, callback);
  args.event->event.onReady([callback = args.callback, userArg = args.user_arg](
                                const Status& status) { callback(toError(status), userArg); });
  return {};
}

Status eventCreate(PJRT_Event_Create_Args& args) {
  Promise promise = Promise::ofCaller();
  args.event = new PJRT_Event{promise.event(), promise};
  return {};
}

Status eventSet(PJRT_Event_Set_Args& args) {
  ISTHMUS_REQUIRE(args, event);
  if (!args.event->promise) {
    return failedPrecondition("PJRT_Event_Set: the event was not made by PJRT_Event_Create");
  }
  if (!args.event->promise->set(
          statusFromParts(args.error_code, args.error_message, args.error_message_size))) {
    return failedPrecondition("PJRT_Event_Set: the event is already set");
  }
  return {};
}

}  // namespace

PJRT_Event* toHandle(Event event) {
  if (event.isReady() && event.status().ok()) return &readyHandle();
  return new PJRT_Event{std::move(event), std::nullopt};
}

void bindEvent(PJRT_Api& api) {
  readyHandle();
  api.PJRT_Event_Destroy = kEntry<&eventDestroy>;
  api.PJRT_Event_IsReady = kEntry<&eventIsReady>;
  api.PJRT_Event_Error = kEntry<&eventError>;
  api.PJRT_Event_Await = kEntry<&eventAwait>;
  api.PJRT_Event_OnReady = kEntry<&eventOnReady>;
  api.PJRT_Event_Create = kEntry<&eventCreate>;
  api.PJRT_Event_Set = kEntry<&eventSet>;
}

}  // namespace isthmus::pjrt
