#include "compiler/simulation/collective_cost.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

namespace isthmus::simulation {
namespace {

double roundsOf(int64_t members) {
  return members > 1 ? std::ceil(std::log2(static_cast<double>(members))) : 0;
}

// How many units of each level a group's members are in: `spread[l]` is the largest number of units
// of level l within one unit of level l + 1.
std::vector<int64_t> spreadOf(const Machine& machine, const std::vector<int64_t>& group) {
  std::vector<int64_t> spread;
  std::unordered_set<int64_t> units(group.begin(), group.end());
  for (const Link& link : machine.network) {
    std::unordered_map<int64_t, int64_t> members;
    int64_t most = 1;
    std::unordered_set<int64_t> above;
    for (int64_t unit : units) {
      most = std::max(most, ++members[unit / link.size]);
      above.insert(unit / link.size);
    }
    spread.push_back(most);
    units = std::move(above);
  }
  return spread;
}

// The level on which two devices meet.
size_t levelBetween(const Machine& machine, int64_t a, int64_t b) {
  size_t level = 0;
  for (; level + 1 < machine.network.size(); ++level) {
    a /= machine.network[level].size;
    b /= machine.network[level].size;
    if (a == b) break;
  }
  return level;
}

// The largest of several levels' times, with its name; latencies add up.
class Levels {
 public:
  void add(const Link& link, double bytes, double messages) {
    latency_ += messages * link.latencySeconds;
    double seconds = bytes / link.bytesPerSecond;
    if (seconds >= longest_) {
      longest_ = seconds;
      name_ = link.name;
    }
  }
  CollectiveCost cost(double sentBytes) const { return {longest_ + latency_, sentBytes, name_}; }

 private:
  double longest_ = 0;
  double latency_ = 0;
  std::string_view name_;
};

// A gather of `bytes` in all, or the same way back: a scatter of sums.
CollectiveCost gatherCost(const Machine& machine, double bytes, double times,
                          const std::vector<int64_t>& group) {
  std::vector<int64_t> spread = spreadOf(machine, group);
  Levels levels;
  double below = 1;  // members of the group in a unit of the level
  for (size_t l = 0; l < spread.size(); ++l) {
    if (spread[l] == 1) continue;
    auto size = static_cast<double>(spread[l]);
    levels.add(machine.network[l], times * bytes * (size - 1) / (size * below),
               times * roundsOf(spread[l]));
    below *= size;
  }
  auto size = static_cast<double>(group.size());
  return levels.cost(times * bytes * (size - 1) / size);
}

CollectiveCost allToAllCost(const Machine& machine, double bytes,
                            const std::vector<int64_t>& group) {
  std::vector<int64_t> spread = spreadOf(machine, group);
  auto size = static_cast<double>(group.size());
  Levels levels;
  double below = 1;
  for (size_t l = 0; l < spread.size(); ++l) {
    if (spread[l] == 1) continue;
    // The blocks whose receivers are in the same unit of the next level, but not of this one.
    double receivers = below * static_cast<double>(spread[l] - 1);
    levels.add(machine.network[l], bytes * receivers / size, roundsOf(spread[l]));
    below *= static_cast<double>(spread[l]);
  }
  return levels.cost(bytes * (size - 1) / size);
}

CollectiveCost permuteCost(const Machine& machine, const Collective& collective) {
  CollectiveCost worst;
  for (const std::vector<int64_t>& pair : collective.groups) {
    if (pair.size() != 2 || pair[0] == pair[1]) continue;
    Levels levels;
    levels.add(machine.network[levelBetween(machine, pair[0], pair[1])], collective.bytes, 1);
    CollectiveCost cost = levels.cost(collective.bytes);
    if (cost.seconds >= worst.seconds) worst = cost;
  }
  return worst;
}

CollectiveCost broadcastCost(const Machine& machine, double bytes,
                             const std::vector<int64_t>& group) {
  std::vector<int64_t> spread = spreadOf(machine, group);
  Levels levels;
  for (size_t l = 0; l < spread.size(); ++l) {
    if (spread[l] > 1) levels.add(machine.network[l], bytes, roundsOf(spread[l]));
  }
  return levels.cost(bytes);
}

CollectiveCost groupCost(const Machine& machine, const Collective& collective,
                         const std::vector<int64_t>& group) {
  switch (collective.kind) {
    case CollectiveKind::kAllReduce:
      // A scatter of sums, then a gather.
      return gatherCost(machine, collective.bytes, 2, group);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
      return gatherCost(machine, collective.bytes, 1, group);
    case CollectiveKind::kAllToAll:
      return allToAllCost(machine, collective.bytes, group);
    case CollectiveKind::kBroadcast:
      return broadcastCost(machine, collective.bytes, group);
    case CollectiveKind::kPermute:
      break;
  }
  return {};
}

}  // namespace

CollectiveCost costOf(const Machine& machine, const Collective& collective) {
  if (machine.network.empty()) return {};
  if (collective.kind == CollectiveKind::kPermute) return permuteCost(machine, collective);
  CollectiveCost worst;
  for (const std::vector<int64_t>& group : collective.groups) {
    if (group.size() < 2) continue;
    CollectiveCost cost = groupCost(machine, collective, group);
    if (cost.seconds >= worst.seconds) worst = cost;
  }
  return worst;
}

}  // namespace isthmus::simulation
