// Communication between processes; one alone is a grid of one.
#include "compiler/reference/evaluators/evaluators.h"
#include "compiler/reference/process_grid.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace isthmus::reference {
namespace {

// How ids of replica_groups name processes (the specification's "cross_replica" and so on).
enum class Grouping { kReplicas, kPartitions, kReplicasOfAllPartitions, kFlattened };

uint32_t numPartitions(const Process& process) {
  return process.grid ? process.grid->numPartitions() : 1;
}
uint32_t numReplicas(const Process& process) {
  return process.grid ? process.grid->numReplicas() : 1;
}
uint32_t numberOf(const Process& process) {
  return process.replica * numPartitions(process) + process.partition;
}

int64_t channelOf(mlir::Operation* op) {
  auto handle = op->getAttrOfType<shlo::ChannelHandleAttr>("channel_handle");
  return handle ? handle.getHandle() : 0;
}

Grouping groupingOf(mlir::Operation* op) {
  if (channelOf(op) <= 0) return Grouping::kReplicas;
  return op->hasAttr("use_global_device_ids") ? Grouping::kFlattened
                                              : Grouping::kReplicasOfAllPartitions;
}

struct Group {
  std::vector<uint32_t> members;  // empty: the process is in no group
  size_t self = 0;
};

// The group of a table of ids that the process is in.
StatusOr<Group> groupOf(Call& call, mlir::Attribute table, Grouping grouping) {
  auto ids = llvm::dyn_cast_or_null<mlir::DenseIntElementsAttr>(table);
  if (!ids || ids.getType().getRank() != 2) return unimplemented("groups that are no table of ids");
  const Process& process = call.interpreter.options().process;
  uint32_t partitions = numPartitions(process), replicas = numReplicas(process);
  int64_t rows = ids.getType().getDimSize(0), columns = ids.getType().getDimSize(1);
  auto values = ids.getValues<int64_t>();
  // Without any group, all are one.
  const bool isOne = rows == 0 || columns == 0;
  if (isOne) {
    rows = 1;
    columns = grouping == Grouping::kPartitions  ? partitions
              : grouping == Grouping::kFlattened ? replicas * partitions
                                                 : replicas;
  }
  for (int64_t row = 0; row < rows; ++row) {
    Group group;
    std::vector<int64_t> members;
    for (int64_t column = 0; column < columns; ++column) {
      int64_t id = isOne ? column : values[static_cast<size_t>(row * columns + column)];
      if (id >= 0) members.push_back(id);  // -1 fills up
    }
    uint32_t repeats = grouping == Grouping::kReplicasOfAllPartitions ? partitions : 1;
    for (uint32_t p = 0; p < repeats; ++p) {
      for (int64_t id : members) {
        auto number = static_cast<uint32_t>(id);
        if (grouping == Grouping::kReplicas) number = number * partitions + process.partition;
        if (grouping == Grouping::kPartitions) number += process.replica * partitions;
        if (grouping == Grouping::kReplicasOfAllPartitions) number = number * partitions + p;
        if (number >= replicas * partitions) {
          return invalidArgument("there is no process ", id);
        }
        group.members.push_back(number);
      }
    }
    auto self = llvm::find(group.members, numberOf(process));
    if (self == group.members.end()) continue;
    group.self = static_cast<size_t>(self - group.members.begin());
    return group;
  }
  return Group();
}

// What each member brought, in the order of the group.
StatusOr<std::vector<std::vector<Value>>> exchange(Call& call, const Group& group) {
  std::vector<Value> brought(call.operands.begin(), call.operands.end());
  const Process& process = call.interpreter.options().process;
  if (group.members.size() <= 1 || !process.grid) {
    return std::vector<std::vector<Value>>{std::move(brought)};
  }
  std::string key = call.op->getName().getStringRef().str() + std::to_string(channelOf(call.op));
  for (uint32_t member : group.members) key += "," + std::to_string(member);
  return process.grid->exchange(key, group.members, numberOf(process), std::move(brought));
}

// Zeros of the type of operand `i`: what processes outside of all groups get.
StatusOr<Tensor> zerosLike(Call& call, size_t i) {
  return call.make(call.resultElementType(i), call.tensor(i).dims());
}

// The operands `i` of all members, combined by the operation's region in the order of the group.
StatusOr<Tensor> reduceAll(Call& call, const std::vector<std::vector<Value>>& all, size_t i) {
  mlir::Region& region = call.op->getRegion(0);
  const Tensor& first = all[0][i].tensor;
  ElementType type = call.resultElementType(call.op->getNumResults() == 1 ? 0 : i);
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(type, first.dims()));
  for (int64_t at = 0; at < first.size(); ++at) {
    ISTHMUS_ASSIGN_OR_RETURN(Tensor sum, call.elementFor(region, 0, first, at));
    for (size_t member = 1; member < all.size(); ++member) {
      if (all[member][i].tensor.dims() != first.dims()) {
        return invalidArgument("processes bring different shapes");
      }
      ISTHMUS_ASSIGN_OR_RETURN(Tensor other, call.elementFor(region, 1, all[member][i].tensor, at));
      ISTHMUS_ASSIGN_OR_RETURN(std::vector<Tensor> given, call.runScalars(region, {sum, other}));
      sum = std::move(given[0]);
    }
    result.set(at, scalars::convert(sum.elementType(), sum.get(0), type));
  }
  return result;
}

// Part `which` of `count` along a dimension.
StatusOr<Tensor> partOf(Call& call, const Tensor& x, int64_t dimension, size_t count,
                        size_t which) {
  auto d = static_cast<size_t>(dimension);
  Dims starts(x.dims().size(), 0), limits = x.dims(), strides(x.dims().size(), 1);
  int64_t size = x.dims()[d] / static_cast<int64_t>(count);
  starts[d] = size * static_cast<int64_t>(which);
  limits[d] = starts[d] + size;
  return sliceOf(call, x, starts, limits, strides);
}

}  // namespace

Status evaluateAllReduce(Call& call) {
  ISTHMUS_ASSIGN_OR_RETURN(Group group,
                           groupOf(call, call.op->getAttr("replica_groups"), groupingOf(call.op)));
  ISTHMUS_ASSIGN_OR_RETURN(auto all, exchange(call, group));
  for (size_t i = 0; i < call.numOperands(); ++i) {
    ISTHMUS_ASSIGN_OR_RETURN(Tensor result, reduceAll(call, all, i));
    call.results.push_back(std::move(result));
  }
  return {};
}

Status evaluateReduceScatter(Call& call) {
  auto op = llvm::cast<shlo::ReduceScatterOp>(call.op);
  ISTHMUS_ASSIGN_OR_RETURN(Group group, groupOf(call, op.getReplicaGroups(), groupingOf(call.op)));
  ISTHMUS_ASSIGN_OR_RETURN(auto all, exchange(call, group));
  ISTHMUS_ASSIGN_OR_RETURN(Tensor sum, reduceAll(call, all, 0));
  ISTHMUS_ASSIGN_OR_RETURN(
      Tensor result,
      partOf(call, sum, static_cast<int64_t>(op.getScatterDimension()), all.size(), group.self));
  call.results.push_back(std::move(result));
  return {};
}

Status evaluateCrossReplicaSum(Call& call) {
  ISTHMUS_ASSIGN_OR_RETURN(Group group,
                           groupOf(call, call.op->getAttr("replica_groups"), Grouping::kReplicas));
  ISTHMUS_ASSIGN_OR_RETURN(auto all, exchange(call, group));
  const Tensor& x = call.tensor(0);
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(x.elementType(), x.dims()));
  for (const std::vector<Value>& brought : all) {
    for (int64_t i = 0; i < x.size(); ++i) {
      result.set(i, scalars::add(x.elementType(), result.get(i), brought[0].tensor.get(i)));
    }
  }
  call.results.push_back(std::move(result));
  return {};
}

Status evaluateAllGather(Call& call) {
  auto op = llvm::cast<shlo::AllGatherOp>(call.op);
  ISTHMUS_ASSIGN_OR_RETURN(Group group, groupOf(call, op.getReplicaGroups(), groupingOf(call.op)));
  ISTHMUS_ASSIGN_OR_RETURN(auto all, exchange(call, group));
  for (size_t i = 0; i < call.numOperands(); ++i) {
    std::vector<Tensor> parts;
    for (const std::vector<Value>& brought : all) parts.push_back(brought[i].tensor);
    ISTHMUS_ASSIGN_OR_RETURN(Tensor result,
                             concatenated(call, parts, static_cast<int64_t>(op.getAllGatherDim())));
    call.results.push_back(std::move(result));
  }
  return {};
}

Status evaluateAllToAll(Call& call) {
  auto op = llvm::cast<shlo::AllToAllOp>(call.op);
  Grouping grouping = channelOf(op) > 0 ? Grouping::kPartitions : Grouping::kReplicas;
  ISTHMUS_ASSIGN_OR_RETURN(Group group, groupOf(call, op.getReplicaGroups(), grouping));
  ISTHMUS_ASSIGN_OR_RETURN(auto all, exchange(call, group));
  for (size_t i = 0; i < call.numOperands(); ++i) {
    std::vector<Tensor> parts;
    for (const std::vector<Value>& brought : all) {
      ISTHMUS_ASSIGN_OR_RETURN(
          Tensor part, partOf(call, brought[i].tensor, static_cast<int64_t>(op.getSplitDimension()),
                              op.getSplitCount(), group.self));
      parts.push_back(std::move(part));
    }
    ISTHMUS_ASSIGN_OR_RETURN(
        Tensor result, concatenated(call, parts, static_cast<int64_t>(op.getConcatDimension())));
    call.results.push_back(std::move(result));
  }
  return {};
}

namespace {

// The member that operand `i` comes from, or goes to.
StatusOr<size_t> rootOf(Call& call, const Group& group, size_t i) {
  if (!call.op->hasAttr("has_dynamic_root")) return size_t{0};
  const Tensor& roots = call.operands.back().tensor;
  int64_t root =
      static_cast<int64_t>(i) < roots.size() ? roots.integer(static_cast<int64_t>(i)) : -1;
  if (root < 0 || root >= static_cast<int64_t>(std::max<size_t>(group.members.size(), 1))) {
    return invalidArgument("there is no member ", root, " of the group");
  }
  return static_cast<size_t>(root);
}

}  // namespace

Status evaluateCollectiveBroadcast(Call& call) {
  Grouping grouping = channelOf(call.op) > 0 ? Grouping::kPartitions : Grouping::kReplicas;
  ISTHMUS_ASSIGN_OR_RETURN(Group group,
                           groupOf(call, call.op->getAttr("replica_groups"), grouping));
  ISTHMUS_ASSIGN_OR_RETURN(auto all, exchange(call, group));
  for (size_t i = 0; i < call.op->getNumResults(); ++i) {
    if (group.members.empty()) {
      ISTHMUS_ASSIGN_OR_RETURN(Tensor zeros, zerosLike(call, i));
      call.results.push_back(std::move(zeros));
      continue;
    }
    ISTHMUS_ASSIGN_OR_RETURN(size_t root, rootOf(call, group, i));
    call.results.push_back(all[root][i]);
  }
  return {};
}

Status evaluateCollectiveReduce(Call& call) {
  Grouping grouping = channelOf(call.op) > 0 ? Grouping::kPartitions : Grouping::kReplicas;
  if (call.op->hasAttr("use_global_device_ids")) grouping = Grouping::kFlattened;
  ISTHMUS_ASSIGN_OR_RETURN(Group group,
                           groupOf(call, call.op->getAttr("replica_groups"), grouping));
  ISTHMUS_ASSIGN_OR_RETURN(auto all, exchange(call, group));
  for (size_t i = 0; i < call.op->getNumResults(); ++i) {
    ISTHMUS_ASSIGN_OR_RETURN(size_t root, rootOf(call, group, i));
    bool isRoot = !group.members.empty() && group.self == root;
    ISTHMUS_ASSIGN_OR_RETURN(Tensor result, isRoot ? reduceAll(call, all, i) : zerosLike(call, i));
    call.results.push_back(std::move(result));
  }
  return {};
}

Status evaluateCollectivePermute(Call& call) {
  auto op = llvm::cast<shlo::CollectivePermuteOp>(call.op);
  const Process& process = call.interpreter.options().process;
  bool isByPartition = channelOf(op) > 0;
  uint32_t self = isByPartition ? process.partition : process.replica;
  auto numberOfId = [&](int64_t id) {
    return isByPartition ? process.replica * numPartitions(process) + static_cast<uint32_t>(id)
                         : static_cast<uint32_t>(id) * numPartitions(process) + process.partition;
  };
  std::string prefix = "permute" + std::to_string(channelOf(op)) + ":";
  int64_t source = -1;
  auto pairs = op.getSourceTargetPairs().getValues<int64_t>();
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (pairs[i + 1] == self) source = pairs[i];
    if (pairs[i] == self && pairs[i + 1] != self) {
      if (!process.grid) return invalidArgument("there is no process ", pairs[i + 1]);
      process.grid->send(prefix + std::to_string(numberOf(process)) + ">" +
                             std::to_string(numberOfId(pairs[i + 1])),
                         {call.operands[0]});
    }
  }
  if (source == self) {
    call.results.push_back(call.operands[0]);
  } else if (source < 0) {
    ISTHMUS_ASSIGN_OR_RETURN(Tensor zeros, zerosLike(call, 0));
    call.results.push_back(std::move(zeros));
  } else {
    if (!process.grid) return invalidArgument("there is no process ", source);
    ISTHMUS_ASSIGN_OR_RETURN(std::vector<Value> given,
                             process.grid->receive(prefix + std::to_string(numberOfId(source)) +
                                                   ">" + std::to_string(numberOf(process))));
    call.results.push_back(std::move(given[0]));
  }
  return {};
}

Status evaluatePartitionId(Call& call) {
  const Process& process = call.interpreter.options().process;
  return addResult(call, call.scalar(scalars::makeInteger(process.partition), ElementType::kU32));
}

Status evaluateReplicaId(Call& call) {
  const Process& process = call.interpreter.options().process;
  return addResult(call, call.scalar(scalars::makeInteger(process.replica), ElementType::kU32));
}

Status evaluateInfeed(Call& call) {
  ProcessGrid* grid = call.interpreter.options().process.grid;
  if (!grid) return unimplemented("there is no infeed");
  ISTHMUS_ASSIGN_OR_RETURN(std::string function, grid->nextInfeed());
  ISTHMUS_ASSIGN_OR_RETURN(call.results, call.interpreter.runFunction(function, {}));
  call.results.push_back(Value::token());
  return {};
}

Status evaluateOutfeed(Call& call) {
  if (!call.interpreter.options().process.grid) return unimplemented("there is no outfeed");
  call.results.push_back(Value::token());
  return {};
}

Status evaluateSend(Call& call) {
  ProcessGrid* grid = call.interpreter.options().process.grid;
  if (!grid) return unimplemented("there is nobody to send to");
  grid->send(std::to_string(channelOf(call.op)), {call.operands.begin(), call.operands.end() - 1});
  call.results.push_back(Value::token());
  return {};
}

Status evaluateRecv(Call& call) {
  ProcessGrid* grid = call.interpreter.options().process.grid;
  if (!grid) return unimplemented("there is nobody to receive from");
  ISTHMUS_ASSIGN_OR_RETURN(call.results, grid->receive(std::to_string(channelOf(call.op))));
  call.results.push_back(Value::token());
  return {};
}

}  // namespace isthmus::reference
