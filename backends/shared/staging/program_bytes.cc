// Field by field; steps within steps.
#include "backends/shared/staging/program_bytes.h"

#include <algorithm>
#include <variant>

#include "backends/shared/serialization/image_checks.h"
#include "backends/shared/serialization/sealed_bytes.h"
#include "base/program/program_bytes.h"

namespace isthmus {
namespace {

// Of loops and branches within each other; import allows no more.
constexpr int kMaxDepth = 256;
// Work-items of a launch along one dimension, which are multiplied by each other.
constexpr int64_t kMaxItems = int64_t{1} << 40;
constexpr int64_t kMaxLaunchItems = int64_t{1} << 50;
constexpr int64_t kMaxBytes = int64_t{1} << 48;
constexpr unsigned kMaxGroupThreads = 1 << 16;

// ---- Writing ------------------------------------------------------------------------------------

void writePlace(ByteWriter& out, const Location& place) {
  out.write(place.space);
  out.write(place.index);
  out.write(place.offset);
  out.write(place.bytes);
}

void writePlaces(ByteWriter& out, const std::vector<Location>& places) {
  out.writeList(places, [&](const Location& place) { writePlace(out, place); });
}

void writeStepList(ByteWriter& out, const std::vector<Step>& steps);

struct StepWriter {
  ByteWriter& out;

  void operator()(const KernelLaunch& step) const {
    out.write(step.kernel);
    out.write(step.inputs);
    writePlaces(out, step.buffers);
    out.write(step.profileStep);
    out.write(step.continuesOperation);
  }
  void operator()(const HostCall& step) const {
    out.write(step.function);
    writePlaces(out, step.inputs);
    writePlaces(out, step.outputs);
    out.write(step.profileStep);
  }
  void operator()(const LibraryCall& step) const {
    out.write(step.call);
    writePlaces(out, step.buffers);
    out.write(step.profileStep);
  }
  void operator()(const Move& step) const {
    writePlace(out, step.to);
    writePlace(out, step.from);
    out.write(step.isSwap);
  }
  void operator()(const Loop& step) const {
    writeStepList(out, step.condition);
    writePlace(out, step.predicate);
    writeStepList(out, step.body);
    out.write(step.rounds);
    out.writeList(step.addressSwaps, *this);
    (*this)(step.onHost);
  }
  void operator()(const Branch& step) const {
    writePlace(out, step.index);
    out.write(step.isIf);
    out.writeList(step.branches,
                  [&](const std::vector<Step>& steps) { writeStepList(out, steps); });
  }
};

void writeStepList(ByteWriter& out, const std::vector<Step>& steps) {
  out.writeList(steps, [&](const Step& step) {
    out.write(static_cast<int8_t>(step.what.index()));
    std::visit(StepWriter{out}, step.what);
  });
}

// ---- Reading ------------------------------------------------------------------------------------

Location readPlace(ByteReader& in) {
  Location place;
  place.space = in.read<Location::Space>();
  place.index = in.read<int>();
  place.offset = in.read<int64_t>();
  place.bytes = in.read<int64_t>();
  return place;
}

std::vector<Location> readPlaces(ByteReader& in) {
  return in.readList([&] { return readPlace(in); });
}

Move readMove(ByteReader& in) {
  Move move;
  move.to = readPlace(in);
  move.from = readPlace(in);
  move.isSwap = in.read<int8_t>() != 0;
  return move;
}

HostCall readHostCall(ByteReader& in) {
  HostCall call;
  call.function = in.read<int>();
  call.inputs = readPlaces(in);
  call.outputs = readPlaces(in);
  call.profileStep = in.read<int32_t>();
  return call;
}

std::vector<Step> readStepList(ByteReader& in, int depth);

Step readStep(ByteReader& in, int depth) {
  switch (in.read<int8_t>()) {
    case 0: {
      KernelLaunch step;
      step.kernel = in.read<int>();
      step.inputs = in.read<int>();
      step.buffers = readPlaces(in);
      step.profileStep = in.read<int32_t>();
      step.continuesOperation = in.read<int8_t>() != 0;
      return {std::move(step)};
    }
    case 1: {
      return {readHostCall(in)};
    }
    case 2: {
      LibraryCall step;
      step.call = in.read<int>();
      step.buffers = readPlaces(in);
      step.profileStep = in.read<int32_t>();
      return {std::move(step)};
    }
    case 3: {
      return {readMove(in)};
    }
    case 4: {
      Loop step;
      step.condition = readStepList(in, depth + 1);
      step.predicate = readPlace(in);
      step.body = readStepList(in, depth + 1);
      step.rounds = in.read<int64_t>();
      step.addressSwaps = in.readList([&] { return readMove(in); });
      step.onHost = readHostCall(in);
      return {std::move(step)};
    }
    case 5: {
      Branch step;
      step.index = readPlace(in);
      step.isIf = in.read<int8_t>() != 0;
      step.branches = in.readList([&] { return readStepList(in, depth + 1); });
      return {std::move(step)};
    }
    default:
      in.fail();
      return {};
  }
}

std::vector<Step> readStepList(ByteReader& in, int depth) {
  if (depth > kMaxDepth) in.fail();
  return in.readList([&] { return readStep(in, depth); });
}

// ---- Checking -----------------------------------------------------------------------------------

// Whether a place lies within what a program has.
class StepChecks {
 public:
  StepChecks(const DeviceProgram& program, const HostProgram& host, int libraryCalls)
      : program_(program), host_(host), libraryCalls_(libraryCalls) {}

  Status check(const std::vector<Step>& steps) const {
    for (const Step& step : steps) {
      ISTHMUS_RETURN_IF_ERROR(std::visit(*this, step.what));
    }
    return {};
  }

  Status operator()(const KernelLaunch& step) const {
    if (!isIndex(step.kernel, program_.kernels.size())) return contradiction("kernel of a step");
    if (step.inputs < 0 || step.inputs > std::ssize(step.buffers)) {
      return contradiction("inputs of a kernel");
    }
    if (!isProfileStep(step.profileStep)) return contradiction("name of a step");
    return checkPlaces(step.buffers);
  }
  Status operator()(const HostCall& step) const {
    if (!isIndex(step.function, host_.functions.size())) {
      return contradiction("host function of a step");
    }
    if (!isProfileStep(step.profileStep)) return contradiction("name of a step");
    ISTHMUS_RETURN_IF_ERROR(checkPlaces(step.inputs));
    return checkPlaces(step.outputs);
  }
  Status operator()(const LibraryCall& step) const {
    if (!isIndex(step.call, static_cast<size_t>(libraryCalls_))) {
      return contradiction("library call of a step");
    }
    if (!isProfileStep(step.profileStep)) return contradiction("name of a step");
    return checkPlaces(step.buffers);
  }
  Status operator()(const Move& step) const {
    if (!isInside(step.to) || !isInside(step.from) || step.to.bytes != step.from.bytes) {
      return contradiction("a copy");
    }
    return {};
  }
  Status operator()(const Loop& step) const {
    if (!isInside(step.predicate) || step.predicate.bytes != 1) {
      return contradiction("predicate of a loop");
    }
    if (step.rounds < -1) return contradiction("rounds of a loop");
    if (step.onHost.function != -1) ISTHMUS_RETURN_IF_ERROR((*this)(step.onHost));
    for (const Move& swap : step.addressSwaps) ISTHMUS_RETURN_IF_ERROR((*this)(swap));
    ISTHMUS_RETURN_IF_ERROR(check(step.condition));
    return check(step.body);
  }
  Status operator()(const Branch& step) const {
    if (!isInside(step.index) || step.index.bytes != (step.isIf ? 1 : 4) || step.branches.empty()) {
      return contradiction("branches");
    }
    for (const std::vector<Step>& branch : step.branches) ISTHMUS_RETURN_IF_ERROR(check(branch));
    return {};
  }

 private:
  // -1, or one of those that the program names.
  bool isProfileStep(int32_t step) const {
    return step >= -1 && step < std::ssize(program_.profile.steps);
  }
  static bool isIndex(int index, size_t count) {
    return index >= 0 && static_cast<size_t>(index) < count;
  }
  // All are below kMaxBytes: nothing overflows.
  static bool fits(int64_t offset, int64_t bytes, size_t size) {
    return offset >= 0 && offset <= kMaxBytes && static_cast<size_t>(offset + bytes) <= size;
  }

  bool isInside(const Location& place) const {
    using Space = Location::Space;
    if (place.bytes < 0 || place.bytes > kMaxBytes) return false;
    const auto scratch = static_cast<size_t>(program_.scratchBytes);
    switch (place.space) {
      case Space::kNone:
        return place.bytes == 0;
      case Space::kParameter:
        return isIndex(place.index, program_.info.parameters.size()) &&
               fits(0, place.bytes, program_.info.parameters[place.index].type.sizeBytes());
      case Space::kResult:
        return isIndex(place.index, program_.info.outputs.size()) &&
               fits(0, place.bytes, program_.info.outputs[place.index].type.sizeBytes());
      case Space::kConstant:
        return isIndex(place.index, program_.constantOffsets.size()) &&
               fits(program_.constantOffsets[place.index], place.bytes, program_.constants.size());
      case Space::kStack:
        return isIndex(place.index, program_.slotOffsets.size()) &&
               fits(program_.slotOffsets[place.index], place.bytes, scratch);
      case Space::kArena:
        return fits(place.offset, place.bytes, scratch);
    }
    return false;
  }

  Status checkPlaces(const std::vector<Location>& places) const {
    for (const Location& place : places) {
      if (!isInside(place)) return contradiction("place of a buffer");
    }
    return {};
  }

  const DeviceProgram& program_;
  const HostProgram& host_;
  int libraryCalls_;
};

Status checkKernels(const std::vector<codegen::KernelInfo>& kernels) {
  for (const codegen::KernelInfo& kernel : kernels) {
    int64_t all = 1;
    for (int64_t items : kernel.items) {
      if (items < 0 || items > kMaxItems || (items > 0 && all > kMaxLaunchItems / items)) {
        return contradiction("work-items of a kernel");
      }
      all *= std::max<int64_t>(items, 1);
    }
    if (kernel.groupThreads < 1 || kernel.groupThreads > kMaxGroupThreads) {
      return contradiction("threads of a group");
    }
  }
  return {};
}

}  // namespace

void writeDeviceProgram(ByteWriter& out, const DeviceProgram& program) {
  writeInfo(out, program.info);
  out.writeList(program.kernels, [&](const codegen::KernelInfo& kernel) {
    out.write(kernel.name);
    for (int64_t items : kernel.items) out.write(items);
    out.write(kernel.groupThreads);
    out.write(kernel.isVector);
    out.write(kernel.description);
  });
  writeStepList(out, program.steps);
  out.write(program.constants);
  out.writeList(program.constantOffsets, [&](int64_t offset) { out.write(offset); });
  out.write(program.arenaBytes);
  out.writeList(program.slotOffsets, [&](int64_t offset) { out.write(offset); });
  out.write(program.scratchBytes);
  out.write(program.estimatedNs);
  writeSteps(out, program.profile);
}

void readDeviceProgram(ByteReader& in, DeviceProgram& program) {
  program.info = readInfo(in);
  program.kernels = in.readList([&] {
    codegen::KernelInfo kernel;
    kernel.name = in.readString();
    for (int64_t& items : kernel.items) items = in.read<int64_t>();
    kernel.groupThreads = in.read<unsigned>();
    kernel.isVector = in.read<int8_t>() != 0;
    kernel.description = in.readString();
    return kernel;
  });
  program.steps = readStepList(in, 0);
  program.constants = in.readString();
  program.constantOffsets = in.readList([&] { return in.read<int64_t>(); });
  program.arenaBytes = in.read<int64_t>();
  program.slotOffsets = in.readList([&] { return in.read<int64_t>(); });
  program.scratchBytes = in.read<int64_t>();
  program.estimatedNs = in.read<double>();
  program.profile = readSteps(in);
}

void writeHostProgram(ByteWriter& out, const HostProgram& program) {
  out.writeList(program.functions, [&](const HostFunction& function) {
    out.write(function.function);
    out.write(function.descriptor);
    out.writeList(function.callbacks, [&](const std::string& name) { out.write(name); });
    out.write(function.scratchBytes);
    out.write(function.description);
  });
  out.writeList(program.objects, [&](const std::string& object) { out.write(object); });
  out.write(program.features);
  out.writeList(program.calls, [&](const ffi::CallSpec& call) { writeCall(out, call); });
  out.write(program.callsUserCode);
}

HostProgram readHostProgram(ByteReader& in) {
  HostProgram program;
  program.functions = in.readList([&] {
    HostFunction function;
    function.function = in.readString();
    function.descriptor = in.readString();
    function.callbacks = in.readList([&] { return in.readString(); });
    function.scratchBytes = in.read<int64_t>();
    function.description = in.readString();
    return function;
  });
  program.objects = in.readList([&] { return in.readString(); });
  program.features = in.readString();
  program.calls = in.readList([&] { return readCall(in); });
  program.callsUserCode = in.read<int8_t>() != 0;
  return program;
}

Status checkProgram(const DeviceProgram& program, const HostProgram& host, int libraryCalls,
                    const HostFunctionProvider* provider) {
  ISTHMUS_RETURN_IF_ERROR(checkInfo(program.info));
  if (!program.profile.isValid()) return contradiction("names of steps");
  ISTHMUS_RETURN_IF_ERROR(checkKernels(program.kernels));
  // NaN is not either.
  if (!(program.estimatedNs >= 0)) return contradiction("time of a run");
  if (program.arenaBytes < 0 || program.scratchBytes < program.arenaBytes ||
      program.scratchBytes > kMaxBytes) {
    return contradiction("size of the arena");
  }
  for (const HostFunction& function : host.functions) {
    if (function.scratchBytes < 0 || function.scratchBytes > kMaxBytes) {
      return contradiction("memory of a host function");
    }
  }
  ISTHMUS_RETURN_IF_ERROR(checkCalls(host.calls));
  ISTHMUS_RETURN_IF_ERROR(StepChecks(program, host, libraryCalls).check(program.steps));
  if (provider) return provider->checkFeatures(host);
  if (host.functions.empty()) return {};
  return failedPrecondition("the program needs functions of the host, and there are none");
}

std::string sealProgram(const ProgramKind& kind, std::string_view device,
                        const StagedProgram& program, std::string_view key,
                        llvm::function_ref<void(ByteWriter&)> writeCode) {
  ByteWriter body;
  writeDeviceProgram(body, program);
  writeHostProgram(body, program.host);
  writeCode(body);
  return sealBytes(kind.magic, device, body.take(), key);
}

Status unsealProgram(const ProgramKind& kind, std::string_view device, std::string_view bytes,
                     std::string_view key, StagedProgram& program,
                     llvm::function_ref<void(ByteReader&)> readCode) {
  ISTHMUS_ASSIGN_OR_RETURN(std::string_view body,
                           unsealBytesFor(device, bytes, kind.magic, kind.backend, key));
  ByteReader in(body);
  readDeviceProgram(in, program);
  program.host = readHostProgram(in);
  readCode(in);
  if (in.ok() && in.rest().empty()) return {};
  return invalidArgument("the serialized executable is incomplete");
}

}  // namespace isthmus
