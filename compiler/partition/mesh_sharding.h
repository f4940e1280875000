// Devices in a mesh and arrays split over its axes, as plain numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/dialect/sdy.h"
#include "isthmus/status.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus {

// One axis of a device mesh, or a part of one: of the axis's coordinate c, the part's is
// (c / stride) % size.
struct AxisPart {
  int64_t axisStride = 1;  // distance in mesh position between neighbours along the whole axis
  int64_t axisSize = 1;
  int64_t stride = 1;
  int64_t size = 1;

  bool operator==(const AxisPart&) const = default;
};

// How an array is split: each dimension over some axis parts, major to minor, and replicated over
// all other axes. Partition p of the program sits at mesh position `positionOf[p]`.
struct MeshSharding {
  int64_t numPartitions = 1;
  std::vector<int64_t> positionOf;
  std::vector<std::vector<AxisPart>> dims;

  bool operator==(const MeshSharding&) const = default;

  bool isReplicated() const;
  // Into how many blocks dimension `d` is split.
  int64_t shards(int64_t d) const;
  // Which block of dimension `d` partition `p` holds.
  int64_t shardIndex(int64_t d, int64_t p) const;
  // Groups of partitions that differ only in their block of dimension `d`, each ordered by block.
  std::vector<std::vector<int64_t>> gatherGroups(int64_t d) const;
  // The array's shape on one device; nothing divides unevenly.
  StatusOr<std::vector<int64_t>> localShape(llvm::ArrayRef<int64_t> shape) const;
  // A serialized xla.OpSharding: field numbers in the project's interface notes (type 1,
  // tile_assignment_dimensions 3, tile_assignment_devices 4, replicate_on_last_tile_dim 6).
  std::string toOpSharding() const;
};

// A serialized xla.OpSharding of a value of per-device code.
std::string manualOpSharding();

// Every device has the whole array.
MeshSharding replicatedSharding(int64_t rank, int64_t numPartitions);

// The sharding that `attribute` describes for an array of rank `rank`; only axes in `onlyAxes` are
// kept if it is not null. Errors: an unknown mesh or axis, more devices than partitions.
StatusOr<MeshSharding> resolveSharding(sdy::TensorShardingAttr attribute, int64_t rank,
                                       int64_t numPartitions, mlir::ModuleOp module,
                                       const std::vector<std::string>* onlyAxes = nullptr);

}  // namespace isthmus
