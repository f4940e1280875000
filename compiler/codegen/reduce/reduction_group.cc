// Reductions whose last axis the threads of a group share.
#include <algorithm>

#include "compiler/codegen/reduce/reduction.h"
#include "compiler/codegen/target/group_threads.h"

namespace isthmus::codegen {

// The thread's own elements of the last axis among those of [begin, end): every so many, some
// neighbours at a time. `body` gives what is carried on from what was, and the elements.
LoopBuilder::Values ReductionEmitter::overOwn(
    int64_t begin, int64_t end, unsigned threads, const MultiIndex& at, const Group& carried,
    llvm::function_ref<Group(const Group& carried, const Group& elements)> body) {
  const unsigned neighbours = rowLanes_;
  llvm::Value* thread = threadInGroup(loops_);
  llvm::IRBuilder<>& b = loops_.here();
  llvm::Value* first = neighbours == 1 ? thread : b.CreateMul(thread, loops_.i64(neighbours));
  LoopBuilder::Bounds bounds;
  bounds.lo = begin == 0 ? first : b.CreateAdd(first, loops_.i64(begin));
  bounds.hi = loops_.i64(end);
  bounds.step = static_cast<int64_t>(threads) * neighbours;
  bounds.range = {begin, std::max(begin, end - neighbours)};
  bounds.multipleOf = neighbours;
  bounds.mayBeEmpty = begin != 0 || end < bounds.step;
  const auto scope = evaluator_.enterLanes(neighbours);
  return loops_.loop(bounds, flatten(carried), [&](const IndexExpr& i, const Values& values) {
    auto own = evaluator_.enterThreadsOwn(loops_.current());
    const Group before = unflatten(values, carried, loops_.current());
    Group elements = splat(inputsAt(atLast(at, i, 0, neighbours > 1)), neighbours);
    return flatten(splat(body(before, elements), neighbours));
  });
}

// What a thread reduces of the elements that are its own, from the neutral value on.
Group ReductionEmitter::ownFromNeutral(const Group& neutral, unsigned threads) {
  const Group start = splat(neutral, rowLanes_);
  const int64_t size = axes_.axes.back().size;
  Step row = [&](const MultiIndex& at, const Values& carried) -> Values {
    return overOwn(0, size, threads, at, unflatten(carried, start, loops_.current()),
                   [&](const Group& sum, const Group& inputs) { return combine(sum, inputs); });
  };
  Values own = overAxes(0, axes_.axes.size() - 1, base_, flatten(start), row);
  return unflatten(own, start, loops_.current());
}

// The same of the only axis, from the thread's first elements on.
Group ReductionEmitter::ownFromFirst(unsigned threads) {
  const Group like = splat(initial_, rowLanes_);
  const int64_t begun = static_cast<int64_t>(threads) * rowLanes_;
  Values first = overOwn(0, begun, threads, base_, like,
                         [](const Group&, const Group& inputs) { return inputs; });
  Values own = overOwn(begun, axes_.axes.back().size, threads, base_,
                       unflatten(first, like, loops_.current()),
                       [&](const Group& sum, const Group& inputs) { return combine(sum, inputs); });
  return unflatten(own, like, loops_.current());
}

// The threads' results meet in registers or in the group's memory, by halves.
Group ReductionEmitter::emitGroup(const std::optional<Group>& neutral, unsigned threads,
                                  unsigned neighbours) {
  rowLanes_ = neighbours;
  const Group own = foldLanes(neutral ? ownFromNeutral(*neutral, threads) : ownFromFirst(threads));
  Group result =
      loops_.target().shufflesInSubgroup ? shuffledSum(own, threads) : sumInMemory(own, threads);
  result = neutral ? withInitial(*neutral, result) : combine(initial_, result);
  for (Val& value : result) value.level = outside_;
  return result;
}

namespace {

// A value of each thread, or of each sub-group, in the group's memory.
class SharedValues {
 public:
  SharedValues(LoopBuilder& loops, const Group& like, unsigned count) : loops_(loops) {
    for (const Val& value : like) parts_.emplace_back(loops, value.re->getType(), count);
  }
  void store(llvm::Value* at, const Group& values) {
    for (auto [part, value] : llvm::zip(parts_, values)) part.store(at, value.re);
  }
  Group load(llvm::Value* at) {
    Group values;
    for (GroupMemory& part : parts_) {
      values.push_back({part.load(at), nullptr, loops_.current()});
    }
    return values;
  }

 private:
  LoopBuilder& loops_;
  llvm::SmallVector<GroupMemory, 2> parts_;
};

}  // namespace

Group ReductionEmitter::sumInMemory(const Group& own, unsigned threads) {
  llvm::Value* thread = threadInGroup(loops_);
  SharedValues memory(loops_, own, threads);
  // What an earlier reduction of this row left may still be read.
  groupBarrier(loops_);
  memory.store(thread, own);
  groupBarrier(loops_);
  for (unsigned half = threads / 2; half > 0; half /= 2) {
    llvm::Value* isLower = loops_.here().CreateICmpULT(thread, loops_.i64(half));
    loops_.branch(isLower, {}, [&] {
      llvm::Value* other = loops_.here().CreateAdd(thread, loops_.i64(half));
      const Group a = memory.load(thread);
      memory.store(thread, combine(a, memory.load(other)));
      return Values();
    });
    // Outside of the branch: every thread of the group has to come by, or the others wait for ever.
    groupBarrier(loops_);
  }
  return memory.load(loops_.i64(0));
}

// Sub-groups sum in registers, and only their sums meet in the group's memory.
Group ReductionEmitter::shuffledSum(Group sum, unsigned threads) {
  auto overThreads = [&](Group own, unsigned count) {
    for (unsigned distance = count / 2; distance > 0; distance /= 2) {
      Group other;
      for (const Val& value : own) {
        other.push_back({subgroupShuffle(loops_, value.re, distance), nullptr, loops_.current()});
      }
      own = combine(own, other);
    }
    return own;
  };
  const unsigned inStep = std::min(threads, loops_.target().subgroupSize);
  const unsigned subgroups = threads / inStep;
  sum = overThreads(sum, inStep);
  if (subgroups == 1) return sum;
  SharedValues memory(loops_, sum, subgroups);
  llvm::Value* thread = threadInGroup(loops_);
  // What an earlier reduction of this row left may still be read.
  groupBarrier(loops_);
  llvm::IRBuilder<>& b = loops_.here();
  llvm::Value* isFirst = b.CreateICmpEQ(b.CreateURem(thread, loops_.i64(inStep)), loops_.i64(0));
  llvm::Value* subgroup = b.CreateUDiv(thread, loops_.i64(inStep));
  loops_.branch(isFirst, {}, [&] {
    memory.store(subgroup, sum);
    return Values();
  });
  groupBarrier(loops_);
  llvm::Value* other = loops_.here().CreateURem(thread, loops_.i64(subgroups));
  return overThreads(memory.load(other), subgroups);
}

}  // namespace isthmus::codegen
