#include "compiler/partition/split/first_rows.h"

#include "compiler/dialect/types/array_shape.h"
#include "compiler/partition/rules/factor_rules.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

using mlir::RankedTensorType;
using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;

// 0 if `user` is anything but a slice of the first rows of `d`.
int64_t rowsTakenBy(mlir::Operation* user, int64_t d) {
  auto slice = llvm::dyn_cast<shlo::SliceOp>(user);
  if (!slice) return 0;
  for (int64_t i = 0; i < rankOf(slice.getOperand()); ++i) {
    bool isWhole = i == d || slice.getLimitIndices()[i] == shapeOf(slice.getOperand())[i];
    if (slice.getStartIndices()[i] != 0 || slice.getStrides()[i] != 1 || !isWhole) return 0;
  }
  return slice.getLimitIndices()[d];
}

int64_t rowsTaken(shlo::SortOp op) {
  int64_t most = 0;
  for (mlir::Operation* user : op->getUsers()) {
    const int64_t rows = rowsTakenBy(user, op.getDimension());
    if (rows == 0) return 0;
    most = std::max(most, rows);
  }
  return most;
}

// Whether each device has its block of `value` without communication.
bool isLocal(Value value, const MeshSharding& current, const MeshSharding& sharding) {
  return current.isReplicated() || current.hasSameBlocks(sharding) ||
         value.getDefiningOp<shlo::IotaOp>();
}

}  // namespace

std::optional<FirstRows> firstRowsOf(shlo::SortOp op,
                                     llvm::ArrayRef<MeshSharding> operandShardings) {
  const int64_t d = op.getDimension();
  auto type = llvm::dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  if (!type || !type.hasStaticShape()) return std::nullopt;
  auto split =
      llvm::find_if(operandShardings, [&](const MeshSharding& one) { return one.shards(d) > 1; });
  FirstRows rows{rowsTaken(op), {}};
  if (split == operandShardings.end() || rows.count == 0) return std::nullopt;
  rows.sharding = *split;
  const int64_t shards = split->shards(d), size = type.getDimSize(d);
  if (size % shards != 0 ||
      !llvm::all_of(llvm::zip(op->getOperands(), operandShardings), [&](auto pair) {
        return isLocal(std::get<0>(pair), std::get<1>(pair), rows.sharding);
      })) {
    return std::nullopt;
  }
  // Else the dimension is gathered, or exchanged for one that divides.
  bool hasOther = false;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    hasOther |= i != d && type.getDimSize(i) % shards == 0;
  }
  const int64_t otherwise = size / shards * (shards - 1) / (hasOther ? shards : 1);
  const int64_t moved = rows.count * (shards - 1) * static_cast<int64_t>(op->getNumOperands());
  return moved < otherwise ? std::optional(std::move(rows)) : std::nullopt;
}

mlir::ResultRange sortFirstRows(shlo::SortOp op, const FirstRows& rows, mlir::OpBuilder& builder,
                                SpmdBuilder& spmd) {
  const int64_t d = op.getDimension();
  llvm::SmallVector<Value> gathered;
  for (Value block : op->getResults()) {
    Dims limits(tensorTypeOf(block).getShape()), starts(limits.size()), strides(limits.size(), 1);
    limits[d] = rows.count;
    Value first = shlo::SliceOp::create(builder, op.getLoc(), block, starts, limits, strides);
    gathered.push_back(spmd.gather(first, rows.sharding, d, rows.sharding.dims[d], op.getLoc()));
  }
  mlir::Operation* all = builder.clone(*op);
  all->setOperands(gathered);
  for (auto [result, operand] : llvm::zip(all->getResults(), gathered)) {
    result.setType(operand.getType());
  }
  return all->getResults();
}

}  // namespace isthmus
