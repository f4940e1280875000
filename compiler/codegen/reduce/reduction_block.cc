// Reductions of some rows at a time, which are folded to numbers together.
#include <algorithm>

#include "compiler/codegen/access/shuffles.h"
#include "compiler/codegen/reduce/reduction.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/types/array_shape.h"
#include "llvm/IR/Intrinsics.h"

namespace isthmus::codegen {

llvm::Value* ReductionEmitter::emitRowVector(const ReductionSchedule& schedule) {
  rowLanes_ = schedule.lanes;
  accumulators_ = schedule.interleave;
  bool hasTail = false;
  const Group sum = foldAccumulators(accumulateRow(*neutral(), &hasTail));
  if (isApart_) return inOrderOfApart(sum);
  llvm::Value* lanes = sum[0].re;
  if (!isExtremumOfFloats(reduce_, lanes->getType())) return lanes;
  // Integers in the numbers' order are compared by one instruction. Of NaNs that sign comes last,
  // or first, which wins.
  llvm::IRBuilder<>& b = loops_.here();
  const bool isMaximum = llvm::isa<shlo::MaxOp>(soleOperation(reduce_.getBody()));
  llvm::Constant* nan = llvm::ConstantFP::getNaN(lanes->getType(), /*Negative=*/!isMaximum);
  lanes = b.CreateSelect(b.CreateFCmpUNO(lanes, lanes), nan, lanes);
  return inOrder(b, asIntegers(b, lanes));
}

// Two vectors of rows become one with half of each, until there is one vector: where a step adds
// lanes that differ in one bit of their number, first `half`, that bit tells the two rows from
// there on. The additions are those by which foldLanes folds a single row.
llvm::Value* ReductionEmitter::foldRows(llvm::SmallVector<llvm::Value*, 16> rows, unsigned half) {
  const auto lanes = llvm::cast<llvm::FixedVectorType>(rows[0]->getType())->getNumElements();
  mlir::Operation* op = soleOperation(reduce_.getBody());
  for (; rows.size() > 1; half /= 2) {
    llvm::SmallVector<int, 16> low, high;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const bool isSecond = lane & half;
      low.push_back(static_cast<int>(isSecond ? lanes + lane - half : lane));
      high.push_back(static_cast<int>(isSecond ? lanes + lane : lane + half));
    }
    const size_t pairs = rows.size() / 2;
    for (size_t i = 0; i < pairs; ++i) {
      llvm::IRBuilder<>& b = loops_.here();
      auto part = [&](llvm::ArrayRef<int> mask) {
        return shuffle(b, loops_.target(), rows[i], rows[i + pairs], mask);
      };
      Val first{part(low), nullptr, loops_.current()};
      Val second{part(high), nullptr, loops_.current()};
      if (isExtremumOfFloats(reduce_, vectorOfRows(lanes))) {
        rows[i] = b.CreateBinaryIntrinsic(
            llvm::isa<shlo::MaxOp>(op) ? llvm::Intrinsic::smax : llvm::Intrinsic::smin, first.re,
            second.re);
      } else {
        rows[i] = combine({first}, {second})[0].re;
      }
    }
    rows.truncate(pairs);
  }
  return rows[0];
}

llvm::Type* ReductionEmitter::vectorOfRows(unsigned lanes) const {
  return llvm::FixedVectorType::get(initial_[0].re->getType()->getScalarType(), lanes);
}

Group ReductionEmitter::foldRowBlock(llvm::Value* partial, llvm::Type* vector, unsigned lanes) {
  const llvm::Align align(vector->getPrimitiveSizeInBits() / 8);
  auto rowAt = [&](const IndexExpr& row) -> llvm::Value* {
    llvm::Value* from = loops_.address(partial, vector, row);
    llvm::IRBuilder<>& b = loops_.here();
    if (row.constant) from = b.CreateConstInBoundsGEP1_64(vector, from, row.constant);
    return b.CreateAlignedLoad(vector, from, align);
  };
  // Four rows at a time, in a loop, and what that leaves without one: all steps in one piece would
  // be two thirds of a small kernel's code.
  const int64_t quarter = std::max<int64_t>(1, lanes / 4);
  llvm::SmallVector<llvm::Value*, 16> rows;
  unsigned half = lanes / 2;
  if (quarter > 1) {
    loops_.loop(0, quarter, 1, {}, [&](const IndexExpr& i, const Values&) {
      llvm::SmallVector<llvm::Value*, 16> four;
      for (int64_t k = 0; k < 4; ++k) four.push_back(rowAt(add(i, IndexExpr(k * quarter))));
      llvm::Value* sum = foldRows(std::move(four), half);
      llvm::Value* to = loops_.address(partial, vector, i);
      loops_.here().CreateAlignedStore(sum, to, align);
      return Values();
    });
    half /= 4;
  }
  for (int64_t i = 0; i < (quarter > 1 ? quarter : lanes); ++i) rows.push_back(rowAt(IndexExpr(i)));
  llvm::Value* all = foldRows(std::move(rows), half);
  if (isExtremumOfFloats(reduce_, vectorOfRows(lanes))) {
    llvm::IRBuilder<>& b = loops_.here();
    all = b.CreateBitCast(inOrder(b, all), vectorOfRows(lanes));
  }
  return withInitial(*neutral(), {{all, nullptr, loops_.current()}});
}

bool Evaluator::isReducedAlready(mlir::Operation* op, const MultiIndex& index) {
  if (!materialized_.accumulatorsOf(op)) return false;
  const auto& block = materialized_.rowBlock();
  return !block || linearize(index, tensorTypeOf(op->getResult(0))) == block->row;
}

bool Evaluator::isRowAtHand(const MaterializedValues::Row& row, mlir::Value value,
                            const MultiIndex& index) {
  if (row.stride == 0) return true;
  const auto& block = materialized_.rowBlock();
  return block && linearizeOuter(index, tensorTypeOf(value), index.dims.size() - 1) == block->row;
}

IndexExpr Evaluator::positionInRow(const MaterializedValues::Row& row, const MultiIndex& index) {
  const IndexExpr& column = index.dims[row.dim];
  if (row.stride == 0) return column;
  return add(scale(materialized_.rowBlock()->position(), row.stride), column);
}

void Evaluator::reduceRowBlock(
    mlir::Operation* op, unsigned lanes,
    const std::function<void(const std::function<void(const MultiIndex&)>&)>& forRows) {
  auto reduce = mlir::cast<shlo::ReduceOp>(op);
  const ElementKind kind = kindOf(op->getResult(0));
  llvm::VectorType* vector = llvm::FixedVectorType::get(kind.computeType(loops_.context()), lanes);
  if (isExtremumOfFloats(reduce, vector)) vector = llvm::VectorType::getInteger(vector);
  llvm::IRBuilder<>& entry = loops_.at(loops_.entry());
  llvm::AllocaInst* partial = entry.CreateAlloca(llvm::ArrayType::get(vector, lanes));
  partial->setAlignment(llvm::Align(64));

  mlir::Operation* outerReduce = activeReduce_;
  activeReduce_ = op;
  forRows([&](const MultiIndex& row) {
    setLanes(1);
    llvm::Value* sums = ReductionEmitter(*this, reduce, row).emitRowVector(scheduleOf(op));
    llvm::Value* to = loops_.address(partial, vector, materialized_.rowBlock()->position());
    loops_.here().CreateAlignedStore(sums, to, llvm::Align(vector->getPrimitiveSizeInBits() / 8));
  });
  // Of rows that there are not, anything may be there: their results are not read.
  MultiIndex any;
  any.dims.resize(tensorTypeOf(op->getResult(0)).getRank());
  setLanes(lanes);
  Group results = ReductionEmitter(*this, reduce, any).foldRowBlock(partial, vector, lanes);
  activeReduce_ = outerReduce;
  IndexExpr all;
  all.laneStride = 1;
  store(materialized_.accumulatorsOf(op)->bases[0], kind, all, results[0]);
}

}  // namespace isthmus::codegen
