// Blocks that a group of threads transposes in its memory.
#include "compiler/codegen/loop/loop_kernel.h"
#include "compiler/codegen/target/group_threads.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::codegen {

// A square of `chunk` rows and columns. Threads side by side run along the rows' dimension, where
// operands are contiguous, while they compute, and along the columns while they store.
class LoopKernel::TransposedTile {
 public:
  TransposedTile(LoopKernel& kernel, const IndexExpr& piece)
      : k_(kernel),
        loops_(kernel.loops_),
        evaluator_(kernel.evaluator_),
        side_(kernel.stage_.chunk),
        at_(kernel.dims().size()) {
    const auto rowLoop = static_cast<size_t>(k_.stage_.orderDim);
    const auto dims = k_.dims();
    IndexExpr rest = piece;
    IndexExpr index;
    auto take = [&](int64_t size) {
      evaluator_.divideIndex(rest, size, &rest, &index);
      return index;
    };
    firstColumn_ = scale(take(llvm::divideCeilSigned(dims.back().size, side_)), side_);
    firstRow_ = scale(take(llvm::divideCeilSigned(dims[rowLoop].size, side_)), side_);
    for (size_t g = dims.size() - 1; g-- > 0;) {
      if (g != rowLoop) at_[g] = take(dims[g].size);
    }
    const auto threads = static_cast<int64_t>(k_.stage_.groupThreads);
    const Symbol* thread =
        loops_.makeSymbol(threadInGroup(loops_), loops_.entry(), {0, threads - 1});
    evaluator_.divideIndex(IndexExpr::of(thread), side_, &slow_, &quick_);
    step_ = threads / side_;
  }

  void emit() {
    const ElementKind kind = evaluator_.kindOf(k_.roots_[0].value);
    llvm::Type* type = kind.computeType(loops_.context());
    // Neighbours down a column lie in different banks.
    const auto count = static_cast<uint64_t>(side_ * (side_ + 1));
    GroupMemory re(loops_, type, count);
    std::optional<GroupMemory> im;
    if (kind.isComplex()) im.emplace(loops_, type, count);
    // What the tile before left there may still be read.
    groupBarrier(loops_);
    for (int64_t i = 0; i < side_; i += step_) {
      const IndexExpr other = add(slow_, IndexExpr(i));
      Val value = valueAt(quick_, other);
      llvm::Value* slot = slotOf(quick_, other);
      re.store(slot, value.re);
      if (im) im->store(slot, value.im);
    }
    groupBarrier(loops_);
    for (int64_t i = 0; i < side_; i += step_) {
      const IndexExpr row = add(slow_, IndexExpr(i));
      llvm::Value* slot = slotOf(row, quick_);
      Val value{re.load(slot), nullptr, loops_.current()};
      if (im) value.im = im->load(slot);
      moveTo(row, quick_);
      Condition inside = isInside();
      auto store = [&] {
        IndexExpr linear = evaluator_.linearize(k_.multiIndexOf(0, at_), k_.roots_[0].type());
        evaluator_.store(k_.results_[0], kind, linear, value);
        return Values();
      };
      if (inside.known) {
        store();
      } else {
        loops_.branch(inside.dynamic.re, {}, store);
      }
    }
  }

 private:
  int64_t rows() const { return k_.dims()[static_cast<size_t>(k_.stage_.orderDim)].size; }
  int64_t columns() const { return k_.dims().back().size; }
  IndexExpr& row() { return at_[static_cast<size_t>(k_.stage_.orderDim)]; }

  void moveTo(const IndexExpr& row, const IndexExpr& column) {
    this->row() = add(firstRow_, row);
    at_.back() = add(firstColumn_, column);
  }
  // Tiles begin inside; those that do not divide the array end outside.
  Condition isInside() {
    auto bound = [&](const IndexExpr& index, int64_t size) {
      return size % side_ == 0 ? Condition::always(true) : evaluator_.within(index, 0, size);
    };
    return evaluator_.both(bound(row(), rows()), bound(at_.back(), columns()));
  }

  // Outside, an element that exists is computed and not used.
  Val valueAt(const IndexExpr& row, const IndexExpr& column) {
    moveTo(row, column);
    Condition inside = isInside();
    this->row() = evaluator_.selectIndex(inside, this->row(), 0, 0, rows() - 1);
    at_.back() = evaluator_.selectIndex(inside, at_.back(), 0, 0, columns() - 1);
    return evaluator_.get(k_.roots_[0].value, k_.multiIndexOf(0, at_));
  }

  llvm::Value* slotOf(const IndexExpr& row, const IndexExpr& column) {
    return loops_.uniformPart(add(scale(column, side_ + 1), row));
  }

  LoopKernel& k_;
  LoopBuilder& loops_;
  Evaluator& evaluator_;
  int64_t side_;
  Position at_;
  IndexExpr firstRow_, firstColumn_;
  // Where a thread begins along its neighbours' dimension of the tile, and along the other one, and
  // how far apart its elements are there.
  IndexExpr quick_, slow_;
  int64_t step_ = 1;
};

void LoopKernel::emitTransposedTiles() {
  LoopBuilder::Bounds bounds;
  std::tie(bounds.lo, bounds.hi) = piecesOfTiles();
  bounds.range = {0, stage_.pieces() - 1};
  evaluator_.setLanes(1);
  loops_.loop(bounds, {}, [&](const IndexExpr& piece, const Values&) {
    TransposedTile(*this, piece).emit();
    return Values();
  });
}

}  // namespace isthmus::codegen
