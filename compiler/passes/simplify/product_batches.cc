// Free or contracting dimensions of a product's large operand or result that stand in front of its
// batches become batches themselves, so that nothing large is transposed.
//
// Scores of attention with several queries for each key are such where vmap has put the group in
// front: jax.nn.dot_product_attention with fewer keys than queries, and its gradient.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/simplify/match.h"
#include "compiler/passes/simplify/patterns.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/IRMapping.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;

// Of elementwise operations between a product and a transpose.
constexpr int kMaxProductChain = 8;

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
    Dims found, front;
    for (int64_t label : labels_[side]) {
      if (!isBatch(label)) {
        front.push_back(label);
      } else {
        found = front;
      }
    }
    return found;
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

  void orderBatches(llvm::ArrayRef<int64_t> batches) {
    batches_.assign(batches.begin(), batches.end());
  }

  // The labels of the result's dimensions.
  Dims resultLabels() const {
    Dims labels = batches_;
    for (const Dims& operand : labels_) {
      llvm::copy_if(operand, std::back_inserter(labels),
                    [&](int64_t label) { return !isBatch(label) && !isContracted(label); });
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

// The one operand of an elementwise operation that is not the same number everywhere; null if there
// are more.
Value onlyArray(mlir::Operation* op) {
  if (!op || op->getNumResults() != 1 || fusionClass(op) != FusionClass::kElementwise ||
      op->getNumRegions() > 0 || !isStaticArray(op->getResult(0))) {
    return nullptr;
  }
  Value array;
  for (Value operand : op->getOperands()) {
    if (constantSplat(operand)) continue;
    if (array || !isStaticArray(operand)) return nullptr;
    array = operand;
  }
  auto isSame = [&](Value operand) {
    return operand == array ||
           (isStaticArray(operand) &&
            tensorTypeOf(operand).getShape() == tensorTypeOf(op->getResult(0)).getShape());
  };
  return array && llvm::all_of(op->getOperands(), isSame) ? array : nullptr;
}

// The product that `value` is, or is computed of by scaling, converting and the like.
shlo::DotGeneralOp productBehind(Value value) {
  for (int i = 0; i < kMaxProductChain && value && value.hasOneUse(); ++i) {
    mlir::Operation* op = value.getDefiningOp();
    if (auto dot = llvm::dyn_cast_or_null<shlo::DotGeneralOp>(op)) return dot;
    value = onlyArray(op);
  }
  return nullptr;
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
  rewriter.setInsertionPoint(between);
  Value result = withArray(rewriter, between, op.getOperand());
  rewriter.replaceOpWithNewOp<shlo::TransposeOp>(between, between->getResult(0).getType(), result,
                                                 op.getPermutation());
  return mlir::success();
}

}  // namespace

void addProductBatchPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(makeFrontOfResultBatches);
  patterns.add(makeFrontOfOperandBatches);
  patterns.add(moveTransposeToProduct);
  patterns.add(moveTransposeToUsers);
}

}  // namespace isthmus
