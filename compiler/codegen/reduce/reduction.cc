// Reductions: which way the schedule says, and each lane for itself.
#include "compiler/codegen/reduce/reduction.h"

#include "compiler/schedule/loop/iteration.h"
#include "llvm/ADT/ScopeExit.h"

namespace isthmus::codegen {

LoopBuilder::Values flatten(llvm::ArrayRef<Val> values) {
  LoopBuilder::Values flat;
  for (const Val& value : values) {
    flat.push_back(value.re);
    if (value.im) flat.push_back(value.im);
  }
  return flat;
}

Group unflatten(llvm::ArrayRef<llvm::Value*> flat, llvm::ArrayRef<Val> like, Level* level) {
  Group values;
  size_t next = 0;
  for (const Val& value : like) {
    Val result{flat[next++], nullptr, level};
    if (value.im) result.im = flat[next++];
    values.push_back(result);
  }
  return values;
}

MultiIndex indexInOperand(Evaluator& evaluator, shlo::ReduceOp reduce, const MultiIndex& given,
                          const ReducedAxes& axes) {
  int64_t rank = mlir::cast<mlir::RankedTensorType>(reduce.getInputs()[0].getType()).getRank();
  auto resultType = mlir::cast<mlir::RankedTensorType>(reduce->getResult(0).getType());
  llvm::SmallVector<int64_t> kept;
  for (int64_t d = 0; d < rank; ++d) {
    if (!llvm::is_contained(reduce.getDimensions(), d)) kept.push_back(d);
  }
  MultiIndex index = given;
  uint64_t merged = 0;
  for (size_t d = 0; d + 1 < kept.size(); ++d) {
    if (!(index.merged >> d & 1)) continue;
    if (kept[d + 1] == kept[d] + 1) {
      merged |= uint64_t{1} << kept[d];
    } else {
      // A reduced dimension lies between two that share a loop: they have to be told apart.
      index = evaluator.normalize(given, resultType.getShape());
      merged = 0;
      break;
    }
  }
  MultiIndex base;
  base.dims.resize(rank);
  base.merged = merged | axes.merged;
  for (size_t d = 0; d < kept.size(); ++d) base.dims[kept[d]] = index.dims[d];
  return base;
}

ReductionEmitter::ReductionEmitter(Evaluator& evaluator, llvm::ArrayRef<shlo::ReduceOp> reduces,
                                   const MultiIndex& index)
    : evaluator_(evaluator),
      loops_(evaluator.loops()),
      reduces_(reduces),
      reduce_(reduces[0]),
      axes_(reducedAxesOf(reduces[0])),
      isUniform_(index.isUniform()),
      outside_(loops_.current()) {
  for (shlo::ReduceOp reduce : reduces_) {
    for (mlir::Value value : reduce.getInitValues()) {
      initial_.push_back(evaluator.get(value, MultiIndex()));
    }
  }
  base_ = indexInOperand(evaluator, reduce_, index, axes_);
}

Group ReductionEmitter::inputsAt(const MultiIndex& index) {
  Group values;
  for (shlo::ReduceOp reduce : reduces_) {
    for (mlir::Value input : reduce.getInputs()) values.push_back(evaluator_.get(input, index));
  }
  return values;
}

Group ReductionEmitter::combine(llvm::ArrayRef<Val> a, llvm::ArrayRef<Val> b) {
  Group values;
  for (shlo::ReduceOp reduce : reduces_) {
    const size_t width = reduce.getInputs().size();
    llvm::SmallVector<Val, 4> arguments(a.take_front(width));
    arguments.append(b.begin(), b.begin() + width);
    values.append(evaluator_.evaluateRegion(reduce.getBody(), arguments));
    a = a.drop_front(width);
    b = b.drop_front(width);
  }
  return values;
}

std::optional<Group> ReductionEmitter::neutral() {
  Group values;
  for (shlo::ReduceOp reduce : reduces_) {
    std::optional<Val> value = neutralValueOf(reduce, loops_, evaluator_);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

Group ReductionEmitter::splat(Group values, unsigned lanes) {
  for (Val& value : values) value = evaluator_.splat(value, lanes);
  return values;
}

LoopBuilder::Values ReductionEmitter::overAxes(size_t axis, size_t end, const MultiIndex& at,
                                               const Values& carried, const Step& body) {
  if (axis == end) return body(at, carried);
  return loops_.loop(0, axes_.axes[axis].size, 1, carried,
                     [&](const IndexExpr& i, const Values& values) {
                       MultiIndex next = at;
                       next.dims[axes_.axes[axis].dim] = i;
                       return overAxes(axis + 1, end, next, values, body);
                     });
}

LoopBuilder::Values ReductionEmitter::unrolled(size_t axis, const MultiIndex& at,
                                               const Values& carried, const Step& body) {
  if (axis == axes_.axes.size()) return body(at, carried);
  Values values = carried;
  for (int64_t i = 0; i < axes_.axes[axis].size; ++i) {
    MultiIndex next = at;
    next.dims[axes_.axes[axis].dim] = IndexExpr(i);
    values = unrolled(axis + 1, next, values, body);
  }
  return values;
}

Group ReductionEmitter::emitLane(bool unrolls) {
  unsigned lanes = evaluator_.lanes();
  Group start = splat(initial_, lanes);
  if (keepsApart(start[0].re->getType())) return emitLaneApart(*neutral(), unrolls);
  Step step = [&](const MultiIndex& at, const Values& carried) -> Values {
    Group next = combine(unflatten(carried, start, loops_.current()), inputsAt(at));
    return flatten(splat(next, lanes));
  };
  Values result = unrolls ? unrolled(0, base_, flatten(start), step)
                          : overAxes(0, axes_.axes.size(), base_, flatten(start), step);
  return unflatten(result, start, loops_.current());
}

Group ReductionEmitter::withInitial(const Group& neutral, Group result) {
  auto startsNeutral = [&](size_t i) {
    if (auto* constant = llvm::dyn_cast<llvm::ConstantFP>(initial_[i].re)) {
      // 0 + x is x but for x = -0, where it is what a sum that starts from 0 gives.
      return constant->isExactlyValue(llvm::cast<llvm::ConstantFP>(neutral[i].re)->getValueAPF());
    }
    return initial_[i].re == neutral[i].re;
  };
  const auto all = llvm::seq<size_t>(0, neutral.size());
  if (llvm::all_of(all, startsNeutral)) return result;
  Group combined = combine(splat(initial_, result[0].lanes()), result);
  for (size_t i : all) {
    if (startsNeutral(i)) combined[i] = result[i];
  }
  return combined;
}

Group ReductionEmitter::emit(const ReductionSchedule& schedule) {
  auto isEmpty = [](const ReducedAxis& axis) { return axis.size == 0; };
  if (llvm::any_of(axes_.axes, isEmpty)) return initial_;
  if (axes_.axes.empty()) return combine(initial_, inputsAt(base_));
  // Lanes cannot share a row where each wants another.
  if (!isUniform_) {
    bool unrolls = schedule.strategy == ReductionStrategy::kLane && schedule.interleave > 1;
    return emitLane(unrolls && evaluator_.lanes() > 1);
  }
  if (schedule.strategy == ReductionStrategy::kGroup) {
    // Where threads are at different places, each has to reduce for itself.
    const bool isShared = canShareInGroup(reduce_, schedule.lanes, schedule.interleave) &&
                          !evaluator_.isThreadsOwn(evaluator_.levelOf(base_));
    return isShared ? emitGroup(neutral(), schedule.lanes, schedule.interleave) : emitRow(1, 1);
  }
  // What is left of a vector of results, one by one: here lanes are free to share each.
  if (schedule.strategy == ReductionStrategy::kLane) {
    return emitRow(schedule.restLanes, schedule.restInterleave);
  }
  return emitRow(schedule.lanes, schedule.interleave, schedule.block);
}

llvm::SmallVector<Val, 2> Evaluator::reduceAt(mlir::Operation* op, const MultiIndex& index) {
  auto reduce = mlir::cast<shlo::ReduceOp>(op);
  if (isReducedAlready(op, index)) return accumulatedAt(op, index);
  // Rows that this one keeps are written while it reads them, see get().
  mlir::Operation* outerReduce = activeReduce_;
  activeReduce_ = op;
  auto restore = llvm::scope_exit([&] { activeReduce_ = outerReduce; });
  ReductionSchedule schedule = scheduleOf(op);
  // Those along the same axes come from one loop with it, which reads their operands once.
  llvm::SmallVector<shlo::ReduceOp, 4> reduces = {reduce};
  if (auto it = sharedLoops_.find(op); it != sharedLoops_.end()) {
    for (shlo::ReduceOp other : it->second) {
      if (other == reduce || memoised(other->getResult(0), index)) continue;
      reduces.push_back(other);
      schedule.interleave = std::max(schedule.interleave, scheduleOf(other).interleave);
    }
  }
  Group values = ReductionEmitter(*this, reduces, index).emit(schedule);
  const size_t own = op->getNumResults();
  for (auto [other, value] :
       llvm::zip(llvm::ArrayRef(reduces).drop_front(), llvm::ArrayRef(values).drop_front(own))) {
    memoise(other->getResult(0), index, value);
  }
  values.truncate(own);
  return values;
}

}  // namespace isthmus::codegen
