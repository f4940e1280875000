// Rules and types of the operations that combine elements by a region.
#include "compiler/dialect/rules/rules.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus::shlo {

using mlir::failed;
using mlir::failure;
using mlir::LogicalResult;
using mlir::success;

namespace {

llvm::SmallVector<mlir::Type> elementTypes(mlir::ValueRange values) {
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value value : values) types.push_back(mlir::getElementTypeOrSelf(value.getType()));
  return types;
}

// Results of reduce and reduce_window compute in the region's types. A builder may ask before there
// is a region; then they are the inputs'.
llvm::SmallVector<mlir::Type> resultElements(mlir::Region& region, mlir::ValueRange inputs) {
  return region.empty() ? elementTypes(inputs) : reducerElementTypes(region);
}

LogicalResult verifyInitValues(const Rules& rules, llvm::StringRef rule, mlir::ValueRange values) {
  for (mlir::Value value : values) {
    if (tensorType(value).getRank() != 0) {
      return rules.violates(rule, "an initial value is ", value.getType(), ", expected a scalar");
    }
  }
  return success();
}

}  // namespace

// ---- map ----------------------------------------------------------------------------------------

ISTHMUS_INFER(MapOp, "map") {
  if (op.getInputs().empty())
    return rules.violates("c2", "there are no inputs, expected one or more");
  mlir::Region& region = op.getComputation();
  ReturnOp end = returnOf(region);
  if (!end) return rules.violates("c4", "the region has another end, expected stablehlo.return");
  mlir::Block& block = region.front();
  if (failed(rules.size("c4", "the region's argument list", block.getNumArguments(),
                        op.getInputs().size()))) {
    return failure();
  }
  for (auto [argument, input] : llvm::zip(block.getArguments(), op.getInputs())) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(argument.getType());
    if (!type || type.getRank() != 0 ||
        type.getElementType() != tensorType(input).getElementType()) {
      return rules.violates("c4", "the region takes ", argument.getType(), " for ", input.getType(),
                            ", expected a scalar of its element type");
    }
  }
  auto result = end.getNumOperands() == 1
                    ? llvm::dyn_cast<mlir::RankedTensorType>(end.getOperand(0).getType())
                    : mlir::RankedTensorType();
  if (!result || result.getRank() != 0) {
    return rules.violates("c4", "the region gives (", end.getOperandTypes(),
                          "), expected a scalar");
  }
  Dims dimensions = op.getDimensions();
  int64_t rank = tensorType(op.getInputs().front()).getRank();
  if (!llvm::equal(dimensions, llvm::seq<int64_t>(0, rank))) {
    return rules.violates("c3", "dimensions are ", text(dimensions), ", expected all ", rank,
                          " in order");
  }
  types.push_back(tensorType(op.getInputs().front()).clone(result.getElementType()));
  return success();
}

// ---- reduce -------------------------------------------------------------------------------------

ISTHMUS_INFER(ReduceOp, "reduce") {
  if (op.getInputs().empty())
    return rules.violates("c3", "there are no inputs, expected one or more");
  if (failed(rules.sameShapes("c1", op.getInputs().getTypes()))) return failure();
  mlir::RankedTensorType first = tensorType(op.getInputs().front());
  Dims dimensions = op.getDimensions();
  if (failed(rules.allInRange("c4", "dimensions", dimensions, 0, first.getRank())) ||
      failed(rules.unique("c5", "dimensions", dimensions)) ||
      failed(verifyInitValues(rules, "i2", op.getInitValues()))) {
    return failure();
  }
  if (!op.getBody().empty() &&
      failed(verifyReducer(rules, "c6", op.getBody(), elementTypes(op.getInputs()),
                           elementTypes(op.getInitValues())))) {
    return failure();
  }
  for (auto [input, element] :
       llvm::zip(op.getInputs(), resultElements(op.getBody(), op.getInputs()))) {
    mlir::RankedTensorType type = tensorType(input);
    llvm::SmallVector<int64_t> sizes, bounds;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      if (llvm::is_contained(dimensions, dim)) continue;
      sizes.push_back(type.getDimSize(dim));
      if (!boundsOf(type).empty()) bounds.push_back(boundsOf(type)[dim]);
    }
    types.push_back(boundedType(sizes, element, bounds));
  }
  return success();
}

// All is checked by inference; what it computes with must be there when it is verified.
LogicalResult ReduceOp::verify() {
  return returnOf(getBody())
             ? LogicalResult(success())
             : Rules(*this).violates("c6", "the region has another end, expected stablehlo.return");
}

// ---- Windows ------------------------------------------------------------------------------------

ISTHMUS_INFER(ReduceWindowOp, "reduce_window") {
  constexpr WindowRules kLabels = {"c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12", "c15"};
  if (op.getInputs().empty())
    return rules.violates("c1", "there are no inputs, expected one or more");
  if (failed(rules.sameShapes("c2", op.getInputs().getTypes()))) return failure();
  mlir::RankedTensorType first = tensorType(op.getInputs().front());
  Dims sizes = op.getWindowDimensions();
  if (failed(rules.size(kLabels.size, "window_dimensions", sizes.size(), first.getRank())) ||
      failed(verifyInitValues(rules, "i2", op.getInitValues()))) {
    return failure();
  }
  if (llvm::any_of(sizes, isDynamic)) {
    return rules.violates("c5", "window dimensions are ", text(sizes),
                          ", expected positive numbers");
  }
  auto windows =
      makeWindows(rules, kLabels, sizes, op.getWindowStrides().value_or(Dims()), op.getPadding(),
                  op.getBaseDilations().value_or(Dims()), op.getWindowDilations().value_or(Dims()));
  if (failed(windows)) return failure();
  if (!op.getBody().empty() &&
      failed(verifyReducer(rules, "c13", op.getBody(), elementTypes(op.getInputs()),
                           elementTypes(op.getInitValues())))) {
    return failure();
  }
  for (auto [input, element] :
       llvm::zip(op.getInputs(), resultElements(op.getBody(), op.getInputs()))) {
    mlir::RankedTensorType type = tensorType(input);
    llvm::SmallVector<int64_t> shape, bounds;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      auto count = numWindows(rules, kLabels.shape, type.getDimSize(dim), (*windows)[dim]);
      if (failed(count)) return failure();
      shape.push_back(*count);
      if (boundsOf(type).empty()) continue;
      auto bound = numWindows(rules, kLabels.shape, boundsOf(type)[dim], (*windows)[dim]);
      if (failed(bound)) return failure();
      bounds.push_back(*bound);
    }
    types.push_back(boundedType(shape, element, bounds));
  }
  return success();
}

LogicalResult ReduceWindowOp::verify() {
  return returnOf(getBody()) ? LogicalResult(success())
                             : Rules(*this).violates(
                                   "c13", "the region has another end, expected stablehlo.return");
}

ISTHMUS_INFER(SelectAndScatterOp, "select_and_scatter") {
  mlir::Region& scatter = op.getScatter();
  mlir::RankedTensorType operand = tensorType(op.getOperand());
  mlir::Type element = operand.getElementType();
  if (!scatter.empty()) {
    if (failed(verifyReducer(rules, "c10", scatter, tensorType(op.getSource()).getElementType(),
                             tensorType(op.getInitValue()).getElementType()))) {
      return failure();
    }
    element = reducerElementTypes(scatter).front();
  }
  types.push_back(operand.clone(element));
  return success();
}

LogicalResult SelectAndScatterOp::verify() {
  constexpr WindowRules kLabels = {"c4", "c5", "c6", "c7", "", "", "", "", "c8", "c2"};
  Rules rules(*this);
  mlir::RankedTensorType operand = getOperand().getType(), source = getSource().getType();
  mlir::RankedTensorType init = getInitValue().getType();
  if (!sameBaseline(operand, source)) {
    return rules.violates("c1", "the operand is ", operand, " and the source ", source,
                          ", expected the same element type");
  }
  if (init.getRank() != 0 || !sameBaseline(init, operand)) {
    return rules.violates("c3", "init_value is ", init, ", expected a scalar of the element type ",
                          operand.getElementType());
  }
  ReturnOp choice = returnOf(getSelect());
  if (!choice) return rules.violates("c9", "select has another end, expected stablehlo.return");
  if (!returnOf(getScatter())) {
    return rules.violates("c10", "scatter has another end, expected stablehlo.return");
  }
  mlir::Block& select = getSelect().front();
  auto scalar = mlir::RankedTensorType::get({}, operand.getElementType());
  bool takes = select.getNumArguments() == 2 &&
               llvm::all_of(select.getArgumentTypes(),
                            [&](mlir::Type type) { return areCompatible(type, scalar); });
  auto given = choice.getNumOperands() == 1
                   ? llvm::dyn_cast<mlir::RankedTensorType>(choice.getOperand(0).getType())
                   : mlir::RankedTensorType();
  if (!takes || !given || given.getRank() != 0 || !given.getElementType().isInteger(1)) {
    return rules.violates("c9", "select takes (", select.getArgumentTypes(), ") and gives (",
                          choice.getOperandTypes(), "), expected ", scalar,
                          " twice and tensor<i1>");
  }
  Dims sizes = getWindowDimensions().value_or(Dims());
  if (failed(rules.size("c4", "window_dimensions", sizes.size(), operand.getRank()))) {
    return failure();
  }
  auto windows =
      makeWindows(rules, kLabels, sizes, getWindowStrides().value_or(Dims()), getPadding(), {}, {});
  if (failed(windows)) return failure();
  llvm::SmallVector<int64_t> shape;
  for (auto [size, window] : llvm::zip(operand.getShape(), *windows)) {
    auto count = numWindows(rules, "c2", size, window);
    if (failed(count)) return failure();
    shape.push_back(*count);
  }
  if (agree(shape, source.getShape())) return success();
  return rules.violates("c2", "the source is ", source, ", expected the shape ", text(shape),
                        " of the windows");
}

// ---- sort ---------------------------------------------------------------------------------------

ISTHMUS_INFER(SortOp, "sort") {
  llvm::append_range(types, op.getInputs().getTypes());
  return success();
}

LogicalResult SortOp::verify() {
  Rules rules(*this);
  int64_t rank = tensorType(getInputs().front()).getRank();
  int64_t dimension = static_cast<int64_t>(getDimension());
  if (failed(rules.inRange("c4", "dimension", dimension, -rank, rank))) return failure();
  ReturnOp end = returnOf(getComparator());
  if (!end)
    return rules.violates("c5", "the comparator has another end, expected stablehlo.return");
  mlir::Block& block = getComparator().front();
  if (failed(rules.size("c5", "the comparator's argument list", block.getNumArguments(),
                        2 * getInputs().size()))) {
    return failure();
  }
  for (auto [i, argument] : llvm::enumerate(block.getArguments())) {
    auto expected =
        mlir::RankedTensorType::get({}, tensorType(getInputs()[i / 2]).getElementType());
    if (argument.getType() != expected) {
      return rules.violates("c5", "the comparator takes ", argument.getType(), ", expected ",
                            expected);
    }
  }
  auto given = end.getNumOperands() == 1
                   ? llvm::dyn_cast<mlir::RankedTensorType>(end.getOperand(0).getType())
                   : mlir::RankedTensorType();
  if (given && given.getRank() == 0 && given.getElementType().isInteger(1)) return success();
  return rules.violates("c5", "the comparator gives (", end.getOperandTypes(),
                        "), expected tensor<i1>");
}

}  // namespace isthmus::shlo
