#include "conformance/session.h"

#include <algorithm>
#include <cstring>

namespace isthmus::conformance {
namespace {

constexpr size_t kMaxTraceBytes = 16 << 10;

// CompileOptionsProto { executable_build_options { device_ordinal: -1, num_replicas, num_partitions
// } }
std::string compileOptions(CompileShape shape) {
  std::string build = "\x08";
  build.append(9, '\xff');
  build += '\x01';
  build += {0x20, static_cast<char>(shape.replicas), 0x28, static_cast<char>(shape.partitions)};
  std::string options = "\x1a";
  options += static_cast<char>(build.size());
  return options + build;
}

template <size_t kSize>
void keep(char (&into)[kSize], std::string_view text) {
  const size_t size = std::min(text.size(), kSize - 1);
  std::memcpy(into, text.data(), size);
  into[size] = 0;
}

}  // namespace

Session::Session(const Plugin& plugin, Progress* progress) : plugin_(plugin), progress_(progress) {
  if (progress_ != nullptr) *progress_->call = *progress_->program = 0;
}

Session::~Session() {
  if (client_ == nullptr) return;
  auto args = make<PJRT_Client_Destroy_Args>();
  args.client = client_;
  plugin_.call(&PJRT_Api::PJRT_Client_Destroy, args);
}

void Session::note(std::string line) {
  if (progress_ != nullptr && !line.starts_with(' ')) keep(progress_->call, line);
  if (trace_.size() > kMaxTraceBytes) return;
  trace_ += line + "\n";
}

void Session::expect(bool holds, std::string expected, std::string got) {
  if (!holds) throw Failure(std::move(expected), std::move(got));
}

void Session::expectEqual(const HostArray& expected, const HostArray& got, Tolerance tolerance) {
  const std::string wrong = difference(expected, got, tolerance);
  if (!wrong.empty()) throw Failure("the values of the reference", wrong);
}

void Session::succeed(std::string_view what, const Outcome& outcome) {
  if (outcome.ok()) return;
  throw Failure(std::string(what) + " to succeed", nameOf(outcome.code) + ": " + outcome.message);
}

void Session::refuse(std::string_view what, const Outcome& outcome, std::string_view why) {
  const std::string expected = "an error from " + std::string(what) + " " + std::string(why);
  if (outcome.ok()) throw Failure(expected, "success");
  if (outcome.message.empty()) {
    throw Failure(expected + ", with a message", nameOf(outcome.code) + " without one");
  }
}

PJRT_Client* Session::client() {
  if (client_ != nullptr) return client_;
  auto args = plugin_.clientArgs();
  must(&PJRT_Api::PJRT_Client_Create, args);
  expect(args.client != nullptr, "a client", "null");
  return client_ = args.client;
}

std::vector<PJRT_Device*> Session::devices() {
  auto args = make<PJRT_Client_AddressableDevices_Args>();
  args.client = client();
  must(&PJRT_Api::PJRT_Client_AddressableDevices, args);
  return {args.addressable_devices, args.addressable_devices + args.num_addressable_devices};
}

PJRT_Device* Session::device(size_t index) {
  const auto all = devices();
  if (index >= all.size()) {
    throw Skip("needs " + std::to_string(index + 1) + " devices, has " +
               std::to_string(all.size()));
  }
  return all[index];
}

PJRT_Memory* Session::defaultMemory(PJRT_Device* device) {
  auto args = make<PJRT_Device_DefaultMemory_Args>();
  args.device = device;
  must(&PJRT_Api::PJRT_Device_DefaultMemory, args);
  return args.memory;
}

std::string Session::platformName() {
  auto args = make<PJRT_Client_PlatformName_Args>();
  args.client = client();
  must(&PJRT_Api::PJRT_Client_PlatformName, args);
  return {args.platform_name, args.platform_name_size};
}

Buffer Session::fromHost(const HostArray& array, PJRT_Device* device) {
  auto args = make<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = client();
  args.data = array.bytes.data();
  args.type = array.type;
  args.dims = array.dims.data();
  args.num_dims = array.dims.size();
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args.device = device ? device : this->device();
  must(&PJRT_Api::PJRT_Client_BufferFromHostBuffer, args);
  Buffer buffer(*this, args.buffer);
  expect(args.buffer != nullptr, "a buffer", "null");
  if (args.done_with_host_buffer)
    succeed("copying from the host", await(args.done_with_host_buffer));
  return buffer;
}

Outcome Session::tryToHost(PJRT_Buffer* buffer, HostArray* array) {
  auto type = make<PJRT_Buffer_ElementType_Args>();
  type.buffer = buffer;
  if (Outcome outcome = call(&PJRT_Api::PJRT_Buffer_ElementType, type); !outcome.ok())
    return outcome;
  auto dims = make<PJRT_Buffer_Dimensions_Args>();
  dims.buffer = buffer;
  if (Outcome outcome = call(&PJRT_Api::PJRT_Buffer_Dimensions, dims); !outcome.ok())
    return outcome;
  *array = {type.type, {dims.dims, dims.dims + dims.num_dims}, {}};
  // Dense and row-major, whatever the device's own layout is.
  std::vector<int64_t> minorToMajor(array->dims.size());
  for (size_t i = 0; i < minorToMajor.size(); ++i) {
    minorToMajor[i] = static_cast<int64_t>(minorToMajor.size() - 1 - i);
  }
  auto layout = make<PJRT_Buffer_MemoryLayout>();
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.struct_size = kPjrtStructSize<PJRT_Buffer_MemoryLayout_Tiled>;
  layout.tiled.minor_to_major = minorToMajor.data();
  layout.tiled.minor_to_major_size = minorToMajor.size();
  auto args = make<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer;
  args.host_layout = &layout;
  if (Outcome outcome = call(&PJRT_Api::PJRT_Buffer_ToHostBuffer, args); !outcome.ok()) {
    return outcome;
  }
  array->bytes.resize(args.dst_size);
  // Some plugins want an address even of an array without elements.
  char nothing = 0;
  args.dst = array->bytes.empty() ? &nothing : array->bytes.data();
  if (Outcome outcome = call(&PJRT_Api::PJRT_Buffer_ToHostBuffer, args); !outcome.ok()) {
    return outcome;
  }
  if (args.event == nullptr) return {};
  return await(args.event);
}

HostArray Session::toHost(const Buffer& buffer) {
  HostArray array;
  succeed("copying to the host", tryToHost(buffer.get(), &array));
  return array;
}

Outcome Session::tryCompile(std::string_view text, LoadedExecutable* executable, CompileShape shape,
                            std::string_view format) {
  program_ = text;
  if (progress_ != nullptr) keep(progress_->program, text);
  std::string code(text), formatName(format);
  const std::string options = compileOptions(shape);
  auto program = make<PJRT_Program>();
  program.code = code.data();
  program.code_size = code.size();
  program.format = formatName.data();
  program.format_size = formatName.size();
  auto args = make<PJRT_Client_Compile_Args>();
  args.client = client();
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  Outcome outcome = call(&PJRT_Api::PJRT_Client_Compile, args);
  if (outcome.ok()) *executable = LoadedExecutable(*this, args.executable);
  return outcome;
}

LoadedExecutable Session::compile(std::string_view program, CompileShape shape) {
  LoadedExecutable executable;
  succeed("PJRT_Client_Compile", tryCompile(program, &executable, shape));
  return executable;
}

Executable Session::executableOf(const LoadedExecutable& loaded) {
  auto args = make<PJRT_LoadedExecutable_GetExecutable_Args>();
  args.loaded_executable = loaded.get();
  must(&PJRT_Api::PJRT_LoadedExecutable_GetExecutable, args);
  return Executable(*this, args.executable);
}

size_t Session::numOutputs(const LoadedExecutable& loaded) {
  Executable executable = executableOf(loaded);
  auto args = make<PJRT_Executable_NumOutputs_Args>();
  args.executable = executable.get();
  must(&PJRT_Api::PJRT_Executable_NumOutputs, args);
  return args.num_outputs;
}

Outcome Session::tryExecute(PJRT_LoadedExecutable* loaded,
                            const std::vector<std::vector<PJRT_Buffer*>>& arguments, size_t outputs,
                            const ExecuteSettings& settings,
                            std::vector<std::vector<Buffer>>* results) {
  std::vector<PJRT_Buffer* const*> argumentLists;
  for (const auto& list : arguments) argumentLists.push_back(list.data());
  std::vector<std::vector<PJRT_Buffer*>> made(arguments.size(), std::vector<PJRT_Buffer*>(outputs));
  std::vector<PJRT_Buffer**> outputLists;
  for (auto& list : made) outputLists.push_back(list.data());
  std::vector<PJRT_Event*> events(arguments.size());
  auto options = make<PJRT_ExecuteOptions>();
  options.launch_id = settings.launchId;
  options.non_donatable_input_indices = settings.nonDonatable.data();
  options.num_non_donatable_input_indices = settings.nonDonatable.size();
  auto args = make<PJRT_LoadedExecutable_Execute_Args>();
  args.executable = loaded;
  args.options = &options;
  args.argument_lists = argumentLists.data();
  args.num_devices = arguments.size();
  args.num_args = arguments.empty() ? 0 : arguments[0].size();
  args.output_lists = outputLists.data();
  args.device_complete_events = settings.wantsEvents ? events.data() : nullptr;
  args.execute_device = settings.device;
  Outcome outcome = call(&PJRT_Api::PJRT_LoadedExecutable_Execute, args);
  if (!outcome.ok()) return outcome;
  for (auto& list : made) {
    std::vector<Buffer>& buffers = results->emplace_back();
    for (PJRT_Buffer* buffer : list) {
      expect(buffer != nullptr, "a buffer for each output", "null");
      buffers.emplace_back(*this, buffer);
    }
  }
  for (PJRT_Event* event : events) {
    if (event == nullptr) continue;
    if (Outcome ran = await(event); !ran.ok()) outcome = ran;
  }
  return outcome;
}

std::vector<std::vector<Buffer>> Session::execute(
    const LoadedExecutable& loaded, const std::vector<std::vector<PJRT_Buffer*>>& arguments,
    const ExecuteSettings& settings) {
  std::vector<std::vector<Buffer>> results;
  succeed("executing", tryExecute(loaded.get(), arguments, numOutputs(loaded), settings, &results));
  return results;
}

std::vector<Buffer> Session::run(const LoadedExecutable& loaded,
                                 const std::vector<const Buffer*>& arguments) {
  std::vector<PJRT_Buffer*> pointers;
  for (const Buffer* buffer : arguments) pointers.push_back(buffer->get());
  return std::move(execute(loaded, {pointers}, {})[0]);
}

std::vector<HostArray> Session::evaluate(std::string_view program,
                                         const std::vector<HostArray>& arguments) {
  LoadedExecutable executable = compile(program);
  std::vector<Buffer> buffers;
  std::vector<const Buffer*> pointers;
  buffers.reserve(arguments.size());
  for (const HostArray& array : arguments) {
    buffers.push_back(fromHost(array));
    pointers.push_back(&buffers.back());
  }
  std::vector<HostArray> results;
  for (const Buffer& result : run(executable, pointers)) results.push_back(toHost(result));
  return results;
}

Outcome Session::await(PJRT_Event* event) {
  auto args = make<PJRT_Event_Await_Args>();
  args.event = event;
  Outcome outcome = call(&PJRT_Api::PJRT_Event_Await, args);
  auto destroy = make<PJRT_Event_Destroy_Args>();
  destroy.event = event;
  must(&PJRT_Api::PJRT_Event_Destroy, destroy);
  return outcome;
}

Outcome Session::awaitReady(const Buffer& buffer) {
  auto args = make<PJRT_Buffer_ReadyEvent_Args>();
  args.buffer = buffer.get();
  must(&PJRT_Api::PJRT_Buffer_ReadyEvent, args);
  return await(args.event);
}

bool Session::isDeleted(const Buffer& buffer) {
  auto args = make<PJRT_Buffer_IsDeleted_Args>();
  args.buffer = buffer.get();
  must(&PJRT_Api::PJRT_Buffer_IsDeleted, args);
  return args.is_deleted;
}

}  // namespace isthmus::conformance
