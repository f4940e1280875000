// Collectives and process ids as library calls.
#include "backends/cpu/load/collective_functions.h"
#include "backends/cpu/lower/library_ops.h"
#include "compiler/cost/library_time.h"
#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/collective_groups.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/isthmus.h"
#include "compiler/dialect/types/type_conversion.h"
#include "compiler/plan/op_error.h"

namespace isthmus::cpu {
namespace {

struct Groups {
  std::vector<int64_t> ids;
  int64_t count = 0;
  int64_t size = 0;
};

StatusOr<Groups> readTable(mlir::Attribute attribute) {
  auto table = llvm::dyn_cast_or_null<mlir::DenseIntElementsAttr>(attribute);
  if (!table) return unimplemented("replica groups that are not a table of ids");
  if (table.getType().getRank() != 2) return invalidArgument("replica groups: not a table");
  Groups groups;
  groups.count = table.getType().getDimSize(0);
  groups.size = table.getType().getDimSize(1);
  for (const llvm::APInt& id : table.getValues<llvm::APInt>()) {
    groups.ids.push_back(id.getSExtValue());
  }
  return groups;
}

// As the functions of the library have it.
GroupMode modeOf(GroupIds ids) {
  switch (ids) {
    case GroupIds::kPartitions:
      return GroupMode::kPartitions;
    case GroupIds::kReplicasOfAllPartitions:
      return GroupMode::kReplicasAllPartitions;
    case GroupIds::kDevices:
      return GroupMode::kDevices;
    case GroupIds::kReplicas:
      break;
  }
  return GroupMode::kReplicas;
}

// all_reduce, all_gather and reduce_scatter.
template <typename Op>
StatusOr<GroupMode> reductionMode(Op op) {
  if (op.getUseGlobalDeviceIds() && !hasChannel(op)) {
    return invalidArgument("use_global_device_ids needs a channel");
  }
  return modeOf(groupIdsOfReduction(op));
}

// The reduction that a computation of two scalars is.
StatusOr<ReductionKind> reductionOf(mlir::Region& computation) {
  if (mlir::Operation* op = soleOperation(computation)) {
    if (llvm::isa<shlo::AddOp>(op)) return ReductionKind::kSum;
    if (llvm::isa<shlo::MulOp>(op)) return ReductionKind::kProduct;
    if (llvm::isa<shlo::MinOp>(op)) return ReductionKind::kMin;
    if (llvm::isa<shlo::MaxOp>(op)) return ReductionKind::kMax;
    if (llvm::isa<shlo::AndOp>(op)) return ReductionKind::kAnd;
    if (llvm::isa<shlo::OrOp>(op)) return ReductionKind::kOr;
  }
  return unimplemented(
      "its computation is none of add, multiply, minimum, maximum, and, or, and it is not "
      "elementwise among groups of one size");
}

int64_t productBefore(const ArrayType& type, int64_t dimension) {
  int64_t product = 1;
  for (int64_t d = 0; d < dimension; ++d) product *= type.dims[d];
  return product;
}

OperationCode makeProcessId(bool isPartition, const TargetModel& target) {
  OperationCode code;
  code.libraryFunction = "isthmus_rt_process_id";
  code.descriptor = descriptorBytes(ProcessIdDescriptor{isPartition});
  code.estimatedNs = target.callNs;
  return code;
}

}  // namespace

StatusOr<OperationCode> lowerAwait(mlir::Operation* op, LibraryContext& context) {
  OperationCode code;
  code.libraryFunction = "isthmus_rt_await";
  code.descriptor = descriptorBytes(
      AwaitDescriptor{static_cast<int64_t>(llvm::cast<ir::AwaitOp>(op).getNumber())});
  code.estimatedNs = collectiveNs(context.target, 0);
  context.mayBlock = true;
  return code;
}

StatusOr<OperationCode> lowerCollective(mlir::Operation* op, LibraryContext& context) {
  if (llvm::isa<shlo::PartitionIdOp>(op)) return makeProcessId(true, context.target);
  if (llvm::isa<shlo::ReplicaIdOp>(op)) return makeProcessId(false, context.target);

  CollectiveDescriptor head{};
  head.channel = context.nextNumber++;
  if (auto number = op->getAttrOfType<mlir::IntegerAttr>(ir::kStartedAs)) {
    head.startedAs = number.getInt();
  }
  Groups groups;
  OperationCode code;
  int64_t splitDimension = 0;
  int64_t joinDimension = 0;
  if (auto reduce = llvm::dyn_cast<shlo::AllReduceOp>(op)) {
    code.libraryFunction = "isthmus_rt_all_reduce";
    ISTHMUS_ASSIGN_OR_RETURN(groups, readTable(reduce.getReplicaGroups()));
    ISTHMUS_ASSIGN_OR_RETURN(head.mode, reductionMode(reduce));
    ISTHMUS_ASSIGN_OR_RETURN(head.reduction, reductionOf(reduce.getComputation()));
  } else if (auto gather = llvm::dyn_cast<shlo::AllGatherOp>(op)) {
    code.libraryFunction = "isthmus_rt_all_gather";
    ISTHMUS_ASSIGN_OR_RETURN(groups, readTable(gather.getReplicaGroups()));
    ISTHMUS_ASSIGN_OR_RETURN(head.mode, reductionMode(gather));
    joinDimension = gather.getAllGatherDim();
  } else if (auto scatter = llvm::dyn_cast<shlo::ReduceScatterOp>(op)) {
    code.libraryFunction = "isthmus_rt_reduce_scatter";
    ISTHMUS_ASSIGN_OR_RETURN(groups, readTable(scatter.getReplicaGroups()));
    ISTHMUS_ASSIGN_OR_RETURN(head.mode, reductionMode(scatter));
    ISTHMUS_ASSIGN_OR_RETURN(head.reduction, reductionOf(scatter.getComputation()));
    splitDimension = scatter.getScatterDimension();
  } else if (auto exchange = llvm::dyn_cast<shlo::AllToAllOp>(op)) {
    code.libraryFunction = "isthmus_rt_all_to_all";
    ISTHMUS_ASSIGN_OR_RETURN(groups, readTable(exchange.getReplicaGroups()));
    head.mode = modeOf(groupIdsOfExchange(exchange));
    splitDimension = exchange.getSplitDimension();
    joinDimension = exchange.getConcatDimension();
  } else if (auto broadcast = llvm::dyn_cast<shlo::CollectiveBroadcastOp>(op)) {
    if (broadcast.getHasDynamicRoot()) return unimplemented("a root that is not constant");
    code.libraryFunction = "isthmus_rt_collective_broadcast";
    ISTHMUS_ASSIGN_OR_RETURN(groups, readTable(broadcast.getReplicaGroups()));
    head.mode = modeOf(groupIdsOfExchange(broadcast));
  } else if (auto permute = llvm::dyn_cast<shlo::CollectivePermuteOp>(op)) {
    code.libraryFunction = "isthmus_rt_collective_permute";
    ISTHMUS_ASSIGN_OR_RETURN(groups, readTable(permute.getSourceTargetPairs()));
    if (groups.size != 2 && groups.count > 0) {
      return invalidArgument("source_target_pairs: rows of ", groups.size, ", expected 2");
    }
    head.mode = modeOf(groupIdsOfExchange(permute));
  } else {
    return unimplemented("an unknown collective");
  }
  head.numGroups = groups.count;
  head.groupSize = groups.size;

  std::vector<CollectiveOperand> operands;
  int64_t largestOperand = 0;
  int64_t largestResult = 0;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    ISTHMUS_ASSIGN_OR_RETURN(ArrayType type, toArrayType(op->getOperand(i).getType()));
    ISTHMUS_ASSIGN_OR_RETURN(ArrayType result, toArrayType(op->getResult(i).getType()));
    if (i > 0 && type.elementType != head.type) {
      return unimplemented("operands of different element types");
    }
    if (result.elementType != type.elementType) {
      return unimplemented("a computation in another type than that of its operands");
    }
    head.type = type.elementType;
    operands.push_back({type.numElements(), result.numElements(),
                        productBefore(type, splitDimension), productBefore(result, joinDimension)});
    largestOperand = std::max<int64_t>(largestOperand, type.sizeBytes());
    largestResult = std::max<int64_t>(largestResult, result.sizeBytes());
  }
  if (head.startedAs < 0) {
    // At least a byte, since the functions find the scratch memory after their results. What only
    // sets out has memory of its own.
    if (llvm::isa<shlo::AllGatherOp>(op)) code.scratchBytes = std::max<int64_t>(1, largestResult);
    if (llvm::isa<shlo::ReduceScatterOp>(op)) {
      code.scratchBytes = std::max<int64_t>(1, largestOperand);
    }
    if (llvm::isa<shlo::AllToAllOp>(op)) {
      code.scratchBytes = std::max<int64_t>(1, 2 * largestOperand);
    }
  }

  std::string description = op->getName().getStringRef().str();
  if (std::string position = sourcePosition(op->getLoc()); !position.empty()) {
    description += " at " + position;
  }
  code.descriptor = makeCollectiveDescriptor(head, operands, groups.ids, description);
  // Without the source position, which is another where a process runs another script.
  context.exchanges += code.libraryFunction;
  context.exchanges += makeCollectiveDescriptor(head, operands, groups.ids, "");
  code.estimatedNs =
      collectiveNs(context.target, static_cast<double>(largestOperand + largestResult));
  context.mayBlock = true;
  return code;
}

}  // namespace isthmus::cpu
