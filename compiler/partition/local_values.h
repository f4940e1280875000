// What one device has of the values of a program for many, and how it gets other parts of them.
#pragma once

#include <optional>
#include <vector>

#include "compiler/partition/mesh_sharding.h"
#include "compiler/partition/spmd_builder.h"
#include "llvm/ADT/DenseMap.h"

namespace isthmus {

// Keeps each part that was made of a value, so that none is made twice. Copies are cheap enough to
// be made at the border of each region: what a region makes exists only inside it.
class LocalValues {
 public:
  LocalValues(mlir::OpBuilder& builder, SpmdBuilder& spmd, int64_t numPartitions)
      : builder_(builder), spmd_(spmd), numPartitions_(numPartitions) {}

  // `local` is this device's block, or summand, of `original`.
  void hold(mlir::Value original, mlir::Value local, const MeshSharding& sharding);
  void holdFull(mlir::Value original, mlir::Value full);
  // `original` is the same as `other`.
  void holdLike(mlir::Value original, mlir::Value other);

  // How a value is split on the devices, once it is summed; not at all if every device has it
  // whole.
  MeshSharding shardingOf(mlir::Value original) const;

  // The whole array.
  mlir::Value fullOf(mlir::Value original, mlir::Location location);
  // This device's block as `sharding` gives it, made of what is nearest to it. Errors: uneven
  // blocks.
  StatusOr<mlir::Value> localOf(mlir::Value original, const MeshSharding& sharding,
                                mlir::Location location);
  // This device's block of `original`'s type, if it is an array.
  static StatusOr<mlir::Type> localType(mlir::Type type, const MeshSharding& sharding);

  // From now on, devices that differ along `axes` have values of their own.
  void setManual(std::vector<AxisPart> axes) { manual_ = std::move(axes); }
  const std::vector<AxisPart>& manual() const { return manual_; }

  using Snapshot = llvm::DenseMap<mlir::Value, std::vector<std::pair<MeshSharding, mlir::Value>>>;
  Snapshot takeSnapshot() const { return copies_; }
  void restore(Snapshot snapshot) { copies_ = std::move(snapshot); }

 private:
  mlir::Value find(mlir::Value original, const MeshSharding& sharding) const;
  void reducePartialSums(mlir::Value original, mlir::Location location);
  mlir::Value summandOf(mlir::Value original, const MeshSharding& sharding,
                        mlir::Location location);
  mlir::Value reshard(mlir::Value original, const MeshSharding& sharding, mlir::Location location);

  mlir::OpBuilder& builder_;
  SpmdBuilder& spmd_;
  int64_t numPartitions_;
  std::vector<AxisPart> manual_;
  // The first of each value is what its operation gave.
  Snapshot copies_;
};

}  // namespace isthmus
