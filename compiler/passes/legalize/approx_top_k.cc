// The custom call @ApproxTopK of lax.approx_max_k: exact here, a sort that is cut off.
#include "compiler/dialect/dialect.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/legalize/patterns.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::RankedTensorType;
using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;

// The one block of the function that compares two elements of each input, if it has just that.
mlir::Block* comparatorOf(shlo::CustomCallOp op, size_t inputs) {
  mlir::ArrayAttr called = op.getCalledComputations();
  if (!called || called.size() != 1) return nullptr;
  auto name = llvm::dyn_cast<mlir::FlatSymbolRefAttr>(called[0]);
  if (!name) return nullptr;
  auto function = mlir::SymbolTable::lookupNearestSymbolFrom<mlir::func::FuncOp>(op, name);
  if (!function || !function.getBody().hasOneBlock()) return nullptr;
  mlir::Block& block = function.getBody().front();
  if (block.getNumArguments() != 2 * inputs || block.getTerminator()->getNumOperands() != 1) {
    return nullptr;
  }
  return &block;
}

// Operands: the inputs (values, their places), then a start value for each, which a whole sort does
// not need. A result has as many elements along the dimension as its type says.
LogicalResult legalizeApproxTopK(shlo::CustomCallOp op, PatternRewriter& rewriter) {
  if (op.getCallTargetName() != "ApproxTopK") return mlir::failure();
  size_t count = op.getNumResults();
  if (count == 0 || op.getNumOperands() != 2 * count) return mlir::failure();
  auto config = op->getAttrOfType<mlir::DictionaryAttr>("mhlo.backend_config");
  auto dimension = config ? config.getAs<mlir::IntegerAttr>("reduction_dim") : mlir::IntegerAttr();
  mlir::Block* comparator = comparatorOf(op, count);
  if (!dimension || !comparator) return mlir::failure();
  int64_t dim = dimension.getInt();
  mlir::OperandRange inputs = op.getOperands().take_front(count);
  llvm::SmallVector<mlir::Type> scalars;
  for (auto [input, result] : llvm::zip(inputs, op.getResultTypes())) {
    auto type = llvm::dyn_cast<RankedTensorType>(input.getType());
    auto cut = llvm::dyn_cast<RankedTensorType>(result);
    if (!type || !cut || !type.hasStaticShape() || !cut.hasStaticShape() || dim < 0 ||
        dim >= type.getRank() || cut.getRank() != type.getRank() ||
        cut.getElementType() != type.getElementType() ||
        cut.getDimSize(dim) > type.getDimSize(dim)) {
      return mlir::failure();
    }
    Dims shape(type.getShape());
    shape[dim] = cut.getDimSize(dim);
    if (llvm::ArrayRef(shape) != cut.getShape()) return mlir::failure();
    scalars.append(2, RankedTensorType::get({}, type.getElementType()));
  }
  if (!llvm::equal(scalars, comparator->getArgumentTypes())) return mlir::failure();

  auto sort = shlo::SortOp::create(rewriter, op.getLoc(), inputs, dim, /*isStable=*/true);
  {
    mlir::OpBuilder::InsertionGuard guard(rewriter);
    mlir::Block* block =
        rewriter.createBlock(&sort.getComparator(), {}, scalars,
                             llvm::SmallVector<mlir::Location>(scalars.size(), op.getLoc()));
    mlir::IRMapping mapping;
    mapping.map(comparator->getArguments(), block->getArguments());
    for (mlir::Operation& nested : comparator->without_terminator()) {
      rewriter.clone(nested, mapping);
    }
    Value less = mapping.lookupOrDefault(comparator->getTerminator()->getOperand(0));
    shlo::ReturnOp::create(rewriter, op.getLoc(), mlir::ValueRange{less});
  }
  ArrayBuilder b(op, rewriter);
  llvm::SmallVector<Value> results;
  for (auto [sorted, result] : llvm::zip(sort.getResults(), op.getResultTypes())) {
    auto cut = llvm::cast<RankedTensorType>(result);
    results.push_back(b.slice(sorted, Dims(cut.getRank(), 0), cut.getShape()));
  }
  rewriter.replaceOp(op, results);
  return mlir::success();
}

}  // namespace

void addApproxTopKPatterns(mlir::RewritePatternSet& patterns) { patterns.add(legalizeApproxTopK); }

}  // namespace isthmus
