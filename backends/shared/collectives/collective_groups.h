// Who takes part in a collective: the devices of a launch that its descriptor names.
#pragma once

#include <vector>

#include "backends/shared/collectives/collective_descriptor.h"
#include "isthmus/backend.h"
#include "isthmus/status.h"

namespace isthmus {

// The devices of the caller's group in rank order. kInvalidArgument if it is in none.
StatusOr<std::vector<int64_t>> findOwnGroup(const RunRequest& request,
                                            const Collective& collective);

// kInvalidArgument if the operand cannot be split into a part for each rank.
Status checkSplit(const Collective& collective, const CollectiveOperand& operand, int64_t ranks);

// A result is written by the size of the group, which its type may contradict: then
// kInvalidArgument.
Status checkResult(const Collective& collective, const CollectiveOperand& operand,
                   int64_t expectedElements, int64_t ranks);

// Of permutations and broadcasts: all devices that differ from the caller only in what ids name...
std::vector<int64_t> everybodyOf(const RunRequest& request, const Collective& collective);
// ... and the one of them that each gets its data from, or -1: by pairs of source and target, or in
// each group from its first one. kInvalidArgument if there are no such ids.
StatusOr<std::vector<int64_t>> sourcesByPairs(const RunRequest& request,
                                              const Collective& collective);
StatusOr<std::vector<int64_t>> sourcesOfBroadcast(const RunRequest& request,
                                                  const Collective& collective);

}  // namespace isthmus
