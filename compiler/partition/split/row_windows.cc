#include "compiler/partition/split/row_windows.h"

#include "compiler/dialect/types/array_shape.h"
#include "compiler/partition/rules/factor_rules.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/Builders.h"

namespace isthmus {
namespace {

using mlir::RankedTensorType;
using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;

// Index vectors are the last dimension, and signed.
bool hasPlainIndices(Value indices, int64_t vectorDim) {
  auto type = tensorTypeOf(indices);
  return vectorDim == type.getRank() - 1 && type.getElementType().isSignlessInteger();
}

// Whether a window of `rows` rows is one of a few in a dimension of `size` rows that is split.
bool isSplitWindow(int64_t rows, int64_t size, const MeshSharding& sharding, int64_t d) {
  return rows > 1 && isFew(rows, size) && sharding.shards(d) > 1;
}

// The dimensions of `all` without `d`, and `inserted` sorted with it.
Dims without(llvm::ArrayRef<int64_t> all, int64_t d) {
  return llvm::to_vector(llvm::make_filter_range(all, [&](int64_t one) { return one != d; }));
}
Dims with(llvm::ArrayRef<int64_t> all, int64_t d) {
  Dims dims(all);
  dims.insert(llvm::lower_bound(dims, d), d);
  return dims;
}

// How many dimensions of an array before `d` are no `windowDims`: where in the indices, without
// their vectors, a dimension comes that is at `d` in the array.
int64_t placeOf(int64_t d, llvm::ArrayRef<int64_t> windowDims) {
  return d - llvm::count_if(windowDims, [&](int64_t one) { return one < d; });
}

// `dims` of indices that have one more dimension at `place`.
Dims moved(llvm::ArrayRef<int64_t> dims, int64_t place) {
  Dims result(dims);
  for (int64_t& d : result) d += d >= place ? 1 : 0;
  return result;
}

class RowIndices {
 public:
  RowIndices(Value indices, mlir::OpBuilder& builder)
      : builder_(builder), location_(indices.getLoc()), indices_(indices) {}

  // For each index vector those of the `rows` rows from it on, in a new dimension at `place`.
  // Component `k` counts rows, of which there are `size`. A window that is not inside moves there
  // if `isClamped`, else none of its rows is.
  Value make(int64_t place, int64_t rows, int64_t k, int64_t size, bool isClamped) {
    auto old = tensorTypeOf(indices_);
    Dims shape(old.getShape()), kept;
    for (int64_t d = 0; d < old.getRank(); ++d) kept.push_back(d < place ? d : d + 1);
    shape.insert(shape.begin() + place, rows);
    type_ = RankedTensorType::get(shape, builder_.getI64Type());
    Value wide = shlo::ConvertOp::create(
        builder_, location_, RankedTensorType::get(old.getShape(), builder_.getI64Type()),
        indices_);
    Value all = shlo::BroadcastInDimOp::create(builder_, location_, type_, wide, kept);
    Value row = shlo::IotaOp::create(builder_, location_, type_, place);
    Value inside = shlo::MaxOp::create(
        builder_, location_, shlo::MinOp::create(builder_, location_, all, filled(size - rows)),
        filled(0));
    Value at = shlo::AddOp::create(builder_, location_, inside, row);
    if (!isClamped) at = select(equal(all, inside), at, filled(-1));
    Value component = shlo::IotaOp::create(builder_, location_, type_, type_.getRank() - 1);
    return select(equal(component, filled(k)), at, all);
  }

 private:
  Value filled(int64_t number) {
    return shlo::ConstantOp::create(builder_, location_,
                                    mlir::DenseElementsAttr::get(type_, number));
  }
  Value equal(Value a, Value b) {
    return shlo::CompareOp::create(builder_, location_, a, b, shlo::ComparisonDirection::EQ);
  }
  Value select(Value which, Value a, Value b) {
    return shlo::SelectOp::create(builder_, location_, type_, which, a, b);
  }

  mlir::OpBuilder& builder_;
  mlir::Location location_;
  Value indices_;
  RankedTensorType type_;
};

bool splitWindow(shlo::ScatterOp op, const Propagation& propagation) {
  shlo::ScatterDimensionNumbersAttr dims = op.getScatterDimensionNumbers();
  if (!hasPlainIndices(op.getScatterIndices(), dims.getIndexVectorDim())) return false;
  auto input = tensorTypeOf(op.getInputs()[0]), updates = tensorTypeOf(op.getUpdates()[0]);
  MeshSharding sharding = propagation.of(op.getInputs()[0]);
  size_t window = 0;
  for (int64_t d = 0; d < input.getRank(); ++d) {
    if (llvm::is_contained(dims.getInsertedWindowDims(), d) ||
        llvm::is_contained(dims.getInputBatchingDims(), d)) {
      continue;
    }
    const int64_t from = dims.getUpdateWindowDims()[window++], rows = updates.getDimSize(from);
    auto k = llvm::find(dims.getScatterDimsToOperandDims(), d);
    if (k == dims.getScatterDimsToOperandDims().end() ||
        !isSplitWindow(rows, input.getDimSize(d), sharding, d)) {
      continue;
    }
    mlir::OpBuilder builder(op);
    const int64_t place = placeOf(from, dims.getUpdateWindowDims());
    Value indices = RowIndices(op.getScatterIndices(), builder)
                        .make(place, rows, k - dims.getScatterDimsToOperandDims().begin(),
                              input.getDimSize(d), /*isClamped=*/false);
    op.getScatterIndicesMutable().assign(indices);
    op.setScatterDimensionNumbersAttr(shlo::ScatterDimensionNumbersAttr::get(
        op.getContext(), without(dims.getUpdateWindowDims(), from),
        with(dims.getInsertedWindowDims(), d), dims.getInputBatchingDims(),
        moved(dims.getScatterIndicesBatchingDims(), place), dims.getScatterDimsToOperandDims(),
        dims.getIndexVectorDim() + 1));
    op.setIndicesAreSorted(false);
    return true;
  }
  return false;
}

bool splitWindow(shlo::GatherOp op, const Propagation& propagation) {
  shlo::GatherDimensionNumbersAttr dims = op.getDimensionNumbers();
  if (!hasPlainIndices(op.getStartIndices(), dims.getIndexVectorDim())) return false;
  auto operand = tensorTypeOf(op.getOperand());
  MeshSharding sharding = propagation.of(op.getOperand());
  size_t window = 0;
  for (int64_t d = 0; d < operand.getRank(); ++d) {
    if (llvm::is_contained(dims.getCollapsedSliceDims(), d) ||
        llvm::is_contained(dims.getOperandBatchingDims(), d)) {
      continue;
    }
    const int64_t to = dims.getOffsetDims()[window++], rows = op.getSliceSizes()[d];
    auto k = llvm::find(dims.getStartIndexMap(), d);
    if (k == dims.getStartIndexMap().end() ||
        !isSplitWindow(rows, operand.getDimSize(d), sharding, d)) {
      continue;
    }
    mlir::OpBuilder builder(op);
    const int64_t place = placeOf(to, dims.getOffsetDims());
    Value indices = RowIndices(op.getStartIndices(), builder)
                        .make(place, rows, k - dims.getStartIndexMap().begin(),
                              operand.getDimSize(d), /*isClamped=*/true);
    op.getStartIndicesMutable().assign(indices);
    op.setDimensionNumbersAttr(shlo::GatherDimensionNumbersAttr::get(
        op.getContext(), without(dims.getOffsetDims(), to), with(dims.getCollapsedSliceDims(), d),
        dims.getOperandBatchingDims(), moved(dims.getStartIndicesBatchingDims(), place),
        dims.getStartIndexMap(), dims.getIndexVectorDim() + 1));
    Dims sizes(op.getSliceSizes());
    sizes[d] = 1;
    op.setSliceSizes(sizes);
    op.setIndicesAreSorted(false);
    return true;
  }
  return false;
}

}  // namespace

bool splitWindows(mlir::ModuleOp module, const Propagation& propagation) {
  bool isAny = false;
  module.walk([&](mlir::Operation* op) {
    // One dimension after the other.
    if (auto scatter = llvm::dyn_cast<shlo::ScatterOp>(op)) {
      while (splitWindow(scatter, propagation)) isAny = true;
    } else if (auto gather = llvm::dyn_cast<shlo::GatherOp>(op)) {
      while (splitWindow(gather, propagation)) isAny = true;
    }
  });
  return isAny;
}

}  // namespace isthmus
