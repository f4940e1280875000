// Compilation, executables and execution.
#include <cmath>
#include <thread>

#include "conformance/check.h"
#include "conformance/checks/launch.h"
#include "conformance/checks/programs.h"

namespace isthmus::conformance {

ISTHMUS_CHECK(execute, add_one, kRuns, "x + 1 is one more than x") {
  const auto results = s.evaluate(kAddOne, {floats({1, -1, 0.5, 1e10f})});
  s.expect(results.size() == 1, "one result", std::to_string(results.size()));
  s.expectEqual(floats({2, 0, 1.5, 1e10f}), results[0]);
}

ISTHMUS_CHECK(execute, repeatedly, kRuns, "an executable runs as often as it is asked to") {
  LoadedExecutable executable = s.compile(kAddOne);
  Buffer x = s.fromHost(floats({0, 1, 2, 3}));
  for (int i = 0; i < 10; ++i) x = std::move(s.run(executable, {&x})[0]);
  s.expectEqual(floats({10, 11, 12, 13}), s.toHost(x));
}

ISTHMUS_CHECK(execute, keeps_arguments, kRuns, "arguments that are not donated stay as they are") {
  LoadedExecutable executable = s.compile(kAddOne);
  Buffer x = s.fromHost(floats({0, 1, 2, 3}));
  s.run(executable, {&x});
  s.expect(!s.isDeleted(x), "an argument that lives", "a deleted one");
  s.expectEqual(floats({0, 1, 2, 3}), s.toHost(x));
}

ISTHMUS_CHECK(execute, several_outputs, kFramework, "outputs come in the order of the program") {
  const auto results = s.evaluate(kSumAndProduct, {floats({1, 2, 3, 4}), floats({5, 6, 7, 8})});
  s.expect(results.size() == 2, "two results", std::to_string(results.size()));
  s.expectEqual(floats({6, 8, 10, 12}), results[0]);
  s.expectEqual(floats({5, 12, 21, 32}), results[1]);
}

ISTHMUS_CHECK(execute, same_buffer_twice, kFramework, "one buffer may be several arguments") {
  LoadedExecutable executable = s.compile(kSumAndProduct);
  Buffer x = s.fromHost(floats({1, 2, 3, 4}));
  const auto results = s.run(executable, {&x, &x});
  s.expectEqual(floats({2, 4, 6, 8}), s.toHost(results[0]));
  s.expectEqual(floats({1, 4, 9, 16}), s.toHost(results[1]));
}

ISTHMUS_CHECK(execute, argument_as_output, kFramework,
              "a result that is an argument lives on when the argument is gone") {
  LoadedExecutable executable = s.compile(R"(module @same {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
)");
  Buffer x = s.fromHost(floats({1, 2, 3, 4}));
  auto results = s.run(executable, {&x});
  auto remove = make<PJRT_Buffer_Delete_Args>();
  remove.buffer = x.get();
  s.must(&PJRT_Api::PJRT_Buffer_Delete, remove);
  x.reset();
  for (int i = 0; i < 4; ++i) s.fromHost(floats({9, 9, 9, 9}));
  s.expectEqual(floats({1, 2, 3, 4}), s.toHost(results[0]));
}

ISTHMUS_CHECK(execute, no_arguments, kFramework, "a program may take nothing") {
  const auto results = s.evaluate(R"(module @constant {
  func.func public @main() -> tensor<2xi32> {
    %r = stablehlo.constant dense<[7, 8]> : tensor<2xi32>
    return %r : tensor<2xi32>
  }
}
)",
                                  {});
  s.expectEqual(HostArray::of<int32_t>({2}, {7, 8}), results.at(0));
}

ISTHMUS_CHECK(execute, wrong_number_of_arguments, kFramework,
              "a wrong number of arguments is refused") {
  LoadedExecutable executable = s.compile(kSumAndProduct);
  Buffer x = s.fromHost(floats({1, 2, 3, 4}));
  std::vector<std::vector<Buffer>> results;
  s.refuse("PJRT_LoadedExecutable_Execute",
           s.tryExecute(executable.get(), {{x.get()}}, 2, {}, &results), "for one argument of two");
}

ISTHMUS_CHECK(execute, wrong_argument, kComplete,
              "arguments of another type or shape are refused") {
  LoadedExecutable executable = s.compile(kAddOne);
  for (const HostArray& wrong :
       {iota(PJRT_Buffer_Type_F32, {5}), iota(PJRT_Buffer_Type_F32, {2, 2}),
        iota(PJRT_Buffer_Type_F64, {4}), iota(PJRT_Buffer_Type_S8, {4})}) {
    Buffer x = s.fromHost(wrong);
    std::vector<std::vector<Buffer>> results;
    Outcome outcome = s.tryExecute(executable.get(), {{x.get()}}, 1, {}, &results);
    HostArray array;
    if (outcome.ok()) outcome = s.tryToHost(results[0][0].get(), &array);
    s.refuse("executing", outcome, "for " + wrong.describe() + " instead of f32[4]");
  }
}

ISTHMUS_CHECK(execute, deleted_argument, kFramework, "a deleted buffer is no argument") {
  LoadedExecutable executable = s.compile(kAddOne);
  Buffer x = s.fromHost(floats({1, 2, 3, 4}));
  auto remove = make<PJRT_Buffer_Delete_Args>();
  remove.buffer = x.get();
  s.must(&PJRT_Api::PJRT_Buffer_Delete, remove);
  std::vector<std::vector<Buffer>> results;
  s.refuse("executing", s.tryExecute(executable.get(), {{x.get()}}, 1, {}, &results),
           "with a deleted buffer");
}

ISTHMUS_CHECK(execute, without_events, kFramework, "device_complete_events may be null") {
  LoadedExecutable executable = s.compile(kAddOne);
  Buffer x = s.fromHost(floats({1, 2, 3, 4}));
  Session::ExecuteSettings settings;
  settings.wantsEvents = false;
  auto results = s.execute(executable, {{x.get()}}, settings);
  s.expectEqual(floats({2, 3, 4, 5}), s.toHost(results[0][0]));
}

ISTHMUS_CHECK(
    execute, old_options, kComplete,
    "execute options of older callers, which end after num_recv_ops and launch_id, will do") {
  LoadedExecutable executable = s.compile(kAddOne);
  Buffer x = s.fromHost(floats({1, 2, 3, 4}));
  auto options = make<PJRT_ExecuteOptions>();
  options.struct_size = offsetof(PJRT_ExecuteOptions, launch_id) + sizeof(int);
  options.non_donatable_input_indices = reinterpret_cast<const int64_t*>(0x5A5A5A5A);
  options.num_non_donatable_input_indices = 0x5A5A5A5A;
  options.context = reinterpret_cast<PJRT_ExecuteContext*>(0x5A5A5A5A);
  PJRT_Buffer* const arguments[1] = {x.get()};
  PJRT_Buffer* outputs[1] = {};
  PJRT_Buffer* const* argumentLists[1] = {arguments};
  PJRT_Buffer** outputLists[1] = {outputs};
  auto args = make<PJRT_LoadedExecutable_Execute_Args>();
  args.executable = executable.get();
  args.options = &options;
  args.argument_lists = argumentLists;
  args.num_devices = 1;
  args.num_args = 1;
  args.output_lists = outputLists;
  s.must(&PJRT_Api::PJRT_LoadedExecutable_Execute, args);
  Buffer result(s, outputs[0]);
  s.expectEqual(floats({2, 3, 4, 5}), s.toHost(result));
}

ISTHMUS_CHECK(
    donation, aliased_argument, kFramework,
    "an argument that an output aliases is deleted by the launch, and the result is right") {
  LoadedExecutable executable = s.compile(kAddOneInPlace);
  Buffer x = s.fromHost(floats({1, 2, 3, 4}));
  s.succeed("becoming ready", s.awaitReady(x));
  auto results = s.run(executable, {&x});
  s.expect(s.isDeleted(x), "a deleted argument", "one that lives");
  s.expectEqual(floats({2, 3, 4, 5}), s.toHost(results[0]));
  std::vector<std::vector<Buffer>> again;
  s.refuse("executing", s.tryExecute(executable.get(), {{x.get()}}, 1, {}, &again),
           "with a donated buffer");
}

ISTHMUS_CHECK(donation, non_donatable, kFramework,
              "an argument that the caller keeps back is neither deleted nor written") {
  LoadedExecutable executable = s.compile(kAddOneInPlace);
  Buffer x = s.fromHost(floats({1, 2, 3, 4}));
  Session::ExecuteSettings settings;
  settings.nonDonatable = {0};
  auto results = s.execute(executable, {{x.get()}}, settings);
  s.expect(!s.isDeleted(x), "an argument that lives", "a deleted one");
  s.expectEqual(floats({1, 2, 3, 4}), s.toHost(x));
  s.expectEqual(floats({2, 3, 4, 5}), s.toHost(results[0][0]));
}

ISTHMUS_CHECK(donation, chain, kTrains, "a state can be donated step after step") {
  LoadedExecutable executable = s.compile(kAddOneInPlace);
  Buffer x = s.fromHost(floats({0, 1, 2, 3}));
  for (int i = 0; i < 50; ++i) x = std::move(s.run(executable, {&x})[0]);
  s.expectEqual(floats({50, 51, 52, 53}), s.toHost(x));
}

ISTHMUS_CHECK(compile, refuses_bad_text, kTrains, "text that is no program is refused") {
  for (std::string_view text : {"", "module {", "func.func @main() { return }}",
                                "module { func.func public @main() -> tensor<f32> { return } }"}) {
    LoadedExecutable executable;
    s.refuse("PJRT_Client_Compile", s.tryCompile(text, &executable),
             "for '" + std::string(text) + "'");
  }
}

ISTHMUS_CHECK(compile, refuses_ill_typed, kFramework,
              "a program whose types do not fit is refused") {
  LoadedExecutable executable;
  s.refuse("PJRT_Client_Compile",
           s.tryCompile(R"(module {
  func.func public @main(%x: tensor<4xf32>) -> tensor<5xf32> {
    %r = "stablehlo.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<5xf32>
    return %r : tensor<5xf32>
  }
}
)",
                        &executable),
           "for an add that changes a shape");
}

ISTHMUS_CHECK(compile, refuses_unknown_ops, kFramework,
              "an operation that nobody knows is refused by name") {
  LoadedExecutable executable;
  const Outcome outcome = s.tryCompile(R"(module {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %r = "stablehlo.no_such_operation"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}
)",
                                       &executable);
  s.refuse("PJRT_Client_Compile", outcome, "for stablehlo.no_such_operation");
  s.expect(outcome.message.find("no_such_operation") != std::string::npos,
           "a message that names the operation", "'" + outcome.message + "'");
}

ISTHMUS_CHECK(compile, refuses_unknown_formats, kFramework,
              "a format that nobody knows is refused") {
  LoadedExecutable executable;
  s.refuse("PJRT_Client_Compile", s.tryCompile(kAddOne, &executable, {}, "no such format"),
           "for the format 'no such format'");
}

ISTHMUS_CHECK(compile, refuses_too_many_devices, kFramework,
              "a program for more devices than there are is refused") {
  if (s.devices().size() >= 100) throw Skip("there are 100 devices");
  LoadedExecutable executable;
  s.refuse("PJRT_Client_Compile", s.tryCompile(kAddOne, &executable, {100, 1}), "for 100 replicas");
}

ISTHMUS_CHECK(executable, describes_itself, kFramework,
              "an executable knows its name, replicas, partitions and outputs") {
  LoadedExecutable loaded = s.compile(kSumAndProduct);
  Executable executable = s.executableOf(loaded);
  auto name = make<PJRT_Executable_Name_Args>();
  name.executable = executable.get();
  s.must(&PJRT_Api::PJRT_Executable_Name, name);
  s.expect(name.executable_name_size > 0, "a name", "none");
  auto replicas = make<PJRT_Executable_NumReplicas_Args>();
  replicas.executable = executable.get();
  s.must(&PJRT_Api::PJRT_Executable_NumReplicas, replicas);
  s.expect(replicas.num_replicas == 1, "1 replica", std::to_string(replicas.num_replicas));
  auto partitions = make<PJRT_Executable_NumPartitions_Args>();
  partitions.executable = executable.get();
  s.must(&PJRT_Api::PJRT_Executable_NumPartitions, partitions);
  s.expect(partitions.num_partitions == 1, "1 partition",
           std::to_string(partitions.num_partitions));
  s.expect(s.numOutputs(loaded) == 2, "2 outputs", std::to_string(s.numOutputs(loaded)));
}

ISTHMUS_CHECK(executable, output_types, kFramework,
              "an executable knows the types and shapes of its outputs") {
  LoadedExecutable loaded = s.compile(kSumAndProduct);
  Executable executable = s.executableOf(loaded);
  auto types = make<PJRT_Executable_OutputElementTypes_Args>();
  types.executable = executable.get();
  s.must(&PJRT_Api::PJRT_Executable_OutputElementTypes, types);
  s.expect(types.num_output_types == 2 && types.output_types[0] == PJRT_Buffer_Type_F32 &&
               types.output_types[1] == PJRT_Buffer_Type_F32,
           "f32 and f32", "others");
  auto dims = make<PJRT_Executable_OutputDimensions_Args>();
  dims.executable = executable.get();
  s.must(&PJRT_Api::PJRT_Executable_OutputDimensions, dims);
  s.expect(dims.num_outputs == 2 && dims.dim_sizes[0] == 1 && dims.dim_sizes[1] == 1 &&
               dims.dims[0] == 4 && dims.dims[1] == 4,
           "[4] and [4]", "others");
}

ISTHMUS_CHECK(executable, fingerprint, kFramework,
              "equal programs have equal fingerprints, others have others") {
  auto fingerprint = [&](std::string_view program) {
    LoadedExecutable loaded = s.compile(program);
    Executable executable = s.executableOf(loaded);
    auto args = make<PJRT_Executable_Fingerprint_Args>();
    args.executable = executable.get();
    s.mayLack(&PJRT_Api::PJRT_Executable_Fingerprint, args);
    return std::string(args.executable_fingerprint, args.executable_fingerprint_size);
  };
  const std::string first = fingerprint(kAddOne);
  s.expect(first == fingerprint(kAddOne), "the same fingerprint twice", "two");
  s.expect(first != fingerprint(kSumAndProduct), "another fingerprint for another program",
           "the same");
}

ISTHMUS_CHECK(executable, addressable_devices, kFramework, "an executable knows where it runs") {
  LoadedExecutable loaded = s.compile(kAddOne);
  auto args = make<PJRT_LoadedExecutable_AddressableDevices_Args>();
  args.executable = loaded.get();
  s.must(&PJRT_Api::PJRT_LoadedExecutable_AddressableDevices, args);
  s.expect(args.num_addressable_devices == 1, "one device",
           std::to_string(args.num_addressable_devices));
}

ISTHMUS_CHECK(executable, delete_is_final, kComplete,
              "a deleted executable says so and does not run") {
  LoadedExecutable loaded = s.compile(kAddOne);
  Buffer x = s.fromHost(floats({1, 2, 3, 4}));
  auto isDeleted = make<PJRT_LoadedExecutable_IsDeleted_Args>();
  isDeleted.executable = loaded.get();
  s.must(&PJRT_Api::PJRT_LoadedExecutable_IsDeleted, isDeleted);
  s.expect(!isDeleted.is_deleted, "not deleted", "deleted");
  auto remove = make<PJRT_LoadedExecutable_Delete_Args>();
  remove.executable = loaded.get();
  s.must(&PJRT_Api::PJRT_LoadedExecutable_Delete, remove);
  s.must(&PJRT_Api::PJRT_LoadedExecutable_IsDeleted, isDeleted);
  s.expect(isDeleted.is_deleted, "deleted", "not deleted");
  std::vector<std::vector<Buffer>> results;
  s.refuse("executing", s.tryExecute(loaded.get(), {{x.get()}}, 1, {}, &results),
           "with a deleted executable");
}

ISTHMUS_CHECK(executable, results_outlive_it, kFramework,
              "results live on when their executable is gone") {
  Buffer x = s.fromHost(floats({1, 2, 3, 4}));
  Buffer result;
  {
    LoadedExecutable loaded = s.compile(kAddOne);
    result = std::move(s.run(loaded, {&x})[0]);
  }
  s.expectEqual(floats({2, 3, 4, 5}), s.toHost(result));
}

// The serialised form of a program's executable.
static std::string serialize(Session& s, std::string_view program) {
  LoadedExecutable loaded = s.compile(program);
  Executable executable = s.executableOf(loaded);
  auto args = make<PJRT_Executable_Serialize_Args>();
  args.executable = executable.get();
  s.mayLack(&PJRT_Api::PJRT_Executable_Serialize, args);
  std::string bytes(args.serialized_bytes, args.serialized_bytes_size);
  s.expect(args.serialized_executable_deleter != nullptr, "a deleter", "null");
  args.serialized_executable_deleter(args.serialized_executable);
  return bytes;
}

ISTHMUS_CHECK(serialization, round_trip, kFramework,
              "a serialised executable can be loaded and run") {
  const std::string bytes = serialize(s, kAddOne);
  auto args = make<PJRT_Executable_DeserializeAndLoad_Args>();
  args.client = s.client();
  args.serialized_executable = bytes.data();
  args.serialized_executable_size = bytes.size();
  s.must(&PJRT_Api::PJRT_Executable_DeserializeAndLoad, args);
  LoadedExecutable loaded(s, args.loaded_executable);
  Buffer x = s.fromHost(floats({1, 2, 3, 4}));
  s.expectEqual(floats({2, 3, 4, 5}), s.toHost(s.run(loaded, {&x})[0]));
}

ISTHMUS_CHECK(serialization, refuses_garbage, kFramework,
              "bytes that are no executable are refused") {
  const std::string bytes = serialize(s, kAddOne);
  for (const std::string& wrong :
       {std::string("garbage"), std::string(), bytes.substr(0, bytes.size() / 2),
        bytes.substr(bytes.size() / 2)}) {
    auto args = make<PJRT_Executable_DeserializeAndLoad_Args>();
    args.client = s.client();
    args.serialized_executable = wrong.data();
    args.serialized_executable_size = wrong.size();
    s.mustFail(&PJRT_Api::PJRT_Executable_DeserializeAndLoad, args,
               "for " + std::to_string(wrong.size()) + " wrong bytes");
  }
}

ISTHMUS_CHECK(
    executable, optimized_program, kFramework,
    "the optimised program says its size and format first and fills the caller's memory then") {
  LoadedExecutable loaded = s.compile(kAddOne);
  Executable executable = s.executableOf(loaded);
  auto program = make<PJRT_Program>();
  auto args = make<PJRT_Executable_OptimizedProgram_Args>();
  args.executable = executable.get();
  args.program = &program;
  s.mayLack(&PJRT_Api::PJRT_Executable_OptimizedProgram, args);
  s.expect(program.code_size > 0 && program.format_size > 0, "a size and a format", "none");
  std::string code(program.code_size, '\0');
  program.code = code.data();
  s.must(&PJRT_Api::PJRT_Executable_OptimizedProgram, args);
  s.expect(code.find_first_not_of('\0') != std::string::npos, "a program", "zeros");
}

ISTHMUS_CHECK(stress, threads, kComplete, "every function may be called from any thread") {
  LoadedExecutable executable = s.compile(kAddOne);
  std::vector<std::thread> threads;
  std::vector<std::string> errors(8);
  PJRT_Client* client = s.client();
  (void)client;
  for (size_t t = 0; t < errors.size(); ++t) {
    threads.emplace_back([&, t] {
      try {
        for (int i = 0; i < 100; ++i) {
          const float v = static_cast<float>(t * 100 + i);
          auto args = make<PJRT_Client_BufferFromHostBuffer_Args>();
          const float data[4] = {v, v + 1, v + 2, v + 3};
          const int64_t dims[1] = {4};
          const Plugin& plugin = s.plugin();
          args.client = client;
          args.data = data;
          args.type = PJRT_Buffer_Type_F32;
          args.dims = dims;
          args.num_dims = 1;
          args.device = nullptr;
          auto devices = make<PJRT_Client_AddressableDevices_Args>();
          devices.client = client;
          plugin.call(&PJRT_Api::PJRT_Client_AddressableDevices, devices);
          args.device = devices.addressable_devices[0];
          Outcome outcome = plugin.call(&PJRT_Api::PJRT_Client_BufferFromHostBuffer, args);
          if (!outcome.ok()) throw std::runtime_error(outcome.message);
          auto finish = [&](PJRT_Event* event) {
            if (!event) return;
            auto await = make<PJRT_Event_Await_Args>();
            await.event = event;
            Outcome done = plugin.call(&PJRT_Api::PJRT_Event_Await, await);
            auto destroy = make<PJRT_Event_Destroy_Args>();
            destroy.event = event;
            plugin.call(&PJRT_Api::PJRT_Event_Destroy, destroy);
            if (!done.ok()) throw std::runtime_error(done.message);
          };
          finish(args.done_with_host_buffer);
          PJRT_Buffer* output = nullptr;
          outcome = launch(plugin, executable.get(), args.buffer, &output);
          if (!outcome.ok()) throw std::runtime_error(outcome.message);
          float result[4] = {};
          auto copy = make<PJRT_Buffer_ToHostBuffer_Args>();
          copy.src = output;
          copy.dst = result;
          copy.dst_size = sizeof(result);
          outcome = plugin.call(&PJRT_Api::PJRT_Buffer_ToHostBuffer, copy);
          if (!outcome.ok()) throw std::runtime_error(outcome.message);
          finish(copy.event);
          for (int k = 0; k < 4; ++k) {
            if (result[k] != data[k] + 1) throw std::runtime_error("a wrong result");
          }
          for (PJRT_Buffer* buffer : {args.buffer, output}) {
            auto destroy = make<PJRT_Buffer_Destroy_Args>();
            destroy.buffer = buffer;
            plugin.call(&PJRT_Api::PJRT_Buffer_Destroy, destroy);
          }
        }
      } catch (const std::exception& error) {
        errors[t] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors)
    s.expect(error.empty(), "the results of one thread", error);
}

ISTHMUS_CHECK(stress, many_buffers, kComplete,
              "thousands of buffers may live at once, and die in any order") {
  std::vector<Buffer> buffers;
  for (int i = 0; i < 3000; ++i) {
    buffers.push_back(s.fromHost(floats({static_cast<float>(i), 1, 2, 3})));
  }
  for (int i = 0; i < 3000; i += 2) buffers[i].reset();
  for (int i = 1; i < 3000; i += 500) {
    s.expectEqual(floats({static_cast<float>(i), 1, 2, 3}), s.toHost(buffers[i]));
  }
}

ISTHMUS_CHECK(stress, many_programs, kComplete, "a hundred programs may be loaded at once") {
  std::vector<LoadedExecutable> executables;
  Buffer x = s.fromHost(floats({1, 2, 3, 4}));
  for (int i = 0; i < 100; ++i) {
    std::string program(kAddOne);
    program.replace(program.find("dense<1.0>"), 10, "dense<" + std::to_string(i) + ".0>");
    executables.push_back(s.compile(program));
  }
  for (int i = 0; i < 100; i += 9) {
    const auto v = static_cast<float>(i);
    s.expectEqual(floats({1 + v, 2 + v, 3 + v, 4 + v}), s.toHost(s.run(executables[i], {&x})[0]));
  }
}

}  // namespace isthmus::conformance
