#include "compiler/partition/reshard/reshard.h"

#include <map>
#include <optional>
#include <queue>
#include <set>

#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

using Kind = ReshardStep::Kind;
using Axes = std::vector<AxisPart>;

// Searches that visit more states end in a gather.
constexpr size_t kMaxStates = 1000;
// Axes are cut into primes, which gives the search more ways, if there are no more than so many.
constexpr size_t kMaxPrimes = 6;

// `axes` with neighbours joined, as MeshSharding has them.
Axes joined(llvm::ArrayRef<AxisPart> axes) {
  Axes parts;
  for (const AxisPart& axis : axes) appendAxisPart(parts, axis);
  return parts;
}

// Axes cut at common bounds, so that two of them are the same or have nothing to do with each
// other.
class Atoms {
 public:
  Atoms(const MeshSharding& from, const MeshSharding& to) {
    for (const MeshSharding* sharding : {&from, &to}) {
      for (const Axes& axes : sharding->dims) addBounds(axes);
      addBounds(sharding->unreduced);
    }
    // Bounds that do not divide each other are of no one mesh.
    for (auto bound = bounds_.begin(); bound != bounds_.end(); ++bound) {
      auto next = std::next(bound);
      if (next != bounds_.end() && *next % *bound != 0) isChain_ = false;
    }
    if (isChain_) addPrimes();
  }

  bool isChain() const { return isChain_; }

  Axes cut(llvm::ArrayRef<AxisPart> axes) const {
    Axes atoms;
    for (const AxisPart& axis : axes) {
      int64_t end = axis.stride * axis.size;
      for (auto bound = bounds_.rbegin(); bound != bounds_.rend(); ++bound) {
        if (*bound >= end || *bound < axis.stride) continue;
        atoms.push_back({*bound, end / *bound});
        end = *bound;
      }
    }
    return atoms;
  }

 private:
  void addBounds(const Axes& axes) {
    for (const AxisPart& axis : axes) {
      bounds_.insert(axis.stride);
      bounds_.insert(axis.stride * axis.size);
    }
  }

  void addPrimes() {
    std::set<int64_t> finer = bounds_;
    for (auto bound = bounds_.begin(); bound != bounds_.end(); ++bound) {
      auto next = std::next(bound);
      if (next == bounds_.end()) break;
      int64_t at = *bound, rest = *next / *bound;
      for (int64_t prime = 2; rest > 1 && finer.size() <= kMaxPrimes + 1; ++prime) {
        for (; rest % prime == 0; rest /= prime) finer.insert(at *= prime);
      }
    }
    if (finer.size() <= kMaxPrimes + 1) bounds_ = std::move(finer);
  }

  std::set<int64_t> bounds_;
  bool isChain_ = true;
};

// What the search knows of a sharding: atoms of each dimension, major to minor, and of the sum.
struct State {
  std::vector<Axes> dims;
  Axes unreduced;

  // For maps: strides tell atoms apart.
  std::vector<int64_t> key() const {
    std::vector<int64_t> key;
    for (const Axes& axes : dims) {
      for (const AxisPart& axis : axes) key.push_back(axis.stride);
      key.push_back(-1);
    }
    for (const AxisPart& axis : unreduced) key.push_back(axis.stride);
    return key;
  }
};

bool contains(const Axes& axes, const AxisPart& axis) { return llvm::is_contained(axes, axis); }

class Search {
 public:
  Search(const MeshSharding& from, const MeshSharding& to, llvm::ArrayRef<int64_t> shape,
         double arrayBytes, double stepBytes, const Atoms& atoms)
      : from_(from), shape_(shape), arrayBytes_(arrayBytes), stepBytes_(stepBytes) {
    start_ = stateOf(from, atoms);
    goal_ = stateOf(to, atoms);
  }

  std::optional<std::vector<ReshardStep>> run() {
    push(start_, 0, -1, {});
    const std::vector<int64_t> goal = goal_.key();
    while (!queue_.empty() && nodes_.size() < kMaxStates) {
      auto [cost, index] = queue_.top();
      queue_.pop();
      if (cost > best_[nodes_[index].state.key()]) continue;
      if (nodes_[index].state.key() == goal) return stepsTo(index);
      expand(index, cost);
    }
    return std::nullopt;
  }

 private:
  struct Node {
    State state;
    int parent;
    ReshardStep step;
  };

  static State stateOf(const MeshSharding& sharding, const Atoms& atoms) {
    State state;
    for (const Axes& axes : sharding.dims) state.dims.push_back(atoms.cut(axes));
    state.unreduced = atoms.cut(sharding.unreduced);
    llvm::sort(state.unreduced,
               [](const AxisPart& a, const AxisPart& b) { return a.stride > b.stride; });
    return state;
  }

  MeshSharding shardingOf(const State& state) const {
    MeshSharding sharding{from_.numPartitions, from_.positionOf, {}, joined(state.unreduced)};
    for (const Axes& axes : state.dims) sharding.dims.push_back(joined(axes));
    return sharding;
  }

  void push(const State& state, double cost, int parent, ReshardStep step) {
    auto [found, isNew] = best_.try_emplace(state.key(), cost);
    if (!isNew && found->second <= cost) return;
    found->second = cost;
    nodes_.push_back({state, parent, std::move(step)});
    queue_.emplace(cost, static_cast<int>(nodes_.size()) - 1);
  }

  void step(int index, double cost, State next, ReshardStep step) {
    for (size_t d = 0; d < next.dims.size(); ++d) {
      if (shape_[d] % blocksOf(next.dims[d]) != 0) return;
    }
    step.axes = joined(step.axes);
    step.before = shardingOf(nodes_[index].state);
    step.after = shardingOf(next);
    cost += bytesMoved(step, arrayBytes_) + (step.kind == Kind::kSlice ? 1 : stepBytes_);
    push(next, cost, index, std::move(step));
  }

  // Dimensions that are right from the beginning stay as they are.
  bool changes(size_t d) const { return start_.dims[d] != goal_.dims[d]; }

  bool isUnused(const State& state, const AxisPart& axis) const {
    return !contains(state.unreduced, axis) &&
           llvm::none_of(state.dims, [&](const Axes& axes) { return contains(axes, axis); });
  }

  // How many atoms that the goal has in dimension d may follow those of `state`, each as `isGood`.
  template <typename IsGood>
  Axes following(const State& state, size_t d, IsGood isGood) const {
    Axes run;
    size_t have = state.dims[d].size();
    if (have > goal_.dims[d].size()) return run;
    if (!std::equal(state.dims[d].begin(), state.dims[d].end(), goal_.dims[d].begin())) return run;
    for (size_t i = have; i < goal_.dims[d].size() && isGood(goal_.dims[d][i]); ++i) {
      run.push_back(goal_.dims[d][i]);
    }
    return run;
  }

  void expand(int index, double cost) {
    const State state = nodes_[index].state;
    reduce(index, cost, state);
    for (size_t d = 0; d < state.dims.size(); ++d) {
      Axes run = following(state, d, [&](const AxisPart& axis) { return isUnused(state, axis); });
      if (!run.empty()) {
        State next = state;
        llvm::append_range(next.dims[d], run);
        step(index, cost, next, {Kind::kSlice, run, -1, static_cast<int64_t>(d), {}, {}, {}});
      }
      for (size_t count = 1; changes(d) && count <= state.dims[d].size(); ++count) {
        moveLast(index, cost, state, d, count);
      }
    }
    permute(index, cost, state);
  }

  // Takes the last `count` atoms from dimension d: to all devices, or to another dimension.
  void moveLast(int index, double cost, const State& state, size_t d, size_t count) {
    State without = state;
    Axes last(state.dims[d].end() - static_cast<int64_t>(count), state.dims[d].end());
    without.dims[d].resize(state.dims[d].size() - count);
    auto dim = static_cast<int64_t>(d);
    step(index, cost, without, {Kind::kGather, last, dim, -1, {}, {}, {}});
    for (size_t e = 0; e < state.dims.size(); ++e) {
      if (e == d || !changes(e)) continue;
      State next = without;
      llvm::append_range(next.dims[e], last);
      step(index, cost, next, {Kind::kAllToAll, last, dim, static_cast<int64_t>(e), {}, {}, {}});
    }
  }

  void reduce(int index, double cost, const State& state) {
    Axes surplus;
    for (const AxisPart& axis : state.unreduced) {
      if (!contains(goal_.unreduced, axis)) surplus.push_back(axis);
    }
    if (surplus.empty()) return;
    auto without = [&](const Axes& axes) {
      State next = state;
      llvm::erase_if(next.unreduced, [&](const AxisPart& axis) { return contains(axes, axis); });
      return next;
    };
    step(index, cost, without(surplus), {Kind::kAllReduce, surplus, -1, -1, {}, {}, {}});
    for (size_t d = 0; d < state.dims.size(); ++d) {
      Axes run = following(state, d, [&](const AxisPart& axis) { return contains(surplus, axis); });
      if (run.empty()) continue;
      State next = without(run);
      llvm::append_range(next.dims[d], run);
      step(index, cost, next, {Kind::kReduceScatter, run, -1, static_cast<int64_t>(d), {}, {}, {}});
    }
  }

  // Blocks of the right sizes need only change places.
  void permute(int index, double cost, const State& state) {
    if (state.unreduced != goal_.unreduced) return;
    for (size_t d = 0; d < state.dims.size(); ++d) {
      if (blocksOf(state.dims[d]) != blocksOf(goal_.dims[d])) return;
    }
    step(index, cost, goal_, {Kind::kPermute, {}, -1, -1, {}, {}, {}});
  }

  std::vector<ReshardStep> stepsTo(int index) {
    std::vector<ReshardStep> steps;
    for (; nodes_[index].parent >= 0; index = nodes_[index].parent) {
      steps.push_back(std::move(nodes_[index].step));
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

  const MeshSharding& from_;
  llvm::ArrayRef<int64_t> shape_;
  double arrayBytes_;
  double stepBytes_;
  State start_, goal_;
  std::vector<Node> nodes_;
  std::map<std::vector<int64_t>, double> best_;
  std::priority_queue<std::pair<double, int>, std::vector<std::pair<double, int>>, std::greater<>>
      queue_;
};

// Which block of which array partition `p` has, over all dimensions and partial sums.
std::vector<int64_t> blockOf(const MeshSharding& sharding, llvm::ArrayRef<AxisPart> manual,
                             int64_t p) {
  std::vector<int64_t> block;
  for (const AxisPart& axis : manual) {
    block.push_back(sharding.positionOf[p] / axis.stride % axis.size);
  }
  for (size_t d = 0; d < sharding.dims.size(); ++d) {
    block.push_back(sharding.shardIndex(static_cast<int64_t>(d), p));
  }
  int64_t partialSum = 0, position = sharding.positionOf[p];
  for (const AxisPart& axis : sharding.unreduced) {
    partialSum = partialSum * axis.size + position / axis.stride % axis.size;
  }
  block.push_back(partialSum);
  return block;
}

// Who sends to whom: those who have what they need keep it. Nothing if `after` has other blocks.
std::optional<std::vector<std::vector<int64_t>>> permutation(const MeshSharding& before,
                                                             const MeshSharding& after,
                                                             llvm::ArrayRef<AxisPart> manual) {
  std::map<std::vector<int64_t>, std::vector<int64_t>> holders;
  std::vector<std::vector<int64_t>> pairs;
  std::vector<int64_t> waiting;
  for (int64_t p = 0; p < before.numPartitions; ++p) {
    if (blockOf(before, manual, p) == blockOf(after, manual, p)) {
      pairs.push_back({p, p});
    } else {
      holders[blockOf(before, manual, p)].push_back(p);
      waiting.push_back(p);
    }
  }
  for (int64_t p : waiting) {
    std::vector<int64_t>& from = holders[blockOf(after, manual, p)];
    if (from.empty()) return std::nullopt;
    pairs.push_back({from.back(), p});
    from.pop_back();
  }
  return pairs;
}

// Sums, gathers everything, and cuts.
std::vector<ReshardStep> planWithoutSearch(const MeshSharding& from, const MeshSharding& to) {
  std::vector<ReshardStep> steps;
  MeshSharding now = from;
  auto add = [&](Kind kind, const Axes& axes, int64_t source, int64_t target, MeshSharding after) {
    steps.push_back({kind, axes, source, target, {}, now, after});
    now = std::move(after);
  };
  if (!from.unreduced.empty()) {
    add(Kind::kAllReduce, from.unreduced, -1, -1, from.reduced());
  }
  for (size_t d = 0; d < from.dims.size(); ++d) {
    if (from.dims[d].empty()) continue;
    MeshSharding next = now;
    next.dims[d].clear();
    add(Kind::kGather, from.dims[d], static_cast<int64_t>(d), -1, next);
  }
  now.positionOf = to.positionOf;
  for (size_t d = 0; d < to.dims.size(); ++d) {
    if (to.dims[d].empty()) continue;
    MeshSharding next = now;
    next.dims[d] = to.dims[d];
    add(Kind::kSlice, to.dims[d], -1, static_cast<int64_t>(d), next);
  }
  return steps;
}

}  // namespace

double bytesMoved(const ReshardStep& step, double arrayBytes) {
  double local = arrayBytes;
  for (const Axes& axes : step.before.dims) local /= static_cast<double>(blocksOf(axes));
  auto group = static_cast<double>(blocksOf(step.axes));
  switch (step.kind) {
    case Kind::kSlice:
      return 0;
    case Kind::kGather:
      return local * (group - 1);
    case Kind::kAllToAll:
    case Kind::kReduceScatter:
      return local * (group - 1) / group;
    case Kind::kPermute:
      return local;
    case Kind::kAllReduce:
      return 2 * local * (group - 1) / group;
  }
  return 0;
}

std::vector<ReshardStep> planReshard(const MeshSharding& from, const MeshSharding& to,
                                     llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                                     double stepBytes, llvm::ArrayRef<AxisPart> manual) {
  auto arrayBytes = static_cast<double>(elementBytes);
  for (int64_t size : shape) arrayBytes *= static_cast<double>(size);
  std::vector<ReshardStep> steps;
  if (from.hasSameBlocks(to)) return steps;
  const bool isOneMesh = from.positionOf == to.positionOf;
  std::optional<std::vector<ReshardStep>> found;
  if (isOneMesh) {
    Atoms atoms(from, to);
    if (atoms.isChain()) found = Search(from, to, shape, arrayBytes, stepBytes, atoms).run();
  } else if (from.unreduced.empty() && to.unreduced.empty() && from.localShape(shape).ok() &&
             to.localShape(shape).ok() && *from.localShape(shape) == *to.localShape(shape)) {
    found = {{Kind::kPermute, {}, -1, -1, {}, from, to}};
  }
  steps = found ? std::move(*found) : planWithoutSearch(from, to);
  for (ReshardStep& step : steps) {
    if (step.kind != Kind::kPermute) continue;
    auto pairs = permutation(step.before, step.after, manual);
    if (!pairs) return planWithoutSearch(from, to);
    step.pairs = std::move(*pairs);
  }
  return steps;
}

}  // namespace isthmus
