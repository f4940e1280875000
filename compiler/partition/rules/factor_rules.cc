#include "compiler/partition/rules/factor_rules.h"

#include <numeric>
#include <type_traits>

#include "base/custom_partitioners.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/facts/indexing.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/sdy.h"
#include "compiler/partition/split/shifts.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus {
namespace {

using mlir::RankedTensorType;
using mlir::Value;
using Dims = llvm::ArrayRef<int64_t>;

Factors wholeDims(Value value) { return Factors(rankOf(value), kWhole); }

// The dimensions of operands that symbols stand for alone are factors too if blocks of them give
// parts of the result.
FactorRule ruleOfMaps(mlir::Operation* op, bool hasParts) {
  FactorRule rule = wholeRule(op);
  const IndexingMaps maps = indexingMaps(op);
  const auto rank = static_cast<int>(rankOf(op->getResult(0)));
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    if (!maps.operands[i].map) continue;
    for (int64_t d = 0; d < rankOf(op->getOperand(i)); ++d) {
      std::optional<DimIndex> index = maps.index(i, d);
      if (!index) continue;
      if (index->dim) {
        const auto factor = static_cast<int>(*index->dim);
        rule.operands[i][d] = factor;
        for (Factors& factors : rule.results) factors[factor] = factor;
      } else if (hasParts && index->terms.size() == 1 &&
                 index->terms[0].kind == SymbolKind::kReduced) {
        rule.operands[i][d] = rank + static_cast<int>(index->terms[0].symbol);
        rule.summed.insert(rule.operands[i][d]);
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
  return isNeutral(soleOperation(op->getRegion(0)), op.getInitValues()[0]);
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

FactorRule mappedRule(mlir::Operation* op) { return ruleOfMaps(op, false); }

// Rows that no operand has are made by each device for itself, which counts on from where its block
// begins.
FactorRule spreadRule(mlir::Operation* op) {
  FactorRule rule = mappedRule(op);
  std::iota(rule.results[0].begin(), rule.results[0].end(), 0);
  return rule;
}

FactorRule movedRule(mlir::Operation* op) {
  FactorRule rule = mappedRule(op);
  const IndexingMaps maps = indexingMaps(op);
  for (int64_t d = 0; d < rankOf(op->getOperand(0)); ++d) {
    std::optional<DimIndex> index = maps.index(0, d);
    if (!index || !index->dim) continue;
    const int64_t size = shapeOf(op->getResult(0))[*index->dim];
    if (index->offset == 0 && index->divisor == 1 && size == shapeOf(op->getOperand(0))[d]) {
      continue;
    }
    rule.halos.push_back({.dim = d,
                          .factor = static_cast<int>(*index->dim),
                          .size = size,
                          .stride = index->stride,
                          .low = -index->offset,
                          .baseDilation = index->divisor});
  }
  return rule;
}

// Cutting the major dimension of a group on both sides gives the same blocks, since the elements of
// each block follow each other.
FactorRule reshapeRule(shlo::ReshapeOp op) {
  FactorRule rule = wholeRule(op);
  Dims from = shapeOf(op.getOperand()), to = shapeOf(op.getResult());
  ReshapeGroups groups = reshapeGroups(from, to);
  auto majorOf = [](Dims shape, ReshapeGroups::Range range) {
    int64_t d = range.first;
    while (d < range.second && shape[d] == 1) ++d;
    return d;
  };
  for (auto [factor, fromGroup] : llvm::enumerate(groups.from)) {
    const ReshapeGroups::Range toGroup = groups.to[factor];
    const int64_t i = majorOf(from, fromGroup), j = majorOf(to, toGroup);
    if (i == fromGroup.second || j == toGroup.second) continue;
    rule.operands[0][i] = rule.results[0][j] = static_cast<int>(factor);
  }
  return rule;
}

FactorRule reduceRule(shlo::ReduceOp op) {
  const bool isSum = op.getInputs().size() == 1 && isSumFromZero(op);
  FactorRule rule = ruleOfMaps(op, isSum || combinesParts(op));
  rule.isSum = isSum;
  return rule;
}

FactorRule dotRule(shlo::DotGeneralOp op) { return ruleOfMaps(op, isSummable(op.getResult())); }

// The caller moves rows to where they belong in dimensions that are split.
FactorRule concatenateRule(shlo::ConcatenateOp op) {
  FactorRule rule = mappedRule(op);
  rule.concatenated = static_cast<int>(op.getDimension());
  return rule;
}

// Of collectives in code for each device: what they do along other axes than those that are split,
// they do to each element, or to all but the dimensions that they cut and join.
FactorRule collectiveRule(mlir::Operation* op) {
  llvm::SmallVector<uint64_t, 2> touched;
  if (auto gather = llvm::dyn_cast<shlo::AllGatherOp>(op)) {
    touched = {gather.getAllGatherDim()};
  } else if (auto scatter = llvm::dyn_cast<shlo::ReduceScatterOp>(op)) {
    touched = {scatter.getScatterDimension()};
  } else if (auto exchange = llvm::dyn_cast<shlo::AllToAllOp>(op)) {
    touched = {exchange.getSplitDimension(), exchange.getConcatDimension()};
  }
  FactorRule rule = wholeRule(op);
  int next = 0;
  for (auto [operand, result] : llvm::zip(rule.operands, rule.results)) {
    for (size_t d = 0; d < operand.size(); ++d) {
      if (!llvm::is_contained(touched, d)) operand[d] = result[d] = next++;
    }
  }
  return rule;
}

std::optional<FactorRule> customCallRule(shlo::CustomCallOp op) {
  // The caller exchanges the borders of blocks.
  if (shiftOf(op)) return alignedRule(op, 0, 1, [](int) { return true; });
  if (std::optional<FactorRule> said = saidRule(op)) return said;
  return batchRule(op);
}

namespace {

// A rule as the op table names it: rule<padRule>.
using Rule = std::optional<FactorRule> (*)(mlir::Operation*);
template <typename Result, typename Op>
std::optional<FactorRule> apply(Result (*rule)(Op), mlir::Operation* op) {
  if constexpr (std::is_same_v<Op, mlir::Operation*>) {
    return rule(op);
  } else {
    return rule(llvm::cast<Op>(op));
  }
}
template <auto kRule>
std::optional<FactorRule> rule(mlir::Operation* op) {
  return apply(kRule, op);
}

struct ShardingEntry {
  const char* name;
  Rule rule;
};

#define GET_ChloShardings_IMPL
#define GET_StablehloShardings_IMPL
#include "ops/shardings.inc"

using Table = llvm::StringMap<Rule>;

Table makeTable() {
  Table table;
  for (const ShardingEntry& entry : StablehloShardings) {
    table[std::string("stablehlo.") + entry.name] = entry.rule;
  }
  for (const ShardingEntry& entry : ChloShardings) {
    table[std::string("chlo.") + entry.name] = entry.rule;
  }
  return table;
}

}  // namespace

std::optional<FactorRule> factorRule(mlir::Operation* op) {
  static const Table& table = *new Table(makeTable());
  auto it = table.find(op->getName().getStringRef());
  if (it == table.end() || !it->second) return std::nullopt;
  return it->second(op);
}

bool sumsUpFactors(mlir::Operation* op) {
  return llvm::isa<shlo::ReduceOp>(op) || isContraction(op);
}

bool allowsPadding(mlir::Operation* op, const FactorRule& rule, int factor) {
  if (rule.units.count(factor) != 0) return false;
  if (rule.summed.contains(factor) && !rule.indexed.contains(factor) && !sumsUpFactors(op)) {
    // Zeros are added anywhere, unless somebody relies on where.
    auto scatter = llvm::dyn_cast<shlo::ScatterOp>(op);
    if (!scatter || rule.partialSums.empty() || scatter.getUniqueIndices() ||
        scatter.getIndicesAreSorted()) {
      return false;
    }
  }
  // What collectives and calls make of rows is not told by maps.
  bool isKnown = hasIndexingMaps(op);
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
