#include "compiler/simulation/read_collective.h"

#include "compiler/dialect/facts/byte_size.h"
#include "compiler/dialect/facts/collective_groups.h"
#include "compiler/plan/op_error.h"
#include "llvm/ADT/TypeSwitch.h"

namespace isthmus::simulation {
namespace {

struct Described {
  CollectiveKind kind;
  GroupIds ids;
  mlir::Attribute table;
  bool countsResults = false;
};

std::optional<Described> describe(mlir::Operation* op) {
  using Result = std::optional<Described>;
  return llvm::TypeSwitch<mlir::Operation*, Result>(op)
      .Case([](shlo::AllReduceOp op) -> Result {
        return Described{CollectiveKind::kAllReduce, groupIdsOfReduction(op),
                         op.getReplicaGroups()};
      })
      .Case([](shlo::AllGatherOp op) -> Result {
        return Described{CollectiveKind::kAllGather, groupIdsOfReduction(op), op.getReplicaGroups(),
                         true};
      })
      .Case([](shlo::ReduceScatterOp op) -> Result {
        return Described{CollectiveKind::kReduceScatter, groupIdsOfReduction(op),
                         op.getReplicaGroups()};
      })
      .Case([](shlo::AllToAllOp op) -> Result {
        return Described{CollectiveKind::kAllToAll, groupIdsOfExchange(op), op.getReplicaGroups()};
      })
      .Case([](shlo::CollectivePermuteOp op) -> Result {
        return Described{CollectiveKind::kPermute, groupIdsOfExchange(op),
                         op.getSourceTargetPairs()};
      })
      .Case([](shlo::CollectiveBroadcastOp op) -> Result {
        return Described{CollectiveKind::kBroadcast, groupIdsOfExchange(op), op.getReplicaGroups()};
      })
      .Default([](mlir::Operation*) -> Result { return std::nullopt; });
}

std::vector<std::vector<int64_t>> devicesOf(const std::vector<int64_t>& row, GroupIds ids,
                                            DeviceGrid grid) {
  std::vector<std::vector<int64_t>> groups;
  auto device = [&](int64_t replica, int64_t partition) {
    return replica * grid.numPartitions + partition;
  };
  switch (ids) {
    case GroupIds::kDevices:
      return {row};
    case GroupIds::kReplicas:
      for (int64_t p = 0; p < grid.numPartitions; ++p) {
        for (int64_t& member : groups.emplace_back(row)) member = device(member, p);
      }
      return groups;
    case GroupIds::kPartitions:
      for (int64_t r = 0; r < grid.numReplicas; ++r) {
        for (int64_t& member : groups.emplace_back(row)) member = device(r, member);
      }
      return groups;
    case GroupIds::kReplicasOfAllPartitions:
      groups.emplace_back();
      for (int64_t replica : row) {
        for (int64_t p = 0; p < grid.numPartitions; ++p) groups[0].push_back(device(replica, p));
      }
      return groups;
  }
  return groups;
}

}  // namespace

StatusOr<std::optional<Collective>> readCollective(mlir::Operation* op, DeviceGrid grid) {
  std::optional<Described> described = describe(op);
  if (!described) return std::optional<Collective>();
  auto table = llvm::dyn_cast_or_null<mlir::DenseIntElementsAttr>(described->table);
  if (!table || table.getType().getRank() != 2) {
    return unsupportedOp(op, "its groups are no table of ids");
  }
  int64_t count = described->ids == GroupIds::kDevices      ? grid.numDevices()
                  : described->ids == GroupIds::kPartitions ? grid.numPartitions
                                                            : grid.numReplicas;
  Collective collective;
  collective.kind = described->kind;
  for (mlir::Value value : described->countsResults ? mlir::ValueRange(op->getResults())
                                                    : mlir::ValueRange(op->getOperands())) {
    ISTHMUS_ASSIGN_OR_RETURN(int64_t bytes, byteSize(value.getType()));
    collective.bytes += static_cast<double>(bytes);
  }
  auto values = table.getValues<int64_t>();
  int64_t width = table.getType().getDimSize(1);
  for (int64_t g = 0; g < table.getType().getDimSize(0); ++g) {
    std::vector<int64_t> row;
    for (int64_t i = 0; i < width; ++i) {
      int64_t id = values[g * width + i];
      if (id == -1) continue;  // fills up groups of different sizes
      if (id < 0 || id >= count)
        return invalidArgument("replica group with id ", id, " of ", count);
      row.push_back(id);
    }
    for (auto& group : devicesOf(row, described->ids, grid)) {
      collective.groups.push_back(std::move(group));
    }
  }
  if (table.empty() && described->kind != CollectiveKind::kPermute) {
    std::vector<int64_t> all(count);
    for (int64_t i = 0; i < count; ++i) all[i] = i;
    collective.groups = devicesOf(all, described->ids, grid);
  }
  return std::optional<Collective>(std::move(collective));
}

}  // namespace isthmus::simulation
