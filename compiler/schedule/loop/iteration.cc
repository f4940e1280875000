// The shape of a kernel's loops: which dimensions join, where lanes run, where loops are cut.
#include "compiler/schedule/loop/iteration.h"

#include <algorithm>

#include "compiler/dialect/array_shape.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/indexing.h"
#include "compiler/dialect/facts/op_facts.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

namespace isthmus {
namespace {

// Visits (value, dimension) pairs upwards, each once.
struct Seen {
  llvm::DenseSet<std::pair<mlir::Value, int64_t>> pairs;
  bool insert(mlir::Value value, int64_t d) { return pairs.insert({value, d}).second; }
};

bool mergeable(mlir::Value value, int64_t d, Seen& seen) {
  if (!seen.insert(value, d)) return true;
  mlir::Operation* op = value.getDefiningOp();
  if (!op) return true;
  if (isElementwise(op)) {
    return llvm::all_of(op->getOperands(), [&](mlir::Value operand) {
      return tensorTypeOf(operand).getRank() == 0 || mergeable(operand, d, seen);
    });
  }
  auto result = tensorTypeOf(value);
  return llvm::TypeSwitch<mlir::Operation*, bool>(op)
      .Case([&](shlo::ConstantOp) { return true; })
      .Case([&](shlo::IotaOp iota) {
        int64_t dim = iota.getIotaDimension();
        return dim != d && dim != d + 1;
      })
      .Case([&](shlo::OptimizationBarrierOp barrier) {
        return mergeable(op->getOperand(mlir::cast<mlir::OpResult>(value).getResultNumber()), d,
                         seen);
      })
      .Case([&](shlo::BroadcastInDimOp broadcast) {
        auto from = tensorTypeOf(op->getOperand(0));
        llvm::ArrayRef<int64_t> dims = broadcast.getBroadcastDimensions();
        int64_t outer = -1, inner = -1;
        for (int64_t k = 0; k < from.getRank(); ++k) {
          if (from.getDimSize(k) != result.getDimSize(dims[k])) continue;
          if (dims[k] == d) outer = k;
          if (dims[k] == d + 1) inner = k;
        }
        if (outer < 0 && inner < 0) return true;
        return outer >= 0 && inner == outer + 1 && mergeable(op->getOperand(0), outer, seen);
      })
      .Case([&](shlo::TransposeOp transpose) {
        llvm::ArrayRef<int64_t> permutation = transpose.getPermutation();
        return permutation[d + 1] == permutation[d] + 1 &&
               mergeable(op->getOperand(0), permutation[d], seen);
      })
      .Case([&](shlo::ReshapeOp) {
        auto from = tensorTypeOf(op->getOperand(0));
        ReshapeGroups groups = reshapeGroups(from.getShape(), result.getShape());
        if (groups.to.empty()) return false;
        // The operand's group is run over by one index in any case.
        for (int64_t e : {d, d + 1}) {
          auto [begin, end] = groups.from[groups.toGroup[e]];
          for (int64_t k = begin; k + 1 < end; ++k) {
            if (!mergeable(op->getOperand(0), k, seen)) return false;
          }
        }
        int64_t group = groups.toGroup[d];
        if (group == groups.toGroup[d + 1]) return true;
        return mergeable(op->getOperand(0), groups.from[group].second - 1, seen);
      })
      .Case([&](shlo::SliceOp slice) {
        auto from = tensorTypeOf(op->getOperand(0));
        return from.getDimSize(d + 1) == result.getDimSize(d + 1) && slice.getStrides()[d] == 1 &&
               mergeable(op->getOperand(0), d, seen);
      })
      .Case([&](shlo::DynamicSliceOp) {
        auto from = tensorTypeOf(op->getOperand(0));
        return from.getDimSize(d + 1) == result.getDimSize(d + 1) &&
               mergeable(op->getOperand(0), d, seen);
      })
      .Case([&](shlo::ConcatenateOp concatenate) {
        int64_t dim = concatenate.getDimension();
        return dim != d && dim != d + 1 &&
               llvm::all_of(op->getOperands(),
                            [&](mlir::Value operand) { return mergeable(operand, d, seen); });
      })
      .Case([&](shlo::ReduceOp reduce) {
        int64_t rank = tensorTypeOf(reduce.getInputs()[0]).getRank();
        llvm::SmallVector<int64_t> kept;
        for (int64_t k = 0; k < rank; ++k) {
          if (!llvm::is_contained(reduce.getDimensions(), k)) kept.push_back(k);
        }
        return kept[d + 1] == kept[d] + 1 &&
               llvm::all_of(reduce.getInputs(),
                            [&](mlir::Value input) { return mergeable(input, kept[d], seen); });
      })
      .Default([](mlir::Operation*) { return false; });
}

// Calls `visit` for each reduction whose result differs along dimension `d` of `value`, until one
// says that it is found. Where it says no, what the reduction reads is looked at too.
using Visit = llvm::function_ref<bool(shlo::ReduceOp)>;
bool findReduction(mlir::Value value, int64_t d, Visit visit, Seen& seen) {
  if (d < 0 || !seen.insert(value, d)) return false;
  mlir::Operation* op = value.getDefiningOp();
  if (!op) return false;
  auto anyOperand = [&](int64_t dim) {
    return llvm::any_of(op->getOperands(), [&](mlir::Value operand) {
      return tensorTypeOf(operand).getRank() > dim && findReduction(operand, dim, visit, seen);
    });
  };
  if (isElementwise(op)) return anyOperand(d);
  return llvm::TypeSwitch<mlir::Operation*, bool>(op)
      .Case([&](shlo::ReduceOp reduce) {
        auto type = tensorTypeOf(reduce.getInputs()[0]);
        if (visit(reduce)) return true;
        int64_t kept = -1, next = 0;
        for (int64_t k = 0; k < type.getRank(); ++k) {
          if (!llvm::is_contained(reduce.getDimensions(), k) && next++ == d) kept = k;
        }
        return llvm::any_of(reduce.getInputs(), [&](mlir::Value input) {
          return findReduction(input, kept, visit, seen);
        });
      })
      .Case([&](shlo::BroadcastInDimOp broadcast) {
        auto dims = broadcast.getBroadcastDimensions();
        auto it = llvm::find(dims, d);
        if (it == dims.end()) return false;
        int64_t k = it - dims.begin();
        if (tensorTypeOf(op->getOperand(0)).getDimSize(k) == 1) return false;
        return findReduction(op->getOperand(0), k, visit, seen);
      })
      .Case([&](shlo::TransposeOp transpose) {
        return findReduction(op->getOperand(0), transpose.getPermutation()[d], visit, seen);
      })
      .Case([&](shlo::ReshapeOp) {
        auto from = tensorTypeOf(op->getOperand(0));
        ReshapeGroups groups = reshapeGroups(from.getShape(), tensorTypeOf(value).getShape());
        if (groups.to.empty()) return false;
        int64_t k = groups.from[groups.toGroup[d]].second - 1;
        while (k > 0 && from.getDimSize(k) == 1) --k;
        return findReduction(op->getOperand(0), k, visit, seen);
      })
      .Default([&](mlir::Operation*) {
        for (mlir::Value operand : op->getOperands()) {
          auto type = mlir::dyn_cast<mlir::RankedTensorType>(operand.getType());
          if (type && type.getRank() == tensorTypeOf(value).getRank() &&
              findReduction(operand, d, visit, seen)) {
            return true;
          }
        }
        return false;
      });
}

// `offset`: the loop variable plus it is the index along `d` of `value`.
void collectCuts(mlir::Value value, int64_t d, int64_t offset, Seen& seen,
                 llvm::SmallVectorImpl<int64_t>& cuts) {
  if (d < 0 || !seen.insert(value, d) || cuts.size() > 16) return;
  mlir::Operation* op = value.getDefiningOp();
  if (!op) return;
  auto cut = [&](int64_t at) { cuts.push_back(at - offset); };
  if (isElementwise(op)) {
    for (mlir::Value operand : op->getOperands()) {
      if (tensorTypeOf(operand).getRank() > d) collectCuts(operand, d, offset, seen, cuts);
    }
    return;
  }
  llvm::TypeSwitch<mlir::Operation*>(op)
      .Case([&](shlo::PadOp pad) {
        int64_t low = pad.getEdgePaddingLow()[d];
        if (pad.getInteriorPadding()[d] != 0) return;
        int64_t size = tensorTypeOf(op->getOperand(0)).getDimSize(d);
        cut(low);
        cut(low + size);
        collectCuts(op->getOperand(0), d, offset - low, seen, cuts);
      })
      .Case([&](shlo::ReduceWindowOp reduce) {
        // Where windows begin and cease to lie wholly inside.
        int64_t size = tensorTypeOf(op->getOperand(0)).getDimSize(d);
        int64_t stride = reduce.getWindowStrides() ? (*reduce.getWindowStrides())[d] : 1;
        int64_t spread = reduce.getWindowDilations() ? (*reduce.getWindowDilations())[d] : 1;
        int64_t low = 0;
        if (auto padding = reduce.getPadding()) {
          low = padding->getValues<int64_t>()[{static_cast<uint64_t>(d), 0}];
        }
        if (reduce.getBaseDilations() && (*reduce.getBaseDilations())[d] != 1) return;
        int64_t reach = (reduce.getWindowDimensions()[d] - 1) * spread;
        int64_t room = size - 1 + low - reach;
        if (low > 0) cut((low + stride - 1) / stride);
        if (room >= 0) cut(room / stride + 1);
      })
      .Case([&](shlo::ConcatenateOp concatenate) {
        int64_t begin = 0;
        for (mlir::Value operand : op->getOperands()) {
          if (static_cast<int64_t>(concatenate.getDimension()) == d) {
            if (begin > 0) cut(begin);
            collectCuts(operand, d, offset - begin, seen, cuts);
            begin += tensorTypeOf(operand).getDimSize(d);
          } else {
            collectCuts(operand, d, offset, seen, cuts);
          }
        }
      })
      .Case([&](shlo::SliceOp slice) {
        if (slice.getStrides()[d] != 1) return;
        collectCuts(op->getOperand(0), d, offset + slice.getStartIndices()[d], seen, cuts);
      })
      .Case([&](shlo::BroadcastInDimOp broadcast) {
        auto dims = broadcast.getBroadcastDimensions();
        auto it = llvm::find(dims, d);
        if (it == dims.end()) return;
        int64_t k = it - dims.begin();
        if (tensorTypeOf(op->getOperand(0)).getDimSize(k) == 1) return;
        collectCuts(op->getOperand(0), k, offset, seen, cuts);
      })
      .Case([&](shlo::TransposeOp transpose) {
        collectCuts(op->getOperand(0), transpose.getPermutation()[d], offset, seen, cuts);
      })
      .Case([&](shlo::ReshapeOp) {
        auto from = tensorTypeOf(op->getOperand(0));
        auto to = tensorTypeOf(value);
        ReshapeGroups groups = reshapeGroups(from.getShape(), to.getShape());
        if (groups.to.empty()) return;
        auto [begin, end] = groups.from[groups.toGroup[d]];
        auto [toBegin, toEnd] = groups.to[groups.toGroup[d]];
        // Only where the dimension passes through as it is, but for sizes of 1.
        for (int64_t k = begin; k < end; ++k) {
          if (from.getDimSize(k) == to.getDimSize(d) && to.getDimSize(d) > 1) {
            int64_t others = 1;
            for (int64_t e = toBegin; e < toEnd; ++e) others *= e == d ? 1 : to.getDimSize(e);
            if (others == 1) collectCuts(op->getOperand(0), k, offset, seen, cuts);
            return;
          }
        }
      })
      .Case([&](shlo::ReduceOp reduce) {
        auto type = tensorTypeOf(reduce.getInputs()[0]);
        int64_t next = 0;
        for (int64_t k = 0; k < type.getRank(); ++k) {
          if (llvm::is_contained(reduce.getDimensions(), k)) continue;
          if (next++ == d) {
            for (mlir::Value input : reduce.getInputs()) collectCuts(input, k, offset, seen, cuts);
            return;
          }
        }
      });
}

}  // namespace

static void findTransposed(mlir::Value value, llvm::SmallVector<int64_t, 6> origin,
                           int64_t lanesDim, llvm::DenseSet<mlir::Value>& seen, int64_t* found) {
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
  auto walk = [&](mlir::Value operand, llvm::SmallVector<int64_t, 6> dims) {
    findTransposed(operand, std::move(dims), lanesDim, seen, found);
  };
  if (isElementwise(op)) {
    for (mlir::Value operand : op->getOperands()) {
      if (tensorTypeOf(operand).getRank() == type.getRank()) walk(operand, origin);
    }
    return;
  }
  llvm::TypeSwitch<mlir::Operation*>(op)
      .Case([&](shlo::TransposeOp transpose) {
        llvm::SmallVector<int64_t, 6> dims(origin.size());
        for (size_t d = 0; d < origin.size(); ++d) dims[transpose.getPermutation()[d]] = origin[d];
        walk(op->getOperand(0), dims);
      })
      .Case([&](shlo::BroadcastInDimOp broadcast) {
        llvm::SmallVector<int64_t, 6> dims;
        for (int64_t d : broadcast.getBroadcastDimensions()) dims.push_back(origin[d]);
        walk(op->getOperand(0), dims);
      })
      .Case([&](shlo::SliceOp slice) {
        llvm::SmallVector<int64_t, 6> dims = origin;
        for (size_t d = 0; d < dims.size(); ++d) {
          if (slice.getStrides()[d] != 1) dims[d] = -1;
        }
        walk(op->getOperand(0), dims);
      })
      .Case([&](shlo::ReshapeOp) {
        auto from = tensorTypeOf(op->getOperand(0));
        ReshapeGroups groups = reshapeGroups(from.getShape(), type.getShape());
        if (groups.to.empty()) return;
        // The innermost dimensions of equal groups correspond.
        llvm::SmallVector<int64_t, 6> dims(from.getRank(), -1);
        for (size_t g = 0; g < groups.to.size(); ++g) {
          auto inner = [](mlir::RankedTensorType t, std::pair<int64_t, int64_t> range) {
            int64_t d = range.second - 1;
            while (d > range.first && t.getDimSize(d) == 1) --d;
            return d;
          };
          if (groups.to[g].first == groups.to[g].second ||
              groups.from[g].first == groups.from[g].second) {
            continue;
          }
          int64_t a = inner(from, groups.from[g]);
          int64_t b = inner(type, groups.to[g]);
          // Only where they are the same dimension: then steps along one are steps along the other.
          dims[a] = from.getDimSize(a) == type.getDimSize(b) ? origin[b] : -1;
        }
        walk(op->getOperand(0), dims);
      });
}

int64_t transposedDim(mlir::Value value, int64_t lanesDim) {
  llvm::SmallVector<int64_t, 6> origin;
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
    return innermost >= 0 && llvm::is_contained(reduce.getDimensions(), innermost) &&
           type.getDimSize(innermost) > shortRow;
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

llvm::SmallVector<int64_t, 4> cutsAlong(mlir::Value value, int64_t dim) {
  Seen seen;
  llvm::SmallVector<int64_t, 4> cuts;
  collectCuts(value, dim, 0, seen, cuts);
  int64_t size = tensorTypeOf(value).getDimSize(dim);
  llvm::erase_if(cuts, [&](int64_t cut) { return cut <= 0 || cut >= size; });
  llvm::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  // Beyond a few, the code grows too much; lanes then decide for themselves.
  if (cuts.size() > 6) cuts.clear();
  return cuts;
}

}  // namespace isthmus
