// CHLO: broadcasting forms, and what is more than elementwise.
#include "compiler/dialect/chlo.h"

#include <algorithm>
#include <numeric>

#include "compiler/reference/evaluators/evaluators.h"

namespace isthmus::reference {
namespace {

// All operands in the shape that they broadcast to: by `dimensions` for the one of lower rank, else
// aligned at the last dimension, sizes of one growing.
StatusOr<std::vector<Tensor>> broadcastAll(Call& call,
                                           std::optional<llvm::ArrayRef<int64_t>> dimensions) {
  int64_t rank = 0;
  for (const Value& value : call.operands) rank = std::max(rank, value.tensor.rank());
  Dims dims(static_cast<size_t>(rank), 1);
  std::vector<std::vector<int64_t>> maps;
  for (const Value& value : call.operands) {
    const Tensor& x = value.tensor;
    std::vector<int64_t> map(static_cast<size_t>(x.rank()));
    std::iota(map.begin(), map.end(), rank - x.rank());
    if (dimensions && x.rank() < rank) {
      if (dimensions->size() != map.size()) return invalidArgument("broadcast_dimensions differ");
      map.assign(dimensions->begin(), dimensions->end());
    }
    for (size_t d = 0; d < map.size(); ++d) {
      if (map[d] < 0 || map[d] >= rank) return invalidArgument("there is no dimension ", map[d]);
      int64_t& size = dims[static_cast<size_t>(map[d])];
      if (size == 1) size = x.dims()[d];
    }
    maps.push_back(std::move(map));
  }
  std::vector<Tensor> result;
  for (size_t i = 0; i < maps.size(); ++i) {
    ISTHMUS_ASSIGN_OR_RETURN(Tensor tensor, broadcastTo(call, call.tensor(i), dims, maps[i]));
    result.push_back(std::move(tensor));
  }
  return result;
}

int64_t argumentOf(const Tensor& tensor, const Index& index) {
  return positionOf(tensor.dims(), index);
}

}  // namespace

Status evaluateBroadcasting(Call& call, scalars::Binary function) {
  std::optional<llvm::ArrayRef<int64_t>> dimensions;
  if (auto given = call.op->getAttrOfType<mlir::DenseI64ArrayAttr>("broadcast_dimensions")) {
    dimensions = given.asArrayRef();
  }
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<Tensor> x, broadcastAll(call, dimensions));
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(call.resultElementType(), x[0].dims()));
  for (int64_t i = 0; i < result.size(); ++i) {
    result.set(i, function(x[0].elementType(), x[0].get(i), x[1].get(i)));
  }
  call.results.push_back(std::move(result));
  return {};
}

Status evaluateBroadcastCompare(Call& call) {
  auto op = llvm::cast<chlo::BroadcastCompareOp>(call.op);
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<Tensor> x, broadcastAll(call, op.getBroadcastDimensions()));
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(ElementType::kPred, x[0].dims()));
  bool isTotal = op.getCompareType() == chlo::ComparisonType::TOTALORDER;
  ElementType type = x[0].elementType();
  for (int64_t i = 0; i < result.size(); ++i) {
    int order = isTotal ? scalars::compareTotally(type, x[0].get(i), x[1].get(i))
                        : scalars::compare(type, x[0].get(i), x[1].get(i));
    using enum chlo::ComparisonDirection;
    chlo::ComparisonDirection direction = op.getComparisonDirection();
    bool holds = direction == NE ? order != 0
                 : order == 0    ? direction == EQ || direction == GE || direction == LE
                 : direction == GE || direction == GT ? order == 1
                 : direction == LE || direction == LT ? order == -1
                                                      : false;
    result.set(i, scalars::makeBool(holds));
  }
  call.results.push_back(std::move(result));
  return {};
}

Status evaluateBroadcastSelect(Call& call) {
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<Tensor> x, broadcastAll(call, std::nullopt));
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(call.resultElementType(), x[0].dims()));
  for (int64_t i = 0; i < result.size(); ++i) {
    result.copyElement(i, x[x[0].integer(i) != 0 ? 1 : 2], i);
  }
  call.results.push_back(std::move(result));
  return {};
}

Status evaluateConstantLike(Call& call) {
  auto value = call.op->getAttrOfType<mlir::TypedAttr>("value");
  auto type = mlir::RankedTensorType::get({}, value.getType());
  ISTHMUS_ASSIGN_OR_RETURN(Tensor scalar, tensorOf(mlir::DenseElementsAttr::get(
                                              type, llvm::ArrayRef<mlir::Attribute>(value))));
  return addResult(call, broadcastTo(call, scalar, call.tensor(0).dims(), {}));
}

// Values in descending order, NaN first; equal ones in the order that they came in.
Status evaluateTopK(Call& call) {
  auto op = llvm::cast<chlo::TopKOp>(call.op);
  const Tensor& x = call.tensor(0);
  if (x.rank() == 0) return invalidArgument("the operand is a scalar");
  int64_t length = x.dims().back();
  auto k = static_cast<int64_t>(op.getK());
  if (k > length) return invalidArgument("k is ", k, ", the last dimension ", length);
  Dims dims = x.dims();
  dims.back() = k;
  ISTHMUS_ASSIGN_OR_RETURN(Tensor values, call.make(x.elementType(), dims));
  ISTHMUS_ASSIGN_OR_RETURN(Tensor indices, call.make(call.resultElementType(1), dims));
  for (int64_t line = 0; length != 0 && line < x.size() / length; ++line) {
    std::vector<int64_t> order(static_cast<size_t>(length));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return scalars::compareTotally(x.elementType(), x.get(line * length + a),
                                     x.get(line * length + b)) > 0;
    });
    for (int64_t i = 0; i < k; ++i) {
      int64_t from = order[static_cast<size_t>(i)];
      values.copyElement(line * k + i, x, line * length + from);
      indices.set(line * k + i, scalars::makeInteger(from));
    }
  }
  call.results.push_back(std::move(values));
  call.results.push_back(std::move(indices));
  return {};
}

// Each slice of the inputs with what the last one carried; the body gives outputs and carries.
Status evaluateScan(Call& call) {
  auto op = llvm::cast<chlo::ScanOp>(call.op);
  size_t inputs = op.getInputs().size(), carried = op.getInits().size();
  size_t outputs = op.getOutputs().size();
  auto axis = static_cast<size_t>(op.getDimension());
  int64_t length = inputs != 0 ? call.tensor(0).dims()[axis]
                               : static_cast<int64_t>(op.getScanDimSize().value_or(0));
  std::vector<Value> carries(call.operands.begin() + static_cast<int64_t>(inputs),
                             call.operands.end());
  std::vector<Tensor> results;
  for (size_t k = 0; k < outputs; ++k) {
    auto type = llvm::cast<mlir::RankedTensorType>(op.getOutputs()[k].getType());
    Dims dims = toDims(type.getShape());
    dims[axis] = length;
    ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(call.resultElementType(k), dims));
    results.push_back(std::move(result));
  }
  for (int64_t step = 0; step < length; ++step) {
    int64_t at = op.getIsReverse() ? length - 1 - step : step;
    std::vector<Value> arguments;
    for (size_t k = 0; k < inputs; ++k) {
      const Tensor& x = call.tensor(k);
      Dims starts(x.dims().size(), 0), limits = x.dims(), strides(x.dims().size(), 1);
      starts[axis] = at;
      limits[axis] = at + 1;
      ISTHMUS_ASSIGN_OR_RETURN(Tensor slice, sliceOf(call, x, starts, limits, strides));
      Dims dims = slice.dims();
      dims.erase(dims.begin() + static_cast<int64_t>(axis));
      arguments.push_back(slice.withType({slice.elementType(), dims}));
    }
    for (Value& carry : carries) arguments.push_back(std::move(carry));
    ISTHMUS_ASSIGN_OR_RETURN(std::vector<Value> given, call.run(op.getBody(), arguments));
    if (given.size() != outputs + carried) return invalidArgument("the body gives too few values");
    for (size_t k = 0; k < outputs; ++k) {
      const Tensor& slice = given[k].tensor;
      ISTHMUS_RETURN_IF_ERROR(
          forEachIndex(slice.dims(), [&](const Index& index, int64_t position) -> Status {
            Index to = index;
            to.insert(to.begin() + static_cast<int64_t>(axis), at);
            if (!isInside(results[k].dims(), to)) return invalidArgument("slices differ in shape");
            results[k].copyElement(argumentOf(results[k], to), slice, position);
            return {};
          }));
    }
    carries.assign(given.begin() + static_cast<int64_t>(outputs), given.end());
  }
  for (Tensor& result : results) call.results.push_back(std::move(result));
  for (Value& carry : carries) call.results.push_back(std::move(carry));
  return {};
}

// Three forms, by where the ragged dimension of lhs is: among its own dimensions (rhs has a slice
// for each group), among those summed over (the result has one), or among the batch (as if not
// ragged).
Status evaluateRaggedDot(Call& call) {
  auto op = llvm::cast<chlo::RaggedDotOp>(call.op);
  chlo::RaggedDotDimensionNumbersAttr numbers = op.getRaggedDotDimensionNumbers();
  const Tensor& lhs = call.tensor(0);
  const Tensor& rhs = call.tensor(1);
  const Tensor& sizes = call.tensor(2);
  if (numbers.getLhsRaggedDimensions().size() != 1) {
    return invalidArgument("there is not one ragged dimension");
  }
  int64_t ragged = numbers.getLhsRaggedDimensions()[0];
  llvm::ArrayRef<int64_t> leftBatch = numbers.getLhsBatchingDimensions();
  llvm::ArrayRef<int64_t> rightBatch = numbers.getRhsBatchingDimensions();
  llvm::ArrayRef<int64_t> leftSum = numbers.getLhsContractingDimensions();
  llvm::ArrayRef<int64_t> rightSum = numbers.getRhsContractingDimensions();
  llvm::ArrayRef<int64_t> groupDims = numbers.getRhsGroupDimensions();
  bool isSummed = llvm::is_contained(leftSum, ragged),
       isBatch = llvm::is_contained(leftBatch, ragged);
  int64_t groups = sizes.dims().empty() ? 0 : sizes.dims().back();

  // The result: groups if summed, batch, the rest of lhs, the rest of rhs.
  Dims dims, leftFree, rightFree, summed;
  if (isSummed) dims.push_back(groups);
  for (int64_t d : leftBatch) dims.push_back(lhs.dim(d));
  for (int64_t d = 0; d < lhs.rank(); ++d) {
    if (!llvm::is_contained(leftBatch, d) && !llvm::is_contained(leftSum, d)) {
      leftFree.push_back(d);
      dims.push_back(lhs.dim(d));
    }
  }
  for (int64_t d = 0; d < rhs.rank(); ++d) {
    if (!llvm::is_contained(rightBatch, d) && !llvm::is_contained(rightSum, d) &&
        !llvm::is_contained(groupDims, d)) {
      rightFree.push_back(d);
      dims.push_back(rhs.dim(d));
    }
  }
  for (int64_t d : leftSum) summed.push_back(lhs.dim(d));
  ElementType type = call.resultElementType();
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(type, dims));

  // The group that a place in the ragged dimension belongs to; group sizes may differ by batch.
  auto groupOf = [&](int64_t place, const Index& left) -> int64_t {
    int64_t row = 0;
    size_t rows = sizes.dims().size() - 1;
    for (size_t b = 0; b < rows && b < leftBatch.size(); ++b) {
      row = row * sizes.dims()[b] + left[static_cast<size_t>(leftBatch[b])];
    }
    int64_t end = 0;
    for (int64_t g = 0; g < groups; ++g) {
      end += sizes.integer(row * groups + g);
      if (place < end) return g;
    }
    return -1;
  };
  ISTHMUS_RETURN_IF_ERROR(forEachIndex(dims, [&](const Index& index, int64_t position) -> Status {
    ISTHMUS_RETURN_IF_ERROR(call.charge(ArrayType{type, summed}.numElements()));
    Index left(static_cast<size_t>(lhs.rank())), right(static_cast<size_t>(rhs.rank()));
    size_t next = isSummed ? 1 : 0;
    for (size_t b = 0; b < leftBatch.size(); ++b, ++next) {
      left[static_cast<size_t>(leftBatch[b])] = index[next];
      right[static_cast<size_t>(rightBatch[b])] = index[next];
    }
    for (int64_t d : leftFree) left[static_cast<size_t>(d)] = index[next++];
    for (int64_t d : rightFree) right[static_cast<size_t>(d)] = index[next++];
    if (!isSummed && !isBatch) {
      int64_t group = groupOf(left[static_cast<size_t>(ragged)], left);
      if (group < 0) return {};
      for (int64_t d : groupDims) right[static_cast<size_t>(d)] = group;
    }
    long double sum = 0;
    uint64_t bits = 0;
    ISTHMUS_RETURN_IF_ERROR(forEachIndex(summed, [&](const Index& inner, int64_t) -> Status {
      for (size_t k = 0; k < leftSum.size(); ++k) {
        left[static_cast<size_t>(leftSum[k])] = inner[k];
        right[static_cast<size_t>(rightSum[k])] = inner[k];
      }
      if (isSummed && groupOf(left[static_cast<size_t>(ragged)], left) != index[0]) return {};
      Scalar a = lhs.get(positionOf(lhs.dims(), left)), b = rhs.get(positionOf(rhs.dims(), right));
      sum += static_cast<long double>(a.re) * b.re;
      bits += a.bits * b.bits;
      return {};
    }));
    Scalar value;
    value.re = static_cast<double>(sum);
    value.bits = bits;
    result.set(position, value);
    return {};
  }));
  call.results.push_back(std::move(result));
  return {};
}

}  // namespace isthmus::reference
