#include "compiler/partition/one_device.h"

#include "compiler/dialect/diagnostics/diagnostics.h"
#include "compiler/dialect/sdy.h"
#include "compiler/partition/sharding/gspmd_sharding.h"

namespace isthmus {
namespace {

using mlir::RankedTensorType;

// What a device has that did not run the call: something that the broadcast overwrites.
mlir::Value placeholder(mlir::Type type, mlir::OpBuilder& builder, SpmdBuilder& spmd,
                        mlir::Location location) {
  if (llvm::isa<shlo::TokenType>(type)) {
    return shlo::AfterAllOp::create(builder, location, type, mlir::ValueRange());
  }
  auto tensor = llvm::cast<RankedTensorType>(type);
  return shlo::BroadcastInDimOp::create(builder, location, tensor,
                                        spmd.zero(tensor.getElementType(), location),
                                        llvm::ArrayRef<int64_t>());
}

}  // namespace

bool runsWithBlocks(mlir::Operation* op) {
  auto call = llvm::dyn_cast<shlo::CustomCallOp>(op);
  return call && call.getCallTargetName() == "xla_ffi_partitioned_python_cpu_callback" &&
         llvm::all_of(op->getResultTypes(), llvm::IsaPred<shlo::TokenType>);
}

StatusOr<std::optional<int64_t>> onlyPartitionOf(shlo::CustomCallOp call, int64_t numPartitions) {
  std::optional<int64_t> device;
  mlir::Attribute attribute = call->getAttr(sdy::kSharding);
  if (auto list = llvm::dyn_cast_or_null<sdy::TensorShardingPerValueAttr>(attribute)) {
    if (!list.getShardings().empty()) attribute = list.getShardings().front();
  }
  if (auto sharding = llvm::dyn_cast_or_null<sdy::TensorShardingAttr>(attribute)) {
    sdy::MeshAttr mesh = sharding.getMesh(call);
    if (mesh && mesh.getAxes().empty() && mesh.getDeviceIds().size() == 1) {
      device = mesh.getDeviceIds().front();
    }
  } else if (auto text = call->getAttrOfType<mlir::StringAttr>(kGspmdSharding)) {
    llvm::StringRef rest = text.getValue();
    int64_t number = 0;
    if (rest.consume_front("{maximal device=") && !rest.consumeInteger(10, number)) device = number;
  }
  if (device && (*device < 0 || *device >= numPartitions)) {
    return invalidArgument(sourceLocation(call.getLoc()), ": partition: @",
                           call.getCallTargetName().str(), " asks for device ", *device, " of ",
                           numPartitions);
  }
  return device;
}

llvm::SmallVector<mlir::Value> callOnOnePartition(shlo::CustomCallOp call,
                                                  mlir::ValueRange operands, int64_t partition,
                                                  int64_t numPartitions, mlir::OpBuilder& builder,
                                                  SpmdBuilder& spmd) {
  mlir::Location location = call.getLoc();
  mlir::Value self = shlo::PartitionIdOp::create(builder, location);
  mlir::Value wanted = shlo::ConstantOp::create(
      builder, location,
      mlir::DenseElementsAttr::get(llvm::cast<RankedTensorType>(self.getType()),
                                   llvm::APInt(32, static_cast<uint64_t>(partition))));
  mlir::Value isWanted =
      shlo::CompareOp::create(builder, location, self, wanted, shlo::ComparisonDirection::EQ);
  auto branches = shlo::IfOp::create(builder, location, call->getResultTypes(), isWanted);
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&branches.getTrueBranch());
  mlir::Operation* copy = builder.clone(*call);
  copy->setOperands(operands);
  copy->removeAttr(sdy::kSharding);
  copy->removeAttr(kGspmdSharding);
  shlo::ReturnOp::create(builder, location, copy->getResults());
  builder.createBlock(&branches.getFalseBranch());
  llvm::SmallVector<mlir::Value> others;
  for (mlir::Type type : call->getResultTypes()) {
    others.push_back(placeholder(type, builder, spmd, location));
  }
  shlo::ReturnOp::create(builder, location, others);
  builder.setInsertionPointAfter(branches);
  llvm::SmallVector<mlir::Value> results;
  for (mlir::Value result : branches->getResults()) {
    bool isToken = llvm::isa<shlo::TokenType>(result.getType());
    results.push_back(isToken ? result
                              : spmd.broadcast(result, partition, numPartitions, location));
  }
  return results;
}

}  // namespace isthmus
