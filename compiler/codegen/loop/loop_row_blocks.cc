// Loops over rows some at a time: their reductions first, then their results.
#include "compiler/codegen/loop/loop_kernel.h"
#include "compiler/schedule/loop/loop_scheduler.h"
#include "compiler/schedule/loop/row_blocks.h"

namespace isthmus::codegen {

// The linear index of a row among all.
IndexExpr LoopKernel::rowAt(llvm::ArrayRef<IndexExpr> at) {
  MultiIndex index = multiIndexOf(0, at);
  mlir::RankedTensorType type = roots_[0].type();
  if (at.size() == dims().size()) return evaluator_.linearize(index, type);
  index.dims.pop_back();
  return evaluator_.linearize(
      index, mlir::RankedTensorType::get(type.getShape().drop_back(), type.getElementType()));
}

// Each reduction of the rows from `start` up to `stop`, in an order in which none is read before it
// is there.
void LoopKernel::reduceRows(Position& at, llvm::Value* start, llvm::Value* stop) {
  const auto loop = static_cast<size_t>(stage_.orderDim);
  for (mlir::Operation* reduce : blocked_) {
    auto forRows = [&](const std::function<void(const MultiIndex&)>& body) {
      LoopBuilder::Bounds bounds;
      bounds.lo = start;
      bounds.hi = stop;
      bounds.range = {0, dims()[loop].size - 1};
      bounds.mayBeEmpty = false;
      loops_.loop(bounds, {}, [&](const IndexExpr& row, const Values&) {
        at[loop] = row;
        evaluator_.materialized().enterRow(rowAt(at));
        Root result{reduce->getResult(0), 0};
        body(multiIndexOf(result, spaceOf(result.type()), at));
        return Values();
      });
    };
    evaluator_.reduceRowBlock(reduce, static_cast<unsigned>(stage_.blockRows), forRows);
    // From here on a reduction that reads this one finds it in memory, by its row in the block.
    MaterializedValues& materialized = evaluator_.materialized();
    materialized.setOrigin(reduce, materialized.rowBlock()->origin);
    // Elements that were kept on the way are there for all rows of the block, and are not computed
    // again.
    materialized.setRowsWritten(reduce, loops_.current());
  }
}

void LoopKernel::emitRowBlock(const RowBlock& block, const IndexExpr& first) {
  const auto loop = static_cast<size_t>(stage_.orderDim);
  const bool resultsAreRows = loop + 1 == dims().size();
  Position at(block.at.begin(), block.at.begin() + loop + 1);
  at[loop] = first;
  llvm::Value* start = loops_.uniformPart(first);
  llvm::IRBuilder<>& b = loops_.here();
  llvm::Value* stop = b.CreateAdd(start, loops_.i64(stage_.blockRows), "", true, true);
  // The last block may be short. Where none is, LLVM sees a constant number of rows.
  if (stage_.chunk == 1 || dims()[loop].size % stage_.blockRows) {
    stop = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, stop, block.hi);
  }
  evaluator_.materialized().enterRowBlock(rowAt(at));
  reduceRows(at, start, stop);
  LoopBuilder::Bounds rows;
  rows.lo = start;
  rows.hi = stop;
  rows.range = {0, dims()[loop].size - 1};
  rows.mayBeEmpty = false;
  // One number a row: rows are lanes. Else lanes go along each row, whose elements are contiguous.
  if (resultsAreRows) {
    forColumns(start, stop, [&](const IndexExpr& row) {
      at[loop] = row;
      evaluator_.materialized().enterRow(rowAt(at));
      emitElement(at);
    });
  } else {
    loops_.loop(rows, {}, [&](const IndexExpr& row, const Values&) {
      at[loop] = row;
      evaluator_.materialized().enterRow(rowAt(at));
      Position inner = at;
      inner.emplace_back();
      forColumns(loops_.i64(0), loops_.i64(dims().back().size), [&](const IndexExpr& column) {
        inner.back() = column;
        emitElement(inner);
      });
      emitRowResults(at);
      return Values();
    });
  }
  // What is in the buffers is of this block's rows, and the next block writes over it.
  MaterializedValues& materialized = evaluator_.materialized();
  materialized.leaveRowBlock();
  for (mlir::Operation* reduce : blocked_) materialized.setOrigin(reduce, {});
  materialized.setRowsStale();
}

// Tiles of single rows: a call's follow each other, and blocks begin with the first of them. Runs
// `body` for those at each index of the loops outside.
void LoopKernel::forRowsOfCall(size_t loop, llvm::function_ref<void(RowBlock&)> body) {
  auto [first, last] = piecesOfTiles();
  RowBlock block;
  block.at.resize(dims().size());
  block.lo = first;
  block.hi = last;
  if (loop == 0) return body(block);
  const int64_t rows = dims()[loop].size;
  llvm::Value* size = loops_.i64(rows);
  llvm::IRBuilder<>& b = loops_.here();
  LoopBuilder::Bounds bounds;
  bounds.lo = b.CreateUDiv(first, size);
  bounds.hi = b.CreateUDiv(b.CreateAdd(last, loops_.i64(rows - 1)), size);
  bounds.range = {0, stage_.pieces() / rows - 1};
  loops_.loop(bounds, {}, [&, first = first, last = last](const IndexExpr& outer, const Values&) {
    IndexExpr rest = outer;
    for (size_t g = loop; g-- > 1;) {
      IndexExpr quotient;
      evaluator_.divideIndex(rest, dims()[g].size, &quotient, &block.at[g]);
      rest = quotient;
    }
    block.at[0] = rest;
    llvm::IRBuilder<>& b = loops_.here();
    llvm::Value* begin = b.CreateMul(loops_.uniformPart(outer), size, "", true, true);
    block.lo =
        b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b.CreateSub(first, begin), loops_.i64(0));
    block.hi = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateSub(last, begin), size);
    body(block);
    return Values();
  });
}

void LoopKernel::emitRowBlocks() {
  llvm::SmallVector<mlir::Value, 4> values;
  for (const Root& root : roots_) values.push_back(root.value);
  const std::optional<RowReductions> rows = rowReductionsOf(values);
  for (shlo::ReduceOp reduce : rows->reductions) {
    blocked_.push_back(reduce);
    evaluator_.materialized().addAccumulators(
        reduce, kernel_.allocate(evaluator_.kindOf(reduce->getResult(0)), stage_.blockRows));
  }
  const auto loop = static_cast<size_t>(stage_.orderDim);
  auto emitRows = [&](RowBlock& block) {
    LoopBuilder::Bounds bounds;
    bounds.lo = block.lo;
    bounds.hi = block.hi;
    bounds.step = stage_.blockRows;
    bounds.range = {0, dims()[loop].size - 1};
    bounds.multipleOf = stage_.chunk == 1 ? 1 : stage_.blockRows;
    loops_.loop(bounds, {}, [&](const IndexExpr& first, const Values&) {
      emitRowBlock(block, first);
      return Values();
    });
  };
  if (stage_.chunk == 1) {
    forRowsOfCall(loop, emitRows);
  } else {
    forRowBlocks(loop, loop, emitRows);
  }
}

}  // namespace isthmus::codegen
