#include "compiler/partition/local_values.h"

#include <limits>

#include "compiler/dialect/array_shape.h"
#include "compiler/dialect/diagnostics.h"
#include "compiler/partition/reshard.h"
#include "isthmus/log.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/Matchers.h"

namespace isthmus {
namespace {

using mlir::RankedTensorType;
using mlir::Value;

// The dimension of what is held whose blocks are summands of what `wanted` sums, if all else is
// split alike.
std::optional<int64_t> placeable(const MeshSharding& held, const MeshSharding& wanted) {
  if (held.positionOf != wanted.positionOf) return std::nullopt;
  auto d = llvm::find(held.dims, wanted.unreduced);
  if (d == held.dims.end()) return std::nullopt;
  MeshSharding rest = held;
  rest.dims[d - held.dims.begin()].clear();
  return rest == wanted.reduced() ? std::optional(d - held.dims.begin()) : std::nullopt;
}

void logGather(Value original, mlir::Location location) {
  if (!logs(LogLevel::kInfo)) return;
  std::string type;
  llvm::raw_string_ostream(type) << original.getType();
  log(LogLevel::kInfo, "partition: gathers ", type, " for ", sourceLocation(location),
      ", where no rule keeps it split");
}

double costOf(const std::vector<ReshardStep>& steps, double arrayBytes) {
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

void LocalValues::hold(Value original, Value local, const MeshSharding& sharding) {
  copies_[original] = {{sharding, local}};
}

void LocalValues::holdFull(Value original, Value full) {
  hold(original, full, replicatedSharding(rankOf(original), numPartitions_));
}

void LocalValues::holdLike(Value original, Value other) {
  auto copies = copies_[other];
  copies_[original] = std::move(copies);
}

MeshSharding LocalValues::shardingOf(Value original) const {
  auto found = copies_.find(original);
  return found != copies_.end() ? found->second.front().first.reduced()
                                : replicatedSharding(rankOf(original), numPartitions_);
}

Value LocalValues::find(Value original, const MeshSharding& sharding) const {
  auto found = copies_.find(original);
  if (found == copies_.end()) return nullptr;
  for (const auto& [held, value] : found->second) {
    if (held.hasSameBlocks(sharding)) return value;
  }
  return nullptr;
}

Value LocalValues::fullOf(Value original, mlir::Location location) {
  MeshSharding whole = replicatedSharding(rankOf(original), numPartitions_);
  if (Value full = find(original, whole)) return full;
  if (!shardingOf(original).isReplicated()) logGather(original, location);
  return reshard(original, whole, location);
}

// Sums what the devices have, if they have only summands.
void LocalValues::reducePartialSums(Value original, mlir::Location location) {
  const MeshSharding& held = copies_[original].front().first;
  if (held.unreduced.empty()) return;
  MeshSharding reduced = held.reduced();
  if (!find(original, reduced)) reshard(original, reduced, location);
}

// Of a value that is to be a sum of what the devices have.
Value LocalValues::summandOf(Value original, const MeshSharding& sharding,
                             mlir::Location location) {
  reducePartialSums(original, location);
  MeshSharding held = shardingOf(original);
  if (std::optional<int64_t> d = placeable(held, sharding)) {
    return spmd_.place(find(original, held), *d, held, location);
  }
  Value sum = find(original, sharding.reduced());
  if (!sum) sum = reshard(original, sharding.reduced(), location);
  return spmd_.summand(sum, sharding.groups(sharding.unreduced), location);
}

StatusOr<Value> LocalValues::localOf(Value original, const MeshSharding& sharding,
                                     mlir::Location location) {
  if (Value held = find(original, sharding)) return held;
  auto type = llvm::cast<RankedTensorType>(original.getType());
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<int64_t> shape, sharding.localShape(type.getShape()));
  if (!sharding.unreduced.empty()) return summandOf(original, sharding, location);
  if (mlir::SplatElementsAttr splat; mlir::matchPattern(original, mlir::m_Constant(&splat))) {
    auto block = RankedTensorType::get(shape, type.getElementType());
    return Value(shlo::ConstantOp::create(builder_, location, splat.resizeSplat(block)));
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
  for (const auto& [held, value] : copies_[original]) {
    std::vector<ReshardStep> plan =
        planReshard(held, sharding, type.getShape(), elementBytes(type), manual_);
    double cost = costOf(plan, bytes);
    if (nearest && cost >= least) continue;
    least = cost;
    steps = std::move(plan);
    nearest = value;
  }
  for (const ReshardStep& step : steps) nearest = spmd_.reshard(nearest, step, location);
  copies_[original].emplace_back(sharding, nearest);
  return nearest;
}

}  // namespace isthmus
