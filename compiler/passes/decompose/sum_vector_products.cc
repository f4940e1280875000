// The sum-vector-products pass: products of a vector and a matrix, or of vectors, become sums of
// elementwise products where a kernel that sums does better than the library:
// - the matrix is computed for the product alone, so that the kernel computes it, and nothing of
//   its size is stored, as in Gaussian processes and with weights of few bits;
// - two vectors are so long that threads share them, which they do in sums;
// - the library has no form for vectors of such types, and would pack the matrix into tiles to read
//   it once: all but f32 and f64.
//
// Late, since a matrix may turn out to be computed before a loop, or for several readers.
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/decompose/product_sums.h"
#include "compiler/passes/layout/permutation.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/passes.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {

#define GEN_PASS_DEF_SUMVECTORPRODUCTSPASS
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

mlir::Type elementTypeOf(mlir::Value value) { return tensorTypeOf(value).getElementType(); }

// Whether the library multiplies vectors of these types without packing.
bool isOfLibrary(shlo::DotGeneralOp dot) {
  const mlir::Type type = elementTypeOf(dot.getResult());
  return (type.isF32() || type.isF64()) && elementTypeOf(dot.getLhs()) == type &&
         elementTypeOf(dot.getRhs()) == type;
}

// Whether attention, which stores no scores, may be made of this product of a vector: of narrow
// floats in batches.
bool mayBeAttention(shlo::DotGeneralOp dot) {
  const mlir::Type type = elementTypeOf(dot.getLhs());
  return (type.isBF16() || type.isF16()) &&
         !dot.getDotDimensionNumbers().getLhsBatchingDimensions().empty();
}

bool hasElements(mlir::Value value) { return isStaticArray(value) && elementCount(value) > 0; }

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
  const mlir::Type type = sumTypeOf(dot);
  mlir::Value product =
      b.mul(b.convert(matrix.value, type), b.convert(spread(b, vector, matrix), type));
  mlir::Value sum = b.convert(b.sum(product, matrix.summed), elementTypeOf(dot.getResult()));
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

struct SumVectorProductsPass : impl::SumVectorProductsPassBase<SumVectorProductsPass> {
  using SumVectorProductsPassBase::SumVectorProductsPassBase;
  explicit SumVectorProductsPass(const TargetModel& target) : target_(target) {}

  void runOnOperation() override {
    getOperation().walk([&](shlo::DotGeneralOp dot) {
      if (!llvm::all_of(dot->getOperands(), hasElements) || !hasElements(dot.getResult()) ||
          !sumTypeOf(dot)) {
        return;
      }
      shlo::DotDimensionNumbersAttr numbers = dot.getDotDimensionNumbers();
      const Side left{dot.getLhs(), numbers.getLhsBatchingDimensions(),
                      numbers.getLhsContractingDimensions()};
      const Side right{dot.getRhs(), numbers.getRhsBatchingDimensions(),
                       numbers.getRhsContractingDimensions()};
      const bool isLeftVector = left.ownElements() == 1, isRightVector = right.ownElements() == 1;
      const Side& matrix = isLeftVector ? right : left;
      if (!(isLeftVector || isRightVector) || matrix.summed.empty()) return;
      const bool arePairs = isLeftVector && isRightVector;
      if (!arePairs && mayBeAttention(dot)) return;
      const bool staysInLibrary =
          arePairs ? arrayBytes(matrix.value.getType()) < target_.minParallelBytes
                   : !isComputedFor(matrix.value, dot);
      if (isOfLibrary(dot) && staysInLibrary) return;
      sumRows(dot, isLeftVector ? left : right, matrix);
    });
  }

  TargetModel target_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createSumVectorProductsPass(const TargetModel& target) {
  return std::make_unique<SumVectorProductsPass>(target);
}

}  // namespace isthmus
