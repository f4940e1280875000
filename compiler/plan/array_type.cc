// MLIR types to element and array types.
#include "compiler/plan/array_type.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus {
namespace {

ElementType integerType(mlir::IntegerType type) {
  bool isUnsigned = type.isUnsigned();
  switch (type.getWidth()) {
    case 1:
      return isUnsigned ? ElementType::kU1 : ElementType::kPred;
    case 2:
      return isUnsigned ? ElementType::kU2 : ElementType::kS2;
    case 4:
      return isUnsigned ? ElementType::kU4 : ElementType::kS4;
    case 8:
      return isUnsigned ? ElementType::kU8 : ElementType::kS8;
    case 16:
      return isUnsigned ? ElementType::kU16 : ElementType::kS16;
    case 32:
      return isUnsigned ? ElementType::kU32 : ElementType::kS32;
    case 64:
      return isUnsigned ? ElementType::kU64 : ElementType::kS64;
    default:
      return ElementType::kInvalid;
  }
}

}  // namespace

ElementType elementTypeOf(mlir::Type type) {
  auto is = [](ElementType result) { return [result](auto) { return result; }; };
  return llvm::TypeSwitch<mlir::Type, ElementType>(type)
      .Case<mlir::IntegerType>(integerType)
      .Case<mlir::Float16Type>(is(ElementType::kF16))
      .Case<mlir::BFloat16Type>(is(ElementType::kBF16))
      .Case<mlir::Float32Type>(is(ElementType::kF32))
      .Case<mlir::Float64Type>(is(ElementType::kF64))
      .Case<mlir::Float8E5M2Type>(is(ElementType::kF8E5M2))
      .Case<mlir::Float8E4M3FNType>(is(ElementType::kF8E4M3FN))
      .Case<mlir::Float8E4M3B11FNUZType>(is(ElementType::kF8E4M3B11FNUZ))
      .Case<mlir::Float8E5M2FNUZType>(is(ElementType::kF8E5M2FNUZ))
      .Case<mlir::Float8E4M3FNUZType>(is(ElementType::kF8E4M3FNUZ))
      .Case<mlir::Float8E4M3Type>(is(ElementType::kF8E4M3))
      .Case<mlir::Float8E3M4Type>(is(ElementType::kF8E3M4))
      .Case<mlir::Float8E8M0FNUType>(is(ElementType::kF8E8M0FNU))
      .Case<mlir::Float4E2M1FNType>(is(ElementType::kF4E2M1FN))
      .Case<mlir::Float6E2M3FNType>(is(ElementType::kF6E2M3FN))
      .Case<mlir::Float6E3M2FNType>(is(ElementType::kF6E3M2FN))
      .Case<mlir::ComplexType>([](mlir::ComplexType complex) {
        if (complex.getElementType().isF32()) return ElementType::kC64;
        return complex.getElementType().isF64() ? ElementType::kC128 : ElementType::kInvalid;
      })
      .Default(is(ElementType::kInvalid));
}

StatusOr<ArrayType> arrayTypeOf(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  auto shaped = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!shaped) {
    if (!llvm::isa<mlir::ShapedType, mlir::TupleType>(type)) {
      return ArrayType{ElementType::kToken, {}};
    }
    return unimplemented("type ", text, " is not an array");
  }
  if (!shaped.hasStaticShape()) return unimplemented("type ", text, " has a dynamic shape");
  ArrayType result;
  result.elementType = elementTypeOf(shaped.getElementType());
  if (result.elementType == ElementType::kInvalid) {
    return unimplemented("element type of ", text, " is not supported at run time");
  }
  result.dims.assign(shaped.getShape().begin(), shaped.getShape().end());
  if (!result.isValid()) return resourceExhausted("array of type ", text, " is too large");
  return result;
}

}  // namespace isthmus
