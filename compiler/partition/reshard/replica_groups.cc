#include "compiler/partition/reshard/replica_groups.h"
#include "base/program/device_limit.h"

#include "compiler/dialect/diagnostics/diagnostics.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/sdy.h"
#include "compiler/partition/sharding/mesh_sharding.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/SymbolTable.h"

namespace isthmus {
namespace {

constexpr char kReplicaGroups[] = "replica_groups";

sdy::MeshAttr meshOf(mlir::Attribute attribute, const mlir::SymbolTable& symbols) {
  mlir::MLIRContext* context = attribute.getContext();
  if (auto name = llvm::dyn_cast<mlir::FlatSymbolRefAttr>(attribute)) {
    auto op = symbols.lookup<sdy::MeshOp>(name.getValue());
    return op ? op.getMesh() : nullptr;
  }
  auto mesh = llvm::dyn_cast<shlo::MeshAttr>(attribute);
  if (!mesh) return nullptr;
  llvm::SmallVector<sdy::MeshAxisAttr> axes;
  for (shlo::MeshAxisAttr axis : mesh.getAxes()) {
    axes.push_back(sdy::MeshAxisAttr::get(context, axis.getName(), axis.getSize()));
  }
  llvm::SmallVector<int64_t> ids;
  if (mlir::DenseIntElementsAttr table = mesh.getDeviceIds()) {
    for (const llvm::APInt& id : table.getValues<llvm::APInt>()) ids.push_back(id.getSExtValue());
  }
  return sdy::MeshAttr::get(context, axes, ids);
}

StatusOr<int64_t> deviceCount(sdy::MeshAttr mesh) {
  int64_t count = 1;
  for (sdy::MeshAxisAttr axis : mesh.getAxes()) {
    if (axis.getSize() < 1 || axis.getSize() > kMaxProgramDevices / count) {
      return invalidArgument("replica groups: mesh axis '", axis.getName().str(), "' has size ",
                             axis.getSize());
    }
    count *= axis.getSize();
  }
  return count;
}

StatusOr<mlir::DenseIntElementsAttr> tableOf(shlo::ReplicaGroupMeshAxesAttr groups,
                                             mlir::ModuleOp module,
                                             const mlir::SymbolTable& symbols) {
  mlir::MLIRContext* context = module.getContext();
  sdy::MeshAttr mesh = meshOf(groups.getMesh(), symbols);
  if (!mesh) return invalidArgument("replica groups name a mesh that the module lacks");
  ISTHMUS_ASSIGN_OR_RETURN(int64_t devices, deviceCount(mesh));

  // The groups are those that would gather a vector that is split over the axes.
  llvm::SmallVector<sdy::AxisRefAttr> axes;
  for (auto axis : groups.getAxes().getAsRange<shlo::AxisRefAttr>()) {
    sdy::SubAxisInfoAttr part;
    if (shlo::SubAxisInfoAttr info = axis.getSubAxisInfo()) {
      part = sdy::SubAxisInfoAttr::get(context, info.getPreSize(), info.getSize());
    }
    axes.push_back(sdy::AxisRefAttr::get(context, axis.getName(), part));
  }
  auto dimension = sdy::DimensionShardingAttr::get(context, axes, /*is_closed=*/true);
  ISTHMUS_ASSIGN_OR_RETURN(MeshSharding sharding,
                           resolveSharding(sdy::TensorShardingAttr::get(context, mesh, {dimension}),
                                           /*rank=*/1, devices, module));

  std::vector<std::vector<int64_t>> rows = sharding.groups(sharding.dims[0]);
  for (const std::vector<int64_t>& row : rows) {
    if (static_cast<int64_t>(row.size()) != sharding.shards(0)) {
      return invalidArgument("replica groups name overlapping axes or a device twice");
    }
  }
  return replicaGroupTable(context, rows);
}

}  // namespace

mlir::DenseIntElementsAttr replicaGroupTable(mlir::MLIRContext* context,
                                             llvm::ArrayRef<std::vector<int64_t>> groups) {
  std::vector<int64_t> ids;
  for (const std::vector<int64_t>& group : groups) llvm::append_range(ids, group);
  auto type = mlir::RankedTensorType::get(
      {static_cast<int64_t>(groups.size()), static_cast<int64_t>(groups.front().size())},
      mlir::IntegerType::get(context, 64));
  return mlir::DenseIntElementsAttr::get(type, ids);
}

Status resolveReplicaGroups(mlir::ModuleOp module) {
  mlir::SymbolTable symbols(module);
  Status status;
  module.walk([&](mlir::Operation* op) {
    auto groups = op->getAttrOfType<shlo::ReplicaGroupMeshAxesAttr>(kReplicaGroups);
    if (!groups) return mlir::WalkResult::advance();
    StatusOr<mlir::DenseIntElementsAttr> table = tableOf(groups, module, symbols);
    if (!table.ok()) {
      status = table.status().withContext(sourceLocation(op->getLoc()));
      return mlir::WalkResult::interrupt();
    }
    op->setAttr(kReplicaGroups, *table);
    return mlir::WalkResult::advance();
  });
  return status;
}

}  // namespace isthmus
