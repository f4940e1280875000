// Shardy's encoding of attributes, which programs for several devices mix into VHLO.
#include <optional>

#include "compiler/dialect/sdy.h"
#include "compiler/import/bytecode/attribute_decoder.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace isthmus::importer {
namespace {

enum AttributeCode : uint64_t {
  kManualAxes = 0,
  kMeshAxis = 1,
  kMesh = 2,
  kSubAxisInfo = 3,
  kAxisRef = 4,
  kDimensionSharding = 5,
  kTensorSharding = 6,
  kTensorShardingPerValue = 7,
  kDimMapping = 8,
  kTensorMapping = 9,
  kOpShardingRule = 10,
  kAxisRefList = 11,
  kListOfAxisRefLists = 12,
  kAllToAllParam = 13,
  kAllToAllParamList = 14,
  kTensorShardingWithUnreduced = 15,
  kTensorShardingPerValueWithUnreduced = 16,
  kTensorShardingWithReduction = 17,
};

bool readBool(DecodeStream& in, bool& value) {
  uint8_t byte;
  if (!in.cursor().byte(byte)) return false;
  value = byte != 0;
  return true;
}

mlir::Attribute decodeMeshAxis(DecodeStream& in) {
  llvm::StringRef name;
  int64_t size;
  if (!in.string(name) || !in.cursor().signedVarInt(size)) return {};
  return sdy::MeshAxisAttr::getChecked(reportAt(in), in.getContext(), name, size);
}

mlir::Attribute decodeMesh(DecodeStream& in) {
  llvm::SmallVector<sdy::MeshAxisAttr> axes;
  llvm::SmallVector<int64_t> deviceIds;
  if (!in.attributes(axes) || !in.signedVarInts(deviceIds)) return {};
  return sdy::MeshAttr::getChecked(reportAt(in), in.getContext(),
                                   llvm::ArrayRef<sdy::MeshAxisAttr>(axes),
                                   llvm::ArrayRef<int64_t>(deviceIds));
}

mlir::Attribute decodeAxisRef(DecodeStream& in) {
  llvm::StringRef name;
  sdy::SubAxisInfoAttr subAxis;
  if (!in.string(name) || !in.optionalAttribute(subAxis)) return {};
  return sdy::AxisRefAttr::get(in.getContext(), name, subAxis);
}

mlir::Attribute decodeDimensionSharding(DecodeStream& in) {
  llvm::SmallVector<sdy::AxisRefAttr> axes;
  bool isClosed, hasPriority;
  uint64_t priority;
  if (!in.attributes(axes) || !readBool(in, isClosed) ||
      !in.cursor().varIntWithFlag(priority, hasPriority)) {
    return {};
  }
  return sdy::DimensionShardingAttr::get(
      in.getContext(), axes, isClosed,
      hasPriority ? std::optional<int64_t>(priority) : std::nullopt);
}

mlir::Attribute decodeTensorSharding(DecodeStream& in, uint64_t code) {
  mlir::Attribute mesh;
  llvm::SmallVector<sdy::DimensionShardingAttr> dimensions;
  llvm::SmallVector<sdy::AxisRefAttr> replicated, unreduced;
  int64_t reduction = 0;
  if (!in.attribute(mesh) || !in.attributes(dimensions) || !in.attributes(replicated)) return {};
  if (code != kTensorSharding && !in.attributes(unreduced)) return {};
  if (code == kTensorShardingWithReduction && !in.cursor().signedVarInt(reduction)) return {};
  if (!mlir::isa<sdy::MeshAttr, mlir::FlatSymbolRefAttr>(mesh)) {
    return in.cursor().fail("has a sharding over something that is no mesh"), nullptr;
  }
  const auto operation = reduction < 0 || reduction > UINT32_MAX
                             ? std::nullopt
                             : sdy::symbolizeReductionOp(static_cast<uint32_t>(reduction));
  if (!operation) return in.cursor().fail("has a sharding with an unknown reduction"), nullptr;
  return sdy::TensorShardingAttr::get(in.getContext(), mesh, dimensions, replicated, unreduced,
                                      *operation);
}

mlir::Attribute decodeOpShardingRule(DecodeStream& in) {
  llvm::SmallVector<int64_t> factorSizes, reduction, replication, permutation, blocked;
  llvm::SmallVector<sdy::TensorMappingAttr> operands, results;
  bool isCustom;
  if (!in.signedVarInts(factorSizes) || !in.attributes(operands) || !in.attributes(results) ||
      !in.signedVarInts(reduction) || !in.signedVarInts(replication) ||
      !in.signedVarInts(permutation) || !in.signedVarInts(blocked) || !readBool(in, isCustom)) {
    return {};
  }
  return sdy::OpShardingRuleAttr::get(in.getContext(), factorSizes, operands, results, reduction,
                                      replication, permutation, blocked, isCustom);
}

mlir::Attribute decodeAllToAllParam(DecodeStream& in) {
  llvm::SmallVector<sdy::AxisRefAttr> axes;
  int64_t source, target;
  if (!in.attributes(axes) || !in.cursor().signedVarInt(source) ||
      !in.cursor().signedVarInt(target)) {
    return {};
  }
  return sdy::AllToAllParamAttr::get(in.getContext(), axes, source, target);
}

// An attribute that is a list of others.
template <typename List, typename Element>
mlir::Attribute decodeList(DecodeStream& in) {
  llvm::SmallVector<Element> elements;
  if (!in.attributes(elements)) return {};
  return List::get(in.getContext(), elements);
}

}  // namespace

mlir::Attribute decodeSdyAttribute(DecodeStream& in) {
  uint64_t code;
  if (!in.cursor().varInt(code)) return {};
  switch (code) {
    case kManualAxes:
      return decodeList<sdy::ManualAxesAttr, mlir::StringAttr>(in);
    case kMeshAxis:
      return decodeMeshAxis(in);
    case kMesh:
      return decodeMesh(in);
    case kSubAxisInfo: {
      int64_t preSize, size;
      if (!in.cursor().signedVarInt(preSize) || !in.cursor().signedVarInt(size)) return {};
      return sdy::SubAxisInfoAttr::get(in.getContext(), preSize, size);
    }
    case kAxisRef:
      return decodeAxisRef(in);
    case kDimensionSharding:
      return decodeDimensionSharding(in);
    case kTensorSharding:
    case kTensorShardingWithUnreduced:
    case kTensorShardingWithReduction:
      return decodeTensorSharding(in, code);
    case kTensorShardingPerValue:
    case kTensorShardingPerValueWithUnreduced:
      return decodeList<sdy::TensorShardingPerValueAttr, sdy::TensorShardingAttr>(in);
    case kDimMapping: {
      llvm::SmallVector<int64_t> factors;
      if (!in.signedVarInts(factors)) return {};
      return sdy::DimMappingAttr::get(in.getContext(), factors);
    }
    case kTensorMapping:
      return decodeList<sdy::TensorMappingAttr, sdy::DimMappingAttr>(in);
    case kOpShardingRule:
      return decodeOpShardingRule(in);
    case kAxisRefList:
      return decodeList<sdy::AxisRefListAttr, sdy::AxisRefAttr>(in);
    case kListOfAxisRefLists:
      return decodeList<sdy::ListOfAxisRefListsAttr, sdy::AxisRefListAttr>(in);
    case kAllToAllParam:
      return decodeAllToAllParam(in);
    case kAllToAllParamList:
      return decodeList<sdy::AllToAllParamListAttr, sdy::AllToAllParamAttr>(in);
    default:
      return failUnknownCode(in, "an sdy attribute", code), nullptr;
  }
}

}  // namespace isthmus::importer
