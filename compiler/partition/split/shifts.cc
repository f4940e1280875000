#include "compiler/partition/split/shifts.h"

#include "compiler/dialect/types/array_shape.h"
#include "compiler/partition/split/moved_rows.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace isthmus {
namespace {

using mlir::RankedTensorType;
using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;

constexpr llvm::StringLiteral kTarget = "isthmus.shift";
constexpr llvm::StringLiteral kDimension = "isthmus.dimension";
constexpr llvm::StringLiteral kBy = "isthmus.by";
constexpr llvm::StringLiteral kWraps = "isthmus.wraps";

Value part(Value array, int64_t d, int64_t start, int64_t limit, mlir::OpBuilder& builder,
           mlir::Location location) {
  Dims starts(tensorTypeOf(array).getRank()), limits(tensorTypeOf(array).getShape());
  Dims strides(starts.size(), 1);
  if (start == 0 && limit == limits[d]) return array;
  starts[d] = start;
  limits[d] = limit;
  return shlo::SliceOp::create(builder, location, array, starts, limits, strides);
}

Value createShift(Value array, Value fill, const Shift& shift, mlir::OpBuilder& builder,
                  mlir::Location location) {
  llvm::SmallVector<Value> operands = {array};
  if (fill) operands.push_back(fill);
  llvm::SmallVector<mlir::NamedAttribute> attributes = {
      builder.getNamedAttr("call_target_name", builder.getStringAttr(kTarget)),
      builder.getNamedAttr(kDimension, builder.getI64IntegerAttr(shift.dimension)),
      builder.getNamedAttr(kBy, builder.getI64IntegerAttr(shift.by))};
  if (shift.wraps) attributes.push_back(builder.getNamedAttr(kWraps, builder.getUnitAttr()));
  auto call = shlo::CustomCallOp::create(builder, location, mlir::TypeRange{array.getType()},
                                         operands, attributes);
  return call->getResult(0);
}

// The dimension along which `slice` takes a part without gaps, all else being whole; -1 if there is
// none, or more.
int64_t cutDimension(shlo::SliceOp slice) {
  auto whole = tensorTypeOf(slice.getOperand()).getShape();
  int64_t cut = -1;
  for (int64_t d = 0; d < static_cast<int64_t>(whole.size()); ++d) {
    if (slice.getStrides()[d] != 1) return -1;
    if (slice.getStartIndices()[d] == 0 && slice.getLimitIndices()[d] == whole[d]) continue;
    if (cut >= 0) return -1;
    cut = d;
  }
  return cut;
}

// Rolls by nothing take all of an array and no rows of it.
void dropEmptyParts(mlir::Operation* op) {
  if (auto slice = llvm::dyn_cast<shlo::SliceOp>(op)) {
    if (slice.getOperand().getType() == slice.getResult().getType() &&
        isStaticArray(slice.getResult())) {
      slice.getResult().replaceAllUsesWith(slice.getOperand());
    }
    return;
  }
  auto concatenate = llvm::dyn_cast<shlo::ConcatenateOp>(op);
  if (!concatenate || !isStaticArray(concatenate.getResult())) return;
  llvm::SmallVector<Value> parts;
  for (Value operand : op->getOperands()) {
    if (!isStaticArray(operand)) return;
    if (tensorTypeOf(operand).getNumElements() != 0) parts.push_back(operand);
  }
  if (parts.size() == 1 && parts[0].getType() == concatenate.getResult().getType()) {
    concatenate.getResult().replaceAllUsesWith(parts[0]);
  } else if (!parts.empty() && parts.size() < op->getNumOperands()) {
    op->setOperands(parts);
  }
}

void recognizeRotation(shlo::ConcatenateOp op) {
  if (op->getNumOperands() != 2 || !isStaticArray(op.getResult())) return;
  auto left = op->getOperand(0).getDefiningOp<shlo::SliceOp>();
  auto right = op->getOperand(1).getDefiningOp<shlo::SliceOp>();
  const auto d = static_cast<int64_t>(op.getDimension());
  if (!left || !right || left.getOperand() != right.getOperand() || cutDimension(left) != d ||
      cutDimension(right) != d) {
    return;
  }
  const int64_t size = tensorTypeOf(op.getResult()).getShape()[d];
  const int64_t start = left.getStartIndices()[d];
  bool isRotation = tensorTypeOf(left.getOperand()) == tensorTypeOf(op.getResult()) &&
                    left.getLimitIndices()[d] == size && right.getStartIndices()[d] == 0 &&
                    right.getLimitIndices()[d] == start;
  if (!isRotation) return;
  mlir::OpBuilder builder(op);
  int64_t by = start > size / 2 ? start - size : start;
  op.getResult().replaceAllUsesWith(
      createShift(left.getOperand(), nullptr, {d, by, /*wraps=*/true}, builder, op.getLoc()));
}

void recognizePaddedSlice(shlo::SliceOp op) {
  auto pad = op.getOperand().getDefiningOp<shlo::PadOp>();
  if (!pad || !isStaticArray(op.getResult()) ||
      tensorTypeOf(pad.getOperand()) != tensorTypeOf(op.getResult())) {
    return;
  }
  Dims shifts;
  for (int64_t d = 0; d < tensorTypeOf(op.getResult()).getRank(); ++d) {
    if (op.getStrides()[d] != 1 || pad.getInteriorPadding()[d] != 0) return;
    shifts.push_back(op.getStartIndices()[d] - pad.getEdgePaddingLow()[d]);
  }
  mlir::OpBuilder builder(op);
  Value shifted = pad.getOperand();
  for (auto [d, by] : llvm::enumerate(shifts)) {
    if (by == 0) continue;
    shifted = createShift(shifted, pad.getPaddingValue(),
                          {static_cast<int64_t>(d), by, /*wraps=*/false}, builder, op.getLoc());
  }
  op.getResult().replaceAllUsesWith(shifted);
}

// The shift of an array that this device has whole along the dimension.
Value shiftWhole(const Shift& shift, mlir::ValueRange operands, mlir::OpBuilder& builder,
                 mlir::Location location) {
  Value array = operands[0];
  const int64_t d = shift.dimension, size = tensorTypeOf(array).getShape()[d];
  if (shift.wraps) {
    const int64_t start = (shift.by % size + size) % size;
    if (start == 0) return array;
    llvm::SmallVector<Value> parts = {part(array, d, start, size, builder, location),
                                      part(array, d, 0, start, builder, location)};
    return shlo::ConcatenateOp::create(builder, location, tensorTypeOf(array), parts,
                                       static_cast<uint64_t>(d));
  }
  Dims low(tensorTypeOf(array).getRank()), high = low, interior = low;
  low[d] = -shift.by;
  high[d] = shift.by;
  return shlo::PadOp::create(builder, location, tensorTypeOf(array), array, operands[1], low, high,
                             interior);
}

// Where the last block ends in padding: what comes around the end does not lie as other rows do.
Value shiftUneven(const Shift& shift, int64_t rows, mlir::ValueRange operands,
                  const MeshSharding& sharding, mlir::OpBuilder& builder, SpmdBuilder& spmd,
                  mlir::Location location) {
  const int64_t d = shift.dimension, by = shift.wraps ? shift.by % rows : shift.by;
  RowRequest request;
  request.count = blockRows(rows, sharding.shards(d));
  for (int64_t b = 0; b < sharding.shards(d); ++b) {
    request.starts.push_back(b * request.count + by);
  }
  std::vector<RowSource> sources = {{.rows = rows}};
  llvm::SmallVector<Value> blocks = {operands[0]};
  if (shift.wraps) {
    sources.push_back({.rows = rows, .offset = by < 0 ? -rows : rows});
    blocks.push_back(operands[0]);
  }
  return moveRows(sources, request, blocks, shift.wraps ? Value() : operands[1], d, sharding,
                  builder, spmd, location);
}

}  // namespace

std::optional<Shift> shiftOf(mlir::Operation* op) {
  auto call = llvm::dyn_cast<shlo::CustomCallOp>(op);
  if (!call || call.getCallTargetName() != kTarget) return std::nullopt;
  auto dimension = op->getAttrOfType<mlir::IntegerAttr>(kDimension);
  auto by = op->getAttrOfType<mlir::IntegerAttr>(kBy);
  if (!dimension || !by) return std::nullopt;
  return Shift{dimension.getInt(), by.getInt(), op->hasAttr(kWraps)};
}

void recognizeShifts(mlir::ModuleOp module) {
  module.walk([](mlir::Operation* op) { dropEmptyParts(op); });
  module.walk([](mlir::Operation* op) {
    if (auto concatenate = llvm::dyn_cast<shlo::ConcatenateOp>(op)) recognizeRotation(concatenate);
    if (auto slice = llvm::dyn_cast<shlo::SliceOp>(op)) recognizePaddedSlice(slice);
  });
  // Parts that nobody uses any more would be gathered all the same.
  llvm::SmallVector<mlir::Operation*> parts;
  module.walk([&](mlir::Operation* op) {
    if (llvm::isa<shlo::ConcatenateOp, shlo::SliceOp, shlo::PadOp>(op)) parts.push_back(op);
  });
  for (mlir::Operation* op : llvm::reverse(parts)) {
    if (mlir::isOpTriviallyDead(op)) op->erase();
  }
}

Value shiftBlocks(const Shift& shift, int64_t rows, mlir::ValueRange operands,
                  const MeshSharding& sharding, mlir::OpBuilder& builder, SpmdBuilder& spmd,
                  mlir::Location location) {
  const int64_t d = shift.dimension, shards = sharding.shards(d);
  if (shards == 1) return shiftWhole(shift, operands, builder, location);
  if (rows % shards != 0) {
    return shiftUneven(shift, rows, operands, sharding, builder, spmd, location);
  }
  Value block = operands[0];
  const int64_t size = tensorTypeOf(block).getShape()[d];
  // Row 0 comes from row `rest` of the block that is `hops` further.
  int64_t hops = shift.by / size - (shift.by % size < 0 ? 1 : 0);
  const int64_t rest = shift.by - hops * size;
  // This device's part of what the block that is `hops` further has.
  auto fetch = [&](int64_t hops, int64_t start, int64_t limit) -> Value {
    Value wanted = part(block, d, start, limit, builder, location);
    if (shift.wraps) hops = (hops % shards + shards) % shards;
    if (hops == 0) return wanted;
    std::vector<std::vector<int64_t>> pairs;
    Dims isInside(sharding.numPartitions);
    for (const std::vector<int64_t>& group : sharding.groups(sharding.dims[d])) {
      for (int64_t i = 0; i < shards; ++i) {
        int64_t source = i + hops;
        if (shift.wraps) source %= shards;
        if (source < 0 || source >= shards) continue;
        pairs.push_back({group[source], group[i]});
        isInside[group[i]] = 1;
      }
    }
    // A device that nobody sends to has zeros.
    Value got = wanted;
    if (!pairs.empty()) got = spmd.permute(wanted, pairs, location);
    if (shift.wraps) return got;
    Value fill = shlo::BroadcastInDimOp::create(builder, location, tensorTypeOf(wanted),
                                                operands[1], llvm::ArrayRef<int64_t>());
    return shlo::SelectOp::create(builder, location, tensorTypeOf(wanted),
                                  spmd.isOne(isInside, location), got, fill);
  };
  if (rest == 0) return fetch(hops, 0, size);
  llvm::SmallVector<Value> parts = {fetch(hops, rest, size), fetch(hops + 1, 0, rest)};
  return shlo::ConcatenateOp::create(builder, location, tensorTypeOf(block), parts,
                                     static_cast<uint64_t>(d));
}

}  // namespace isthmus
