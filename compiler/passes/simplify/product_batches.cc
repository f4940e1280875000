// Free or contracting dimensions of a product's large operand or result that stand in front of its
// batches become batches themselves, so that nothing large is transposed.
//
// Scores of attention with several queries for each key are such where vmap has put the group in
// front: jax.nn.dot_product_attention with fewer keys than queries, and its gradient.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/dialect/types/permutation.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/simplify/match.h"
#include "compiler/passes/simplify/patterns.h"
#include "compiler/passes/simplify/product_chain.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/IRMapping.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;

// Whether `times` copies of `value` have no more elements than this; both may be absurdly many.
bool areAtMost(Value value, int64_t times, int64_t elements) {
  int64_t copies;
  return !__builtin_mul_overflow(elementCount(value), times, &copies) && copies <= elements;
}

// A product whose dimensions have labels: those of the result their number there, contracting ones
// the numbers that follow.
class Product {
 public:
  explicit Product(shlo::DotGeneralOp dot) : dot_(dot) {
    shlo::DotDimensionNumbersAttr numbers = dot.getDotDimensionNumbers();
    llvm::ArrayRef<int64_t> batching[2] = {numbers.getLhsBatchingDimensions(),
                                           numbers.getRhsBatchingDimensions()};
    llvm::ArrayRef<int64_t> contracting[2] = {numbers.getLhsContractingDimensions(),
                                              numbers.getRhsContractingDimensions()};
    const auto rank = static_cast<int64_t>(tensorTypeOf(dot).getRank());
    int64_t next = 0;
    for (size_t i = 0; i < batching[0].size(); ++i) batches_.push_back(next++);
    for (int side = 0; side < 2; ++side) {
      values_[side] = dot->getOperand(side);
      labels_[side].assign(tensorTypeOf(values_[side]).getRank(), -1);
      for (auto [i, d] : llvm::enumerate(batching[side])) {
        labels_[side][d] = static_cast<int64_t>(i);
      }
      for (auto [i, d] : llvm::enumerate(contracting[side])) {
        labels_[side][d] = rank + static_cast<int64_t>(i);
      }
      for (int64_t& label : labels_[side]) {
        if (label < 0) label = next++;
      }
    }
    for (size_t i = 0; i < contracting[0].size(); ++i) {
      contracted_.push_back(rank + static_cast<int64_t>(i));
    }
  }

  bool isBatch(int64_t label) const { return llvm::is_contained(batches_, label); }
  bool isContracted(int64_t label) const { return llvm::is_contained(contracted_, label); }
  bool isOf(int side, int64_t label) const { return llvm::is_contained(labels_[side], label); }
  Value value(int side) const { return values_[side]; }

  int64_t sizeOf(int64_t label) const {
    const int side = isOf(0, label) ? 0 : 1;
    return tensorTypeOf(values_[side])
        .getDimSize(llvm::find(labels_[side], label) - labels_[side].begin());
  }

  int64_t sizeOf(llvm::ArrayRef<int64_t> labels) const {
    int64_t size = 1;
    for (int64_t label : labels) size *= sizeOf(label);
    return size;
  }

  // Labels, no batches, that stand in front of a batch in the operand.
  Dims inFrontOfBatches(int side) const {
    return inFrontOf(side, [&](int64_t label) { return isBatch(label); });
  }

  // Whether batches stand behind all others in the operand.
  bool areBehindOthers(int side, llvm::ArrayRef<int64_t> batches) const {
    auto isOther = [&](int64_t label) {
      return isBatch(label) && !llvm::is_contained(batches, label);
    };
    const Dims front = inFrontOf(side, isOther);
    return llvm::none_of(batches, [&](int64_t label) { return llvm::is_contained(front, label); });
  }

  // The other operand is the same for each of them.
  void makeFreeBatch(int64_t label, PatternRewriter& rewriter) {
    const int other = isOf(0, label) ? 1 : 0;
    auto type = tensorTypeOf(values_[other]);
    Dims shape{sizeOf(label)}, dims;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      shape.push_back(type.getDimSize(d));
      dims.push_back(d + 1);
    }
    values_[other] = shlo::BroadcastInDimOp::create(rewriter, dot_.getLoc(), type.clone(shape),
                                                    values_[other], dims);
    labels_[other].insert(labels_[other].begin(), label);
    batches_.push_back(label);
  }

  // The result has it then, to be summed over.
  void makeContractedBatch(int64_t label) {
    llvm::erase(contracted_, label);
    batches_.push_back(label);
  }

  // The dimensions that a broadcast adds to the operand, if the product has them as batches.
  Dims addedBatches(int side) const {
    auto broadcast = values_[side].getDefiningOp<shlo::BroadcastInDimOp>();
    Dims added;
    if (!broadcast || !isStaticArray(broadcast.getOperand())) return added;
    for (auto [d, label] : llvm::enumerate(labels_[side])) {
      const bool isAdded =
          !llvm::is_contained(broadcast.getBroadcastDimensions(), static_cast<int64_t>(d));
      if (isAdded && isBatch(label) && sizeOf(label) > 1) added.push_back(label);
    }
    return added;
  }

  // The other operand has these rows for one that is not broadcast. Of addedBatches(side).
  void makeBatchesFree(int side, llvm::ArrayRef<int64_t> labels, PatternRewriter& rewriter) {
    auto broadcast = values_[side].getDefiningOp<shlo::BroadcastInDimOp>();
    Dims kept, shape, places;
    for (int64_t label : labels_[side]) {
      places.push_back(static_cast<int64_t>(kept.size()));
      if (llvm::is_contained(labels, label)) continue;
      shape.push_back(sizeOf(label));
      kept.push_back(label);
    }
    Dims dims;
    for (int64_t d : broadcast.getBroadcastDimensions()) dims.push_back(places[d]);
    values_[side] = shlo::BroadcastInDimOp::create(rewriter, dot_.getLoc(),
                                                   tensorTypeOf(values_[side]).clone(shape),
                                                   broadcast.getOperand(), dims);
    labels_[side] = kept;
    llvm::erase_if(batches_, [&](int64_t label) { return llvm::is_contained(labels, label); });
  }

  void orderBatches(llvm::ArrayRef<int64_t> batches) {
    batches_.assign(batches.begin(), batches.end());
  }

  // The labels of the result's dimensions.
  Dims resultLabels() const { return resultLabels(0, {}); }

  // The same if `freed`, batches, were free dimensions of the other operand than this one.
  Dims resultLabels(int side, llvm::ArrayRef<int64_t> freed) const {
    auto isFreed = [&](int64_t label) { return llvm::is_contained(freed, label); };
    Dims labels;
    llvm::copy_if(batches_, std::back_inserter(labels),
                  [&](int64_t label) { return !isFreed(label); });
    for (int operand = 0; operand < 2; ++operand) {
      for (int64_t label : labels_[operand]) {
        const bool isFree = isFreed(label) ? operand != side : !isBatch(label);
        if (isFree && !isContracted(label)) labels.push_back(label);
      }
    }
    return labels;
  }

  Value create(PatternRewriter& rewriter, mlir::Type element) {
    Dims batching[2], contracting[2], shape;
    for (int side = 0; side < 2; ++side) {
      auto placeOf = [&](int64_t label) {
        return llvm::find(labels_[side], label) - labels_[side].begin();
      };
      for (int64_t label : batches_) batching[side].push_back(placeOf(label));
      for (int64_t label : contracted_) contracting[side].push_back(placeOf(label));
    }
    for (int64_t label : resultLabels()) shape.push_back(sizeOf(label));
    mlir::Operation* product = rewriter.clone(*dot_.getOperation());
    product->setOperands({values_[0], values_[1]});
    product->getResult(0).setType(mlir::RankedTensorType::get(shape, element));
    llvm::cast<shlo::DotGeneralOp>(product).setDotDimensionNumbersAttr(
        shlo::DotDimensionNumbersAttr::get(dot_.getContext(), batching[0], batching[1],
                                           contracting[0], contracting[1]));
    return product->getResult(0);
  }

 private:
  // Labels in front of the last one of a kind, which are not of it.
  template <typename IsOfKind>
  Dims inFrontOf(int side, IsOfKind isOfKind) const {
    Dims found, front;
    for (int64_t label : labels_[side]) {
      if (!isOfKind(label)) {
        front.push_back(label);
      } else {
        found = front;
      }
    }
    return found;
  }

  shlo::DotGeneralOp dot_;
  Value values_[2];
  Dims labels_[2];
  Dims batches_, contracted_;
};

// `value`, whose dimensions are `from`, in the order `to`.
Value inOrder(PatternRewriter& rewriter, Value value, llvm::ArrayRef<int64_t> from,
              llvm::ArrayRef<int64_t> to) {
  if (from == to) return value;
  Dims permutation, shape;
  for (int64_t label : to) {
    permutation.push_back(llvm::find(from, label) - from.begin());
    shape.push_back(tensorTypeOf(value).getDimSize(permutation.back()));
  }
  return shlo::TransposeOp::create(rewriter, value.getLoc(), tensorTypeOf(value).clone(shape),
                                   value, permutation);
}

// The free dimensions that a transpose of the product puts in front of batches, if they can become
// batches for less than the transpose; otherwise none.
Dims freeInFront(shlo::DotGeneralOp dot, llvm::ArrayRef<int64_t> permutation) {
  if (!isStaticArray(dot) || !isStaticArray(dot.getLhs()) || !isStaticArray(dot.getRhs()))
    return {};
  const Product product(dot);
  Dims front, found;
  for (int64_t label : permutation) {
    if (!product.isBatch(label)) {
      front.push_back(label);
    } else {
      found = front;
    }
  }
  if (found.empty()) return {};
  const int side = product.isOf(0, found.front()) ? 0 : 1;
  const bool isOfOne =
      llvm::all_of(found, [&](int64_t label) { return product.isOf(side, label); });
  return isOfOne && areAtMost(product.value(1 - side), product.sizeOf(found), elementCount(dot) / 2)
             ? found
             : Dims();
}

LogicalResult makeFrontOfResultBatches(shlo::TransposeOp op, PatternRewriter& rewriter) {
  auto dot = op.getOperand().getDefiningOp<shlo::DotGeneralOp>();
  if (!dot || !dot->hasOneUse()) return mlir::failure();
  const Dims front = freeInFront(dot, op.getPermutation());
  if (front.empty()) return mlir::failure();
  Product product(dot);
  for (int64_t label : front) product.makeFreeBatch(label, rewriter);
  Dims batches;
  llvm::copy_if(op.getPermutation(), std::back_inserter(batches),
                [&](int64_t label) { return product.isBatch(label); });
  product.orderBatches(batches);
  Value result = product.create(rewriter, tensorTypeOf(dot.getResult()).getElementType());
  rewriter.replaceOp(op, inOrder(rewriter, result, product.resultLabels(), op.getPermutation()));
  return mlir::success();
}

// The element type of partial sums of which a sum of this type is made; null if there is none.
mlir::Type partialSumOf(mlir::Type element) {
  if (element.isBF16() || element.isF16()) return mlir::Float32Type::get(element.getContext());
  return element.isF32() || element.isF64() || element.isInteger() ? element : nullptr;
}

LogicalResult makeFrontOfOperandBatches(shlo::DotGeneralOp op, PatternRewriter& rewriter) {
  if (!isStaticArray(op) || !isStaticArray(op.getLhs()) || !isStaticArray(op.getRhs()))
    return mlir::failure();
  Product product(op);
  const int side = elementCount(op.getLhs()) >= elementCount(op.getRhs()) ? 0 : 1;
  const int64_t most = elementCount(product.value(side)) / 2;
  Dims free, contracted;
  for (int64_t label : product.inFrontOfBatches(side)) {
    (product.isContracted(label) ? contracted : free).push_back(label);
  }
  if (free.empty() && contracted.empty()) return mlir::failure();
  if (!areAtMost(product.value(1 - side), product.sizeOf(free), most) ||
      !areAtMost(op, product.sizeOf(contracted), most)) {
    return mlir::failure();
  }
  mlir::Type element = tensorTypeOf(op).getElementType();
  mlir::Type partial = contracted.empty() ? element : partialSumOf(element);
  if (!partial) return mlir::failure();

  const Dims before = product.resultLabels();
  for (int64_t label : free) product.makeFreeBatch(label, rewriter);
  for (int64_t label : contracted) product.makeContractedBatch(label);
  Value result = product.create(rewriter, partial);
  Dims labels = product.resultLabels(), dims, kept;
  for (auto [d, label] : llvm::enumerate(labels)) {
    if (llvm::is_contained(contracted, label)) {
      dims.push_back(static_cast<int64_t>(d));
    } else {
      kept.push_back(label);
    }
  }
  if (!dims.empty()) {
    ArrayBuilder builder(op, rewriter);
    result = builder.sum(result, dims);
    if (partial != element) result = builder.convert(result, element);
  }
  rewriter.replaceOp(op, inOrder(rewriter, result, kept, before));
  return mlir::success();
}

// Batches for which one operand is the same are rows of the other one, which has them behind its
// other batches: there they are no reason to broadcast.
LogicalResult makeBroadcastBatchesFree(shlo::DotGeneralOp op, PatternRewriter& rewriter) {
  if (!isStaticArray(op) || !isStaticArray(op.getLhs()) || !isStaticArray(op.getRhs()))
    return mlir::failure();
  for (int side = 0; side < 2; ++side) {
    Product product(op);
    const Dims added = product.addedBatches(side);
    if (added.empty() || !product.areBehindOthers(1 - side, added)) continue;
    const Dims before = product.resultLabels(), after = product.resultLabels(side, added);
    if (after != before && !areAtMost(op, 2, elementCount(op->getOperand(1 - side)))) continue;
    product.makeBatchesFree(side, added, rewriter);
    Value result = product.create(rewriter, tensorTypeOf(op.getResult()).getElementType());
    rewriter.replaceOp(op, inOrder(rewriter, result, after, before));
    return mlir::success();
  }
  return mlir::failure();
}

// `op`, whose only array is now `array`, of another shape.
Value withArray(PatternRewriter& rewriter, mlir::Operation* op, Value array) {
  mlir::IRMapping mapping;
  llvm::ArrayRef<int64_t> shape = tensorTypeOf(array).getShape();
  mapping.map(onlyArray(op), array);
  for (Value operand : op->getOperands()) {
    if (mlir::DenseElementsAttr splat = constantSplat(operand)) {
      mapping.map(operand,
                  shlo::ConstantOp::create(rewriter, op->getLoc(),
                                           splat.resizeSplat(tensorTypeOf(operand).clone(shape))));
    }
  }
  mlir::Operation* clone = rewriter.clone(*op, mapping);
  clone->getResult(0).setType(tensorTypeOf(op->getResult(0)).clone(shape));
  return clone->getResult(0);
}

// A transpose that a product can take in goes in front of the operations between them.
LogicalResult moveTransposeToProduct(shlo::TransposeOp op, PatternRewriter& rewriter) {
  mlir::Operation* between = op.getOperand().getDefiningOp();
  Value array = onlyArray(between);
  shlo::DotGeneralOp dot = array ? productBehind(op.getOperand()) : nullptr;
  if (!dot || freeInFront(dot, op.getPermutation()).empty()) return mlir::failure();
  auto type = tensorTypeOf(array).clone(tensorTypeOf(op).getShape());
  Value moved = shlo::TransposeOp::create(rewriter, op.getLoc(), type, array, op.getPermutation());
  rewriter.replaceOp(op, withArray(rewriter, between, moved));
  return mlir::success();
}

// Reductions of a product's rows read them transposed where a transpose does as well, which is then
// the only one that reads them, so that the product can take it in.
LogicalResult reduceTransposedRows(shlo::TransposeOp op, PatternRewriter& rewriter) {
  Value rows = op.getOperand();
  llvm::ArrayRef<int64_t> permutation = op.getPermutation();
  const auto rank = static_cast<int64_t>(permutation.size());
  if (rows.hasOneUse() || !isStaticArray(op) || permutation.back() != rank - 1) {
    return mlir::failure();
  }
  llvm::SmallVector<shlo::ReduceOp> reductions;
  for (mlir::Operation* user : rows.getUsers()) {
    if (user == op) continue;
    if (!reducesLast(user, rank)) return mlir::failure();
    reductions.push_back(llvm::cast<shlo::ReduceOp>(user));
  }
  auto dot = rows.getDefiningOp<shlo::DotGeneralOp>();
  if (!dot) {
    Value array = onlyArray(rows.getDefiningOp());
    dot = array ? productBehind(array) : nullptr;
  }
  if (!dot || freeInFront(dot, permutation).empty() || canFollowRows(op)) return mlir::failure();
  const Dims order = inverseOf(permutation.drop_back());
  rewriter.moveOpAfter(op, rows.getDefiningOp());
  for (shlo::ReduceOp reduce : reductions) {
    rewriter.setInsertionPoint(reduce);
    mlir::IRMapping mapping;
    mapping.map(rows, op.getResult());
    mlir::Operation* copy = rewriter.clone(*reduce.getOperation(), mapping);
    auto type = tensorTypeOf(reduce.getResult(0));
    copy->getResult(0).setType(type.clone(shapeOf(op).drop_back()));
    rewriter.replaceOpWithNewOp<shlo::TransposeOp>(reduce, type, copy->getResult(0), order);
  }
  return mlir::success();
}

// A transpose behind what scales or converts its result.
LogicalResult moveBehind(shlo::TransposeOp op, mlir::Operation* between,
                         PatternRewriter& rewriter) {
  rewriter.setInsertionPoint(between);
  Value result = withArray(rewriter, between, op.getOperand());
  rewriter.replaceOpWithNewOp<shlo::TransposeOp>(between, between->getResult(0).getType(), result,
                                                 op.getPermutation());
  return mlir::success();
}

// A transpose that only products see, behind what scales or converts it, goes there, where they can
// take it in.
LogicalResult moveTransposeToUsers(shlo::TransposeOp op, PatternRewriter& rewriter) {
  if (!op->hasOneUse() || productBehind(op.getOperand())) return mlir::failure();
  mlir::Operation* between = *op->user_begin();
  if (onlyArray(between) != op.getResult() || between->use_empty() ||
      !llvm::all_of(between->getUsers(),
                    [](mlir::Operation* user) { return llvm::isa<shlo::DotGeneralOp>(user); })) {
    return mlir::failure();
  }
  return moveBehind(op, between, rewriter);
}

// Of what is reduced it goes as well, to where a broadcast or another transpose takes it back.
LogicalResult moveTransposeOfReduced(shlo::TransposeOp op, PatternRewriter& rewriter) {
  if (!op->hasOneUse() || !isStaticArray(op)) return mlir::failure();
  mlir::Operation* between = *op->user_begin();
  if (onlyArray(between) != op.getResult() || !reductionBehind(op.getOperand())) {
    return mlir::failure();
  }
  return moveBehind(op, between, rewriter);
}

}  // namespace

void addProductBatchPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(makeFrontOfResultBatches);
  patterns.add(makeFrontOfOperandBatches);
  patterns.add(makeBroadcastBatchesFree);
  patterns.add(moveTransposeToProduct);
  patterns.add(reduceTransposedRows);
  patterns.add(moveTransposeToUsers);
  patterns.add(moveTransposeOfReduced);
}

}  // namespace isthmus
