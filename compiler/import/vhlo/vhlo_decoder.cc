// VHLO's encoding of attributes and types, decoded straight into builtin and StableHLO ones.
//
// VHLO is the versioned form in which StableHLO programs travel. Its attributes and types keep
// their codes for ever; what changes between versions are the operations (vhlo_ops.h).
#include <optional>

#include "compiler/dialect/dialect.h"
#include "compiler/import/bytecode/attribute_decoder.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus::importer {
namespace {

enum AttributeCode : uint64_t {
  kArray = 1,
  kBoolean = 2,
  kComparisonDirection = 3,
  kComparisonType = 4,
  kCustomCallApiVersion = 5,
  kDictionary = 6,
  kFftType = 7,
  kFloat = 8,
  kInteger = 9,
  kOutputOperandAlias = 10,
  kPrecision = 11,
  kRngAlgorithm = 12,
  kRngDistribution = 13,
  kString = 14,
  kTensor = 15,
  kTranspose = 16,
  kType = 17,
  kTypeExtensions = 18,
  kResultAccuracyMode = 19,
  kResultAccuracy = 20,
  kSubAxisInfo = 21,
  kAxisRef = 22,
  kReplicaGroupMeshAxes = 23,
  kMeshAxis = 24,
  kMesh = 25,
};

enum TypeCode : uint64_t {
  kBooleanType = 0,
  kComplexType = 1,
  kBF16Type = 2,
  kF16Type = 3,
  kF32Type = 4,
  kF64Type = 5,
  kF8E4M3FNType = 6,
  kF8E5M2Type = 7,
  kFunctionType = 8,
  kIndexType = 9,
  kSI4Type = 10,
  kSI8Type = 11,
  kSI16Type = 12,
  kSI32Type = 13,
  kSI64Type = 14,
  kUI4Type = 15,
  kUI8Type = 16,
  kUI16Type = 17,
  kUI32Type = 18,
  kUI64Type = 19,
  kRankedTensorType = 20,
  kRankedTensorTypeWithEncoding = 21,
  kTokenType = 22,
  kTupleType = 23,
  kUniformQuantizedType = 24,
  kUnrankedTensorType = 25,
  kF8E4M3FNUZType = 27,
  kF8E5M2FNUZType = 28,
  kF8E4M3B11FNUZType = 29,
  kUniformQuantizedPerAxisType = 30,
  kSI2Type = 31,
  kUI2Type = 32,
  kNoneType = 33,
  kTF32Type = 34,
  kF8E4M3Type = 35,
  kF8E3M4Type = 36,
  kF4E2M1FNType = 37,
  kF6E2M3FNType = 38,
  kF6E3M2FNType = 39,
  kF8E8M0FNUType = 40,
  kRankedBufferType = 41,
  kFutureType = 42,
};

mlir::Attribute decodeAxisRef(DecodeStream& in) {
  mlir::StringAttr name;
  uint64_t hasSubAxis;
  shlo::SubAxisInfoAttr subAxis;
  if (!in.attribute(name) || !in.cursor().varInt(hasSubAxis)) return {};
  if (hasSubAxis && !in.attribute(subAxis)) return {};
  return shlo::AxisRefAttr::get(in.getContext(), name.getValue(), subAxis);
}

mlir::Attribute decodeReplicaGroupMeshAxes(DecodeStream& in) {
  mlir::Attribute mesh;
  mlir::ArrayAttr axes;
  if (!in.attribute(mesh) || !in.attribute(axes)) return {};
  // A mesh is given by value, or by name.
  if (auto name = mlir::dyn_cast<mlir::StringAttr>(mesh)) mesh = mlir::FlatSymbolRefAttr::get(name);
  return shlo::ReplicaGroupMeshAxesAttr::getChecked(reportAt(in), in.getContext(), mesh, axes);
}

mlir::Attribute decodeMesh(DecodeStream& in) {
  mlir::ArrayAttr axes;
  mlir::DenseIntElementsAttr deviceIds;
  if (!in.attribute(axes) || !in.optionalAttribute(deviceIds)) return {};
  llvm::SmallVector<shlo::MeshAxisAttr> meshAxes;
  for (mlir::Attribute axis : axes) {
    auto meshAxis = mlir::dyn_cast<shlo::MeshAxisAttr>(axis);
    if (!meshAxis) return in.cursor().fail("has a mesh with something that is no axis"), nullptr;
    meshAxes.push_back(meshAxis);
  }
  return shlo::MeshAttr::get(in.getContext(), meshAxes, deviceIds);
}

mlir::Type decodeBufferType(DecodeStream& in) {
  llvm::SmallVector<int64_t> shape;
  mlir::Type elementType;
  if (!in.signedVarInts(shape) || !in.type(elementType) ||
      !makeTensorType(in, shape, elementType, /*encoding=*/{})) {
    return {};
  }
  return mlir::MemRefType::getChecked(reportAt(in), shape, elementType,
                                      mlir::MemRefLayoutAttrInterface(), mlir::Attribute());
}

// Checks what MLIR's quantized types take for granted: a storage integer that the range fits.
bool isQuantizedStorage(DecodeStream& in, mlir::Type storage, mlir::Type expressed) {
  if (mlir::isa<mlir::IntegerType>(storage) && mlir::isa<mlir::FloatType>(expressed)) return true;
  return in.cursor().fail("has a quantized type of unsupported types");
}

mlir::Type decodeQuantizedType(DecodeStream& in) {
  uint64_t flags;
  mlir::Type storage, expressed;
  llvm::APFloat scale(0.0);
  int64_t zeroPoint, min, max;
  if (!in.cursor().varInt(flags) || !in.type(storage) || !in.type(expressed) ||
      !in.apFloat(llvm::APFloat::IEEEdouble(), scale) || !in.cursor().signedVarInt(zeroPoint) ||
      !in.cursor().signedVarInt(min) || !in.cursor().signedVarInt(max) ||
      !isQuantizedStorage(in, storage, expressed)) {
    return {};
  }
  return mlir::quant::UniformQuantizedType::getChecked(
      reportAt(in), flags, storage, expressed, scale.convertToDouble(), zeroPoint, min, max);
}

mlir::Type decodeQuantizedPerAxisType(DecodeStream& in) {
  uint64_t flags, dimension;
  mlir::Type storage, expressed;
  int64_t min, max;
  llvm::SmallVector<double> scales;
  llvm::SmallVector<int64_t> zeroPoints;
  auto readScale = [&](double& scale) {
    llvm::APFloat value(0.0);
    if (!in.apFloat(llvm::APFloat::IEEEdouble(), value)) return false;
    scale = value.convertToDouble();
    return true;
  };
  if (!in.cursor().varInt(flags) || !in.type(storage) || !in.type(expressed) ||
      !in.cursor().varInt(dimension) || !in.cursor().signedVarInt(min) ||
      !in.cursor().signedVarInt(max) || !in.list(scales, readScale) ||
      !in.signedVarInts(zeroPoints) || !isQuantizedStorage(in, storage, expressed)) {
    return {};
  }
  if (dimension > INT32_MAX) return in.cursor().fail("has a dimension out of range"), nullptr;
  return mlir::quant::UniformQuantizedPerAxisType::getChecked(
      reportAt(in), flags, storage, expressed, scales, zeroPoints, dimension, min, max);
}

// Signed integers are signless in StableHLO.
mlir::Type decodeSimpleType(mlir::MLIRContext* context, uint64_t code) {
  auto integer = [&](unsigned width) { return mlir::IntegerType::get(context, width); };
  auto unsignedInteger = [&](unsigned width) {
    return mlir::IntegerType::get(context, width, mlir::IntegerType::Unsigned);
  };
  switch (code) {
    case kBooleanType:
      return integer(1);
    case kSI2Type:
      return integer(2);
    case kSI4Type:
      return integer(4);
    case kSI8Type:
      return integer(8);
    case kSI16Type:
      return integer(16);
    case kSI32Type:
      return integer(32);
    case kSI64Type:
      return integer(64);
    case kUI2Type:
      return unsignedInteger(2);
    case kUI4Type:
      return unsignedInteger(4);
    case kUI8Type:
      return unsignedInteger(8);
    case kUI16Type:
      return unsignedInteger(16);
    case kUI32Type:
      return unsignedInteger(32);
    case kUI64Type:
      return unsignedInteger(64);
    case kIndexType:
      return mlir::IndexType::get(context);
    case kNoneType:
      return mlir::NoneType::get(context);
    case kTokenType:
      return shlo::TokenType::get(context);
    case kBF16Type:
      return mlir::BFloat16Type::get(context);
    case kF16Type:
      return mlir::Float16Type::get(context);
    case kF32Type:
      return mlir::Float32Type::get(context);
    case kF64Type:
      return mlir::Float64Type::get(context);
    case kTF32Type:
      return mlir::FloatTF32Type::get(context);
    case kF4E2M1FNType:
      return mlir::Float4E2M1FNType::get(context);
    case kF6E2M3FNType:
      return mlir::Float6E2M3FNType::get(context);
    case kF6E3M2FNType:
      return mlir::Float6E3M2FNType::get(context);
    case kF8E3M4Type:
      return mlir::Float8E3M4Type::get(context);
    case kF8E4M3Type:
      return mlir::Float8E4M3Type::get(context);
    case kF8E4M3FNType:
      return mlir::Float8E4M3FNType::get(context);
    case kF8E4M3FNUZType:
      return mlir::Float8E4M3FNUZType::get(context);
    case kF8E4M3B11FNUZType:
      return mlir::Float8E4M3B11FNUZType::get(context);
    case kF8E5M2Type:
      return mlir::Float8E5M2Type::get(context);
    case kF8E5M2FNUZType:
      return mlir::Float8E5M2FNUZType::get(context);
    case kF8E8M0FNUType:
      return mlir::Float8E8M0FNUType::get(context);
    default:
      return {};
  }
}

}  // namespace

mlir::Attribute decodeVhloAttribute(DecodeStream& in) {
  mlir::MLIRContext* context = in.getContext();
  uint64_t code;
  if (!in.cursor().varInt(code)) return {};
  switch (code) {
    case kArray:
      return decodeArray(in);
    case kBoolean: {
      uint64_t value;
      if (!in.cursor().varInt(value)) return {};
      if (value > 1) return in.cursor().fail("has a boolean that is neither 0 nor 1"), nullptr;
      return mlir::BoolAttr::get(context, value == 1);
    }
    case kComparisonDirection:
      return decodeComparisonDirection(in);
    case kComparisonType:
      return decodeComparisonType(in);
    case kCustomCallApiVersion:
      return decodeEnum<shlo::CustomCallApiVersionAttr>(
          in, [](uint32_t value) { return shlo::symbolizeCustomCallApiVersion(value); });
    case kDictionary:
      return decodeDictionary(in);
    case kFftType:
      return decodeFftType(in);
    case kFloat:
      return decodeFloat(in);
    case kInteger:
      return decodeInteger(in);
    case kOutputOperandAlias:
      return decodeOutputOperandAlias(in);
    case kPrecision:
      return decodePrecision(in);
    case kRngAlgorithm:
      return decodeRngAlgorithm(in);
    case kRngDistribution:
      return decodeRngDistribution(in);
    case kString: {
      llvm::StringRef value;
      if (!in.string(value)) return {};
      return mlir::StringAttr::get(context, value);
    }
    case kTensor:
      return decodeDenseElements(in);
    case kTranspose:
      return decodeTranspose(in);
    case kType:
      return decodeTypeAttribute(in);
    case kTypeExtensions:
      return decodeTypeExtensions(in);
    case kResultAccuracyMode:
      return decodeResultAccuracyMode(in);
    case kResultAccuracy:
      return decodeResultAccuracy(in);
    case kSubAxisInfo: {
      int64_t preSize, size;
      if (!in.cursor().signedVarInt(preSize) || !in.cursor().signedVarInt(size)) return {};
      return shlo::SubAxisInfoAttr::get(context, preSize, size);
    }
    case kAxisRef:
      return decodeAxisRef(in);
    case kReplicaGroupMeshAxes:
      return decodeReplicaGroupMeshAxes(in);
    case kMeshAxis: {
      mlir::StringAttr name;
      int64_t size;
      if (!in.attribute(name) || !in.cursor().signedVarInt(size)) return {};
      return shlo::MeshAxisAttr::get(context, name.getValue(), size);
    }
    case kMesh:
      return decodeMesh(in);
    default:
      return failUnknownCode(in, "a vhlo attribute", code), nullptr;
  }
}

mlir::Type decodeVhloType(DecodeStream& in) {
  mlir::MLIRContext* context = in.getContext();
  uint64_t code;
  if (!in.cursor().varInt(code)) return {};
  if (mlir::Type type = decodeSimpleType(context, code)) return type;
  switch (code) {
    case kComplexType:
      return decodeComplexType(in);
    case kFunctionType:
      return decodeFunctionType(in);
    case kRankedTensorType:
    case kRankedTensorTypeWithEncoding:
      return decodeTensorType(in, code == kRankedTensorTypeWithEncoding);
    case kTupleType:
      return decodeTupleType(in);
    case kUniformQuantizedType:
      return decodeQuantizedType(in);
    case kUniformQuantizedPerAxisType:
      return decodeQuantizedPerAxisType(in);
    case kUnrankedTensorType:
      return decodeUnrankedTensorType(in);
    case kRankedBufferType:
      return decodeBufferType(in);
    case kFutureType: {
      llvm::SmallVector<mlir::Type> types;
      if (!in.types(types)) return {};
      return shlo::FutureType::get(context, types);
    }
    default:
      return failUnknownCode(in, "a vhlo type", code), nullptr;
  }
}

}  // namespace isthmus::importer
