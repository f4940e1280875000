// Loops with lanes along the last one: tiles, accumulation, kept rows, tails.
#include "compiler/codegen/loop/loop_kernel.h"

#include <algorithm>
#include <utility>

#include "compiler/codegen/loop/loop_nest.h"
#include "compiler/codegen/target/group_threads.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/loop/loop_scheduler.h"

namespace isthmus::codegen {

LoopKernel::LoopKernel(KernelBuilder& kernel, ir::FusionOp fusion, const LoopStage& stage)
    : kernel_(kernel),
      loops_(kernel.loops()),
      evaluator_(kernel.evaluator()),
      fusion_(fusion),
      stage_(stage),
      roots_(rootsOf(fusion, stage)) {
  for (const Root& root : roots_) {
    spaces_.push_back(spaceOf(root.type()));
    results_.push_back(kernel.buffer(fusion->getNumOperands() + root.result));
  }
}

MultiIndex LoopKernel::multiIndexOf(const Root& root, llvm::ArrayRef<int64_t> space,
                                    llvm::ArrayRef<IndexExpr> at) {
  MultiIndex index;
  index.dims.resize(root.type().getRank());
  for (size_t g = 0; g < at.size(); ++g) {
    if (dims()[g].last < 0) continue;
    index.dims[space[dims()[g].last]] = at[g];
    for (int64_t d = space[dims()[g].first]; d < space[dims()[g].last]; ++d) {
      index.merged |= uint64_t{1} << d;
    }
  }
  return index;
}

// What all threads of a group compute and store may take the place of an operand that each of them
// reads.
void LoopKernel::waitForReaders() {
  if (stage_.groupThreads > 1) groupBarrier(loops_);
}

void LoopKernel::emitElement(llvm::ArrayRef<IndexExpr> at) {
  // All values before any store: a result may be written over an operand.
  llvm::SmallVector<Val, 4> values;
  for (size_t r = 0; r < roots_.size(); ++r) {
    values.push_back(
        evaluator_.get(roots_[r].value, roots_[r].shapedLike ? MultiIndex() : multiIndexOf(r, at)));
  }
  // Without a loop that they share, the threads compute one element.
  if (at.size() == static_cast<size_t>(stage_.tiledDims)) waitForReaders();
  for (size_t r = 0; r < roots_.size(); ++r) {
    evaluator_.store(results_[r], evaluator_.kindOf(roots_[r].value),
                     evaluator_.linearize(multiIndexOf(r, at), roots_[r].type()), values[r]);
  }
}

void LoopKernel::emitAccumulation(
    Position& at, llvm::Value* lo,
    const std::function<void(const std::function<void(const IndexExpr&)>&)>& forColumns) {
  for (mlir::Operation* reduce : accumulated_) {
    // The roots may have other dimensions of size 1 than the reduction.
    const auto root = roots_[0].type(), sums = tensorTypeOf(reduce->getResult(0));
    auto multiIndexAt = [&](const IndexExpr& j) {
      at.back() = j;
      return evaluator_.reshapedIndex(multiIndexOf(0, at), root, sums);
    };
    // Accumulators begin at the first column of the chunk.
    const IndexExpr first =
        IndexExpr::of(loops_.makeSymbol(lo, loops_.current(), {0, dims().back().size}));
    evaluator_.materialized().setOrigin(reduce, evaluator_.linearize(multiIndexAt(first), sums));
    evaluator_.accumulateColumns(reduce, multiIndexAt, forColumns);
  }
}

void LoopKernel::emitRowResults(llvm::ArrayRef<IndexExpr> outer) {
  llvm::SmallVector<Root, 2> roots = rowRootsOf(fusion_, stage_);
  if (roots.empty()) return;
  evaluator_.setLanes(1);
  addStoredRows(outer);
  llvm::SmallVector<MultiIndex, 2> indices;
  // All values before any store, as in emitElement.
  llvm::SmallVector<Val, 2> values;
  for (const Root& root : roots) {
    indices.push_back(multiIndexOf(root, spaceOf(root.type()), outer));
    values.push_back(evaluator_.get(root.value, indices.back()));
  }
  waitForReaders();
  for (auto [root, index, value] : llvm::zip(roots, indices, values)) {
    evaluator_.store(kernel_.buffer(fusion_->getNumOperands() + root.result),
                     evaluator_.kindOf(root.value), evaluator_.linearize(index, root.type()),
                     value);
  }
  evaluator_.materialized().dropStoredRows();
}

// What the loop over the row has stored, results of the row read rather than compute again.
void LoopKernel::addStoredRows(llvm::ArrayRef<IndexExpr> outer) {
  const LoopDim& columns = dims().back();
  // Each thread of a group stores some of it.
  if (stage_.groupThreads > 1 || columns.last < columns.first) return;
  for (size_t r = 0; r < roots_.size(); ++r) {
    if (roots_[r].shapedLike) continue;
    const auto outerDims = static_cast<size_t>(spaces_[r][columns.first]);
    const std::optional<IndexExpr> row =
        evaluator_.linearizeOuter(multiIndexOf(r, outer), roots_[r].type(), outerDims);
    if (!row) continue;
    evaluator_.materialized().addStoredRow(roots_[r].value,
                                           {results_[r], outerDims, *row, loops_.current()});
  }
}

// Reductions that keep a row of what they compute run before the loop that reads it.
void LoopKernel::computeKeptRows(llvm::ArrayRef<IndexExpr> at) {
  for (mlir::Operation* writer : rowWriters_) {
    MultiIndex full = multiIndexOf(0, at);
    MultiIndex index;
    size_t rank = tensorTypeOf(writer->getResult(0)).getRank();
    index.dims.assign(full.dims.begin(), full.dims.begin() + rank);
    index.merged = rank > 0 ? full.merged & ((uint64_t{1} << (rank - 1)) - 1) : 0;
    evaluator_.setLanes(1);
    evaluator_.get(writer->getResult(0), index);
    evaluator_.materialized().setRowsWritten(writer, loops_.current());
  }
}

void LoopKernel::emitLastLoop(llvm::ArrayRef<IndexExpr> outer, llvm::Value* lo, llvm::Value* hi) {
  Position at(outer.begin(), outer.end());
  at.emplace_back();
  auto over = [&](const std::function<void(const IndexExpr&)>& body) {
    if (stage_.groupThreads > 1) return forGroupColumns(lo, hi, body);
    forColumns(lo, hi, body);
  };
  emitAccumulation(at, lo, over);
  computeKeptRows(at);
  over([&](const IndexExpr& j) {
    at.back() = j;
    emitElement(at);
  });
  emitRowResults(outer);
  evaluator_.materialized().setRowsStale();
}

LoopKernel::Stretch LoopKernel::stretchOf(size_t piece, llvm::Value* lo, llvm::Value* hi) {
  auto* constantLo = llvm::dyn_cast<llvm::ConstantInt>(lo);
  auto* constantHi = llvm::dyn_cast<llvm::ConstantInt>(hi);
  bool isConstant = constantLo && constantHi;
  Stretch stretch{stage_.cuts[piece], stage_.cuts[piece + 1], lo, hi, hi, false};
  if (constantLo) {
    stretch.start = loops_.i64(std::max(constantLo->getSExtValue(), stretch.from));
  } else if (stretch.from > 0) {
    stretch.start =
        loops_.here().CreateBinaryIntrinsic(llvm::Intrinsic::smax, lo, loops_.i64(stretch.from));
  }
  if (constantHi) {
    stretch.stop = loops_.i64(std::min(constantHi->getSExtValue(), stretch.to));
  } else if (stretch.to < dims().back().size) {
    stretch.stop =
        loops_.here().CreateBinaryIntrinsic(llvm::Intrinsic::smin, hi, loops_.i64(stretch.to));
  }
  // With cuts inside of vectors, any stretch of any chunk may have odd ends.
  bool wholeChunks =
      stage_.chunk % lanes() == 0 && (stage_.cuts.size() == 2 || stage_.cutsBetween(lanes()));
  stretch.hasTail = lanes() > 1 && (!wholeChunks || (stretch.to - stretch.from) % lanes() != 0);
  if (isConstant) {
    const int64_t start = llvm::cast<llvm::ConstantInt>(stretch.start)->getSExtValue();
    const int64_t stop = llvm::cast<llvm::ConstantInt>(stretch.stop)->getSExtValue();
    stretch.stop = loops_.i64(std::max(start, stop));
    stretch.hasTail = lanes() > 1 && (stop - start) % lanes() != 0;
  }
  stretch.middle = stretch.stop;
  if (stretch.hasTail) {
    llvm::IRBuilder<>& b = loops_.here();
    // A stretch outside of this chunk has no elements: a negative length, rounded to whole vectors,
    // would be a tail of elements that belong to others.
    if (stage_.cuts.size() > 2 && !isConstant) {
      stretch.stop = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, stretch.stop, stretch.start);
    }
    llvm::Value* length = b.CreateSub(stretch.stop, stretch.start);
    stretch.middle = b.CreateAdd(stretch.start, b.CreateAnd(length, loops_.i64(-lanes())));
  }
  return stretch;
}

void LoopKernel::emitTail(const Stretch& stretch,
                          const std::function<void(const IndexExpr&)>& body) {
  LoopBuilder::Bounds bounds;
  bounds.lo = stretch.middle;
  bounds.hi = stretch.stop;
  bounds.range = {stretch.from, stretch.to - 1};
  auto* constantMiddle = llvm::dyn_cast<llvm::ConstantInt>(stretch.middle);
  auto* constantStop = llvm::dyn_cast<llvm::ConstantInt>(stretch.stop);
  if (constantMiddle && constantStop && stage_.tail == RowTail::kOverlap) {
    // A last vector that begins earlier: the elements that it has in common with the one before are
    // computed twice and alike. What is before a later start is another tile's.
    const int64_t last = constantStop->getSExtValue() - lanes();
    if (last >= stretch.from && stretch.start == loops_.i64(stretch.from)) {
      evaluator_.setLanes(stage_.lanes);
      IndexExpr j(last);
      j.laneStride = 1;
      return body(j);
    }
  }
  if (constantMiddle && constantStop && stage_.tail == RowTail::kNarrow) {
    const int64_t from = constantMiddle->getSExtValue(), end = constantStop->getSExtValue();
    const int64_t at =
        forNarrowVectors(evaluator_, from, end, (from - stretch.from) / lanes(), lanes(), body);
    if (at == end) return;
    bounds.lo = loops_.i64(at);
  }
  evaluator_.setLanes(1);
  loops_.loop(bounds, {}, [&](const IndexExpr& i, const Values&) {
    body(i);
    return Values();
  });
}

void LoopKernel::forColumns(llvm::Value* lo, llvm::Value* hi,
                            const std::function<void(const IndexExpr&)>& body) {
  bool isConstantLo = llvm::isa<llvm::ConstantInt>(lo);
  for (size_t piece = 0; piece + 1 < stage_.cuts.size(); ++piece) {
    Stretch stretch = stretchOf(piece, lo, hi);
    LoopBuilder::Bounds bounds;
    bounds.lo = stretch.start;
    bounds.hi = stretch.middle;
    bounds.step = lanes();
    bounds.range = {stretch.from, std::max(stretch.from, stretch.to - lanes())};
    bool isAligned = stretch.from % lanes() == 0 && (isConstantLo || stage_.chunk % lanes() == 0);
    bounds.multipleOf = isAligned ? lanes() : 1;
    evaluator_.setLanes(stage_.lanes);
    loops_.loop(bounds, {}, [&](const IndexExpr& i, const Values&) {
      IndexExpr j = i;
      if (lanes() > 1) j.laneStride = 1;
      body(j);
      return Values();
    });
    if (stretch.hasTail) emitTail(stretch, body);
  }
}

// The threads of a group take turns, vector by vector: at each moment they read neighbours, which
// memory serves together.
void LoopKernel::forGroupColumns(llvm::Value* lo, llvm::Value* hi,
                                 const std::function<void(const IndexExpr&)>& body) {
  LoopBuilder::Bounds bounds;
  llvm::Value* thread = threadInGroup(loops_);
  llvm::IRBuilder<>& b = loops_.here();
  bounds.lo = b.CreateAdd(lo, lanes() == 1 ? thread : b.CreateMul(thread, loops_.i64(lanes())));
  bounds.hi = hi;
  bounds.step = stage_.groupThreads * lanes();
  bounds.range = {0, std::max<int64_t>(0, dims().back().size - lanes())};
  bounds.multipleOf = lanes();
  evaluator_.setLanes(stage_.lanes);
  loops_.loop(bounds, {}, [&](const IndexExpr& i, const Values&) {
    auto own = evaluator_.enterThreadsOwn(loops_.current());
    IndexExpr j = i;
    if (lanes() > 1) j.laneStride = 1;
    body(j);
    return Values();
  });
}

void LoopKernel::emitLoops(size_t loop, const Position& at, llvm::Value* lo, llvm::Value* hi) {
  if (loop + 1 == dims().size()) return emitLastLoop(at, lo, hi);
  forStretches(loop, [&](int64_t from, int64_t to) {
    loops_.loop(from, to, 1, {}, [&](const IndexExpr& i, const Values&) {
      Position inner = at;
      inner.push_back(i);
      emitLoops(loop + 1, inner, lo, hi);
      return Values();
    });
  });
}

void LoopKernel::forStretches(size_t loop, llvm::function_ref<void(int64_t, int64_t)> body) {
  int64_t from = 0;
  for (const OuterCuts& cuts : stage_.outerCuts) {
    if (cuts.loop != static_cast<int64_t>(loop)) continue;
    for (int64_t at : cuts.at) body(std::exchange(from, at), at);
  }
  body(from, dims()[loop].size);
}

void LoopKernel::withinStretches(size_t loop, Position& at, llvm::function_ref<void()> body) {
  if (loop == at.size()) return body();
  const IndexExpr whole = at[loop];
  forStretches(loop, [&](int64_t from, int64_t to) {
    const Range range = rangeOf(whole, 1);
    if (range.lo >= to || range.hi < from) return;
    if (range.lo >= from && range.hi < to) return withinStretches(loop + 1, at, body);
    llvm::Value* index = loops_.uniformPart(whole);
    llvm::IRBuilder<>& b = loops_.here();
    llvm::Value* isInside =
        b.CreateICmpULT(b.CreateSub(index, loops_.i64(from)), loops_.i64(to - from));
    loops_.branch(isInside, {}, [&] {
      at[loop] = to - from == 1
                     ? IndexExpr(from)
                     : IndexExpr::of(loops_.makeSymbol(index, loops_.current(), {from, to - 1}));
      withinStretches(loop + 1, at, body);
      return Values();
    });
  });
  at[loop] = whole;
}

// One piece: an index of each tiled loop, and a chunk of the last one.
void LoopKernel::emitTile(const IndexExpr& piece) {
  auto tiled = static_cast<size_t>(stage_.tiledDims);
  int64_t size = dims().back().size;
  int64_t chunks = tiled == dims().size() ? 1 : (size + stage_.chunk - 1) / stage_.chunk;
  IndexExpr rest = piece, quotient, remainder;
  llvm::Value* lo = loops_.i64(0);
  llvm::Value* hi = loops_.i64(size);
  if (chunks > 1) {
    evaluator_.divideIndex(rest, chunks, &quotient, &remainder);
    lo = loops_.uniformPart(scale(remainder, stage_.chunk));
    llvm::IRBuilder<>& b = loops_.here();
    hi = b.CreateAdd(lo, loops_.i64(stage_.chunk));
    if (size % stage_.chunk) {
      hi = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, hi, loops_.i64(size));
    }
    rest = quotient;
  }
  Position at(tiled);
  for (size_t g = tiled; g-- > 0;) {
    if (g == 0) {
      at[g] = rest;
      break;
    }
    evaluator_.divideIndex(rest, dims()[g].size, &quotient, &remainder);
    at[g] = remainder;
    rest = quotient;
  }
  withinStretches(0, at, [&] {
    if (tiled < dims().size()) return emitLoops(tiled, at, lo, hi);
    evaluator_.setLanes(1);
    emitElement(at);
  });
}

std::pair<llvm::Value*, llvm::Value*> LoopKernel::piecesOfTiles() {
  int64_t pieces = stage_.pieces();
  if (stage_.tiles() == 1) return {loops_.i64(0), loops_.i64(pieces)};
  llvm::IRBuilder<>& b = loops_.here();
  llvm::Value* first = b.CreateMul(kernel_.begin(), loops_.i64(stage_.grain), "", false, true);
  llvm::Value* last = b.CreateMul(kernel_.end(), loops_.i64(stage_.grain), "", false, true);
  if (pieces % stage_.grain) {
    last = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, last, loops_.i64(pieces));
  }
  return {first, last};
}

void LoopKernel::emitRows() {
  int64_t pieces = stage_.pieces(), size = dims().back().size;
  auto [first, last] = piecesOfTiles();
  if (stage_.tiledDims == 0 && pieces > 1 && accumulated_.empty()) {
    // Tiles are consecutive stretches of one dimension: one loop over all of them.
    llvm::IRBuilder<>& b = loops_.here();
    llvm::Value* lo = b.CreateMul(first, loops_.i64(stage_.chunk), "", false, true);
    llvm::Value* hi = b.CreateMul(last, loops_.i64(stage_.chunk), "", false, true);
    if (size % stage_.chunk) {
      hi = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, hi, loops_.i64(size));
    }
    return emitLoops(0, {}, lo, hi);
  }
  LoopBuilder::Bounds bounds;
  bounds.lo = first;
  bounds.hi = last;
  bounds.range = {0, pieces - 1};
  loops_.loop(bounds, {}, [&](const IndexExpr& piece, const Values&) {
    emitTile(piece);
    return Values();
  });
}

void LoopKernel::allocateRows() {
  for (const KeptRow& row : stage_.kept) {
    mlir::Value value = opNumbered(fusion_, row.value)->getResult(0);
    mlir::Operation* writer = opNumbered(fusion_, row.writer);
    MaterializedValues::Row buffer;
    // Rows of a block begin where vectors do.
    if (stage_.order == LoopOrder::kRowBlocks) {
      buffer.stride = (dims().back().size + lanes() - 1) / lanes() * lanes();
    }
    buffer.base =
        kernel_.allocate(evaluator_.kindOf(value),
                         buffer.stride > 0 ? stage_.blockRows * buffer.stride : dims().back().size);
    buffer.dim = tensorTypeOf(value).getRank() - 1;
    buffer.writer = writer;
    evaluator_.materialized().addRow(value, buffer);
    if (!llvm::is_contained(rowWriters_, writer)) rowWriters_.push_back(writer);
  }
}

void LoopKernel::allocateAccumulators() {
  for (const ReductionSchedule& reduction : stage_.reductions) {
    if (reduction.strategy != ReductionStrategy::kAccumulate) continue;
    mlir::Operation* reduce = opNumbered(fusion_, reduction.op);
    accumulated_.push_back(reduce);
    llvm::SmallVector<llvm::Value*, 2> bases, blockBases;
    for (mlir::Value result : reduce->getResults()) {
      const ElementKind& kind = evaluator_.kindOf(result);
      bases.push_back(kernel_.allocate(kind, stage_.chunk));
      if (reduction.block != 0) blockBases.push_back(kernel_.allocate(kind, stage_.chunk));
    }
    evaluator_.materialized().addAccumulators(reduce, bases, blockBases);
  }
}

void LoopKernel::emit() {
  if (roots_[0].type().getNumElements() == 0) return;
  allocateRows();
  allocateAccumulators();
  if (stage_.order == LoopOrder::kTransposed) {
    return stage_.groupThreads > 1 ? emitTransposedTiles() : emitTransposed();
  }
  if (stage_.order == LoopOrder::kInterleaved) return emitInterleaved();
  if (stage_.order == LoopOrder::kRowBlocks) return emitRowBlocks();
  if (roots_[0].operand < 0) return emitRows();
  llvm::Value* from = kernel_.buffer(roots_[0].operand);
  llvm::Value* differs = loops_.here().CreateICmpNE(from, results_[0]);
  loops_.branch(differs, {}, [&] {
    emitRows();
    return Values();
  });
}

}  // namespace isthmus::codegen
