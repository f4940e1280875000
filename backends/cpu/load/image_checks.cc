#include "backends/cpu/load/image_checks.h"

#include <algorithm>

namespace isthmus::cpu {
namespace {

constexpr int64_t kMaxDevices = int64_t{1} << 20;

Status wrong(std::string_view field) {
  return invalidArgument("the serialized executable contradicts itself: ", field);
}

bool isFine(const ArrayType& type) {
  // Also what is no enumerator at all is called so.
  return type.isValid() && elementTypeName(type.elementType) != "invalid";
}

Status checkTypes(const std::vector<ArrayType>& types, std::string_view field) {
  for (const ArrayType& type : types) {
    if (!isFine(type)) return wrong(field);
  }
  return {};
}

Status checkAssignment(const DeviceAssignment& assignment) {
  if (assignment.numReplicas < 1 || assignment.numPartitions < 1) return wrong("device assignment");
  const int64_t count = int64_t{assignment.numReplicas} * assignment.numPartitions;
  // Empty ones are filled in by the client.
  if (assignment.deviceIds.empty()) return count <= kMaxDevices ? Status() : wrong("devices");
  return count == static_cast<int64_t>(assignment.deviceIds.size()) ? Status()
                                                                    : wrong("device assignment");
}

Status checkInfo(const ProgramInfo& info) {
  std::vector<bool> isAliased(info.outputs.size());
  for (const ParameterSpec& parameter : info.parameters) {
    if (!isFine(parameter.type)) return wrong("type of a parameter");
    if (parameter.donation < DonationKind::kNone || parameter.donation > DonationKind::kMustAlias) {
      return wrong("donation of a parameter");
    }
    if (parameter.donation != DonationKind::kMustAlias) continue;
    const int output = parameter.aliasedOutput;
    if (output < 0 || output >= std::ssize(info.outputs) || isAliased[output] ||
        info.outputs[output].type.sizeBytes() != parameter.type.sizeBytes()) {
      return wrong("output that a parameter becomes");
    }
    isAliased[output] = true;
  }
  for (const BufferSpec& output : info.outputs) {
    if (!isFine(output.type)) return wrong("type of an output");
  }
  const CompileOptions& options = info.options;
  if (options.numReplicas < 1 || options.numPartitions < 1 ||
      int64_t{options.numReplicas} * options.numPartitions > kMaxDevices) {
    return wrong("number of devices");
  }
  if (options.deviceAssignment) ISTHMUS_RETURN_IF_ERROR(checkAssignment(*options.deviceAssignment));
  return checkAssignment(info.deviceAssignment);
}

Status checkAttributes(const std::vector<ffi::Attribute>& attributes) {
  using Kind = ffi::Attribute::Kind;
  for (const ffi::Attribute& attribute : attributes) {
    if (attribute.kind < Kind::kScalar || attribute.kind > Kind::kDictionary) {
      return wrong("kind of an attribute");
    }
    if (attribute.kind == Kind::kScalar || attribute.kind == Kind::kArray) {
      const ArrayType scalar{attribute.type, {}};
      if (!isFine(scalar)) return wrong("type of an attribute");
      const size_t bytes = scalar.sizeBytes();
      const bool fits = attribute.kind == Kind::kScalar
                            ? attribute.bytes.size() == bytes
                            : bytes != 0 && attribute.bytes.size() % bytes == 0;
      if (!fits) return wrong("size of an attribute");
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
      return wrong("aliases of a custom call");
    }
  }
  return {};
}

}  // namespace

Status checkImage(const ProgramImage& image) {
  ISTHMUS_RETURN_IF_ERROR(checkInfo(image.info));
  for (const ffi::CallSpec& call : image.calls) ISTHMUS_RETURN_IF_ERROR(checkCall(call));
  if (image.arenaBytes < 0) return wrong("size of the arena");
  if (!image.steps.isValid()) return wrong("steps");
  return {};
}

}  // namespace isthmus::cpu
