// Programs of devices as bytes: what comes back, and what is refused.
#include "backends/shared/staging/program_bytes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <optional>

namespace isthmus {
namespace {

using Space = Location::Space;

// Of one parameter of 16 bytes and one result of as many, with each kind of step.
struct Program {
  DeviceProgram device;
  HostProgram host;
};

Program makeProgram() {
  Program program;
  DeviceProgram& device = program.device;
  device.info.name = "f";
  ParameterSpec parameter;
  parameter.type = {ElementType::kF32, {4}};
  device.info.parameters = {parameter};
  device.info.outputs = {parameter};
  device.kernels = {{.name = "kernel0", .items = {7, 2, 1}, .description = "stablehlo.add"},
                    {.name = "kernel1", .groupThreads = 64, .isVector = true, .description = ""}};
  device.constants = std::string(24, 'c');
  device.constantOffsets = {0, 16};
  device.arenaBytes = 128;
  device.slotOffsets = {128};
  device.scratchBytes = 192;
  device.estimatedNs = 2.5;
  device.profile.texts = {"add", ""};
  device.profile.steps = {{.name = 0, .op = 0, .category = 1, .source = 1, .stack = 1, .scope = 1},
                          {.name = 1, .flops = 2, .bytes = 3}};

  const Location in{Space::kParameter, 0, 0, 16};
  const Location out{Space::kResult, 0, 0, 16};
  const Location arena{Space::kArena, 0, 64, 16};
  const Location flag{Space::kStack, 0, 0, 1};
  const Location constant{Space::kConstant, 1, 0, 8};
  const Location number{Space::kArena, 0, 124, 4};
  Loop loop;
  loop.condition = {{KernelLaunch{0, 1, {in, flag}, 1, true}}};
  loop.predicate = flag;
  loop.body = {{HostCall{0, {in}, {arena}, 0}}, {Move{out, arena, true}}};
  loop.rounds = 5;
  loop.addressSwaps = {{.to = out, .from = arena}};
  loop.onHost = {0, {out, arena}, {}};
  Branch branch;
  branch.index = number;
  branch.branches = {{{KernelLaunch{1, 1, {constant, arena}}}}, {}};
  Branch condition;
  condition.index = flag;
  condition.isIf = true;
  condition.branches = {{}, {{loop}}};
  device.steps = {{loop}, {branch}, {LibraryCall{2, {in, out}, 1}}, {condition}};

  program.host.functions = {{"isthmus_rt_cholesky", "data", {"callback"}, 48, "cholesky"}};
  program.host.objects = {std::string("\0elf", 4)};
  program.host.callsUserCode = true;
  return program;
}

constexpr int kLibraryCalls = 3;

std::string write(const Program& program) {
  ByteWriter out;
  writeDeviceProgram(out, program.device);
  writeHostProgram(out, program.host);
  return out.take();
}

// Nothing if the reader has failed.
std::optional<Program> read(const std::string& bytes) {
  ByteReader in(bytes);
  Program program;
  readDeviceProgram(in, program.device);
  program.host = readHostProgram(in);
  if (!in.ok() || !in.rest().empty()) return std::nullopt;
  return program;
}

TEST(ProgramBytes, everything_comes_back) {
  const Program program = makeProgram();
  std::optional<Program> back = read(write(program));
  ASSERT_TRUE(back);
  EXPECT_TRUE(checkProgram(back->device, back->host, kLibraryCalls, &linkedHostFunctions()).ok());
  const DeviceProgram& device = back->device;
  EXPECT_EQ(device.info.name, "f");
  ASSERT_EQ(device.kernels.size(), 2u);
  EXPECT_EQ(device.kernels[0].items, program.device.kernels[0].items);
  EXPECT_EQ(device.kernels[0].description, "stablehlo.add");
  EXPECT_EQ(device.kernels[1].groupThreads, 64u);
  EXPECT_TRUE(device.kernels[1].isVector);
  EXPECT_EQ(device.constants, program.device.constants);
  EXPECT_EQ(device.constantOffsets, program.device.constantOffsets);
  EXPECT_EQ(device.slotOffsets, program.device.slotOffsets);
  EXPECT_EQ(device.scratchBytes, 192);
  EXPECT_EQ(device.estimatedNs, 2.5);
  ASSERT_EQ(device.steps.size(), 4u);
  const Branch& condition = std::get<Branch>(device.steps[3].what);
  EXPECT_TRUE(condition.isIf);
  const Loop& loop = std::get<Loop>(condition.branches[1][0].what);
  EXPECT_EQ(loop.predicate.space, Space::kStack);
  EXPECT_EQ(loop.rounds, 5);
  const KernelLaunch& launch = std::get<KernelLaunch>(loop.condition[0].what);
  EXPECT_EQ(launch.inputs, 1);
  EXPECT_EQ(launch.buffers[1], loop.predicate);
  EXPECT_EQ(launch.profileStep, 1);
  EXPECT_TRUE(launch.continuesOperation);
  EXPECT_EQ(std::get<HostCall>(loop.body[0].what).profileStep, 0);
  EXPECT_EQ(device.profile.texts, program.device.profile.texts);
  ASSERT_EQ(device.profile.steps.size(), 2u);
  EXPECT_EQ(device.profile.steps[1].flops, 2);
  EXPECT_EQ(std::get<HostCall>(loop.body[0].what).outputs[0].offset, 64);
  EXPECT_TRUE(std::get<Move>(loop.body[1].what).isSwap);
  ASSERT_EQ(loop.addressSwaps.size(), 1u);
  EXPECT_EQ(loop.addressSwaps[0].to, (Location{Space::kResult, 0, 0, 16}));
  EXPECT_FALSE(loop.addressSwaps[0].isSwap);
  EXPECT_EQ(loop.onHost.function, 0);
  EXPECT_EQ(loop.onHost.inputs.size(), 2u);
  EXPECT_EQ(std::get<LibraryCall>(device.steps[2].what).call, 2);
  EXPECT_EQ(std::get<LibraryCall>(device.steps[2].what).profileStep, 1);
  ASSERT_EQ(back->host.functions.size(), 1u);
  EXPECT_EQ(back->host.functions[0].descriptor, "data");
  EXPECT_EQ(back->host.functions[0].callbacks, std::vector<std::string>{"callback"});
  EXPECT_EQ(back->host.functions[0].scratchBytes, 48);
  EXPECT_EQ(back->host.objects, program.host.objects);
  EXPECT_TRUE(back->host.callsUserCode);
}

TEST(ProgramBytes, contradictions_are_refused) {
  auto place = [](Program& program) -> Location& {
    return std::get<LibraryCall>(program.device.steps[2].what).buffers[0];
  };
  auto loop = [](Program& program) -> Loop& {
    return std::get<Loop>(program.device.steps[0].what);
  };
  auto launch = [loop](Program& program) -> KernelLaunch& {
    return std::get<KernelLaunch>(loop(program).condition[0].what);
  };
  const std::vector<std::function<void(Program&)>> changes = {
      [&](Program& program) { place(program).index = 1; },
      [&](Program& program) { place(program).index = -1; },
      [&](Program& program) { place(program).bytes = 17; },
      [&](Program& program) { place(program).bytes = -1; },
      [&](Program& program) { place(program).bytes = INT64_MAX; },
      [&](Program& program) { place(program) = {Space::kResult, 1, 0, 4}; },
      [&](Program& program) { place(program) = {Space::kConstant, 1, 0, 9}; },
      [&](Program& program) { place(program) = {Space::kConstant, 2, 0, 0}; },
      [&](Program& program) { place(program) = {Space::kStack, 1, 0, 1}; },
      [&](Program& program) { place(program) = {Space::kStack, 0, 0, 65}; },
      [&](Program& program) { place(program) = {Space::kArena, 0, 190, 3}; },
      [&](Program& program) { place(program) = {Space::kArena, 0, INT64_MAX, 8}; },
      [&](Program& program) { place(program) = {Space::kArena, 0, -8, 8}; },
      [&](Program& program) { place(program) = {Space::kNone, 0, 0, 8}; },
      [&](Program& program) { place(program).space = Space(9); },
      [&](Program& program) { launch(program).kernel = 2; },
      [&](Program& program) { launch(program).kernel = -1; },
      [&](Program& program) { launch(program).inputs = 3; },
      [&](Program& program) { launch(program).inputs = -1; },
      [&](Program& program) { launch(program).profileStep = 2; },
      [&](Program& program) { launch(program).profileStep = -2; },
      [&](Program& program) { std::get<HostCall>(loop(program).body[0].what).profileStep = 2; },
      [](Program& program) { std::get<LibraryCall>(program.device.steps[2].what).profileStep = 2; },
      [](Program& program) { program.device.profile.steps[1].scope = 2; },
      [&](Program& program) { loop(program).predicate.bytes = 8; },
      [&](Program& program) { loop(program).rounds = -2; },
      [&](Program& program) { std::get<HostCall>(loop(program).body[0].what).function = 1; },
      [&](Program& program) { std::get<Move>(loop(program).body[1].what).from.bytes = 8; },
      [&](Program& program) { loop(program).addressSwaps[0].from.bytes = 8; },
      [&](Program& program) { loop(program).onHost.function = 1; },
      [&](Program& program) { loop(program).onHost.inputs[0].bytes = 1 << 20; },
      [](Program& program) { std::get<Branch>(program.device.steps[1].what).index.bytes = 8; },
      [](Program& program) { std::get<Branch>(program.device.steps[1].what).branches.clear(); },
      [](Program& program) { std::get<LibraryCall>(program.device.steps[2].what).call = 3; },
      [](Program& program) { program.device.kernels[0].items[1] = -1; },
      [](Program& program) { program.device.kernels[0].items = {1 << 30, 1 << 30, 1}; },
      [](Program& program) { program.device.kernels[0].groupThreads = 0; },
      [](Program& program) { program.device.constantOffsets[0] = -4; },
      [](Program& program) { program.device.slotOffsets[0] = INT64_MAX; },
      [](Program& program) { program.device.arenaBytes = -1; },
      [](Program& program) { program.device.scratchBytes = INT64_MAX; },
      [](Program& program) { program.device.estimatedNs = -1; },
      [](Program& program) { program.device.estimatedNs = std::nan(""); },
      [](Program& program) { program.host.functions[0].scratchBytes = -1; },
      [](Program& program) { program.device.info.parameters[0].type.dims = {-1}; },
      [](Program& program) { program.device.info.deviceAssignment = {2, 2, {1}}; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Program program = makeProgram();
    // Each offset is somebody's.
    place(program) = {Space::kConstant, 0, 0, 4};
    if (i < 15) place(program) = {Space::kParameter, 0, 0, 16};
    changes[i](program);
    std::optional<Program> back = read(write(program));
    if (!back) continue;
    EXPECT_EQ(checkProgram(back->device, back->host, kLibraryCalls, &linkedHostFunctions()).code(),
              StatusCode::kInvalidArgument)
        << "change " << i;
  }
}

TEST(ProgramBytes, steps_within_steps_are_bounded) {
  Program program = makeProgram();
  for (int depth = 0; depth < 1'000; ++depth) {
    Loop loop;
    loop.predicate = {Space::kStack, 0, 0, 1};
    loop.body = std::move(program.device.steps);
    program.device.steps.clear();
    program.device.steps.push_back({std::move(loop)});
  }
  EXPECT_FALSE(read(write(program)));
}

TEST(ProgramBytes, code_for_another_cpu_is_refused) {
  Program program = makeProgram();
  program.host.features = "+no-such-feature";
  EXPECT_EQ(
      checkProgram(program.device, program.host, kLibraryCalls, &linkedHostFunctions()).code(),
      StatusCode::kFailedPrecondition);
}

TEST(ProgramBytes, truncated_bytes_are_refused) {
  const std::string bytes = write(makeProgram());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(read(bytes.substr(0, size))) << size;
  }
  EXPECT_FALSE(read(bytes + "x"));
}

}  // namespace
}  // namespace isthmus
