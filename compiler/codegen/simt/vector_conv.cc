#include "compiler/codegen/simt/vector_conv.h"

#include <algorithm>

#include "compiler/codegen/simt/kernel_writer.h"
#include "compiler/codegen/simt/vector_contraction.h"

namespace isthmus::codegen {
namespace {

// Of the padded copy, to elements of the input.
constexpr int64_t kMostPadding = 8;
constexpr int64_t kMostElements = int64_t{1} << 28;

// A dimension of the input, and of its padded copy.
struct PaddedDim {
  int64_t size = 1;    // in the copy
  int64_t input = 1;   // of the input
  int64_t stride = 0;  // of the input
  int64_t padLow = 0;
  int64_t dilation = 1;
  int64_t copyStride = 0;
};

// The input with zeros around it and between its elements, its dimensions in their order in memory.
struct PaddedInput {
  PaddedDim batch, feature;
  llvm::SmallVector<PaddedDim, 3> spatial;
  llvm::SmallVector<PaddedDim, 5> inOrder;
  int64_t elements = 1;
  bool isCopied = false;
};

// Nothing if it had more than `most` elements.
std::optional<PaddedInput> padded(const ConvRoles& roles, const ConvKinds& kinds, int64_t most) {
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

// One element by each work-item: neighbours along the dimension that lies together, so that whether
// they are inside is mostly the same for all of a vector.
OpKernel emitPadding(const PaddedInput& input, const ConvKinds& kinds, llvm::Module& module,
                     const WorkItemForm& form, const std::string& symbol) {
  const PaddedDim& inner = input.inOrder[0];
  Items items{inner.size, input.elements / inner.size, 1};
  KernelWriter w(module, form, symbol, 4, items);
  llvm::Value* rest = w.item(1);
  llvm::Value* from = w.i64(0);
  llvm::Value* isInside = w.b().getTrue();
  for (size_t d = 0; d < input.inOrder.size(); ++d) {
    const PaddedDim& dim = input.inOrder[d];
    llvm::Value* at = w.item(0);
    if (d > 0) std::tie(rest, at) = w.divide(rest, dim.size);
    if (dim.size == 1) at = w.i64(0);
    if (dim.padLow != 0) at = w.b().CreateSub(at, w.i64(dim.padLow));
    // Below zero is far beyond the end, as an unsigned number.
    if (dim.padLow > 0 || dim.size - dim.padLow > (dim.input - 1) * dim.dilation + 1) {
      isInside = w.b().CreateAnd(
          isInside, w.b().CreateICmpULT(at, w.i64((dim.input - 1) * dim.dilation + 1)));
    }
    if (dim.dilation > 1) {
      auto [quotient, remainder] = w.divide(at, dim.dilation);
      isInside = w.b().CreateAnd(isInside, w.b().CreateICmpEQ(remainder, w.i64(0)));
      at = quotient;
    }
    from = w.b().CreateAdd(from, w.b().CreateMul(at, w.i64(dim.stride)));
  }
  // Outside, an element that is there is read and not used.
  from = w.b().CreateSelect(isInside, from, w.i64(0));
  Val value = w.convert(w.load(w.buffer(0), from, kinds.lhs), kinds.lhs, kinds.sum);
  llvm::Value* to = w.plus(w.times(w.item(1), inner.size), w.item(0));
  w.store(w.buffer(3), to, kinds.sum, w.select(isInside, value, w.zero(kinds.sum)));
  w.finish();
  return {symbol, items};
}

VectorContraction contractionOf(const ConvRoles& roles, const PaddedInput& input) {
  VectorContraction all;
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

}  // namespace

bool emitVectorConvolution(const ConvRoles& roles, const ConvKinds& kinds, llvm::Module& module,
                           const WorkItemForm& form, const std::string& symbol,
                           OpKernels& kernels) {
  if (form.target.device != DeviceKind::kCpu) return false;
  int64_t inputElements = roles.batch * roles.inputFeatures;
  for (const ConvSpatialRole& s : roles.spatial) {
    inputElements *= s.kernelSize == 0 ? 0 : s.inputSize;
  }
  // Of larger arrays, the arithmetic on sizes need not fit.
  if (inputElements == 0 || inputElements > kMostElements) return false;
  std::optional<PaddedInput> found = padded(roles, kinds, kMostPadding * inputElements);
  if (!found) return false;
  const PaddedInput& input = *found;
  VectorContraction contraction = contractionOf(roles, input);
  contraction.lhs = kinds.lhs;
  contraction.rhs = kinds.rhs;
  contraction.result = kinds.result;
  contraction.sum = kinds.sum;
  if (input.isCopied) contraction.lhsAt = 0;
  int64_t copyBytes = input.isCopied ? input.elements * kinds.sum.storageBytes : 0;
  std::optional<VectorPlan> plan = planVectorContraction(contraction, copyBytes, form.target);
  if (!plan) return false;
  if (input.isCopied) {
    kernels.stages.push_back(emitPadding(input, kinds, module, form, symbol + "_pad"));
  }
  emitVectorContraction(*plan, module, form, symbol, kernels);
  return true;
}

}  // namespace isthmus::codegen
