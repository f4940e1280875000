// A plugin with one defect: another plugin's table with an entry or two replaced.
//
// ISTHMUS_DEFECTIVE_BASE names the other plugin, ISTHMUS_DEFECT the defect; or ISTHMUS_NO_DEVICE
// says how it behaves on a machine without a device of its kind.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/pjrt_c_api.h"

namespace {

const PJRT_Api* base = nullptr;
PJRT_Api table = {};

template <typename Args>
Args make() {
  Args args = {};
  args.struct_size = kPjrtStructSize<Args>;
  return args;
}

constexpr std::string_view kTrivialProgram =
    "module { func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : "
    "tensor<4xf32> } }";

// Drops an error, so that the call seems to have succeeded.
PJRT_Error* swallow(PJRT_Error* error) {
  if (error == nullptr) return nullptr;
  auto args = make<PJRT_Error_Destroy_Args>();
  args.error = error;
  base->PJRT_Error_Destroy(&args);
  return nullptr;
}

PJRT_LoadedExecutable* compileTrivial(PJRT_Client* client) {
  std::string code(kTrivialProgram);
  auto program = make<PJRT_Program>();
  program.code = code.data();
  program.code_size = code.size();
  program.format = "mlir";
  program.format_size = 4;
  auto args = make<PJRT_Client_Compile_Args>();
  args.client = client;
  args.program = &program;
  swallow(base->PJRT_Client_Compile(&args));
  return args.executable;
}

// Compiles the program with one word replaced by another.
PJRT_Error* compileReplaced(PJRT_Client_Compile_Args* args, std::string_view from,
                            std::string_view to) {
  std::string code(args->program->code, args->program->code_size);
  for (size_t at = 0; (at = code.find(from, at)) != std::string::npos; at += to.size()) {
    code.replace(at, from.size(), to);
  }
  PJRT_Program program = *args->program;
  program.code = code.data();
  program.code_size = code.size();
  PJRT_Client_Compile_Args copy = *args;
  copy.program = &program;
  PJRT_Error* error = base->PJRT_Client_Compile(&copy);
  args->executable = copy.executable;
  return error;
}

PJRT_Error* copyThenSpoil(PJRT_Buffer_ToHostBuffer_Args* args) {
  PJRT_Error* error = base->PJRT_Buffer_ToHostBuffer(args);
  if (error || !args->dst || args->dst_size == 0) return error;
  if (args->event) {
    auto await = make<PJRT_Event_Await_Args>();
    await.event = args->event;
    swallow(base->PJRT_Event_Await(&await));
  }
  static_cast<char*>(args->dst)[args->dst_size - 1] ^= 1;
  return nullptr;
}

PJRT_Error* copyPastTheEnd(PJRT_Buffer_ToHostBuffer_Args* args) {
  if (!args->dst) return base->PJRT_Buffer_ToHostBuffer(args);
  auto size = make<PJRT_Buffer_ToHostBuffer_Args>();
  size.src = args->src;
  if (PJRT_Error* error = base->PJRT_Buffer_ToHostBuffer(&size)) return error;
  args->dst_size = size.dst_size;
  return base->PJRT_Buffer_ToHostBuffer(args);
}

PJRT_Error* executeOrAbort(PJRT_LoadedExecutable_Execute_Args* args) {
  if (base->PJRT_LoadedExecutable_Execute(args)) std::abort();
  return nullptr;
}

PJRT_Error* executeWithIndices(PJRT_LoadedExecutable_Execute_Args* args, bool keepAll) {
  std::vector<int64_t> indices;
  for (size_t i = 0; keepAll && i < args->num_args; ++i) indices.push_back(static_cast<int64_t>(i));
  PJRT_ExecuteOptions options = *args->options;
  options.non_donatable_input_indices = indices.data();
  options.num_non_donatable_input_indices = indices.size();
  PJRT_LoadedExecutable_Execute_Args copy = *args;
  copy.options = &options;
  return base->PJRT_LoadedExecutable_Execute(&copy);
}

// Waits for a buffer; whether it has an error.
bool hasFailed(PJRT_Buffer* buffer) {
  auto ready = make<PJRT_Buffer_ReadyEvent_Args>();
  ready.buffer = buffer;
  swallow(base->PJRT_Buffer_ReadyEvent(&ready));
  auto await = make<PJRT_Event_Await_Args>();
  await.event = ready.event;
  PJRT_Error* error = base->PJRT_Event_Await(&await);
  auto destroy = make<PJRT_Event_Destroy_Args>();
  destroy.event = ready.event;
  swallow(base->PJRT_Event_Destroy(&destroy));
  swallow(error);
  return error != nullptr;
}

// Of a launch on several devices, each with one argument: whether one failed.
bool hasFailedArgument(const PJRT_LoadedExecutable_Execute_Args* args) {
  if (args->num_devices < 2) return false;
  for (size_t i = 0; i < args->num_devices; ++i) {
    if (hasFailed(args->argument_lists[i][0])) return true;
  }
  return false;
}

// Replicas whose own arguments are there keep them as their results.
PJRT_Error* executeApart(PJRT_LoadedExecutable_Execute_Args* args) {
  const bool isApart = hasFailedArgument(args);
  PJRT_Error* error = base->PJRT_LoadedExecutable_Execute(args);
  for (size_t i = 0; !error && isApart && i < args->num_devices; ++i) {
    PJRT_Buffer* argument = args->argument_lists[i][0];
    if (hasFailed(argument)) continue;
    auto memory = make<PJRT_Buffer_Memory_Args>();
    memory.buffer = argument;
    swallow(base->PJRT_Buffer_Memory(&memory));
    auto copy = make<PJRT_Buffer_CopyToMemory_Args>();
    copy.buffer = argument;
    copy.dst_memory = memory.memory;
    swallow(base->PJRT_Buffer_CopyToMemory(&copy));
    auto destroy = make<PJRT_Buffer_Destroy_Args>();
    destroy.buffer = args->output_lists[i][0];
    swallow(base->PJRT_Buffer_Destroy(&destroy));
    args->output_lists[i][0] = copy.dst_buffer;
  }
  return error;
}

struct Defect {
  const char* name;
  const char* check;  // that must find it
  void (*apply)();
};

// An entry that calls the other plugin's and then does something to the arguments.
#define AFTER(entry, ...)                                               \
  [] {                                                                  \
    table.PJRT_##entry = [](PJRT_##entry##_Args* args) -> PJRT_Error* { \
      PJRT_Error* error = base->PJRT_##entry(args);                     \
      __VA_ARGS__;                                                      \
      return error;                                                     \
    };                                                                  \
  }
#define INSTEAD(entry, ...) \
  [] { table.PJRT_##entry = [](PJRT_##entry##_Args* args) -> PJRT_Error* { __VA_ARGS__; }; }

const Defect kDefects[] = {
    {"major version 1", "table.version", [] { table.pjrt_api_version.major_version = 1; }},
    {"no entry to delete buffers", "table.entries", [] { table.PJRT_Buffer_Delete = nullptr; }},
    {"a list of extensions without end", "table.extensions",
     [] {
       static PJRT_Extension_Base node = {sizeof(node), PJRT_Extension_Type_Example, &node};
       table.extension_start = &node;
     }},
    {"an extension without a size", "table.extensions",
     [] {
       static PJRT_Extension_Base node = {0, PJRT_Extension_Type_Example, nullptr};
       table.extension_start = &node;
     }},
    {"an attribute without a name", "table.attributes",
     AFTER(Plugin_Attributes,
           {
             static PJRT_NamedValue value = make<PJRT_NamedValue>();
             args->attributes = &value;
             args->num_attributes = 1;
           })},
    {"a table that is initialised only once", "table.initialize_twice",
     [] {
       table.PJRT_Plugin_Initialize = [](PJRT_Plugin_Initialize_Args* args) -> PJRT_Error* {
         static int calls = 0;
         if (++calls <= 1) return base->PJRT_Plugin_Initialize(args);
         auto destroy = make<PJRT_Event_Destroy_Args>();
         destroy.struct_size = 1;
         return base->PJRT_Event_Destroy(&destroy);
       };
     }},
    {"errors without a message", "error.message_is_useful",
     [] {
       table.PJRT_Error_Message = [](PJRT_Error_Message_Args* args) {
         args->message = "";
         args->message_size = 0;
       };
     }},
    {"errors with code OK", "compile.refuses_bad_text",
     INSTEAD(Error_GetCode, args->code = PJRT_Error_Code_OK; return nullptr)},
    {"a struct_size that nobody reads", "error.small_struct_size",
     INSTEAD(Client_PlatformName,
             args->struct_size = kPjrtStructSize<PJRT_Client_PlatformName_Args>;
             return base->PJRT_Client_PlatformName(args))},
    {"writing past the known fields", "error.large_struct_size",
     AFTER(Client_PlatformName,
           {
             if (args->struct_size > sizeof(*args)) std::memset(args + 1, 0, 8);
           })},
    {"no platform name", "client.platform",
     AFTER(Client_PlatformName, args->platform_name_size = 0)},
    {"a platform name that changes", "client.platform",
     AFTER(Client_PlatformName, static int calls = 0; args->platform_name = ++calls % 2 ? "a" : "b";
           args->platform_name_size = 1)},
    {"no devices", "device.exists",
     AFTER(Client_AddressableDevices, args->num_addressable_devices = 0)},
    {"devices that deny being addressable", "device.addressable_are_devices",
     AFTER(Device_IsAddressable, args->is_addressable = false)},
    {"ids that no lookup finds", "device.ids", AFTER(DeviceDescription_Id, args->id += 1000)},
    {"any id finds a device", "device.unknown_id",
     INSTEAD(Client_LookupDevice,
             {
               PJRT_Error* error = base->PJRT_Client_LookupDevice(args);
               if (!error) return nullptr;
               swallow(error);
               args->id = 0;
               return base->PJRT_Client_LookupDevice(args);
             })},
    {"a device without a kind", "device.description",
     AFTER(DeviceDescription_Kind, args->device_kind_size = 0)},
    {"a default memory that is not the device's", "memory.default_is_addressable",
     AFTER(Device_DefaultMemory, args->memory = nullptr)},
    {"a memory without a kind", "memory.describes_itself", AFTER(Memory_Kind, args->kind_size = 0)},
    {"statistics that never change", "memory.statistics",
     AFTER(Device_MemoryStats, args->bytes_in_use = 0)},
    {"an assignment to devices that do not exist", "client.default_device_assignment",
     AFTER(Client_DefaultDeviceAssignment,
           {
             for (size_t i = 0; i < args->default_assignment_size; ++i)
               args->default_assignment[i] += 77;
           })},
    {"a topology without devices", "topology.of_the_client",
     AFTER(TopologyDescription_GetDeviceDescriptions, args->num_descriptions = 0)},
    {"a wrong element type", "buffer.metadata",
     AFTER(Buffer_ElementType, args->type = PJRT_Buffer_Type_S32)},
    {"a size of nothing", "buffer.metadata",
     AFTER(Buffer_OnDeviceSizeInBytes, args->on_device_size_in_bytes = 0)},
    {"strides that nobody reads", "buffer.transposed_host_array",
     INSTEAD(Client_BufferFromHostBuffer, args->byte_strides = nullptr; args->num_byte_strides = 0;
             return base->PJRT_Client_BufferFromHostBuffer(args))},
    {"memory of the host that is kept too long", "buffer.only_during_call",
     INSTEAD(Client_BufferFromHostBuffer,
             args->host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
             return base->PJRT_Client_BufferFromHostBuffer(args))},
    {"negative dimensions that are believed", "buffer.refuses_negative_dimensions",
     INSTEAD(Client_BufferFromHostBuffer,
             {
               std::vector<int64_t> dims(args->dims, args->dims + args->num_dims);
               for (int64_t& dim : dims) dim = dim < 0 ? -dim : dim;
               args->dims = dims.data();
               return base->PJRT_Client_BufferFromHostBuffer(args);
             })},
    {"one bit wrong on the way to the host", "buffer.round_trip",
     [] { table.PJRT_Buffer_ToHostBuffer = copyThenSpoil; }},
    {"a layout for the host that nobody reads", "buffer.column_major_copy",
     INSTEAD(Buffer_ToHostBuffer, args->host_layout = nullptr;
             return base->PJRT_Buffer_ToHostBuffer(args))},
    {"copies past the end of the destination", "buffer.small_destination",
     [] { table.PJRT_Buffer_ToHostBuffer = copyPastTheEnd; }},
    {"an offset that nobody reads", "buffer.copy_raw_to_host",
     INSTEAD(Buffer_CopyRawToHost, args->offset = 0; return base->PJRT_Buffer_CopyRawToHost(args))},
    {"deletion that deletes nothing", "buffer.delete_is_final",
     INSTEAD(Buffer_Delete, return nullptr)},
    {"deletion that nobody is told of", "buffer.delete_is_final",
     AFTER(Buffer_IsDeleted, args->is_deleted = false)},
    {"a pointer beside the elements", "buffer.pointer_on_cpu",
     AFTER(Buffer_UnsafePointer, args->buffer_pointer += 4)},
    {"external references that hold nothing", "buffer.external_reference",
     [] {
       table.PJRT_Buffer_IncreaseExternalReferenceCount =
           [](PJRT_Buffer_IncreaseExternalReferenceCount_Args*) -> PJRT_Error* { return nullptr; };
     }},
    {"callbacks that come twice", "event.callback_once",
     AFTER(Event_OnReady, swallow(base->PJRT_Event_OnReady(args)))},
    {"events that swallow errors", "event.error_reaches_waiters",
     INSTEAD(Event_Await, return swallow(base->PJRT_Event_Await(args)))},
    {"events that are never ready", "event.callback_once",
     AFTER(Event_IsReady, args->is_ready = false)},
    {"programs that are always accepted", "compile.refuses_bad_text",
     INSTEAD(Client_Compile,
             {
               PJRT_Error* error = base->PJRT_Client_Compile(args);
               if (!error) return nullptr;
               swallow(error);
               args->executable = compileTrivial(args->client);
               return nullptr;
             })},
    {"a crash on programs that are wrong", "compile.refuses_ill_typed",
     INSTEAD(Client_Compile,
             {
               PJRT_Error* error = base->PJRT_Client_Compile(args);
               if (error) std::abort();
               return nullptr;
             })},
    {"no end on programs that are wrong", "compile.refuses_unknown_ops",
     INSTEAD(Client_Compile,
             {
               PJRT_Error* error = base->PJRT_Client_Compile(args);
               while (error) pause();
               return nullptr;
             })},
    {"a logistic for a hyperbolic tangent", "op.tanh.f32",
     INSTEAD(Client_Compile, return compileReplaced(args, "stablehlo.tanh", "stablehlo.logistic"))},
    {"halves rounded away from zero", "op.round_nearest_even.f32",
     INSTEAD(Client_Compile,
             return compileReplaced(args, "round_nearest_even", "round_nearest_afz"))},
    {"arithmetic shifts for logical ones", "op.shift_right_logical.s32",
     INSTEAD(Client_Compile,
             return compileReplaced(args, "shift_right_logical", "shift_right_arithmetic"))},
    {"a training step of half the rate", "training.perceptron",
     INSTEAD(Client_Compile, return compileReplaced(args, "dense<0.1>", "dense<0.05>"))},
    {"outputs in the wrong order", "execute.several_outputs",
     AFTER(LoadedExecutable_Execute,
           {
             // Only the program of the check has outputs whose names say so: two arguments, two
             // outputs.
             if (!error && args->num_args == 2) {
               std::swap(args->output_lists[0][0], args->output_lists[0][1]);
             }
           })},
    {"wrong arguments that are accepted", "execute.wrong_number_of_arguments",
     INSTEAD(LoadedExecutable_Execute, return swallow(base->PJRT_LoadedExecutable_Execute(args)))},
    {"donation that keeps the donor", "donation.aliased_argument",
     INSTEAD(LoadedExecutable_Execute, return executeWithIndices(args, true))},
    {"donation of what was kept back", "donation.non_donatable",
     INSTEAD(LoadedExecutable_Execute, return executeWithIndices(args, false))},
    {"seven replicas", "executable.describes_itself",
     AFTER(Executable_NumReplicas, args->num_replicas = 7)},
    {"an executable without a name", "executable.describes_itself",
     AFTER(Executable_Name, args->executable_name_size = 0)},
    {"outputs of another shape", "executable.output_types",
     AFTER(Executable_OutputDimensions, static const int64_t dims[] = {5, 5}; args->dims = dims)},
    {"one fingerprint for all", "executable.fingerprint",
     AFTER(Executable_Fingerprint, args->executable_fingerprint = "x";
           args->executable_fingerprint_size = 1)},
    {"another fingerprint each time", "executable.fingerprint",
     AFTER(Executable_Fingerprint, static char text[2] = "a"; ++text[0];
           args->executable_fingerprint = text; args->executable_fingerprint_size = 1)},
    {"executables that cannot be deleted", "executable.delete_is_final",
     INSTEAD(LoadedExecutable_Delete, return nullptr)},
    {"garbage that is loaded as an executable", "serialization.refuses_garbage",
     INSTEAD(Executable_DeserializeAndLoad,
             {
               PJRT_Error* error = base->PJRT_Executable_DeserializeAndLoad(args);
               if (!error) return nullptr;
               swallow(error);
               args->loaded_executable = compileTrivial(args->client);
               return nullptr;
             })},
    {"an optimised program of no size", "executable.optimized_program",
     AFTER(Executable_OptimizedProgram, args->program->code_size = 0)},
    {"replicas that do without one whose argument is an error", "devices.all_reduce_of_an_error",
     [] { table.PJRT_LoadedExecutable_Execute = executeApart; }},
    {"replicas that do without one whose argument fails", "devices.all_reduce_of_what_fails",
     [] { table.PJRT_LoadedExecutable_Execute = executeApart; }},
    {"replicas that wait for one whose argument is an error", "devices.all_reduce_of_an_error",
     INSTEAD(LoadedExecutable_Execute,
             {
               while (hasFailedArgument(args)) pause();
               return base->PJRT_LoadedExecutable_Execute(args);
             })},
    {"an error that all later launches have", "devices.all_reduce_of_an_error",
     INSTEAD(LoadedExecutable_Execute,
             {
               static bool hasBroken = false;
               auto launch = *args;
               if (hasBroken) launch.struct_size = 1;
               hasBroken |= hasFailedArgument(args);
               return base->PJRT_LoadedExecutable_Execute(&launch);
             })},
    {"ranges outside of a buffer that are nothing", "buffer.raw_ranges",
     INSTEAD(Buffer_CopyRawToHost,
             if (args->offset < 0 || args->transfer_size != 16) {
               args->offset = args->transfer_size = 0;
             } return base->PJRT_Buffer_CopyRawToHost(args))},
    {"impossible shapes that are made smaller", "buffer.impossible_shapes",
     INSTEAD(Client_CreateUninitializedBuffer, args->shape_num_dims = 0;
             return base->PJRT_Client_CreateUninitializedBuffer(args))},
    {"copies that a destroyed buffer takes along", "buffer.destroyed_while_awaited",
     [] {
       table.PJRT_Buffer_ToHostBuffer = [](PJRT_Buffer_ToHostBuffer_Args* args) -> PJRT_Error* {
         if (args->dst) return nullptr;
         return base->PJRT_Buffer_ToHostBuffer(args);
       };
     }},
    {"launches that a destroyed executable waits for", "executable.destroyed_while_it_runs",
     INSTEAD(LoadedExecutable_Destroy, {
       while (true) pause();
     })},
    {"a crash on what another client made", "execute.argument_of_another_client",
     INSTEAD(LoadedExecutable_Execute, return executeOrAbort(args))},
    {"a crash on what another device has", "execute.argument_on_another_device",
     INSTEAD(LoadedExecutable_Execute, return executeOrAbort(args))},
    {"arguments of the first device for all", "execute.wrong_number_of_devices",
     INSTEAD(LoadedExecutable_Execute,
             args->num_devices = args->num_devices > 1 ? 1 : args->num_devices;
             return base->PJRT_LoadedExecutable_Execute(args))},
    {"a crash on memory of another client", "buffer.on_a_device_of_another_client",
     INSTEAD(Buffer_CopyToMemory, std::abort())},
    {"a crash on aliases of other devices", "buffer.alias_of_another_device",
     INSTEAD(Client_FulfillAliasBuffer, std::abort())},
    {"donated memory that is read", "donation.same_buffer_twice",
     INSTEAD(LoadedExecutable_Execute,
             {
               if (args->num_args != 2) return base->PJRT_LoadedExecutable_Execute(args);
               // As if the result had been written before the second argument was read.
               auto add = make<PJRT_Buffer_CopyToMemory_Args>();
               auto memory = make<PJRT_Buffer_Memory_Args>();
               memory.buffer = args->argument_lists[0][0];
               swallow(base->PJRT_Buffer_Memory(&memory));
               add.buffer = memory.buffer;
               add.dst_memory = memory.memory;
               swallow(base->PJRT_Buffer_CopyToMemory(&add));
               args->output_lists[0][0] = add.dst_buffer;
               if (args->device_complete_events) args->device_complete_events[0] = nullptr;
               return nullptr;
             })},
    {"donation to all who ask", "donation.from_many_threads",
     INSTEAD(LoadedExecutable_Execute, return executeWithIndices(args, true))},
    {"pieces that begin at the beginning", "transfer.pieces",
     INSTEAD(AsyncHostToDeviceTransferManager_TransferData, args->offset = 0;
             return base->PJRT_AsyncHostToDeviceTransferManager_TransferData(args))},
    {"a first piece that completes the buffer", "transfer.ended_early",
     INSTEAD(AsyncHostToDeviceTransferManager_TransferData, args->is_last_transfer = true;
             return base->PJRT_AsyncHostToDeviceTransferManager_TransferData(args))},
    {"callbacks under a lock that calls want", "event.callbacks_may_call",
     [] {
       static std::mutex mutex;
       static void (*callback)(PJRT_Error*, void*);
       table.PJRT_Event_OnReady = [](PJRT_Event_OnReady_Args* args) -> PJRT_Error* {
         callback = args->callback;
         args->callback = [](PJRT_Error* error, void* arg) {
           std::lock_guard lock(mutex);
           callback(error, arg);
         };
         return base->PJRT_Event_OnReady(args);
       };
       table.PJRT_Buffer_Dimensions = [](PJRT_Buffer_Dimensions_Args* args) -> PJRT_Error* {
         std::lock_guard lock(mutex);
         return base->PJRT_Buffer_Dimensions(args);
       };
     }},
    {"memory that is unmapped any number of times", "client.dma_ranges",
     INSTEAD(Client_DmaUnmap, return swallow(base->PJRT_Client_DmaUnmap(args)))},
};

#undef AFTER
#undef INSTEAD

}  // namespace

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  const char* path = std::getenv("ISTHMUS_DEFECTIVE_BASE");
  void* library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (library == nullptr) return nullptr;
  base = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"))();
  table = *base;
  const char* number = std::getenv("ISTHMUS_DEFECT");
  const size_t index = number ? std::strtoul(number, nullptr, 10) : ~size_t{0};
  if (index < std::size(kDefects)) kDefects[index].apply();
  const char* without = std::getenv("ISTHMUS_NO_DEVICE");
  const std::string_view noDevice = without ? without : "";
  if (noDevice == "client_create_fails") {
    table.PJRT_Client_Create = [](PJRT_Client_Create_Args* args) {
      auto refused = *args;
      refused.struct_size = 1;
      return base->PJRT_Client_Create(&refused);
    };
  } else if (noDevice == "client_create_hangs") {
    table.PJRT_Client_Create = [](PJRT_Client_Create_Args*) -> PJRT_Error* {
      while (true) pause();
    };
  } else if (noDevice == "initialize_aborts") {
    table.PJRT_Plugin_Initialize = [](PJRT_Plugin_Initialize_Args*) -> PJRT_Error* { abort(); };
  }
  return &table;
}

// For the test: how many there are, what they are called and which check must find them.
extern "C" __attribute__((visibility("default"))) size_t isthmus_num_defects() {
  return std::size(kDefects);
}
extern "C" __attribute__((visibility("default"))) const char* isthmus_defect_name(size_t index) {
  return kDefects[index].name;
}
extern "C" __attribute__((visibility("default"))) const char* isthmus_defect_check(size_t index) {
  return kDefects[index].check;
}
