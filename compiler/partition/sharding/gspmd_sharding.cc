#include "compiler/partition/sharding/gspmd_sharding.h"

#include <numeric>

#include "compiler/dialect/diagnostics/diagnostics.h"
#include "compiler/partition/sharding/inspect_sharding.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus {
namespace {

using Numbers = std::vector<int64_t>;

// {devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}
// {devices=[2,2]0,2,1,3}
// {devices=[1,2,2]<=[4] last_tile_dims={manual, replicated}}
class Reader {
 public:
  Reader(llvm::StringRef text, int64_t rank, int64_t numPartitions)
      : text_(text), rest_(text), rank_(rank), numPartitions_(numPartitions) {}

  StatusOr<std::optional<MeshSharding>> read() {
    if (!rest_.consume_front("{")) return wrong();
    for (llvm::StringRef word : {"replicated", "manual", "unknown", "unreduced", "maximal"}) {
      if (!rest_.consume_front(word)) continue;
      MeshSharding sharding = replicatedSharding(rank_, numPartitions_);
      if (word == "unreduced") sharding.unreduced = {{1, numPartitions_}};
      if (word == "replicated" || word == "unreduced") return std::optional(std::move(sharding));
      return std::optional<MeshSharding>();
    }
    if (!rest_.consume_front("devices=") || !readNumbers('[', ']', tiles_)) return wrong();
    if (rest_.consume_front("<=")) {
      if (!readNumbers('[', ']', mesh_)) return wrong();
      if (rest_.consume_front("T") && !readNumbers('(', ')', order_)) return wrong();
    } else if (!readList(devices_)) {
      return wrong();
    }
    if (!readSubgroups()) return wrong();
    // What may follow (metadata, names of groups of shardings that shall be alike) asks for
    // nothing.
    if (!rest_.starts_with("}") && !rest_.starts_with(" ")) return wrong();
    return build();
  }

 private:
  enum class Subgroup { kNone, kUnreduced };

  Status wrong() const {
    return invalidArgument("partition: '", text_.str(), "' is no sharding of ", numPartitions_,
                           " devices for an array of rank ", rank_);
  }

  bool readList(Numbers& numbers) {
    do {
      int64_t number = 0;
      if (rest_.consumeInteger(10, number) || number < 0) return false;
      numbers.push_back(number);
    } while (rest_.consume_front(","));
    return true;
  }

  bool readNumbers(char open, char close, Numbers& numbers) {
    return rest_.consume_front(llvm::StringRef(&open, 1)) && readList(numbers) &&
           rest_.consume_front(llvm::StringRef(&close, 1));
  }

  bool readSubgroups() {
    if (rest_.consume_front(" last_tile_dim_replicate")) {
      subgroups_ = {Subgroup::kNone};
    } else if (rest_.consume_front(" last_tile_dims={")) {
      do {
        rest_ = rest_.ltrim();
        if (rest_.consume_front("unreduced")) {
          subgroups_.push_back(Subgroup::kUnreduced);
        } else if (rest_.consume_front("replicated") || rest_.consume_front("manual")) {
          subgroups_.push_back(Subgroup::kNone);
        } else {
          return false;
        }
      } while (rest_.consume_front(","));
      return rest_.consume_front("}");
    }
    return true;
  }

  // Whether the numbers are sizes of axes of a mesh of all devices.
  bool isMesh(const Numbers& sizes) const {
    int64_t devices = 1;
    for (int64_t size : sizes) {
      if (size < 1 || size > numPartitions_ / devices) return false;
      devices *= size;
    }
    return devices == numPartitions_;
  }

  bool isPermutation(Numbers numbers, size_t count) const {
    llvm::sort(numbers);
    Numbers all(count);
    std::iota(all.begin(), all.end(), 0);
    return numbers == all;
  }

  StatusOr<std::optional<MeshSharding>> build() {
    if (!isMesh(tiles_) || static_cast<int64_t>(tiles_.size() - subgroups_.size()) != rank_) {
      return wrong();
    }
    // The devices in order of their tiles, as axes of the mesh of partitions, major to minor.
    std::vector<AxisPart> axes;
    if (!mesh_.empty()) {
      if (!isMesh(mesh_)) return wrong();
      if (order_.empty()) {
        order_.resize(mesh_.size());
        std::iota(order_.begin(), order_.end(), 0);
      }
      if (!isPermutation(order_, mesh_.size())) return wrong();
      const auto strides = stridesOf(mesh_);
      for (int64_t axis : order_) axes.push_back({strides[axis], mesh_[axis]});
      if (std::optional<MeshSharding> sharding = cut(axes)) return sharding;
      devices_ = listOf(axes);
    }
    if (!isPermutation(devices_, static_cast<size_t>(numPartitions_))) return wrong();
    std::optional<MeshSharding> sharding = cut({{1, numPartitions_}});
    for (auto [position, device] : llvm::enumerate(devices_)) {
      sharding->positionOf[device] = static_cast<int64_t>(position);
    }
    return sharding;
  }

  // The sharding whose dimensions take their tiles from `axes`, in order; none if a tile would take
  // a part of an axis that does not divide it.
  std::optional<MeshSharding> cut(std::vector<AxisPart> axes) const {
    MeshSharding sharding = replicatedSharding(rank_, numPartitions_);
    auto axis = axes.begin();
    for (auto [d, tile] : llvm::enumerate(tiles_)) {
      auto array = static_cast<size_t>(rank_);
      std::vector<AxisPart> ignored;
      std::vector<AxisPart>& parts =
          d < array
              ? sharding.dims[d]
              : (subgroups_[d - array] == Subgroup::kUnreduced ? sharding.unreduced : ignored);
      for (int64_t left = tile; left > 1;) {
        while (axis != axes.end() && axis->size == 1) ++axis;
        if (axis == axes.end()) return std::nullopt;
        int64_t size = std::min(left, axis->size);
        if (left % size != 0 || axis->size % size != 0) return std::nullopt;
        axis->size /= size;
        appendAxisPart(parts, {axis->stride * axis->size, size});
        left /= size;
      }
    }
    return sharding;
  }

  // The ids in the order that `axes` count them.
  Numbers listOf(const std::vector<AxisPart>& axes) const {
    Numbers ids(static_cast<size_t>(numPartitions_));
    for (auto [i, id] : llvm::enumerate(ids)) {
      auto rest = static_cast<int64_t>(i);
      for (const AxisPart& axis : llvm::reverse(axes)) {
        id += rest % axis.size * axis.stride;
        rest /= axis.size;
      }
    }
    return ids;
  }

  llvm::StringRef text_, rest_;
  int64_t rank_, numPartitions_;
  Numbers tiles_, mesh_, order_, devices_;
  std::vector<Subgroup> subgroups_;
};

}  // namespace

StatusOr<std::optional<MeshSharding>> readGspmdSharding(llvm::StringRef text, int64_t rank,
                                                        int64_t numPartitions) {
  // One device has everything, whatever is asked.
  if (numPartitions == 1) return std::optional<MeshSharding>();
  return Reader(text, rank, numPartitions).read();
}

StatusOr<std::optional<MeshSharding>> gspmdShardingOf(shlo::CustomCallOp call,
                                                      int64_t numPartitions) {
  auto text = call->getAttrOfType<mlir::StringAttr>(kGspmdSharding);
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(call->getResult(0).getType());
  if (!text || !type) return std::optional<MeshSharding>();
  auto sharding = readGspmdSharding(text.getValue(), type.getRank(), numPartitions);
  if (!sharding.ok()) return sharding.status().withContext(sourceLocation(call.getLoc()));
  return sharding;
}

StatusOr<std::optional<MeshSharding>> interfaceSharding(mlir::DictionaryAttr attributes,
                                                        mlir::Value value, int64_t numPartitions,
                                                        mlir::ModuleOp module) {
  const int64_t rank = rankOf(value);
  if (!attributes) return std::optional<MeshSharding>();
  if (auto sharding = attributes.getAs<sdy::TensorShardingAttr>(sdy::kSharding)) {
    ISTHMUS_ASSIGN_OR_RETURN(MeshSharding resolved,
                             resolveSharding(sharding, rank, numPartitions, module));
    return std::optional(std::move(resolved));
  }
  auto text = attributes.getAs<mlir::StringAttr>(kGspmdSharding);
  if (!text || !llvm::isa<mlir::RankedTensorType>(value.getType())) {
    return std::optional<MeshSharding>();
  }
  return readGspmdSharding(text.getValue(), rank, numPartitions);
}

shlo::CustomCallOp gspmdCall(mlir::Operation* op, llvm::StringRef target) {
  auto call = llvm::dyn_cast<shlo::CustomCallOp>(op);
  bool isIt = call && call.getCallTargetName() == target && op->getNumOperands() == 1 &&
              op->getNumResults() == 1;
  return isIt ? call : nullptr;
}

Status checkGspmdCalls(mlir::ModuleOp module) {
  Status status;
  module.walk([&](shlo::CustomCallOp op) {
    const bool keepsSizes = gspmdCall(op, kGspmdConstraint) || gspmdCall(op, kInspectSharding);
    if (!keepsSizes && !gspmdCall(op, kGspmdToBlocks) && !gspmdCall(op, kGspmdToWhole)) {
      return mlir::WalkResult::advance();
    }
    const mlir::Type operand = op->getOperand(0).getType(), result = op->getResult(0).getType();
    auto from = llvm::dyn_cast<mlir::RankedTensorType>(operand);
    auto to = llvm::dyn_cast<mlir::RankedTensorType>(result);
    const bool isFine =
        from && to
            ? from.getElementType() == to.getElementType() && from.getRank() == to.getRank() &&
                  (!keepsSizes ||
                   mlir::succeeded(mlir::verifyCompatibleShape(from.getShape(), to.getShape())))
            : keepsSizes && operand == result;
    if (isFine) return mlir::WalkResult::advance();
    std::string types;
    llvm::raw_string_ostream(types) << operand << " and " << result;
    status =
        invalidArgument(sourceLocation(op.getLoc()), ": partition: @", op.getCallTargetName().str(),
                        " does not give the type of its operand: got ", types);
    return mlir::WalkResult::interrupt();
  });
  return status;
}

}  // namespace isthmus
