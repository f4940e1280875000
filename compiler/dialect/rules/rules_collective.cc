// Rules and types of communication between devices and with the host.
#include "compiler/dialect/rules/rules.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::shlo {

using mlir::failed;
using mlir::failure;
using mlir::LogicalResult;
using mlir::success;

namespace {

// The labels of the rules about replica groups.
struct GroupRules {
  llvm::StringRef form, unique, range, channel;
};

// Checks a table of ids: groups are rows, padded by -1 where `mayPad`. Ids are 0 … n-1, each once,
// unless `anyIds`. Groups that a mesh says are checked where the mesh is known.
LogicalResult verifyGroups(const Rules& rules, const GroupRules& r, mlir::Attribute groups,
                           bool mayPad, bool anyIds = false,
                           std::optional<int64_t> groupSize = std::nullopt) {
  auto table = llvm::dyn_cast<mlir::DenseIntElementsAttr>(groups);
  if (!table) return success();
  mlir::ShapedType type = table.getType();
  if (type.getRank() != 2) {
    return rules.violates(r.form, "replica_groups have type ", type, ", expected tensor<NxMxi64>");
  }
  llvm::SmallVector<int64_t> ids;
  for (int64_t id : table.getValues<int64_t>()) {
    if (id == -1 && mayPad) continue;
    if (id < 0) {
      return rules.violates(r.range, "replica_groups have the id ", id,
                            ", expected no negative one");
    }
    ids.push_back(id);
  }
  if (failed(rules.unique(r.unique, "replica_groups", ids))) return failure();
  for (int64_t id : ids) {
    if (!anyIds && id >= static_cast<int64_t>(ids.size())) {
      return rules.violates(r.range, "replica_groups have the id ", id, ", expected all below ",
                            ids.size());
    }
  }
  if (groupSize && (type.getDimSize(0) == 0 || type.getDimSize(1) != *groupSize)) {
    return rules.violates(r.form, "groups have ", type.getDimSize(1), " members, expected ",
                          *groupSize);
  }
  return success();
}

// With global device ids there must be a channel and at least one group.
LogicalResult verifyGlobalIds(const Rules& rules, const GroupRules& r, bool usesGlobalIds,
                              std::optional<ChannelHandleAttr> channel, mlir::Attribute groups,
                              int64_t leastChannel = 1) {
  if (!usesGlobalIds) return success();
  auto table = llvm::dyn_cast<mlir::DenseIntElementsAttr>(groups);
  if (table && table.empty()) {
    return rules.violates(r.form, "global device ids are used and replica_groups are empty, ",
                          "expected a group");
  }
  int64_t handle = channel ? channel->getHandle() : 0;
  if (handle >= leastChannel) return success();
  return rules.violates(r.channel, "global device ids are used but the channel is ", handle,
                        ", expected ", leastChannel, " or more");
}

// A mesh that replica groups name is in the module.
LogicalResult verifyMeshName(mlir::Operation* op, llvm::StringRef rule, mlir::Attribute groups,
                             mlir::SymbolTableCollection& symbols) {
  auto axes = llvm::dyn_cast<ReplicaGroupMeshAxesAttr>(groups);
  auto name =
      axes ? llvm::dyn_cast<mlir::FlatSymbolRefAttr>(axes.getMesh()) : mlir::FlatSymbolRefAttr();
  if (!name || symbols.lookupNearestSymbolFrom(op, name)) return success();
  return Rules(op).violates(rule, "replica_groups name the mesh ", name,
                            ", expected one that the module has");
}

// The region of a collective reduces each operand by itself.
LogicalResult verifyReducerOfEach(const Rules& rules, llvm::StringRef rule, mlir::Region& region,
                                  mlir::ValueRange operands) {
  for (mlir::Value operand : operands) {
    mlir::Type element = tensorType(operand).getElementType();
    if (failed(verifyReducer(rules, rule, region, element, element))) return failure();
  }
  return success();
}

// A last operand that names the root of each other one.
LogicalResult verifyRoot(const Rules& rules, llvm::StringRef rule, mlir::ValueRange operands,
                         bool hasDynamicRoot) {
  if (operands.size() < (hasDynamicRoot ? 2 : 1)) {
    return rules.violates(rule, "there are ", operands.size(), " operands, expected ",
                          hasDynamicRoot ? 2 : 1, " or more");
  }
  if (!hasDynamicRoot) return success();
  mlir::RankedTensorType root = tensorType(operands.back());
  if (root.getRank() == 1 && root.getElementType().isInteger(32) &&
      root.getDimSize(0) == static_cast<int64_t>(operands.size()) - 1) {
    return success();
  }
  return rules.violates(rule, "the root is ", root, ", expected tensor<", operands.size() - 1,
                        "xi32>");
}

constexpr GroupRules kAllGather = {"i3", "c2", "c4", "c5"};
constexpr GroupRules kAllReduce = {"i2", "c1", "c3", "c4"};
constexpr GroupRules kAllToAll = {"c8", "c5", "c7", ""};
constexpr GroupRules kReduceScatter = {"i3", "c3", "c5", "c6"};
constexpr GroupRules kCollectiveReduce = {"i2", "c1", "c2", "i4"};
constexpr GroupRules kCollectiveBroadcast = {"i2", "c1", "c2", ""};

}  // namespace

#define ISTHMUS_VERIFY_MESH(Op, rule)                                        \
  LogicalResult Op::verifySymbolUses(mlir::SymbolTableCollection& symbols) { \
    return verifyMeshName(*this, rule, getReplicaGroups(), symbols);         \
  }
ISTHMUS_VERIFY_MESH(AllGatherOp, kAllGather.form)
ISTHMUS_VERIFY_MESH(AllReduceOp, kAllReduce.form)
ISTHMUS_VERIFY_MESH(AllToAllOp, kAllToAll.form)
ISTHMUS_VERIFY_MESH(CollectiveBroadcastOp, kCollectiveBroadcast.form)
ISTHMUS_VERIFY_MESH(CollectiveReduceOp, kCollectiveReduce.form)
ISTHMUS_VERIFY_MESH(ReduceScatterOp, kReduceScatter.form)
#undef ISTHMUS_VERIFY_MESH

// ---- Collectives --------------------------------------------------------------------------------

LogicalResult AllGatherOp::verify() {
  Rules rules(*this);
  if (failed(verifyGroups(rules, kAllGather, getReplicaGroups(), /*mayPad=*/false)) ||
      failed(verifyGlobalIds(rules, kAllGather, getUseGlobalDeviceIds(), getChannelHandle(),
                             getReplicaGroups(), /*leastChannel=*/0))) {
    return failure();
  }
  int64_t dim = getAllGatherDim();
  for (auto [operand, result] : llvm::zip(getOperands(), getResults())) {
    mlir::RankedTensorType from = tensorType(operand), to = tensorType(result);
    if (failed(rules.inRange("c1", "all_gather_dim", dim, 0, from.getRank()))) return failure();
    if (from.getDimSize(dim) == 0) {
      return rules.violates("c6", "dimension ", dim, " of ", from,
                            " has size 0, expected something to gather");
    }
    bool fits = to.getRank() == from.getRank();
    for (int64_t i = 0; fits && i < from.getRank(); ++i) {
      int64_t a = from.getDimSize(i), b = to.getDimSize(i);
      fits = i == dim ? isDynamic(a) || isDynamic(b) || b % a == 0 : agree(a, b);
    }
    if (!fits) {
      return rules.violates("c6", "the result is ", to, " for ", from,
                            ", expected it to differ in dimension ", dim,
                            " alone, which is a multiple");
    }
  }
  return success();
}

ISTHMUS_INFER(AllReduceOp, "all_reduce") {
  mlir::Region& region = op.getComputation();
  if (op.getOperands().empty()) {
    return rules.violates("i1", "there are no operands, expected one or more");
  }
  if (!region.empty() && failed(verifyReducerOfEach(rules, "c5", region, op.getOperands()))) {
    return failure();
  }
  for (mlir::Value operand : op.getOperands()) {
    mlir::RankedTensorType type = tensorType(operand);
    types.push_back(region.empty() ? type : type.clone(reducerElementTypes(region).front()));
  }
  return success();
}

LogicalResult AllReduceOp::verify() {
  Rules rules(*this);
  if (!returnOf(getComputation())) {
    return rules.violates("c5", "the region has another end, expected stablehlo.return");
  }
  if (failed(verifyGroups(rules, kAllReduce, getReplicaGroups(), /*mayPad=*/true))) {
    return failure();
  }
  return verifyGlobalIds(rules, kAllReduce, getUseGlobalDeviceIds(), getChannelHandle(),
                         getReplicaGroups());
}

ISTHMUS_INFER(AllToAllOp, "all_to_all") {
  int64_t split = op.getSplitDimension(), concat = op.getConcatDimension();
  int64_t count = op.getSplitCount();
  if (count < 1) {
    return rules.violates("c4", "split_count is ", count, ", expected a positive number");
  }
  if (failed(verifyGroups(rules, kAllToAll, op.getReplicaGroups(), /*mayPad=*/false,
                          /*anyIds=*/false, count))) {
    return failure();
  }
  for (mlir::Value operand : op.getOperands()) {
    mlir::RankedTensorType type = tensorType(operand);
    if (failed(rules.inRange("c1", "split_dimension", split, 0, type.getRank())) ||
        failed(rules.inRange("c3", "concat_dimension", concat, 0, type.getRank()))) {
      return failure();
    }
    llvm::SmallVector<int64_t> sizes(type.getShape()), bounds(boundsOf(type));
    if (!isDynamic(sizes[split]) && sizes[split] % count != 0) {
      return rules.violates("c2", "dimension ", split, " of ", type, " has size ", sizes[split],
                            ", expected a multiple of ", count);
    }
    auto exchange = [&](llvm::SmallVector<int64_t>& extents) {
      if (!isDynamic(extents[split])) extents[split] /= count;
      return isDynamic(extents[concat]) ||
             !llvm::MulOverflow(extents[concat], count, extents[concat]);
    };
    if (!exchange(sizes) || (!bounds.empty() && !exchange(bounds))) {
      return rules.violates("c9", "the size of dimension ", concat,
                            " overflows, expected it to fit 63 bits");
    }
    types.push_back(boundedType(sizes, type.getElementType(), bounds));
  }
  return success();
}

LogicalResult ReduceScatterOp::verify() {
  Rules rules(*this);
  mlir::RankedTensorType from = getOperand().getType(), to = getType();
  int64_t dim = getScatterDimension();
  if (failed(verifyGroups(rules, kReduceScatter, getReplicaGroups(), /*mayPad=*/false)) ||
      failed(verifyReducerOfEach(rules, "c7", getComputation(), getOperand())) ||
      failed(rules.inRange("c2", "scatter_dimension", dim, 0, from.getRank())) ||
      failed(verifyGlobalIds(rules, kReduceScatter, getUseGlobalDeviceIds(), getChannelHandle(),
                             getReplicaGroups()))) {
    return failure();
  }
  bool fits = to.getRank() == from.getRank();
  for (int64_t i = 0; fits && i < from.getRank(); ++i) {
    int64_t a = from.getDimSize(i), b = to.getDimSize(i);
    fits =
        i == dim ? isDynamic(a) || isDynamic(b) || (a != 0 && b != 0 && a % b == 0) : agree(a, b);
  }
  if (!fits) {
    return rules.violates("c8", "the result is ", to, " for ", from,
                          ", expected it to differ in dimension ", dim, " alone, which it divides");
  }
  mlir::Type element = reducerElementTypes(getComputation()).front();
  if (element == to.getElementType()) return success();
  return rules.violates("c9", "the result is ", to, ", expected the element type ", element);
}

ISTHMUS_INFER(CollectiveBroadcastOp, "collective_broadcast") {
  mlir::ValueRange data = op.getOperands();
  if (op.getHasDynamicRoot() && !data.empty()) data = data.drop_back();
  llvm::append_range(types, data.getTypes());
  return success();
}

LogicalResult CollectiveBroadcastOp::verify() {
  Rules rules(*this);
  if (failed(verifyGroups(rules, kCollectiveBroadcast, getReplicaGroups(), /*mayPad=*/false,
                          /*anyIds=*/true))) {
    return failure();
  }
  return verifyRoot(rules, getHasDynamicRoot() ? "c4" : "c3", getOperands(), getHasDynamicRoot());
}

ISTHMUS_INFER(CollectiveReduceOp, "collective_reduce") {
  mlir::ValueRange data = op.getOperands();
  if (op.getHasDynamicRoot() && !data.empty()) data = data.drop_back();
  mlir::Region& region = op.getComputation();
  if (!region.empty() && failed(verifyReducerOfEach(rules, "c4", region, data))) return failure();
  for (mlir::Value operand : data) {
    mlir::RankedTensorType type = tensorType(operand);
    types.push_back(region.empty() ? type : type.clone(reducerElementTypes(region).front()));
  }
  return success();
}

LogicalResult CollectiveReduceOp::verify() {
  Rules rules(*this);
  if (!returnOf(getComputation())) {
    return rules.violates("c4", "the region has another end, expected stablehlo.return");
  }
  if (failed(verifyGroups(rules, kCollectiveReduce, getReplicaGroups(), /*mayPad=*/true)) ||
      failed(verifyGlobalIds(rules, kCollectiveReduce, getUseGlobalDeviceIds(), getChannelHandle(),
                             getReplicaGroups()))) {
    return failure();
  }
  return verifyRoot(rules, "c3", getOperands(), getHasDynamicRoot());
}

ISTHMUS_INFER(CollectivePermuteOp, "collective_permute") {
  types.push_back(op.getOperand().getType());
  return success();
}

LogicalResult CollectivePermuteOp::verify() {
  return verifySourceTargetPairs(Rules(*this), getSourceTargetPairs());
}

// ---- Tokens and transfers -----------------------------------------------------------------------

#define ISTHMUS_INFER_TOKEN(Op, name)         \
  ISTHMUS_INFER(Op, name) {                   \
    types.push_back(TokenType::get(context)); \
    return success();                         \
  }
ISTHMUS_INFER_TOKEN(AfterAllOp, "after_all")
ISTHMUS_INFER_TOKEN(CreateTokenOp, "create_token")
ISTHMUS_INFER_TOKEN(OutfeedOp, "outfeed")
#undef ISTHMUS_INFER_TOKEN

ISTHMUS_INFER(PartitionIdOp, "partition_id") {
  types.push_back(mlir::RankedTensorType::get(
      {}, mlir::IntegerType::get(context, 32, mlir::IntegerType::Unsigned)));
  return success();
}

ISTHMUS_INFER(ReplicaIdOp, "replica_id") {
  types.push_back(mlir::RankedTensorType::get(
      {}, mlir::IntegerType::get(context, 32, mlir::IntegerType::Unsigned)));
  return success();
}

namespace {

// The types of channels: device to device, to the host, from the host.
enum ChannelType : int64_t { kDeviceToDevice = 1, kDeviceToHost = 2, kHostToDevice = 3 };

LogicalResult verifyChannel(const Rules& rules, bool isHostTransfer, ChannelHandleAttr channel,
                            ChannelType hostType) {
  int64_t expected = isHostTransfer ? hostType : kDeviceToDevice;
  if (channel.getType() == expected) return success();
  return rules.violates("c5", "the channel has type ", channel.getType(), ", expected ", expected);
}

// The labels of the rules about tensors and a token after them.
struct ReceivedRules {
  llvm::StringRef any, tensors, token;
};

LogicalResult verifyReceived(const Rules& rules, const ReceivedRules& r, mlir::TypeRange types) {
  if (types.empty()) return rules.violates(r.any, "there are no results, expected a token");
  for (mlir::Type type : types.drop_back()) {
    if (!llvm::isa<mlir::TensorType>(type)) {
      return rules.violates(r.tensors, "a result but the last is ", type, ", expected a tensor");
    }
  }
  if (llvm::isa<TokenType>(types.back())) return success();
  return rules.violates(r.token, "the last result is ", types.back(), ", expected a token");
}

}  // namespace

ISTHMUS_INFER(SendOp, "send") {
  if (failed(verifyChannel(rules, op.getIsHostTransfer(), op.getChannelHandle(), kDeviceToHost)) ||
      failed(verifySourceTargetPairs(rules, op.getSourceTargetPairs()))) {
    return failure();
  }
  types.push_back(TokenType::get(context));
  return success();
}

LogicalResult RecvOp::verify() {
  Rules rules(*this);
  if (failed(verifyChannel(rules, getIsHostTransfer(), getChannelHandle(), kHostToDevice)) ||
      failed(verifySourceTargetPairs(rules, getSourceTargetPairs()))) {
    return failure();
  }
  // The specification numbers what it says about results only for infeed.
  return verifyReceived(rules, {"results", "results", "results"}, getResultTypes());
}

LogicalResult InfeedOp::verify() {
  Rules rules(*this);
  if (failed(verifyReceived(rules, {"c1", "c2", "c3"}, getResultTypes()))) return failure();
  const mlir::ArrayAttr layouts = getLayoutAttr();
  if (!layouts) return success();
  if (layouts.size() != getNumResults() - 1) {
    return rules.violates("i2", "there are ", layouts.size(), " layouts, expected ",
                          getNumResults() - 1);
  }
  for (mlir::Attribute layout : layouts) {
    auto dims = llvm::dyn_cast<mlir::ArrayAttr>(layout);
    if (!dims || !llvm::all_of(dims, llvm::IsaPred<mlir::IntegerAttr>)) {
      return rules.violates("i2", "a layout is ", layout, ", expected an array of integers");
    }
  }
  return success();
}

}  // namespace isthmus::shlo
