// How an array that is split one way over the devices comes to be split another way.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/partition/sharding/mesh_sharding.h"
#include "llvm/ADT/ArrayRef.h"

namespace isthmus {

struct ReshardStep {
  enum class Kind {
    // Each device keeps a part of its block of dimension `to`: nothing moves.
    kSlice,
    // The devices of a group concatenate their blocks along dimension `from`.
    kGather,
    // They split their blocks along `to` and concatenate what they get along `from`.
    kAllToAll,
    // Whole blocks change places.
    kPermute,
    // They sum their blocks, and each keeps a part of the sum along `to`.
    kReduceScatter,
    kAllReduce,
  };
  Kind kind = Kind::kSlice;
  // Along which the members of a group differ, major to minor; none for kPermute.
  std::vector<AxisPart> axes;
  int64_t from = -1;
  int64_t to = -1;
  // Sources and targets of kPermute, by partition; each partition is one source and one target.
  std::vector<std::vector<int64_t>> pairs;
  MeshSharding before;
  MeshSharding after;
};

// The steps that lead from `from` to `to`, for an array of shape `shape` with elements of
// `elementBytes`, such that few bytes move between devices: the cheapest plan if that is found
// within a bounded search, else all is gathered and cut. Either may wait for sums, but what `to`
// sums `from` must sum too. Both shardings must divide `shape` evenly, and are of one number of
// partitions. Devices that differ along `manual` axes have arrays of their own. `stepBytes` is
// what could move in the time that one more step takes.
std::vector<ReshardStep> planReshard(const MeshSharding& from, const MeshSharding& to,
                                     llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                                     double stepBytes, llvm::ArrayRef<AxisPart> manual = {});

// Bytes that each device sends in `step`, if the whole array has `arrayBytes`.
double bytesMoved(const ReshardStep& step, double arrayBytes);

}  // namespace isthmus
