#include "compiler/partition/split/indexed_blocks.h"

#include "compiler/dialect/types/array_shape.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

using mlir::RankedTensorType;
using mlir::Value;
using Operands = llvm::SmallVectorImpl<Value>;

}  // namespace

IndexedBlocks::IndexedBlocks(mlir::Operation* op, int64_t d, const MeshSharding& sharding,
                             mlir::OpBuilder& builder, SpmdBuilder& spmd)
    : op_(op),
      d_(d),
      size_(tensorTypeOf(op->getOperand(0)).getShape()[d]),
      block_(blockRows(size_, sharding.shards(d))),
      builder_(builder),
      spmd_(spmd),
      location_(op->getLoc()),
      start_(spmd.blockStart(sharding, d, block_, op->getLoc())) {}

void IndexedBlocks::localize(Operands& operands) {
  if (llvm::isa<shlo::GatherOp>(op_)) return localizeGather(operands);
  if (llvm::isa<shlo::ScatterOp>(op_)) return localizeScatter(operands);
  localizeSlice(operands, llvm::isa<shlo::DynamicUpdateSliceOp>(op_) ? 2 : 1);
}

Value IndexedBlocks::converted(Value index) {
  auto type = tensorTypeOf(index);
  if (type.getElementType().isSignlessInteger(64)) return index;
  return shlo::ConvertOp::create(
      builder_, location_, RankedTensorType::get(type.getShape(), builder_.getI64Type()), index);
}

Value IndexedBlocks::filled(int64_t number, Value like) {
  return shlo::ConstantOp::create(builder_, location_,
                                  mlir::DenseElementsAttr::get(tensorTypeOf(like), number));
}

Value IndexedBlocks::clamped(Value index, int64_t last) {
  Value high = shlo::MinOp::create(builder_, location_, index, filled(last, index));
  return shlo::MaxOp::create(builder_, location_, high, filled(0, index));
}

// Where in this device's block the rows begin that are nearest to the `rows` from `index` on,
// within the array; isHere_ says where they are those, and before_ how far they are from them.
Value IndexedBlocks::nearest(Value index, int64_t rows) {
  Value start = shlo::BroadcastInDimOp::create(builder_, location_, tensorTypeOf(index), start_,
                                               llvm::ArrayRef<int64_t>());
  Value local = shlo::SubtractOp::create(builder_, location_, clamped(index, size_ - rows), start);
  Value near = clamped(local, block_ - window(rows));
  isHere_ =
      shlo::CompareOp::create(builder_, location_, local, near, shlo::ComparisonDirection::EQ);
  if (rows > 1) before_ = shlo::SubtractOp::create(builder_, location_, near, local);
  return near;
}

// `count` rows of `rows`, from row `by` on, which may be outside: zeros.
Value IndexedBlocks::moved(Value rows, Value by, int64_t count) {
  auto type = tensorTypeOf(rows);
  const int64_t size = type.getShape()[d_];
  llvm::SmallVector<int64_t> none(type.getRank()), edge(none), shape(type.getShape());
  edge[d_] = count;
  shape[d_] = size + 2 * count;
  Value zero = spmd_.zero(type.getElementType(), location_);
  Value padded =
      shlo::PadOp::create(builder_, location_, RankedTensorType::get(shape, type.getElementType()),
                          rows, zero, edge, edge, none);
  Value low = filled(count, by);
  llvm::SmallVector<Value> starts(type.getRank(), filled(0, by));
  starts[d_] = clamped(shlo::AddOp::create(builder_, location_, by, low), size + count);
  shape[d_] = count;
  return shlo::DynamicSliceOp::create(builder_, location_,
                                      RankedTensorType::get(shape, type.getElementType()), padded,
                                      starts, shape);
}

// Component k of the index vectors, which stay vectors of one.
Value IndexedBlocks::component(Value indices, int64_t vectorDim, int64_t k, int64_t count) {
  auto type = tensorTypeOf(indices);
  if (vectorDim == type.getRank()) return indices;
  llvm::SmallVector<int64_t> starts(type.getRank()), limits(type.getShape()),
      strides(type.getRank(), 1);
  starts[vectorDim] = k;
  limits[vectorDim] = k + count;
  return shlo::SliceOp::create(builder_, location_, indices, starts, limits, strides);
}

Value IndexedBlocks::withComponent(Value indices, Value value, int64_t vectorDim, int64_t k) {
  auto type = tensorTypeOf(indices);
  if (vectorDim == type.getRank() || type.getShape()[vectorDim] == 1) return value;
  int64_t last = type.getShape()[vectorDim] - 1;
  llvm::SmallVector<Value> parts;
  if (k > 0) parts.push_back(component(indices, vectorDim, 0, k));
  parts.push_back(value);
  if (k < last) parts.push_back(component(indices, vectorDim, k + 1, last - k));
  return shlo::ConcatenateOp::create(builder_, location_, type, parts,
                                     static_cast<uint64_t>(vectorDim));
}

void IndexedBlocks::localizeGather(Operands& operands) {
  auto dims = llvm::cast<shlo::GatherOp>(op_).getDimensionNumbers();
  int64_t k = llvm::find(dims.getStartIndexMap(), d_) - dims.getStartIndexMap().begin();
  Value indices = converted(operands[1]);
  Value near = nearest(component(indices, dims.getIndexVectorDim(), k, 1));
  operands[1] = withComponent(indices, near, dims.getIndexVectorDim(), k);
}

// Updates outside the array are not made, and so is each made by the device that has its place.
void IndexedBlocks::localizeScatter(Operands& operands) {
  auto scatter = llvm::cast<shlo::ScatterOp>(op_);
  auto dims = scatter.getScatterDimensionNumbers();
  int64_t k = llvm::find(dims.getScatterDimsToOperandDims(), d_) -
              dims.getScatterDimsToOperandDims().begin();
  Value& indices = operands[scatter.getInputs().size()];
  Value wide = converted(indices);
  Value one = component(wide, dims.getIndexVectorDim(), k, 1);
  Value start = shlo::BroadcastInDimOp::create(builder_, location_, tensorTypeOf(one), start_,
                                               llvm::ArrayRef<int64_t>());
  Value local = shlo::SubtractOp::create(builder_, location_, one, start);
  indices = withComponent(wide, local, dims.getIndexVectorDim(), k);
}

void IndexedBlocks::localizeSlice(Operands& operands, size_t firstIndex) {
  for (Value& index : llvm::drop_begin(operands, firstIndex)) index = converted(index);
  Value& index = operands[firstIndex + d_];
  rows_ = tensorTypeOf(firstIndex == 1 ? op_->getResult(0) : op_->getOperand(1)).getShape()[d_];
  index = nearest(index, rows_);
  if (firstIndex == 2 && rows_ > 1) operands[1] = moved(operands[1], before_, window(rows_));
}

void IndexedBlocks::keepOthers(Operands& operands) {
  if (!llvm::isa<shlo::DynamicUpdateSliceOp>(op_)) return;
  auto update = tensorTypeOf(operands[1]);
  Value isHere = isHere_;
  if (rows_ > 1) {
    auto numbers = RankedTensorType::get(update.getShape(), builder_.getI64Type());
    Value row = shlo::IotaOp::create(builder_, location_, numbers, d_);
    Value before = shlo::BroadcastInDimOp::create(builder_, location_, numbers, before_,
                                                  llvm::ArrayRef<int64_t>());
    Value at = shlo::AddOp::create(builder_, location_, row, before);
    isHere = shlo::CompareOp::create(builder_, location_, at, clamped(at, rows_ - 1),
                                     shlo::ComparisonDirection::EQ);
  }
  llvm::SmallVector<Value> starts(llvm::drop_begin(operands, 2));
  Value old = shlo::DynamicSliceOp::create(builder_, location_, update, operands[0], starts,
                                           update.getShape());
  operands[1] = shlo::SelectOp::create(builder_, location_, update, isHere, operands[1], old);
}

Value IndexedBlocks::masked(Value result) {
  if (!llvm::isa<shlo::GatherOp, shlo::DynamicSliceOp>(op_)) return result;
  // Rows that are not this device's are zeros.
  if (rows_ > 1) {
    return moved(result, shlo::NegOp::create(builder_, location_, before_), rows_);
  }
  auto type = tensorTypeOf(result);
  mlir::OpBuilder::InsertionGuard guard(builder_);
  Value isHere = isHere_;
  if (auto gather = llvm::dyn_cast<shlo::GatherOp>(op_)) {
    auto dims = gather.getDimensionNumbers();
    llvm::SmallVector<int64_t> batch, shape;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (llvm::is_contained(dims.getOffsetDims(), d)) continue;
      batch.push_back(d);
      shape.push_back(type.getShape()[d]);
    }
    auto truth = RankedTensorType::get(shape, builder_.getI1Type());
    if (tensorTypeOf(isHere) != truth) {
      isHere = shlo::ReshapeOp::create(builder_, location_, truth, isHere);
    }
    isHere = shlo::BroadcastInDimOp::create(
        builder_, location_, RankedTensorType::get(type.getShape(), builder_.getI1Type()), isHere,
        batch);
  }
  Value zero = shlo::ConstantOp::create(
      builder_, location_,
      mlir::DenseElementsAttr::get(RankedTensorType::get({}, builder_.getI64Type()), int64_t{0}));
  zero = shlo::ConvertOp::create(builder_, location_,
                                 RankedTensorType::get({}, type.getElementType()), zero);
  Value zeros =
      shlo::BroadcastInDimOp::create(builder_, location_, type, zero, llvm::ArrayRef<int64_t>());
  return shlo::SelectOp::create(builder_, location_, type, isHere, result, zeros);
}

}  // namespace isthmus
