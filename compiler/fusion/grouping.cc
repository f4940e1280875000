#include "compiler/fusion/grouping.h"

#include <algorithm>

#include "compiler/dialect/dialect.h"
#include "compiler/fusion/op_traits.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

class Grouping {
 public:
  Grouping(const BlockGraph& graph, const FusionOptions& options)
      : graph_(graph), options_(options), groupOf_(graph.size(), -1), crossing_(graph.size(), 0) {}

  std::vector<FusionGroup> run() {
    for (int i = 0; i < graph_.size(); ++i) makeSingleton(i);
    if (options_.merge) merge();
    std::vector<FusionGroup> result;
    for (FusionGroup& group : groups_) {
      if (!group.members.empty()) result.push_back(std::move(group));
    }
    return result;
  }

 private:
  void merge() {
    // Consumers first, so that a group grows from its outputs towards its inputs.
    for (int i = graph_.size() - 1; i >= 0; --i) {
      if (groupOf_[i] < 0 || graph_.node(i).free) continue;
      mergeWithUsers(i);
    }
    if (options_.multipleOutputs) mergeSiblings();
  }

  void makeSingleton(int index) {
    const BlockGraph::Node& node = graph_.node(index);
    if (!isKernel(node.op)) return;
    if (node.free && !node.escapes) return;
    // What nobody uses is not computed.
    if (node.users.empty() && !node.escapes) return;
    FusionGroup group;
    group.members.push_back(index);
    std::optional<KernelShape> shape = analyzeLegality(graph_, group.members, options_);
    if (shape) {
      group.shape = std::move(*shape);
    } else {
      group.shape.outputs.push_back(index);
    }
    groupOf_[index] = static_cast<int>(groups_.size());
    groups_.push_back(std::move(group));
  }

  void mergeWithUsers(int index) {
    // The nearest user first: it is the likeliest to share the iteration space.
    for (int user : graph_.node(index).users) tryMerge(groupOf_[index], groupOf_[user]);
  }

  // Groups that read the same values over the same space (two reductions of one array).
  void mergeSiblings() {
    for (int i = 0; i < graph_.size(); ++i) {
      const BlockGraph::Node& node = graph_.node(i);
      if (node.op->getNumResults() == 0 || elementCount(node.op->getResult(0).getType()) < 1024) {
        continue;
      }
      for (size_t a = 0; a + 1 < node.users.size(); ++a) {
        int first = groupOf_[node.users[a]], second = groupOf_[node.users[a + 1]];
        if (first >= 0 && second >= 0 && first != second) tryMerge(first, second);
      }
    }
  }

  void tryMerge(int a, int b) {
    if (a < 0 || b < 0 || a == b) return;
    FusionGroup& first = groups_[a];
    FusionGroup& second = groups_[b];
    llvm::SmallVector<int> members;
    std::merge(first.members.begin(), first.members.end(), second.members.begin(),
               second.members.end(), std::back_inserter(members));
    if (static_cast<int>(members.size()) > options_.target.maxKernelOps) return;
    std::optional<KernelShape> shape = analyzeLegality(graph_, members, options_);
    if (!shape) return;
    double saved = options_.target.costPerKernel;
    for (const FusionGroup* group : {&first, &second}) {
      for (int output : group->shape.outputs) {
        if (!llvm::is_contained(shape->outputs, output))
          saved += options_.target.costPerByte * valueBytes(output);
      }
    }
    double extraWork = shape->work - first.shape.work - second.shape.work;
    if (extraWork > saved) return;
    if (dependsThroughOthers(first, second) || dependsThroughOthers(second, first)) return;
    countCrossings(first, -1);
    countCrossings(second, -1);
    first.members = std::move(members);
    countCrossings(first, 1);
    first.shape = std::move(*shape);
    second.members.clear();
    for (int member : first.members) groupOf_[member] = a;
  }

  double valueBytes(int index) const {
    double bytes = 0;
    for (mlir::Type type : graph_.node(index).op->getResultTypes()) {
      bytes += static_cast<double>(elementCount(type)) * elementBytes(type);
    }
    return 2 * bytes;
  }

  void countCrossings(const FusionGroup& group, int change) {
    for (int i = group.members.front(); i < group.members.back(); ++i) crossing_[i] += change;
  }

  // The last operation from which there may be a way to operation `index`. Uses come after what
  // they use, and only a group whose members lie on both sides leads back.
  int lastThatReaches(int index) const {
    while (index + 1 < graph_.size() && crossing_[index] > 0) ++index;
    return index;
  }

  // Whether a way leads from `from` to `to` that leaves both, along values and along the order of
  // what communicates: one kernel for the two would have to run before and after what lies between.
  bool dependsThroughOthers(const FusionGroup& from, const FusionGroup& to) const {
    llvm::BitVector seen(graph_.size());
    llvm::SmallVector<int> work;
    const int last = lastThatReaches(to.members.back());
    auto enter = [&](int index) {
      if (index > last) return;
      int group = groupOf_[index];
      if (group < 0) {
        if (!seen.test(index)) seen.set(index), work.push_back(index);
        return;
      }
      // A kernel runs as a whole: reaching one member reaches what all of them feed.
      for (int member : groups_[group].members) {
        if (!seen.test(member)) seen.set(member), work.push_back(member);
      }
    };
    auto inTo = [&](int index) { return llvm::is_contained(to.members, index); };
    auto inFrom = [&](int index) { return llvm::is_contained(from.members, index); };
    // Free operations on the first stretch are copied into the kernels that use them.
    llvm::SmallVector<int> freeWork;
    llvm::BitVector freeSeen(graph_.size());
    auto leave = [&](int index) {
      for (int user : graph_.node(index).directUsers) {
        if (inTo(user) || inFrom(user)) continue;
        if (graph_.node(user).free && !freeSeen.test(user)) {
          freeSeen.set(user);
          freeWork.push_back(user);
        }
        if (!graph_.node(user).free || graph_.node(user).escapes) enter(user);
      }
    };
    for (int member : from.members) leave(member);
    while (!freeWork.empty()) leave(freeWork.pop_back_val());
    while (!work.empty()) {
      int index = work.pop_back_val();
      if (inTo(index)) return true;
      for (int successor : graph_.node(index).successors) {
        if (inTo(successor)) return true;
        if (!inFrom(successor)) enter(successor);
      }
    }
    return false;
  }

  const BlockGraph& graph_;
  const FusionOptions& options_;
  std::vector<int> groupOf_;
  std::vector<int> crossing_;  // how many groups have members up to an operation and after it
  std::vector<FusionGroup> groups_;
};

}  // namespace

std::vector<FusionGroup> groupOperations(const BlockGraph& graph, const FusionOptions& options) {
  return Grouping(graph, options).run();
}

}  // namespace isthmus
