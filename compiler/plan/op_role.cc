// Classifies operations for the memory plan by name, and computes sizes of types.
#include "compiler/plan/op_role.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus {
namespace {

std::string typeText(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

// 0 if the type has no size.
int64_t elementBytes(mlir::Type type) {
  if (auto complex = llvm::dyn_cast<mlir::ComplexType>(type)) {
    return 2 * elementBytes(complex.getElementType());
  }
  if (auto quantized = llvm::dyn_cast<mlir::quant::QuantizedType>(type)) {
    return elementBytes(quantized.getStorageType());
  }
  if (!type.isIntOrFloat()) return 0;
  return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

// Arrays of whole bytes keep their bytes under bitcast_convert; sub-byte types are stored one
// element to a byte, so theirs change.
bool isBytePreserving(mlir::Operation* op) {
  auto isWholeBytes = [](mlir::Type type) {
    auto shaped = llvm::dyn_cast<mlir::RankedTensorType>(type);
    if (!shaped) return false;
    mlir::Type element = shaped.getElementType();
    return llvm::isa<mlir::ComplexType>(element) ||
           (element.isIntOrFloat() && element.getIntOrFloatBitWidth() % 8 == 0);
  };
  return isWholeBytes(op->getOperand(0).getType()) && isWholeBytes(op->getResult(0).getType());
}

}  // namespace

OpRole roleOf(mlir::Operation* op) {
  if (op->hasTrait<mlir::OpTrait::IsTerminator>()) return OpRole::kTerminator;
  llvm::StringRef name = op->getName().getStringRef();
  if (name == "stablehlo.bitcast_convert") {
    return isBytePreserving(op) ? OpRole::kView : OpRole::kCompute;
  }
  if (name == "stablehlo.custom_call" && op->getNumResults() == 0) {
    // A call that only keeps its operands from being removed.
    auto target = op->getAttrOfType<mlir::StringAttr>("call_target_name");
    if (target && target.getValue() == "dce_sink") return OpRole::kNothing;
  }
  return llvm::StringSwitch<OpRole>(name)
      .Cases({"stablehlo.return", "isthmus.yield"}, OpRole::kTerminator)
      .Cases({"stablehlo.constant", "isthmus.constant"}, OpRole::kConstant)
      .Cases({"stablehlo.reshape", "stablehlo.optimization_barrier"}, OpRole::kView)
      .Case("stablehlo.while", OpRole::kWhile)
      .Cases({"stablehlo.case", "stablehlo.if"}, OpRole::kBranch)
      .Cases({"stablehlo.after_all", "stablehlo.create_token"}, OpRole::kNothing)
      .Default(OpRole::kCompute);
}

StatusOr<int64_t> byteSize(mlir::Type type) {
  auto shaped = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!shaped) {
    if (llvm::isa<mlir::ShapedType, mlir::TupleType>(type)) {
      return unimplemented("a value of type ", typeText(type), " has no place in memory yet");
    }
    return 0;
  }
  if (!shaped.hasStaticShape()) {
    return unimplemented("dynamic shape ", typeText(type), " has no size at compile time");
  }
  int64_t bytes = elementBytes(shaped.getElementType());
  if (bytes == 0) return unimplemented("element type of ", typeText(type), " has no size");
  for (int64_t dim : shaped.getShape()) {
    if (dim == 0) return 0;
  }
  for (int64_t dim : shaped.getShape()) {
    if (llvm::MulOverflow(bytes, dim, bytes) || bytes > (int64_t{1} << 62)) {
      return resourceExhausted("array of type ", typeText(type), " is larger than memory");
    }
  }
  return bytes;
}

}  // namespace isthmus
