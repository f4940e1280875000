#include "compiler/partition/spmd_builder.h"

#include "compiler/dialect/facts/combiner.h"
#include "compiler/partition/reshard/replica_groups.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus {

using mlir::RankedTensorType;
using Dims = llvm::SmallVector<int64_t>;

mlir::Value SpmdBuilder::reshard(mlir::Value local, const ReshardStep& step,
                                 mlir::Location location) {
  switch (step.kind) {
    case ReshardStep::Kind::kSlice:
      return keepPart(local, step, location);
    case ReshardStep::Kind::kGather:
      return gather(local, step.before, step.from, step.axes, location);
    case ReshardStep::Kind::kAllToAll:
      return exchange(local, step, location);
    case ReshardStep::Kind::kPermute:
      return permute(local, step.pairs, location);
    case ReshardStep::Kind::kReduceScatter:
      return reduceScatter(local, step, location);
    case ReshardStep::Kind::kAllReduce:
      return sum(local, step.before.groups(step.axes), location);
  }
  return local;
}

mlir::Value SpmdBuilder::gather(mlir::Value local, const MeshSharding& sharding, int64_t d,
                                const std::vector<AxisPart>& axes, mlir::Location location) {
  auto groups = sharding.groups(axes);
  auto type = llvm::cast<RankedTensorType>(local.getType());
  Dims shape(type.getShape());
  shape[d] *= static_cast<int64_t>(groups.front().size());
  auto gathered = shlo::AllGatherOp::create(
      builder_, location, mlir::TypeRange{RankedTensorType::get(shape, type.getElementType())},
      mlir::ValueRange{local}, static_cast<uint64_t>(d),
      replicaGroupTable(builder_.getContext(), groups), nextChannel(),
      /*use_global_device_ids=*/true);
  return gathered->getResult(0);
}

mlir::Value SpmdBuilder::exchange(mlir::Value local, const ReshardStep& step,
                                  mlir::Location location) {
  auto groups = step.before.groups(step.axes);
  auto members = static_cast<int64_t>(groups.front().size());
  auto type = llvm::cast<RankedTensorType>(local.getType());
  Dims shape(type.getShape());
  shape[step.from] *= members;
  shape[step.to] /= members;
  auto exchanged = shlo::AllToAllOp::create(
      builder_, location, mlir::TypeRange{RankedTensorType::get(shape, type.getElementType())},
      mlir::ValueRange{local}, static_cast<uint64_t>(step.to), static_cast<uint64_t>(step.from),
      static_cast<uint64_t>(members), replicaGroupTable(builder_.getContext(), groups),
      nextChannel());
  return exchanged->getResult(0);
}

// The devices of a group have the same block, and each keeps the part that its place in it says.
mlir::Value SpmdBuilder::keepPart(mlir::Value local, const ReshardStep& step,
                                  mlir::Location location) {
  auto type = llvm::cast<RankedTensorType>(local.getType());
  Dims shape(type.getShape()), partStarts(step.before.numPartitions);
  auto groups = step.before.groups(step.axes);
  shape[step.to] /= static_cast<int64_t>(groups.front().size());
  for (const std::vector<int64_t>& group : groups) {
    for (auto [i, p] : llvm::enumerate(group)) {
      partStarts[p] = static_cast<int64_t>(i) * shape[step.to];
    }
  }
  llvm::SmallVector<mlir::Value> starts(shape.size(), number(0, location));
  starts[step.to] = perPartition(partStarts, location);
  return shlo::DynamicSliceOp::create(builder_, location,
                                      RankedTensorType::get(shape, type.getElementType()), local,
                                      starts, shape);
}

mlir::Value SpmdBuilder::reduceScatter(mlir::Value local, const ReshardStep& step,
                                       mlir::Location location) {
  auto groups = step.before.groups(step.axes);
  auto type = llvm::cast<RankedTensorType>(local.getType());
  Dims shape(type.getShape());
  shape[step.to] /= static_cast<int64_t>(groups.front().size());
  auto op = shlo::ReduceScatterOp::create(
      builder_, location, RankedTensorType::get(shape, type.getElementType()), local,
      builder_.getI64IntegerAttr(step.to), replicaGroupTable(builder_.getContext(), groups),
      nextChannel(), builder_.getUnitAttr());
  fillWith<shlo::AddOp>(builder_, op->getRegion(0), type.getElementType(), location);
  return op->getResult(0);
}

mlir::Value SpmdBuilder::sum(mlir::Value local, const std::vector<std::vector<int64_t>>& groups,
                             mlir::Location location) {
  shlo::AllReduceOp reduce = allReduce(local, groups, location);
  fillWith<shlo::AddOp>(builder_, reduce->getRegion(0), mlir::getElementTypeOrSelf(local.getType()),
                        location);
  return reduce->getResult(0);
}

mlir::Value SpmdBuilder::partialSum(mlir::Value value,
                                    const std::vector<std::vector<int64_t>>& groups,
                                    mlir::Location location) {
  Dims isOther(groups.size() * groups.front().size());
  for (const std::vector<int64_t>& group : groups) {
    for (int64_t p : llvm::ArrayRef<int64_t>(group).drop_front()) isOther[p] = 1;
  }
  auto type = llvm::cast<RankedTensorType>(value.getType());
  mlir::Value zero = number(0, location);
  mlir::Value isFirst = shlo::CompareOp::create(builder_, location, perPartition(isOther, location),
                                                zero, shlo::ComparisonDirection::EQ);
  return shlo::SelectOp::create(builder_, location, type, isFirst, value, zeros(type, location));
}

mlir::Value SpmdBuilder::combine(mlir::Value local, const std::vector<std::vector<int64_t>>& groups,
                                 mlir::Region& reducer, mlir::Location location) {
  shlo::AllReduceOp reduce = allReduce(local, groups, location);
  mlir::IRMapping mapping;
  reducer.cloneInto(&reduce->getRegion(0), mapping);
  return reduce->getResult(0);
}

llvm::SmallVector<mlir::Value> SpmdBuilder::reduceParts(shlo::ReduceOp reduce,
                                                        const MeshSharding& mesh,
                                                        const std::vector<AxisPart>& axes) {
  llvm::SmallVector<mlir::Value> operands;
  for (mlir::Value part : reduce->getResults()) {
    auto type = llvm::cast<RankedTensorType>(part.getType());
    Dims shape(type.getShape());
    shape.insert(shape.begin(), 1);
    mlir::Value row = shlo::ReshapeOp::create(
        builder_, part.getLoc(), RankedTensorType::get(shape, type.getElementType()), part);
    operands.push_back(gather(row, mesh, 0, axes, part.getLoc()));
  }
  llvm::append_range(operands, reduce.getInitValues());
  auto whole = llvm::cast<shlo::ReduceOp>(builder_.clone(*reduce));
  whole->setOperands(operands);
  whole.setDimensions({0});
  return llvm::SmallVector<mlir::Value>(whole->getResults());
}

mlir::Value SpmdBuilder::place(mlir::Value local, int64_t d, const MeshSharding& sharding,
                               mlir::Location location) {
  auto type = llvm::cast<RankedTensorType>(local.getType());
  Dims shape(type.getShape());
  shape[d] *= sharding.shards(d);
  auto whole = RankedTensorType::get(shape, type.getElementType());
  llvm::SmallVector<mlir::Value> starts(shape.size(), number(0, location));
  starts[d] = blockStart(sharding, d, type.getShape()[d], location);
  return shlo::DynamicUpdateSliceOp::create(builder_, location, whole, zeros(whole, location),
                                            local, starts);
}

mlir::Value SpmdBuilder::zero(mlir::Type element, mlir::Location location) {
  auto scalar = RankedTensorType::get({}, element);
  mlir::Attribute value = builder_.getZeroAttr(element);
  if (auto complex = llvm::dyn_cast<mlir::ComplexType>(element)) {
    mlir::Attribute part = builder_.getZeroAttr(complex.getElementType());
    value = builder_.getArrayAttr({part, part});
  }
  return shlo::ConstantOp::create(builder_, location,
                                  mlir::DenseElementsAttr::get(scalar, llvm::ArrayRef(value)));
}

mlir::Value SpmdBuilder::zeros(RankedTensorType type, mlir::Location location) {
  return shlo::BroadcastInDimOp::create(
      builder_, location, type, zero(type.getElementType(), location), llvm::ArrayRef<int64_t>());
}

shlo::AllReduceOp SpmdBuilder::allReduce(mlir::Value local,
                                         const std::vector<std::vector<int64_t>>& groups,
                                         mlir::Location location) {
  return shlo::AllReduceOp::create(
      builder_, location, mlir::TypeRange{local.getType()}, mlir::ValueRange{local},
      replicaGroupTable(builder_.getContext(), groups), nextChannel(), builder_.getUnitAttr());
}

mlir::Value SpmdBuilder::broadcast(mlir::Value value, int64_t partition, int64_t numPartitions,
                                   mlir::Location location) {
  // The first of a group is the one that gives.
  std::vector<int64_t> group{partition};
  for (int64_t p = 0; p < numPartitions; ++p) {
    if (p != partition) group.push_back(p);
  }
  auto op = shlo::CollectiveBroadcastOp::create(
      builder_, location, mlir::TypeRange{value.getType()}, mlir::ValueRange{value},
      replicaGroupTable(builder_.getContext(), {group}), nextChannel());
  return op->getResult(0);
}

mlir::Value SpmdBuilder::masked(mlir::Value local, int64_t d, int64_t rows,
                                const MeshSharding& sharding, mlir::Value neutral,
                                mlir::Location location) {
  auto type = llvm::cast<RankedTensorType>(local.getType());
  auto counters = RankedTensorType::get(type.getShape(), builder_.getI64Type());
  auto spread = [&](mlir::Value scalar, RankedTensorType to) -> mlir::Value {
    return shlo::BroadcastInDimOp::create(builder_, location, to, scalar,
                                          llvm::ArrayRef<int64_t>());
  };
  mlir::Value isRow = shlo::CompareOp::create(
      builder_, location, iota(counters, d, sharding, location),
      spread(number(rows, location), counters), shlo::ComparisonDirection::LT);
  return shlo::SelectOp::create(builder_, location, type, isRow, local, spread(neutral, type));
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

mlir::Value SpmdBuilder::reverseBlocks(mlir::Value local, int64_t d, const MeshSharding& sharding,
                                       mlir::Location location) {
  if (sharding.shards(d) == 1) return local;
  std::vector<std::vector<int64_t>> pairs;
  for (const std::vector<int64_t>& group : sharding.groups(sharding.dims[d])) {
    for (size_t i = 0; i < group.size(); ++i) {
      pairs.push_back({group[i], group[group.size() - 1 - i]});
    }
  }
  return permute(local, pairs, location);
}

mlir::Value SpmdBuilder::permute(mlir::Value local, llvm::ArrayRef<std::vector<int64_t>> pairs,
                                 mlir::Location location) {
  return shlo::CollectivePermuteOp::create(builder_, location, local.getType(), local,
                                           replicaGroupTable(builder_.getContext(), pairs),
                                           nextChannel());
}

mlir::Value SpmdBuilder::isOne(llvm::ArrayRef<int64_t> flags, mlir::Location location) {
  return shlo::CompareOp::create(builder_, location, perPartition(flags, location),
                                 number(1, location), shlo::ComparisonDirection::EQ);
}

shlo::ChannelHandleAttr SpmdBuilder::nextChannel() {
  return shlo::ChannelHandleAttr::get(builder_.getContext(), nextChannel_++, /*type=*/1);
}

mlir::Value SpmdBuilder::number(int64_t value, mlir::Location location) {
  auto scalar = RankedTensorType::get({}, builder_.getI64Type());
  return shlo::ConstantOp::create(builder_, location, mlir::DenseElementsAttr::get(scalar, value));
}

mlir::Value SpmdBuilder::perPartition(llvm::ArrayRef<int64_t> values, mlir::Location location) {
  mlir::Type i64 = builder_.getI64Type();
  if (llvm::all_equal(values)) return number(values.front(), location);
  auto count = static_cast<int64_t>(values.size());
  mlir::Value table = shlo::ConstantOp::create(
      builder_, location,
      mlir::DenseElementsAttr::get(RankedTensorType::get({count}, i64), values));
  mlir::Value partition = shlo::PartitionIdOp::create(builder_, location);
  mlir::Value entry =
      shlo::DynamicSliceOp::create(builder_, location, RankedTensorType::get({1}, i64), table,
                                   mlir::ValueRange{partition}, Dims{1});
  return shlo::ReshapeOp::create(builder_, location, RankedTensorType::get({}, i64), entry);
}

}  // namespace isthmus
