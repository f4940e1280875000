// How element types are kept in memory and in registers.
#include "compiler/target/element_kind.h"

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

static ElementKind narrowFloat(FloatFormat format) {
  ElementKind kind = floatKind(8);
  kind.bits = format.storageBits;
  kind.storageBytes = 1;
  kind.small = true;
  kind.format = format;
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
  // {exponent bits, mantissa bits, bias, infinity, negative zero, NaN, storage bits}
  if (mlir::isa<mlir::Float8E5M2Type>(type)) return narrowFloat({5, 2, 15, true, true, true, 8});
  if (mlir::isa<mlir::Float8E4M3Type>(type)) return narrowFloat({4, 3, 7, true, true, true, 8});
  if (mlir::isa<mlir::Float8E3M4Type>(type)) return narrowFloat({3, 4, 3, true, true, true, 8});
  if (mlir::isa<mlir::Float8E4M3FNType>(type)) return narrowFloat({4, 3, 7, false, true, true, 8});
  if (mlir::isa<mlir::Float8E4M3FNUZType>(type)) {
    return narrowFloat({4, 3, 8, false, false, true, 8});
  }
  if (mlir::isa<mlir::Float8E5M2FNUZType>(type)) {
    return narrowFloat({5, 2, 16, false, false, true, 8});
  }
  if (mlir::isa<mlir::Float8E4M3B11FNUZType>(type)) {
    return narrowFloat({4, 3, 11, false, false, true, 8});
  }
  if (mlir::isa<mlir::Float8E8M0FNUType>(type)) {
    return narrowFloat({8, 0, 127, false, false, true, 8});
  }
  if (mlir::isa<mlir::Float4E2M1FNType>(type)) return narrowFloat({2, 1, 1, false, true, false, 4});
  if (mlir::isa<mlir::Float6E2M3FNType>(type)) return narrowFloat({2, 3, 1, false, true, false, 6});
  if (mlir::isa<mlir::Float6E3M2FNType>(type)) return narrowFloat({3, 2, 3, false, true, false, 6});
  return std::nullopt;
}

}  // namespace isthmus
