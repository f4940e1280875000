#include "compiler/partition/split_rules.h"

#include "compiler/dialect/dialect.h"
#include "compiler/partition/factor_rules.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

using mlir::RankedTensorType;
using mlir::Value;
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

int64_t blocksOf(const std::vector<AxisPart>& parts) {
  int64_t blocks = 1;
  for (const AxisPart& part : parts) blocks *= part.size;
  return blocks;
}

bool divides(const std::vector<AxisPart>& parts, int64_t size) {
  return size % blocksOf(parts) == 0;
}

// Joins as few neighbouring blocks as can be.
void coarsen(std::vector<AxisPart>& parts) {
  AxisPart& last = parts.back();
  int64_t prime = 2;
  while (last.size % prime != 0) ++prime;
  last = {last.stride * prime, last.size / prime};
  if (last.size == 1) parts.pop_back();
}

// Towards minus infinity.
int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// The rows that each of `shards` blocks is computed from; nothing if they do not lie alike among
// the holes between rows.
std::optional<HaloRows> haloRows(const Halo& halo, int64_t shards) {
  const int64_t size = halo.size / shards, step = size * halo.stride, holes = halo.baseDilation;
  const int64_t extent = (size - 1) * halo.stride + halo.span;
  if (step % holes != 0 || size == 0) return std::nullopt;
  HaloRows rows{halo.operand, halo.dim, {}, 0, 0};
  for (int64_t b = 0; b < shards; ++b) {
    rows.request.starts.push_back(floorDivide(b * step - halo.low + holes - 1, holes));
  }
  const int64_t first = rows.request.starts.front();
  rows.request.count = floorDivide(extent - 1 - halo.low, holes) - first + 1;
  if (rows.request.count <= 0) return std::nullopt;
  rows.low = first * holes + halo.low;
  rows.high = extent - ((rows.request.count - 1) * holes + 1) - rows.low;
  return rows;
}

// More rounds than this take longer than a gather of everything.
constexpr size_t kMaxRounds = 12;
// Plans for more blocks take long to make.
constexpr int64_t kMaxBlocks = 256;

bool isLess(const RowRounds& rounds, llvm::ArrayRef<RowSource> sources, int64_t shards) {
  int64_t gathered = 0;
  for (const RowSource& source : sources) gathered += source.rows / shards * (shards - 1);
  return rounds.size() <= kMaxRounds && rowsSent(rounds) < gathered;
}

// A few rows of a split dimension cost less to sum than all of them to gather.
bool isFew(int64_t rows, int64_t of) { return 4 * rows <= of; }

// Whether all of the operand of a slice is gathered for another slice of it along dimension `d`.
bool isGatheredAnyway(shlo::SliceOp op, int64_t d, int64_t shards) {
  return llvm::any_of(op.getOperand().getUsers(), [&](mlir::Operation* user) {
    auto other = llvm::dyn_cast<shlo::SliceOp>(user);
    if (!other || other == op) return false;
    const int64_t rows = shapeOf(other.getResult())[d];
    return rows % shards != 0 && !isFew(rows, shapeOf(op.getOperand())[d]);
  });
}

// Whether it costs less to send the rows that blocks of `factor` need than to gather all.
bool isWorthSending(mlir::Operation* op, const FactorRule& rule, int factor, int64_t shards) {
  const bool isConcatenated = rule.concatenated == factor;
  if (!isConcatenated &&
      llvm::none_of(rule.halos, [&](const Halo& halo) { return halo.factor == factor; })) {
    return true;
  }
  if (shards > kMaxBlocks) return false;
  if (auto slice = llvm::dyn_cast<shlo::SliceOp>(op);
      slice && isGatheredAnyway(slice, factor, shards)) {
    return false;
  }
  if (isConcatenated) {
    std::vector<RowSource> sources = concatenatedSources(op, factor);
    return isLess(planRows(sources, concatenationRequest(op, factor, shards)), sources, shards);
  }
  return llvm::all_of(rule.halos, [&](const Halo& halo) {
    if (halo.factor != factor) return true;
    std::optional<HaloRows> rows = haloRows(halo, shards);
    RowSource source{shapeOf(op->getOperand(halo.operand))[halo.dim], 0};
    return rows && isLess(planRows(source, rows->request), source, shards);
  });
}

// A dimension of a slice's operand that remains split although its result is not.
std::optional<HaloRows> placedRows(shlo::SliceOp op, const MeshSharding& held,
                                   const SplitRule& split) {
  if (!isSummable(op.getResult()) || held.positionOf != split.operands[0].positionOf) {
    return std::nullopt;
  }
  for (int64_t d = 0; d < rankOf(op.getOperand()); ++d) {
    const int64_t rows = shapeOf(op.getResult())[d];
    bool isFree =
        split.operands[0].dims[d].empty() && llvm::all_of(held.dims[d], [&](const AxisPart& part) {
          return split.operands[0].isUnused(part);
        });
    if (rows == 0 || held.dims[d].empty() || !isFree || held.shards(d) > kMaxBlocks ||
        !isFew(rows, shapeOf(op.getOperand())[d]) || isGatheredAnyway(op, d, held.shards(d))) {
      continue;
    }
    HaloRows placed{0, d, {}, 0, 0, /*isPlaced=*/true};
    placed.request.starts.assign(held.shards(d), op.getStartIndices()[d]);
    placed.request.count = (rows - 1) * op.getStrides()[d] + 1;
    return placed;
  }
  return std::nullopt;
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

// `values` with those of dimension `d` replaced.
llvm::SmallVector<int64_t> with(Dims values, int64_t d, int64_t value) {
  llvm::SmallVector<int64_t> changed(values);
  changed[d] = value;
  return changed;
}

// Padding as pairs of low and high.
mlir::DenseIntElementsAttr withPadding(std::optional<mlir::DenseIntElementsAttr> padding,
                                       int64_t numDims, int64_t d, const HaloRows& rows,
                                       mlir::MLIRContext* context) {
  llvm::SmallVector<int64_t> values(2 * numDims);
  if (padding) llvm::copy(padding->getValues<int64_t>(), values.begin());
  values[2 * d] = rows.low;
  values[2 * d + 1] = rows.high;
  auto type = RankedTensorType::get({numDims, 2}, mlir::IntegerType::get(context, 64));
  return mlir::DenseIntElementsAttr::get(type, llvm::ArrayRef<int64_t>(values));
}

// Tells a copy of an operation that its operands have the halos: what is outside the array is among
// them.
void fitToHalos(mlir::Operation* op, llvm::ArrayRef<HaloRows> halos) {
  for (const HaloRows& rows : halos) {
    const int64_t d = rows.dim;
    if (auto slice = llvm::dyn_cast<shlo::SliceOp>(op)) {
      slice.setStartIndices(with(slice.getStartIndices(), d, 0));
      slice.setLimitIndices(with(slice.getLimitIndices(), d, rows.request.count));
    } else if (auto pad = llvm::dyn_cast<shlo::PadOp>(op)) {
      pad.setEdgePaddingLow(with(pad.getEdgePaddingLow(), d, rows.low));
      pad.setEdgePaddingHigh(with(pad.getEdgePaddingHigh(), d, rows.high));
    } else if (auto window = llvm::dyn_cast<shlo::ReduceWindowOp>(op)) {
      window.setPaddingAttr(
          withPadding(window.getPadding(), rankOf(op->getResult(0)), d, rows, op->getContext()));
    } else if (auto convolution = llvm::dyn_cast<shlo::ConvolutionOp>(op)) {
      Dims spatial = convolution.getDimensionNumbers().getInputSpatialDimensions();
      convolution.setPaddingAttr(
          withPadding(convolution.getPadding(), static_cast<int64_t>(spatial.size()),
                      llvm::find(spatial, d) - spatial.begin(), rows, op->getContext()));
    }
  }
}

}  // namespace

RowRequest concatenationRequest(mlir::Operation* op, int64_t d, int64_t shards) {
  RowRequest request;
  request.count = shapeOf(op->getResult(0))[d] / shards;
  for (int64_t b = 0; b < shards; ++b) request.starts.push_back(b * request.count);
  return request;
}

std::vector<RowSource> concatenatedSources(mlir::Operation* op, int64_t d) {
  std::vector<RowSource> sources;
  int64_t end = 0;
  for (Value operand : op->getOperands()) {
    sources.push_back({shapeOf(operand)[d], end});
    end += shapeOf(operand)[d];
  }
  return sources;
}

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

  // Whether `split` cuts everything of the factor into equal blocks, and it pays.
  auto canSplit = [&](const std::vector<AxisPart>& split, int factor) {
    auto units = rule->units.find(factor);
    return (units == rule->units.end() || divides(split, units->second)) &&
           dividesAll(split, factor, op->getOperands(), rule->operands) &&
           dividesAll(split, factor, op->getResults(), rule->results) &&
           isWorthSending(op, *rule, factor, blocksOf(split));
  };
  // The first value that splits a factor decides how; an axis splits one factor only.
  llvm::SmallDenseMap<int, std::vector<AxisPart>> parts;
  auto decide = [&](llvm::ArrayRef<MeshSharding> shardings, const std::vector<Factors>& all,
                    llvm::function_ref<bool(int)> isIn) {
    for (auto [sharding, factors] : llvm::zip(shardings, all)) {
      if (sharding.positionOf != mesh->positionOf) continue;
      for (auto [d, factor] : llvm::enumerate(factors)) {
        std::vector<AxisPart> split = sharding.dims[d];
        if (factor == kWhole || split.empty() || parts.count(factor) != 0 || !isIn(factor)) {
          continue;
        }
        bool isTaken =
            llvm::any_of(parts, [&](const auto& other) { return sharesAxis(other.second, split); });
        if (isTaken) continue;
        // Fewer, larger blocks may do.
        while (!split.empty() && !canSplit(split, factor)) coarsen(split);
        if (!split.empty()) parts[factor] = std::move(split);
      }
    }
  };
  auto isSummed = [&](int factor) { return rule->summed.contains(factor); };
  auto isIndexed = [&](int factor) { return rule->indexed == factor; };
  decide(held, rule->operands, [&](int f) { return !isSummed(f) && !isIndexed(f); });
  decide(held, rule->operands, [&](int f) { return isSummed(f) && !isIndexed(f); });
  decide(held, rule->operands, isIndexed);
  // Rows that every device has are not to be sent.
  auto isSent = [&](int factor) {
    return rule->concatenated == factor ||
           llvm::any_of(rule->halos, [&](const Halo& halo) { return halo.factor == factor; });
  };
  decide(wanted, rule->results, [&](int f) { return !isSummed(f) && !isSent(f); });
  auto slice = llvm::dyn_cast<shlo::SliceOp>(op);
  if (parts.empty() && !slice) return std::nullopt;

  auto shardings = [&](const std::vector<Factors>& all) {
    std::vector<MeshSharding> list;
    for (const Factors& factors : all) {
      MeshSharding sharding{mesh->numPartitions, mesh->positionOf, {}, {}};
      for (int factor : factors) sharding.dims.push_back(parts.lookup(factor));
      list.push_back(std::move(sharding));
    }
    return list;
  };
  SplitRule split;
  split.operands = shardings(rule->operands);
  split.results = shardings(rule->results);
  for (const Halo& halo : rule->halos) {
    if (parts.count(halo.factor) == 0) continue;
    split.halos.push_back(*haloRows(halo, blocksOf(parts[halo.factor])));
  }
  if (slice) {
    if (std::optional<HaloRows> placed = placedRows(slice, held[0], split)) {
      split.operands[0].dims[placed->dim] = held[0].dims[placed->dim];
      split.results[0].unreduced = held[0].dims[placed->dim];
      split.halos.push_back(std::move(*placed));
    }
    if (parts.empty() && split.halos.empty()) return std::nullopt;
  }
  if (rule->concatenated && parts.count(*rule->concatenated) != 0) {
    split.concatenatedDim = *rule->concatenated;
  }
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
  fitToHalos(op, rule.halos);
  Dims block = shapeOf(op->getResult(0));
  if (auto slice = llvm::dyn_cast<shlo::SliceOp>(op)) {
    llvm::SmallVector<int64_t> limits(slice.getLimitIndices());
    for (size_t d = 0; d < limits.size(); ++d) {
      bool hasHalo = llvm::any_of(
          rule.halos, [&](const HaloRows& rows) { return rows.dim == static_cast<int64_t>(d); });
      if (!hasHalo && rule.results[0].shards(static_cast<int64_t>(d)) > 1) limits[d] = block[d];
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
