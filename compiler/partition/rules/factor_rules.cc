#include "compiler/partition/rules/factor_rules.h"

#include <numeric>

#include "base/custom_partitioners.h"
#include "compiler/dialect/combiner.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/sdy.h"
#include "compiler/partition/split/shifts.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus {
namespace {

using mlir::RankedTensorType;
using mlir::Value;
using Dims = llvm::ArrayRef<int64_t>;

Factors wholeDims(Value value) { return Factors(rankOf(value), kWhole); }

std::optional<FactorRule> elementwiseRule(mlir::Operation* op) {
  Dims shape = shapeOf(op->getResult(0));
  FactorRule rule = wholeRule(op);
  for (int d = 0; d < static_cast<int>(shape.size()); ++d) rule.results[0][d] = d;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    // Scalars of clamp and select stay whole.
    if (shapeOf(operand) == shape) {
      rule.operands[i] = rule.results[0];
    } else if (rankOf(operand) != 0) {
      return std::nullopt;
    }
  }
  return rule;
}

FactorRule broadcastRule(shlo::BroadcastInDimOp op) {
  FactorRule rule = wholeRule(op);
  std::iota(rule.results[0].begin(), rule.results[0].end(), 0);
  for (auto [from, to] : llvm::enumerate(op.getBroadcastDimensions())) {
    if (shapeOf(op.getOperand())[from] != shapeOf(op.getResult())[to]) continue;
    rule.operands[0][from] = static_cast<int>(to);
  }
  return rule;
}

// The caller counts on from where a block begins.
FactorRule iotaRule(shlo::IotaOp op) {
  FactorRule rule = wholeRule(op);
  std::iota(rule.results[0].begin(), rule.results[0].end(), 0);
  return rule;
}

FactorRule transposeRule(shlo::TransposeOp op) {
  FactorRule rule = wholeRule(op);
  for (auto [to, from] : llvm::enumerate(op.getPermutation())) {
    rule.operands[0][from] = rule.results[0][to] = static_cast<int>(to);
  }
  return rule;
}

// Dimensions fall into groups of equal products. Cutting the major dimension of a group on both
// sides gives the same blocks, since the elements of each block follow each other.
FactorRule reshapeRule(shlo::ReshapeOp op) {
  FactorRule rule = wholeRule(op);
  Dims from = shapeOf(op.getOperand()), to = shapeOf(op.getResult());
  if (llvm::is_contained(from, 0)) return rule;
  size_t i = 0, j = 0;
  for (int factor = 0; i < from.size() && j < to.size(); ++factor) {
    while (i < from.size() && from[i] == 1) ++i;
    while (j < to.size() && to[j] == 1) ++j;
    if (i == from.size() || j == to.size()) break;
    rule.operands[0][i] = rule.results[0][j] = factor;
    int64_t left = from[i++], right = to[j++];
    while (left != right) {
      if (left < right) {
        left *= from[i++];
      } else {
        right *= to[j++];
      }
    }
  }
  return rule;
}

bool isSumFromZero(shlo::ReduceOp op) {
  return llvm::isa_and_nonnull<shlo::AddOp>(soleOperation(op->getRegion(0))) &&
         isSummable(op->getResult(0)) && isZero(op.getInitValues()[0]);
}

// Whether reductions of parts, each begun with the initial values, may be reduced again. Several
// arrays reduced together are an argmax or the like, whose initial values change nothing.
bool combinesParts(shlo::ReduceOp op) {
  if (op.getInputs().size() > 1) return true;
  mlir::Operation* reducer = soleOperation(op->getRegion(0));
  return isIdempotent(reducer) ||
         (llvm::isa_and_nonnull<shlo::MulOp>(reducer) && isOne(op.getInitValues()[0]));
}

FactorRule reduceRule(shlo::ReduceOp op) {
  FactorRule rule = wholeRule(op);
  rule.isSum = op.getInputs().size() == 1 && isSumFromZero(op);
  if (rule.isSum || combinesParts(op)) {
    auto next = static_cast<int>(rankOf(op.getInputs()[0]));
    for (int64_t d : op.getDimensions()) {
      for (size_t i = 0; i < op.getInputs().size(); ++i) rule.operands[i][d] = next;
      rule.summed.insert(next++);
    }
  }
  int kept = 0;
  for (int64_t d = 0; d < rankOf(op.getInputs()[0]); ++d) {
    if (llvm::is_contained(op.getDimensions(), d)) continue;
    for (size_t i = 0; i < op.getInputs().size(); ++i) rule.operands[i][d] = kept;
    for (Factors& factors : rule.results) factors[kept] = kept;
    ++kept;
  }
  return rule;
}

FactorRule dotRule(shlo::DotGeneralOp op) {
  FactorRule rule = wholeRule(op);
  shlo::DotDimensionNumbersAttr dims = op.getDotDimensionNumbers();
  int next = 0;
  for (auto [left, right] :
       llvm::zip(dims.getLhsBatchingDimensions(), dims.getRhsBatchingDimensions())) {
    rule.operands[0][left] = rule.operands[1][right] = rule.results[0][next] = next;
    ++next;
  }
  auto addFree = [&](int operand, Dims batching, Dims contracting) {
    for (int64_t d = 0; d < rankOf(op->getOperand(operand)); ++d) {
      if (llvm::is_contained(batching, d) || llvm::is_contained(contracting, d)) continue;
      rule.operands[operand][d] = rule.results[0][next] = next;
      ++next;
    }
  };
  addFree(0, dims.getLhsBatchingDimensions(), dims.getLhsContractingDimensions());
  addFree(1, dims.getRhsBatchingDimensions(), dims.getRhsContractingDimensions());
  if (isSummable(op.getResult())) {
    for (auto [left, right] :
         llvm::zip(dims.getLhsContractingDimensions(), dims.getRhsContractingDimensions())) {
      rule.operands[0][left] = rule.operands[1][right] = next;
      rule.summed.insert(next++);
    }
  }
  return rule;
}

// The caller moves rows to where they belong in dimensions that are split.
FactorRule concatenateRule(shlo::ConcatenateOp op) {
  FactorRule rule = alignedRule(op, 0, op->getNumOperands(), [](int) { return true; });
  rule.concatenated = static_cast<int>(op.getDimension());
  return rule;
}

// Of collectives in code for each device: what they do along other axes than those that are split,
// they do to each element, or to all but the dimensions that they cut and join.
FactorRule collectiveRule(mlir::Operation* op, llvm::ArrayRef<uint64_t> touched) {
  FactorRule rule = wholeRule(op);
  int next = 0;
  for (auto [operand, result] : llvm::zip(rule.operands, rule.results)) {
    for (size_t d = 0; d < operand.size(); ++d) {
      if (!llvm::is_contained(touched, d)) operand[d] = result[d] = next++;
    }
  }
  return rule;
}

// JAX says of a call how many leading dimensions of all its arrays are a batch.
std::optional<FactorRule> batchRule(shlo::CustomCallOp op) {
  auto hints = op->getAttrOfType<mlir::DictionaryAttr>("mhlo.frontend_attributes");
  auto text = hints ? hints.getAs<mlir::StringAttr>("num_batch_dims") : nullptr;
  int64_t numBatchDims = 0;
  if (!text || text.getValue().getAsInteger(10, numBatchDims) || op.getHasSideEffect() ||
      op->getNumOperands() == 0) {
    return std::nullopt;
  }
  Dims batch = shapeOf(op->getOperand(0)).take_front(numBatchDims);
  auto begins = [&](Value value) {
    return shapeOf(value).size() >= batch.size() &&
           shapeOf(value).take_front(batch.size()) == batch;
  };
  if (!llvm::all_of(op->getOperands(), begins) || !llvm::all_of(op->getResults(), begins)) {
    return std::nullopt;
  }
  return alignedRule(op, 0, op->getNumOperands(), [&](int d) { return d < numBatchDims; });
}

// What a call says of itself that somebody splits: others say only what they would have their
// neighbours be split like. A dimension of several factors goes with the first, the major one,
// and its blocks are made of whole ones of it. Sums along reduction factors are the call's own.
std::optional<FactorRule> saidRule(shlo::CustomCallOp op) {
  auto said = op->getAttrOfType<sdy::OpShardingRuleAttr>(sdy::kShardingRule);
  if (!said || findCustomPartitioner(op.getCallTargetName()) == nullptr ||
      said.getOperandMappings().size() != op->getNumOperands() ||
      said.getResultMappings().size() != op->getNumResults()) {
    return std::nullopt;
  }
  FactorRule rule = wholeRule(op);
  auto fill = [&](llvm::ArrayRef<sdy::TensorMappingAttr> mappings, std::vector<Factors>& all) {
    for (auto [mapping, factors] : llvm::zip(mappings, all)) {
      if (mapping.getDimMappings().size() != factors.size()) return false;
      for (auto [dim, factor] : llvm::zip(mapping.getDimMappings(), factors)) {
        if (dim.getFactorIndices().empty()) continue;
        const int64_t first = dim.getFactorIndices().front();
        if (first < 0 || first >= static_cast<int64_t>(said.getFactorSizes().size())) return false;
        if (llvm::is_contained(said.getNeedReplicationFactors(), first)) continue;
        factor = static_cast<int>(first);
        rule.units[factor] = said.getFactorSizes()[first];
      }
    }
    return true;
  };
  if (!fill(said.getOperandMappings(), rule.operands) ||
      !fill(said.getResultMappings(), rule.results)) {
    return std::nullopt;
  }
  return rule;
}

}  // namespace

llvm::ArrayRef<int64_t> shapeOf(Value value) {
  auto type = llvm::dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getShape() : Dims();
}

bool isSummable(Value value) {
  mlir::Type element = mlir::getElementTypeOrSelf(value.getType());
  return llvm::isa<mlir::FloatType, mlir::ComplexType>(element) ||
         (llvm::isa<mlir::IntegerType>(element) && !element.isInteger(1));
}

FactorRule wholeRule(mlir::Operation* op) {
  FactorRule rule;
  for (Value operand : op->getOperands()) rule.operands.push_back(wholeDims(operand));
  for (Value result : op->getResults()) rule.results.push_back(wholeDims(result));
  return rule;
}

FactorRule alignedRule(mlir::Operation* op, size_t first, size_t last,
                       llvm::function_ref<bool(int)> keeps) {
  FactorRule rule = wholeRule(op);
  auto fill = [&](Factors& factors) {
    for (int d = 0; d < static_cast<int>(factors.size()); ++d) {
      if (keeps(d)) factors[d] = d;
    }
  };
  for (size_t i = first; i < last; ++i) fill(rule.operands[i]);
  for (Factors& factors : rule.results) fill(factors);
  return rule;
}

std::optional<FactorRule> factorRule(mlir::Operation* op) {
  if (op->getNumResults() == 1 && fusionClass(op) == FusionClass::kElementwise) {
    return elementwiseRule(op);
  }
  return llvm::TypeSwitch<mlir::Operation*, std::optional<FactorRule>>(op)
      .Case([](shlo::BroadcastInDimOp op) { return broadcastRule(op); })
      .Case([](shlo::IotaOp op) { return iotaRule(op); })
      .Case([](shlo::TransposeOp op) { return transposeRule(op); })
      .Case([](shlo::ReshapeOp op) { return reshapeRule(op); })
      .Case([](shlo::ReduceOp op) { return reduceRule(op); })
      .Case([](shlo::ReduceWindowOp op) { return reduceWindowRule(op); })
      .Case([](shlo::DotGeneralOp op) { return dotRule(op); })
      .Case([](shlo::ConvolutionOp op) { return convolutionRule(op); })
      .Case([](shlo::PadOp op) { return padRule(op); })
      .Case([](shlo::ConcatenateOp op) { return concatenateRule(op); })
      .Case<shlo::AllReduceOp, shlo::CollectivePermuteOp, shlo::CollectiveBroadcastOp>(
          [](mlir::Operation* op) { return collectiveRule(op, {}); })
      .Case([](shlo::AllGatherOp op) { return collectiveRule(op, {op.getAllGatherDim()}); })
      .Case([](shlo::ReduceScatterOp op) { return collectiveRule(op, {op.getScatterDimension()}); })
      .Case([](shlo::AllToAllOp op) {
        return collectiveRule(op, {op.getSplitDimension(), op.getConcatDimension()});
      })
      // The caller exchanges the blocks of reversed dimensions.
      .Case([](shlo::ReverseOp op) { return alignedRule(op, 0, 1, [](int) { return true; }); })
      .Case([](shlo::SliceOp op) { return sliceRule(op); })
      .Case([](shlo::DynamicSliceOp op) { return dynamicSliceRule(op); })
      .Case([](shlo::DynamicUpdateSliceOp op) { return dynamicUpdateSliceRule(op); })
      .Case([](shlo::GatherOp op) { return gatherRule(op); })
      .Case([](shlo::ScatterOp op) { return scatterRule(op); })
      .Case([](shlo::SortOp op) {
        int64_t rank = rankOf(op->getOperand(0)), along = op.getDimension();
        if (along < 0) along += rank;
        return alignedRule(op, 0, op->getNumOperands(), [&](int d) { return d != along; });
      })
      .Case([](shlo::SelectAndScatterOp op) { return selectAndScatterRule(op); })
      .Case([](shlo::FftOp op) { return fftRule(op); })
      .Case<shlo::CholeskyOp, shlo::TriangularSolveOp>([](mlir::Operation* op) {
        int64_t batch = rankOf(op->getResult(0)) - 2;
        return alignedRule(op, 0, op->getNumOperands(), [&](int d) { return d < batch; });
      })
      .Case([](shlo::CustomCallOp op) -> std::optional<FactorRule> {
        // The caller exchanges halos.
        if (shiftOf(op)) return alignedRule(op, 0, 1, [](int) { return true; });
        if (std::optional<FactorRule> said = saidRule(op)) return said;
        return batchRule(op);
      })
      .Default([](mlir::Operation*) { return std::nullopt; });
}

bool allowsPadding(mlir::Operation* op, const FactorRule& rule, int factor) {
  if (rule.units.count(factor) != 0) return false;
  if (rule.summed.contains(factor) && !rule.indexed.contains(factor) &&
      !llvm::isa<shlo::ReduceOp, shlo::DotGeneralOp, shlo::ConvolutionOp>(op)) {
    // Zeros are added anywhere, unless somebody relies on where.
    auto scatter = llvm::dyn_cast<shlo::ScatterOp>(op);
    if (!scatter || rule.summands.empty() || scatter.getUniqueIndices() ||
        scatter.getIndicesAreSorted()) {
      return false;
    }
  }
  bool isKnown =
      (op->getNumResults() == 1 && fusionClass(op) == FusionClass::kElementwise) ||
      llvm::isa<shlo::BroadcastInDimOp, shlo::IotaOp, shlo::TransposeOp, shlo::ReshapeOp,
                shlo::ReduceOp, shlo::ReduceWindowOp, shlo::DotGeneralOp, shlo::ConvolutionOp,
                shlo::PadOp, shlo::ConcatenateOp, shlo::SliceOp, shlo::DynamicSliceOp,
                shlo::DynamicUpdateSliceOp, shlo::GatherOp, shlo::ScatterOp, shlo::SortOp,
                shlo::FftOp, shlo::CholeskyOp, shlo::TriangularSolveOp, shlo::SelectAndScatterOp>(
          op);
  if (auto reverse = llvm::dyn_cast<shlo::ReverseOp>(op)) {
    isKnown = !llvm::is_contained(reverse.getDimensions(), factor);
  } else if (shiftOf(op)) {
    isKnown = true;
  }
  if (!isKnown) return false;
  if (rule.concatenated == factor) return true;
  // Blocks of dimensions of other sizes would have other padding; halos are asked for row by row.
  auto hasHalo = [&](size_t operand, size_t d) {
    return llvm::any_of(rule.halos, [&](const Halo& halo) {
      return halo.operand == operand && halo.dim == static_cast<int64_t>(d);
    });
  };
  std::optional<int64_t> size;
  auto isAlike = [&](Value value, const Factors& factors,
                     llvm::function_ref<bool(size_t)> isExempt) {
    for (auto [d, dim] : llvm::enumerate(factors)) {
      if (dim != factor || isExempt(d)) continue;
      if (size && *size != shapeOf(value)[d]) return false;
      size = shapeOf(value)[d];
    }
    return true;
  };
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (!isAlike(operand, rule.operands[i], [&, i = i](size_t d) { return hasHalo(i, d); })) {
      return false;
    }
  }
  for (auto [result, factors] : llvm::zip(op->getResults(), rule.results)) {
    if (!isAlike(result, factors, [](size_t) { return false; })) return false;
  }
  return true;
}

}  // namespace isthmus
