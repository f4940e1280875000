// Custom calls: those that the compiler itself understands, and the layouts of the others.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/permutation.h"
#include "compiler/passes/legalize/patterns.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/Verifier.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::RankedTensorType;
using Dims = llvm::SmallVector<int64_t>;

// Says that the arrays lie in the order of their dimensions in memory: layouts have been applied.
constexpr const char* kLaidOut = "isthmus.laid_out";

// The dimensions from the slowest to the fastest; empty for row-major arrays and for tokens.
Dims majorToMinor(mlir::Type type, mlir::Attribute layout) {
  auto array = llvm::dyn_cast<RankedTensorType>(type);
  auto minorToMajor = llvm::dyn_cast_or_null<mlir::DenseIntElementsAttr>(layout);
  if (!array || !minorToMajor || minorToMajor.getNumElements() != array.getRank()) return {};
  Dims order;
  for (const llvm::APInt& dimension : minorToMajor.getValues<llvm::APInt>()) {
    order.push_back(dimension.getSExtValue());
  }
  std::reverse(order.begin(), order.end());
  if (llvm::is_sorted(order)) return {};
  return order;
}

mlir::Attribute layoutAt(std::optional<mlir::ArrayAttr> layouts, size_t index) {
  return layouts && index < layouts->size() ? (*layouts)[index] : mlir::Attribute();
}

// It wishes that one operand is computed before the other, and changes no result.
LogicalResult dropControlDependency(shlo::CustomCallOp op, PatternRewriter& rewriter) {
  if (op.getCallTargetName() != "control_dep" || op->getNumResults() != 0) return mlir::failure();
  rewriter.eraseOp(op);
  return mlir::success();
}

// Arrays are row-major everywhere: an operand of another layout is transposed before the call, a
// result after it.
LogicalResult applyLayouts(shlo::CustomCallOp op, PatternRewriter& rewriter) {
  if (op->hasAttr(kLaidOut)) return mlir::failure();
  if (!op.getOperandLayouts() && !op.getResultLayouts()) return mlir::failure();
  llvm::SmallVector<mlir::Value> operands;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    Dims order = majorToMinor(operand.getType(), layoutAt(op.getOperandLayouts(), i));
    if (order.empty()) {
      operands.push_back(operand);
      continue;
    }
    operands.push_back(shlo::TransposeOp::create(
        rewriter, op.getLoc(), permuted(operand.getType(), order), operand, order));
  }
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<Dims> orders;
  for (auto [i, type] : llvm::enumerate(op->getResultTypes())) {
    orders.push_back(majorToMinor(type, layoutAt(op.getResultLayouts(), i)));
    types.push_back(orders.back().empty() ? type : permuted(type, orders.back()));
  }
  mlir::OperationState state(op.getLoc(), op->getName(), operands, types, op->getAttrs());
  state.addAttribute(kLaidOut, rewriter.getUnitAttr());
  mlir::Operation* laidOut = rewriter.create(state);
  llvm::SmallVector<mlir::Value> results;
  for (auto [i, order] : llvm::enumerate(orders)) {
    if (order.empty()) {
      results.push_back(laidOut->getResult(i));
      continue;
    }
    results.push_back(shlo::TransposeOp::create(rewriter, op.getLoc(), op->getResult(i).getType(),
                                                laidOut->getResult(i), inverseOf(order)));
  }
  rewriter.replaceOp(op, results);
  return mlir::success();
}

// Converters that must leave chlo, or mhlo's own operations, write them as calls of their names:
// @mhlo.erf for chlo.erf.
LogicalResult restoreOperation(shlo::CustomCallOp op, PatternRewriter& rewriter) {
  llvm::StringRef name = op.getCallTargetName();
  const bool isOurs = name.consume_front("chlo.") || name.consume_front("mhlo.");
  if (!isOurs || !op.getCalledComputations().empty()) return mlir::failure();
  if (name == "topk") name = "top_k";
  auto registered =
      mlir::RegisteredOperationName::lookup(("chlo." + name).str(), rewriter.getContext());
  if (!registered) return mlir::failure();
  mlir::OperationState state(op.getLoc(), *registered);
  state.addOperands(op->getOperands());
  state.addTypes(op->getResultTypes());
  if (auto attributes = op->getAttrOfType<mlir::DictionaryAttr>("mhlo.attributes")) {
    for (mlir::NamedAttribute attribute : attributes) {
      // The smallest elements are asked for by mhlo alone.
      if (attribute.getName() == "largest") {
        auto largest = llvm::dyn_cast<mlir::BoolAttr>(attribute.getValue());
        if (!largest || !largest.getValue()) return mlir::failure();
        continue;
      }
      state.addAttribute(attribute.getName(), attribute.getValue());
    }
  }
  // A call of a wrong form is left for the error that says where it is.
  mlir::Operation* restored = rewriter.create(state);
  mlir::ScopedDiagnosticHandler quiet(op.getContext(),
                                      [](mlir::Diagnostic&) { return mlir::success(); });
  if (mlir::failed(mlir::verify(restored))) {
    rewriter.eraseOp(restored);
    return mlir::failure();
  }
  rewriter.replaceOp(op, restored->getResults());
  return mlir::success();
}

}  // namespace

void addCustomCallPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(applyLayouts);
  patterns.add(dropControlDependency);
  patterns.add(restoreOperation);
}

}  // namespace isthmus
