// The fixture of the tests that go through the function table.
#include "pjrt/testing/c_api_testing.h"

namespace isthmus::pjrt {

void CApiTest::SetUp() {
  PJRT_NamedValue option = intOption("num_devices", kNumDevices);
  auto args = make<PJRT_Client_Create_Args>();
  args.create_options = &option;
  args.num_options = 1;
  ASSERT_PJRT_OK(call(api_.PJRT_Client_Create, args));
  ASSERT_NE(args.client, nullptr);
  client_ = args.client;
}

void CApiTest::TearDown() {
  auto args = make<PJRT_Client_Destroy_Args>();
  args.client = client_;
  EXPECT_PJRT_OK(call(api_.PJRT_Client_Destroy, args));
}

PJRT_Device* CApiTest::device(size_t index) {
  auto args = make<PJRT_Client_AddressableDevices_Args>();
  args.client = client_;
  EXPECT_PJRT_OK(call(api_.PJRT_Client_AddressableDevices, args));
  return index < args.num_addressable_devices ? args.addressable_devices[index] : nullptr;
}

PJRT_Memory* CApiTest::memory(std::string_view kind, size_t index) {
  auto args = make<PJRT_Device_AddressableMemories_Args>();
  args.device = device(index);
  EXPECT_PJRT_OK(call(api_.PJRT_Device_AddressableMemories, args));
  for (size_t i = 0; i < args.num_memories; ++i) {
    auto name = make<PJRT_Memory_Kind_Args>();
    name.memory = args.memories[i];
    EXPECT_PJRT_OK(call(api_.PJRT_Memory_Kind, name));
    if (std::string_view(name.kind, name.kind_size) == kind) return args.memories[i];
  }
  return nullptr;
}

PJRT_Buffer* CApiTest::fromHost(const std::vector<float>& values, size_t index) {
  auto dim = static_cast<int64_t>(values.size());
  auto args = make<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = client_;
  args.data = values.data();
  args.type = PJRT_Buffer_Type_F32;
  args.dims = &dim;
  args.num_dims = 1;
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args.device = device(index);
  EXPECT_PJRT_OK(call(api_.PJRT_Client_BufferFromHostBuffer, args));
  EXPECT_PJRT_OK(finish(args.done_with_host_buffer));
  return args.buffer;
}

std::vector<float> CApiTest::toHost(PJRT_Buffer* buffer) {
  auto args = make<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer;
  EXPECT_PJRT_OK(call(api_.PJRT_Buffer_ToHostBuffer, args));
  std::vector<float> values(args.dst_size / sizeof(float));
  args.dst = values.data();
  EXPECT_PJRT_OK(call(api_.PJRT_Buffer_ToHostBuffer, args));
  EXPECT_PJRT_OK(finish(args.event));
  return values;
}

PJRT_LoadedExecutable* CApiTest::compile(std::string_view code, int replicas, int partitions) {
  // CompileOptionsProto { executable_build_options { num_replicas, num_partitions } }
  std::string options = {
      0x1a, 4, 0x20, static_cast<char>(replicas), 0x28, static_cast<char>(partitions)};
  std::string text(code);
  PJRT_Program program = programOf(text);
  auto args = make<PJRT_Client_Compile_Args>();
  args.client = client_;
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  lastError_ = call(api_.PJRT_Client_Compile, args);
  return args.executable;
}

PJRT_Executable* CApiTest::executableOf(PJRT_LoadedExecutable* loaded) {
  auto args = make<PJRT_LoadedExecutable_GetExecutable_Args>();
  args.loaded_executable = loaded;
  EXPECT_PJRT_OK(call(api_.PJRT_LoadedExecutable_GetExecutable, args));
  return args.executable;
}

Outcome CApiTest::execute(PJRT_LoadedExecutable* loaded,
                          const std::vector<std::vector<PJRT_Buffer*>>& arguments,
                          std::vector<std::vector<PJRT_Buffer*>>& outputs,
                          const std::vector<int64_t>& nonDonatable, PJRT_Event** complete,
                          PJRT_Device* onDevice) {
  auto options = make<PJRT_ExecuteOptions>();
  options.non_donatable_input_indices = nonDonatable.data();
  options.num_non_donatable_input_indices = nonDonatable.size();
  std::vector<PJRT_Buffer* const*> argumentLists;
  for (const auto& list : arguments) argumentLists.push_back(list.data());
  std::vector<PJRT_Buffer**> outputLists;
  for (auto& list : outputs) outputLists.push_back(list.data());
  auto args = make<PJRT_LoadedExecutable_Execute_Args>();
  args.executable = loaded;
  args.options = &options;
  args.argument_lists = argumentLists.data();
  args.num_devices = arguments.size();
  args.num_args = arguments.empty() ? 0 : arguments[0].size();
  args.output_lists = outputLists.data();
  args.device_complete_events = complete;
  args.execute_device = onDevice;
  return call(api_.PJRT_LoadedExecutable_Execute, args);
}

bool CApiTest::isDeleted(PJRT_Buffer* buffer) {
  auto args = make<PJRT_Buffer_IsDeleted_Args>();
  args.buffer = buffer;
  EXPECT_PJRT_OK(call(api_.PJRT_Buffer_IsDeleted, args));
  return args.is_deleted;
}

Outcome CApiTest::awaitReady(PJRT_Buffer* buffer) {
  auto args = make<PJRT_Buffer_ReadyEvent_Args>();
  args.buffer = buffer;
  if (Outcome outcome = call(api_.PJRT_Buffer_ReadyEvent, args); !outcome.ok()) return outcome;
  return finish(args.event);
}

Outcome CApiTest::finish(PJRT_Event* event) {
  auto await = make<PJRT_Event_Await_Args>();
  await.event = event;
  Outcome outcome = call(api_.PJRT_Event_Await, await);
  auto destroy = make<PJRT_Event_Destroy_Args>();
  destroy.event = event;
  EXPECT_PJRT_OK(call(api_.PJRT_Event_Destroy, destroy));
  return outcome;
}

void CApiTest::destroy(PJRT_Buffer* buffer) {
  auto args = make<PJRT_Buffer_Destroy_Args>();
  args.buffer = buffer;
  EXPECT_PJRT_OK(call(api_.PJRT_Buffer_Destroy, args));
}

void CApiTest::destroy(PJRT_LoadedExecutable* executable) {
  auto args = make<PJRT_LoadedExecutable_Destroy_Args>();
  args.executable = executable;
  EXPECT_PJRT_OK(call(api_.PJRT_LoadedExecutable_Destroy, args));
}

void CApiTest::destroy(PJRT_Executable* executable) {
  auto args = make<PJRT_Executable_Destroy_Args>();
  args.executable = executable;
  EXPECT_PJRT_OK(call(api_.PJRT_Executable_Destroy, args));
}

}  // namespace isthmus::pjrt
