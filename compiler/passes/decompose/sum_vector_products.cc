// The sum-vector-products pass: products of one or a few vectors and a matrix, or of vectors,
// become sums of elementwise products where a kernel that sums does better than the library:
// - the matrix is computed for the product alone, so that the kernel computes it, and nothing of
//   its size is stored, as in Gaussian processes and with weights of few bits;
// - two vectors are so long that threads share them, which they do in sums;
// - the matrices of a batch lie interleaved, with the batch innermost;
// - the library has no form for vectors of such types, and would pack the matrix into tiles to read
//   it once: all but f32 and f64; and a few times: wide integers and complex numbers.
//
// Late, since a matrix may turn out to be computed before a loop, or for several readers.
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/dialect/types/permutation.h"
#include "compiler/passes/decompose/product_sums.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/passes.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {

#define GEN_PASS_DEF_SUMVECTORPRODUCTSPASS
#include "compiler/passes/passes.h.inc"

namespace {

using Dims = llvm::SmallVector<int64_t>;

// Of one step of all vectors, for each of which a row of the matrix is read again where it is near:
// for more of them packing it pays.
constexpr int64_t kMaxStepBytes = 64;
// Smaller matrices are packed in no time.
constexpr int64_t kMinMatrixBytes = 16 << 10;

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

// What is summed: the dimensions of the matrix, with those of several vectors in front of the
// summed ones, so that a row of the matrix meets all vectors before the next is read.
struct Terms {
  Dims shape;
  Dims ofMatrix, ofVectors;  // where their dimensions are in it; not those of a vector by itself
  Dims vectorShape;          // of these dimensions
};

Terms termsOf(const Side& vectors, const Side& matrix) {
  Terms terms;
  terms.shape.assign(shapeOf(matrix.value).begin(), shapeOf(matrix.value).end());
  const int64_t front = *llvm::min_element(matrix.summed);
  int64_t count = 0;
  for (auto [d, size] : llvm::enumerate(shapeOf(vectors.value))) {
    if (!vectors.isOwn(static_cast<int64_t>(d)) || size == 1) continue;
    terms.shape.insert(terms.shape.begin() + front + count++, size);
  }
  for (int64_t d = 0; d < rankOf(matrix.value); ++d) {
    terms.ofMatrix.push_back(d < front ? d : d + count);
  }
  int64_t own = front;
  for (auto [d, size] : llvm::enumerate(shapeOf(vectors.value))) {
    const auto dim = static_cast<int64_t>(d);
    const auto* summed = llvm::find(vectors.summed, dim);
    const auto* batch = llvm::find(vectors.batch, dim);
    if (summed != vectors.summed.end()) {
      const int64_t other = matrix.summed[static_cast<size_t>(summed - vectors.summed.begin())];
      terms.ofVectors.push_back(terms.ofMatrix[static_cast<size_t>(other)]);
    } else if (batch != vectors.batch.end()) {
      const int64_t other = matrix.batch[static_cast<size_t>(batch - vectors.batch.begin())];
      terms.ofVectors.push_back(terms.ofMatrix[static_cast<size_t>(other)]);
    } else if (size > 1) {
      terms.ofVectors.push_back(own++);
    } else {
      continue;
    }
    terms.vectorShape.push_back(size);
  }
  return terms;
}

void sumRows(shlo::DotGeneralOp dot, const Side& vectors, const Side& matrix, bool isMatrixLeft) {
  mlir::OpBuilder builder(dot);
  ArrayBuilder b(dot, builder);
  const mlir::Type type = sumTypeOf(dot);
  const Terms terms = termsOf(vectors, matrix);
  auto transposed = [&](mlir::Value value, llvm::ArrayRef<int64_t> order) -> mlir::Value {
    if (isIdentity(order)) return value;
    return shlo::TransposeOp::create(builder, dot.getLoc(), permuted(value.getType(), order), value,
                                     order);
  };
  auto overTerms = [&](mlir::Value value, Dims places) {
    // Several vectors as rows: each row of the matrix reads all of them.
    if (vectors.ownElements() > 1) {
      Dims order = llvm::to_vector(llvm::seq<int64_t>(rankOf(value)));
      llvm::sort(order, [&](int64_t x, int64_t y) { return places[x] < places[y]; });
      value = transposed(value, order);
      llvm::sort(places);
    }
    const bool isWhole = places.size() == terms.shape.size() && isIdentity(places);
    return b.convert(isWhole ? value : b.broadcast(value, terms.shape, places), type);
  };
  mlir::Value product =
      b.mul(overTerms(matrix.value, terms.ofMatrix),
            overTerms(b.reshape(vectors.value, terms.vectorShape), terms.ofVectors));
  auto placesOf = [&](llvm::ArrayRef<int64_t> dims) {
    return llvm::to_vector(
        llvm::map_range(dims, [&](int64_t d) { return terms.ofMatrix[static_cast<size_t>(d)]; }));
  };
  const Dims summed = placesOf(matrix.summed), batch = placesOf(matrix.batch);
  mlir::Value sum = b.convert(b.sum(product, summed), elementTypeOf(dot.getResult()));
  // The result has batch dimensions first, then the left operand's own ones.
  Dims kept, order;
  for (int64_t d = 0; d < static_cast<int64_t>(terms.shape.size()); ++d) {
    if (!llvm::is_contained(summed, d)) kept.push_back(d);
  }
  for (int64_t d : batch) order.push_back(llvm::find(kept, d) - kept.begin());
  for (bool ofMatrix : {isMatrixLeft, !isMatrixLeft}) {
    for (auto [i, d] : llvm::enumerate(kept)) {
      if (!llvm::is_contained(batch, d) && llvm::is_contained(terms.ofMatrix, d) == ofMatrix) {
        order.push_back(static_cast<int64_t>(i));
      }
    }
  }
  sum = transposed(sum, order);
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
      const bool isMatrixLeft = left.ownElements() >= right.ownElements();
      const Side& matrix = isMatrixLeft ? left : right;
      const Side& vectors = isMatrixLeft ? right : left;
      if (matrix.summed.empty()) return;
      const bool arePairs = matrix.ownElements() == 1;
      if (vectors.ownElements() > 1 ? areVectorsSummed(dot, vectors, matrix)
                                    : isVectorSummed(dot, matrix, arePairs)) {
        sumRows(dot, vectors, matrix, isMatrixLeft);
      }
    });
  }

 private:
  bool isVectorSummed(shlo::DotGeneralOp dot, const Side& matrix, bool arePairs) const {
    if (!arePairs && mayBeAttention(dot)) return false;
    if (!isOfLibrary(dot) || batchLiesInnermost(matrix) || hasShortRows(matrix)) return true;
    return arePairs ? arrayBytes(matrix.value.getType()) >= target_.minParallelBytes
                    : isComputedFor(matrix.value, dot);
  }

  // The library multiplies several vectors of narrow types as fast, several steps at a time.
  static bool areVectorsSummed(shlo::DotGeneralOp dot, const Side& vectors, const Side& matrix) {
    const mlir::Type type = elementTypeOf(dot.getResult());
    const bool isWide =
        mlir::isa<mlir::ComplexType>(type) || type.isInteger(32) || type.isInteger(64);
    const int64_t matrixBytes = arrayBytes(matrix.value.getType());
    return isWide && elementTypeOf(matrix.value) == type &&
           vectors.ownElements() * elementBytes(type) <= kMaxStepBytes &&
           matrixBytes >= kMinMatrixBytes && hasSummedRows(matrix);
  }

  // Whether neighbours in memory are of different products: a kernel computes them side by side.
  static bool batchLiesInnermost(const Side& matrix) {
    const llvm::ArrayRef<int64_t> shape = shapeOf(matrix.value);
    auto d = static_cast<int64_t>(shape.size()) - 1;
    while (d >= 0 && shape[d] == 1) --d;
    return d >= 0 && llvm::is_contained(matrix.batch, d);
  }

  // Whether vectors along the terms would not be full: the library packs such a matrix. (Those of
  // batches may be attention's.)
  bool hasShortRows(const Side& matrix) const {
    int64_t terms = 1;
    for (int64_t d : matrix.summed) terms *= shapeOf(matrix.value)[d];
    const auto bits = elementTypeOf(matrix.value).getIntOrFloatBitWidth();
    return matrix.batch.empty() && hasSummedRows(matrix) && terms > 1 &&
           terms < target_.vectorLanes(bits);
  }

  // Whether what is summed lies side by side.
  static bool hasSummedRows(const Side& matrix) {
    const int64_t rank = rankOf(matrix.value);
    const auto count = static_cast<int64_t>(matrix.summed.size());
    return llvm::all_of(matrix.summed, [&](int64_t d) { return d >= rank - count; });
  }

  TargetModel target_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createSumVectorProductsPass(const TargetModel& target) {
  return std::make_unique<SumVectorProductsPass>(target);
}

}  // namespace isthmus
