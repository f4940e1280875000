// Reductions of some rows at a time, which are folded to numbers together.
#include "compiler/codegen/reduction.h"
#include "compiler/dialect/array_shape.h"

namespace isthmus::codegen {

llvm::Value* ReductionEmitter::emitRowVector(const ReductionSchedule& schedule) {
  rowLanes_ = schedule.lanes;
  accumulators_ = schedule.interleave;
  bool hasTail = false;
  std::optional<Val> neutral = neutralValueOf(reduce_, loops_, evaluator_);
  return foldAccumulators(accumulateRow(*neutral, &hasTail))[0].re;
}

// Two vectors of rows become one with half of each, until there is one vector: where a step adds
// lanes that differ in one bit of their number, that bit tells the two rows from there on. The
// additions are those by which foldLanes folds a single row.
Group ReductionEmitter::foldRows(llvm::SmallVector<llvm::Value*, 16> rows) {
  const auto lanes = static_cast<unsigned>(rows.size());
  for (unsigned half = lanes / 2; half > 0; half /= 2) {
    llvm::SmallVector<int, 16> low, high;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const bool isSecond = lane & half;
      low.push_back(static_cast<int>(isSecond ? lanes + lane - half : lane));
      high.push_back(static_cast<int>(isSecond ? lanes + lane : lane + half));
    }
    for (unsigned i = 0; i < half; ++i) {
      llvm::IRBuilder<>& b = loops_.here();
      Level* level = loops_.current();
      Val a{b.CreateShuffleVector(rows[i], rows[i + half], low), nullptr, level};
      Val c{b.CreateShuffleVector(rows[i], rows[i + half], high), nullptr, level};
      rows[i] = combine({a}, {c})[0].re;
    }
  }
  std::optional<Val> neutral = neutralValueOf(reduce_, loops_, evaluator_);
  return withInitial(*neutral, {{rows[0], nullptr, loops_.current()}});
}

bool Evaluator::isReducedAlready(mlir::Operation* op, const MultiIndex& index) {
  if (!columnBuffers.contains(op)) return false;
  return !rowBlock || linearize(index, tensorTypeOf(op->getResult(0))) == rowBlock->row;
}

bool Evaluator::isRowAtHand(const RowBuffer& buffer, mlir::Value value, const MultiIndex& index) {
  if (buffer.stride == 0) return true;
  if (!rowBlock) return false;
  mlir::RankedTensorType type = tensorTypeOf(value);
  MultiIndex outer = index;
  outer.dims.pop_back();
  auto rows = mlir::RankedTensorType::get(type.getShape().drop_back(), type.getElementType());
  return linearize(outer, rows) == rowBlock->row;
}

IndexExpr Evaluator::positionInRow(const RowBuffer& buffer, const MultiIndex& index) {
  const IndexExpr& column = index.dims[buffer.dim];
  if (buffer.stride == 0) return column;
  return add(scale(add(rowBlock->row, scale(rowBlock->origin, -1)), buffer.stride), column);
}

void Evaluator::reduceRowBlock(
    mlir::Operation* op, unsigned lanes,
    const std::function<void(const std::function<void(const MultiIndex&)>&)>& forRows) {
  auto reduce = mlir::cast<shlo::ReduceOp>(op);
  const ElementKind kind = kindOf(op->getResult(0));
  llvm::Type* element = kind.computeType(loops_.context());
  auto* vector = llvm::FixedVectorType::get(element, lanes);
  llvm::IRBuilder<>& entry = loops_.at(loops_.entry());
  llvm::AllocaInst* partial = entry.CreateAlloca(llvm::ArrayType::get(vector, lanes));
  partial->setAlignment(llvm::Align(64));

  mlir::Operation* outerReduce = activeReduce_;
  activeReduce_ = op;
  forRows([&](const MultiIndex& row) {
    setLanes(1);
    llvm::Value* sums = ReductionEmitter(*this, reduce, row).emitRowVector(scheduleOf(op));
    IndexExpr position = add(rowBlock->row, scale(rowBlock->origin, -1));
    llvm::Value* to = loops_.address(partial, vector, position);
    loops_.here().CreateAlignedStore(sums, to, llvm::Align(vector->getPrimitiveSizeInBits() / 8));
  });
  // Of rows that there are not, anything may be there: their results are not read.
  llvm::SmallVector<llvm::Value*, 16> rows;
  for (unsigned row = 0; row < lanes; ++row) {
    llvm::IRBuilder<>& b = loops_.here();
    rows.push_back(b.CreateAlignedLoad(vector, b.CreateConstInBoundsGEP1_64(vector, partial, row),
                                       llvm::Align(vector->getPrimitiveSizeInBits() / 8)));
  }
  MultiIndex any;
  any.dims.resize(tensorTypeOf(op->getResult(0)).getRank());
  setLanes(lanes);
  Group results = ReductionEmitter(*this, reduce, any).foldRows(std::move(rows));
  activeReduce_ = outerReduce;
  IndexExpr all;
  all.laneStride = 1;
  store(columnBuffers[op].bases[0], kind, all, results[0]);
}

}  // namespace isthmus::codegen
