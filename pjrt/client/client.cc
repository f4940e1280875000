// The entries of PJRT_Client: creation, devices, memories, compilation.
#include <cstdint>
#include <limits>
#include <string>

#include "pjrt/bindings.h"
#include "pjrt/client/key_value_store.h"
#include "pjrt/compile/compile_request.h"
#include "pjrt/entry.h"
#include "pjrt/executable/loaded_executable.h"
#include "pjrt/handles.h"
#include "runtime/executable/loaded_executable.h"

namespace isthmus::pjrt {
namespace {

StatusOr<int> takeInteger(AttributeMap& options, const char* name, int otherwise) {
  auto option = options.find(name);
  if (option == options.end()) return otherwise;
  const auto* number = std::get_if<int64_t>(&option->second);
  if (number == nullptr || *number < 0 || *number > std::numeric_limits<int>::max()) {
    return invalidArgument("client option ", name, " is not an integer from 0 on");
  }
  auto value = static_cast<int>(*number);
  options.erase(option);
  return value;
}

// One of several processes has options that say so; only then do the key-value callbacks hold
// anything but garbage.
StatusOr<JobOptions> takeJobOptions(const PJRT_Client_Create_Args& args, AttributeMap& options) {
  JobOptions job;
  ISTHMUS_ASSIGN_OR_RETURN(job.numProcesses, takeInteger(options, "num_nodes", 1));
  ISTHMUS_ASSIGN_OR_RETURN(job.processIndex, takeInteger(options, "node_id", 0));
  options.erase("partition_index");
  if (auto address = options.find("coordinator_address"); address != options.end()) {
    const auto* text = std::get_if<std::string>(&address->second);
    if (text == nullptr) return invalidArgument("client option coordinator_address is no string");
    job.coordinatorAddress = *text;
    options.erase(address);
  }
  if (job.numProcesses < 1 || job.processIndex >= job.numProcesses) {
    return invalidArgument("client option node_id is ", job.processIndex, " and num_nodes ",
                           job.numProcesses, ", expected the former to be less");
  }
  if (job.numProcesses > 1) {
    ISTHMUS_ASSIGN_OR_RETURN(job.store, makeKeyValueStore(args));
  }
  return job;
}

Status clientCreate(PJRT_Client_Create_Args& args) {
  args.client = nullptr;
  ISTHMUS_ASSIGN_OR_RETURN(AttributeMap options,
                           parseNamedValues(args.create_options, args.num_options));
  ISTHMUS_ASSIGN_OR_RETURN(JobOptions job, takeJobOptions(args, options));
  ISTHMUS_ASSIGN_OR_RETURN(Ref<Client> client,
                           Client::create(linkedBackend(), std::move(options), job));
  client->setAttachment(std::make_shared<PJRT_Client>(*client));
  args.client = &PJRT_Client::of(*client);
  client.detach();
  return {};
}

Status clientDestroy(PJRT_Client_Destroy_Args& args) {
  if (args.client != nullptr) Ref<Client>::adopt(&args.client->client).reset();
  return {};
}

Status clientPlatformName(PJRT_Client_PlatformName_Args& args) {
  ISTHMUS_REQUIRE(args, client);
  const std::string& name = args.client->client.platformName();
  args.platform_name = name.data();
  args.platform_name_size = name.size();
  return {};
}

Status clientProcessIndex(PJRT_Client_ProcessIndex_Args& args) {
  ISTHMUS_REQUIRE(args, client);
  args.process_index = args.client->client.processIndex();
  return {};
}

Status clientPlatformVersion(PJRT_Client_PlatformVersion_Args& args) {
  ISTHMUS_REQUIRE(args, client);
  const std::string& version = args.client->client.platformVersion();
  args.platform_version = version.data();
  args.platform_version_size = version.size();
  return {};
}

Status clientTopologyDescription(PJRT_Client_TopologyDescription_Args& args) {
  ISTHMUS_REQUIRE(args, client);
  args.topology = &args.client->topology;
  return {};
}

Status clientDevices(PJRT_Client_Devices_Args& args) {
  ISTHMUS_REQUIRE(args, client);
  auto devices = args.client->client.devices();
  args.devices = toHandles(devices);
  args.num_devices = devices.size();
  return {};
}

Status clientAddressableDevices(PJRT_Client_AddressableDevices_Args& args) {
  ISTHMUS_REQUIRE(args, client);
  auto devices = args.client->client.addressableDevices();
  args.addressable_devices = toHandles(devices);
  args.num_addressable_devices = devices.size();
  return {};
}

Status clientLookupDevice(PJRT_Client_LookupDevice_Args& args) {
  args.device = nullptr;
  ISTHMUS_REQUIRE(args, client);
  ISTHMUS_ASSIGN_OR_RETURN(Device * device, args.client->client.lookupDevice(args.id));
  args.device = toHandle(device);
  return {};
}

Status clientLookupAddressableDevice(PJRT_Client_LookupAddressableDevice_Args& args) {
  args.addressable_device = nullptr;
  ISTHMUS_REQUIRE(args, client);
  ISTHMUS_ASSIGN_OR_RETURN(Device * device,
                           args.client->client.lookupAddressableDevice(args.local_hardware_id));
  args.addressable_device = toHandle(device);
  return {};
}

Status clientAddressableMemories(PJRT_Client_AddressableMemories_Args& args) {
  ISTHMUS_REQUIRE(args, client);
  args.addressable_memories = args.client->memoryPointers.data();
  args.num_addressable_memories = args.client->memoryPointers.size();
  return {};
}

Status clientUpdateGlobalProcessInfo(PJRT_Client_UpdateGlobalProcessInfo_Args& args) {
  ISTHMUS_REQUIRE(args, client);
  if (args.num_process_infos != 0) ISTHMUS_REQUIRE(args, process_infos);
  Job* job = args.client->client.job();
  const char* next = reinterpret_cast<const char*>(args.process_infos);
  for (size_t i = 0; i < args.num_process_infos; ++i) {
    const auto& info = *reinterpret_cast<const PJRT_ProcessInfo*>(next);
    ISTHMUS_RETURN_IF_ERROR(checkSize(&info));
    next += info.struct_size;
    if (job == nullptr || info.state != PJRT_ProcessState_kError) continue;
    job->processIsGone(info.task_id, statusFromParts(static_cast<PJRT_Error_Code>(info.error_code),
                                                     info.error_message, info.error_message_size));
  }
  return {};
}

Status clientCompile(PJRT_Client_Compile_Args& args) {
  args.executable = nullptr;
  ISTHMUS_REQUIRE(args, client);
  ISTHMUS_ASSIGN_OR_RETURN(CompileRequest request,
                           parseCompileRequest("PJRT_Client_Compile", args.program,
                                               args.compile_options, args.compile_options_size));
  ISTHMUS_ASSIGN_OR_RETURN(Ref<LoadedExecutable> executable, args.client->client.compile(request));
  args.executable = toHandle(std::move(executable));
  return {};
}

Status clientLoad(PJRT_Client_Load_Args& args) {
  args.loaded_executable = nullptr;
  ISTHMUS_REQUIRE(args, client);
  ISTHMUS_REQUIRE(args, executable);
  std::optional<CompileOptions> options;
  ISTHMUS_RETURN_IF_ERROR(parseOptionalCompileOptions("PJRT_Client_Load", args.compile_options,
                                                      args.compile_options_size, options));
  ISTHMUS_ASSIGN_OR_RETURN(
      Ref<LoadedExecutable> executable,
      args.client->client.load(executableOf(args.executable), options ? &*options : nullptr));
  args.loaded_executable = toHandle(std::move(executable));
  return {};
}

Status executableDeserializeAndLoad(PJRT_Executable_DeserializeAndLoad_Args& args) {
  using Args = PJRT_Executable_DeserializeAndLoad_Args;
  args.loaded_executable = nullptr;
  ISTHMUS_REQUIRE(args, client);
  ISTHMUS_REQUIRE(args, serialized_executable);
  std::optional<CompileOptions> options;
  ISTHMUS_RETURN_IF_ERROR(parseOptionalCompileOptions(
      "PJRT_Executable_DeserializeAndLoad",
      getOr<Args, const char*>(args, &Args::overridden_serialized_compile_options, nullptr),
      getOr<Args, size_t>(args, &Args::overridden_serialized_compile_options_size, 0), options));
  std::string_view bytes(args.serialized_executable, args.serialized_executable_size);
  ISTHMUS_ASSIGN_OR_RETURN(Ref<LoadedExecutable> executable,
                           args.client->client.deserialize(bytes, options ? &*options : nullptr));
  args.loaded_executable = toHandle(std::move(executable));
  return {};
}

Status clientDefaultDeviceAssignment(PJRT_Client_DefaultDeviceAssignment_Args& args) {
  ISTHMUS_REQUIRE(args, client);
  if (args.num_replicas < 0 || args.num_partitions < 0) {
    return invalidArgument("PJRT_Client_DefaultDeviceAssignment: negative number of replicas (",
                           args.num_replicas, ") or partitions (", args.num_partitions, ")");
  }
  int64_t needed = int64_t{args.num_replicas} * args.num_partitions;
  if (args.default_assignment_size < static_cast<size_t>(needed)) {
    return failedPrecondition("PJRT_Client_DefaultDeviceAssignment: `default_assignment_size` ",
                              args.default_assignment_size, " < `num_replicas * num_partitions`, ",
                              args.num_replicas, " * ", args.num_partitions, " = ", needed);
  }
  if (needed != 0) ISTHMUS_REQUIRE(args, default_assignment);
  DeviceAssignment assignment =
      args.client->client.defaultDeviceAssignment(args.num_replicas, args.num_partitions);
  std::copy(assignment.deviceIds.begin(), assignment.deviceIds.end(), args.default_assignment);
  return {};
}

// Host memory needs no registration to be reached by devices that share it, so that this only holds
// callers to the rules.
Status clientDmaMap(PJRT_Client_DmaMap_Args& args) {
  ISTHMUS_REQUIRE(args, client);
  ISTHMUS_REQUIRE(args, data);
  return args.client->mapped.add(args.data, args.size);
}

Status clientDmaUnmap(PJRT_Client_DmaUnmap_Args& args) {
  ISTHMUS_REQUIRE(args, client);
  ISTHMUS_REQUIRE(args, data);
  return args.client->mapped.remove(args.data);
}

}  // namespace

void bindClient(PJRT_Api& api) {
  api.PJRT_Client_Create = kEntry<&clientCreate>;
  api.PJRT_Client_Destroy = kEntry<&clientDestroy>;
  api.PJRT_Client_PlatformName = kEntry<&clientPlatformName>;
  api.PJRT_Client_ProcessIndex = kEntry<&clientProcessIndex>;
  api.PJRT_Client_PlatformVersion = kEntry<&clientPlatformVersion>;
  api.PJRT_Client_TopologyDescription = kEntry<&clientTopologyDescription>;
  api.PJRT_Client_Devices = kEntry<&clientDevices>;
  api.PJRT_Client_AddressableDevices = kEntry<&clientAddressableDevices>;
  api.PJRT_Client_LookupDevice = kEntry<&clientLookupDevice>;
  api.PJRT_Client_LookupAddressableDevice = kEntry<&clientLookupAddressableDevice>;
  api.PJRT_Client_AddressableMemories = kEntry<&clientAddressableMemories>;
  api.PJRT_Client_UpdateGlobalProcessInfo = kEntry<&clientUpdateGlobalProcessInfo>;
  api.PJRT_Client_Compile = kEntry<&clientCompile>;
  api.PJRT_Client_Load = kEntry<&clientLoad>;
  api.PJRT_Executable_DeserializeAndLoad = kEntry<&executableDeserializeAndLoad>;
  api.PJRT_Client_DefaultDeviceAssignment = kEntry<&clientDefaultDeviceAssignment>;
  api.PJRT_Client_DmaMap = kEntry<&clientDmaMap>;
  api.PJRT_Client_DmaUnmap = kEntry<&clientDmaUnmap>;
}

}  // namespace isthmus::pjrt
