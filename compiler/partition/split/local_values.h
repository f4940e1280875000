// What one device has of the values of a program for many, and how it gets other parts of them.
#pragma once

#include <optional>
#include <vector>

#include "compiler/partition/sharding/mesh_sharding.h"
#include "compiler/partition/spmd_builder.h"
#include "compiler/target/target_model.h"
#include "llvm/ADT/DenseMap.h"

namespace isthmus {

// Keeps each part that was made of a value, so that none is made twice. Copies are cheap enough to
// be made at the entry of each region: what a region makes exists only inside it.
class LocalValues {
 public:
  LocalValues(mlir::OpBuilder& builder, SpmdBuilder& spmd, int64_t numPartitions,
              const TargetModel& target)
      : builder_(builder),
        spmd_(spmd),
        numPartitions_(numPartitions),
        reshardStepBytes_(target.reshardStepBytes) {}

  // `local` is this device's block, or partial sum, of `original`.
  void set(mlir::Value original, mlir::Value local, const MeshSharding& sharding);
  void setReplicated(mlir::Value original, mlir::Value full);
  // `original` is the same as `other`.
  void setLike(mlir::Value original, mlir::Value other);

  // What the operation of a value gave: blocks, or partial sums.
  MeshSharding storedShardingOf(mlir::Value original) const;
  // How a value is split on the devices, once it is summed; not at all if every device has it
  // whole.
  MeshSharding shardingOf(mlir::Value original) const;

  // The whole array.
  mlir::Value fullOf(mlir::Value original, mlir::Location location);
  // This device's block as `sharding` gives it, made of what is nearest to it.
  mlir::Value localOf(mlir::Value original, const MeshSharding& sharding, mlir::Location location);
  // The same where blocks leave the program, or its manual parts. Errors: uneven blocks.
  StatusOr<mlir::Value> evenOf(mlir::Value original, const MeshSharding& sharding,
                               mlir::Location location);
  // This device's block of `original`'s type, if it is an array. Errors: uneven blocks.
  static StatusOr<mlir::Type> localType(mlir::Type type, const MeshSharding& sharding);
  // The same, with padding where blocks are uneven.
  static mlir::Type blockType(mlir::Type type, const MeshSharding& sharding);

  // From now on, devices that differ along `axes` have values of their own.
  void setManual(std::vector<AxisPart> axes) { manual_ = std::move(axes); }
  const std::vector<AxisPart>& manual() const { return manual_; }

  using Snapshot = llvm::DenseMap<mlir::Value, std::vector<std::pair<MeshSharding, mlir::Value>>>;
  Snapshot takeSnapshot() const { return copies_; }
  void restore(Snapshot snapshot) { copies_ = std::move(snapshot); }

 private:
  mlir::Value find(mlir::Value original, const MeshSharding& sharding) const;
  void reducePartialSums(mlir::Value original, mlir::Location location);
  mlir::Value partialSumOf(mlir::Value original, const MeshSharding& sharding,
                           mlir::Location location);
  mlir::Value reshard(mlir::Value original, const MeshSharding& sharding, mlir::Location location);
  // Makes `original` anew, split as `sharding` says, of what it is made of, if that moves less than
  // `cost`; null if not.
  mlir::Value remade(mlir::Value original, const MeshSharding& sharding, double cost,
                     mlir::Location location);
  // What it takes to get this device's block, and what if as much may be made anew as lies within
  // `depth` operations. That is not looked into further once it takes `limit`.
  double costOf(mlir::Value original, const MeshSharding& sharding) const;
  double costOfRemaking(mlir::Value original, const MeshSharding& sharding, int depth,
                        double limit) const;
  // `local` with padding behind its last rows, or less of it, so that dimension d has shape[d].
  mlir::Value resized(mlir::Value local, llvm::ArrayRef<int64_t> shape, mlir::Location location);

  mlir::OpBuilder& builder_;
  SpmdBuilder& spmd_;
  int64_t numPartitions_;
  double reshardStepBytes_;
  std::vector<AxisPart> manual_;
  // The first of each value is what its operation gave.
  Snapshot copies_;
};

}  // namespace isthmus
