// How element types are kept in memory and in registers.
#include "compiler/target/element_kind.h"

#include "compiler/dialect/types/type_conversion.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus {

llvm::Type* ElementKind::computeType(llvm::LLVMContext& context) const {
  switch (cls) {
    case ElementClass::kBool:
      return llvm::Type::getInt1Ty(context);
    case ElementClass::kInteger:
      return llvm::Type::getIntNTy(context, bits < 8 ? 8 : bits);
    case ElementClass::kFloat:
    case ElementClass::kComplex:
      return bits == 64 ? llvm::Type::getDoubleTy(context) : llvm::Type::getFloatTy(context);
  }
  return nullptr;
}

llvm::Type* ElementKind::storageType(llvm::LLVMContext& context) const {
  if (isBool()) return llvm::Type::getInt8Ty(context);
  if (isF16) return llvm::Type::getHalfTy(context);
  if (isBf16) return llvm::Type::getInt16Ty(context);
  if (format) return llvm::Type::getInt8Ty(context);
  return computeType(context);
}

unsigned ElementKind::computeBits() const {
  if (isBool()) return 8;
  if (isInteger()) return bits < 8 ? 8 : bits;
  return bits == 64 ? 64 : 32;
}

static ElementKind floatKind(unsigned bits) {
  ElementKind kind;
  kind.cls = ElementClass::kFloat;
  kind.bits = bits;
  kind.storageBytes = bits / 8;
  return kind;
}

std::optional<ElementKind> kindOf(mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type ? elementKind(type.getElementType()) : std::nullopt;
}

std::optional<ElementKind> elementKind(mlir::Type type) {
  if (auto integer = mlir::dyn_cast<mlir::IntegerType>(type)) {
    ElementKind kind;
    kind.bits = integer.getWidth();
    if (kind.bits == 1 && !integer.isUnsigned()) {
      kind.cls = ElementClass::kBool;
      kind.storageBytes = 1;
      kind.isSigned = false;
      return kind;
    }
    if (kind.bits > 64) return std::nullopt;
    if (kind.bits != 1 && kind.bits != 2 && kind.bits != 4 && kind.bits != 8 && kind.bits != 16 &&
        kind.bits != 32 && kind.bits != 64) {
      return std::nullopt;
    }
    kind.isSigned = !integer.isUnsigned();
    kind.storageBytes = kind.bits < 8 ? 1 : kind.bits / 8;
    return kind;
  }
  if (auto complex = mlir::dyn_cast<mlir::ComplexType>(type)) {
    auto part = elementKind(complex.getElementType());
    if (!part || !part->isFloat() || part->small) return std::nullopt;
    part->cls = ElementClass::kComplex;
    part->storageBytes *= 2;
    return part;
  }
  if (type.isF32()) return floatKind(32);
  if (type.isF64()) return floatKind(64);
  if (type.isF16()) {
    ElementKind kind = floatKind(16);
    kind.small = kind.isF16 = true;
    return kind;
  }
  if (type.isBF16()) {
    ElementKind kind = floatKind(16);
    kind.small = kind.isBf16 = true;
    return kind;
  }
  if (!mlir::isa<mlir::FloatType>(type)) return std::nullopt;
  const ElementType narrow = toElementType(type);
  const FloatFormat* format = floatFormatOf(narrow);
  if (!format) return std::nullopt;
  ElementKind kind = floatKind(8);
  kind.bits = elementBits(narrow);
  kind.small = true;
  kind.format = *format;
  return kind;
}

}  // namespace isthmus
