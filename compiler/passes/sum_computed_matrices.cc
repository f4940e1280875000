// The sum-computed-matrices pass: products of a vector and a matrix that is computed for them alone
// become sums of elementwise products, so that the kernel which sums computes the matrix, and
// nothing of its size is stored. Kernels of Gaussian processes and weights of few bits are such.
//
// Late, since a matrix may turn out to be computed before a loop, or for several readers.
#include "compiler/dialect/array_shape.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/permutation.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {

#define GEN_PASS_DEF_SUMCOMPUTEDMATRICESPASS
#include "compiler/passes/passes.h.inc"

namespace {

using Dims = llvm::SmallVector<int64_t>;

// One operand of a product.
struct Side {
  mlir::Value value;
  llvm::ArrayRef<int64_t> batch, summed;

  bool isOwn(int64_t d) const {
    return !llvm::is_contained(batch, d) && !llvm::is_contained(summed, d);
  }
  // For each batch item and sum.
  int64_t ownElements() const {
    int64_t elements = 1;
    for (auto [d, size] : llvm::enumerate(shapeOf(value))) {
      if (isOwn(static_cast<int64_t>(d))) elements *= size;
    }
    return elements;
  }
};

// Whether `value` is made element by element, and nothing but `reader` wants it.
bool isComputedFor(mlir::Value value, mlir::Operation* reader) {
  while (value.hasOneUse()) {
    mlir::Operation* op = value.getDefiningOp();
    if (!op || op->getBlock() != reader->getBlock() || op->getNumResults() != 1) return false;
    if (fusionClass(op) == FusionClass::kElementwise) return true;
    auto view = mlir::dyn_cast<shlo::ReshapeOp>(op);
    if (!view || squeezedShape(view.getOperand().getType()) != squeezedShape(view.getType())) {
      return false;
    }
    value = view.getOperand();
  }
  return false;
}

// What narrower floats and integers are added in is not what a sum of theirs would be.
bool isSummable(shlo::DotGeneralOp dot) {
  auto element = tensorTypeOf(dot.getResult()).getElementType();
  auto isLike = [&](mlir::Value value) {
    return isStaticArray(value) && tensorTypeOf(value).getElementType() == element &&
           elementCount(value) > 0;
  };
  return (element.isF32() || element.isF64()) && isLike(dot.getLhs()) && isLike(dot.getRhs());
}

// The vector over the dimensions of the matrix.
mlir::Value spread(ArrayBuilder& b, const Side& vector, const Side& matrix) {
  Dims shape, places;
  for (auto [d, size] : llvm::enumerate(shapeOf(vector.value))) {
    const auto dim = static_cast<int64_t>(d);
    if (vector.isOwn(dim)) continue;  // of size 1
    const auto* summed = llvm::find(vector.summed, dim);
    const bool isSummed = summed != vector.summed.end();
    const auto at = isSummed ? summed - vector.summed.begin()
                             : llvm::find(vector.batch, dim) - vector.batch.begin();
    shape.push_back(size);
    places.push_back((isSummed ? matrix.summed : matrix.batch)[static_cast<size_t>(at)]);
  }
  return b.broadcast(b.reshape(vector.value, shape), shapeOf(matrix.value), places);
}

void sumRows(shlo::DotGeneralOp dot, const Side& vector, const Side& matrix) {
  mlir::OpBuilder builder(dot);
  ArrayBuilder b(dot, builder);
  mlir::Value sum = b.sum(b.mul(matrix.value, spread(b, vector, matrix)), matrix.summed);
  // The result has batch dimensions first.
  Dims kept, order;
  for (int64_t d = 0; d < rankOf(matrix.value); ++d) {
    if (!llvm::is_contained(matrix.summed, d)) kept.push_back(d);
  }
  for (int64_t d : matrix.batch) order.push_back(llvm::find(kept, d) - kept.begin());
  for (auto [i, d] : llvm::enumerate(kept)) {
    if (matrix.isOwn(d)) order.push_back(static_cast<int64_t>(i));
  }
  if (!llvm::is_sorted(order)) {
    sum = shlo::TransposeOp::create(builder, dot.getLoc(), permuted(sum.getType(), order), sum,
                                    order);
  }
  dot.getResult().replaceAllUsesWith(b.reshape(sum, shapeOf(dot.getResult())));
  dot.erase();
}

struct SumComputedMatricesPass : impl::SumComputedMatricesPassBase<SumComputedMatricesPass> {
  void runOnOperation() override {
    getOperation().walk([](shlo::DotGeneralOp dot) {
      if (!isSummable(dot)) return;
      shlo::DotDimensionNumbersAttr numbers = dot.getDotDimensionNumbers();
      const Side left{dot.getLhs(), numbers.getLhsBatchingDimensions(),
                      numbers.getLhsContractingDimensions()};
      const Side right{dot.getRhs(), numbers.getRhsBatchingDimensions(),
                       numbers.getRhsContractingDimensions()};
      const bool isLeftVector = left.ownElements() == 1;
      if (isLeftVector == (right.ownElements() == 1)) return;
      const Side& matrix = isLeftVector ? right : left;
      if (!matrix.summed.empty() && isComputedFor(matrix.value, dot)) {
        sumRows(dot, isLeftVector ? left : right, matrix);
      }
    });
  }
};

}  // namespace
}  // namespace isthmus
