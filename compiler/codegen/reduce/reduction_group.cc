// Reductions whose last axis the threads of a group share.
#include "compiler/codegen/group_threads.h"
#include "compiler/codegen/reduce/reduction.h"

namespace isthmus::codegen {

// Each thread sums every so many elements, some neighbours at a time; the sums then meet in the
// group's memory, by halves.
Group ReductionEmitter::emitGroup(const Val& neutral, unsigned threads, unsigned neighbours) {
  const ReducedAxis& last = axes_.axes.back();
  rowLanes_ = neighbours;
  Group start = splat({neutral}, neighbours);
  llvm::Value* thread = threadInGroup(loops_);
  llvm::Value* first =
      neighbours == 1 ? thread : loops_.here().CreateMul(thread, loops_.i64(neighbours));
  Step row = [&](const MultiIndex& at, const Values& carried) -> Values {
    LoopBuilder::Bounds bounds;
    bounds.lo = first;
    bounds.hi = loops_.i64(last.size);
    bounds.step = static_cast<int64_t>(threads) * neighbours;
    bounds.range = {0, last.size - neighbours};
    bounds.multipleOf = neighbours;
    const unsigned saved = evaluator_.lanes();
    evaluator_.setLanes(neighbours);
    Values sums = loops_.loop(bounds, carried, [&](const IndexExpr& i, const Values& values) {
      auto own = evaluator_.enterThreadsOwn(loops_.current());
      Group sum = unflatten(values, start, loops_.current());
      Group inputs = splat(inputsAt(atLast(at, i, 0, neighbours > 1)), neighbours);
      return flatten(splat(combine(sum, inputs), neighbours));
    });
    evaluator_.setLanes(saved);
    return sums;
  };
  Values own = overAxes(0, axes_.axes.size() - 1, base_, flatten(start), row);
  own = flatten(foldLanes(unflatten(own, start, loops_.current())));
  if (hasExchange(loops_.target())) {
    Group result = withInitial(neutral, {exchangedSum(own[0], threads)});
    for (Val& value : result) value.level = outside_;
    return result;
  }
  GroupMemory memory(loops_, own[0]->getType(), threads);
  // What an earlier reduction of this row left may still be read.
  groupBarrier(loops_);
  memory.store(thread, own[0]);
  groupBarrier(loops_);
  for (unsigned half = threads / 2; half > 0; half /= 2) {
    llvm::Value* isLower = loops_.here().CreateICmpULT(thread, loops_.i64(half));
    loops_.branch(isLower, {}, [&] {
      llvm::Value* other = loops_.here().CreateAdd(thread, loops_.i64(half));
      Val a{memory.load(thread), nullptr, loops_.current()};
      Val b{memory.load(other), nullptr, loops_.current()};
      memory.store(thread, combine({a}, {b})[0].re);
      return Values();
    });
    // Outside of the branch: every thread of the group has to come by, or the others wait for ever.
    groupBarrier(loops_);
  }
  Group result = {Val{memory.load(loops_.i64(0)), nullptr, loops_.current()}};
  result = withInitial(neutral, result);
  for (Val& value : result) value.level = outside_;
  return result;
}

// Sub-groups sum in registers, and only their sums meet in the group's memory.
Val ReductionEmitter::exchangedSum(llvm::Value* own, unsigned threads) {
  auto here = [&](llvm::Value* value) { return Val{value, nullptr, loops_.current()}; };
  auto overThreads = [&](Val sum, unsigned count) {
    for (unsigned distance = count / 2; distance > 0; distance /= 2) {
      sum = combine({sum}, {here(exchange(loops_, sum.re, distance))})[0];
    }
    return sum;
  };
  const unsigned inStep = std::min(threads, loops_.target().subgroupSize);
  const unsigned subgroups = threads / inStep;
  Val sum = overThreads(here(own), inStep);
  if (subgroups == 1) return sum;
  GroupMemory memory(loops_, own->getType(), subgroups);
  llvm::Value* thread = threadInGroup(loops_);
  // What an earlier reduction of this row left may still be read.
  groupBarrier(loops_);
  llvm::IRBuilder<>& b = loops_.here();
  llvm::Value* isFirst = b.CreateICmpEQ(b.CreateURem(thread, loops_.i64(inStep)), loops_.i64(0));
  llvm::Value* subgroup = b.CreateUDiv(thread, loops_.i64(inStep));
  loops_.branch(isFirst, {}, [&] {
    memory.store(subgroup, sum.re);
    return Values();
  });
  groupBarrier(loops_);
  llvm::Value* other = loops_.here().CreateURem(thread, loops_.i64(subgroups));
  return overThreads(here(memory.load(other)), subgroups);
}

}  // namespace isthmus::codegen
