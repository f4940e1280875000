// The shape of a kernel's loops: which dimensions join, where lanes run, where loops are cut.
#include "compiler/schedule/loop/iteration.h"

#include <algorithm>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/indexing.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/loop/reduction_axes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus {
namespace {

// Visits (value, dimension) pairs upwards, each once.
struct Seen {
  llvm::DenseSet<std::pair<mlir::Value, int64_t>> pairs;
  bool insert(mlir::Value value, int64_t d) { return pairs.insert({value, d}).second; }
};

unsigned numberOf(mlir::Value value) { return mlir::cast<mlir::OpResult>(value).getResultNumber(); }

// Whether the code generator's index arithmetic for `op` (compiler/codegen/access) leaves pairs of
// dimensions together that no map takes apart.
bool leavesTogether(mlir::Operation* op) {
  return isElementwise(op) ||
         mlir::isa<shlo::ConstantOp, shlo::OptimizationBarrierOp, shlo::BroadcastInDimOp,
                   shlo::TransposeOp, shlo::SliceOp, shlo::DynamicSliceOp, shlo::ConcatenateOp,
                   shlo::ReduceOp>(op);
}

bool mergeable(mlir::Value value, int64_t d, Seen& seen);

bool reshapeMerges(shlo::ReshapeOp op, int64_t d, Seen& seen) {
  mlir::Value operand = op.getOperand();
  ReshapeGroups groups =
      reshapeGroups(tensorTypeOf(operand).getShape(), tensorTypeOf(op.getResult()).getShape());
  if (groups.to.empty()) return false;
  // The operand's group is run over by one index in any case.
  for (int64_t e : {d, d + 1}) {
    auto [begin, end] = groups.from[groups.toGroup[e]];
    for (int64_t k = begin; k + 1 < end; ++k) {
      if (!mergeable(operand, k, seen)) return false;
    }
  }
  int64_t group = groups.toGroup[d];
  if (group == groups.toGroup[d + 1]) return true;
  return mergeable(operand, groups.from[group].second - 1, seen);
}

// Whether operand `i`, if it depends on dimensions `d` and `d + 1` of the result at all, has them
// side by side too: a part of the outer one and all of the inner one.
bool operandMerges(const IndexingMaps& maps, mlir::Value value, unsigned i, int64_t d, Seen& seen) {
  mlir::Value operand = value.getDefiningOp()->getOperand(i);
  auto result = tensorTypeOf(value);
  std::optional<int64_t> outer, inner;
  for (int64_t k = 0; k < rankOf(operand); ++k) {
    std::optional<DimIndex> index = maps.index(i, k);
    if (!index) return false;
    const int64_t size = tensorTypeOf(operand).getDimSize(k);
    if (index->dim == d) {
      if (index->stride != 1 || !index->isInside(result.getDimSize(d), size)) return false;
      outer = k;
    } else if (index->dim == d + 1) {
      if (size != result.getDimSize(d + 1)) return false;
      inner = k;
    }
  }
  if (!outer && !inner) return true;
  return outer && inner == *outer + 1 && mergeable(operand, *outer, seen);
}

bool mergeable(mlir::Value value, int64_t d, Seen& seen) {
  if (!seen.insert(value, d)) return true;
  mlir::Operation* op = value.getDefiningOp();
  if (!op) return true;
  if (auto iota = mlir::dyn_cast<shlo::IotaOp>(op)) {
    const int64_t dim = iota.getIotaDimension();
    return dim != d && dim != d + 1;
  }
  if (auto reshape = mlir::dyn_cast<shlo::ReshapeOp>(op)) return reshapeMerges(reshape, d, seen);
  if (!leavesTogether(op)) return false;
  if (isElementwise(op)) {
    return llvm::all_of(op->getOperands(), [&](mlir::Value operand) {
      return rankOf(operand) == 0 || mergeable(operand, d, seen);
    });
  }
  IndexingMaps maps = indexingMaps(op, numberOf(value));
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    if (maps.operands[i].map && !operandMerges(maps, value, i, d, seen)) return false;
  }
  return true;
}

// The innermost dimension of the range, but for sizes of 1.
int64_t innermostOf(mlir::RankedTensorType type, ReshapeGroups::Range range) {
  int64_t d = range.second - 1;
  while (d > range.first && type.getDimSize(d) == 1) --d;
  return d;
}

// Calls `visit` for each reduction whose result differs along dimension `d` of `value`, until one
// says that it is found. Where it says no, what the reduction reads is looked at too.
using Visit = llvm::function_ref<bool(shlo::ReduceOp)>;
bool findReduction(mlir::Value value, int64_t d, Visit visit, Seen& seen) {
  if (d < 0 || !seen.insert(value, d)) return false;
  mlir::Operation* op = value.getDefiningOp();
  if (!op) return false;
  if (isElementwise(op)) {
    return llvm::any_of(op->getOperands(), [&](mlir::Value operand) {
      return rankOf(operand) > d && findReduction(operand, d, visit, seen);
    });
  }
  if (auto reduce = mlir::dyn_cast<shlo::ReduceOp>(op); reduce && visit(reduce)) return true;
  if (auto reshape = mlir::dyn_cast<shlo::ReshapeOp>(op)) {
    // Of dimensions that are split or joined, lanes are neighbours along the innermost.
    auto from = tensorTypeOf(reshape.getOperand());
    ReshapeGroups groups = reshapeGroups(from.getShape(), tensorTypeOf(value).getShape());
    return !groups.to.empty() &&
           findReduction(reshape.getOperand(), innermostOf(from, groups.from[groups.toGroup[d]]),
                         visit, seen);
  }
  IndexingMaps maps = indexingMaps(op, numberOf(value));
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    if (!maps.operands[i].map) continue;
    mlir::Value operand = op->getOperand(i);
    for (int64_t k = 0; k < rankOf(operand); ++k) {
      if (maps.varies(i, k, d) && findReduction(operand, k, visit, seen)) return true;
    }
  }
  return false;
}

// A dimension of an array, and how far behind the loop's index it is read: an array that is read
// with several offsets, as by differences, is cut at several places.
using SeenOffsets = llvm::DenseSet<std::tuple<mlir::Value, int64_t, int64_t>>;

// `offset`: the loop variable plus it is the index along `d` of `value`.
void collectCuts(mlir::Value value, int64_t d, int64_t offset, SeenOffsets& seen,
                 llvm::SmallVectorImpl<int64_t>& cuts) {
  constexpr size_t kMaxSeen = 1024;
  if (cuts.size() > kMaxCuts || seen.size() > kMaxSeen || !seen.insert({value, d, offset}).second) {
    return;
  }
  mlir::Operation* op = value.getDefiningOp();
  if (!op) return;
  if (isElementwise(op)) {
    for (mlir::Value operand : op->getOperands()) {
      if (rankOf(operand) > d) collectCuts(operand, d, offset, seen, cuts);
    }
    return;
  }
  const int64_t places = tensorTypeOf(value).getDimSize(d);
  auto cut = [&](int64_t at) {
    if (at <= 0 || at >= places || llvm::is_contained(cuts, at - offset)) return;
    cuts.push_back(at - offset);
  };
  IndexingMaps maps = indexingMaps(op, numberOf(value));
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    if (!maps.operands[i].map) continue;
    mlir::Value operand = op->getOperand(i);
    for (int64_t k = 0; k < rankOf(operand); ++k) {
      std::optional<DimIndex> index = maps.index(i, k);
      if (!index || index->dim != d || index->stride < 1 || index->divisor != 1 ||
          llvm::any_of(
              index->terms,
              [](const DimIndex::Term& term) {
                return term.kind != SymbolKind::kReduced || term.coefficient < 0;
              })) {
        continue;
      }
      // Where what is read begins and ceases to lie wholly inside.
      const int64_t low = -index->offset;
      const int64_t room = tensorTypeOf(operand).getDimSize(k) - 1 + low - index->reach();
      if (low > 0) cut((low + index->stride - 1) / index->stride);
      if (room >= 0) cut(room / index->stride + 1);
      if (index->isShift()) collectCuts(operand, k, offset + index->offset, seen, cuts);
    }
  }
}

// The dimensions of operand `i` by those of the loop, of which `origin` says where the dimensions
// of `value` come from; -1 where there is none. Nothing if not all of what is read is an element at
// an index that the result's alone decides.
using Origins = llvm::SmallVector<int64_t, 6>;
std::optional<Origins> originsOf(const IndexingMaps& maps, mlir::Value value, unsigned i,
                                 const Origins& origin) {
  mlir::Value operand = value.getDefiningOp()->getOperand(i);
  Origins dims;
  for (int64_t k = 0; k < rankOf(operand); ++k) {
    std::optional<DimIndex> index = maps.index(i, k);
    const int64_t places = index && index->dim ? tensorTypeOf(value).getDimSize(*index->dim) : 1;
    if (!index || !index->terms.empty() || index->divisor != 1 ||
        !index->isInside(places, tensorTypeOf(operand).getDimSize(k))) {
      return std::nullopt;
    }
    dims.push_back(index->isShift() ? origin[*index->dim] : -1);
  }
  return dims;
}

// Of a reshape: the innermost dimensions of equal groups correspond.
std::optional<Origins> reshapedOrigins(shlo::ReshapeOp op, const Origins& origin) {
  auto from = tensorTypeOf(op.getOperand()), to = tensorTypeOf(op.getResult());
  ReshapeGroups groups = reshapeGroups(from.getShape(), to.getShape());
  if (groups.to.empty()) return std::nullopt;
  Origins dims(from.getRank(), -1);
  for (auto [fromGroup, toGroup] : llvm::zip(groups.from, groups.to)) {
    if (toGroup.first == toGroup.second || fromGroup.first == fromGroup.second) continue;
    const int64_t a = innermostOf(from, fromGroup), b = innermostOf(to, toGroup);
    // Only where they are the same dimension: then steps along one are steps along the other.
    dims[a] = from.getDimSize(a) == to.getDimSize(b) ? origin[b] : -1;
  }
  return dims;
}

void findTransposed(mlir::Value value, const Origins& origin, int64_t lanesDim,
                    llvm::DenseSet<mlir::Value>& seen, int64_t* found) {
  if (*found >= 0 || !seen.insert(value).second) return;
  auto type = tensorTypeOf(value);
  mlir::Operation* op = value.getDefiningOp();
  if (!op) {
    for (int64_t d = type.getRank() - 1; d >= 0; --d) {
      if (type.getDimSize(d) == 1) continue;
      if (origin[d] >= 0 && origin[d] != lanesDim && llvm::is_contained(origin, lanesDim)) {
        *found = origin[d];
      }
      return;
    }
    return;
  }
  if (isElementwise(op)) {
    for (mlir::Value operand : op->getOperands()) {
      if (rankOf(operand) == type.getRank()) {
        findTransposed(operand, origin, lanesDim, seen, found);
      }
    }
    return;
  }
  auto walk = [&](mlir::Value operand, const std::optional<Origins>& dims) {
    if (dims && !dims->empty()) findTransposed(operand, *dims, lanesDim, seen, found);
  };
  if (auto reshape = mlir::dyn_cast<shlo::ReshapeOp>(op)) {
    walk(reshape.getOperand(), reshapedOrigins(reshape, origin));
    return;
  }
  IndexingMaps maps = indexingMaps(op, numberOf(value));
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    if (maps.operands[i].map) walk(op->getOperand(i), originsOf(maps, value, i, origin));
  }
}

}  // namespace

int64_t transposedDim(mlir::Value value, int64_t lanesDim) {
  Origins origin;
  for (int64_t d = 0; d < tensorTypeOf(value).getRank(); ++d) origin.push_back(d);
  llvm::DenseSet<mlir::Value> seen;
  int64_t found = -1;
  findTransposed(value, origin, lanesDim, seen, &found);
  return found;
}

bool canMerge(mlir::Value value, unsigned d) {
  Seen seen;
  return mergeable(value, d, seen);
}

bool lanesMeetRowReduction(mlir::Value value, int64_t dim, int64_t shortRow) {
  Seen seen;
  auto isRow = [&](shlo::ReduceOp reduce) {
    auto type = tensorTypeOf(reduce.getInputs()[0]);
    int64_t innermost = type.getRank() - 1;
    while (innermost >= 0 && type.getDimSize(innermost) == 1) --innermost;
    if (innermost < 0 || !llvm::is_contained(reduce.getDimensions(), innermost)) return false;
    const ReducedAxes axes = reducedAxesOf(reduce);
    // Of several rows the lanes are folded once.
    constexpr int64_t kManyRows = 4;
    const int64_t size = axes.axes.back().size;
    int64_t rows = 1;
    for (const ReducedAxis& axis : llvm::drop_end(axes.axes)) rows *= axis.size;
    const bool fillsVectors = reduce.getInputs().size() == 1 && llvm::isPowerOf2_64(size);
    return size > shortRow || (size == shortRow && fillsVectors) ||
           (2 * size >= shortRow && rows >= kManyRows);
  };
  return findReduction(value, dim, isRow, seen);
}

void reductionsAlong(mlir::Value value, int64_t dim, llvm::DenseSet<mlir::Operation*>& reductions) {
  Seen seen;
  auto note = [&](shlo::ReduceOp reduce) {
    reductions.insert(reduce);
    return false;
  };
  findReduction(value, dim, note, seen);
}

bool isElementwise(mlir::Operation* op) {
  return fusionClass(op) == FusionClass::kElementwise && !mlir::isa<shlo::BitcastConvertOp>(op);
}

llvm::SmallVector<int64_t, 4> cutsAlong(mlir::Value value, int64_t dim, size_t most) {
  SeenOffsets seen;
  llvm::SmallVector<int64_t, 4> cuts;
  collectCuts(value, dim, 0, seen, cuts);
  int64_t size = tensorTypeOf(value).getDimSize(dim);
  llvm::erase_if(cuts, [&](int64_t cut) { return cut <= 0 || cut >= size; });
  llvm::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  if (cuts.size() > most) cuts.clear();
  return cuts;
}

}  // namespace isthmus
