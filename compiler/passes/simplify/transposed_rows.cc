// Transposes go behind what is computed of them where a product takes them in, or where reductions
// leave little to be transposed.
//
// Between two products they go behind what is computed of rows, so that rows stay in the order in
// which the first product makes them, and the second one takes the transpose in. Weights of
// attention with several queries for each key are such where vmap has put the group in
// front behind the rows' maxima: jax.nn.dot_product_attention with fewer heads of keys than of
// queries. Left in place, the transpose would have all scores stored.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/dialect/types/permutation.h"
#include "compiler/passes/legalize/reduce_over.h"
#include "compiler/passes/simplify/match.h"
#include "compiler/passes/simplify/patterns.h"
#include "compiler/passes/simplify/product_chain.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "mlir/IR/IRMapping.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;

// Operations that are looked at on the way from or to a product.
constexpr size_t kMaxRowOperations = 24;

bool isOfShape(Value value, Value like) {
  return isStaticArray(value) && shapeOf(value) == shapeOf(like);
}

// Whether elementwise operations and nothing else lie between a product and `value`.
bool isOfProduct(Value value) {
  llvm::SmallPtrSet<mlir::Operation*, kMaxRowOperations> seen;
  llvm::SmallVector<Value> left{value};
  while (!left.empty() && seen.size() < kMaxRowOperations) {
    mlir::Operation* op = left.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second) continue;
    if (llvm::isa<shlo::DotGeneralOp>(op)) return true;
    if (!isPlainElementwise(op)) continue;
    for (Value operand : op->getOperands()) {
      if (isOfShape(operand, value)) left.push_back(operand);
    }
  }
  return false;
}

// Whether `operand` comes in any order of dimensions for nothing, or is transposed like
// `transpose`.
bool isOfAnyOrder(Value operand, shlo::TransposeOp transpose) {
  if (constantSplat(operand)) return isOfShape(operand, transpose);
  if (auto other = operand.getDefiningOp<shlo::TransposeOp>()) {
    return other.getPermutation() == transpose.getPermutation();
  }
  // One that only reorders dimensions is a transpose.
  auto broadcast = operand.getDefiningOp<shlo::BroadcastInDimOp>();
  return broadcast && isStaticArray(broadcast) && isStaticArray(broadcast.getOperand()) &&
         elementCount(broadcast.getOperand().getType()) < elementCount(broadcast.getType());
}

// Whether elementwise operations on arrays of its shape lead from `op` to users that `isEnd` takes,
// and to no others; what else they read is of `isKnown`.
bool leadsTo(shlo::TransposeOp op, llvm::function_ref<bool(mlir::Operation* user, Value of)> isEnd,
             llvm::function_ref<bool(Value)> isKnown) {
  llvm::SmallSetVector<Value, kMaxRowOperations> arrays;
  arrays.insert(op);
  for (size_t i = 0; i < arrays.size(); ++i) {
    for (mlir::Operation* user : arrays[i].getUsers()) {
      if (isEnd(user, arrays[i])) continue;
      if (!isPlainElementwise(user) || !isOfShape(user->getResult(0), op)) return false;
      arrays.insert(user->getResult(0));
    }
    if (arrays.size() > kMaxRowOperations) return false;
  }
  return llvm::all_of(llvm::drop_begin(arrays), [&](Value value) {
    return llvm::all_of(value.getDefiningOp()->getOperands(), [&](Value operand) {
      return arrays.contains(operand) || isKnown(operand);
    });
  });
}

}  // namespace

bool canFollowRows(shlo::TransposeOp op) {
  llvm::ArrayRef<int64_t> permutation = op.getPermutation();
  const auto rank = static_cast<int64_t>(permutation.size());
  if (!isStaticArray(op) || rank < 2 || permutation.back() != rank - 1) return false;
  bool isForProduct = false;
  auto isEnd = [&](mlir::Operation* user, Value) {
    const bool isProduct = llvm::isa<shlo::DotGeneralOp>(user);
    isForProduct |= isProduct;
    return isProduct || reducesLast(user, rank);
  };
  auto isKnown = [&](Value operand) { return isOfAnyOrder(operand, op); };
  return leadsTo(op, isEnd, isKnown) && isForProduct;
}

namespace {

// Whether the operand is a product that gives its transpose by exchanging its factors.
bool isProductOfEitherOrder(Value operand) {
  auto dot = operand.getDefiningOp<shlo::DotGeneralOp>();
  return dot && dot->hasOneUse() && isStaticArray(dot) && dot.getType().getRank() == 2 &&
         dot.getDotDimensionNumbers().getLhsBatchingDimensions().empty();
}

// `operand` of an elementwise operation as it is before the transpose.
Value untransposed(PatternRewriter& rewriter, Value operand, shlo::TransposeOp transpose) {
  llvm::ArrayRef<int64_t> permutation = transpose.getPermutation();
  if (auto other = operand.getDefiningOp<shlo::TransposeOp>()) return other.getOperand();
  auto type = tensorTypeOf(operand).clone(shapeOf(transpose.getOperand()));
  if (isProductOfEitherOrder(operand)) {
    return shlo::TransposeOp::create(rewriter, operand.getLoc(), type, operand,
                                     inverseOf(permutation));
  }
  if (mlir::DenseElementsAttr splat = constantSplat(operand)) {
    return shlo::ConstantOp::create(rewriter, operand.getLoc(), splat.resizeSplat(type));
  }
  auto broadcast = operand.getDefiningOp<shlo::BroadcastInDimOp>();
  Dims dims;
  for (int64_t d : broadcast.getBroadcastDimensions()) {
    dims.push_back(permutation[static_cast<size_t>(d)]);
  }
  return shlo::BroadcastInDimOp::create(rewriter, operand.getLoc(), type, broadcast.getOperand(),
                                        dims);
}

// What is kept of the array as it was comes in another order.
void moveBehindReduction(shlo::ReduceOp reduce, shlo::TransposeOp transpose,
                         PatternRewriter& rewriter) {
  Dims reduced, order(static_cast<size_t>(tensorTypeOf(reduce->getResult(0)).getRank()));
  int64_t kept = 0;
  for (auto [from, dim] : llvm::enumerate(inverseOf(transpose.getPermutation()))) {
    if (llvm::is_contained(reduce.getDimensions(), dim)) {
      reduced.push_back(static_cast<int64_t>(from));
    } else {
      order[keptDimension(reduce.getDimensions(), dim)] = kept++;
    }
  }
  Value moved = reduceOver(rewriter, reduce, transpose.getOperand(), reduced).getResult(0);
  rewriter.replaceOpWithNewOp<shlo::TransposeOp>(reduce, reduce->getResult(0).getType(), moved,
                                                 order);
}

void moveBehindSlice(shlo::SliceOp slice, shlo::TransposeOp transpose, PatternRewriter& rewriter) {
  const Dims inverse = inverseOf(transpose.getPermutation());
  auto ofArray = [&](llvm::ArrayRef<int64_t> values) {
    Dims reordered;
    for (int64_t dim : inverse) reordered.push_back(values[dim]);
    return reordered;
  };
  Value moved = shlo::SliceOp::create(
      rewriter, slice.getLoc(), transpose.getOperand(), ofArray(slice.getStartIndices()),
      ofArray(slice.getLimitIndices()), ofArray(slice.getStrides()));
  rewriter.replaceOpWithNewOp<shlo::TransposeOp>(slice, slice.getType(), moved,
                                                 transpose.getPermutation());
}

// `op`, one of the above, of operands that are not transposed, and its result transposed instead.
void moveBehind(mlir::Operation* op, shlo::TransposeOp transpose, PatternRewriter& rewriter) {
  rewriter.setInsertionPoint(op);
  if (auto reduce = llvm::dyn_cast<shlo::ReduceOp>(op)) {
    return moveBehindReduction(reduce, transpose, rewriter);
  }
  if (auto slice = llvm::dyn_cast<shlo::SliceOp>(op)) {
    return moveBehindSlice(slice, transpose, rewriter);
  }
  mlir::IRMapping mapping;
  for (Value operand : op->getOperands()) {
    mapping.map(operand, untransposed(rewriter, operand, transpose));
  }
  mlir::Operation* moved = rewriter.clone(*op, mapping);
  auto type = tensorTypeOf(op->getResult(0));
  moved->getResult(0).setType(type.clone(shapeOf(transpose.getOperand())));
  rewriter.replaceOpWithNewOp<shlo::TransposeOp>(op, type, moved->getResult(0),
                                                 transpose.getPermutation());
}

LogicalResult moveTransposeBehindRows(shlo::TransposeOp op, PatternRewriter& rewriter) {
  // A transpose of the product itself is taken in there.
  if (productBehind(op.getOperand()) || !isOfProduct(op.getOperand()) || !canFollowRows(op)) {
    return mlir::failure();
  }
  // Those that read other rows as well have their turn when these are no longer transposed.
  auto isNext = [&](mlir::Operation* user) {
    return !llvm::isa<shlo::DotGeneralOp>(user) &&
           (llvm::isa<shlo::ReduceOp>(user) ||
            llvm::all_of(user->getOperands(), [&](Value v) { return isOfAnyOrder(v, op); }));
  };
  llvm::SmallSetVector<mlir::Operation*, 4> users(op->user_begin(), op->user_end());
  users.remove_if([&](mlir::Operation* user) { return !isNext(user); });
  for (mlir::Operation* user : users) moveBehind(user, op, rewriter);
  return mlir::success(!users.empty());
}

// Whether nothing is left of the transposed array in the end but its reductions, and slices of it
// that are small beside it.
bool isOnlyReduced(shlo::TransposeOp op) {
  constexpr int64_t kSliced = 8;
  if (!isStaticArray(op)) return false;
  bool isReduced = false;
  auto isEnd = [&](mlir::Operation* user, Value of) {
    if (llvm::isa<shlo::SliceOp>(user)) {
      return kSliced * elementCount(user->getResult(0).getType()) <= elementCount(op.getType());
    }
    auto reduce = llvm::dyn_cast<shlo::ReduceOp>(user);
    const bool isEnd = reduce && reduce.getInputs().size() == 1 && reduce.getInputs()[0] == of;
    isReduced |= isEnd;
    return isEnd;
  };
  auto isKnown = [&](Value operand) {
    return isOfAnyOrder(operand, op) || isProductOfEitherOrder(operand);
  };
  return leadsTo(op, isEnd, isKnown) && isReduced;
}

LogicalResult moveTransposeBehindReductions(shlo::TransposeOp op, PatternRewriter& rewriter) {
  // A product takes its transpose in.
  if (productBehind(op.getOperand()) || !isOnlyReduced(op)) return mlir::failure();
  auto isNext = [&](mlir::Operation* user) {
    return llvm::isa<shlo::ReduceOp, shlo::SliceOp>(user) ||
           llvm::all_of(user->getOperands(),
                        [&](Value v) { return isOfAnyOrder(v, op) || isProductOfEitherOrder(v); });
  };
  llvm::SmallSetVector<mlir::Operation*, 4> users(op->user_begin(), op->user_end());
  users.remove_if([&](mlir::Operation* user) { return !isNext(user); });
  for (mlir::Operation* user : users) moveBehind(user, op, rewriter);
  return mlir::success(!users.empty());
}

}  // namespace

void addTransposedRowPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(moveTransposeBehindRows);
  patterns.add(moveTransposeBehindReductions);
}

}  // namespace isthmus
