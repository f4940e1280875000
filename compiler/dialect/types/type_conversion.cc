// Conversions between MLIR's types and Isthmus' own.
#include "compiler/dialect/types/type_conversion.h"

#include <string>

#include "compiler/dialect/dialect.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus {
namespace {

std::string toText(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  type.print(stream);
  return text;
}

ElementType integerType(mlir::IntegerType type) {
  if (type.isUnsigned()) {
    switch (type.getWidth()) {
      case 1:
        return ElementType::kU1;
      case 2:
        return ElementType::kU2;
      case 4:
        return ElementType::kU4;
      case 8:
        return ElementType::kU8;
      case 16:
        return ElementType::kU16;
      case 32:
        return ElementType::kU32;
      case 64:
        return ElementType::kU64;
      default:
        return ElementType::kInvalid;
    }
  }
  switch (type.getWidth()) {
    case 1:
      return type.isSignless() ? ElementType::kPred : ElementType::kS1;
    case 2:
      return ElementType::kS2;
    case 4:
      return ElementType::kS4;
    case 8:
      return ElementType::kS8;
    case 16:
      return ElementType::kS16;
    case 32:
      return ElementType::kS32;
    case 64:
      return ElementType::kS64;
    default:
      return ElementType::kInvalid;
  }
}

}  // namespace

ElementType toElementType(mlir::Type type) {
  type = mlir::getElementTypeOrSelf(type);
  if (auto quantized = llvm::dyn_cast<mlir::quant::QuantizedType>(type)) {
    // Types without parameters (!quant.calibrated) are stored as nothing.
    auto storage = llvm::dyn_cast_if_present<mlir::IntegerType>(quantized.getStorageType());
    if (!storage) return ElementType::kInvalid;
    return integerType(mlir::IntegerType::get(
        type.getContext(), storage.getWidth(),
        quantized.isSigned() ? mlir::IntegerType::Signless : mlir::IntegerType::Unsigned));
  }
  if (auto integer = llvm::dyn_cast<mlir::IntegerType>(type)) return integerType(integer);
  if (auto complex = llvm::dyn_cast<mlir::ComplexType>(type)) {
    if (complex.getElementType().isF32()) return ElementType::kC64;
    if (complex.getElementType().isF64()) return ElementType::kC128;
    return ElementType::kInvalid;
  }
  if (llvm::isa<shlo::TokenType>(type)) return ElementType::kToken;
  if (type.isF16()) return ElementType::kF16;
  if (type.isF32()) return ElementType::kF32;
  if (type.isF64()) return ElementType::kF64;
  if (type.isBF16()) return ElementType::kBF16;
  if (llvm::isa<mlir::Float8E5M2Type>(type)) return ElementType::kF8E5M2;
  if (llvm::isa<mlir::Float8E4M3FNType>(type)) return ElementType::kF8E4M3FN;
  if (llvm::isa<mlir::Float8E4M3B11FNUZType>(type)) return ElementType::kF8E4M3B11FNUZ;
  if (llvm::isa<mlir::Float8E5M2FNUZType>(type)) return ElementType::kF8E5M2FNUZ;
  if (llvm::isa<mlir::Float8E4M3FNUZType>(type)) return ElementType::kF8E4M3FNUZ;
  if (llvm::isa<mlir::Float8E4M3Type>(type)) return ElementType::kF8E4M3;
  if (llvm::isa<mlir::Float8E3M4Type>(type)) return ElementType::kF8E3M4;
  if (llvm::isa<mlir::Float8E8M0FNUType>(type)) return ElementType::kF8E8M0FNU;
  if (llvm::isa<mlir::Float4E2M1FNType>(type)) return ElementType::kF4E2M1FN;
  if (llvm::isa<mlir::Float6E2M3FNType>(type)) return ElementType::kF6E2M3FN;
  if (llvm::isa<mlir::Float6E3M2FNType>(type)) return ElementType::kF6E3M2FN;
  return ElementType::kInvalid;
}

mlir::Type fromElementType(mlir::MLIRContext* context, ElementType type) {
  switch (type) {
    case ElementType::kPred:
    case ElementType::kS2:
    case ElementType::kS4:
    case ElementType::kS8:
    case ElementType::kS16:
    case ElementType::kS32:
    case ElementType::kS64:
      return mlir::IntegerType::get(context, elementBits(type));
    case ElementType::kU2:
    case ElementType::kU4:
    case ElementType::kU8:
    case ElementType::kU16:
    case ElementType::kU32:
    case ElementType::kU64:
      return mlir::IntegerType::get(context, elementBits(type), mlir::IntegerType::Unsigned);
    case ElementType::kF16:
      return mlir::Float16Type::get(context);
    case ElementType::kF32:
      return mlir::Float32Type::get(context);
    case ElementType::kF64:
      return mlir::Float64Type::get(context);
    case ElementType::kBF16:
      return mlir::BFloat16Type::get(context);
    case ElementType::kC64:
      return mlir::ComplexType::get(mlir::Float32Type::get(context));
    case ElementType::kC128:
      return mlir::ComplexType::get(mlir::Float64Type::get(context));
    case ElementType::kF8E5M2:
      return mlir::Float8E5M2Type::get(context);
    case ElementType::kF8E4M3FN:
      return mlir::Float8E4M3FNType::get(context);
    case ElementType::kF8E4M3B11FNUZ:
      return mlir::Float8E4M3B11FNUZType::get(context);
    case ElementType::kF8E5M2FNUZ:
      return mlir::Float8E5M2FNUZType::get(context);
    case ElementType::kF8E4M3FNUZ:
      return mlir::Float8E4M3FNUZType::get(context);
    case ElementType::kF8E4M3:
      return mlir::Float8E4M3Type::get(context);
    case ElementType::kF8E3M4:
      return mlir::Float8E3M4Type::get(context);
    case ElementType::kF8E8M0FNU:
      return mlir::Float8E8M0FNUType::get(context);
    case ElementType::kF4E2M1FN:
      return mlir::Float4E2M1FNType::get(context);
    case ElementType::kF6E2M3FN:
      return mlir::Float6E2M3FNType::get(context);
    case ElementType::kF6E3M2FN:
      return mlir::Float6E3M2FNType::get(context);
    case ElementType::kToken:
      return shlo::TokenType::get(context);
    case ElementType::kInvalid:
    case ElementType::kS1:
    case ElementType::kU1:
      return {};
  }
  return {};
}

StatusOr<ArrayType> toArrayType(mlir::Type type) {
  ArrayType array;
  array.elementType = toElementType(type);
  if (array.elementType == ElementType::kToken) return array;
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor) return invalidArgument("expected a tensor, got ", toText(type));
  if (array.elementType == ElementType::kInvalid) {
    return unimplemented("no device has the element type of ", toText(type));
  }
  if (!tensor.hasStaticShape()) {
    return unimplemented("expected a static shape, got ", toText(type));
  }
  array.dims.assign(tensor.getShape().begin(), tensor.getShape().end());
  if (!array.isValid()) return resourceExhausted("array is too large: ", toText(type));
  return array;
}

}  // namespace isthmus
