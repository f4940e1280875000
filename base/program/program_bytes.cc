// Field by field.
#include "base/program/program_bytes.h"

namespace isthmus {
namespace {

void writeSpec(ByteWriter& out, const BufferSpec& spec) {
  out.write(spec.type.elementType);
  out.writeList(spec.type.dims, [&](int64_t dim) { out.write(dim); });
  out.writeList(spec.type.minorToMajor, [&](int64_t dim) { out.write(dim); });
  out.write(spec.memoryKind);
  out.write(spec.sharding);
}

void readSpec(ByteReader& in, BufferSpec& spec) {
  spec.type.elementType = in.read<ElementType>();
  spec.type.dims = in.readList([&] { return in.read<int64_t>(); });
  std::vector<int64_t> order = in.readList([&] { return in.read<int64_t>(); });
  if (!order.empty() && !spec.type.setMinorToMajor(std::move(order))) in.fail();
  spec.memoryKind = in.readString();
  spec.sharding = in.readString();
}

void writeAttribute(ByteWriter& out, const AttributeValue& value) {
  out.write(static_cast<int8_t>(value.index()));
  std::visit(
      [&](const auto& held) {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::vector<int64_t>>) {
          out.writeList(held, [&](int64_t number) { out.write(number); });
        } else {
          out.write(held);
        }
      },
      value);
}

AttributeValue readAttribute(ByteReader& in) {
  switch (in.read<int8_t>()) {
    case 0:
      return in.readString();
    case 1:
      return in.read<int64_t>();
    case 2:
      return in.readList([&] { return in.read<int64_t>(); });
    case 3:
      return in.read<float>();
    default:
      return in.read<int8_t>() != 0;
  }
}

void writeAssignment(ByteWriter& out, const DeviceAssignment& assignment) {
  out.write(assignment.numReplicas);
  out.write(assignment.numPartitions);
  out.writeList(assignment.deviceIds, [&](int id) { out.write(id); });
}

DeviceAssignment readAssignment(ByteReader& in) {
  DeviceAssignment assignment;
  assignment.numReplicas = in.read<int>();
  assignment.numPartitions = in.read<int>();
  assignment.deviceIds = in.readList([&] { return in.read<int>(); });
  return assignment;
}

void writeFlags(ByteWriter& out, const std::vector<bool>& flags) {
  out.write<uint64_t>(flags.size());
  for (bool flag : flags) out.write(flag);
}

std::vector<bool> readFlags(ByteReader& in) {
  std::vector<int8_t> flags = in.readList([&] { return in.read<int8_t>(); });
  return std::vector<bool>(flags.begin(), flags.end());
}

void writeOptions(ByteWriter& out, const CompileOptions& options) {
  out.write(options.numReplicas);
  out.write(options.numPartitions);
  out.write(options.useSpmdPartitioning);
  out.write(options.useShardyPartitioner);
  out.write(options.parameterIsTupled);
  writeFlags(out, options.allowSpmdShardingPropagationToParameters);
  writeFlags(out, options.allowSpmdShardingPropagationToOutput);
  out.write(options.deviceAssignment.has_value());
  if (options.deviceAssignment) writeAssignment(out, *options.deviceAssignment);
  out.write(options.compilePortableExecutable);
  out.write(options.deviceOrdinal);
  out.write<uint64_t>(options.overrides.size());
  for (const auto& [name, value] : options.overrides) {
    out.write(name);
    writeAttribute(out, value);
  }
  out.write(options.serialized);
}

CompileOptions readOptions(ByteReader& in) {
  CompileOptions options;
  options.numReplicas = in.read<int>();
  options.numPartitions = in.read<int>();
  options.useSpmdPartitioning = in.read<int8_t>() != 0;
  options.useShardyPartitioner = in.read<int8_t>() != 0;
  options.parameterIsTupled = in.read<int8_t>() != 0;
  options.allowSpmdShardingPropagationToParameters = readFlags(in);
  options.allowSpmdShardingPropagationToOutput = readFlags(in);
  if (in.read<int8_t>() != 0) options.deviceAssignment = readAssignment(in);
  options.compilePortableExecutable = in.read<int8_t>() != 0;
  options.deviceOrdinal = in.read<int>();
  uint64_t overrides = in.read<uint64_t>();
  for (uint64_t i = 0; i < overrides && in.ok(); ++i) {
    std::string name = in.readString();
    options.overrides[name] = readAttribute(in);
  }
  options.serialized = in.readString();
  return options;
}

void writeFfiAttributes(ByteWriter& out, const std::vector<ffi::Attribute>& attributes) {
  out.writeList(attributes, [&](const ffi::Attribute& attribute) {
    out.write(attribute.name);
    out.write(attribute.kind);
    out.write(attribute.type);
    out.write(attribute.bytes);
    writeFfiAttributes(out, attribute.entries);
  });
}

std::vector<ffi::Attribute> readFfiAttributes(ByteReader& in, int depth = 0) {
  constexpr int kMaxDepth = 256;
  if (depth > kMaxDepth) in.fail();
  return in.readList([&] {
    ffi::Attribute attribute;
    attribute.name = in.readString();
    attribute.kind = in.read<ffi::Attribute::Kind>();
    attribute.type = in.read<ElementType>();
    attribute.bytes = in.readString();
    attribute.entries = readFfiAttributes(in, depth + 1);
    return attribute;
  });
}

void writeTypes(ByteWriter& out, const std::vector<ArrayType>& types) {
  out.writeList(types, [&](const ArrayType& type) {
    out.write(type.elementType);
    out.writeList(type.dims, [&](int64_t dim) { out.write(dim); });
  });
}

std::vector<ArrayType> readTypes(ByteReader& in) {
  return in.readList([&] {
    ArrayType type;
    type.elementType = in.read<ElementType>();
    type.dims = in.readList([&] { return in.read<int64_t>(); });
    return type;
  });
}

}  // namespace

void writeInfo(ByteWriter& out, const ProgramInfo& info) {
  out.write(info.name);
  out.writeList(info.parameters, [&](const ParameterSpec& parameter) {
    writeSpec(out, parameter);
    out.write(parameter.donation);
    out.write(parameter.aliasedOutput);
  });
  out.writeList(info.outputs, [&](const BufferSpec& output) { writeSpec(out, output); });
  writeOptions(out, info.options);
  writeAssignment(out, info.deviceAssignment);
  out.write(info.fingerprint);
  out.write(info.exchanges);
  out.write<uint64_t>(info.costs.size());
  for (const auto& [name, cost] : info.costs) {
    out.write(name);
    out.write(cost);
  }
  const MemoryAnalysis& memory = info.memory;
  for (int64_t bytes : {memory.generatedCodeBytes, memory.argumentBytes, memory.outputBytes,
                        memory.aliasBytes, memory.tempBytes}) {
    out.write(bytes);
  }
  out.write(info.code);
  out.write(info.format);
}

ProgramInfo readInfo(ByteReader& in) {
  ProgramInfo info;
  info.name = in.readString();
  info.parameters = in.readList([&] {
    ParameterSpec parameter;
    readSpec(in, parameter);
    parameter.donation = in.read<DonationKind>();
    parameter.aliasedOutput = in.read<int>();
    return parameter;
  });
  info.outputs = in.readList([&] {
    BufferSpec output;
    readSpec(in, output);
    return output;
  });
  info.options = readOptions(in);
  info.deviceAssignment = readAssignment(in);
  info.fingerprint = in.readString();
  info.exchanges = in.readString();
  uint64_t costs = in.read<uint64_t>();
  for (uint64_t i = 0; i < costs && in.ok(); ++i) {
    std::string name = in.readString();
    info.costs[name] = in.read<double>();
  }
  MemoryAnalysis& memory = info.memory;
  for (int64_t* bytes : {&memory.generatedCodeBytes, &memory.argumentBytes, &memory.outputBytes,
                         &memory.aliasBytes, &memory.tempBytes}) {
    *bytes = in.read<int64_t>();
  }
  info.code = in.readString();
  info.format = in.readString();
  return info;
}

void writeCall(ByteWriter& out, const ffi::CallSpec& call) {
  out.write(call.target);
  out.write(call.version);
  writeTypes(out, call.operands);
  writeTypes(out, call.results);
  writeFfiAttributes(out, call.attributes);
  out.write(call.opaque);
  out.writeList(call.aliases, [&](const std::pair<int32_t, int32_t>& alias) {
    out.write(alias.first);
    out.write(alias.second);
  });
  out.write(call.description);
}

ffi::CallSpec readCall(ByteReader& in) {
  ffi::CallSpec call;
  call.target = in.readString();
  call.version = in.read<ffi::CallVersion>();
  call.operands = readTypes(in);
  call.results = readTypes(in);
  call.attributes = readFfiAttributes(in);
  call.opaque = in.readString();
  call.aliases = in.readList([&] {
    int32_t operand = in.read<int32_t>();
    return std::pair<int32_t, int32_t>(operand, in.read<int32_t>());
  });
  call.description = in.readString();
  return call;
}

void writeSteps(ByteWriter& out, const ProgramSteps& steps) {
  out.writeList(steps.texts, [&](const std::string& text) { out.write(text); });
  out.writeList(steps.steps, [&](const ProgramStep& step) {
    for (int32_t text : {step.name, step.op, step.category, step.source, step.stack, step.scope}) {
      out.write(text);
    }
    out.write(step.flops);
    out.write(step.bytes);
  });
}

ProgramSteps readSteps(ByteReader& in) {
  ProgramSteps steps;
  steps.texts = in.readList([&] { return in.readString(); });
  steps.steps = in.readList([&] {
    ProgramStep step;
    for (int32_t* text :
         {&step.name, &step.op, &step.category, &step.source, &step.stack, &step.scope}) {
      *text = in.read<int32_t>();
    }
    step.flops = in.read<double>();
    step.bytes = in.read<double>();
    return step;
  });
  return steps;
}

}  // namespace isthmus
