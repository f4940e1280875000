// The loops of a reduction.
#include "compiler/schedule/loop/reduction_axes.h"

#include <algorithm>

#include "compiler/cost/op_cost.h"
#include "compiler/dialect/array_shape.h"
#include "compiler/dialect/combiner.h"
#include "compiler/schedule/loop/iteration.h"
#include "compiler/target/element_kind.h"
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

bool hasNeutralValue(shlo::ReduceOp reduce) {
  if (reduce.getInputs().size() != 1) return false;
  auto kind = elementKind(tensorTypeOf(reduce.getInputs()[0]).getElementType());
  return kind && hasNeutralValue(reduce.getBody(), *kind);
}

bool hasNeutralValue(mlir::Region& reducer, const ElementKind& kind) {
  return !kind.isComplex() && neutralOf(soleOperation(reducer)) != Neutral::kNone;
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
  schedule.lanes = target.vectorLanes(widest);
  while (schedule.lanes > 1 && schedule.lanes > size) schedule.lanes /= 2;
  // While an element is computed the addition of the one before ends: more chains would be more
  // code and more registers.
  const bool isHidden = inputWeight(reduce) >= target.hidingAdditions;
  schedule.interleave = hasNeutralValue(reduce) && !isHidden ? target.reductionChains : 1;
  while (schedule.interleave > 1 && size < 2 * schedule.interleave * schedule.lanes) {
    schedule.interleave /= 2;
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
