// reduce_window: at one index, and as a running reduction over a whole dimension.
#include <optional>

#include "compiler/codegen/kernel_builder.h"
#include "compiler/codegen/reduce/reduction.h"
#include "compiler/codegen/reduce/scan_operands.h"
#include "compiler/codegen/stages.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/scan.h"
#include "compiler/dialect/types/array_shape.h"

namespace isthmus::codegen {
namespace {

using Values = LoopBuilder::Values;

}  // namespace

Val Evaluator::reduceWindowAt(mlir::OpResult result, const MultiIndex& given) {
  auto reduce = mlir::cast<shlo::ReduceWindowOp>(result.getOwner());
  WindowShape window(reduce);
  auto type = tensorTypeOf(reduce.getInputs()[0]);
  int64_t rank = type.getRank();
  MultiIndex index = normalize(given, tensorTypeOf(result).getShape());
  unsigned width = index.isUniform() ? 1 : lanes_;
  llvm::SmallVector<Val, 2> initial;
  for (mlir::Value value : reduce.getInitValues()) {
    initial.push_back(splat(get(value, MultiIndex()), width));
  }
  const bool unroll = unrolled_.contains(reduce);

  auto step = [&](llvm::ArrayRef<IndexExpr> offset, const Values& carried) -> Values {
    MultiIndex from;
    Condition inside = Condition::always(true);
    for (int64_t d = 0; d < rank; ++d) {
      IndexExpr expr = addIndex(scaleIndex(index.dims[d], window.stride[d]),
                                scaleIndex(offset[d], window.dilation[d]));
      expr = addIndex(expr, IndexExpr(-window.low[d]));
      int64_t spread = window.baseDilation[d];
      int64_t limit = (type.getDimSize(d) - 1) * spread + 1;
      Condition here = type.getDimSize(d) == 0 ? Condition::always(false) : within(expr, 0, limit);
      if (here.known && !here.value) return carried;
      // Outside, an element that exists is read in its place and then not chosen.
      expr = selectIndex(here, expr, 0, 0, limit - 1);
      if (spread > 1) {
        IndexExpr quotient, remainder;
        divideIndex(expr, spread, &quotient, &remainder);
        // Between the spread elements there are holes.
        here = both(here, within(remainder, 0, 1));
        expr = quotient;
      }
      inside = both(inside, here);
      if (inside.known && !inside.value) return carried;
      from.dims.push_back(expr);
    }
    llvm::SmallVector<Val, 4> arguments;
    llvm::append_range(arguments, unflatten(carried, initial, loops_.current()));
    for (mlir::Value input : reduce.getInputs()) {
      arguments.push_back(splat(get(input, from), width));
    }
    llvm::SmallVector<Val, 2> next = evaluateRegion(reduce.getBody(), arguments);
    if (next.size() != initial.size()) return carried;
    llvm::SmallVector<Val, 2> before = unflatten(carried, initial, loops_.current());
    for (size_t i = 0; i < next.size(); ++i) {
      next[i] = splat(selectValue(inside, next[i], before[i]), width);
    }
    return flatten(next);
  };
  std::function<Values(llvm::SmallVector<IndexExpr, 6>, const Values&)> nest =
      [&](llvm::SmallVector<IndexExpr, 6> offset, const Values& carried) -> Values {
    int64_t d = offset.size();
    if (d == rank) return step(offset, carried);
    if (unroll) {
      Values values = carried;
      for (int64_t k = 0; k < window.size[d]; ++k) {
        llvm::SmallVector<IndexExpr, 6> next = offset;
        next.push_back(IndexExpr(k));
        values = nest(next, values);
      }
      return values;
    }
    return loops_.loop(0, window.size[d], 1, carried,
                       [&](const IndexExpr& k, const Values& values) {
                         llvm::SmallVector<IndexExpr, 6> next = offset;
                         next.push_back(k);
                         return nest(next, values);
                       });
  };
  llvm::SmallVector<Val, 2> results =
      unflatten(nest({}, flatten(initial)), initial, loops_.current());
  return results[result.getResultNumber()];
}

namespace {

// Runs along one dimension for each index of the others, carrying the reduction so far.
class ScanEmitter : ScanOperands {
 public:
  ScanEmitter(KernelBuilder& kernel, ir::FusionOp fusion, const ScanStage& stage)
      : ScanOperands(kernel, fusion, stage) {}

  void emit() {
    if (type_.getNumElements() > 0) overOthers({});
  }

 private:
  using Position = llvm::SmallVector<IndexExpr, 6>;

  void overOthers(const Position& at) {
    auto d = static_cast<int64_t>(at.size());
    if (d == type_.getRank()) return runAlong(at);
    auto inside = [&](const IndexExpr& i) {
      Position inner = at;
      inner.push_back(i);
      overOthers(inner);
      return Values();
    };
    int64_t size = type_.getDimSize(d);
    // This dimension runs inside all others, in runAlong(): here it has one position.
    if (d == stage_.scanDim) {
      inside(IndexExpr(0));
    } else if (stage_.tileSpace != TileSpace::kNone && d == stage_.tileDim) {
      LoopBuilder::Bounds bounds;
      bounds.lo = kernel_.begin();
      bounds.hi = kernel_.end();
      bounds.range = {0, size - 1};
      loops_.loop(bounds, {}, [&](const IndexExpr& i, const Values&) { return inside(i); });
    } else {
      // Lanes run along the last dimension, if the scan does not: each carries its own reduction.
      int64_t step = d + 1 == type_.getRank() ? stage_.lanes : 1;
      int64_t vectorEnd = size / step * step;
      loops_.loop(0, vectorEnd, step, {}, [&](const IndexExpr& i, const Values&) {
        IndexExpr expr = i;
        if (step > 1) expr.laneStride = 1;
        evaluator_.setLanes(static_cast<unsigned>(step));
        return inside(expr);
      });
      evaluator_.setLanes(1);
      loops_.loop(vectorEnd, size, 1, {},
                  [&](const IndexExpr& i, const Values&) { return inside(i); });
    }
  }

  void runAlong(const Position& at) {
    Group initial;
    for (mlir::Value value : reduce_.getInitValues()) {
      initial.push_back(evaluator_.splat(evaluator_.get(value, MultiIndex()), evaluator_.lanes()));
    }
    const int64_t size = type_.getDimSize(stage_.scanDim);
    if (stage_.chunk > 1) {
      const int64_t square = stage_.chunk * stage_.chunk;
      scanBlocks(at, {IndexExpr(0), size}, initial, square < size ? square : stage_.chunk);
      return;
    }
    loops_.loop(0, size, 1, flatten(initial), [&](const IndexExpr& i, const Values& carried) {
      Group results = combine(unflatten(carried, initial, loops_.current()), given(at, i));
      store(at, i, results);
      return flatten(results);
    });
  }

  // Elements of the line, in the order that the scan runs in.
  struct Block {
    IndexExpr begin;
    int64_t size;  // the last one of a line has fewer
  };

  // What the elements of `block` give without `before`, which is what all elements before them
  // give. Blocks of `step` elements, in turn of blocks if they are longer than `stage_.chunk`, are
  // combined as wholes.
  Group scanBlocks(const Position& at, const Block& block, const Group& before, int64_t step) {
    const std::optional<Group> neutral = neutralValue();
    llvm::Value* first = loops_.uniformPart(block.begin);
    Values all = loops_.loop(
        boundsOf(block, step), flatten(neutral.value_or(before)),
        [&](const IndexExpr& i, const Values& carried) {
          Group own = unflatten(carried, before, loops_.current());
          // What is carried to the first is nothing, if no number stands for that.
          Condition isFirst = Condition::always(false);
          if (!neutral) {
            llvm::Value* equal = loops_.here().CreateICmpEQ(loops_.uniformPart(i), first);
            isFirst = {false, false, {equal, nullptr, loops_.current()}};
          }
          auto unlessFirst = [&](const Group& onFirst, Group values) {
            if (neutral) return values;
            for (auto [value, other] : llvm::zip(values, onFirst)) {
              value = evaluator_.splat(evaluator_.selectValue(isFirst, other, value),
                                       evaluator_.lanes());
            }
            return values;
          };
          if (step == 1) {
            Group value = given(at, i);
            own = unlessFirst(value, combine(own, value));
            store(at, i, combine(before, own));
            return flatten(own);
          }
          Group start = unlessFirst(before, combine(before, own));
          const int64_t inner = step > stage_.chunk ? stage_.chunk : 1;
          Group sum = scanBlocks(at, {i, step}, start, inner);
          return flatten(unlessFirst(sum, combine(own, sum)));
        });
    return unflatten(all, before, loops_.current());
  }

  LoopBuilder::Bounds boundsOf(const Block& block, int64_t step) {
    const int64_t size = type_.getDimSize(stage_.scanDim);
    LoopBuilder::Bounds bounds;
    bounds.lo = loops_.uniformPart(block.begin);
    bounds.hi = loops_.here().CreateAdd(bounds.lo, loops_.i64(block.size));
    if (size % block.size) {
      bounds.hi =
          loops_.here().CreateBinaryIntrinsic(llvm::Intrinsic::smin, bounds.hi, loops_.i64(size));
    }
    bounds.step = step;
    bounds.range = {0, size - 1};
    bounds.mayBeEmpty = false;
    return bounds;
  }

  std::optional<Group> neutralValue() {
    if (reduce_->getNumResults() != 1) return std::nullopt;
    auto value = neutral();
    if (!value) return std::nullopt;
    return Group{evaluator_.splat(*value, evaluator_.lanes())};
  }

  MultiIndex indexOf(const Position& at, const IndexExpr& i) const {
    MultiIndex index;
    index.dims.assign(at.begin(), at.end());
    const int64_t last = type_.getDimSize(stage_.scanDim) - 1;
    index.dims[stage_.scanDim] = stage_.isScanFromEnd ? add(IndexExpr(last), scale(i, -1)) : i;
    return index;
  }

  Group given(const Position& at, const IndexExpr& i) {
    Group values;
    for (mlir::Value input : reduce_.getInputs()) {
      values.push_back(evaluator_.splat(evaluator_.get(input, indexOf(at, i)), evaluator_.lanes()));
    }
    return values;
  }

  void store(const Position& at, const IndexExpr& i, llvm::ArrayRef<Val> values) {
    storeAt(indexOf(at, i), values);
  }
};

}  // namespace

void emitScan(KernelBuilder& kernel, ir::FusionOp fusion, const ScanStage& stage) {
  ScanEmitter(kernel, fusion, stage).emit();
}

}  // namespace isthmus::codegen
