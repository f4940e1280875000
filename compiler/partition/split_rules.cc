#include "compiler/partition/split_rules.h"

#include <numeric>

#include "compiler/dialect/combiner.h"
#include "compiler/dialect/dialect.h"
#include "compiler/fusion/op_traits.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus {
namespace {

using mlir::RankedTensorType;
using mlir::Value;
using Dims = llvm::ArrayRef<int64_t>;

// Each dimension of operands and results belongs to a factor of the iteration space, or is whole:
// every device needs all of it. Dimensions of one factor are cut alike, and a block of the results
// depends on the same block of the operands alone.
constexpr int kWhole = -1;
using Factors = std::vector<int>;

struct FactorRule {
  std::vector<Factors> operands;
  std::vector<Factors> results;
  // Factors of operands alone: what blocks give is a part of the results, to be summed, or
  // else to be combined by the operation's reducer.
  llvm::SmallDenseSet<int> summed;
  bool isSum = true;
  // Operands that go into the sum as they are: each device needs a summand.
  std::vector<unsigned> summands;
};

Dims shapeOf(Value value) {
  auto type = llvm::dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getShape() : Dims();
}

Factors wholeDims(Value value) { return Factors(rankOf(value), kWhole); }

// Every operand and result whole; rules fill in what can be split.
FactorRule wholeRule(mlir::Operation* op) {
  FactorRule rule;
  for (Value operand : op->getOperands()) rule.operands.push_back(wholeDims(operand));
  for (Value result : op->getResults()) rule.results.push_back(wholeDims(result));
  return rule;
}

// Dimension d of all operands from `first` to `last` and of all results is a factor, if `keeps(d)`.
template <typename Keeps>
FactorRule alignedRule(mlir::Operation* op, size_t first, size_t last, Keeps keeps) {
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

// Summands of numbers may be made on their own; a truth value's are not truth values.
bool isSummable(Value value) {
  mlir::Type element = mlir::getElementTypeOrSelf(value.getType());
  return llvm::isa<mlir::FloatType, mlir::ComplexType>(element) ||
         (llvm::isa<mlir::IntegerType>(element) && !element.isInteger(1));
}

bool isSumFromZero(shlo::ReduceOp op) {
  return llvm::isa_and_nonnull<shlo::AddOp>(soleOperation(op->getRegion(0))) &&
         isSummable(op->getResult(0)) &&
         (mlir::matchPattern(op.getInitValues()[0], mlir::m_Zero()) ||
          mlir::matchPattern(op.getInitValues()[0], mlir::m_AnyZeroFloat()));
}

// These may see an initial value as often as they like.
bool isIdempotent(mlir::Operation* reducer) {
  return llvm::isa_and_nonnull<shlo::MaxOp, shlo::MinOp, shlo::AndOp, shlo::OrOp>(reducer);
}

FactorRule reduceRule(shlo::ReduceOp op) {
  FactorRule rule = wholeRule(op);
  rule.isSum = op.getInputs().size() == 1 && isSumFromZero(op);
  if (rule.isSum || (op.getInputs().size() == 1 && isIdempotent(soleOperation(op->getRegion(0))))) {
    auto next = static_cast<int>(rankOf(op.getInputs()[0]));
    for (int64_t d : op.getDimensions()) {
      rule.operands[0][d] = next;
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

FactorRule reduceWindowRule(shlo::ReduceWindowOp op) {
  auto isOne = [](const auto& sizes, int d) { return !sizes || (*sizes)[d] == 1; };
  auto keeps = [&](int d) {
    if (op.getPadding()) {
      auto padding = op.getPadding()->getValues<int64_t>();
      if (padding[2 * d] != 0 || padding[2 * d + 1] != 0) return false;
    }
    return op.getWindowDimensions()[d] == 1 && isOne(op.getWindowStrides(), d) &&
           isOne(op.getBaseDilations(), d) && isOne(op.getWindowDilations(), d);
  };
  return alignedRule(op, 0, op.getInputs().size(), keeps);
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

FactorRule convolutionRule(shlo::ConvolutionOp op) {
  FactorRule rule = wholeRule(op);
  if (op.getBatchGroupCount() != 1) return rule;
  shlo::ConvDimensionNumbersAttr dims = op.getDimensionNumbers();
  rule.operands[0][dims.getInputBatchDimension()] = 0;
  rule.results[0][dims.getOutputBatchDimension()] = 0;
  return rule;
}

FactorRule padRule(shlo::PadOp op) {
  return alignedRule(op, 0, 1, [&](int d) {
    return op.getEdgePaddingLow()[d] == 0 && op.getEdgePaddingHigh()[d] == 0 &&
           op.getInteriorPadding()[d] == 0;
  });
}

// Dimensions that `op` takes whole from an operand of the result's rank are not touched by it.
FactorRule sliceRule(mlir::Operation* op, size_t numOperands) {
  return alignedRule(op, 0, numOperands, [&](int d) {
    for (size_t i = 0; i < numOperands; ++i) {
      if (shapeOf(op->getOperand(i))[d] != shapeOf(op->getResult(0))[d]) return false;
    }
    return true;
  });
}

// Window dimensions as long as the operand's are not touched: the only index inside bounds is zero.
FactorRule gatherRule(shlo::GatherOp op) {
  FactorRule rule = wholeRule(op);
  shlo::GatherDimensionNumbersAttr dims = op.getDimensionNumbers();
  size_t window = 0;
  for (int64_t d = 0; d < rankOf(op.getOperand()); ++d) {
    if (llvm::is_contained(dims.getCollapsedSliceDims(), d) ||
        llvm::is_contained(dims.getOperandBatchingDims(), d)) {
      continue;
    }
    int64_t to = dims.getOffsetDims()[window++];
    if (op.getSliceSizes()[d] != shapeOf(op.getOperand())[d]) continue;
    rule.operands[0][d] = rule.results[0][to] = static_cast<int>(to);
  }
  // Each index makes its own part of the result.
  int64_t from = 0;
  for (int64_t to = 0; to < rankOf(op.getResult()); ++to) {
    if (llvm::is_contained(dims.getOffsetDims(), to)) continue;
    if (from == dims.getIndexVectorDim()) ++from;
    if (!llvm::is_contained(dims.getStartIndicesBatchingDims(), from)) {
      rule.operands[1][from] = rule.results[0][to] = static_cast<int>(to);
    }
    ++from;
  }
  return rule;
}

FactorRule scatterRule(shlo::ScatterOp op) {
  FactorRule rule = wholeRule(op);
  shlo::ScatterDimensionNumbersAttr dims = op.getScatterDimensionNumbers();
  size_t numInputs = op.getInputs().size(), window = 0;
  for (int d = 0; d < rankOf(op.getInputs()[0]); ++d) {
    if (llvm::is_contained(dims.getInsertedWindowDims(), d) ||
        llvm::is_contained(dims.getInputBatchingDims(), d)) {
      continue;
    }
    int64_t from = dims.getUpdateWindowDims()[window++];
    if (shapeOf(op.getInputs()[0])[d] != shapeOf(op.getUpdates()[0])[from]) continue;
    for (size_t i = 0; i < numInputs; ++i) {
      rule.operands[i][d] = d;
      rule.operands[numInputs + 1 + i][from] = d;
      rule.results[i][d] = d;
    }
  }
  bool isSum = llvm::isa_and_nonnull<shlo::AddOp>(soleOperation(op->getRegion(0)));
  if (numInputs != 1 || !isSum || !isSummable(op->getResult(0))) return rule;
  // Each device adds what it has of the updates.
  rule.summands = {0};
  int64_t from = 0;
  auto next = static_cast<int>(rankOf(op.getInputs()[0]));
  for (int64_t d = 0; d < rankOf(op.getUpdates()[0]); ++d) {
    if (llvm::is_contained(dims.getUpdateWindowDims(), d)) continue;
    if (from == dims.getIndexVectorDim()) ++from;
    if (!llvm::is_contained(dims.getScatterIndicesBatchingDims(), from)) {
      rule.operands[1][from] = rule.operands[2][d] = next;
      rule.summed.insert(next++);
    }
    ++from;
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
      .Case([](shlo::ConcatenateOp op) {
        return alignedRule(op, 0, op->getNumOperands(),
                           [&](int d) { return d != static_cast<int>(op.getDimension()); });
      })
      // The caller exchanges the blocks of reversed dimensions.
      .Case([](shlo::ReverseOp op) { return alignedRule(op, 0, 1, [](int) { return true; }); })
      .Case([](shlo::SliceOp op) { return sliceRule(op, 1); })
      .Case([](shlo::DynamicSliceOp op) { return sliceRule(op, 1); })
      .Case([](shlo::DynamicUpdateSliceOp op) { return sliceRule(op, 2); })
      .Case([](shlo::GatherOp op) { return gatherRule(op); })
      .Case([](shlo::ScatterOp op) { return scatterRule(op); })
      .Case([](shlo::SortOp op) {
        int64_t rank = rankOf(op->getOperand(0)), along = op.getDimension();
        if (along < 0) along += rank;
        return alignedRule(op, 0, op->getNumOperands(), [&](int d) { return d != along; });
      })
      .Case([](shlo::CustomCallOp op) { return batchRule(op); })
      .Default([](mlir::Operation*) { return std::nullopt; });
}

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
                    bool isSummed) {
    for (auto [sharding, factors] : llvm::zip(shardings, all)) {
      if (sharding.positionOf != mesh->positionOf) continue;
      for (auto [d, factor] : llvm::enumerate(factors)) {
        const std::vector<AxisPart>& split = sharding.dims[d];
        if (factor == kWhole || split.empty() || parts.count(factor) != 0 ||
            rule->summed.contains(factor) != isSummed) {
          continue;
        }
        bool isTaken = llvm::any_of(parts, [&, &split = split](const auto& other) {
          return sharesAxis(other.second, split);
        });
        if (isTaken || !dividesAll(split, factor, op->getOperands(), rule->operands) ||
            !dividesAll(split, factor, op->getResults(), rule->results)) {
          continue;
        }
        parts[factor] = split;
      }
    }
  };
  decide(held, rule->operands, /*isSummed=*/false);
  decide(held, rule->operands, /*isSummed=*/true);
  decide(wanted, rule->results, /*isSummed=*/false);
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
  SplitRule split{shardings(rule->operands), shardings(rule->results), {}};
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
      sizes[d] /= rule.operands[0].shards(static_cast<int64_t>(d));
    }
    gather.setSliceSizes(sizes);
  }
}

}  // namespace isthmus
