// Running reductions whose tiles are blocks of one line: a thread runs along a block by itself, or
// the threads of a group share it.
//
// A line that is several blocks takes three kernels, which need no memory but the result's: what
// each block gives as a whole, in the place of its last element; those places, which are then what
// all blocks up to there give; and the other elements of each block, from what is before it. So the
// operand is read twice and the result written once, and nothing is computed from it.
#include "compiler/codegen/kernel_builder.h"
#include "compiler/codegen/reduce/reduction.h"
#include "compiler/codegen/reduce/scan_operands.h"
#include "compiler/codegen/stages.h"
#include "compiler/codegen/target/group_threads.h"
#include "compiler/dialect/types/array_shape.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::codegen {
namespace {

using Values = LoopBuilder::Values;

class ScanPartEmitter : ScanOperands {
 public:
  ScanPartEmitter(KernelBuilder& kernel, ir::FusionOp fusion, const ScanStage& stage)
      : ScanOperands(kernel, fusion, stage), size_(type_.getDimSize(stage_.scanDim)) {
    for (mlir::Value value : reduce_.getInitValues()) {
      initial_.push_back(evaluator_.get(value, MultiIndex()));
    }
    neutral_ = initial_;
    if (auto value = neutral()) neutral_ = {*value};
  }

  void emit() {
    LoopBuilder::Bounds tiles;
    tiles.lo = kernel_.begin();
    tiles.hi = kernel_.end();
    tiles.range = {0, stage_.tileCount - 1};
    evaluator_.setLanes(1);
    loops_.loop(tiles, {}, [&](const IndexExpr& tile, const Values&) {
      emitTile(tile);
      return Values();
    });
  }

 private:
  // Of the elements of a line from `begin` on: `stage_.chunk`, or all.
  void emitTile(const IndexExpr& tile) {
    IndexExpr rest = tile;
    int64_t inner = 1;
    for (int64_t d = stage_.scanDim + 1; d < type_.getRank(); ++d) inner *= type_.getDimSize(d);
    evaluator_.divideIndex(rest, inner, &rest, &inner_);
    if (isCut()) {
      evaluator_.divideIndex(rest, blocks(), &outer_, &block_);
    } else {
      outer_ = rest;
    }
    lo_ = scale(block_, stage_.chunk);
    hi_ = loops_.i64(length());
    if (isCut()) {
      hi_ = loops_.here().CreateAdd(loops_.uniformPart(lo_), loops_.i64(stage_.chunk));
      if (size_ % stage_.chunk) {
        hi_ = loops_.here().CreateBinaryIntrinsic(llvm::Intrinsic::smin, hi_, loops_.i64(size_));
      }
    }
    stage_.groupThreads > 1 ? scanByGroup() : scanByThread();
  }

  bool isCut() const {
    return stage_.scanPart == ScanPart::kBlocks || stage_.scanPart == ScanPart::kOffsets;
  }
  int64_t blocks() const { return llvm::divideCeilSigned(size_, stage_.chunk); }
  // Only the last element of a block is stored, or all others are.
  bool storesLast() const { return stage_.scanPart == ScanPart::kBlocks; }
  bool storesOthers() const { return stage_.scanPart == ScanPart::kOffsets; }
  bool isOfTotals() const { return stage_.scanPart == ScanPart::kTotals; }
  int64_t length() const { return isOfTotals() ? blocks() : size_; }

  // What comes before a tile's first element.
  Group start() {
    if (stage_.scanPart == ScanPart::kWhole) return initial_;
    if (isOfTotals()) return neutral_;
    Condition isFirst = evaluator_.within(block_, 0, 1);
    Group others = neutral_;
    if (storesOthers()) {
      // Of the first block, which has nothing before it, an element that exists is read.
      Condition hasBefore = evaluator_.within(block_, 1, blocks());
      others = stored(evaluator_.selectIndex(hasBefore, add(lo_, IndexExpr(-1)), 0, 0, size_ - 1));
    }
    Group values;
    for (auto [initial, other] : llvm::zip(initial_, others)) {
      values.push_back(evaluator_.selectValue(isFirst, initial, other));
    }
    return values;
  }

  // The last element of a block of the line.
  IndexExpr lastOf(const IndexExpr& block) {
    IndexExpr last = add(scale(block, stage_.chunk), IndexExpr(stage_.chunk - 1));
    return evaluator_.selectIndex(evaluator_.within(last, 0, size_), last, size_ - 1, 0, size_ - 1);
  }

  // Of element `at` of the line, in the order that the reduction runs in; of totals, of the last
  // one of block `at`.
  MultiIndex indexOf(const IndexExpr& at) {
    IndexExpr position = isOfTotals() ? lastOf(at) : at;
    MultiIndex index;
    index.dims.resize(static_cast<size_t>(type_.getRank()));
    if (stage_.scanDim > 0) index.dims[stage_.scanDim - 1] = outer_;
    if (stage_.scanDim + 1 < type_.getRank()) index.dims.back() = inner_;
    for (int64_t d = 0; d + 1 < type_.getRank(); ++d) {
      const bool isWithNext = d + 1 < stage_.scanDim || d > stage_.scanDim;
      if (isWithNext) index.merged |= uint64_t{1} << d;
    }
    index.dims[stage_.scanDim] =
        stage_.isScanFromEnd ? add(IndexExpr(size_ - 1), scale(position, -1)) : position;
    return index;
  }

  Group stored(const IndexExpr& at) {
    Group values;
    for (const StoredRoot& root : roots_) {
      IndexExpr linear = evaluator_.linearize(indexOf(at), type_);
      values.push_back(evaluator_.load(root.base, root.kind, linear, loops_.current()));
    }
    return values;
  }

  Group given(const IndexExpr& at) {
    if (isOfTotals()) return stored(at);
    Group values;
    for (mlir::Value input : reduce_.getInputs()) {
      values.push_back(evaluator_.get(input, indexOf(at)));
    }
    return values;
  }

  void store(const IndexExpr& at, const Group& values) { storeAt(indexOf(at), values); }

  LoopBuilder::Bounds elements(llvm::Value* begin, llvm::Value* end, int64_t step) {
    LoopBuilder::Bounds bounds;
    bounds.lo = begin;
    bounds.hi = end;
    bounds.step = step;
    bounds.range = {0, length() - 1};
    return bounds;
  }

  void scanByThread() {
    Group first = start();
    llvm::Value* end = hi_;
    if (storesOthers()) end = loops_.here().CreateSub(hi_, loops_.i64(1));
    Values all = loops_.loop(elements(loops_.uniformPart(lo_), end, 1), flatten(first),
                             [&](const IndexExpr& i, const Values& carried) {
                               Group sum =
                                   combine(unflatten(carried, first, loops_.current()), given(i));
                               if (!storesLast()) store(i, sum);
                               return flatten(sum);
                             });
    if (storesLast()) store(lastOf(block_), unflatten(all, first, loops_.current()));
  }

  // Threads side by side take `stage_.grain` neighbours each, as often as the block has more.
  void scanByGroup() {
    thread_ = loops_.makeSymbol(threadInGroup(loops_), loops_.entry(),
                                {0, static_cast<int64_t>(stage_.groupThreads) - 1});
    // Each step of the scan of the threads' sums reads what the one before has written.
    memory_.emplace(loops_, neutral_[0].re->getType(), 2 * stage_.groupThreads);
    Group first = start();
    const int64_t step = stage_.grain * static_cast<int64_t>(stage_.groupThreads);
    Values all = loops_.loop(elements(loops_.uniformPart(lo_), hi_, step), flatten(first),
                             [&](const IndexExpr& i, const Values& carried) {
                               Group sum =
                                   scanStretch(i, unflatten(carried, first, loops_.current()));
                               return flatten(sum);
                             });
    if (!storesLast()) return;
    llvm::Value* isFirst = loops_.here().CreateICmpEQ(thread_->value, loops_.i64(0));
    loops_.branch(isFirst, {}, [&] {
      store(lastOf(block_), unflatten(all, first, loops_.current()));
      return Values();
    });
  }

  // Returns the sum of all up to the end of the stretch.
  Group scanStretch(const IndexExpr& begin, const Group& before) {
    const int64_t step = stage_.grain * static_cast<int64_t>(stage_.groupThreads);
    const bool isFull = length() % step == 0 && (!isCut() || stage_.chunk % step == 0);
    const IndexExpr own = add(begin, scale(IndexExpr::of(thread_), stage_.grain));
    llvm::SmallVector<Group, 4> sums;
    llvm::SmallVector<Condition, 4> isInside;
    llvm::SmallVector<IndexExpr, 4> places;
    for (int64_t i = 0; i < stage_.grain; ++i) {
      IndexExpr at = add(own, IndexExpr(i));
      Condition inside = Condition::always(true);
      if (!isFull) {
        llvm::Value* place = loops_.uniformPart(at);
        inside = {
            false, false, {loops_.here().CreateICmpSLT(place, hi_), nullptr, loops_.current()}};
        // Beyond the end, an element that exists is read and not used.
        at = evaluator_.selectIndex(inside, at, 0, 0, length() - 1);
      }
      Val value = evaluator_.selectValue(inside, given(at)[0], neutral_[0]);
      sums.push_back(i == 0 ? Group{value} : combine(sums.back(), {value}));
      isInside.push_back(inside);
      places.push_back(at);
    }
    auto [others, all] = scanThreads(sums.back()[0]);
    if (!storesLast()) storeStretch(places, isInside, combine(before, {others}), sums);
    return combine(before, {all});
  }

  // A thread's neighbours, from what comes before them.
  void storeStretch(llvm::ArrayRef<IndexExpr> places, llvm::ArrayRef<Condition> isInside,
                    const Group& before, llvm::ArrayRef<Group> sums) {
    for (size_t i = 0; i < sums.size(); ++i) {
      Group result = combine(before, sums[i]);
      const bool isFull = isInside[i].known;
      llvm::Value* isStored = isFull ? nullptr : isInside[i].dynamic.re;
      // A full block ends with the last neighbour of a thread.
      if (storesOthers() && (!isFull || i + 1 == sums.size())) {
        llvm::Value* next = loops_.here().CreateAdd(loops_.uniformPart(places[i]), loops_.i64(1));
        llvm::Value* isOther = loops_.here().CreateICmpNE(next, hi_);
        isStored = isStored ? loops_.here().CreateAnd(isStored, isOther) : isOther;
      }
      if (!isStored) {
        store(places[i], result);
        continue;
      }
      loops_.branch(isStored, {}, [&] {
        store(places[i], result);
        return Values();
      });
    }
  }

  // Of the threads before this one, and of all.
  std::pair<Val, Val> scanThreads(Val sum) {
    llvm::Value* thread = thread_->value;
    const int64_t threads = stage_.groupThreads;
    auto here = [&](llvm::Value* value) { return Val{value, nullptr, loops_.current()}; };
    auto slot = [&](llvm::Value* of, int64_t half) {
      return loops_.here().CreateAdd(of, loops_.i64(half * threads));
    };
    // What the last stretch left there may still be read.
    groupBarrier(loops_);
    int64_t half = 0;
    memory_->store(slot(thread, half), sum.re);
    for (int64_t distance = 1; distance < threads; distance *= 2) {
      groupBarrier(loops_);
      llvm::Value* hasOther = loops_.here().CreateICmpUGE(thread, loops_.i64(distance));
      llvm::Value* other = loops_.here().CreateSelect(
          hasOther, loops_.here().CreateSub(thread, loops_.i64(distance)), thread);
      Val read = here(memory_->load(slot(other, half)));
      Val both = combine({read}, {sum})[0];
      sum = evaluator_.selectValue({false, false, here(hasOther)}, both, sum);
      half = 1 - half;
      memory_->store(slot(thread, half), sum.re);
    }
    groupBarrier(loops_);
    llvm::Value* isFirst = loops_.here().CreateICmpEQ(thread, loops_.i64(0));
    llvm::Value* previous =
        loops_.here().CreateSelect(isFirst, thread, loops_.here().CreateSub(thread, loops_.i64(1)));
    Val before = evaluator_.selectValue({false, false, here(isFirst)}, neutral_[0],
                                        here(memory_->load(slot(previous, half))));
    return {before, here(memory_->load(slot(loops_.i64(threads - 1), half)))};
  }

  int64_t size_;
  Group initial_, neutral_;
  // Of the tile: what is outside of the scanned dimension and inside, and which of its elements.
  IndexExpr outer_, inner_, block_, lo_;
  llvm::Value* hi_ = nullptr;
  const Symbol* thread_ = nullptr;
  std::optional<GroupMemory> memory_;
};

}  // namespace

void emitScanPart(KernelBuilder& kernel, ir::FusionOp fusion, const ScanStage& stage) {
  ScanPartEmitter(kernel, fusion, stage).emit();
}

}  // namespace isthmus::codegen
