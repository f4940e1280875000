// Conversion between the messages of proto/compile_options.proto and the runtime's structures.
#include "pjrt/compile/compile_options.h"

#include <limits>
#include <vector>

#include "base/program/device_limit.h"
#include "isthmus/wire_format.h"
#include "pjrt/buffer/layout.h"
#include "pjrt/compile/compile_overrides.h"

namespace isthmus::pjrt {
namespace {

using wire::Field;
using wire::Reader;
using wire::WireType;

Status malformed(std::string_view message) { return invalidArgument("malformed ", message); }

// OptionOverrideProto: string 1, bool 2, int64 3, double 4.
bool parseOverride(std::string_view serialized, AttributeValue& value) {
  Reader reader(serialized);
  for (Field field; reader.next(field);) {
    if (field.number == 1 && field.type == WireType::kBytes) {
      value = std::string(field.bytes);
    } else if (field.number == 2 && field.type == WireType::kVarint) {
      value = field.asBool();
    } else if (field.number == 3 && field.type == WireType::kVarint) {
      value = field.asInt64();
    } else if (field.number == 4 && field.type == WireType::kFixed64) {
      value = static_cast<float>(field.asDouble());
    } else if (field.number <= 4) {
      return false;
    }
  }
  return reader.ok();
}

// An entry of map<string, OptionOverrideProto>.
bool parseOverrideEntry(std::string_view serialized, AttributeMap& overrides) {
  Reader reader(serialized);
  std::string key;
  AttributeValue value;
  for (Field field; reader.next(field);) {
    if (field.number > 2) continue;
    if (field.type != WireType::kBytes) return false;
    if (field.number == 1) key = std::string(field.bytes);
    if (field.number == 2 && !parseOverride(field.bytes, value)) return false;
  }
  if (!reader.ok()) return false;
  overrides[std::move(key)] = std::move(value);
  return true;
}

// The dimensions of a ShapeProto.
bool parseDims(std::string_view serialized, std::vector<int64_t>& dims) {
  Reader reader(serialized);
  for (Field field; reader.next(field);) {
    if (field.number != 3) continue;
    if (!wire::forEachVarint(field,
                             [&](uint64_t size) { dims.push_back(static_cast<int64_t>(size)); })) {
      return false;
    }
  }
  return reader.ok();
}

bool appendBools(const Field& field, std::vector<bool>& values) {
  return wire::forEachVarint(field, [&](uint64_t value) { values.push_back(value != 0); });
}

Status parseBuildOptions(std::string_view serialized, CompileOptions& options) {
  constexpr std::string_view kName = "ExecutableBuildOptionsProto";
  Reader reader(serialized);
  auto count = [](const Field& field) -> int {
    int64_t value = field.asInt64();
    return value < 0 || value > kMaxProgramDevices ? -1 : value == 0 ? 1 : static_cast<int>(value);
  };
  for (Field field; reader.next(field);) {
    bool ok = true;
    bool isVarint = field.type == WireType::kVarint;
    switch (field.number) {
      case 1:
        ok = isVarint;
        options.deviceOrdinal = field.asInt32();
        break;
      case 4:
        options.numReplicas = count(field);
        ok = isVarint && options.numReplicas > 0;
        break;
      case 5:
        options.numPartitions = count(field);
        ok = isVarint && options.numPartitions > 0;
        break;
      case 6:
        ok = isVarint;
        options.useSpmdPartitioning = field.asBool();
        break;
      case 9: {
        if (field.type != WireType::kBytes) return malformed(kName);
        ISTHMUS_ASSIGN_OR_RETURN(options.deviceAssignment, parseDeviceAssignment(field.bytes));
        break;
      }
      case 12:
        ok = appendBools(field, options.allowSpmdShardingPropagationToOutput);
        break;
      case 18:
        ok = appendBools(field, options.allowSpmdShardingPropagationToParameters);
        break;
      case 19:
        ok = isVarint;
        options.useShardyPartitioner = field.asBool();
        break;
      default:
        break;
    }
    if (!ok) return malformed(kName);
  }
  return reader.ok() ? Status() : malformed(kName);
}

// XLA's PrimitiveType of each element type, in the order of PJRT_Buffer_Type.
constexpr uint8_t kPrimitiveType[] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 16, 15, 18, 19,
    20, 23, 24, 25, 21, 22, 17, 26, 27, 28, 29, 33, 32, 30, 31, 36, 35,
};

}  // namespace

StatusOr<DeviceAssignment> parseDeviceAssignment(std::string_view serialized) {
  constexpr std::string_view kName = "DeviceAssignmentProto";
  int64_t numReplicas = 0;
  int64_t numPartitions = 0;
  std::vector<std::vector<int>> computations;
  Reader reader(serialized);
  for (Field field; reader.next(field);) {
    if (field.number == 1 && field.type == WireType::kVarint) {
      numReplicas = field.asInt64();
    } else if (field.number == 2 && field.type == WireType::kVarint) {
      numPartitions = field.asInt64();
    } else if (field.number == 3 && field.type == WireType::kBytes) {
      std::vector<int>& devices = computations.emplace_back();
      Reader inner(field.bytes);
      for (Field id; inner.next(id);) {
        if (id.number != 1) continue;
        bool inRange = true;
        bool ok = wire::forEachVarint(id, [&](uint64_t value) {
          inRange &= value <= static_cast<uint64_t>(std::numeric_limits<int>::max());
          devices.push_back(static_cast<int>(value));
        });
        if (!ok || !inRange) return malformed(kName);
      }
      if (!inner.ok()) return malformed(kName);
    } else if (field.number <= 3) {
      return malformed(kName);
    }
  }
  if (!reader.ok() || numReplicas < 0 || numReplicas > kMaxProgramDevices || numPartitions < 0 ||
      numPartitions > kMaxProgramDevices || numReplicas * numPartitions > kMaxProgramDevices) {
    return malformed(kName);
  }
  if (computations.size() != static_cast<size_t>(numPartitions)) {
    return invalidArgument("DeviceAssignmentProto: computation_count is ", numPartitions, ", but ",
                           computations.size(), " computations are listed");
  }
  DeviceAssignment assignment;
  assignment.numReplicas = static_cast<int>(numReplicas);
  assignment.numPartitions = static_cast<int>(numPartitions);
  assignment.deviceIds.resize(numReplicas * numPartitions);
  for (int64_t partition = 0; partition < numPartitions; ++partition) {
    if (computations[partition].size() != static_cast<size_t>(numReplicas)) {
      return invalidArgument("DeviceAssignmentProto: computation ", partition, " has ",
                             computations[partition].size(), " devices for ", numReplicas,
                             " replicas");
    }
    for (int64_t replica = 0; replica < numReplicas; ++replica) {
      assignment.deviceIds[replica * numPartitions + partition] = computations[partition][replica];
    }
  }
  return assignment;
}

std::string serializeDeviceAssignment(const DeviceAssignment& assignment) {
  if (assignment.deviceIds.empty()) return {};
  wire::Writer out;
  out.varint(1, assignment.numReplicas);
  out.varint(2, assignment.numPartitions);
  for (int partition = 0; partition < assignment.numPartitions; ++partition) {
    std::vector<int> ids;
    for (int replica = 0; replica < assignment.numReplicas; ++replica) {
      ids.push_back(assignment.deviceIds[replica * assignment.numPartitions + partition]);
    }
    wire::Writer computation;
    computation.packed(1, ids);
    out.bytes(3, computation.str());
  }
  return out.take();
}

StatusOr<CompileOptions> parseCompileOptions(std::string_view serialized) {
  constexpr std::string_view kName = "CompileOptionsProto";
  CompileOptions options;
  options.serialized = std::string(serialized);
  Reader reader(serialized);
  for (Field field; reader.next(field);) {
    bool isVarint = field.type == WireType::kVarint;
    bool isBytes = field.type == WireType::kBytes;
    switch (field.number) {
      case 1:
        if (!isBytes || !parseDims(field.bytes, options.argumentShapes.emplace_back())) {
          return malformed(kName);
        }
        break;
      case 2:
        if (!isVarint) return malformed(kName);
        options.parameterIsTupled = field.asBool();
        break;
      case 3:
        if (!isBytes) return malformed(kName);
        ISTHMUS_RETURN_IF_ERROR(parseBuildOptions(field.bytes, options));
        break;
      case 4:
        if (!isVarint) return malformed(kName);
        options.compilePortableExecutable = field.asBool();
        break;
      case 7:
        if (!isBytes || !parseOverrideEntry(field.bytes, options.overrides)) {
          return malformed(kName);
        }
        break;
      default:
        break;
    }
  }
  if (!reader.ok()) return malformed(kName);
  ISTHMUS_RETURN_IF_ERROR(checkOverrides(options.overrides));
  if (int64_t{options.numReplicas} * options.numPartitions > kMaxProgramDevices) {
    return invalidArgument("the compile options are for ", options.numReplicas, " replicas by ",
                           options.numPartitions, " partitions, more devices than ",
                           kMaxProgramDevices);
  }
  if (const auto& assignment = options.deviceAssignment;
      assignment && (assignment->numReplicas != options.numReplicas ||
                     assignment->numPartitions != options.numPartitions)) {
    return invalidArgument("the device assignment is for ", assignment->numReplicas,
                           " replicas and ", assignment->numPartitions,
                           " partitions, the compile options for ", options.numReplicas, " and ",
                           options.numPartitions);
  }
  return options;
}

std::string serializeShape(const ArrayType& type) {
  wire::Writer layout;
  layout.packed(1, minorToMajorOf(type));
  wire::Writer shape;
  shape.varint(2, kPrimitiveType[static_cast<int>(type.elementType)]);
  shape.packed(3, type.dims);
  shape.bytes(5, layout.str());
  shape.packed(6, std::vector<int>(type.dims.size(), 0));
  return shape.take();
}

}  // namespace isthmus::pjrt
