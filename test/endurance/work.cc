// One function for each kind of work. Every result is compared with a sum of our own.
#include "test/endurance/work.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "pjrt/testing/c_api_calls.h"

namespace isthmus::endurance {
namespace {

using client::Error;
using client::Plugin;
using Random = std::mt19937_64;

constexpr size_t kElements = 256;

int64_t pick(Random& random, int64_t below) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(below));
}

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

// ---- Short forms of the calls
// --------------------------------------------------------------------

Owned<PJRT_Buffer> own(const Plugin& plugin, PJRT_Buffer* buffer) {
  return {buffer, [plugin](PJRT_Buffer* object) {
            auto args = Plugin::make<PJRT_Buffer_Destroy_Args>();
            args.buffer = object;
            plugin.api().PJRT_Buffer_Destroy(&args);
          }};
}

Owned<PJRT_LoadedExecutable> own(const Plugin& plugin, PJRT_LoadedExecutable* executable) {
  return {executable, [plugin](PJRT_LoadedExecutable* object) {
            auto args = Plugin::make<PJRT_LoadedExecutable_Destroy_Args>();
            args.executable = object;
            plugin.api().PJRT_LoadedExecutable_Destroy(&args);
          }};
}

Owned<PJRT_Client> makeClient(const Plugin& plugin) {
  PJRT_NamedValue option = pjrt::intOption("num_devices", kDevices);
  auto made = plugin.call<PJRT_Client_Create_Args>(&PJRT_Api::PJRT_Client_Create, [&](auto& args) {
    args.create_options = &option;
    args.num_options = 1;
  });
  return {made.client, [plugin](PJRT_Client* object) {
            auto args = Plugin::make<PJRT_Client_Destroy_Args>();
            args.client = object;
            plugin.api().PJRT_Client_Destroy(&args);
          }};
}

std::vector<PJRT_Device*> devicesOf(const Plugin& plugin, PJRT_Client* client) {
  auto found = plugin.call<PJRT_Client_AddressableDevices_Args>(
      &PJRT_Api::PJRT_Client_AddressableDevices, [&](auto& args) { args.client = client; });
  return {found.addressable_devices, found.addressable_devices + found.num_addressable_devices};
}

Owned<PJRT_LoadedExecutable> compile(const Plugin& plugin, PJRT_Client* client, std::string text,
                                     size_t replicas = 1) {
  // CompileOptionsProto { executable_build_options { num_replicas, num_partitions: 1 } }
  const char options[] = {0x1a, 4, 0x20, static_cast<char>(replicas), 0x28, 1};
  PJRT_Program program = pjrt::programOf(text);
  auto made =
      plugin.call<PJRT_Client_Compile_Args>(&PJRT_Api::PJRT_Client_Compile, [&](auto& args) {
        args.client = client;
        args.program = &program;
        args.compile_options = options;
        args.compile_options_size = sizeof(options);
      });
  return own(plugin, made.executable);
}

using Values = std::vector<float>;

Values randomValues(Random& random) {
  Values values(kElements);
  for (float& value : values) value = static_cast<float>(pick(random, 1000));
  return values;
}

Owned<PJRT_Buffer> put(const Plugin& plugin, PJRT_Client* client, PJRT_Device* device,
                       const Values& values) {
  const auto size = static_cast<int64_t>(values.size());
  auto args = plugin.call<PJRT_Client_BufferFromHostBuffer_Args>(
      &PJRT_Api::PJRT_Client_BufferFromHostBuffer, [&](auto& a) {
        a.client = client;
        a.data = values.data();
        a.type = PJRT_Buffer_Type_F32;
        a.dims = &size;
        a.num_dims = 1;
        a.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
        a.device = device;
      });
  Owned<PJRT_Buffer> buffer = own(plugin, args.buffer);
  plugin.wait(args.done_with_host_buffer);
  return buffer;
}

Values get(const Plugin& plugin, PJRT_Buffer* buffer) {
  auto args = Plugin::make<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer;
  plugin.check(plugin.api().PJRT_Buffer_ToHostBuffer(&args));
  Values values(args.dst_size / sizeof(float));
  args.dst = values.data();
  plugin.check(plugin.api().PJRT_Buffer_ToHostBuffer(&args));
  plugin.wait(args.event);
  return values;
}

// One argument and one result for each device.
std::vector<Owned<PJRT_Buffer>> execute(const Plugin& plugin, PJRT_LoadedExecutable* executable,
                                        const std::vector<Owned<PJRT_Buffer>>& arguments) {
  const size_t count = arguments.size();
  std::vector<PJRT_Buffer*> inputs(count), outputs(count);
  std::vector<PJRT_Buffer* const*> inputLists(count);
  std::vector<PJRT_Buffer**> outputLists(count);
  for (size_t i = 0; i < count; ++i) {
    inputs[i] = arguments[i].get();
    inputLists[i] = &inputs[i];
    outputLists[i] = &outputs[i];
  }
  auto options = Plugin::make<PJRT_ExecuteOptions>();
  plugin.call<PJRT_LoadedExecutable_Execute_Args>(&PJRT_Api::PJRT_LoadedExecutable_Execute,
                                                  [&](auto& args) {
                                                    args.executable = executable;
                                                    args.options = &options;
                                                    args.argument_lists = inputLists.data();
                                                    args.num_devices = count;
                                                    args.num_args = 1;
                                                    args.output_lists = outputLists.data();
                                                  });
  std::vector<Owned<PJRT_Buffer>> results;
  for (PJRT_Buffer* output : outputs) results.push_back(own(plugin, output));
  return results;
}

Owned<PJRT_Buffer> execute(const Plugin& plugin, PJRT_LoadedExecutable* executable,
                           const Owned<PJRT_Buffer>& argument) {
  return execute(plugin, executable, std::vector{argument})[0];
}

void expectValues(const Values& got, const Values& from, const std::string& what,
                  const std::function<float(float)>& function) {
  require(got.size() == from.size(), what + ": another number of elements");
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] != function(from[i])) {
      throw std::runtime_error(what + ": element " + std::to_string(i) + " is " +
                               std::to_string(got[i]) + ", expected " +
                               std::to_string(function(from[i])));
    }
  }
}

// ---- Programs
// ------------------------------------------------------------------------------------

// x * factor + term, as often as `trips` says.
std::string affine(int64_t factor, int64_t term, int64_t trips = 1) {
  const std::string type = "tensor<256xf32>";
  auto constant = [&](const char* name, int64_t value) {
    return std::string("    %") + name + " = stablehlo.constant dense<" + std::to_string(value) +
           ".0> : " + type + "\n";
  };
  std::string text = "module @affine" + std::to_string(factor) +
                     " {\n  func.func @main(%x: " + type + ") -> " + type + " {\n" +
                     constant("f", factor) + constant("t", term);
  text +=
      "    %zero = stablehlo.constant dense<0> : tensor<i32>\n"
      "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
      "    %n = stablehlo.constant dense<" +
      std::to_string(trips) + "> : tensor<i32>\n";
  text += "    %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, " + type + R"(
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %a = stablehlo.multiply %y, %f : )" +
          type + "\n      %b = stablehlo.add %a, %t : " + type +
          "\n      stablehlo.return %j, %b : tensor<i32>, " + type +
          "\n    }\n    return %r#1 : " + type + "\n  }\n}\n";
  return text;
}

constexpr char kTwicePlusOne[] = R"(module @twice_plus_one {
  func.func @main(%x: tensor<256xf32>) -> tensor<256xf32> {
    %one = stablehlo.constant dense<1.0> : tensor<256xf32>
    %0 = stablehlo.add %x, %x : tensor<256xf32>
    %1 = stablehlo.add %0, %one : tensor<256xf32>
    return %1 : tensor<256xf32>
  }
})";

constexpr char kAddOneInPlace[] = R"(module @add_one_in_place {
  func.func @main(%x: tensor<256xf32> {tf.aliasing_output = 0 : i32}) -> tensor<256xf32> {
    %one = stablehlo.constant dense<1.0> : tensor<256xf32>
    %0 = stablehlo.add %x, %one : tensor<256xf32>
    return %0 : tensor<256xf32>
  }
})";

constexpr char kSumOverDevices[] = R"(module @sum attributes {mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<256xf32>) -> tensor<256xf32> {
    %0 = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<256xf32>) -> tensor<256xf32>
    return %0 : tensor<256xf32>
  }
})";

// ---- Kinds of work
// -------------------------------------------------------------------------------

PJRT_Device* anyDevice(World& world, Random& random) {
  return world.devices[static_cast<size_t>(pick(random, kDevices))];
}

void dispatch(World& world, Random& random) {
  const Values values = randomValues(random);
  Owned<PJRT_Buffer> x = put(world.plugin, world.client.get(), world.devices[0], values);
  for (int i = 0; i < 20; ++i) {
    Owned<PJRT_Buffer> y = execute(world.plugin, world.twicePlusOne.get(), x);
    if (i == 0) {
      expectValues(get(world.plugin, y.get()), values, "dispatch",
                   [](float v) { return 2 * v + 1; });
    }
  }
}

// Three times v -> factor * v + term: small whole numbers, so exactly.
float threeTimes(float v, int64_t factor, int64_t term) {
  for (int i = 0; i < 3; ++i) v = v * static_cast<float>(factor) + static_cast<float>(term);
  return v;
}

void compileAndRun(World& world, Random& random) {
  const int64_t factor = pick(random, 5), term = pick(random, 100);
  Owned<PJRT_LoadedExecutable> program =
      compile(world.plugin, world.client.get(), affine(factor, term, 3));
  const Values values = randomValues(random);
  Owned<PJRT_Buffer> x = put(world.plugin, world.client.get(), world.devices[0], values);
  Owned<PJRT_Buffer> y = execute(world.plugin, program.get(), x);
  program.reset();  // while it may run
  expectValues(get(world.plugin, y.get()), values, "compile and run",
               [&](float v) { return threeTimes(v, factor, term); });
}

void serialize(World& world, Random& random) {
  const int64_t factor = pick(random, 5), term = pick(random, 100);
  const Plugin& plugin = world.plugin;
  std::string bytes;
  {
    Owned<PJRT_LoadedExecutable> program =
        compile(plugin, world.client.get(), affine(factor, term, 3));
    auto unloaded = plugin.call<PJRT_LoadedExecutable_GetExecutable_Args>(
        &PJRT_Api::PJRT_LoadedExecutable_GetExecutable,
        [&](auto& args) { args.loaded_executable = program.get(); });
    auto serialized = plugin.call<PJRT_Executable_Serialize_Args>(
        &PJRT_Api::PJRT_Executable_Serialize,
        [&](auto& args) { args.executable = unloaded.executable; });
    bytes.assign(serialized.serialized_bytes, serialized.serialized_bytes_size);
    serialized.serialized_executable_deleter(serialized.serialized_executable);
    plugin.call<PJRT_Executable_Destroy_Args>(&PJRT_Api::PJRT_Executable_Destroy, [&](auto& args) {
      args.executable = unloaded.executable;
    });
  }
  auto load = [&] {
    return own(plugin, plugin
                           .call<PJRT_Executable_DeserializeAndLoad_Args>(
                               &PJRT_Api::PJRT_Executable_DeserializeAndLoad,
                               [&](auto& args) {
                                 args.client = world.client.get();
                                 args.serialized_executable = bytes.data();
                                 args.serialized_executable_size = bytes.size();
                               })
                           .loaded_executable);
  };
  const Values values = randomValues(random);
  Owned<PJRT_Buffer> x = put(plugin, world.client.get(), world.devices[0], values);
  Owned<PJRT_Buffer> y = execute(plugin, load().get(), x);
  expectValues(get(plugin, y.get()), values, "serialize",
               [&](float v) { return threeTimes(v, factor, term); });
  bytes[static_cast<size_t>(pick(random, static_cast<int64_t>(bytes.size())))] ^= 1;
  try {
    load();
  } catch (const Error&) {
    return;
  }
  throw std::runtime_error("a damaged executable was loaded");
}

void reduceOverDevices(World& world, Random& random) {
  Values sum(kElements);
  std::vector<Owned<PJRT_Buffer>> arguments;
  for (PJRT_Device* device : world.devices) {
    const Values values = randomValues(random);
    for (size_t i = 0; i < kElements; ++i) sum[i] += values[i];
    arguments.push_back(put(world.plugin, world.client.get(), device, values));
  }
  std::vector<Owned<PJRT_Buffer>> results =
      execute(world.plugin, world.sumOverDevices.get(), arguments);
  arguments.clear();
  for (const Owned<PJRT_Buffer>& result : results) {
    expectValues(get(world.plugin, result.get()), sum, "sum over devices",
                 [](float v) { return v; });
  }
}

void donate(World& world, Random& random) {
  const Values values = randomValues(random);
  Owned<PJRT_Buffer> x = put(world.plugin, world.client.get(), world.devices[0], values);
  const int64_t count = pick(random, 60);
  for (int64_t i = 0; i < count; ++i) x = execute(world.plugin, world.addOneInPlace.get(), x);
  expectValues(get(world.plugin, x.get()), values, "donation",
               [&](float v) { return v + static_cast<float>(count); });
}

// Every buffer in a slot has equal elements; somebody may delete it at any time.
void share(World& world, Random& random) {
  const auto value = static_cast<float>(pick(random, 1000));
  Owned<PJRT_Buffer> mine =
      put(world.plugin, world.client.get(), world.devices[0], Values(kElements, value));
  Owned<PJRT_Buffer> other;
  {
    std::lock_guard lock(world.slotsMutex);
    Owned<PJRT_Buffer>& slot = world.slots[static_cast<size_t>(pick(random, 32))];
    other = slot;
    slot = mine;
  }
  if (!other) return;
  if (pick(random, 3) == 0) {
    world.plugin.call<PJRT_Buffer_Delete_Args>(&PJRT_Api::PJRT_Buffer_Delete,
                                               [&](auto& args) { args.buffer = other.get(); });
  }
  try {
    Owned<PJRT_Buffer> y = execute(world.plugin, world.twicePlusOne.get(), other);
    const Values results = get(world.plugin, y.get());
    for (float result : results) require(result == results[0], "a shared buffer: torn contents");
    require(std::fmod(results[0] - 1, 2.0F) == 0, "a shared buffer: wrong contents");
  } catch (const Error& error) {
    // Deleted by somebody.
    require(error.code() == PJRT_Error_Code_INVALID_ARGUMENT, error.what());
  }
}

void copyAround(World& world, Random& random) {
  const Values values = randomValues(random);
  Owned<PJRT_Buffer> x = put(world.plugin, world.client.get(), anyDevice(world, random), values);
  for (int64_t i = pick(random, 8); i >= 0; --i) {
    auto copied = world.plugin.call<PJRT_Buffer_CopyToDevice_Args>(
        &PJRT_Api::PJRT_Buffer_CopyToDevice, [&](auto& args) {
          args.buffer = x.get();
          args.dst_device = anyDevice(world, random);
        });
    x = own(world.plugin, copied.dst_buffer);
  }
  expectValues(get(world.plugin, x.get()), values, "copies", [](float v) { return v; });
}

// Launches before their argument is there, which comes, or an error, or nothing.
void fulfilLate(World& world, Random& random) {
  const int64_t dims[] = {kElements};
  const Plugin& plugin = world.plugin;
  auto made = plugin.call<PJRT_Client_CreateAliasBuffer_Args>(
      &PJRT_Api::PJRT_Client_CreateAliasBuffer, [&](auto& args) {
        args.client = world.client.get();
        args.shape_element_type = PJRT_Buffer_Type_F32;
        args.shape_dims = dims;
        args.shape_num_dims = 1;
        args.memory =
            plugin
                .call<PJRT_Device_DefaultMemory_Args>(&PJRT_Api::PJRT_Device_DefaultMemory,
                                                      [&](auto& a) { a.device = world.devices[0]; })
                .memory;
      });
  Owned<PJRT_Buffer> late = own(plugin, made.alias_buffer);
  std::vector<Owned<PJRT_Buffer>> results;
  for (int i = 0; i < 50; ++i) {
    const Owned<PJRT_Buffer>& argument = i % 2 && !results.empty() ? results.back() : late;
    results.push_back(execute(plugin, world.twicePlusOne.get(), argument));
  }
  const Values values = randomValues(random);
  const bool fails = pick(random, 4) == 0;
  Owned<PJRT_Buffer> x = put(plugin, world.client.get(), world.devices[0], values);
  plugin.call<PJRT_Client_FulfillAliasBuffer_Args>(
      &PJRT_Api::PJRT_Client_FulfillAliasBuffer, [&](auto& args) {
        args.client = world.client.get();
        args.fulfill_alias_buffer_cb = made.fulfill_alias_buffer_cb;
        args.buffer = fails ? nullptr : x.get();
        args.status_code = fails ? PJRT_Error_Code_ABORTED : PJRT_Error_Code_OK;
        args.error_message = "not this time";
        args.error_message_size = fails ? 13 : 0;
      });
  try {
    expectValues(get(plugin, results[0].get()), values, "late arguments",
                 [](float v) { return 2 * v + 1; });
    expectValues(get(plugin, results[1].get()), values, "late arguments of results",
                 [](float v) { return 4 * v + 3; });
  } catch (const Error& error) {
    require(fails && error.code() == PJRT_Error_Code_ABORTED, error.what());
    return;
  }
  require(!fails, "an alias buffer that failed has contents");
}

void refuse(World& world, Random& random) {
  std::string text = affine(pick(random, 9), 1);
  text.resize(static_cast<size_t>(pick(random, static_cast<int64_t>(text.size()) - 4)));
  try {
    compile(world.plugin, world.client.get(), text);
  } catch (const Error&) {
    return;
  }
  throw std::runtime_error("half a program was compiled");
}

void useAnotherClient(World& world, Random& random) {
  Owned<PJRT_Client> client = makeClient(world.plugin);
  const std::vector<PJRT_Device*> devices = devicesOf(world.plugin, client.get());
  const Values values = randomValues(random);
  Owned<PJRT_Buffer> x = put(world.plugin, client.get(), devices[1], values);
  auto copied = world.plugin.call<PJRT_Buffer_CopyToDevice_Args>(
      &PJRT_Api::PJRT_Buffer_CopyToDevice, [&](auto& args) {
        args.buffer = x.get();
        args.dst_device = devices[0];
      });
  x = own(world.plugin, copied.dst_buffer);
  client.reset();
  expectValues(get(world.plugin, x.get()), values, "a client that went", [](float v) { return v; });
}

// A child of a process with many threads compiles and runs, on an old client and a new one.
void forkAndRun(World& world, Random& random) {
#if __has_feature(address_sanitizer)
  return;  // its quarantine of freed memory stays locked in a child
#endif
  std::unique_lock lock(world.forkMutex, std::try_to_lock);
  if (!lock) return;
  const uint64_t seed = random();
  const pid_t child = fork();
  require(child >= 0, "fork failed");
  if (child == 0) {
    constexpr unsigned kPatienceSeconds = 120;
    alarm(kPatienceSeconds);
    Random childRandom(seed);
    try {
      dispatch(world, childRandom);
      compileAndRun(world, childRandom);
      donate(world, childRandom);
    } catch (const std::exception& error) {
      dprintf(2, "in a child: %s\n", error.what());
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    throw std::runtime_error("a child ended by signal " + std::to_string(WTERMSIG(status)));
  }
  require(WEXITSTATUS(status) == 0, "a child failed");
}

}  // namespace

World::World(Plugin made)
    : plugin(made),
      client(makeClient(plugin)),
      devices(devicesOf(plugin, client.get())),
      twicePlusOne(compile(plugin, client.get(), kTwicePlusOne)),
      sumOverDevices(compile(plugin, client.get(), kSumOverDevices, kDevices)),
      addOneInPlace(compile(plugin, client.get(), kAddOneInPlace)) {
  require(devices.size() == kDevices, "another number of devices than asked for");
}

const std::vector<Kind> kKinds = {
    {"dispatch", 300, dispatch}, {"compile", 10, compileAndRun},
    {"serialize", 6, serialize}, {"collective", 60, reduceOverDevices},
    {"donate", 60, donate},      {"share", 300, share},
    {"copy", 100, copyAround},   {"late", 30, fulfilLate},
    {"refuse", 10, refuse},      {"client", 2, useAnotherClient},
    {"fork", 1, forkAndRun},
};

}  // namespace isthmus::endurance
