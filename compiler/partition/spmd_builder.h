// Emits the communication and index arithmetic of per-device programs.
#pragma once

#include <cstdint>

#include "compiler/dialect/dialect.h"
#include "compiler/partition/reshard/reshard.h"
#include "compiler/partition/sharding/mesh_sharding.h"
#include "mlir/IR/Builders.h"

namespace isthmus {

class SpmdBuilder {
 public:
  // `firstChannel` must be larger than every channel id of the program.
  SpmdBuilder(mlir::OpBuilder& builder, int64_t firstChannel)
      : builder_(builder), nextChannel_(firstChannel) {}

  // The sum of `local` over the devices of each group.
  mlir::Value sum(mlir::Value local, const std::vector<std::vector<int64_t>>& groups,
                  mlir::Location location);

  // `local` of the devices of each group, combined by `reducer`.
  mlir::Value combine(mlir::Value local, const std::vector<std::vector<int64_t>>& groups,
                      mlir::Region& reducer, mlir::Location location);

  // The results of `reduce` on the devices of each group, reduced by it once more.
  llvm::SmallVector<mlir::Value> reduceParts(shlo::ReduceOp reduce, const MeshSharding& mesh,
                                             const std::vector<AxisPart>& axes);

  // The partial sum of an array of blocks of dimension `d`: this device's block at its place, and
  // zeros.
  mlir::Value place(mlir::Value local, int64_t d, const MeshSharding& sharding,
                    mlir::Location location);

  // What is one partial sum of `value`: it on the device that is the first of its group, else
  // zeros.
  mlir::Value partialSum(mlir::Value value, const std::vector<std::vector<int64_t>>& groups,
                         mlir::Location location);

  // What `step` makes of `local`, this device's block before it.
  mlir::Value reshard(mlir::Value local, const ReshardStep& step, mlir::Location location);

  // The blocks of dimension `d` of the devices that differ along `axes` alone, one after the other.
  mlir::Value gather(mlir::Value local, const MeshSharding& sharding, int64_t d,
                     const std::vector<AxisPart>& axes, mlir::Location location);

  // On the target of each pair what the source has; zeros where there is none.
  mlir::Value permute(mlir::Value local, llvm::ArrayRef<std::vector<int64_t>> pairs,
                      mlir::Location location);

  // On partition p, the scalar `values[p]` of type i64.
  mlir::Value perPartition(llvm::ArrayRef<int64_t> values, mlir::Location location);

  // A truth value: whether `flags` has a one for this partition.
  mlir::Value isOne(llvm::ArrayRef<int64_t> flags, mlir::Location location);

  // What `partition` has, on all of the program's partitions.
  mlir::Value broadcast(mlir::Value value, int64_t partition, int64_t numPartitions,
                        mlir::Location location);

  // This device's block of dimension `d`, of an array of `rows` rows, with the scalar `neutral` in
  // the padding behind the last.
  mlir::Value masked(mlir::Value local, int64_t d, int64_t rows, const MeshSharding& sharding,
                     mlir::Value neutral, mlir::Location location);

  // The scalar.
  mlir::Value zero(mlir::Type element, mlir::Location location);

  // The scalar i64 index, along dimension `d` of an array, at which this device's block of `size`
  // begins.
  mlir::Value blockStart(const MeshSharding& sharding, int64_t d, int64_t size,
                         mlir::Location location);

  // This device's block, of type `block`, of a stablehlo.iota along dimension `d`.
  mlir::Value iota(mlir::RankedTensorType block, int64_t d, const MeshSharding& sharding,
                   mlir::Location location);

  // The block that the device has whose block of dimension `d` is as far from the end as this
  // device's is from the beginning.
  mlir::Value reverseBlocks(mlir::Value local, int64_t d, const MeshSharding& sharding,
                            mlir::Location location);

  // A channel that nothing else has.
  shlo::ChannelHandleAttr nextChannel();

 private:
  // The scalar of type i64.
  mlir::Value number(int64_t value, mlir::Location location);
  mlir::Value exchange(mlir::Value local, const ReshardStep& step, mlir::Location location);
  mlir::Value keepPart(mlir::Value local, const ReshardStep& step, mlir::Location location);
  mlir::Value reduceScatter(mlir::Value local, const ReshardStep& step, mlir::Location location);
  mlir::Value zeros(mlir::RankedTensorType type, mlir::Location location);
  shlo::AllReduceOp allReduce(mlir::Value local, const std::vector<std::vector<int64_t>>& groups,
                              mlir::Location location);

  mlir::OpBuilder& builder_;
  int64_t nextChannel_;
};

}  // namespace isthmus
