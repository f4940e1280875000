#include "compiler/schedule/attention/attention_shape.h"

#include "compiler/dialect/array_shape.h"

namespace isthmus {
namespace {

using Sizes = llvm::ArrayRef<int64_t>;

// Of an operand of a product, dimension by dimension, in the array in memory: 0 where its elements
// are repeated.
llvm::SmallVector<int64_t, 6> operandStrides(mlir::Value operand) {
  auto broadcast = operand.getDefiningOp<shlo::BroadcastInDimOp>();
  if (!broadcast) return stridesOf(shapeOf(operand));
  mlir::Value source = broadcast.getOperand();
  llvm::SmallVector<int64_t, 6> strides(static_cast<size_t>(rankOf(operand)), 0);
  llvm::SmallVector<int64_t, 6> ofSource = stridesOf(shapeOf(source));
  for (auto [d, to] : llvm::enumerate(broadcast.getBroadcastDimensions())) {
    if (shapeOf(source)[d] != 1) strides[static_cast<size_t>(to)] = ofSource[d];
  }
  return strides;
}

// One operand of a product, dimension by dimension.
struct Side {
  Sizes shape, batch, summed;
  llvm::SmallVector<int64_t, 6> strides;
  llvm::SmallVector<int64_t, 4> free;

  Side(mlir::Value operand, Sizes batching, Sizes contracting)
      : shape(shapeOf(operand)),
        batch(batching),
        summed(contracting),
        strides(operandStrides(operand)) {
    for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
      if (!llvm::is_contained(batch, d) && !llvm::is_contained(summed, d)) free.push_back(d);
    }
  }
  // Number of `d` among the dimensions other than 1.
  size_t position(int64_t d) const {
    return static_cast<size_t>(llvm::count_if(shape.take_front(static_cast<size_t>(d)),
                                              [](int64_t size) { return size != 1; }));
  }
};

std::pair<Side, Side> sidesOf(shlo::DotGeneralOp dot) {
  shlo::DotDimensionNumbersAttr numbers = dot.getDotDimensionNumbers();
  return {
      Side(dot.getLhs(), numbers.getLhsBatchingDimensions(), numbers.getLhsContractingDimensions()),
      Side(dot.getRhs(), numbers.getRhsBatchingDimensions(),
           numbers.getRhsContractingDimensions())};
}

// Strides of a product's result, dimension by dimension, once it is transposed.
llvm::SmallVector<int64_t, 6> resultStrides(RowProduct& product) {
  llvm::SmallVector<int64_t, 6> strides = stridesOf(shapeOf(product.result()));
  if (!product.transpose) return strides;
  llvm::SmallVector<int64_t, 6> before(strides.size());
  for (auto [to, from] : llvm::enumerate(product.transpose.getPermutation())) {
    before[static_cast<size_t>(from)] = strides[to];
  }
  return before;
}

// Outermost first in the array that is read; what lies as one dimension in both arrays is one.
void merge(AttentionDims& dims) {
  auto order = [](const AttentionDim& a, const AttentionDim& b) {
    return a.query + a.value > b.query + b.value;
  };
  llvm::sort(dims, order);
  AttentionDims merged;
  for (const AttentionDim& dim : dims) {
    AttentionDim* last = merged.empty() ? nullptr : &merged.back();
    const bool isOne = last && last->query == dim.size * dim.query &&
                       last->key == dim.size * dim.key && last->value == dim.size * dim.value &&
                       last->result == dim.size * dim.result;
    if (isOne) {
      *last = {last->size * dim.size, dim.query, dim.key, dim.value, dim.result};
    } else {
      merged.push_back(dim);
    }
  }
  dims = merged;
}

class ShapeBuilder {
 public:
  explicit ShapeBuilder(Attention& attention) : attention_(attention) {}

  AttentionShape run() {
    addScores();
    addProduct();
    merge(shape_.sums);
    merge(shape_.features);
    return std::move(shape_);
  }

 private:
  void addScores() {
    auto [query, key] = sidesOf(attention_.scores[0]);
    for (auto [q, k] : llvm::zip(query.batch, key.batch)) {
      if (query.shape[q] != 1) {
        shape_.batch.push_back({query.shape[q], query.strides[q], key.strides[k], 0, 0});
      }
    }
    for (int64_t q : query.free) {
      if (query.shape[q] != 1) shape_.rows.push_back({query.shape[q], query.strides[q], 0, 0, 0});
    }
    for (int64_t k : key.free) {
      if (key.shape[k] != 1) shape_.keys = {key.shape[k], 0, key.strides[k], 0, 0};
    }
    for (auto [q, k] : llvm::zip(query.summed, key.summed)) {
      if (query.shape[q] != 1) {
        shape_.sums.push_back({query.shape[q], query.strides[q], key.strides[k], 0, 0});
      }
    }
  }

  void addProduct() {
    RowProduct& product = attention_.products[0];
    const bool isLeft = attention_.weightsAreLeft(product);
    auto [lhs, rhs] = sidesOf(product.dot);
    Side& weights = isLeft ? lhs : rhs;
    Side& values = isLeft ? rhs : lhs;
    const llvm::SmallVector<int64_t, 6> strides = resultStrides(product);
    const size_t batches = weights.batch.size();
    const size_t firstRow = batches + (isLeft ? 0 : values.free.size());
    const size_t firstFeature = batches + (isLeft ? weights.free.size() : 0);
    for (size_t i = 0; i < batches; ++i) {
      if (weights.shape[weights.batch[i]] == 1) continue;
      AttentionDim& dim = shape_.batch[weights.position(weights.batch[i])];
      dim.value = values.strides[values.batch[i]];
      dim.result = strides[i];
    }
    for (auto [i, d] : llvm::enumerate(weights.free)) {
      if (weights.shape[d] == 1) continue;
      shape_.rows[weights.position(d) - shape_.batch.size()].result = strides[firstRow + i];
    }
    for (auto [w, v] : llvm::zip(weights.summed, values.summed)) {
      if (weights.shape[w] != 1) shape_.keys.value = values.strides[v];
    }
    for (auto [i, d] : llvm::enumerate(values.free)) {
      if (values.shape[d] == 1) continue;
      shape_.features.push_back(
          {values.shape[d], 0, 0, values.strides[d], strides[firstFeature + i]});
    }
  }

  Attention& attention_;
  AttentionShape shape_;
};

}  // namespace

AttentionShape attentionShapeOf(Attention attention) { return ShapeBuilder(attention).run(); }

}  // namespace isthmus
