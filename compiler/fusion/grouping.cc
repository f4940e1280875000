#include "compiler/fusion/grouping.h"

#include <algorithm>

#include "compiler/cost/op_cost.h"
#include "compiler/cost/time.h"
#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/dialect.h"
#include "compiler/fusion/op_traits.h"
#include "isthmus/log.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace isthmus {
namespace {

// What becomes of two groups in one kernel, or why they stay two.
struct Merged {
  llvm::SmallVector<int> members;
  KernelShape shape;
  std::string refusal;  // empty: they may merge
};

class Grouping {
 public:
  Grouping(const BlockGraph& graph, const FusionOptions& options)
      : graph_(graph), options_(options), groupOf_(graph.size(), -1), crossing_(graph.size(), 0) {}

  std::vector<FusionGroup> run() {
    for (int i = 0; i < graph_.size(); ++i) makeSingleton(i);
    if (options_.merge) merge();
    if (options_.merge && logsCompilation()) logRefusals();
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
      if (groupOf_[i] < 0 || graph_.node(i).isRematerialized) continue;
      mergeWithUsers(i);
    }
    mergeSiblings();
  }

  void makeSingleton(int index) {
    const BlockGraph::Node& node = graph_.node(index);
    if (!node.kernel) return;
    if (node.isRematerialized && !node.escapes) return;
    // What nobody uses is not computed.
    if (node.users.empty() && !node.escapes) return;
    FusionGroup group;
    group.members.push_back(index);
    Legality legality = analyzeLegality(graph_, group.members, options_);
    if (legality.shape) {
      group.shape = std::move(*legality.shape);
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
    // Of an argument only reductions: what else reads it may be far apart, or reads it elsewhere.
    for (auto [argument, users] : llvm::zip_equal(graph_.arguments(), graph_.usersOfArguments())) {
      if (elementCount(argument.getType()) < options_.target.minSharedElements) continue;
      llvm::SmallVector<int, 4> readers = users;
      llvm::erase_if(readers, [&](int reader) { return !reduces(groupOf_[reader]); });
      mergeReaders(readers);
    }
    for (int i = 0; i < graph_.size(); ++i) {
      const BlockGraph::Node& node = graph_.node(i);
      if (node.op->getNumResults() == 0 ||
          elementCount(node.op->getResult(0).getType()) < options_.target.minSharedElements) {
        continue;
      }
      // Kernels that compute the same for themselves have nothing in common: merged they would only
      // keep each other from following the product whose result each reads.
      if (node.isRematerialized && !llvm::isa<shlo::SliceOp, shlo::ReshapeOp>(node.op)) continue;
      mergeReaders(node.users);
    }
  }

  bool reduces(int group) const {
    return group >= 0 && llvm::any_of(groups_[group].members, [&](int member) {
             return llvm::isa<shlo::ReduceOp>(graph_.node(member).op);
           });
  }

  void mergeReaders(llvm::ArrayRef<int> readers) {
    for (size_t a = 0; a + 1 < readers.size(); ++a) {
      tryMerge(groupOf_[readers[a]], groupOf_[readers[a + 1]]);
    }
  }

  Merged tryBoth(const FusionGroup& first, const FusionGroup& second) const {
    Merged merged;
    std::merge(first.members.begin(), first.members.end(), second.members.begin(),
               second.members.end(), std::back_inserter(merged.members));
    if (static_cast<int>(merged.members.size()) > options_.target.maxKernelOps ||
        !hasRoomForCode(merged.members)) {
      merged.refusal = "too many operations";
      return merged;
    }
    Legality legality = analyzeLegality(graph_, merged.members, options_);
    if (!legality.shape) {
      merged.refusal = legality.refusal;
      return merged;
    }
    merged.shape = std::move(*legality.shape);
    double saved = options_.target.kernelNs;
    for (const FusionGroup* group : {&first, &second}) {
      for (int output : group->shape.outputs) {
        if (!llvm::is_contained(merged.shape.outputs, output))
          saved += storedValueNs(options_.target, valueBytes(output));
      }
    }
    double extra =
        arithmeticNs(options_.target, merged.shape.work - first.shape.work - second.shape.work);
    if (extra > saved) {
      merged.refusal =
          llvm::formatv("computing again costs {0:F0} ns, and saves {1:F0} ns", extra, saved);
    } else if (dependsThroughOthers(first, second) || dependsThroughOthers(second, first)) {
      merged.refusal = "another kernel must run between them";
    }
    return merged;
  }

  bool hasRoomForCode(llvm::ArrayRef<int> members) const {
    if (options_.target.maxKernelAdditions == 0) return true;
    double additions = 0;
    for (int member : members) {
      mlir::Operation* op = graph_.node(member).op;
      additions += elementCost(op) + bodyCost(op);
    }
    return additions <= options_.target.maxKernelAdditions;
  }

  void tryMerge(int a, int b) {
    if (a < 0 || b < 0 || a == b) return;
    FusionGroup& first = groups_[a];
    FusionGroup& second = groups_[b];
    Merged merged = tryBoth(first, second);
    if (!merged.refusal.empty()) return;
    countCrossings(first, -1);
    countCrossings(second, -1);
    first.members = std::move(merged.members);
    countCrossings(first, 1);
    first.shape = std::move(merged.shape);
    second.members.clear();
    for (int member : first.members) groupOf_[member] = a;
  }

  // A line for each two kernels of which one feeds the other, asked once more in their final form.
  // Of what is no kernel the pass log-memory-boundaries tells, once products have their epilogues.
  void logRefusals() const {
    llvm::DenseSet<std::pair<int, int>> seen;
    for (int i = 0; i < graph_.size(); ++i) {
      if (groupOf_[i] < 0 || graph_.node(i).isRematerialized) continue;
      for (int user : graph_.node(i).users) {
        std::pair<int, int> pair{groupOf_[i], groupOf_[user]};
        if (pair.second < 0 || pair.first == pair.second || !seen.insert(pair).second) continue;
        Merged merged = tryBoth(groups_[pair.first], groups_[pair.second]);
        // Merging is greedy: what was refused earlier may be possible now.
        if (merged.refusal.empty()) merged.refusal = "each had joined others by then";
        logCompilation(describeBriefly(graph_.node(i).op) + " is not fused into " +
                       describeBriefly(graph_.node(user).op) + ": " + merged.refusal);
      }
    }
  }

  double valueBytes(int index) const {
    double bytes = 0;
    for (mlir::Type type : graph_.node(index).op->getResultTypes()) {
      bytes += bytesOf(type);
    }
    return bytes;
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
    // Rematerialized operations on the first stretch are copied into the kernels that use them.
    llvm::SmallVector<int> rematerializedWork;
    llvm::BitVector rematerializedSeen(graph_.size());
    auto leave = [&](int index) {
      for (int user : graph_.node(index).directUsers) {
        if (inTo(user) || inFrom(user)) continue;
        if (graph_.node(user).isRematerialized && !rematerializedSeen.test(user)) {
          rematerializedSeen.set(user);
          rematerializedWork.push_back(user);
        }
        if (!graph_.node(user).isRematerialized || graph_.node(user).escapes) enter(user);
      }
    };
    for (int member : from.members) leave(member);
    while (!rematerializedWork.empty()) leave(rematerializedWork.pop_back_val());
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
