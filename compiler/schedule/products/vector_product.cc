#include "compiler/schedule/products/vector_product.h"

#include <algorithm>

#include "compiler/cost/time.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus {
namespace {

// Vectors of columns in a tile: fewer read the lhs more often, more than a row of columns fills
// registers.
constexpr int64_t kMinVectors = 2, kMaxVectors = 8;
constexpr int64_t kScratchAlignment = 64;
// Of the padded copy of an input, to elements of the input.
constexpr int64_t kMaxPadding = 8;
// Of larger arrays, the arithmetic on sizes need not fit.
constexpr int64_t kMaxElements = int64_t{1} << 28;

// Rows at a time, at most `most`, so that the last tile repeats few.
int64_t bestRows(int64_t rows, int64_t most) {
  if (rows <= most) return rows;
  int64_t best = most;
  for (int64_t size = most; size > most / 2; --size) {
    if (llvm::divideCeilSigned(rows, size) * size < llvm::divideCeilSigned(rows, best) * best)
      best = size;
  }
  return best;
}

// Nothing if it had more than `most` elements.
std::optional<PaddedInput> padded(const ConvRoles& roles, const ProductKinds& kinds, int64_t most) {
  PaddedInput input;
  input.batch = {roles.batch, roles.batch, roles.inputBatchStride};
  input.feature = {roles.inputFeatures, roles.inputFeatures, roles.inputFeatureStride};
  input.isCopied = kinds.lhs.small || kinds.lhs.isSubByte() || kinds.lhs.isBool();
  for (const ConvSpatialRole& s : roles.spatial) {
    // As far as windows reach.
    if (s.windowStride > most || s.rhsDilation > most || s.kernelSize > most) return std::nullopt;
    int64_t reach = (s.outputSize - 1) * s.windowStride + (s.kernelSize - 1) * s.rhsDilation + 1;
    PaddedDim dim{reach, s.inputSize, s.inputStride, s.padLow, s.lhsDilation};
    bool isInside = s.padLow <= 0 && s.lhsDilation == 1 && reach - s.padLow <= s.inputSize;
    input.isCopied |= !isInside;
    input.spatial.push_back(dim);
  }
  llvm::SmallVector<PaddedDim*, 5> order{&input.batch, &input.feature};
  for (PaddedDim& dim : input.spatial) order.push_back(&dim);
  // Dimensions of one element have no neighbours to lie beside.
  llvm::stable_sort(order, [](const PaddedDim* a, const PaddedDim* b) {
    if ((a->size == 1) != (b->size == 1)) return b->size == 1;
    return a->stride < b->stride;
  });
  for (PaddedDim* dim : order) {
    if (dim->size > most / input.elements) return std::nullopt;
    dim->copyStride = input.isCopied ? input.elements : dim->stride;
    input.elements *= dim->size;
  }
  for (PaddedDim* dim : order) input.inOrder.push_back(*dim);
  return input;
}

}  // namespace

int64_t sizeOf(llvm::ArrayRef<TileDim> dims) {
  int64_t size = 1;
  for (const TileDim& dim : dims) size *= dim.size;
  return size;
}

bool isByColumn(const VectorContraction& problem) {
  return problem.columns.size() == 1 && problem.columns[0].lhs != 0;
}

bool isContiguous(const TileDims& columns) { return columns.size() == 1 && columns[0].rhs == 1; }

// With the strides of the result, which is dense: batch, rows, columns.
VectorContraction contractionOf(const DotRoles& roles, const ProductKinds& kinds) {
  VectorContraction all;
  all.lhs = kinds.lhs;
  all.rhs = kinds.rhs;
  all.result = kinds.result;
  all.sum = kinds.sum;
  int64_t stride = 1;
  auto convert = [&](const DotDimensions& dims, bool isInResult) {
    TileDims converted;
    for (size_t d = dims.size(); d-- > 0;) {
      converted.push_back(
          {dims[d].size, dims[d].lhsStride, dims[d].rhsStride, isInResult ? stride : 0});
      if (isInResult) stride *= dims[d].size;
    }
    std::reverse(converted.begin(), converted.end());
    return converted;
  };
  all.sums = convert(roles.contracting, false);
  all.columns = convert(roles.columns, true);
  all.rows = convert(roles.rows, true);
  all.batch = convert(roles.batch, true);
  all.lhsElements = sizeOf(roles.batch) * sizeOf(roles.rows) * sizeOf(roles.contracting);
  return all;
}

// The rows as columns: lhs and rhs change places.
VectorContraction swapped(VectorContraction all) {
  std::swap(all.rows, all.columns);
  std::swap(all.lhs, all.rhs);
  std::swap(all.lhsBuffer, all.rhsBuffer);
  all.lhsElements = 1;
  for (TileDims* dims : {&all.batch, &all.rows, &all.columns, &all.sums}) {
    for (TileDim& dim : *dims) {
      std::swap(dim.lhs, dim.rhs);
      if (dims != &all.columns) all.lhsElements *= dim.size;
    }
  }
  return all;
}

VectorContraction contractionOf(const ConvRoles& roles, const ProductKinds& kinds,
                                const PaddedInput& input) {
  VectorContraction all;
  all.lhs = kinds.lhs;
  all.rhs = kinds.rhs;
  all.result = kinds.result;
  all.sum = kinds.sum;
  if (input.isCopied) all.lhsAt = 0;
  int64_t groups = roles.featureGroups * roles.batchGroups;  // one of them is 1
  int64_t features = roles.outputFeatures / groups;
  int64_t batch = roles.batch / roles.batchGroups;
  int64_t inputFeatures = roles.inputFeatures / roles.featureGroups;
  auto add = [](TileDims& dims, const TileDim& dim) {
    if (dim.size > 1) dims.push_back(dim);
  };
  // Groups of one feature each are columns, of both operands.
  add(features == 1 ? all.columns : all.batch,
      {groups,
       roles.featureGroups > 1 ? inputFeatures * input.feature.copyStride
                               : batch * input.batch.copyStride,
       features * roles.kernelOutputStride, features * roles.outputFeatureStride});
  add(all.rows, {batch, input.batch.copyStride, 0, roles.outputBatchStride});
  add(all.sums, {inputFeatures, input.feature.copyStride, roles.kernelInputStride, 0});
  add(all.columns, {features, 0, roles.kernelOutputStride, roles.outputFeatureStride});
  for (auto [s, dim] : llvm::zip(roles.spatial, input.spatial)) {
    add(all.rows, {s.outputSize, s.windowStride * dim.copyStride, 0, s.outputStride});
    int64_t kernelStride = s.isReversed ? -s.kernelStride : s.kernelStride;
    if (s.isReversed) all.rhsOffset += (s.kernelSize - 1) * s.kernelStride;
    add(all.sums, {s.kernelSize, s.rhsDilation * dim.copyStride, kernelStride, 0});
  }
  // What lies together in the input is run over innermost.
  auto outerFirst = [](const TileDim& a, const TileDim& b) { return a.lhs > b.lhs; };
  llvm::stable_sort(all.rows, outerFirst);
  llvm::stable_sort(all.sums, outerFirst);
  all.lhsElements = input.elements;
  return all;
}

std::optional<PaddedInput> paddedInputOf(const ConvRoles& roles, const ProductKinds& kinds) {
  int64_t elements = roles.batch * roles.inputFeatures;
  for (const ConvSpatialRole& s : roles.spatial) elements *= s.kernelSize == 0 ? 0 : s.inputSize;
  if (elements == 0 || elements > kMaxElements) return std::nullopt;
  return padded(roles, kinds, kMaxPadding * elements);
}

int64_t tilesOf(const VectorPlan& plan) {
  const TileDims& rows = plan.problem.rows;
  if (plan.flattensRows) return llvm::divideCeilSigned(sizeOf(rows), plan.rowsPerTile);
  if (rows.empty()) return 1;
  return sizeOf(rows) / rows.back().size *
         llvm::divideCeilSigned(rows.back().size, plan.rowsPerTile);
}

int64_t panelsOf(const VectorPlan& plan) {
  int64_t width = plan.sumsAreLanes ? plan.vectors : plan.vectors * plan.lanes;
  return llvm::divideCeilSigned(sizeOf(plan.problem.columns), width);
}

namespace {

// Lanes along columns if there are enough of them, or along sums that are read in their order.
bool chooseLanes(const VectorContraction& p, const TargetModel& target, DotStage* stage) {
  const ProductModel& model = target.products;
  int64_t rows = sizeOf(p.rows), columns = sizeOf(p.columns);
  unsigned lanes = target.vectorLanes(p.sum.computeBits());
  bool areSmall = rows * columns * sizeOf(p.sums) < model.minProducts;
  if (lanes < 4 || (areSmall && sizeOf(p.batch) > model.enoughItems)) return false;
  bool isRead = isContiguous(p.columns);
  if (isByColumn(p) && (p.columns[0].lhs != 1 || !isRead)) return false;
  bool sumsLieTogether = !p.sums.empty() && p.sums.back().lhs == 1 && p.sums.back().rhs == 1 &&
                         p.sums.back().size >= lanes && p.columns.size() <= 1 &&
                         p.lhs.storageBytes == p.sum.storageBytes;
  stage->lanes = lanes;
  if (sumsLieTogether && !isRead && (rows < model.minRowsToTranspose || columns < 4)) {
    stage->product.vectorsAlongTerms = true;
    return true;
  }
  if (columns < 4 || (!isRead && rows < model.minRowsToTranspose)) return false;
  while (stage->lanes > columns) stage->lanes /= 2;
  stage->product.copiesColumns = !isRead || (rows >= model.minRowsToPack && !isByColumn(p));
  return true;
}

// Of how many terms sums of products are exact in f32, which has whole numbers up to 2^24; 0 if
// they are no sums of short integers in 32 bits.
int64_t exactTermsOf(const VectorContraction& p) {
  auto isShort = [](const ElementKind& kind) { return kind.isInteger() && kind.bits <= 8; };
  if (!isShort(p.lhs) || !isShort(p.rhs) || !p.sum.isInteger() || p.sum.bits != 32) return 0;
  auto bitsOf = [](const ElementKind& kind) { return kind.bits - (kind.isSigned ? 1 : 0); };
  return int64_t{1} << (24 - bitsOf(p.lhs) - bitsOf(p.rhs));
}

bool fitsFloats(const VectorContraction& p) {
  const int64_t exact = exactTermsOf(p);
  return exact > 0 && p.lhsAt < 0 && (p.sums.size() == 1 || sizeOf(p.sums) <= exact);
}

int64_t lastRows(const VectorContraction& p) { return p.rows.empty() ? 1 : p.rows.back().size; }

// Whether storing the result, whose lines of the cache are read first, takes longer than summing
// its few terms.
bool isOfStores(const VectorContraction& p, const TargetModel& target) {
  const auto elements = static_cast<double>(sizeOf(p.rows) * sizeOf(p.columns));
  const double storedNs = 2 * elements * p.result.storageBytes / target.memoryBytesPerNs;
  return storedNs > contractionNs(target, elements * static_cast<double>(sizeOf(p.sums)));
}

}  // namespace

bool chooseVectors(const VectorContraction& p, const TargetModel& target, DotStage* stage) {
  if (p.sum.isComplex() || p.sum.isBool()) return false;
  const ProductModel& model = target.products;
  ProductSchedule& product = stage->product;
  product = {.form = ProductForm::kVectors};
  if (!chooseLanes(p, target, stage)) return false;
  int64_t rows = sizeOf(p.rows), columns = sizeOf(p.columns);
  int64_t rowsInRegisters = model.sumRegisters / kMinVectors;
  product.mixesRows = p.rows.size() > 1 && lastRows(p) < rowsInRegisters / 2;
  product.rows = bestRows(product.mixesRows ? rows : lastRows(p), rowsInRegisters);
  if (isContiguous(p.columns) && !isByColumn(p) && isOfStores(p, target)) {
    // Long stretches of few rows, of columns where they are.
    product.copiesColumns = false;
    product.rows = std::min<int64_t>(product.rows, 2);
  }
  int64_t columnVectors = product.vectorsAlongTerms ? columns : columns / stage->lanes;
  int64_t wanted = std::clamp(model.sumRegisters / product.rows, kMinVectors, kMaxVectors);
  if (product.vectorsAlongTerms) {
    product.rows = std::min<int64_t>(product.rows, columns > 1 ? 4 : 8);
    wanted = std::min<int64_t>(wanted, 4);
  }
  while (product.columns * 2 <= std::min(wanted, columnVectors)) product.columns *= 2;
  VectorPlan plan = planOf(p, *stage, 0);
  // A narrow float takes several instructions to become a wide one, for each panel again.
  product.inFloats = model.hasFastFloats && !product.vectorsAlongTerms && fitsFloats(p);
  product.copiesRows = p.lhsAt < 0 && (p.lhs.small || p.lhs.isSubByte() || product.inFloats) &&
                       panelsOf(plan) > kMinVectors;
  int64_t tileProducts = product.rows * sizeOf(p.sums) * product.columns *
                         (product.vectorsAlongTerms ? 1 : stage->lanes);
  int64_t tiles = tilesOf(plan);
  int64_t items = tiles * panelsOf(plan) * sizeOf(p.batch);
  stage->grain = std::clamp<int64_t>(
      std::min(model.itemProducts / std::max<int64_t>(1, tileProducts), items / model.enoughItems),
      1, tiles);
  return true;
}

const char* vectorsRefusal(const VectorContraction& p, const DotStage& stage,
                           const DotStage& chosen) {
  constexpr int64_t kMaxSums = 64;  // vectors: bounds code size
  const ProductSchedule& product = stage.product;
  if (product.isSwapped != chosen.product.isSwapped ||
      product.vectorsAlongTerms != chosen.product.vectorsAlongTerms ||
      stage.lanes != chosen.lanes) {
    return "vectors lie along another dimension";
  }
  if (product.copiesRows && !chosen.product.copiesRows && p.lhsAt >= 0) {
    return "the rows are copied already";
  }
  if (product.inFloats && !fitsFloats(p)) return "sums would not be exact as floats";
  // In vectors, columns are read from where they lie side by side.
  if (!product.copiesColumns && chosen.product.copiesColumns && !isContiguous(p.columns)) {
    return "the columns do not lie side by side";
  }
  if (product.copiesColumns && (product.vectorsAlongTerms || isByColumn(p))) {
    return "the columns lie in order already";
  }
  if (product.mixesRows && p.rows.size() < 2) return "there is one dimension of rows";
  const int64_t rows = product.mixesRows ? sizeOf(p.rows) : lastRows(p);
  const int64_t width = product.vectorsAlongTerms ? 1 : stage.lanes;
  if (product.rows < 1 || product.rows > rows || product.columns < 1 ||
      product.columns * width > sizeOf(p.columns) || product.rows * product.columns > kMaxSums) {
    return "a tile has more than there is, or more than registers hold";
  }
  if (stage.grain < 1 || stage.grain > tilesOf(planOf(p, stage, 0))) {
    return "an item has more tiles than there are";
  }
  return nullptr;
}

VectorPlan planOf(VectorContraction problem, const DotStage& stage, int64_t scratchBytes) {
  const ProductSchedule& product = stage.product;
  VectorPlan plan;
  plan.problem = std::move(problem);
  plan.scratchBytes = scratchBytes;
  plan.lanes = stage.lanes;
  plan.vectors = product.columns;
  plan.rowsPerTile = product.rows;
  plan.flattensRows = product.mixesRows;
  plan.sumsAreLanes = product.vectorsAlongTerms;
  plan.tilesPerItem = stage.grain;
  plan.convertsLhs = product.copiesRows;
  plan.packsRhs = product.copiesColumns;
  VectorContraction& p = plan.problem;
  if (product.inFloats) {
    plan.exactTerms = exactTermsOf(p);
    p.sum = {.cls = ElementClass::kFloat, .bits = 32, .format = std::nullopt, .storageBytes = 4};
  }
  auto take = [&](int64_t elements) {
    int64_t at = llvm::alignTo(plan.scratchBytes, kScratchAlignment);
    plan.scratchBytes = at + elements * p.sum.storageBytes;
    return at;
  };
  if (plan.convertsLhs) p.lhsAt = take(p.lhsElements);
  if (plan.packsRhs) {
    int64_t width = plan.vectors * plan.lanes;
    plan.packedAt = take(sizeOf(p.batch) * panelsOf(plan) * sizeOf(p.sums) * width);
  }
  return plan;
}

}  // namespace isthmus
