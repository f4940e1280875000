// Implements the type predicates of the op table.
#include "compiler/dialect/types/type_predicates.h"

#include "compiler/dialect/dialect.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"

namespace isthmus::shlo {
namespace {

bool isKnownWidth(unsigned width) { return llvm::is_contained({2u, 4u, 8u, 16u, 32u, 64u}, width); }

bool isKnownFloat(mlir::Type type) {
  return llvm::isa<mlir::Float4E2M1FNType, mlir::Float6E2M3FNType, mlir::Float6E3M2FNType,
                   mlir::Float8E3M4Type, mlir::Float8E4M3Type, mlir::Float8E4M3FNType,
                   mlir::Float8E4M3FNUZType, mlir::Float8E4M3B11FNUZType, mlir::Float8E5M2Type,
                   mlir::Float8E5M2FNUZType, mlir::Float8E8M0FNUType, mlir::Float16Type,
                   mlir::Float32Type, mlir::Float64Type, mlir::BFloat16Type>(type);
}

bool isStorable(mlir::quant::QuantizedType type, int64_t value) {
  return value >= type.getStorageTypeMin() && value <= type.getStorageTypeMax();
}

// Storage and expressed types that the specification allows.
bool isKnownQuantized(mlir::quant::QuantizedType type) {
  auto storage = llvm::dyn_cast_if_present<mlir::IntegerType>(type.getStorageType());
  // As with all integers here, a signed one is signless.
  if (!storage || storage.isSigned()) return false;
  if (!llvm::is_contained({2u, 4u, 8u, 16u, 32u}, storage.getWidth())) return false;
  if (!isKnownFloat(type.getExpressedType())) return false;
  return type.getStorageTypeMin() >= mlir::quant::QuantizedType::getDefaultMinimumForInteger(
                                         type.isSigned(), storage.getWidth()) &&
         type.getStorageTypeMax() <= mlir::quant::QuantizedType::getDefaultMaximumForInteger(
                                         type.isSigned(), storage.getWidth());
}

// The scales run along a dimension that the tensor has, and there are as many as it is long.
bool hasValidQuantizedDimension(mlir::RankedTensorType type) {
  auto perAxis = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(type.getElementType());
  if (!perAxis) return true;
  int64_t dim = perAxis.getQuantizedDimension();
  if (dim < 0 || dim >= type.getRank()) return false;
  return type.isDynamicDim(dim) ||
         type.getDimSize(dim) == static_cast<int64_t>(perAxis.getScales().size());
}

bool isBuffer(mlir::Type type) {
  auto buffer = llvm::dyn_cast<mlir::MemRefType>(type);
  return buffer && (elementKinds(buffer.getElementType()) & kAnyElement);
}

bool isToken(mlir::Type type) { return llvm::isa<TokenType>(type); }

bool isMixedTensor(mlir::Type type) { return isTensor(type, kAnyElement | kQuantizedPerAxis); }

}  // namespace

uint32_t elementKinds(mlir::Type type) {
  if (auto integer = llvm::dyn_cast<mlir::IntegerType>(type)) {
    unsigned width = integer.getWidth();
    if (integer.isSignless() && width == 1) return kBool;
    if (!isKnownWidth(width) || integer.isSigned()) return 0;
    if (integer.isUnsigned()) return kUnsigned | (width == 32 ? kUint32 : 0);
    return kSigned | (width == 32 ? kInt32 : 0);
  }
  if (isKnownFloat(type)) return kFloat | (type.isF32() || type.isF64() ? kFloat32Or64 : 0);
  if (auto complex = llvm::dyn_cast<mlir::ComplexType>(type)) {
    return complex.getElementType().isF32() || complex.getElementType().isF64() ? kComplex : 0;
  }
  if (auto quantized = llvm::dyn_cast<mlir::quant::UniformQuantizedType>(type)) {
    bool isValid = isKnownQuantized(quantized) && isStorable(quantized, quantized.getZeroPoint());
    return isValid ? kQuantized : 0;
  }
  if (auto quantized = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(type)) {
    bool isValid = isKnownQuantized(quantized) &&
                   llvm::all_of(quantized.getZeroPoints(),
                                [&](int64_t value) { return isStorable(quantized, value); });
    return isValid ? kQuantizedPerAxis : 0;
  }
  return type.isIndex() ? kIndex : 0;
}

bool isTensor(mlir::Type type, uint32_t kinds) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return tensor && (elementKinds(tensor.getElementType()) & kinds) &&
         hasValidQuantizedDimension(tensor);
}

bool isRankedTensor(mlir::Type type, uint32_t kinds, std::initializer_list<int64_t> ranks) {
  return isTensor(type, kinds) &&
         (ranks.size() == 0 ||
          llvm::is_contained(ranks, llvm::cast<mlir::RankedTensorType>(type).getRank()));
}

bool isStaticTensor(mlir::Type type, uint32_t kinds, std::initializer_list<int64_t> ranks) {
  return isRankedTensor(type, kinds, ranks) &&
         llvm::cast<mlir::RankedTensorType>(type).hasStaticShape();
}

bool isStaticOrBoundedTensor(mlir::Type type, uint32_t kinds) {
  if (!isTensor(type, kinds)) return false;
  auto tensor = llvm::cast<mlir::RankedTensorType>(type);
  if (tensor.hasStaticShape()) return true;
  auto extensions = llvm::dyn_cast_or_null<TypeExtensionsAttr>(tensor.getEncoding());
  return extensions && tensor.getNumDynamicDims() == 1 &&
         llvm::count_if(extensions.getBounds(),
                        [](int64_t bound) { return !mlir::ShapedType::isDynamic(bound); }) == 1;
}

bool isTuple(mlir::Type type) {
  auto tuple = llvm::dyn_cast<mlir::TupleType>(type);
  return tuple && llvm::all_of(tuple.getTypes(), isAnyValue);
}

bool isTensorOrToken(mlir::Type type) { return isMixedTensor(type) || isToken(type); }
bool isPerTensorOrToken(mlir::Type type) { return isTensor(type, kAnyElement) || isToken(type); }
bool isTensorTokenOrBuffer(mlir::Type type) { return isTensorOrToken(type) || isBuffer(type); }
bool isTensorTokenOrTuple(mlir::Type type) { return isTensorOrToken(type) || isTuple(type); }
bool isAnyValue(mlir::Type type) { return isTensorTokenOrBuffer(type) || isTuple(type); }

bool isStaticTensorOrToken(mlir::Type type) {
  return isToken(type) || isStaticTensor(type, kAnyElement | kQuantizedPerAxis, {});
}

bool isCustomCallValue(mlir::Type type) {
  if (auto unranked = llvm::dyn_cast<mlir::UnrankedTensorType>(type)) {
    return elementKinds(unranked.getElementType()) & (kAnyElement | kQuantizedPerAxis);
  }
  if (auto tuple = llvm::dyn_cast<mlir::TupleType>(type)) {
    return llvm::all_of(tuple.getTypes(), [](mlir::Type element) {
      return !llvm::isa<FutureType>(element) && isCustomCallValue(element);
    });
  }
  return isTensorTokenOrBuffer(type) || llvm::isa<FutureType>(type);
}

bool isIndexVector(mlir::Attribute attribute) {
  auto elements = llvm::dyn_cast<mlir::DenseIntElementsAttr>(attribute);
  return elements && elements.getElementType().isIndex() && elements.getType().getRank() == 1;
}

}  // namespace isthmus::shlo
