// PJRT_LoadedExecutable_Execute and PJRT_ExecuteContext: the dispatch path.
#include <span>
#include <vector>

#include "pjrt/bindings.h"
#include "pjrt/entry.h"
#include "pjrt/event.h"
#include "pjrt/executable/execute_context.h"
#include "pjrt/executable/loaded_executable.h"
#include "pjrt/handles.h"
#include "runtime/small_array.h"

namespace isthmus::pjrt {
namespace {

Status readOptions(const PJRT_ExecuteOptions* options, ExecuteOptions& out) {
  using Options = PJRT_ExecuteOptions;
  ISTHMUS_RETURN_IF_ERROR(checkSize(options));
  if (options->num_send_ops != 0 || options->num_recv_ops != 0) {
    return unimplemented("PJRT_LoadedExecutable_Execute: send and receive callbacks");
  }
  if (getOr<Options, size_t>(*options, &Options::num_hlo_output_callbacks, 0) != 0) {
    return unimplemented("PJRT_LoadedExecutable_Execute: HLO output callbacks");
  }
  if (getOr<Options, PJRT_MultiSlice_Config*>(*options, &Options::multi_slice_config, nullptr) !=
      nullptr) {
    return unimplemented("PJRT_LoadedExecutable_Execute: multi-slice configurations");
  }
  out.launchId = options->launch_id;
  size_t count = getOr<Options, size_t>(*options, &Options::num_non_donatable_input_indices, 0);
  if (count != 0) {
    if (options->non_donatable_input_indices == nullptr) {
      return invalidArgument("PJRT_ExecuteOptions: null list of ", count, " non-donatable inputs");
    }
    out.nonDonatable = {options->non_donatable_input_indices, count};
  }
  auto* context = getOr<Options, PJRT_ExecuteContext*>(*options, &Options::context, nullptr);
  if (context != nullptr) out.userData = &fromHandle(context);
  return {};
}

// One device's arguments: checked to be there, seen as the runtime's buffers.
Status readArguments(const PJRT_LoadedExecutable_Execute_Args& args, size_t device,
                     std::span<Buffer* const>& out) {
  if (args.num_args == 0) return {};
  PJRT_Buffer* const* list = args.argument_lists[device];
  if (list == nullptr) {
    return invalidArgument("PJRT_LoadedExecutable_Execute: null argument list of device ", device);
  }
  for (size_t i = 0; i < args.num_args; ++i) {
    if (list[i] == nullptr) {
      return invalidArgument("PJRT_LoadedExecutable_Execute: argument ", i, " of device ", device,
                             " is null");
    }
  }
  out = {reinterpret_cast<Buffer* const*>(list), args.num_args};
  return {};
}

Status checkCounts(const PJRT_LoadedExecutable_Execute_Args& args,
                   const LoadedExecutable& executable) {
  size_t expected = args.execute_device != nullptr ? 1 : executable.addressableDevices().size();
  if (args.execute_device == nullptr && expected == 0) {
    return invalidArgument(
        "PJRT_LoadedExecutable_Execute: a portable executable needs `execute_device`");
  }
  if (args.num_devices != expected) {
    return invalidArgument("PJRT_LoadedExecutable_Execute: argument lists for ", args.num_devices,
                           " devices, expected ", expected);
  }
  if (args.num_args != 0) ISTHMUS_REQUIRE(args, argument_lists);
  if (executable.numOutputs() != 0) ISTHMUS_REQUIRE(args, output_lists);
  return {};
}

Status loadedExecutableExecute(PJRT_LoadedExecutable_Execute_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  LoadedExecutable& executable = fromHandle(args.executable);
  ExecuteOptions options;
  ISTHMUS_RETURN_IF_ERROR(readOptions(args.options, options));
  ISTHMUS_RETURN_IF_ERROR(checkCounts(args, executable));

  size_t numOutputs = executable.numOutputs();
  SmallArray<BufferRef, 32> resultStorage(args.num_devices * numOutputs);
  SmallArray<Event, 8> eventStorage(args.num_devices);
  SmallArray<DeviceLaunch, 8> launchStorage(args.num_devices);
  std::span<BufferRef> results = resultStorage.span();
  std::span<Event> events = eventStorage.span();
  std::span<DeviceLaunch> launches = launchStorage.span();
  for (size_t d = 0; d < args.num_devices; ++d) {
    ISTHMUS_RETURN_IF_ERROR(readArguments(args, d, launches[d].arguments));
    if (numOutputs != 0 && args.output_lists[d] == nullptr) {
      return invalidArgument("PJRT_LoadedExecutable_Execute: null output list of device ", d);
    }
    launches[d].results = results.subspan(d * numOutputs, numOutputs);
    if (args.device_complete_events != nullptr) launches[d].complete = &events[d];
  }

  ISTHMUS_RETURN_IF_ERROR(
      args.execute_device != nullptr
          ? executable.executeOn(fromHandle(args.execute_device), launches[0], options)
          : executable.execute(launches, options));

  // Nothing below can fail half-way: handles of results are the results themselves.
  if (args.device_complete_events != nullptr) {
    for (size_t d = 0; d < args.num_devices; ++d) {
      args.device_complete_events[d] = toHandle(std::move(events[d]));
    }
  }
  for (size_t d = 0; d < args.num_devices; ++d) {
    for (size_t i = 0; i < numOutputs; ++i) {
      args.output_lists[d][i] = toHandle(std::move(launches[d].results[i]));
    }
  }
  return {};
}

Status executeContextCreate(PJRT_ExecuteContext_Create_Args& args) {
  args.context = toHandle(new ffi::LaunchUserData);
  return {};
}

Status executeContextDestroy(PJRT_ExecuteContext_Destroy_Args& args) {
  if (args.context != nullptr) fromHandle(args.context).dropReference();
  return {};
}

}  // namespace

void bindExecute(PJRT_Api& api) {
  api.PJRT_LoadedExecutable_Execute = kEntry<&loadedExecutableExecute>;
  api.PJRT_ExecuteContext_Create = kEntry<&executeContextCreate>;
  api.PJRT_ExecuteContext_Destroy = kEntry<&executeContextDestroy>;
}

}  // namespace isthmus::pjrt
