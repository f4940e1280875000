#include "compiler/schedule/attention/attention_shape.h"

#include "compiler/dialect/types/array_shape.h"

namespace isthmus {
namespace {

using Sizes = llvm::ArrayRef<int64_t>;

using Strides = llvm::SmallVector<int64_t, 6>;

// Calls `each(dimension of from, dimension of to)` for dimensions other than 1 of two shapes that
// are the same without the others.
template <typename Each>
void matchDims(Sizes from, Sizes to, const Each& each) {
  size_t other = 0;
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] == 1) continue;
    while (to[other] == 1) ++other;
    each(d, other++);
  }
}

// Of an operand of a product, dimension by dimension, in the array in memory: 0 where its elements
// are repeated.
Strides operandStrides(mlir::Value operand) {
  mlir::Operation* view = operand.getDefiningOp();
  if (!view || !mlir::isa<shlo::BroadcastInDimOp, shlo::ReshapeOp>(view) ||
      stripViews(operand) == operand) {
    return stridesOf(shapeOf(operand));
  }
  mlir::Value source = view->getOperand(0);
  const Strides ofSource = operandStrides(source);
  Strides strides(static_cast<size_t>(rankOf(operand)), 0);
  if (auto broadcast = mlir::dyn_cast<shlo::BroadcastInDimOp>(view)) {
    for (auto [d, to] : llvm::enumerate(broadcast.getBroadcastDimensions())) {
      if (shapeOf(source)[d] != 1) strides[static_cast<size_t>(to)] = ofSource[d];
    }
  } else {
    matchDims(shapeOf(source), shapeOf(operand),
              [&](size_t from, size_t to) { strides[to] = ofSource[from]; });
  }
  return strides;
}

// One operand of a product, dimension by dimension.
struct Side {
  Sizes shape, batch, summed;
  Strides strides;
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

// Strides of a product's result, dimension by dimension, once it is moved.
Strides resultStrides(RowProduct& product) {
  Strides strides = stridesOf(shapeOf(product.result()));
  for (mlir::Operation* move : llvm::reverse(product.moves)) {
    Strides before(static_cast<size_t>(rankOf(move->getOperand(0))), 0);
    if (auto transpose = mlir::dyn_cast<shlo::TransposeOp>(move)) {
      for (auto [to, from] : llvm::enumerate(transpose.getPermutation())) {
        before[static_cast<size_t>(from)] = strides[to];
      }
    } else if (mlir::isa<shlo::ReshapeOp>(move)) {
      matchDims(shapeOf(move->getOperand(0)), shapeOf(move->getResult(0)),
                [&](size_t from, size_t to) { before[from] = strides[to]; });
    } else {
      before = strides;
    }
    strides = std::move(before);
  }
  return strides;
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
    ScoresStrides strides = scoresStridesOf(attention_.scores[0]);
    size_t role = 0;
    for (int64_t q : query.batch) {
      if (query.shape[q] == 1) continue;
      shape_.batch.push_back({query.shape[q], strides.query[role], strides.key[role], 0, 0});
      ++role;
    }
    for (int64_t q : query.free) {
      if (query.shape[q] != 1) {
        shape_.rows.push_back({query.shape[q], strides.query[role++], 0, 0, 0});
      }
    }
    for (int64_t k : key.free) {
      if (key.shape[k] != 1) shape_.keys = {key.shape[k], 0, strides.key[role++], 0, 0};
    }
    shape_.sums = strides.sums;
  }

  void addProduct() {
    ProductStrides strides = productStridesOf(attention_, attention_.products[0]);
    size_t role = 0;
    for (AttentionDim& dim : shape_.batch) {
      dim.value = strides.operand[role];
      dim.result = strides.result[role++];
    }
    for (AttentionDim& dim : shape_.rows) dim.result = strides.result[role++];
    shape_.keys.value = strides.operand[role];
    shape_.features = strides.features;
  }

  Attention& attention_;
  AttentionShape shape_;
};

}  // namespace

ScoresStrides scoresStridesOf(shlo::DotGeneralOp scores) {
  auto [query, key] = sidesOf(scores);
  ScoresStrides found;
  auto add = [&](int64_t ofQuery, int64_t ofKey) {
    found.query.push_back(ofQuery);
    found.key.push_back(ofKey);
  };
  for (auto [q, k] : llvm::zip(query.batch, key.batch)) {
    if (query.shape[q] != 1) add(query.strides[q], key.strides[k]);
  }
  for (int64_t q : query.free) {
    if (query.shape[q] != 1) add(query.strides[q], 0);
  }
  for (int64_t k : key.free) {
    if (key.shape[k] != 1) add(0, key.strides[k]);
  }
  for (auto [q, k] : llvm::zip(query.summed, key.summed)) {
    if (query.shape[q] != 1) {
      found.sums.push_back({query.shape[q], query.strides[q], key.strides[k], 0, 0});
    }
  }
  return found;
}

ProductStrides productStridesOf(Attention& attention, RowProduct& product) {
  const bool isLeft = attention.weightsAreLeft(product);
  auto [lhs, rhs] = sidesOf(product.dot);
  Side& weights = isLeft ? lhs : rhs;
  Side& values = isLeft ? rhs : lhs;
  const Strides strides = resultStrides(product);
  const size_t batches = weights.batch.size();
  const size_t firstRow = batches + (isLeft ? 0 : values.free.size());
  const size_t firstFeature = batches + (isLeft ? weights.free.size() : 0);
  const auto roles = weights.position(static_cast<int64_t>(weights.shape.size()));
  ProductStrides found;
  found.operand.assign(roles, 0);
  found.result.assign(roles, 0);
  for (size_t i = 0; i < batches; ++i) {
    if (weights.shape[weights.batch[i]] == 1) continue;
    found.operand[weights.position(weights.batch[i])] = values.strides[values.batch[i]];
    found.result[weights.position(weights.batch[i])] = strides[i];
  }
  for (auto [i, d] : llvm::enumerate(weights.free)) {
    if (weights.shape[d] != 1) found.result[weights.position(d)] = strides[firstRow + i];
  }
  for (auto [w, v] : llvm::zip(weights.summed, values.summed)) {
    if (weights.shape[w] != 1) found.operand[weights.position(w)] = values.strides[v];
  }
  for (auto [i, d] : llvm::enumerate(values.free)) {
    if (values.shape[d] == 1) continue;
    found.features.push_back({values.shape[d], 0, 0, values.strides[d], strides[firstFeature + i]});
  }
  return found;
}

AttentionShape attentionShapeOf(Attention attention) { return ShapeBuilder(attention).run(); }

}  // namespace isthmus
