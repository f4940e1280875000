// Loops over blocks of rows: transposed reads, and rows shorter than a vector.
#include <algorithm>
#include <tuple>

#include "compiler/codegen/loop/loop_kernel.h"

namespace isthmus::codegen {
namespace {

// Rows from `lo` up to `hi`, `step` at a time, out of `rows`.
LoopBuilder::Bounds rowsBetween(llvm::Value* lo, llvm::Value* hi, int64_t step, int64_t rows) {
  LoopBuilder::Bounds bounds;
  bounds.lo = lo;
  bounds.hi = hi;
  bounds.step = step;
  bounds.range = {0, std::max<int64_t>(0, rows - step)};
  bounds.multipleOf = step;
  return bounds;
}

}  // namespace

// Runs `body` for each tile: a block of the rows along `loop`, at one index of the other loops
// before `end`.
void LoopKernel::forRowBlocks(size_t loop, size_t end, llvm::function_ref<void(RowBlock&)> body) {
  int64_t rows = dims()[loop].size, chunk = stage_.chunk, pieces = stage_.pieces();
  int64_t blocks = (rows + chunk - 1) / chunk;
  LoopBuilder::Bounds bounds;
  std::tie(bounds.lo, bounds.hi) = piecesOfTiles();
  bounds.range = {0, pieces - 1};
  loops_.loop(bounds, {}, [&](const IndexExpr& tile, const Values&) {
    RowBlock block;
    IndexExpr rest, index;
    evaluator_.divideIndex(tile, blocks, &rest, &index);
    block.at.resize(dims().size());
    for (size_t g = end; g-- > 0;) {
      if (g == loop) continue;
      IndexExpr quotient;
      evaluator_.divideIndex(rest, dims()[g].size, &quotient, &block.at[g]);
      rest = quotient;
    }
    block.lo = loops_.uniformPart(scale(index, chunk));
    llvm::IRBuilder<>& b = loops_.here();
    block.hi = blocks == 1 ? loops_.i64(rows) : b.CreateAdd(block.lo, loops_.i64(chunk));
    if (blocks > 1 && rows % chunk) {
      block.hi = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, block.hi, loops_.i64(rows));
    }
    block.middle = block.hi;
    // Lanes are a power of two: the mask rounds down to whole vectors.
    if (rows % lanes()) {
      llvm::Value* whole = b.CreateAnd(b.CreateSub(block.hi, block.lo), loops_.i64(-lanes()));
      block.middle = b.CreateAdd(block.lo, whole);
    }
    body(block);
    return Values();
  });
}

// A vector of columns of as many rows as lanes, which are unrolled.
void LoopKernel::emitTransposedBlock(Position& at, const IndexExpr& row, const IndexExpr& column) {
  evaluator_.setLanes(stage_.lanes);
  // The evaluator tells the block's rows by their symbol; a block that runs once has a constant
  // instead.
  const Symbol* symbol = row.terms.empty()
                             ? loops_.makeSymbol(loops_.i64(row.constant), loops_.entry(),
                                                 {row.constant, row.constant})
                             : row.terms[0].symbol;
  for (unsigned step = 0; step < stage_.lanes; ++step) {
    evaluator_.setTransposition(symbol, stage_.lanes, step);
    at[stage_.orderDim] = add(IndexExpr::of(symbol), IndexExpr(step));
    at.back() = column;
    at.back().laneStride = 1;
    emitElement(at);
  }
  evaluator_.setTransposition(nullptr, 0, 0);
}

void LoopKernel::emitRowByRow(Position& at, llvm::Value* from, llvm::Value* to, int64_t first,
                              int64_t last, int64_t step) {
  LoopBuilder::Bounds rows = rowsBetween(from, to, 1, dims()[stage_.orderDim].size);
  loops_.loop(rows, {}, [&](const IndexExpr& i, const Values&) {
    loops_.loop(first, last, step, {}, [&](const IndexExpr& j, const Values&) {
      evaluator_.setLanes(static_cast<unsigned>(step));
      at[stage_.orderDim] = i;
      at.back() = j;
      if (step > 1) at.back().laneStride = 1;
      emitElement(at);
      return Values();
    });
    return Values();
  });
}

void LoopKernel::emitTransposed() {
  auto loop = static_cast<size_t>(stage_.orderDim);
  int64_t rows = dims()[loop].size, columns = dims().back().size;
  int64_t mainColumns = columns / lanes() * lanes();
  forRowBlocks(loop, dims().size() - 1, [&](RowBlock& block) {
    LoopBuilder::Bounds wholeVectors = rowsBetween(block.lo, block.middle, lanes(), rows);
    loops_.loop(0, mainColumns, lanes(), {}, [&](const IndexExpr& j, const Values&) {
      loops_.loop(wholeVectors, {}, [&](const IndexExpr& i, const Values&) {
        emitTransposedBlock(block.at, i, j);
        return Values();
      });
      return Values();
    });
    if (rows % lanes()) emitRowByRow(block.at, block.middle, block.hi, 0, mainColumns, lanes());
    if (columns % lanes()) emitRowByRow(block.at, block.lo, block.hi, mainColumns, columns, 1);
  });
}

// Runs `body` with `at` set to each element of a row in turn.
void LoopKernel::forRowElements(size_t loop, Position& at, const std::function<void()>& body) {
  if (loop == dims().size()) return body();
  for (int64_t i = 0; i < dims()[loop].size; ++i) {
    at[loop] = IndexExpr(i);
    forRowElements(loop + 1, at, body);
  }
}

// A vector of rows: each element of theirs is a vector, and all are stored together.
void LoopKernel::emitInterleavedRows(Position at) {
  size_t inner = static_cast<size_t>(stage_.orderDim) + 1;
  // All values before any store: a result may be written over an operand.
  llvm::SmallVector<llvm::SmallVector<Val, 16>, 4> columns(roots_.size());
  forRowElements(inner, at, [&] {
    for (size_t r = 0; r < roots_.size(); ++r) {
      MultiIndex index = roots_[r].shapedLike ? MultiIndex() : multiIndexOf(r, at);
      columns[r].push_back(evaluator_.get(roots_[r].value, index));
    }
  });
  for (size_t g = inner; g < dims().size(); ++g) at[g] = IndexExpr(0);
  for (size_t r = 0; r < roots_.size(); ++r) {
    evaluator_.storeInterleaved(results_[r], evaluator_.kindOf(roots_[r].value),
                                evaluator_.linearize(multiIndexOf(r, at), roots_[r].type()),
                                columns[r]);
  }
}

// One row, element by element.
void LoopKernel::emitRowElements(size_t loop, Position at) {
  if (loop == dims().size()) return emitElement(at);
  loops_.loop(0, dims()[loop].size, 1, {}, [&](const IndexExpr& j, const Values&) {
    at[loop] = j;
    emitRowElements(loop + 1, at);
    return Values();
  });
}

void LoopKernel::emitInterleaved() {
  auto loop = static_cast<size_t>(stage_.orderDim);
  int64_t rows = dims()[loop].size;
  forRowBlocks(loop, loop, [&](RowBlock& block) {
    evaluator_.setLanes(stage_.lanes);
    LoopBuilder::Bounds wholeVectors = rowsBetween(block.lo, block.middle, lanes(), rows);
    loops_.loop(wholeVectors, {}, [&](const IndexExpr& i, const Values&) {
      block.at[loop] = i;
      block.at[loop].laneStride = 1;
      emitInterleavedRows(block.at);
      return Values();
    });
    if (rows % lanes() == 0) return;
    evaluator_.setLanes(1);
    LoopBuilder::Bounds rest = rowsBetween(block.middle, block.hi, 1, rows);
    loops_.loop(rest, {}, [&](const IndexExpr& i, const Values&) {
      block.at[loop] = i;
      emitRowElements(loop + 1, block.at);
      return Values();
    });
  });
}

}  // namespace isthmus::codegen
