// Ways to build operations from less than all of their attributes, and folding of constants.
#include "mlir/IR/Builders.h"
#include "compiler/dialect/dialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus::shlo {

using mlir::OpBuilder;
using mlir::OperationState;

// ---- constant -----------------------------------------------------------------------------------

void ConstantOp::build(OpBuilder& builder, OperationState& state, mlir::Attribute value) {
  if (auto elements = llvm::dyn_cast<mlir::ElementsAttr>(value)) {
    return build(builder, state, elements.getType(), elements);
  }
  // A number alone makes a scalar tensor.
  auto typed = llvm::cast<mlir::TypedAttr>(value);
  auto type = mlir::RankedTensorType::get({}, typed.getType());
  build(builder, state, type, mlir::DenseElementsAttr::get(type, value));
}

mlir::LogicalResult ConstantOp::inferReturnTypes(mlir::MLIRContext*, std::optional<mlir::Location>,
                                                 mlir::ValueRange operands,
                                                 mlir::DictionaryAttr attributes,
                                                 mlir::OpaqueProperties properties,
                                                 mlir::RegionRange regions,
                                                 llvm::SmallVectorImpl<mlir::Type>& types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  types.push_back(adaptor.getValue().getType());
  return mlir::success();
}

bool ConstantOp::isCompatibleReturnTypes(mlir::TypeRange inferred, mlir::TypeRange stated) {
  if (areCompatible(inferred, stated)) return true;
  auto from = llvm::dyn_cast<mlir::RankedTensorType>(inferred.front());
  auto to = llvm::dyn_cast<mlir::RankedTensorType>(stated.front());
  if (!from || !to || from.getShape() != to.getShape()) return false;
  auto quantized = llvm::dyn_cast<mlir::quant::QuantizedType>(to.getElementType());
  return quantized && quantized.getStorageType() == from.getElementType();
}

void ConstantOp::getAsmResultNames(llvm::function_ref<void(mlir::Value, llvm::StringRef)> setName) {
  setName(getResult(), llvm::isa<mlir::IntegerType>(getType().getElementType()) ? "c" : "cst");
}

mlir::OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

mlir::Operation* ShloDialect::materializeConstant(OpBuilder& builder, mlir::Attribute value,
                                                  mlir::Type type, mlir::Location loc) {
  auto elements = llvm::dyn_cast<mlir::ElementsAttr>(value);
  if (!elements || elements.getType() != type) return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}

// ---- others -------------------------------------------------------------------------------------

void ConvertOp::build(OpBuilder& builder, OperationState& state, mlir::Value operand,
                      mlir::Type resultElementType) {
  auto type = llvm::cast<mlir::RankedTensorType>(operand.getType());
  build(builder, state, type.clone(resultElementType), operand);
}

void CompareOp::build(OpBuilder& builder, OperationState& state, mlir::Value lhs, mlir::Value rhs,
                      ComparisonDirection direction, ComparisonType type) {
  auto operandType = llvm::cast<mlir::RankedTensorType>(lhs.getType());
  build(builder, state, operandType.clone(builder.getI1Type()), lhs, rhs,
        ComparisonDirectionAttr::get(builder.getContext(), direction),
        type == ComparisonType::NOTYPE ? ComparisonTypeAttr()
                                       : ComparisonTypeAttr::get(builder.getContext(), type));
}

void SortOp::build(OpBuilder& builder, OperationState& state, mlir::ValueRange inputs,
                   int64_t dimension, bool isStable) {
  build(builder, state, inputs.getTypes(), inputs, builder.getI64IntegerAttr(dimension),
        builder.getBoolAttr(isStable));
}

void ReduceOp::build(OpBuilder& builder, OperationState& state, mlir::ValueRange inputs,
                     mlir::ValueRange initValues, mlir::DenseI64ArrayAttr dimensions,
                     mlir::TypeRange elementTypes) {
  llvm::SmallVector<mlir::Type> types;
  for (auto [input, elementType] : llvm::zip(inputs, elementTypes)) {
    auto inputType = llvm::cast<mlir::RankedTensorType>(input.getType());
    llvm::SmallVector<int64_t> sizes;
    for (int64_t dim = 0; dim < inputType.getRank(); ++dim) {
      if (!llvm::is_contained(dimensions.asArrayRef(), dim)) {
        sizes.push_back(inputType.getDimSize(dim));
      }
    }
    types.push_back(mlir::RankedTensorType::get(sizes, elementType));
  }
  build(builder, state, types, inputs, initValues, dimensions);
}

void CustomCallOp::getEffects(
    llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>>&
        effects) {
  if (!getHasSideEffect()) return;
  effects.emplace_back(mlir::MemoryEffects::Allocate::get());
  effects.emplace_back(mlir::MemoryEffects::Free::get());
  effects.emplace_back(mlir::MemoryEffects::Write::get());
  effects.emplace_back(mlir::MemoryEffects::Read::get());
}

mlir::LogicalResult CompositeOp::verify() {
  // letter (letter | digit | _)* (. (letter | digit | _ | $)+)+
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  llvm::SmallVector<llvm::StringRef> parts;
  getName().split(parts, '.');
  bool isValid = parts.size() > 1 && !parts.front().empty() &&
                 llvm::isAlpha(parts.front().front()) && llvm::all_of(parts.front(), isWord);
  for (llvm::StringRef part : llvm::drop_begin(parts)) {
    isValid &= !part.empty() && llvm::all_of(part, [&](char c) { return isWord(c) || c == '$'; });
  }
  if (isValid) return mlir::success();
  return emitOpError("composite_c1: the name is '")
         << getName() << "', expected a namespace, a dot and a name";
}

mlir::LogicalResult CompositeOp::verifySymbolUses(mlir::SymbolTableCollection& symbols) {
  auto callee = symbols.lookupNearestSymbolFrom<mlir::func::FuncOp>(*this, getDecompositionAttr());
  if (!callee) {
    return emitOpError("composite_c2: the decomposition is ")
           << getDecompositionAttr() << ", expected a function of the module";
  }
  mlir::FunctionType type = callee.getFunctionType();
  if (!areCompatible(type.getInputs(), getOperandTypes())) {
    return emitOpError("composite_c3: the inputs are (")
           << getOperandTypes() << "), expected (" << type.getInputs() << ") as "
           << getDecompositionAttr() << " takes";
  }
  if (!areCompatible(type.getResults(), getResultTypes())) {
    return emitOpError("composite_c4: the results are (")
           << getResultTypes() << "), expected (" << type.getResults() << ") as "
           << getDecompositionAttr() << " gives";
  }
  return mlir::success();
}

}  // namespace isthmus::shlo
