#include "compiler/partition/split/local_values.h"

#include <limits>

#include "compiler/dialect/diagnostics/diagnostics.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/facts/indexing.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/partition/reshard/reshard.h"
#include "isthmus/log.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/Matchers.h"

namespace isthmus {
namespace {

using mlir::RankedTensorType;
using mlir::Value;

// The dimension of a value split as `current` whose blocks are partial sums of what `wanted` sums,
// if all else is split alike.
std::optional<int64_t> placeable(const MeshSharding& current, const MeshSharding& wanted) {
  if (current.positionOf != wanted.positionOf) return std::nullopt;
  auto d = llvm::find(current.dims, wanted.unreduced);
  if (d == current.dims.end()) return std::nullopt;
  MeshSharding rest = current;
  rest.dims[d - current.dims.begin()].clear();
  return rest == wanted.reduced() ? std::optional(d - current.dims.begin()) : std::nullopt;
}

void logGather(Value original, mlir::Location location) {
  if (!logs(LogLevel::kInfo)) return;
  std::string type;
  llvm::raw_string_ostream(type) << original.getType();
  log(LogLevel::kInfo, "partition: gathers ", type, " for ", sourceLocation(location),
      ", where no rule keeps it split");
}

// Of `size` rows in blocks, with padding.
int64_t paddedRows(int64_t size, int64_t shards) { return blockRows(size, shards) * shards; }

// Whether blocks of both kinds begin at the same rows, as far as there are such.
bool haveSameBlockBounds(int64_t size, int64_t shards, int64_t otherShards) {
  return shards == 1 || otherShards == 1 ||
         paddedRows(size, shards) == paddedRows(size, otherShards);
}

// The shape with the padding that both shardings make; nothing if their blocks begin at other rows.
std::optional<std::vector<int64_t>> paddedShape(const MeshSharding& from, const MeshSharding& to,
                                                llvm::ArrayRef<int64_t> shape) {
  std::vector<int64_t> padded(shape.begin(), shape.end());
  for (int64_t d = 0; d < static_cast<int64_t>(padded.size()); ++d) {
    const int64_t shards = from.shards(d), otherShards = to.shards(d);
    if (!haveSameBlockBounds(shape[d], shards, otherShards)) return std::nullopt;
    padded[d] = paddedRows(shape[d], std::max(shards, otherShards));
  }
  return padded;
}

MeshSharding withoutOtherBlockBounds(MeshSharding from, const MeshSharding& to,
                                     llvm::ArrayRef<int64_t> shape) {
  for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
    if (!haveSameBlockBounds(shape[d], from.shards(d), to.shards(d))) from.dims[d].clear();
  }
  return from;
}

// Bytes: what moves less is not worth a longer program, on any machine.
constexpr double kMinCostOfRemade = 16;
// How many operations are done anew, one upon the other.
constexpr int kMaxDepthOfRemade = 6;

// Whether doing `op` again takes no longer than to receive what it gives: an instruction for each
// vector of elements.
bool isEasy(mlir::Operation* op) {
  const OpFacts* facts = findOpFacts(op);
  return facts && facts->fusionClass == FusionClass::kElementwise && facts->cost <= 1;
}

// How the operands must be split of which `value` can be made, split as `sharding` says, at little
// cost.
std::optional<std::vector<MeshSharding>> operandsOfRemade(Value value,
                                                          const MeshSharding& sharding) {
  mlir::Operation* op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1 || !(isEasy(op) || llvm::isa<shlo::BroadcastInDimOp>(op)) ||
      !hasStaticArrays(op)) {
    return std::nullopt;
  }
  std::vector<MeshSharding> operands;
  const IndexingMaps maps = indexingMaps(op);
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    MeshSharding& needed = operands.emplace_back(sharding);
    needed.dims.assign(rankOf(operand), {});
    for (int64_t d = 0; d < rankOf(operand); ++d) {
      std::optional<DimIndex> index = maps.index(i, d);
      if (index && index->isDim()) needed.dims[d] = sharding.dims[*index->dim];
    }
  }
  return operands;
}

double stepsCost(const std::vector<ReshardStep>& steps, double arrayBytes) {
  double cost = 0;
  // A step more is worse than none, even if it moves nothing.
  for (const ReshardStep& step : steps) cost += 1 + bytesMoved(step, arrayBytes);
  return cost;
}

}  // namespace

StatusOr<mlir::Type> LocalValues::localType(mlir::Type type, const MeshSharding& sharding) {
  if (sharding.isReplicated()) return type;
  auto ranked = llvm::cast<RankedTensorType>(type);
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<int64_t> shape, sharding.localShape(ranked.getShape()));
  return mlir::Type(RankedTensorType::get(shape, ranked.getElementType()));
}

mlir::Type LocalValues::blockType(mlir::Type type, const MeshSharding& sharding) {
  auto ranked = llvm::dyn_cast<RankedTensorType>(type);
  if (!ranked || sharding.isReplicated()) return type;
  return RankedTensorType::get(sharding.blockShape(ranked.getShape()), ranked.getElementType());
}

void LocalValues::set(Value original, Value local, const MeshSharding& sharding) {
  copies_[original] = {{sharding, local}};
}

void LocalValues::setReplicated(Value original, Value full) {
  set(original, full, replicatedSharding(rankOf(original), numPartitions_));
}

void LocalValues::setLike(Value original, Value other) {
  auto copies = copies_[other];
  copies_[original] = std::move(copies);
}

MeshSharding LocalValues::storedShardingOf(Value original) const {
  auto found = copies_.find(original);
  return found != copies_.end() ? found->second.front().first
                                : replicatedSharding(rankOf(original), numPartitions_);
}

MeshSharding LocalValues::shardingOf(Value original) const {
  return storedShardingOf(original).reduced();
}

Value LocalValues::find(Value original, const MeshSharding& sharding) const {
  auto found = copies_.find(original);
  if (found == copies_.end()) return nullptr;
  for (const auto& [current, value] : found->second) {
    if (current.hasSameBlocks(sharding)) return value;
  }
  return nullptr;
}

Value LocalValues::fullOf(Value original, mlir::Location location) {
  MeshSharding whole = replicatedSharding(rankOf(original), numPartitions_);
  if (Value full = find(original, whole)) return full;
  if (!shardingOf(original).isReplicated()) logGather(original, location);
  return reshard(original, whole, location);
}

// Sums what the devices have, if they have only partial sums.
void LocalValues::reducePartialSums(Value original, mlir::Location location) {
  const MeshSharding& current = copies_[original].front().first;
  if (current.unreduced.empty()) return;
  MeshSharding reduced = current.reduced();
  if (!find(original, reduced)) reshard(original, reduced, location);
}

// Of a value that is to be a sum of what the devices have.
Value LocalValues::partialSumOf(Value original, const MeshSharding& sharding,
                                mlir::Location location) {
  reducePartialSums(original, location);
  MeshSharding current = shardingOf(original);
  // Zeros are partial sums of themselves.
  auto broadcast = original.getDefiningOp<shlo::BroadcastInDimOp>();
  if (current.hasSameBlocks(sharding.reduced()) && broadcast && isZero(broadcast.getOperand())) {
    return find(original, current);
  }
  if (std::optional<int64_t> d = placeable(current, sharding)) {
    Value placed = spmd_.place(find(original, current), *d, current, location);
    return resized(placed,
                   llvm::cast<RankedTensorType>(blockType(original.getType(), sharding)).getShape(),
                   location);
  }
  Value sum = find(original, sharding.reduced());
  if (!sum) sum = reshard(original, sharding.reduced(), location);
  return spmd_.partialSum(sum, sharding.groups(sharding.unreduced), location);
}

StatusOr<Value> LocalValues::evenOf(Value original, const MeshSharding& sharding,
                                    mlir::Location location) {
  if (Status status = localType(original.getType(), sharding).status(); !status.ok()) return status;
  return localOf(original, sharding, location);
}

Value LocalValues::localOf(Value original, const MeshSharding& sharding, mlir::Location location) {
  if (Value local = find(original, sharding)) return local;
  if (!sharding.unreduced.empty()) return partialSumOf(original, sharding, location);
  if (mlir::SplatElementsAttr splat; mlir::matchPattern(original, mlir::m_Constant(&splat))) {
    auto block = llvm::cast<RankedTensorType>(blockType(original.getType(), sharding));
    return shlo::ConstantOp::create(builder_, location, splat.resizeSplat(block));
  }
  if (sharding.isReplicated()) return fullOf(original, location);
  return reshard(original, sharding, location);
}

Value LocalValues::reshard(Value original, const MeshSharding& sharding, mlir::Location location) {
  auto type = llvm::cast<RankedTensorType>(original.getType());
  auto bytes = static_cast<double>(type.getNumElements() * elementBytes(type));
  double least = std::numeric_limits<double>::infinity();
  std::vector<ReshardStep> steps;
  Value nearest;
  std::vector<int64_t> start;  // the shape of what the steps begin with
  for (const auto& [current, value] : copies_[original]) {
    std::optional<std::vector<int64_t>> padded = paddedShape(current, sharding, type.getShape());
    if (!padded) continue;
    std::vector<ReshardStep> plan =
        planReshard(current, sharding, *padded, elementBytes(type), reshardStepBytes_, manual_);
    double cost = stepsCost(plan, bytes);
    if (nearest && cost >= least) continue;
    least = cost;
    steps = std::move(plan);
    nearest = value;
    start = current.blockShape(*padded);
  }
  if (!nearest) {
    // Blocks that begin at other rows: by way of the whole dimensions.
    reshard(original, withoutOtherBlockBounds(shardingOf(original), sharding, type.getShape()),
            location);
    return reshard(original, sharding, location);
  }
  if (Value made = remade(original, sharding, least, location)) {
    copies_[original].emplace_back(sharding, made);
    return made;
  }
  nearest = resized(nearest, start, location);
  for (const ReshardStep& step : steps) nearest = spmd_.reshard(nearest, step, location);
  nearest = resized(nearest, sharding.blockShape(type.getShape()), location);
  copies_[original].emplace_back(sharding, nearest);
  return nearest;
}

double LocalValues::costOf(Value original, const MeshSharding& sharding) const {
  if (find(original, sharding)) return 0;
  auto found = copies_.find(original);
  auto type = llvm::dyn_cast<RankedTensorType>(original.getType());
  double least = std::numeric_limits<double>::infinity();
  if (found == copies_.end() || !type) return least;
  auto bytes = static_cast<double>(type.getNumElements() * elementBytes(type));
  for (const auto& [current, value] : found->second) {
    std::optional<std::vector<int64_t>> padded = paddedShape(current, sharding, type.getShape());
    if (!padded) continue;
    least = std::min(least, stepsCost(planReshard(current, sharding, *padded, elementBytes(type),
                                                  reshardStepBytes_, manual_),
                                      bytes));
  }
  return least;
}

double LocalValues::costOfRemaking(Value original, const MeshSharding& sharding, int depth,
                                   double limit) const {
  if (find(original, sharding)) return 0;
  if (original.getDefiningOp<shlo::IotaOp>() || matchPattern(original, mlir::m_Constant()))
    return 0;
  double cost = costOf(original, sharding);
  std::optional<std::vector<MeshSharding>> operands =
      depth > 0 ? operandsOfRemade(original, sharding) : std::nullopt;
  if (!operands) return cost;
  double sum = 1;  // for the work
  limit = std::min(limit, cost);
  for (auto [operand, one] : llvm::zip(original.getDefiningOp()->getOperands(), *operands)) {
    if (sum >= limit) break;
    sum += costOfRemaking(operand, one, depth - 1, limit - sum);
  }
  return std::min(cost, sum);
}

Value LocalValues::remade(Value original, const MeshSharding& sharding, double cost,
                          mlir::Location location) {
  // Steps that move nothing are no reason.
  if (cost < kMinCostOfRemade || !sharding.unreduced.empty()) return nullptr;
  auto block = llvm::cast<RankedTensorType>(blockType(original.getType(), sharding));
  if (auto iota = original.getDefiningOp<shlo::IotaOp>()) {
    return spmd_.iota(block, static_cast<int64_t>(iota.getIotaDimension()), sharding, location);
  }
  std::optional<std::vector<MeshSharding>> shardings = operandsOfRemade(original, sharding);
  if (!shardings || costOfRemaking(original, sharding, kMaxDepthOfRemade, cost) >= cost)
    return nullptr;
  llvm::SmallVector<Value> operands;
  mlir::Operation* op = original.getDefiningOp();
  for (auto [operand, one] : llvm::zip(op->getOperands(), *shardings)) {
    operands.push_back(localOf(operand, one, location));
  }
  mlir::Operation* copy = builder_.clone(*op);
  copy->setOperands(operands);
  copy->removeAttr(sdy::kSharding);
  copy->getResult(0).setType(block);
  return copy->getResult(0);
}

Value LocalValues::resized(Value local, llvm::ArrayRef<int64_t> shape, mlir::Location location) {
  auto type = llvm::cast<RankedTensorType>(local.getType());
  llvm::SmallVector<int64_t> none(shape.size()), limits(type.getShape()), high(none);
  bool isCut = false, isWidened = false;
  for (size_t d = 0; d < shape.size(); ++d) {
    isCut |= shape[d] < limits[d];
    isWidened |= shape[d] > limits[d];
    limits[d] = std::min(limits[d], shape[d]);
    high[d] = shape[d] - limits[d];
  }
  if (isCut) {
    local = shlo::SliceOp::create(builder_, location, local, none, limits,
                                  llvm::SmallVector<int64_t>(shape.size(), 1));
  }
  if (!isWidened) return local;
  return shlo::PadOp::create(builder_, location,
                             RankedTensorType::get(shape, type.getElementType()), local,
                             spmd_.zero(type.getElementType(), location), none, high, none);
}

}  // namespace isthmus
