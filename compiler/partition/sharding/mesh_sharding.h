// Devices in a mesh and arrays split over its axes, as plain numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/dialect/sdy.h"
#include "compiler/dialect/types/array_shape.h"
#include "isthmus/status.h"
#include "llvm/ADT/ArrayRef.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus {

// An axis of a device mesh, or a part of one, or neighbouring ones together: the part of mesh
// position p is (p / stride) % size.
struct AxisPart {
  int64_t stride = 1;
  int64_t size = 1;

  bool operator==(const AxisPart&) const = default;
};

// Into how many blocks the parts split a dimension together.
int64_t blocksOf(llvm::ArrayRef<AxisPart> parts);

// How many rows each of `shards` blocks of `size` rows has, padding of the last ones included.
int64_t blockRows(int64_t size, int64_t shards);

// Appends `part` as the minor one of `parts`; what is one axis of the devices becomes one part, so
// that shardings which mean the same are equal.
void appendAxisPart(std::vector<AxisPart>& parts, AxisPart part);

// Whether no part tells anything of the other: always so for parts of one mesh that do not overlap.
bool areIndependent(const AxisPart& a, const AxisPart& b);

// How an array is split: each dimension over some axis parts, major to minor, and replicated over
// all other axes, but for those along which it is the sum of what the devices have. Partition p of
// the program sits at mesh position `positionOf[p]`.
struct MeshSharding {
  int64_t numPartitions = 1;
  std::vector<int64_t> positionOf;
  std::vector<std::vector<AxisPart>> dims;
  std::vector<AxisPart> unreduced;

  bool operator==(const MeshSharding&) const = default;

  // Whether each device has the same of an array, however the two say it.
  bool hasSameBlocks(const MeshSharding& other) const;
  bool isReplicated() const;
  // The same blocks, after the sums are made.
  MeshSharding reduced() const;
  // Into how many blocks dimension `d` is split.
  int64_t shards(int64_t d) const;
  // Which block of dimension `d` partition `p` holds.
  int64_t shardIndex(int64_t d, int64_t p) const;
  // Whether no dimension is split, nor anything summed, along `part`.
  bool isUnused(const AxisPart& part) const;
  // Whether dimension `d` is whole, and could be split along all of `parts`.
  bool canAlsoSplit(int64_t d, const std::vector<AxisPart>& parts) const;
  // Groups of partitions that differ only along `parts`, each ordered by their coordinates.
  std::vector<std::vector<int64_t>> groups(const std::vector<AxisPart>& parts) const;
  // The array's shape on one device; nothing divides unevenly.
  StatusOr<std::vector<int64_t>> localShape(llvm::ArrayRef<int64_t> shape) const;
  // The shape of the array's blocks, which are equal: where a dimension does not divide evenly,
  // rows that mean nothing stand behind its last.
  std::vector<int64_t> blockShape(llvm::ArrayRef<int64_t> shape) const;
  // The same, but for dimensions that do not divide evenly: they are whole.
  MeshSharding evenPart(llvm::ArrayRef<int64_t> shape) const;
  // A serialized xla.OpSharding: field numbers in the project's interface notes (type 1,
  // tile_assignment_dimensions 3, tile_assignment_devices 4, replicate_on_last_tile_dim 6,
  // last_tile_dims 8).
  std::string toOpSharding() const;
};

// A serialized xla.OpSharding of a value of per-device code.
std::string manualOpSharding();

// Whether some dimension may be split further than `attribute` says.
bool isOpen(sdy::TensorShardingAttr attribute);

// Splits the dimensions that `attribute` leaves open, of what it asks for, further as `more` does,
// but not over axes that it wants replicated.
Status refineOpen(sdy::TensorShardingAttr attribute, const MeshSharding& more,
                  int64_t numPartitions, mlir::ModuleOp module, MeshSharding& sharding);

// The axes over which the region of `op` is per-device code.
std::vector<std::string> manualAxesOf(sdy::ManualComputationOp op);

// The axes over which the region of `op` is per-device code, as parts of its mesh, in `unreduced`
// of a sharding of no dimension; nothing if it has neither operands nor results.
StatusOr<std::optional<MeshSharding>> manualParts(sdy::ManualComputationOp op,
                                                  int64_t numPartitions, mlir::ModuleOp module);

// How an array is split whose blocks, as `outer` cuts it, are split as `inner` says. Nothing if
// they share axes, or are of two meshes.
std::optional<MeshSharding> composed(const MeshSharding& outer, const MeshSharding& inner);

// The `inner` for which composed(outer, inner) splits each dimension as `whole` does, as far as
// there is one; nothing along `manual` axes.
MeshSharding withoutOuter(const MeshSharding& whole, const MeshSharding& outer,
                          const std::vector<AxisPart>& manual);

// `sharding` without splits over parts of axes, which frameworks cannot name: of the module's one
// mesh, if it has one.
MeshSharding overWholeAxes(MeshSharding sharding, mlir::ModuleOp module);

// Whether `shards` blocks of `size` rows have more rows than padding.
bool isMostlyRows(int64_t size, int64_t shards);
// Whether blocks of an array of `shape` do along each dimension.
bool isWorthPadding(const MeshSharding& sharding, llvm::ArrayRef<int64_t> shape);

// Every device has the whole array.
MeshSharding replicatedSharding(int64_t rank, int64_t numPartitions);

// The sharding that `attribute` describes for an array of rank `rank`; only axes in `onlyAxes` are
// kept if it is not null. Errors: an unknown mesh or axis, more devices than partitions.
StatusOr<MeshSharding> resolveSharding(sdy::TensorShardingAttr attribute, int64_t rank,
                                       int64_t numPartitions, mlir::ModuleOp module,
                                       const std::vector<std::string>* onlyAxes = nullptr);

}  // namespace isthmus
