// The loops of a reduction.
#include "compiler/schedule/loop/reduction_axes.h"

#include <algorithm>

#include "compiler/cost/op_cost.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/loop/iteration.h"
#include "compiler/target/element_kind.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace isthmus {

ReducedAxes reducedAxesOf(shlo::ReduceOp reduce) {
  auto type = mlir::cast<mlir::RankedTensorType>(reduce.getInputs()[0].getType());
  ReducedAxes result;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (!llvm::is_contained(reduce.getDimensions(), d)) continue;
    bool joins = !result.axes.empty() && result.axes.back().dim == d - 1;
    for (mlir::Value input : reduce.getInputs()) {
      joins = joins && canMerge(input, static_cast<unsigned>(d - 1));
    }
    if (joins) {
      result.merged |= uint64_t{1} << (d - 1);
      result.axes.back() = {d, result.axes.back().size * type.getDimSize(d)};
    } else if (type.getDimSize(d) != 1) {  // The index along a dimension of size 1 is 0.
      result.axes.push_back({d, type.getDimSize(d)});
    }
  }
  if (result.axes.empty() && !reduce.getDimensions().empty()) {
    result.axes.push_back({reduce.getDimensions().back(), 1});
  }
  return result;
}

namespace {

bool haveOneLoop(shlo::ReduceOp a, shlo::ReduceOp b) {
  if (tensorTypeOf(a.getInputs()[0]).getShape() != tensorTypeOf(b.getInputs()[0]).getShape() ||
      a.getDimensions() != b.getDimensions()) {
    return false;
  }
  // What may be read as one dimension of the one's operand may have to be told apart of the
  // other's.
  const ReducedAxes first = reducedAxesOf(a), second = reducedAxesOf(b);
  return first.merged == second.merged && first.axes.size() == second.axes.size();
}

}  // namespace

llvm::SmallVector<llvm::SmallVector<shlo::ReduceOp, 4>, 2> reductionsOfOneLoop(
    ir::FusionOp fusion, const FusedStage& stage) {
  struct Loop {
    ReductionSchedule schedule;
    unsigned depth;
    llvm::SmallVector<shlo::ReduceOp, 4> reduces;
  };
  llvm::SmallVector<Loop, 4> loops;
  // How many reductions one after the other a value takes: those that take as many do not depend on
  // each other.
  llvm::DenseMap<mlir::Operation*, unsigned> depths;
  unsigned number = 0;
  for (mlir::Operation& op : fusion.getBody().front()) {
    unsigned depth = 0;
    for (mlir::Value operand : op.getOperands()) {
      if (mlir::Operation* from = operand.getDefiningOp()) depth = std::max(depth, depths[from]);
    }
    auto reduce = mlir::dyn_cast<shlo::ReduceOp>(op);
    const ReductionSchedule* schedule = stage.reductionOf(number++);
    depths[&op] = depth + (reduce ? 1 : 0);
    if (!reduce || !schedule || !hasNeutralValue(reduce)) continue;
    if (schedule->strategy != ReductionStrategy::kRow &&
        schedule->strategy != ReductionStrategy::kGroup) {
      continue;
    }
    ReductionSchedule key = *schedule;
    key.op = 0;
    // Of accumulators a loop has as many as the reduction with most of them.
    if (key.strategy == ReductionStrategy::kRow) key.interleave = 0;
    auto takes = [&](const Loop& loop) {
      return loop.depth == depth && loop.schedule == key && haveOneLoop(loop.reduces[0], reduce);
    };
    if (auto* loop = llvm::find_if(loops, takes); loop != loops.end()) {
      loop->reduces.push_back(reduce);
    } else {
      loops.push_back({key, depth, {reduce}});
    }
  }
  llvm::SmallVector<llvm::SmallVector<shlo::ReduceOp, 4>, 2> shared;
  for (Loop& loop : loops) {
    if (loop.reduces.size() > 1) shared.push_back(std::move(loop.reduces));
  }
  return shared;
}

bool hasNeutralValue(shlo::ReduceOp reduce) {
  if (reduce.getInputs().size() != 1) return false;
  auto kind = elementKind(tensorTypeOf(reduce.getInputs()[0]).getElementType());
  return kind && hasNeutralValue(reduce.getBody(), *kind);
}

bool hasNeutralValue(mlir::Region& reducer, const ElementKind& kind) {
  return !kind.isComplex() && neutralOf(soleOperation(reducer)) != Neutral::kNone;
}

bool isRounded(shlo::ReduceOp reduce) {
  if (reduce.getInputs().size() != 1) return false;
  auto kind = elementKind(tensorTypeOf(reduce.getInputs()[0]).getElementType());
  return kind && (kind->isFloat() || kind->isComplex()) &&
         neutralOf(soleOperation(reduce.getBody())) == Neutral::kZero;
}

bool canShareInGroup(shlo::ReduceOp reduce, unsigned threads, unsigned neighbours) {
  if (hasNeutralValue(reduce)) return true;
  const ReducedAxes reduced = reducedAxesOf(reduce);
  auto isReal = [](mlir::Value input) {
    auto kind = elementKind(tensorTypeOf(input).getElementType());
    return kind && !kind->isComplex();
  };
  return llvm::all_of(reduce.getInputs(), isReal) && reduced.axes.size() == 1 &&
         reduced.axes[0].size >= int64_t{threads} * neighbours;
}

namespace {

// What an element costs that is computed for the reduction, in additions.
double inputWeight(shlo::ReduceOp reduce) {
  double weight = 0;
  llvm::DenseSet<mlir::Operation*> seen;
  llvm::SmallVector<mlir::Value, 8> pending(reduce.getInputs());
  while (!pending.empty()) {
    mlir::Value value = pending.pop_back_val();
    mlir::Operation* op = value.getDefiningOp();
    if (!op || !isElementwise(op) || !seen.insert(op).second) continue;
    weight += elementCost(op);
    for (mlir::Value operand : op->getOperands()) {
      if (tensorTypeOf(operand).getShape() == tensorTypeOf(value).getShape()) {
        pending.push_back(operand);
      }
    }
  }
  return weight;
}

}  // namespace

// ReductionSchedule::block of `count` summands for each accumulator.
static unsigned blockOf(int64_t count, bool areRowsSeveral) {
  constexpr int64_t kBlock = 64, kMinOfRow = 16;
  return count < (areRowsSeveral ? kMinOfRow : 2 * kBlock) ? 0 : kBlock;
}

unsigned blockOfRows(shlo::ReduceOp reduce) {
  const ReducedAxes reduced = reducedAxesOf(reduce);
  if (reduced.axes.empty() || !isRounded(reduce) || !hasNeutralValue(reduce)) return 0;
  return blockOf(reduced.axes.back().size, /*areRowsSeveral=*/false);
}

ReductionSchedule chooseRowReduction(shlo::ReduceOp reduce, unsigned op,
                                     const TargetModel& target) {
  ReductionSchedule schedule{op, ReductionStrategy::kRow};
  ReducedAxes reduced = reducedAxesOf(reduce);
  if (reduced.axes.empty()) return schedule;
  int64_t size = reduced.axes.back().size;
  unsigned widest = 8;
  for (mlir::Value input : reduce.getInputs()) {
    auto kind = elementKind(mlir::cast<mlir::RankedTensorType>(input.getType()).getElementType());
    if (kind) widest = std::max(widest, kind->computeBits());
  }
  // A vector is folded by the reducer in each width down to one: of a long one, so much code takes
  // minutes to compile.
  constexpr size_t kMaxFolded = 256;
  const bool isLong = reduce.getBody().front().getOperations().size() > kMaxFolded;
  schedule.lanes = isLong ? 1 : target.vectorLanes(widest);
  while (schedule.lanes > 1 && schedule.lanes > size) schedule.lanes /= 2;
  // While an element is computed the addition of the one before ends: more chains would be more
  // code and more registers.
  const bool isHidden = inputWeight(reduce) >= target.hidingAdditions;
  schedule.interleave = hasNeutralValue(reduce) && !isHidden ? target.reductionChains : 1;
  while (schedule.interleave > 1 && size < 2 * schedule.interleave * schedule.lanes) {
    schedule.interleave /= 2;
  }
  if (isRounded(reduce)) {
    schedule.block =
        blockOf(size / (schedule.lanes * schedule.interleave), reduced.axes.size() > 1);
  }
  return schedule;
}

unsigned chainsOfShortRow(shlo::ReduceOp reduce, const ReductionSchedule& schedule,
                          const TargetModel& target) {
  constexpr int64_t kFewVectors = 8;
  const int64_t vectors = reducedAxesOf(reduce).axes.back().size / schedule.lanes;
  if (vectors > kFewVectors) return std::min(schedule.interleave, 2U);
  if (inputWeight(reduce) >= target.hidingAdditions) return 1;
  unsigned chains = target.reductionChains;
  while (chains > 1 && vectors % chains != 0) --chains;
  return chains;
}

}  // namespace isthmus
