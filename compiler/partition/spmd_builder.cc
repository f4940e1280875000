#include "compiler/partition/spmd_builder.h"

#include "compiler/dialect/dialect.h"

namespace isthmus {

using mlir::RankedTensorType;
using Dims = llvm::SmallVector<int64_t>;

mlir::Value SpmdBuilder::gather(mlir::Value local, const MeshSharding& sharding,
                                mlir::Location location) {
  mlir::Value value = local;
  for (int64_t d = 0; d < static_cast<int64_t>(sharding.dims.size()); ++d) {
    int64_t shards = sharding.shards(d);
    if (shards == 1) continue;
    auto type = llvm::cast<RankedTensorType>(value.getType());
    Dims shape(type.getShape());
    shape[d] *= shards;
    std::vector<std::vector<int64_t>> groups = sharding.gatherGroups(d);
    Dims flat;
    for (const std::vector<int64_t>& group : groups) llvm::append_range(flat, group);
    auto groupType =
        RankedTensorType::get({static_cast<int64_t>(groups.size()), shards}, builder_.getI64Type());
    auto channel = shlo::ChannelHandleAttr::get(builder_.getContext(), nextChannel_++, /*type=*/1);
    auto gathered = shlo::AllGatherOp::create(
        builder_, location, mlir::TypeRange{RankedTensorType::get(shape, type.getElementType())},
        mlir::ValueRange{value}, static_cast<uint64_t>(d),
        mlir::DenseIntElementsAttr::get(groupType, llvm::ArrayRef<int64_t>(flat)), channel,
        /*use_global_device_ids=*/true);
    value = gathered->getResult(0);
  }
  return value;
}

mlir::Value SpmdBuilder::broadcast(mlir::Value value, int64_t partition, int64_t numPartitions,
                                   mlir::Location location) {
  // The first of a group is the one that gives.
  Dims group{partition};
  for (int64_t p = 0; p < numPartitions; ++p) {
    if (p != partition) group.push_back(p);
  }
  auto groupType = RankedTensorType::get({1, numPartitions}, builder_.getI64Type());
  auto channel = shlo::ChannelHandleAttr::get(builder_.getContext(), nextChannel_++, /*type=*/1);
  auto op = shlo::CollectiveBroadcastOp::create(
      builder_, location, mlir::TypeRange{value.getType()}, mlir::ValueRange{value},
      mlir::DenseIntElementsAttr::get(groupType, llvm::ArrayRef<int64_t>(group)), channel);
  return op->getResult(0);
}

mlir::Value SpmdBuilder::slice(mlir::Value full, const MeshSharding& sharding,
                               llvm::ArrayRef<int64_t> localShape, mlir::Location location) {
  if (sharding.isReplicated()) return full;
  llvm::SmallVector<mlir::Value> starts;
  for (int64_t d = 0; d < static_cast<int64_t>(sharding.dims.size()); ++d) {
    starts.push_back(blockStart(sharding, d, localShape[d], location));
  }
  auto type = llvm::cast<RankedTensorType>(full.getType());
  return shlo::DynamicSliceOp::create(builder_, location,
                                      RankedTensorType::get(localShape, type.getElementType()),
                                      full, starts, localShape);
}

mlir::Value SpmdBuilder::blockStart(const MeshSharding& sharding, int64_t d, int64_t size,
                                    mlir::Location location) {
  Dims starts;
  for (int64_t p = 0; p < sharding.numPartitions; ++p) {
    starts.push_back(sharding.shardIndex(d, p) * size);
  }
  return perPartition(starts, location);
}

mlir::Value SpmdBuilder::iota(RankedTensorType block, int64_t d, const MeshSharding& sharding,
                              mlir::Location location) {
  if (sharding.shards(d) == 1) {
    return shlo::IotaOp::create(builder_, location, block, static_cast<uint64_t>(d));
  }
  // Integers wrap as the whole array's do; other types are rounded once, from the sum.
  mlir::Type element = block.getElementType();
  mlir::Type counter = llvm::isa<mlir::IntegerType>(element) ? element : builder_.getI64Type();
  auto counters = RankedTensorType::get(block.getShape(), counter);
  mlir::Value start = blockStart(sharding, d, block.getShape()[d], location);
  if (counter != builder_.getI64Type()) {
    start = shlo::ConvertOp::create(builder_, location, RankedTensorType::get({}, counter), start);
  }
  mlir::Value starts = shlo::BroadcastInDimOp::create(builder_, location, counters, start,
                                                      llvm::ArrayRef<int64_t>());
  mlir::Value counts = shlo::IotaOp::create(builder_, location, counters, static_cast<uint64_t>(d));
  mlir::Value sum = shlo::AddOp::create(builder_, location, counters, starts, counts);
  if (counter == element) return sum;
  return shlo::ConvertOp::create(builder_, location, block, sum);
}

mlir::Value SpmdBuilder::mirror(mlir::Value local, int64_t d, const MeshSharding& sharding,
                                mlir::Location location) {
  if (sharding.shards(d) == 1) return local;
  Dims pairs;
  for (const std::vector<int64_t>& group : sharding.gatherGroups(d)) {
    for (size_t i = 0; i < group.size(); ++i) {
      pairs.push_back(group[i]);
      pairs.push_back(group[group.size() - 1 - i]);
    }
  }
  auto pairType =
      RankedTensorType::get({static_cast<int64_t>(pairs.size()) / 2, 2}, builder_.getI64Type());
  auto channel = shlo::ChannelHandleAttr::get(builder_.getContext(), nextChannel_++, /*type=*/1);
  return shlo::CollectivePermuteOp::create(
      builder_, location, local.getType(), local,
      mlir::DenseIntElementsAttr::get(pairType, llvm::ArrayRef<int64_t>(pairs)), channel);
}

mlir::Value SpmdBuilder::perPartition(llvm::ArrayRef<int64_t> values, mlir::Location location) {
  mlir::Type i64 = builder_.getI64Type();
  auto scalar = RankedTensorType::get({}, i64);
  if (llvm::all_equal(values)) {
    return shlo::ConstantOp::create(builder_, location,
                                    mlir::DenseElementsAttr::get(scalar, values.front()));
  }
  auto count = static_cast<int64_t>(values.size());
  mlir::Value table = shlo::ConstantOp::create(
      builder_, location,
      mlir::DenseElementsAttr::get(RankedTensorType::get({count}, i64), values));
  mlir::Value partition = shlo::PartitionIdOp::create(builder_, location);
  mlir::Value entry =
      shlo::DynamicSliceOp::create(builder_, location, RankedTensorType::get({1}, i64), table,
                                   mlir::ValueRange{partition}, Dims{1});
  return shlo::ReshapeOp::create(builder_, location, scalar, entry);
}

}  // namespace isthmus
