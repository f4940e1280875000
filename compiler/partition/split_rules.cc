#include "compiler/partition/split_rules.h"

#include "compiler/dialect/dialect.h"
#include "compiler/partition/factor_rules.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

using mlir::RankedTensorType;
using Dims = llvm::ArrayRef<int64_t>;

bool hasStaticShapes(mlir::Operation* op) {
  auto isStatic = [](mlir::Type type) {
    auto ranked = llvm::dyn_cast<RankedTensorType>(type);
    return ranked && ranked.hasStaticShape();
  };
  return llvm::all_of(op->getOperandTypes(), isStatic) &&
         llvm::all_of(op->getResultTypes(), isStatic);
}

bool sharesAxis(const std::vector<AxisPart>& a, const std::vector<AxisPart>& b) {
  return llvm::any_of(a, [&](const AxisPart& left) {
    return llvm::any_of(b, [&](const AxisPart& right) { return !areIndependent(left, right); });
  });
}

bool divides(const std::vector<AxisPart>& parts, int64_t size) {
  int64_t blocks = 1;
  for (const AxisPart& part : parts) blocks *= part.size;
  return size % blocks == 0;
}

// Whether every dimension of `factor` falls into equal blocks.
bool dividesAll(const std::vector<AxisPart>& parts, int factor, mlir::ValueRange values,
                const std::vector<Factors>& factors) {
  for (auto [value, dims] : llvm::zip(values, factors)) {
    for (auto [d, dim] : llvm::enumerate(dims)) {
      if (dim == factor && !divides(parts, shapeOf(value)[d])) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<SplitRule> splitRule(mlir::Operation* op, llvm::ArrayRef<MeshSharding> held,
                                   llvm::ArrayRef<MeshSharding> wanted) {
  const MeshSharding* mesh = nullptr;
  for (llvm::ArrayRef<MeshSharding> shardings : {held, wanted}) {
    for (const MeshSharding& sharding : shardings) {
      if (!mesh && !sharding.isReplicated()) mesh = &sharding;
    }
  }
  if (!mesh || !hasStaticShapes(op)) return std::nullopt;
  std::optional<FactorRule> rule = factorRule(op);
  if (!rule) return std::nullopt;

  // The first value that splits a factor decides how; an axis splits one factor only.
  llvm::SmallDenseMap<int, std::vector<AxisPart>> parts;
  auto decide = [&](llvm::ArrayRef<MeshSharding> shardings, const std::vector<Factors>& all,
                    llvm::function_ref<bool(int)> isIn) {
    for (auto [sharding, factors] : llvm::zip(shardings, all)) {
      if (sharding.positionOf != mesh->positionOf) continue;
      for (auto [d, factor] : llvm::enumerate(factors)) {
        const std::vector<AxisPart>& split = sharding.dims[d];
        if (factor == kWhole || split.empty() || parts.count(factor) != 0 || !isIn(factor)) {
          continue;
        }
        bool isTaken = llvm::any_of(parts, [&, &split = split](const auto& other) {
          return sharesAxis(other.second, split);
        });
        auto units = rule->units.find(factor);
        if (units != rule->units.end() && !divides(split, units->second)) continue;
        if (isTaken || !dividesAll(split, factor, op->getOperands(), rule->operands) ||
            !dividesAll(split, factor, op->getResults(), rule->results)) {
          continue;
        }
        parts[factor] = split;
      }
    }
  };
  auto isSummed = [&](int factor) { return rule->summed.contains(factor); };
  auto isIndexed = [&](int factor) { return rule->indexed == factor; };
  decide(held, rule->operands, [&](int f) { return !isSummed(f) && !isIndexed(f); });
  decide(held, rule->operands, [&](int f) { return isSummed(f) && !isIndexed(f); });
  decide(held, rule->operands, isIndexed);
  decide(wanted, rule->results, [&](int f) { return !isSummed(f); });
  if (parts.empty()) return std::nullopt;

  auto shardings = [&](const std::vector<Factors>& all) {
    std::vector<MeshSharding> list;
    for (const Factors& factors : all) {
      MeshSharding sharding{mesh->numPartitions, mesh->positionOf, {}, {}};
      for (int factor : factors) sharding.dims.push_back(parts.lookup(factor));
      list.push_back(std::move(sharding));
    }
    return list;
  };
  SplitRule split{shardings(rule->operands), shardings(rule->results), {}, {}};
  if (rule->indexed && parts.count(*rule->indexed) != 0) {
    split.indexedDim = llvm::find(rule->operands[0], *rule->indexed) - rule->operands[0].begin();
  }
  auto append = [&](std::vector<AxisPart>& axes) {
    for (int factor : rule->summed) {
      for (const AxisPart& part : parts.lookup(factor)) appendAxisPart(axes, part);
    }
  };
  if (!rule->isSum) {
    append(split.combined);
    return split;
  }
  for (unsigned operand : rule->summands) append(split.operands[operand].unreduced);
  for (MeshSharding& result : split.results) append(result.unreduced);
  return split;
}

void fitToBlocks(mlir::Operation* op, const SplitRule& rule) {
  for (auto [result, sharding] : llvm::zip(op->getResults(), rule.results)) {
    auto type = llvm::cast<RankedTensorType>(result.getType());
    llvm::SmallVector<int64_t> shape(type.getShape());
    for (size_t d = 0; d < shape.size(); ++d) shape[d] /= sharding.shards(static_cast<int64_t>(d));
    result.setType(RankedTensorType::get(shape, type.getElementType()));
  }
  Dims block = shapeOf(op->getResult(0));
  if (auto slice = llvm::dyn_cast<shlo::SliceOp>(op)) {
    llvm::SmallVector<int64_t> limits(slice.getLimitIndices());
    for (size_t d = 0; d < limits.size(); ++d) {
      if (rule.results[0].shards(static_cast<int64_t>(d)) > 1) limits[d] = block[d];
    }
    slice.setLimitIndices(limits);
  } else if (auto slice = llvm::dyn_cast<shlo::DynamicSliceOp>(op)) {
    slice.setSliceSizes(block);
  } else if (auto gather = llvm::dyn_cast<shlo::GatherOp>(op)) {
    llvm::SmallVector<int64_t> sizes(gather.getSliceSizes());
    for (size_t d = 0; d < sizes.size(); ++d) {
      // One element of a dimension is one of a block too.
      if (sizes[d] > 1) sizes[d] /= rule.operands[0].shards(static_cast<int64_t>(d));
    }
    gather.setSliceSizes(sizes);
  } else if (auto convolution = llvm::dyn_cast<shlo::ConvolutionOp>(op)) {
    shlo::ConvDimensionNumbersAttr dims = convolution.getDimensionNumbers();
    // Groups are split with the features of the kernel that make them.
    int64_t shards = rule.operands[1].shards(dims.getKernelOutputFeatureDimension());
    uint64_t featureGroups = convolution.getFeatureGroupCount();
    uint64_t batchGroups = convolution.getBatchGroupCount();
    if (featureGroups > 1) convolution.setFeatureGroupCount(featureGroups / shards);
    if (batchGroups > 1) convolution.setBatchGroupCount(batchGroups / shards);
  }
}

}  // namespace isthmus
