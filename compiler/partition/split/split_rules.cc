#include "compiler/partition/split/split_rules.h"

#include <limits>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/partition/rules/factor_rules.h"
#include "compiler/partition/rules/reshape_rule.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus {
namespace {

using mlir::RankedTensorType;
using mlir::Value;
using Dims = llvm::ArrayRef<int64_t>;

bool sharesAxis(const std::vector<AxisPart>& a, const std::vector<AxisPart>& b) {
  return llvm::any_of(a, [&](const AxisPart& left) {
    return llvm::any_of(b, [&](const AxisPart& right) { return !areIndependent(left, right); });
  });
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

// The windows that touch each of `shards` blocks, or their rows: as many for each block.
HaloRows scatteredRows(const Halo& halo, int64_t shards) {
  const int64_t rows = blockRows(halo.size, shards);
  HaloRows needed{halo.operand, halo.dim, {}, 0, 0};
  for (int64_t b = 0; b < shards; ++b) {
    const int64_t first = llvm::divideFloorSigned(b * rows - halo.scatterWindow, halo.stride) + 1;
    const int64_t last = llvm::divideFloorSigned((b + 1) * rows - 1, halo.stride);
    needed.request.starts.push_back(halo.isOfWindows ? first : first * halo.stride);
    needed.request.count = std::max(needed.request.count, last - first + 1);
  }
  if (!halo.isOfWindows) {
    needed.request.count = (needed.request.count - 1) * halo.stride + halo.scatterWindow;
  }
  return needed;
}

// The rows that each of `shards` blocks is computed from; nothing if they do not lie alike among
// the holes between rows.
std::optional<HaloRows> haloRows(const Halo& halo, int64_t shards) {
  if (halo.scatterWindow != 0) return scatteredRows(halo, shards);
  const int64_t size = blockRows(halo.size, shards), step = size * halo.stride,
                holes = halo.baseDilation;
  const int64_t extent = (size - 1) * halo.stride + halo.span;
  if (step % holes != 0 || size == 0) return std::nullopt;
  HaloRows rows{halo.operand, halo.dim, {}, 0, 0};
  for (int64_t b = 0; b < shards; ++b) {
    rows.request.starts.push_back(llvm::divideFloorSigned(b * step - halo.low + holes - 1, holes));
  }
  const int64_t first = rows.request.starts.front();
  rows.request.count = llvm::divideFloorSigned(extent - 1 - halo.low, holes) - first + 1;
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
  for (const RowSource& source : sources) {
    if (!source.isWhole) gathered += blockRows(source.rows, shards) * (shards - 1);
  }
  return rounds.size() <= kMaxRounds && rowsSent(rounds) < gathered;
}

// How the operands of a concatenation are to be split along `d`: those that all devices have stay
// whole, and so do those of few rows.
std::vector<MeshSharding> concatenatedSplits(mlir::Operation* op, int64_t d,
                                             llvm::ArrayRef<MeshSharding> operandShardings,
                                             const std::vector<AxisPart>& split) {
  std::vector<MeshSharding> splits(operandShardings.begin(), operandShardings.end());
  for (auto [operand, sharding] : llvm::zip(op->getOperands(), splits)) {
    const bool isWhole = sharding.canAlsoSplit(d, split);
    sharding.dims[d].clear();
    if (!isWhole && isMostlyRows(shapeOf(operand)[d], blocksOf(split))) sharding.dims[d] = split;
  }
  return splits;
}

// Whether `op` takes so few rows of dimension `d` that they had better be summed.
bool isFewRows(mlir::Operation* op, int64_t d) {
  auto slice = llvm::dyn_cast<shlo::SliceOp>(op);
  return slice && isFew(shapeOf(slice.getResult())[d], shapeOf(slice.getOperand())[d]);
}

// Whether it costs less to send the rows that blocks of `factor` need than to gather all.
bool isWorthSending(mlir::Operation* op, const FactorRule& rule, int factor,
                    const std::vector<AxisPart>& split,
                    llvm::ArrayRef<MeshSharding> operandShardings, bool mayMove) {
  const int64_t shards = blocksOf(split);
  auto hasBlocks = [&, d = size_t(0)](int64_t size) mutable {
    return static_cast<int>(d++) != factor && size % shards == 0;
  };
  const bool hasOther = mayMove && llvm::any_of(shapeOf(op->getResult(0)), hasBlocks);
  const bool isConcatenated = rule.concatenated == factor;
  if (!isConcatenated &&
      llvm::none_of(rule.halos, [&](const Halo& halo) { return halo.factor == factor; })) {
    return true;
  }
  if (shards > kMaxBlocks) return false;
  if (isFewRows(op, factor) && shapeOf(op->getResult(0))[factor] % shards != 0) return false;
  if (isConcatenated) {
    std::vector<RowSource> sources =
        concatenatedSources(op, factor, concatenatedSplits(op, factor, operandShardings, split));
    RowRounds rounds = planRows(sources, concatenationRequest(op, factor, shards));
    if (!isLess(rounds, sources, shards)) return false;
    // Two exchanges of everything may be less than many of parts.
    const int64_t rows = blockRows(shapeOf(op->getResult(0))[factor], shards);
    return !hasOther || rowsSent(rounds) <= 2 * rows * (shards - 1) / shards;
  }
  return llvm::all_of(rule.halos, [&](const Halo& halo) {
    if (halo.factor != factor) return true;
    std::optional<HaloRows> rows = haloRows(halo, shards);
    RowSource source{shapeOf(op->getOperand(halo.operand))[halo.dim], 0};
    return rows && isLess(planRows(source, rows->request), source, shards);
  });
}

// Whether it moves less to sum what devices make of their blocks of `factor`, than to gather what
// is split along it: of a product with an operand that all devices have, and of a scatter into an
// array in blocks.
bool isCheapSum(mlir::Operation* op, const FactorRule& rule, int factor,
                const std::vector<AxisPart>& split, llvm::ArrayRef<MeshSharding> operandShardings,
                llvm::ArrayRef<MeshSharding> wanted,
                const llvm::SmallDenseMap<int, std::vector<AxisPart>>& parts) {
  if (!llvm::isa<shlo::DotGeneralOp, shlo::ScatterOp>(op) || !rule.summed.contains(factor)) {
    return true;
  }
  auto localSize = [&](Value value, const Factors& factors) {
    double size = 1;
    for (auto [rows, one] : llvm::zip(shapeOf(value), factors)) {
      size *= static_cast<double>(blockRows(rows, blocksOf(parts.lookup(one))));
    }
    return size;
  };
  // Blocks of the sum, where they are wanted, halve what it takes.
  bool isScattered = !wanted.empty() && llvm::any_of(split, [&](const AxisPart& part) {
    return !wanted[0].isUnused(part);
  });
  if (llvm::isa<shlo::ScatterOp>(op)) {
    bool hasBlocks = isScattered || llvm::any_of(split, [&](const AxisPart& part) {
                       return !operandShardings[0].isUnused(part);
                     });
    if (!hasBlocks) return true;
    double updates = 0;
    for (unsigned i = 1; i < op->getNumOperands(); ++i) {
      if (llvm::is_contained(rule.operands[i], factor)) {
        updates += localSize(op->getOperand(i), rule.operands[i]);
      }
    }
    return updates >=
           (isScattered && rule.isSum ? 1 : 2) * localSize(op->getResult(0), rule.results[0]);
  }
  double gathered = 0;
  for (unsigned i = 0; i < 2; ++i) {
    auto d = llvm::find(rule.operands[i], factor) - rule.operands[i].begin();
    if (!operandShardings[i].canAlsoSplit(d, split))
      gathered += gathered > 0 ? std::numeric_limits<double>::infinity()
                               : localSize(op->getOperand(i), rule.operands[i]);
  }
  return gathered >= (isScattered ? 1 : 2) * localSize(op->getResult(0), rule.results[0]);
}

// Whether a table in blocks of rows and the indices of its rows are split along one axis, and it
// moves less to have all indices everywhere and to sum what is picked, than to gather the table.
bool isCheapPick(mlir::Operation* op, const FactorRule& rule, int factor,
                 llvm::ArrayRef<MeshSharding> operandShardings,
                 llvm::ArrayRef<MeshSharding> wanted) {
  auto gather = llvm::dyn_cast<shlo::GatherOp>(op);
  if (!gather) return false;
  const auto d = llvm::find(rule.operands[0], factor) - rule.operands[0].begin();
  const std::vector<AxisPart>& split = operandShardings[0].dims[d];
  auto picked = static_cast<double>(elementCount(gather.getResult()));
  bool hasConflict = false;
  for (const std::vector<AxisPart>& other : operandShardings[1].dims) {
    const auto shared =
        llvm::count_if(other, [&](const AxisPart& part) { return sharesAxis({part}, split); });
    if (shared == 0) {
      picked /= static_cast<double>(blocksOf(other));
      continue;
    }
    // What else splits them would be lost.
    if (shared != static_cast<int64_t>(other.size())) return false;
    hasConflict = true;
  }
  // Blocks of the sum, where they are wanted, halve what it takes.
  const bool isScattered = !wanted.empty() && llvm::any_of(split, [&](const AxisPart& part) {
    return !wanted[0].isUnused(part);
  });
  return hasConflict && (isScattered ? 1 : 2) * picked +
                                static_cast<double>(elementCount(gather.getStartIndices())) <
                            static_cast<double>(elementCount(gather.getOperand()));
}

// How many elements would move if `value` were to be split otherwise: what is repeated, or made of
// numbers that count, is made anew. As far as `depth` operations tell.
double elementsBehind(Value value, int depth = 3) {
  mlir::Operation* op = value.getDefiningOp();
  if (op && llvm::isa<shlo::IotaOp, shlo::ConstantOp>(op)) return 0;
  const auto elements = static_cast<double>(elementCount(value));
  if (!op || depth == 0) return elements;
  if (auto broadcast = llvm::dyn_cast<shlo::BroadcastInDimOp>(op)) {
    return elementsBehind(broadcast.getOperand(), depth - 1);
  }
  if (fusionClass(op) != FusionClass::kElementwise || op->getNumOperands() == 0) return elements;
  double most = 0;
  for (Value operand : op->getOperands()) most = std::max(most, elementsBehind(operand, depth - 1));
  return std::min(most, elements);
}

// The order in which operands decide: where all are treated alike, the largest first. Operands from
// `numDeciding` on are so much smaller than the first that what they want makes no conflict.
struct OperandOrder {
  llvm::SmallVector<size_t> order;
  size_t numDeciding;
};

OperandOrder orderOfOperands(mlir::Operation* op, llvm::ArrayRef<MeshSharding> operandShardings) {
  auto order = llvm::to_vector(llvm::seq<size_t>(0, op->getNumOperands()));
  bool areAlike =
      llvm::isa<shlo::ConcatenateOp>(op) || fusionClass(op) == FusionClass::kElementwise;
  size_t numDeciding = order.size();
  if (!areAlike || order.size() < 2) return {std::move(order), numDeciding};
  llvm::SmallVector<double> elements;
  for (Value operand : op->getOperands()) elements.push_back(elementsBehind(operand));
  llvm::sort(order, [&](size_t a, size_t b) {
    return elements[a] != elements[b] ? elements[a] > elements[b] : a < b;
  });
  if (!operandShardings[order[0]].isReplicated()) {
    while (numDeciding > 1 && 4 * elements[order[numDeciding - 1]] <= elements[order[0]]) {
      --numDeciding;
    }
  }
  return {std::move(order), numDeciding};
}

// A dimension of a slice's operand that remains split although its result is not.
std::optional<HaloRows> placedRows(shlo::SliceOp op, const MeshSharding& current,
                                   const SplitRule& split) {
  if (!isSummable(op.getResult()) || current.positionOf != split.operands[0].positionOf) {
    return std::nullopt;
  }
  for (int64_t d = 0; d < rankOf(op.getOperand()); ++d) {
    const int64_t rows = shapeOf(op.getResult())[d];
    if (rows == 0 || current.dims[d].empty() ||
        !split.operands[0].canAlsoSplit(d, current.dims[d]) || current.shards(d) > kMaxBlocks ||
        !isFew(rows, shapeOf(op.getOperand())[d])) {
      continue;
    }
    HaloRows placed{0, d, {}, 0, 0, /*isPlaced=*/true};
    placed.request.starts.assign(current.shards(d), op.getStartIndices()[d]);
    placed.request.count = (rows - 1) * op.getStrides()[d] + 1;
    return placed;
  }
  return std::nullopt;
}

// Whether every dimension of `factor` falls into equal blocks, or may have padding.
bool dividesAll(const std::vector<AxisPart>& parts, int factor, mlir::ValueRange values,
                const std::vector<Factors>& factors, bool mayPad) {
  for (auto [value, dims] : llvm::zip(values, factors)) {
    for (auto [d, dim] : llvm::enumerate(dims)) {
      if (dim != factor || divides(parts, shapeOf(value)[d])) continue;
      if (!mayPad || !isMostlyRows(shapeOf(value)[d], blocksOf(parts))) return false;
    }
  }
  return true;
}

// What blocks of `factor` have behind the last rows of operands that goes into sums.
void addMasks(mlir::Operation* op, const FactorRule& rule, int factor, int64_t shards,
              std::vector<MaskedRows>& masks) {
  const bool isScatter = llvm::isa<shlo::ScatterOp>(op);
  if (!isScatter && !sumsUpFactors(op)) return;
  // Of a scatter the updates, and no indices.
  for (unsigned i = isScatter ? 2 : 0; i < op->getNumOperands(); ++i) {
    for (auto [d, dim] : llvm::enumerate(rule.operands[i])) {
      const int64_t rows = shapeOf(op->getOperand(i))[d];
      if (dim != factor || rows % shards == 0) continue;
      bool hasHalo = llvm::any_of(rule.halos, [&, d = d](const Halo& halo) {
        return halo.operand == i && halo.dim == static_cast<int64_t>(d);
      });
      // Halos come with what the operation has for rows outside of the array.
      if (!hasHalo) masks.push_back({i, static_cast<int64_t>(d), rows});
    }
  }
}

// Whether an operand and a result are split alike along `factor`.
bool isAgreed(int factor, llvm::ArrayRef<MeshSharding> operandShardings,
              const std::vector<Factors>& operands, llvm::ArrayRef<MeshSharding> wanted,
              const std::vector<Factors>& results) {
  auto any = [&](llvm::ArrayRef<MeshSharding> shardings, const std::vector<Factors>& all,
                 llvm::function_ref<bool(const MeshSharding&, size_t)> is) {
    for (auto [sharding, factors] : llvm::zip(shardings, all)) {
      for (auto [d, dim] : llvm::enumerate(factors)) {
        if (dim == factor && !sharding.dims[d].empty() && is(sharding, d)) return true;
      }
    }
    return false;
  };
  return any(wanted, results, [&](const MeshSharding& one, size_t to) {
    return any(operandShardings, operands, [&](const MeshSharding& other, size_t from) {
      return other.positionOf == one.positionOf && other.dims[from] == one.dims[to];
    });
  });
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

// A reshape that keeps blocks although several dimensions of `rule`'s factors share their split.
std::optional<SplitRule> sharedSplit(shlo::ReshapeOp op, const FactorRule& rule,
                                     llvm::ArrayRef<MeshSharding> operandShardings,
                                     llvm::ArrayRef<MeshSharding> wanted) {
  auto isShared = [](const MeshSharding& sharding, const Factors& factors) {
    return llvm::any_of(llvm::zip(sharding.dims, factors), [](auto pair) {
      return !std::get<0>(pair).empty() && std::get<1>(pair) == kWhole;
    });
  };
  Dims from = shapeOf(op.getOperand()), to = shapeOf(op.getResult());
  SplitRule split;
  std::optional<MeshSharding> operand, result;
  if (!operandShardings[0].isReplicated()) {
    operand = operandShardings[0].reduced();
    result = reshapedSharding(*operand, from, to);
  } else if (!wanted.empty()) {
    result = wanted[0].reduced();
    operand = reshapedSharding(*result, to, from);
  }
  if (!operand || !result ||
      !(isShared(*operand, rule.operands[0]) || isShared(*result, rule.results[0]))) {
    return std::nullopt;
  }
  split.operands = {std::move(*operand)};
  split.results = {std::move(*result)};
  return split;
}

// Which factors of an operation are split, and how. The first value that splits a factor decides
// how; an axis splits one factor only.
class SplitDecision {
 public:
  // `mesh` is any of the shardings that is split: others of its devices' order count.
  SplitDecision(mlir::Operation* op, const FactorRule& rule, const MeshSharding& mesh,
                llvm::ArrayRef<MeshSharding> operandShardings, llvm::ArrayRef<MeshSharding> wanted,
                bool mayMove)
      : op_(op),
        rule_(rule),
        mesh_(mesh),
        operandShardings_(operandShardings),
        wanted_(wanted),
        mayMove_(mayMove),
        operands_(orderOfOperands(op, operandShardings)) {
    // What every device has is sooner reversed whole than in blocks that have to travel.
    auto reverse = llvm::dyn_cast<shlo::ReverseOp>(op);
    if (reverse && mayMove) reversed_ = reverse.getDimensions();
  }

  std::optional<SplitRule> make() {
    decideByOperands();
    auto isWanted = [this](int factor) { return isWantedInResults(factor); };
    decideBy(wanted_, rule_.results, isWanted, /*mayCoarsen=*/!mayMove_);
    if (mayMove_) {
      moveSplits();
      mayMove_ = false;
      decideBy(operandShardings_, rule_.operands, [this](int factor) { return isSent(factor); });
      decideBy(wanted_, rule_.results, isWanted);
    }
    auto slice = llvm::dyn_cast<shlo::SliceOp>(op_);
    if (parts_.empty() && !slice) return std::nullopt;
    SplitRule split;
    split.hasConflict = hasConflict_;
    split.operands = shardingsOf(rule_.operands);
    split.results = shardingsOf(rule_.results);
    addRows(split);
    if (slice && !placeRows(slice, split)) return std::nullopt;
    addConcatenation(split);
    addIndexedDims(split);
    addSums(split);
    return split;
  }

 private:
  bool isSplit(int factor) const { return parts_.count(factor) != 0; }
  bool isSummed(int factor) const { return rule_.summed.contains(factor); }
  bool isIndexed(int factor) const { return rule_.indexed.contains(factor); }
  // Rows that every device has are not to be sent.
  bool isSent(int factor) const {
    return rule_.concatenated == factor ||
           llvm::any_of(rule_.halos, [&](const Halo& halo) { return halo.factor == factor; });
  }
  bool isWantedInResults(int factor) const {
    return !isSummed(factor) && !isSent(factor) && !llvm::is_contained(reversed_, factor);
  }
  bool isTaken(const std::vector<AxisPart>& split) const {
    return llvm::any_of(parts_, [&](const auto& other) { return sharesAxis(other.second, split); });
  }

  // Whether `split` cuts everything of the factor into equal blocks, and it pays.
  bool canSplit(const std::vector<AxisPart>& split, int factor) const {
    const bool mayPad = allowsPadding(op_, rule_, factor);
    auto units = rule_.units.find(factor);
    return (units == rule_.units.end() || divides(split, units->second)) &&
           (rule_.concatenated == factor ||
            dividesAll(split, factor, op_->getOperands(), rule_.operands, mayPad)) &&
           dividesAll(split, factor, op_->getResults(), rule_.results, mayPad) &&
           isWorthSending(op_, rule_, factor, split, operandShardings_, mayMove_);
  }

  // Splits the factors that `isIn` admits as `shardings`, of operands or results, are split.
  void decideBy(llvm::ArrayRef<MeshSharding> shardings, const std::vector<Factors>& all,
                llvm::function_ref<bool(int)> isIn, bool mayCoarsen = true) {
    const bool areOperands = &all == &rule_.operands;
    for (size_t turn = 0; turn < shardings.size(); ++turn) {
      const size_t i = areOperands ? operands_.order[turn] : turn;
      if (shardings[i].positionOf != mesh_.positionOf) continue;
      const bool isDeciding = !areOperands || turn < operands_.numDeciding;
      for (auto [d, factor] : llvm::enumerate(all[i])) {
        if (factor == kWhole || shardings[i].dims[d].empty() || isSplit(factor) || !isIn(factor)) {
          continue;
        }
        decideOne(shardings[i].dims[d], factor, isFewRows(op_, static_cast<int64_t>(d)), isDeciding,
                  mayCoarsen);
      }
    }
  }

  void decideOne(const std::vector<AxisPart>& asked, int factor, bool isOfFewRows, bool isDeciding,
                 bool mayCoarsen) {
    hasConflict_ |= isTaken(asked) && isDeciding;
    if (isTaken(asked) ||
        !isCheapSum(op_, rule_, factor, asked, operandShardings_, wanted_, parts_)) {
      return;
    }
    // Fewer, larger blocks may do. Fewer blocks of what is sent would be gathered before.
    const bool isKept = !mayCoarsen || (mayMove_ && isSent(factor));
    std::vector<AxisPart> split = asked;
    if (isKept && !canSplit(split, factor)) return;
    while (!split.empty() && !canSplit(split, factor)) coarsen(split);
    const bool isFewer = split != asked && isOfFewRows;
    if (!split.empty() && !isFewer) parts_[factor] = std::move(split);
  }

  void decideByOperands() {
    auto decide = [this](llvm::function_ref<bool(int)> isIn) {
      decideBy(operandShardings_, rule_.operands, isIn);
    };
    decide([this](int f) {
      return isIndexed(f) && isCheapPick(op_, rule_, f, operandShardings_, wanted_);
    });
    // What operands and results agree on comes before what one operand has.
    decide([this](int f) {
      return !isSummed(f) && !isIndexed(f) &&
             isAgreed(f, operandShardings_, rule_.operands, wanted_, rule_.results);
    });
    decide([this](int f) { return !isSummed(f) && !isIndexed(f); });
    decide([this](int f) { return isSummed(f) && !isIndexed(f); });
    decide([this](int f) { return isIndexed(f); });
  }

  // What an operand has along a dimension that is needed whole goes to another one, which moves
  // less than a gather.
  void moveSplits() {
    for (auto [i, sharding] : llvm::enumerate(operandShardings_)) {
      if (sharding.positionOf != mesh_.positionOf) continue;
      for (const auto& [d, split] : llvm::enumerate(sharding.dims)) {
        const int along = rule_.operands[i][d];
        const bool isNeeded = along == kWhole || isSent(along);
        if (split.empty() || !isNeeded || isTaken(split) ||
            isFewRows(op_, static_cast<int64_t>(d))) {
          continue;
        }
        if (!moveToLargest(split, i)) addToSplit(split, i);
      }
    }
  }

  bool mayMoveTo(int factor) const {
    return factor != kWhole && !isSummed(factor) && !isIndexed(factor) && !isSent(factor);
  }

  // Splits the largest dimension of operand `i` that can be and is not.
  bool moveToLargest(const std::vector<AxisPart>& split, size_t i) {
    int best = kWhole;
    int64_t most = 0;
    for (auto [d, factor] : llvm::enumerate(rule_.operands[i])) {
      const int64_t size = shapeOf(op_->getOperand(static_cast<unsigned>(i)))[d];
      if (!mayMoveTo(factor) || isSplit(factor) || size <= most || size % blocksOf(split) != 0 ||
          !canSplit(split, factor)) {
        continue;
      }
      best = factor;
      most = size;
    }
    if (best != kWhole) parts_[best] = split;
    return best != kWhole;
  }

  // Cuts the blocks of a dimension of operand `i` that is split already.
  void addToSplit(const std::vector<AxisPart>& split, size_t i) {
    for (int factor : rule_.operands[i]) {
      if (!mayMoveTo(factor) || !isSplit(factor)) continue;
      std::vector<AxisPart> finer = parts_[factor];
      for (const AxisPart& part : split) appendAxisPart(finer, part);
      if (!canSplit(finer, factor)) continue;
      parts_[factor] = std::move(finer);
      return;
    }
  }

  std::vector<MeshSharding> shardingsOf(const std::vector<Factors>& all) const {
    std::vector<MeshSharding> list;
    for (const Factors& factors : all) {
      MeshSharding sharding{mesh_.numPartitions, mesh_.positionOf, {}, {}};
      for (int factor : factors) sharding.dims.push_back(parts_.lookup(factor));
      list.push_back(std::move(sharding));
    }
    return list;
  }

  // Halos, and what is masked.
  void addRows(SplitRule& split) const {
    for (const Halo& halo : rule_.halos) {
      if (!isSplit(halo.factor)) continue;
      split.halos.push_back(*haloRows(halo, blocksOf(parts_.lookup(halo.factor))));
    }
    for (int factor : rule_.summed) {
      if (!isSplit(factor)) continue;
      addMasks(op_, rule_, factor, blocksOf(parts_.lookup(factor)), split.masks);
    }
    if (!rule_.running || !isSplit(*rule_.running)) return;
    split.runsOverBlocks = true;
    // What runs from behind begins with padding.
    const int64_t d = *rule_.running, rows = shapeOf(op_->getOperand(0))[d];
    if (rows % blocksOf(parts_.lookup(*rule_.running)) != 0) split.masks.push_back({0, d, rows});
  }

  // False if nothing is split.
  bool placeRows(shlo::SliceOp slice, SplitRule& split) const {
    if (std::optional<HaloRows> placed = placedRows(slice, operandShardings_[0], split)) {
      split.operands[0].dims[placed->dim] = operandShardings_[0].dims[placed->dim];
      split.results[0].unreduced = operandShardings_[0].dims[placed->dim];
      split.halos.push_back(std::move(*placed));
    }
    return !parts_.empty() || !split.halos.empty();
  }

  void addConcatenation(SplitRule& split) const {
    if (!rule_.concatenated || !isSplit(*rule_.concatenated)) return;
    const int64_t d = *rule_.concatenated;
    split.concatenatedDim = d;
    std::vector<MeshSharding> splits =
        concatenatedSplits(op_, d, operandShardings_, parts_.lookup(*rule_.concatenated));
    for (auto [operand, one] : llvm::zip(split.operands, splits)) operand.dims[d] = one.dims[d];
  }

  void addIndexedDims(SplitRule& split) const {
    if (rule_.indexed.empty()) return;
    for (auto [d, factor] : llvm::enumerate(rule_.operands[0])) {
      if (isIndexed(factor) && isSplit(factor)) {
        split.indexedDims.push_back(static_cast<int64_t>(d));
      }
    }
  }

  // Axes over which what devices have is combined.
  void addSums(SplitRule& split) const {
    auto append = [&](std::vector<AxisPart>& axes) {
      for (int factor : rule_.summed) {
        for (const AxisPart& part : parts_.lookup(factor)) appendAxisPart(axes, part);
      }
    };
    if (!rule_.isSum) return append(split.combined);
    for (unsigned operand : rule_.partialSums) append(split.operands[operand].unreduced);
    for (MeshSharding& result : split.results) append(result.unreduced);
  }

  mlir::Operation* op_;
  const FactorRule& rule_;
  const MeshSharding& mesh_;
  llvm::ArrayRef<MeshSharding> operandShardings_, wanted_;
  bool mayMove_;
  OperandOrder operands_;
  llvm::ArrayRef<int64_t> reversed_;
  llvm::SmallDenseMap<int, std::vector<AxisPart>> parts_;
  bool hasConflict_ = false;
};

}  // namespace

RowRequest concatenationRequest(mlir::Operation* op, int64_t d, int64_t shards) {
  RowRequest request;
  request.count = blockRows(shapeOf(op->getResult(0))[d], shards);
  for (int64_t b = 0; b < shards; ++b) request.starts.push_back(b * request.count);
  return request;
}

std::vector<RowSource> concatenatedSources(mlir::Operation* op, int64_t d,
                                           llvm::ArrayRef<MeshSharding> operands) {
  std::vector<RowSource> sources;
  int64_t end = 0;
  for (auto [operand, sharding] : llvm::zip(op->getOperands(), operands)) {
    sources.push_back({shapeOf(operand)[d], end, sharding.shards(d) == 1});
    end += shapeOf(operand)[d];
  }
  return sources;
}

std::optional<SplitRule> splitRule(mlir::Operation* op,
                                   llvm::ArrayRef<MeshSharding> operandShardings,
                                   llvm::ArrayRef<MeshSharding> wanted, bool mayMove) {
  const MeshSharding* mesh = nullptr;
  for (llvm::ArrayRef<MeshSharding> shardings : {operandShardings, wanted}) {
    for (const MeshSharding& sharding : shardings) {
      if (!mesh && !sharding.isReplicated()) mesh = &sharding;
    }
  }
  if (!mesh || !hasStaticArrays(op)) return std::nullopt;
  std::optional<FactorRule> rule = factorRule(op);
  if (!rule) return std::nullopt;
  if (auto reshape = llvm::dyn_cast<shlo::ReshapeOp>(op)) {
    if (std::optional<SplitRule> split = sharedSplit(reshape, *rule, operandShardings, wanted))
      return split;
  }
  return SplitDecision(op, *rule, *mesh, operandShardings, wanted, mayMove).make();
}

void fitToBlocks(mlir::Operation* op, const SplitRule& rule) {
  for (auto [result, sharding] : llvm::zip(op->getResults(), rule.results)) {
    auto type = llvm::cast<RankedTensorType>(result.getType());
    std::vector<int64_t> shape = sharding.blockShape(type.getShape());
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
    // A block may have fewer rows than are asked for.
    llvm::SmallVector<int64_t> sizes(block);
    for (auto [size, rows] : llvm::zip(sizes, shapeOf(slice.getOperand()))) {
      size = std::min(size, rows);
    }
    slice.getResult().setType(
        RankedTensorType::get(sizes, mlir::getElementTypeOrSelf(slice.getResult())));
    slice.setSliceSizes(sizes);
  } else if (auto gather = llvm::dyn_cast<shlo::GatherOp>(op)) {
    llvm::SmallVector<int64_t> sizes(gather.getSliceSizes());
    for (size_t d = 0; d < sizes.size(); ++d) {
      // One element of a dimension is one of a block too.
      if (sizes[d] > 1)
        sizes[d] = blockRows(sizes[d], rule.operands[0].shards(static_cast<int64_t>(d)));
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
