#include "compiler/partition/split/running_windows.h"

#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/types/array_shape.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/IRMapping.h"

namespace isthmus {
namespace {

using mlir::RankedTensorType;
using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;

bool areOnes(const std::optional<llvm::ArrayRef<int64_t>>& sizes) {
  return !sizes || llvm::all_of(*sizes, [](int64_t size) { return size == 1; });
}

mlir::DenseIntElementsAttr paddingOf(int64_t rank, const RunningWindow& window, int64_t rows,
                                     mlir::OpBuilder& builder) {
  Dims padding(2 * rank);
  padding[2 * window.dimension + (window.isReversed ? 1 : 0)] = rows - 1;
  return mlir::DenseIntElementsAttr::get(RankedTensorType::get({rank, 2}, builder.getI64Type()),
                                         llvm::ArrayRef<int64_t>(padding));
}

Value spread(Value array, RankedTensorType to, llvm::ArrayRef<int64_t> dims,
             mlir::OpBuilder& builder, mlir::Location location) {
  return shlo::BroadcastInDimOp::create(builder, location, to, array, dims);
}

}  // namespace

std::optional<RunningWindow> runningWindowOf(shlo::ReduceWindowOp op) {
  if (op.getInputs().size() != 1 || !areOnes(op.getWindowStrides()) ||
      !areOnes(op.getBaseDilations()) || !areOnes(op.getWindowDilations()) || !op.getPadding()) {
    return std::nullopt;
  }
  auto type = llvm::dyn_cast<RankedTensorType>(op.getInputs()[0].getType());
  mlir::Operation* reducer = soleOperation(op->getRegion(0));
  if (!type || type != op->getResult(0).getType() || !reducer ||
      !isNeutral(reducer, op.getInitValues()[0])) {
    return std::nullopt;
  }
  std::optional<RunningWindow> window;
  auto padding = op.getPadding()->getValues<int64_t>();
  for (int64_t d = 0; d < type.getRank(); ++d) {
    const int64_t rows = type.getDimSize(d), low = padding[2 * d], high = padding[2 * d + 1];
    if (op.getWindowDimensions()[d] == 1 && low == 0 && high == 0) continue;
    bool isForward = low == rows - 1 && high == 0, isReversed = low == 0 && high == rows - 1;
    if (window || op.getWindowDimensions()[d] != rows || (!isForward && !isReversed)) {
      return std::nullopt;
    }
    window = RunningWindow{d, isReversed};
  }
  return window;
}

Value runOverBlocks(const RunningWindow& window, shlo::ReduceWindowOp op,
                    const MeshSharding& sharding, mlir::OpBuilder& builder, SpmdBuilder& spmd) {
  mlir::Location location = op.getLoc();
  const int64_t d = window.dimension;
  auto block = llvm::cast<RankedTensorType>(op->getResult(0).getType());
  const int64_t rank = block.getRank(), rows = block.getDimSize(d);
  Dims sizes(op.getWindowDimensions());
  sizes[d] = rows;
  op.setWindowDimensions(sizes);
  op.setPaddingAttr(paddingOf(rank, window, rows, builder));

  // What each block comes to, and of those the ones before this device's.
  Dims starts(rank), limits(block.getShape()), ones(rank, 1);
  starts[d] = window.isReversed ? 0 : rows - 1;
  limits[d] = starts[d] + 1;
  Value total = shlo::SliceOp::create(builder, location, op->getResult(0), starts, limits, ones);
  Value totals = spmd.gather(total, sharding, d, sharding.dims[d], location);
  auto all = tensorTypeOf(totals);
  auto counters = RankedTensorType::get(all.getShape(), builder.getI64Type());
  Value places = shlo::IotaOp::create(builder, location, counters, static_cast<uint64_t>(d));
  Value here = spread(spmd.blockStart(sharding, d, 1, location), counters, {}, builder, location);
  Value isBefore = shlo::CompareOp::create(
      builder, location, places, here,
      window.isReversed ? shlo::ComparisonDirection::GT : shlo::ComparisonDirection::LT);
  Value init = op.getInitValues()[0];
  Value before = shlo::SelectOp::create(builder, location, all, isBefore, totals,
                                        spread(init, all, {}, builder, location));
  Dims rest, kept;
  for (int64_t i = 0; i < rank; ++i) {
    if (i == d) continue;
    rest.push_back(block.getDimSize(i));
    kept.push_back(i);
  }
  auto sum = shlo::ReduceOp::create(
      builder, location, mlir::TypeRange{RankedTensorType::get(rest, block.getElementType())},
      mlir::ValueRange{before}, mlir::ValueRange{init}, llvm::ArrayRef<int64_t>{d});
  mlir::IRMapping mapping;
  op->getRegion(0).cloneInto(&sum->getRegion(0), mapping);
  mlir::OperationState state(
      location, soleOperation(op->getRegion(0))->getName(),
      {spread(sum->getResult(0), block, kept, builder, location), op->getResult(0)}, {block});
  return builder.create(state)->getResult(0);
}

}  // namespace isthmus
