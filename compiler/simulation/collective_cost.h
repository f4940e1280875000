// How long a collective takes on a network of several levels.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/simulation/machine.h"

namespace isthmus::simulation {

enum class CollectiveKind {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kPermute,
  kBroadcast,
};

struct Collective {
  CollectiveKind kind;
  // On each device: of its result for a gather, of its operand for all others.
  double bytes = 0;
  // Of global device ids. Of a permute: pairs of source and target.
  std::vector<std::vector<int64_t>> groups;
};

struct CollectiveCost {
  double seconds = 0;
  double sentBytes = 0;   // by the device that sends most
  std::string_view link;  // of the machine: the level that takes longest; "" if nothing is sent
};

// The time of the slowest group. Within a level the algorithms are those whose time is latency
// times the logarithm of the group's size plus bytes over bandwidth (recursive doubling and
// halving; R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
// Operations in MPICH", 2005). Levels work as hierarchical algorithms do: what crosses a level is
// shared out among the devices below it, and the levels work at the same time on parts of the
// array, so that bandwidth counts once, on the slowest level, and latencies add up. Groups do not
// slow each other down: a link's bandwidth is each device's own.
CollectiveCost costOf(const Machine& machine, const Collective& collective);

}  // namespace isthmus::simulation
