#include "backends/shared/serialization/image_checks.h"

#include "base/program/device_limit.h"

#include <algorithm>

namespace isthmus {
namespace {

bool isFine(const ArrayType& type) {
  // Also what is no enumerator at all is called so.
  return type.isValid() && elementTypeName(type.elementType) != "invalid";
}

Status checkTypes(const std::vector<ArrayType>& types, std::string_view field) {
  for (const ArrayType& type : types) {
    if (!isFine(type)) return contradiction(field);
  }
  return {};
}

Status checkAssignment(const DeviceAssignment& assignment) {
  if (assignment.numReplicas < 1 || assignment.numPartitions < 1)
    return contradiction("device assignment");
  const int64_t count = int64_t{assignment.numReplicas} * assignment.numPartitions;
  // Empty ones are filled in by the client.
  if (assignment.deviceIds.empty())
    return count <= kMaxProgramDevices ? Status() : contradiction("devices");
  return count == static_cast<int64_t>(assignment.deviceIds.size())
             ? Status()
             : contradiction("device assignment");
}

Status checkAttributes(const std::vector<ffi::Attribute>& attributes) {
  using Kind = ffi::Attribute::Kind;
  for (const ffi::Attribute& attribute : attributes) {
    if (attribute.kind < Kind::kScalar || attribute.kind > Kind::kDictionary) {
      return contradiction("kind of an attribute");
    }
    if (attribute.kind == Kind::kScalar || attribute.kind == Kind::kArray) {
      const ArrayType scalar{attribute.type, {}};
      if (!isFine(scalar)) return contradiction("type of an attribute");
      const size_t bytes = scalar.sizeBytes();
      const bool fits = attribute.kind == Kind::kScalar
                            ? attribute.bytes.size() == bytes
                            : bytes != 0 && attribute.bytes.size() % bytes == 0;
      if (!fits) return contradiction("size of an attribute");
    }
    ISTHMUS_RETURN_IF_ERROR(checkAttributes(attribute.entries));
  }
  return {};
}

Status checkCall(const ffi::CallSpec& call) {
  ISTHMUS_RETURN_IF_ERROR(checkTypes(call.operands, "operand of a custom call"));
  ISTHMUS_RETURN_IF_ERROR(checkTypes(call.results, "result of a custom call"));
  ISTHMUS_RETURN_IF_ERROR(checkAttributes(call.attributes));
  for (auto [operand, result] : call.aliases) {
    if (operand < 0 || operand >= std::ssize(call.operands) || result < 0 ||
        result >= std::ssize(call.results) ||
        call.operands[operand].sizeBytes() != call.results[result].sizeBytes()) {
      return contradiction("aliases of a custom call");
    }
  }
  return {};
}

}  // namespace

Status contradiction(std::string_view field) {
  return invalidArgument("the serialized executable contradicts itself: ", field);
}

Status checkInfo(const ProgramInfo& info) {
  std::vector<bool> isAliased(info.outputs.size());
  for (const ParameterSpec& parameter : info.parameters) {
    if (!isFine(parameter.type)) return contradiction("type of a parameter");
    if (parameter.donation < DonationKind::kNone || parameter.donation > DonationKind::kMustAlias) {
      return contradiction("donation of a parameter");
    }
    if (parameter.donation != DonationKind::kMustAlias) continue;
    const int output = parameter.aliasedOutput;
    if (output < 0 || output >= std::ssize(info.outputs) || isAliased[output] ||
        info.outputs[output].type.sizeBytes() != parameter.type.sizeBytes()) {
      return contradiction("output that a parameter becomes");
    }
    isAliased[output] = true;
  }
  for (const BufferSpec& output : info.outputs) {
    if (!isFine(output.type)) return contradiction("type of an output");
  }
  const CompileOptions& options = info.options;
  if (options.numReplicas < 1 || options.numPartitions < 1 ||
      int64_t{options.numReplicas} * options.numPartitions > kMaxProgramDevices) {
    return contradiction("number of devices");
  }
  if (options.deviceAssignment) ISTHMUS_RETURN_IF_ERROR(checkAssignment(*options.deviceAssignment));
  return checkAssignment(info.deviceAssignment);
}

Status checkCalls(const std::vector<ffi::CallSpec>& calls) {
  for (const ffi::CallSpec& call : calls) ISTHMUS_RETURN_IF_ERROR(checkCall(call));
  return {};
}

}  // namespace isthmus
