// A reduction at one index of its result: loops of its own around the reducer.
#pragma once

#include <functional>
#include <optional>

#include "compiler/codegen/evaluator.h"
#include "compiler/dialect/dialect.h"
#include "compiler/schedule/loop/reduction_axes.h"

namespace isthmus::codegen {

// What a loop carries: a register (two for complex numbers) per result of the reducer.
using Group = llvm::SmallVector<Val, 2>;

// Registers of several values as one list for a loop to carry, and back.
LoopBuilder::Values flatten(llvm::ArrayRef<Val> values);
Group unflatten(llvm::ArrayRef<llvm::Value*> flat, llvm::ArrayRef<Val> like, Level* level);

// The operand's index for one of the result; the reduced dimensions are 0, and those that
// share a loop are merged.
MultiIndex indexInOperand(Evaluator& evaluator, shlo::ReduceOp reduce, const MultiIndex& index,
                          const ReducedAxes& axes);

// What the reducer leaves unchanged, if it is one op with such a value.
std::optional<Val> neutralValueOf(shlo::ReduceOp reduce, LoopBuilder& loops, Evaluator& evaluator);
// The same of a reducer of numbers of `kind`.
std::optional<Val> neutralValueOf(mlir::Region& reducer, const ElementKind& kind,
                                  LoopBuilder& loops);

// Whether it is the maximum or the minimum of vectors, of type `type`, of numbers of 32 or 64 bits
// that may be NaN.
bool isExtremumOfFloats(shlo::ReduceOp reduce, llvm::Type* type);
// The bits of a vector of floating-point numbers, or of one.
llvm::Value* asIntegers(llvm::IRBuilder<>& b, llvm::Value* floats);
// All bits but the sign inverted where that is set: as integers such bits of floating-point numbers
// are in the numbers' order, -0 before +0. Its own inverse.
llvm::Value* inOrder(llvm::IRBuilder<>& b, llvm::Value* bits);
// The vector's extremum by one instruction a step, of integers in the numbers' order.
llvm::Value* foldInOrder(llvm::IRBuilder<>& b, llvm::Value* keys, bool isMaximum);

class ReductionEmitter {
 public:
  ReductionEmitter(Evaluator& evaluator, shlo::ReduceOp reduce, const MultiIndex& index)
      : ReductionEmitter(evaluator, llvm::ArrayRef(reduce), index) {}
  // Of several reductions that share their loops: of operands of one shape along the same axes,
  // none of another's result, and each of a reducer with a neutral value if they are more than one.
  ReductionEmitter(Evaluator& evaluator, llvm::ArrayRef<shlo::ReduceOp> reduces,
                   const MultiIndex& index);

  // The values of the reductions, one after the other; one for each lane of the context if `index`
  // differs between them.
  Group emit(const ReductionSchedule& schedule);
  // One row's value as a vector that is not folded to a number yet: what foldRowBlock takes. The
  // reducer has a neutral value, and the row no fewer elements than there are lanes.
  llvm::Value* emitRowVector(const ReductionSchedule& schedule);
  // Element i: the value of row i. There are as many vectors as lanes, of type `vector`, one after
  // the other at `partial`, which is overwritten.
  Group foldRowBlock(llvm::Value* partial, llvm::Type* vector, unsigned lanes);

 private:
  using Values = LoopBuilder::Values;
  using Step = std::function<Values(const MultiIndex&, const Values&)>;

  Group inputsAt(const MultiIndex& index);
  Group combine(llvm::ArrayRef<Val> a, llvm::ArrayRef<Val> b);
  Group splat(Group values, unsigned lanes);
  // `body` at each index along the axes from `axis` up to `end`.
  Values overAxes(size_t axis, size_t end, const MultiIndex& at, const Values& carried,
                  const Step& body);
  // What the reducers leave unchanged, if each has such a value.
  std::optional<Group> neutral();
  // Combines with the initial values, unless that changes nothing.
  Group withInitial(const Group& neutral, Group result);

  // Each lane for itself (reduction.cc).
  Group emitLane(bool unrolls);
  Values unrolled(size_t axis, const MultiIndex& at, const Values& carried, const Step& body);

  // Lanes share the last axis (reduction_row.cc): several vector accumulators, folded into one
  // vector, then halved down to one lane.
  Group emitRow(unsigned lanes, unsigned accumulators, unsigned block = 0);
  Group emitRowFromNeutral(const Group& neutral);
  llvm::SmallVector<Group, 4> accumulateRow(const Group& neutral, bool* hasTail);
  Group emitRowFromFirst();
  MultiIndex atLast(MultiIndex at, const IndexExpr& i, int64_t offset, bool isVector) const;
  Group vectorAt(const MultiIndex& at, const IndexExpr& i, int64_t offset);
  llvm::SmallVector<Group, 4> overSteps(const MultiIndex& at,
                                        const llvm::SmallVector<Group, 4>& groups,
                                        const IndexExpr& origin, int64_t begin, int64_t end);
  llvm::SmallVector<Group, 4> overBlocks(const MultiIndex& at,
                                         const llvm::SmallVector<Group, 4>& groups,
                                         const Group* neutral, int64_t begin, int64_t end,
                                         int64_t block);
  llvm::SmallVector<Group, 4> overVectors(const MultiIndex& at, llvm::SmallVector<Group, 4> groups,
                                          int64_t begin, const Group* neutral = nullptr);
  Group overTail(const MultiIndex& at, const Group& start);
  Group overLastVector(const MultiIndex& at, const Group& sum, const Group& neutral);
  Group foldAccumulators(llvm::SmallVector<Group, 4> groups);
  Group fold(llvm::SmallVector<Group, 4> groups) { return foldLanes(foldAccumulators(groups)); }
  Group foldLanes(Group group);
  llvm::Value* foldRows(llvm::SmallVector<llvm::Value*, 16> rows, unsigned half);
  llvm::Type* vectorOfRows(unsigned lanes) const;
  int64_t vectorEnd() const;
  // One more vector of the row.
  Group addVector(Group sum, const Group& inputs);

  // Extrema of floats where no instruction has StableHLO's (reduction_extremum.cc): of each lane
  // the largest or smallest number, all signs and whether there was a NaN, three short chains in
  // place of a long one.
  bool keepsApart(llvm::Type* vector) const;
  Group apart(const Val& neutral);
  // inputs[i] to states[i % states.size()].
  void addApart(llvm::MutableArrayRef<Group> states, llvm::ArrayRef<llvm::Value*> inputs);
  Group emitLaneApart(const Group& neutral, bool unrolls);
  Group joinApart(const Group& a, const Group& b);
  llvm::Value* inOrderOfApart(const Group& state);

  // Threads share the last axis (reduction_group.cc).
  Group emitGroup(const std::optional<Group>& neutral, unsigned threads, unsigned neighbours);
  Values overOwn(int64_t begin, int64_t end, unsigned threads, const MultiIndex& at,
                 const Group& carried,
                 llvm::function_ref<Group(const Group& carried, const Group& elements)> body);
  Group ownFromNeutral(const Group& neutral, unsigned threads);
  Group ownFromFirst(unsigned threads);
  Group shuffledSum(Group sum, unsigned threads);
  Group sumInMemory(const Group& own, unsigned threads);

  Evaluator& evaluator_;
  LoopBuilder& loops_;
  llvm::SmallVector<shlo::ReduceOp, 4> reduces_;
  shlo::ReduceOp reduce_;  // the first
  ReducedAxes axes_;
  MultiIndex base_;
  bool isUniform_;
  Level* outside_;
  Group initial_;
  unsigned rowLanes_ = 1;
  int64_t block_ = 0;  // ReductionSchedule::block
  int64_t accumulators_ = 1;
  bool isApart_ = false;  // accumulators are those of reduction_extremum.cc
};

}  // namespace isthmus::codegen
