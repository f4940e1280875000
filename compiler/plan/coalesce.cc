// Merges arrays into groups that share memory, the merges that save the most copying first.
#include "compiler/plan/coalesce.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace isthmus {
namespace {

// What a merge saves, most important first.
enum Priority {
  kLoopBack,  // a copy in every iteration
  kUpdate,    // a copy of an array of which a part changes
  kLoopInit,  // a copy before a loop
  kBranch,    // a copy at the end of a branch
  kDonation,  // a copy at the end of the program
  kReuse,     // memory
};

struct Candidate {
  int first;
  int second;
  Priority priority;
  int loopDepth;
  size_t order;  // in the program
};

struct Part {
  Lifetime lifetime;
  int array;
};

class Grouper {
 public:
  Grouper(mlir::func::FuncOp main, const Liveness& liveness, const PlanOptions& options)
      : main_(main), liveness_(liveness), options_(options) {}

  Grouping run();

 private:
  void makeGroups();
  void collect();
  void collectTerminator(mlir::Operation* terminator);
  void collectSharing(mlir::Operation* op);
  void add(mlir::Value a, mlir::Value b, Priority priority, int loopDepth);
  void tryMerge(const Candidate& candidate);
  // Adds the parts of a group to those of another.
  void takeParts(int into, int from);
  bool mayOverlap(const Part& a, const Part& b) const;
  bool isInPlace(const Part& operand, const Part& result) const;
  bool interfere(int a, int b) const;

  mlir::func::FuncOp main_;
  const Liveness& liveness_;
  const PlanOptions& options_;
  std::vector<Candidate> candidates_;
  Grouping grouping_;
  std::vector<std::vector<Part>> parts_;  // by group, in order of time
};

void Grouper::makeGroups() {
  const std::vector<LiveArray>& arrays = liveness_.arrays();
  for (size_t i = 0; i < arrays.size(); ++i) {
    const LiveArray& array = arrays[i];
    ArrayGroup group;
    group.bytes = array.bytes;
    group.touchesLoop = array.touchesLoop;
    group.extent = array.extent;
    group.members = {static_cast<int>(i)};
    group.isReadOnly = array.origin == LiveArray::Origin::kConstant;
    if (array.origin == LiveArray::Origin::kParameter) {
      group.parameter = array.index;
      const ParameterUse& use = options_.parameters[array.index];
      group.isReadOnly = use.aliasedResult < 0 && !use.isDonated;
    }
    std::vector<Part> parts;
    for (Lifetime lifetime : array.lifetimes) parts.push_back({lifetime, static_cast<int>(i)});
    parts_.push_back(std::move(parts));
    grouping_.groupOf.push_back(static_cast<int>(i));
    grouping_.groups.push_back(std::move(group));
  }
}

void Grouper::add(mlir::Value a, mlir::Value b, Priority priority, int loopDepth) {
  int first = liveness_.arrayOf(a);
  int second = liveness_.arrayOf(b);
  if (first < 0 || second < 0 || first == second) return;
  if (liveness_.arrays()[first].bytes != liveness_.arrays()[second].bytes) return;
  candidates_.push_back({first, second, priority, loopDepth, candidates_.size()});
}

void Grouper::collectTerminator(mlir::Operation* terminator) {
  mlir::Operation* parent = terminator->getParentOp();
  if (roleOf(parent) == OpRole::kBranch) {
    for (unsigned i = 0; i < parent->getNumResults(); ++i) {
      add(terminator->getOperand(i), parent->getResult(i), kBranch, 0);
    }
  } else if (roleOf(parent) == OpRole::kWhile && terminator->getNumOperands() > 0 &&
             terminator->getParentRegion() == &parent->getRegion(1)) {
    for (unsigned i = 0; i < parent->getNumResults(); ++i) {
      int array = liveness_.arrayOf(parent->getResult(i));
      int depth = array < 0 ? 0 : liveness_.arrays()[array].loopDepth;
      add(terminator->getOperand(i), parent->getResult(i), kLoopBack, depth);
    }
  } else if (parent == main_) {
    mlir::Block& entry = main_.getBody().front();
    for (size_t p = 0; p < options_.parameters.size(); ++p) {
      int result = options_.parameters[p].aliasedResult;
      if (result >= 0) add(terminator->getOperand(result), entry.getArgument(p), kDonation, 0);
    }
  }
}

void Grouper::collectSharing(mlir::Operation* op) {
  for (mlir::OpOperand& operand : op->getOpOperands()) {
    int from = liveness_.arrayOf(operand.get());
    if (from < 0) continue;
    for (mlir::OpResult result : op->getResults()) {
      int to = liveness_.arrayOf(result);
      if (to < 0 || liveness_.arrays()[from].bytes != liveness_.arrays()[to].bytes) continue;
      unsigned operandNumber = operand.getOperandNumber();
      unsigned resultNumber = result.getResultNumber();
      int depth = liveness_.arrays()[to].loopDepth;
      if (options_.prefersInPlace && options_.prefersInPlace(op, operandNumber, resultNumber)) {
        add(operand.get(), result, kUpdate, depth);
      } else if (options_.canShare && options_.canShare(op, operandNumber, resultNumber)) {
        add(operand.get(), result, kReuse, depth);
      }
    }
  }
}

void Grouper::collect() {
  for (mlir::Operation* op : liveness_.operations()) {
    switch (roleOf(op)) {
      case OpRole::kTerminator:
        collectTerminator(op);
        break;
      case OpRole::kWhile:
        for (unsigned i = 0; i < op->getNumOperands(); ++i) {
          add(op->getOperand(i), op->getResult(i), kLoopInit, 0);
        }
        break;
      case OpRole::kCompute:
        collectSharing(op);
        break;
      default:
        break;
    }
  }
  std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.priority, -a.loopDepth, a.order) <
           std::tuple(b.priority, -b.loopDepth, b.order);
  });
}

// Whether `result` is computed by an operation that may write it over `operand`, which dies there.
bool Grouper::isInPlace(const Part& operand, const Part& result) const {
  const LiveArray& array = liveness_.arrays()[result.array];
  if (array.origin != LiveArray::Origin::kComputed || !options_.canShare) return false;
  int64_t time = 2 * liveness_.timeOf(array.definition);
  if (result.lifetime.begin != time || operand.lifetime.begin >= time ||
      operand.lifetime.end > time + 1) {
    return false;
  }
  bool reads = false;
  for (mlir::OpOperand& use : array.definition->getOpOperands()) {
    if (liveness_.arrayOf(use.get()) != operand.array) continue;
    reads = true;
    if (!options_.canShare(array.definition, use.getOperandNumber(), array.index)) return false;
  }
  return reads;
}

bool Grouper::mayOverlap(const Part& a, const Part& b) const {
  return isInPlace(a, b) || isInPlace(b, a);
}

bool Grouper::interfere(int a, int b) const {
  const std::vector<Part>& few = parts_[a].size() < parts_[b].size() ? parts_[a] : parts_[b];
  const std::vector<Part>& many = parts_[a].size() < parts_[b].size() ? parts_[b] : parts_[a];
  for (const Part& part : few) {
    auto other = std::lower_bound(
        many.begin(), many.end(), part.lifetime.begin,
        [](const Part& candidate, int64_t time) { return candidate.lifetime.end < time; });
    for (; other != many.end() && other->lifetime.begin <= part.lifetime.end; ++other) {
      if (other->lifetime.end >= part.lifetime.begin && !mayOverlap(part, *other)) return true;
    }
  }
  return false;
}

void Grouper::tryMerge(const Candidate& candidate) {
  int into = grouping_.groupOf[candidate.first];
  int from = grouping_.groupOf[candidate.second];
  if (into == from) return;
  // The larger group takes in the smaller: as many merges as a branch has cases would otherwise
  // take time by the square of them.
  if (grouping_.groups[from].members.size() > grouping_.groups[into].members.size()) {
    std::swap(into, from);
  }
  ArrayGroup& a = grouping_.groups[into];
  ArrayGroup& b = grouping_.groups[from];
  bool hasParameter = a.parameter >= 0 || b.parameter >= 0;
  if (a.isReadOnly || b.isReadOnly || (a.parameter >= 0 && b.parameter >= 0) ||
      (candidate.priority == kReuse && hasParameter) || interfere(into, from)) {
    return;
  }
  takeParts(into, from);
  a.parameter = std::max(a.parameter, b.parameter);
  a.touchesLoop |= b.touchesLoop;
  a.extent = {std::min(a.extent.begin, b.extent.begin), std::max(a.extent.end, b.extent.end)};
  for (int member : b.members) {
    grouping_.groupOf[member] = into;
    a.members.push_back(member);
  }
  b.members.clear();
}

void Grouper::takeParts(int into, int from) {
  std::vector<Part>& all = parts_[into];
  std::vector<Part> taken = std::exchange(parts_[from], {});
  if (all.size() < taken.size()) std::swap(all, taken);
  auto isBefore = [](const Part& x, const Part& y) {
    return std::pair(x.lifetime.begin, x.lifetime.end) <
           std::pair(y.lifetime.begin, y.lifetime.end);
  };
  auto size = static_cast<std::ptrdiff_t>(all.size());
  all.insert(all.end(), taken.begin(), taken.end());
  // Most end up behind the others.
  auto changed = taken.empty()
                     ? all.end()
                     : std::upper_bound(all.begin(), all.begin() + size, taken.front(), isBefore);
  if (changed < all.begin() + size) {
    std::inplace_merge(changed, all.begin() + size, all.end(), isBefore);
  }
}

Grouping Grouper::run() {
  makeGroups();
  collect();
  for (const Candidate& candidate : candidates_) tryMerge(candidate);
  return std::move(grouping_);
}

}  // namespace

Grouping groupArrays(mlir::func::FuncOp main, const Liveness& liveness,
                     const PlanOptions& options) {
  return Grouper(main, liveness, options).run();
}

}  // namespace isthmus
