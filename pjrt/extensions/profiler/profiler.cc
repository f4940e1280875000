// The profiler's table. Clients of it leave `struct_size` uninitialised, so it is not looked at;
// the structures have never changed.
#include "isthmus/pjrt_c_api/profiler.h"

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "base/trace/recorder.h"
#include "isthmus/status.h"
#include "isthmus/wire_format.h"
#include "pjrt/extensions/extensions.h"
#include "runtime/trace/xspace.h"

struct PLUGIN_Profiler_Error {
  isthmus::Status status;
};

struct PLUGIN_Profiler_ConsumeResult {
  isthmus::trace::Recording recording;
};

struct PLUGIN_Profiler {
  isthmus::trace::XSpaceOptions options;
  bool isRunning = false;
  bool isStopped = false;  // and what was recorded is still with the recorder
  std::string bytes = {};  // of the last collection
};

namespace isthmus::pjrt {
namespace {

// Fields of tensorflow.ProfileOptions.
constexpr uint32_t kHostTracerLevel = 2;
constexpr uint32_t kDeviceTracerLevel = 3;
constexpr uint32_t kVersion = 5;

// Options of no version are those of a client that has none.
StatusOr<trace::XSpaceOptions> readOptions(std::string_view bytes) {
  trace::XSpaceOptions options{.hasDevices = false, .hasHost = false};
  bool hasVersion = false;
  wire::Reader reader(bytes);
  for (wire::Field field; reader.next(field);) {
    if (field.number == kVersion) hasVersion = true;
    if (field.number == kHostTracerLevel) options.hasHost = field.bits != 0;
    if (field.number == kDeviceTracerLevel) options.hasDevices = field.bits != 0;
  }
  if (!reader.ok()) return invalidArgument("malformed ProfileOptions");
  return hasVersion ? options : trace::XSpaceOptions();
}

Status create(PLUGIN_Profiler_Create_Args& args) {
  std::string_view bytes;
  if (args.options != nullptr) bytes = {args.options, args.options_size};
  ISTHMUS_ASSIGN_OR_RETURN(trace::XSpaceOptions options, readOptions(bytes));
  args.profiler = new PLUGIN_Profiler{.options = options};
  return {};
}

Status stop(PLUGIN_Profiler_Stop_Args& args) {
  PLUGIN_Profiler& profiler = *args.profiler;
  if (!profiler.isRunning) return {};
  trace::stop();
  profiler.isRunning = false;
  profiler.isStopped = true;
  return {};
}

// What this profiler recorded and has not given yet.
trace::Recording takeRecording(PLUGIN_Profiler& profiler) {
  if (!profiler.isStopped) return {};
  profiler.isStopped = false;
  return trace::take();
}

Status destroy(PLUGIN_Profiler_Destroy_Args& args) {
  PLUGIN_Profiler_Stop_Args stopping{sizeof(stopping), args.profiler};
  Status status = stop(stopping);
  takeRecording(*args.profiler);
  delete args.profiler;
  return status;
}

Status start(PLUGIN_Profiler_Start_Args& args) {
  PLUGIN_Profiler& profiler = *args.profiler;
  if (profiler.isRunning) return {};
  takeRecording(profiler);
  if (!trace::start()) {
    return failedPrecondition(
        "a profile is being recorded already; there can be one at a time in a process");
  }
  profiler.isRunning = true;
  profiler.bytes.clear();
  return {};
}

Status checkStopped(const PLUGIN_Profiler& profiler) {
  if (!profiler.isRunning) return {};
  return failedPrecondition("the profiler must be stopped before its data is collected");
}

Status collectData(PLUGIN_Profiler_CollectData_Args& args) {
  PLUGIN_Profiler& profiler = *args.profiler;
  ISTHMUS_RETURN_IF_ERROR(checkStopped(profiler));
  if (profiler.isStopped) profiler.bytes = toXSpace(takeRecording(profiler), profiler.options);
  const std::string& bytes = profiler.bytes;
  if (args.buffer == nullptr) {
    args.buffer = reinterpret_cast<uint8_t*>(profiler.bytes.data());
  } else if (args.buffer_size_in_bytes < bytes.size()) {
    return invalidArgument("the profile has ", bytes.size(), " bytes, the buffer ",
                           args.buffer_size_in_bytes);
  } else {
    std::memcpy(args.buffer, bytes.data(), bytes.size());
  }
  args.buffer_size_in_bytes = bytes.size();
  return {};
}

Status consume(PLUGIN_Profiler_Consume_Args& args) {
  ISTHMUS_RETURN_IF_ERROR(checkStopped(*args.profiler));
  args.result = new PLUGIN_Profiler_ConsumeResult{takeRecording(*args.profiler)};
  return {};
}

void consumeResultDestroy(PLUGIN_Profiler_ConsumeResult_Destroy_Args* args) {
  if (args != nullptr) delete args->consume_result;
}

Status serialize(PLUGIN_Profiler_Serialize_Args& args) {
  if (args.consume_result == nullptr) return invalidArgument("`consume_result` is null");
  PLUGIN_Profiler& profiler = *args.profiler;
  profiler.bytes = toXSpace(args.consume_result->recording, profiler.options);
  args.serialized_bytes = reinterpret_cast<const uint8_t*>(profiler.bytes.data());
  args.serialized_size = profiler.bytes.size();
  return {};
}

PLUGIN_Profiler_Error* toProfilerError(Status status) {
  if (status.ok()) return nullptr;
  return new PLUGIN_Profiler_Error{std::move(status)};
}

// What is given when there is no memory left for an error.
PLUGIN_Profiler_Error& outOfMemory() {
  static PLUGIN_Profiler_Error& error =
      *new PLUGIN_Profiler_Error{Status(StatusCode::kResourceExhausted, "out of host memory")};
  return error;
}

void errorDestroy(PLUGIN_Profiler_Error_Destroy_Args* args) {
  if (args != nullptr && args->error != &outOfMemory()) delete args->error;
}

void errorMessage(PLUGIN_Profiler_Error_Message_Args* args) {
  if (args == nullptr) return;
  std::string_view message = args->error != nullptr ? args->error->status.message() : "";
  args->message = message.data();
  args->message_size = message.size();
}

PLUGIN_Profiler_Error* errorGetCode(PLUGIN_Profiler_Error_GetCode_Args* args) {
  if (args == nullptr) return nullptr;
  args->code = args->error != nullptr ? static_cast<int32_t>(args->error->status.code()) : 0;
  return nullptr;
}

// The C entry of `Status f(Args&)`. All but `create` need a profiler.
template <auto Function>
struct ProfilerEntry;

template <typename Args, Status (*Function)(Args&)>
struct ProfilerEntry<Function> {
  static PLUGIN_Profiler_Error* call(Args* args) noexcept {
    try {
      if (args == nullptr) return toProfilerError(invalidArgument("the arguments are null"));
      if constexpr (!std::is_same_v<Args, PLUGIN_Profiler_Create_Args>) {
        if (args->profiler == nullptr)
          return toProfilerError(invalidArgument("`profiler` is null"));
      }
      return toProfilerError(Function(*args));
    } catch (...) {
      // Only memory can lack: nothing else here throws.
      return &outOfMemory();
    }
  }
};

template <auto Function>
constexpr auto kProfilerEntry = &ProfilerEntry<Function>::call;

// jaxlib 0.10 takes a table of this size only, and crashes with any other; jaxlib 0.12 takes it
// too. What comes after is filled for whoever looks.
constexpr size_t kTableSize = offsetof(PLUGIN_Profiler_Api, consume);
static_assert(kTableSize == 80);

PLUGIN_Profiler_Api profilerApi = {
    .struct_size = kTableSize,
    .priv = nullptr,
    .error_destroy = errorDestroy,
    .error_message = errorMessage,
    .error_get_code = errorGetCode,
    .create = kProfilerEntry<&create>,
    .destroy = kProfilerEntry<&destroy>,
    .start = kProfilerEntry<&start>,
    .stop = kProfilerEntry<&stop>,
    .collect_data = kProfilerEntry<&collectData>,
    .consume = kProfilerEntry<&consume>,
    .consume_result_destroy = consumeResultDestroy,
    .serialize = kProfilerEntry<&serialize>,
};

}  // namespace

PJRT_Extension_Base& profilerExtension() {
  static PJRT_Profiler_Extension extension = {
      .base = {sizeof(PJRT_Profiler_Extension), PJRT_Extension_Type_Profiler, nullptr},
      .profiler_api = &profilerApi,
      .traceme_context_id = 0,
  };
  return extension.base;
}

}  // namespace isthmus::pjrt
