// Executables and execution through the function table.
#include <cstring>
#include <set>

#include "pjrt/testing/c_api_testing.h"
#include "pjrt/testing/programs_testing.h"

namespace isthmus::pjrt {
namespace {

using Lists = std::vector<std::vector<PJRT_Buffer*>>;

class ExecuteTest : public CApiTest {
 protected:
  void TearDown() override {
    testing::releaseWaiters();
    CApiTest::TearDown();
    testing::holdWaiters();
  }
};

TEST_F(ExecuteTest, RunsAProgram) {
  PJRT_LoadedExecutable* program = compile("stablehlo.add");
  ASSERT_NE(program, nullptr) << lastError_.message;
  PJRT_Buffer* a = fromHost({1, 2, 3, 4});
  PJRT_Buffer* b = fromHost({10, 20, 30, 40});
  Lists outputs = {{nullptr}};
  PJRT_Event* complete = nullptr;
  ASSERT_PJRT_OK(execute(program, {{a, b}}, outputs, {}, &complete));
  ASSERT_NE(complete, nullptr);
  EXPECT_PJRT_OK(finish(complete));
  EXPECT_EQ(toHost(outputs[0][0]), (std::vector<float>{11, 22, 33, 44}));
  // Arguments may come twice, and results be arguments.
  Lists again = {{nullptr}};
  ASSERT_PJRT_OK(execute(program, {{outputs[0][0], outputs[0][0]}}, again));
  EXPECT_EQ(toHost(again[0][0]), (std::vector<float>{22, 44, 66, 88}));
  for (PJRT_Buffer* buffer : {a, b, outputs[0][0], again[0][0]}) destroy(buffer);
  destroy(program);
}

TEST_F(ExecuteTest, ResultsMayBeUsedBeforeTheyAreThere) {
  PJRT_LoadedExecutable* program = compile("wait");
  PJRT_LoadedExecutable* sum = compile("stablehlo.add");
  PJRT_Buffer* a = fromHost({1, 2, 3, 4});
  Lists first = {{nullptr}}, second = {{nullptr}};
  ASSERT_PJRT_OK(execute(program, {{a}}, first));
  ASSERT_PJRT_OK(execute(sum, {{first[0][0], a}}, second));
  destroy(a);
  destroy(first[0][0]);
  destroy(program);
  destroy(sum);
  auto event = make<PJRT_Buffer_ReadyEvent_Args>();
  event.buffer = second[0][0];
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_ReadyEvent, event));
  auto ready = make<PJRT_Event_IsReady_Args>();
  ready.event = event.event;
  ASSERT_PJRT_OK(call(api_.PJRT_Event_IsReady, ready));
  EXPECT_FALSE(ready.is_ready);
  testing::releaseWaiters();
  EXPECT_PJRT_OK(finish(event.event));
  EXPECT_EQ(toHost(second[0][0]), (std::vector<float>{2, 4, 6, 8}));
  destroy(second[0][0]);
}

TEST_F(ExecuteTest, FailuresComeThroughTheResults) {
  PJRT_LoadedExecutable* program = compile("fail");
  PJRT_LoadedExecutable* sum = compile("stablehlo.add");
  PJRT_Buffer* a = fromHost({1, 2, 3, 4});
  Lists outputs = {{nullptr}}, after = {{nullptr}};
  PJRT_Event* complete = nullptr;
  ASSERT_PJRT_OK(execute(program, {{a}}, outputs, {}, &complete));
  EXPECT_EQ(finish(complete).code, PJRT_Error_Code_INTERNAL);
  Outcome outcome = awaitReady(outputs[0][0]);
  EXPECT_EQ(outcome.code, PJRT_Error_Code_INTERNAL);
  // An internal error's ends with the line that made it.
  EXPECT_NE(outcome.message.find("the program failed (pjrt/testing/programs_testing.cc:"),
            std::string::npos)
      << outcome.message;
  // And poison what uses them.
  ASSERT_PJRT_OK(execute(sum, {{a, outputs[0][0]}}, after));
  EXPECT_NE(awaitReady(after[0][0]).message.find("the program failed"), std::string::npos);
  for (PJRT_Buffer* buffer : {a, outputs[0][0], after[0][0]}) destroy(buffer);
  destroy(program);
  destroy(sum);
}

TEST_F(ExecuteTest, MustAliasDonates) {
  PJRT_LoadedExecutable* program = compile("accumulate");
  PJRT_Buffer* a = fromHost({1, 2, 3, 4});
  PJRT_Buffer* b = fromHost({10, 20, 30, 40});
  Lists outputs = {{nullptr}};
  ASSERT_PJRT_OK(execute(program, {{a, b}}, outputs));
  EXPECT_TRUE(isDeleted(a));
  EXPECT_FALSE(isDeleted(b));
  EXPECT_EQ(toHost(outputs[0][0]), (std::vector<float>{11, 22, 33, 44}));
  // A donated argument cannot be used again, nor twice in one call.
  Lists none = {{nullptr}};
  EXPECT_FALSE(execute(program, {{a, b}}, none).ok());
  EXPECT_EQ(none[0][0], nullptr);
  EXPECT_FALSE(execute(program, {{b, b}}, none).ok());
  EXPECT_FALSE(isDeleted(b));
  // Unless the caller says so.
  ASSERT_PJRT_OK(execute(program, {{b, b}}, none, {0}));
  EXPECT_FALSE(isDeleted(b));
  EXPECT_EQ(toHost(none[0][0]), (std::vector<float>{20, 40, 60, 80}));
  EXPECT_EQ(toHost(b), (std::vector<float>{10, 20, 30, 40}));
  for (PJRT_Buffer* buffer : {a, b, outputs[0][0], none[0][0]}) destroy(buffer);
  destroy(program);
}

TEST_F(ExecuteTest, HostMemoryIsNotWrittenByDonation) {
  alignas(64) float data[4] = {1, 2, 3, 4};
  int64_t dim = 4;
  auto args = make<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = client_;
  args.data = data;
  args.type = PJRT_Buffer_Type_F32;
  args.dims = &dim;
  args.num_dims = 1;
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableZeroCopy;
  args.device = device();
  ASSERT_PJRT_OK(call(api_.PJRT_Client_BufferFromHostBuffer, args));
  PJRT_LoadedExecutable* program = compile("accumulate");
  PJRT_Buffer* b = fromHost({10, 20, 30, 40});
  Lists outputs = {{nullptr}};
  ASSERT_PJRT_OK(execute(program, {{args.buffer, b}}, outputs));
  EXPECT_EQ(toHost(outputs[0][0]), (std::vector<float>{11, 22, 33, 44}));
  EXPECT_EQ(data[0], 1.0f);
  EXPECT_EQ(data[3], 4.0f);
  for (PJRT_Buffer* buffer : {args.buffer, b, outputs[0][0]}) destroy(buffer);
  EXPECT_PJRT_OK(finish(args.done_with_host_buffer));
  destroy(program);
}

TEST_F(ExecuteTest, RunsOnAllDevicesOfItsAssignment) {
  PJRT_LoadedExecutable* program = compile("stablehlo.add", 2, 2);
  ASSERT_NE(program, nullptr) << lastError_.message;
  auto devices = make<PJRT_LoadedExecutable_AddressableDevices_Args>();
  devices.executable = program;
  ASSERT_PJRT_OK(call(api_.PJRT_LoadedExecutable_AddressableDevices, devices));
  ASSERT_EQ(devices.num_addressable_devices, 4u);
  auto ids = make<PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args>();
  ids.executable = program;
  ASSERT_PJRT_OK(call(api_.PJRT_LoadedExecutable_AddressableDeviceLogicalIds, ids));
  ASSERT_EQ(ids.num_addressable_device_logical_ids, 4u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(ids.addressable_device_logical_ids[i].replica, i / 2);
    EXPECT_EQ(ids.addressable_device_logical_ids[i].partition, i % 2);
  }
  Lists arguments, outputs;
  for (size_t i = 0; i < 4; ++i) {
    auto value = static_cast<float>(i);
    arguments.push_back({fromHost({value, 0, 0, 1}, i), fromHost({100, 0, 0, 1}, i)});
    outputs.push_back({nullptr});
  }
  PJRT_Event* complete[4] = {};
  ASSERT_PJRT_OK(execute(program, arguments, outputs, {}, complete));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_PJRT_OK(finish(complete[i]));
    EXPECT_EQ(toHost(outputs[i][0]), (std::vector<float>{100 + static_cast<float>(i), 0, 0, 2}));
    auto where = make<PJRT_Buffer_Device_Args>();
    where.buffer = outputs[i][0];
    ASSERT_PJRT_OK(call(api_.PJRT_Buffer_Device, where));
    EXPECT_EQ(where.device, devices.addressable_devices[i]);
  }
  // One device's lists only: an error, unless that device is named.
  Lists one = {{nullptr}};
  EXPECT_EQ(execute(program, {arguments[2]}, one).code, PJRT_Error_Code_INVALID_ARGUMENT);
  ASSERT_PJRT_OK(execute(program, {arguments[2]}, one, {}, nullptr, device(2)));
  EXPECT_EQ(toHost(one[0][0])[0], 102.0f);
  destroy(one[0][0]);
  for (auto& list : arguments)
    std::for_each(list.begin(), list.end(), [&](auto* b) { destroy(b); });
  for (auto& list : outputs) destroy(list[0]);

  auto assignment = make<PJRT_LoadedExecutable_GetDeviceAssignment_Args>();
  assignment.executable = program;
  ASSERT_PJRT_OK(call(api_.PJRT_LoadedExecutable_GetDeviceAssignment, assignment));
  EXPECT_EQ(std::string(assignment.serialized_bytes, assignment.serialized_bytes_size),
            std::string("\x08\x02\x10\x02\x1a\x04\x0a\x02\x00\x02\x1a\x04\x0a\x02\x01\x03", 16));
  assignment.serialized_device_assignment_deleter(assignment.serialized_device_assignment);
  destroy(program);
}

TEST_F(ExecuteTest, BadCallsLaunchNothing) {
  PJRT_LoadedExecutable* program = compile("accumulate");
  PJRT_Buffer* a = fromHost({1, 2, 3, 4});
  PJRT_Buffer* small = fromHost({1, 2});
  PJRT_Buffer* elsewhere = fromHost({1, 2, 3, 4}, 1);
  Lists outputs = {{nullptr}};
  auto code = [&](const Lists& arguments) { return execute(program, arguments, outputs).code; };
  EXPECT_EQ(code({{a}}), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(code({{a, small}}), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(code({{a, nullptr}}), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(code({{a, elsewhere}}), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(code({}), PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(execute(program, {{a, a}}, outputs, {7}).code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_FALSE(isDeleted(a));
  EXPECT_EQ(outputs[0][0], nullptr);
  for (PJRT_Buffer* buffer : {a, small, elsewhere}) destroy(buffer);
  destroy(program);
}

TEST_F(ExecuteTest, OptionsOfOlderCallersAreEnough) {
  PJRT_LoadedExecutable* program = compile("no_outputs");
  PJRT_Buffer* a = fromHost({1, 2, 3, 4});
  PJRT_ExecuteOptions options;
  std::memset(static_cast<void*>(&options), 0xab, sizeof(options));
  options.struct_size = offsetof(PJRT_ExecuteOptions, context);
  options.extension_start = nullptr;
  options.num_send_ops = options.num_recv_ops = 0;
  options.launch_id = 0;
  options.num_non_donatable_input_indices = 0;
  PJRT_Buffer* const list[] = {a};
  PJRT_Buffer* const* lists[] = {list};
  PJRT_Event* complete = nullptr;
  auto args = make<PJRT_LoadedExecutable_Execute_Args>();
  args.executable = program;
  args.options = &options;
  args.argument_lists = lists;
  args.num_devices = 1;
  args.num_args = 1;
  args.device_complete_events = &complete;
  ASSERT_PJRT_OK(call(api_.PJRT_LoadedExecutable_Execute, args));
  EXPECT_PJRT_OK(finish(complete));
  destroy(a);
  destroy(program);
}

TEST_F(ExecuteTest, ExecutableDescribesItsProgram) {
  PJRT_LoadedExecutable* loaded = compile("negate");
  PJRT_Executable* program = executableOf(loaded);
  destroy(loaded);  // the description lives on
  auto name = make<PJRT_Executable_Name_Args>();
  name.executable = program;
  ASSERT_PJRT_OK(call(api_.PJRT_Executable_Name, name));
  EXPECT_EQ(std::string(name.executable_name, name.executable_name_size), "negate");
  auto outputs = make<PJRT_Executable_NumOutputs_Args>();
  outputs.executable = program;
  ASSERT_PJRT_OK(call(api_.PJRT_Executable_NumOutputs, outputs));
  EXPECT_EQ(outputs.num_outputs, 2u);
  auto types = make<PJRT_Executable_OutputElementTypes_Args>();
  types.executable = program;
  ASSERT_PJRT_OK(call(api_.PJRT_Executable_OutputElementTypes, types));
  ASSERT_EQ(types.num_output_types, 2u);
  EXPECT_EQ(types.output_types[0], PJRT_Buffer_Type_S32);
  EXPECT_EQ(types.output_types[1], PJRT_Buffer_Type_F32);
  auto dims = make<PJRT_Executable_OutputDimensions_Args>();
  dims.executable = program;
  ASSERT_PJRT_OK(call(api_.PJRT_Executable_OutputDimensions, dims));
  ASSERT_EQ(dims.num_outputs, 2u);
  EXPECT_EQ(dims.dim_sizes[0], 2u);
  EXPECT_EQ(dims.dim_sizes[1], 0u);
  EXPECT_EQ(dims.dims[1], 3);
  auto costs = make<PJRT_Executable_GetCostAnalysis_Args>();
  costs.executable = program;
  ASSERT_PJRT_OK(call(api_.PJRT_Executable_GetCostAnalysis, costs));
  ASSERT_EQ(costs.num_properties, 2u);
  EXPECT_EQ(costs.properties[1].type, PJRT_NamedValue_kFloat);
  EXPECT_EQ(costs.properties[1].float_value, 4.0f);
  PJRT_Executable_GetCompiledMemoryStats_Args stats;
  std::memset(static_cast<void*>(&stats), 0xab, sizeof(stats));
  stats.struct_size = kPjrtStructSize<PJRT_Executable_GetCompiledMemoryStats_Args>;
  stats.executable = program;
  ASSERT_PJRT_OK(call(api_.PJRT_Executable_GetCompiledMemoryStats, stats));
  EXPECT_EQ(stats.argument_size_in_bytes, 32);
  EXPECT_EQ(stats.host_temp_size_in_bytes, 0);
  EXPECT_EQ(stats.peak_memory_in_bytes, 56);
  EXPECT_EQ(stats.total_size_in_bytes, 156);
  destroy(program);
}

TEST_F(ExecuteTest, OptimizedProgramIsReadInTwoCalls) {
  PJRT_LoadedExecutable* loaded = compile("module: negate");
  PJRT_Executable* executable = executableOf(loaded);
  auto program = make<PJRT_Program>();
  auto args = make<PJRT_Executable_OptimizedProgram_Args>();
  args.executable = executable;
  args.program = &program;
  ASSERT_PJRT_OK(call(api_.PJRT_Executable_OptimizedProgram, args));
  EXPECT_EQ(std::string(program.format, program.format_size), "mlir");
  ASSERT_EQ(program.code_size, 14u);
  std::string code(14, ' ');
  program.code = code.data();
  program.code_size = 13;
  EXPECT_EQ(call(api_.PJRT_Executable_OptimizedProgram, args).code,
            PJRT_Error_Code_INVALID_ARGUMENT);
  program.code_size = 14;
  ASSERT_PJRT_OK(call(api_.PJRT_Executable_OptimizedProgram, args));
  EXPECT_EQ(code, "module: negate");
  destroy(executable);
  destroy(loaded);
}

TEST_F(ExecuteTest, SerializedExecutablesRunAgain) {
  PJRT_LoadedExecutable* loaded = compile("stablehlo.add");
  PJRT_Executable* executable = executableOf(loaded);
  auto serialize = make<PJRT_Executable_Serialize_Args>();
  serialize.executable = executable;
  ASSERT_PJRT_OK(call(api_.PJRT_Executable_Serialize, serialize));
  destroy(executable);
  destroy(loaded);
  auto load = make<PJRT_Executable_DeserializeAndLoad_Args>();
  load.client = client_;
  load.serialized_executable = serialize.serialized_bytes;
  load.serialized_executable_size = serialize.serialized_bytes_size;
  ASSERT_PJRT_OK(call(api_.PJRT_Executable_DeserializeAndLoad, load));
  serialize.serialized_executable_deleter(serialize.serialized_executable);
  PJRT_Buffer* a = fromHost({1, 2, 3, 4});
  Lists outputs = {{nullptr}};
  ASSERT_PJRT_OK(execute(load.loaded_executable, {{a, a}}, outputs));
  EXPECT_EQ(toHost(outputs[0][0]), (std::vector<float>{2, 4, 6, 8}));
  destroy(a);
  destroy(outputs[0][0]);
  destroy(load.loaded_executable);
}

TEST_F(ExecuteTest, CompilesForATopologyAndLoads) {
  auto topology = make<PJRT_Client_TopologyDescription_Args>();
  topology.client = client_;
  ASSERT_PJRT_OK(call(api_.PJRT_Client_TopologyDescription, topology));
  std::string code = "stablehlo.add";
  auto program = make<PJRT_Program>();
  program.code = code.data();
  program.code_size = code.size();
  program.format = "mlir";
  program.format_size = 4;
  auto compile = make<PJRT_Compile_Args>();
  compile.topology = topology.topology;
  compile.program = &program;
  ASSERT_PJRT_OK(call(api_.PJRT_Compile, compile));
  auto load = make<PJRT_Client_Load_Args>();
  load.client = client_;
  load.executable = compile.executable;
  ASSERT_PJRT_OK(call(api_.PJRT_Client_Load, load));
  destroy(compile.executable);
  PJRT_Buffer* a = fromHost({1, 2, 3, 4});
  Lists outputs = {{nullptr}};
  ASSERT_PJRT_OK(execute(load.loaded_executable, {{a, a}}, outputs));
  EXPECT_EQ(toHost(outputs[0][0]), (std::vector<float>{2, 4, 6, 8}));
  destroy(a);
  destroy(outputs[0][0]);
  destroy(load.loaded_executable);
}

TEST_F(ExecuteTest, ResultsLandInTheirMemory) {
  PJRT_LoadedExecutable* loaded = compile("host");
  PJRT_Executable* executable = executableOf(loaded);
  auto kinds = make<PJRT_Executable_OutputMemoryKinds_Args>();
  kinds.executable = executable;
  ASSERT_PJRT_OK(call(api_.PJRT_Executable_OutputMemoryKinds, kinds));
  ASSERT_EQ(kinds.num_outputs, 1u);
  EXPECT_EQ(std::string(kinds.memory_kinds[0], kinds.memory_kind_sizes[0]), "pinned_host");
  PJRT_Buffer* a = fromHost({1, 2, 3, 4});
  Lists outputs = {{nullptr}};
  ASSERT_PJRT_OK(execute(loaded, {{a}}, outputs));
  auto in = make<PJRT_Buffer_Memory_Args>();
  in.buffer = outputs[0][0];
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_Memory, in));
  EXPECT_EQ(in.memory, memory("pinned_host"));
  destroy(a);
  destroy(outputs[0][0]);
  destroy(executable);
  destroy(loaded);
}

TEST_F(ExecuteTest, DeletedExecutablesDoNotRun) {
  PJRT_LoadedExecutable* loaded = compile("may_donate");
  auto gone = make<PJRT_LoadedExecutable_IsDeleted_Args>();
  gone.executable = loaded;
  ASSERT_PJRT_OK(call(api_.PJRT_LoadedExecutable_IsDeleted, gone));
  EXPECT_FALSE(gone.is_deleted);
  auto args = make<PJRT_LoadedExecutable_Delete_Args>();
  args.executable = loaded;
  EXPECT_PJRT_OK(call(api_.PJRT_LoadedExecutable_Delete, args));
  EXPECT_PJRT_OK(call(api_.PJRT_LoadedExecutable_Delete, args));
  ASSERT_PJRT_OK(call(api_.PJRT_LoadedExecutable_IsDeleted, gone));
  EXPECT_TRUE(gone.is_deleted);
  PJRT_Buffer* a = fromHost({1, 2, 3, 4});
  Lists outputs = {{nullptr}};
  EXPECT_FALSE(execute(loaded, {{a}}, outputs).ok());
  EXPECT_FALSE(isDeleted(a));
  destroy(a);
  destroy(loaded);
}

TEST_F(ExecuteTest, LayoutsAndShardingsAreText) {
  const PJRT_Layouts_Extension* layouts = nullptr;
  const PJRT_Shardings_Extension* shardings = nullptr;
  for (auto* node = api_.extension_start; node != nullptr; node = node->next) {
    if (node->type == PJRT_Extension_Type_Layouts) {
      layouts = reinterpret_cast<const PJRT_Layouts_Extension*>(node);
    }
    if (node->type == PJRT_Extension_Type_Shardings) {
      shardings = reinterpret_cast<const PJRT_Shardings_Extension*>(node);
    }
  }
  ASSERT_NE(layouts, nullptr);
  ASSERT_NE(shardings, nullptr);
  PJRT_LoadedExecutable* loaded = compile("negate");
  PJRT_Executable* executable = executableOf(loaded);
  auto list = make<PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args>();
  list.executable = executable;
  ASSERT_PJRT_OK(call(layouts->PJRT_Layouts_PJRT_Executable_GetOutputLayouts, list));
  ASSERT_EQ(list.num_outputs, 2u);
  for (size_t i = 0; i < 2; ++i) {
    auto text = make<PJRT_Layouts_MemoryLayout_Serialize_Args>();
    text.layout = list.layouts[i];
    ASSERT_PJRT_OK(call(layouts->PJRT_Layouts_MemoryLayout_Serialize, text));
    EXPECT_EQ(std::string(text.serialized_bytes, text.serialized_bytes_size),
              i == 0 ? "{1,0}" : "{}");
    text.serialized_layout_deleter(text.serialized_layout);
  }
  auto outputs = make<PJRT_Shardings_PJRT_Executable_OutputShardings_Args>();
  outputs.executable = executable;
  ASSERT_PJRT_OK(call(shardings->PJRT_Shardings_PJRT_Executable_OutputShardings, outputs));
  ASSERT_EQ(outputs.num_outputs, 2u);
  ASSERT_NE(outputs.shardings, nullptr);
  EXPECT_EQ(std::string(outputs.shardings[1], outputs.sharding_sizes[1]),
            std::string("\x08\x00", 2));
  destroy(executable);
  destroy(loaded);
}

}  // namespace
}  // namespace isthmus::pjrt
