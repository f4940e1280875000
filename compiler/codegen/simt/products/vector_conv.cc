#include "compiler/codegen/simt/products/vector_conv.h"

#include <algorithm>

#include "compiler/codegen/simt/kernel_writer.h"
#include "compiler/codegen/simt/products/vector_contraction.h"
#include "compiler/target/portable_cpu.h"
#include "llvm/ADT/bit.h"

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

// Where places of the copy are in the input, and whether they are inside.
struct PaddedPosition {
  llvm::Value* from;
  llvm::Value* isInside;
};

void addDimension(KernelWriter& w, const PaddedDim& dim, llvm::Value* at,
                  PaddedPosition& position) {
  if (dim.size == 1) at = w.i64(0);
  if (dim.padLow != 0) at = w.b().CreateSub(at, w.i64(dim.padLow));
  // Below zero is far beyond the end, as an unsigned number.
  if (dim.padLow > 0 || dim.size - dim.padLow > (dim.input - 1) * dim.dilation + 1) {
    position.isInside = w.b().CreateAnd(
        position.isInside, w.b().CreateICmpULT(at, w.i64((dim.input - 1) * dim.dilation + 1)));
  }
  if (dim.dilation > 1) {
    auto [quotient, remainder] = w.divide(at, dim.dilation);
    position.isInside = w.b().CreateAnd(position.isInside, w.b().CreateICmpEQ(remainder, w.i64(0)));
    at = quotient;
  }
  position.from = w.b().CreateAdd(position.from, w.b().CreateMul(at, w.i64(dim.stride)));
}

// The same for all dimensions from number `first` on, at place number `rest` in them.
void addDimensions(KernelWriter& w, const PaddedInput& input, size_t first, llvm::Value* rest,
                   PaddedPosition& position) {
  for (size_t d = first; d < input.inOrder.size(); ++d) {
    llvm::Value* at = nullptr;
    std::tie(rest, at) = w.divide(rest, input.inOrder[d].size);
    addDimension(w, input.inOrder[d], input.inOrder[d].size == 1 ? w.i64(0) : at, position);
  }
}

// `lanes` elements: outside, elements that are there are read and not used.
void copyElements(KernelWriter& w, const ProductKinds& kinds, const PaddedPosition& position,
                  llvm::Value* to, unsigned lanes) {
  llvm::Value* from = w.b().CreateSelect(position.isInside, position.from, w.i64(0));
  Val value = w.convert(w.load(w.buffer(0), from, kinds.lhs, lanes), kinds.lhs, kinds.sum);
  value = w.select(position.isInside, value, {llvm::Constant::getNullValue(value.re->getType())});
  w.store(w.buffer(3), to, kinds.sum, value);
}

// One element by each work-item.
OpKernel emitPaddingOfElements(const PaddedInput& input, const ProductKinds& kinds,
                               llvm::Module& module, const WorkItemForm& form,
                               const std::string& symbol) {
  const PaddedDim& inner = input.inOrder[0];
  Items items{inner.size, input.elements / inner.size, 1};
  KernelWriter w(module, form, symbol, 4, items);
  PaddedPosition position{w.i64(0), w.b().getTrue()};
  addDimension(w, inner, w.item(0), position);
  addDimensions(w, input, 1, w.item(1), position);
  copyElements(w, kinds, position, w.plus(w.times(w.item(1), inner.size), w.item(0)), 1);
  w.finish();
  return {symbol, items};
}

// Vectors along the innermost dimension, which has no padding; the two innermost dimensions by each
// work-item.
OpKernel emitPaddingOfVectors(const PaddedInput& input, const ProductKinds& kinds, unsigned lanes,
                              llvm::Module& module, const WorkItemForm& form,
                              const std::string& symbol) {
  const PaddedDim& inner = input.inOrder[0];
  const PaddedDim& middle = input.inOrder[1];
  Items items{input.elements / inner.size / middle.size, 1, 1};
  KernelWriter w(module, form, symbol, 4, items);
  PaddedPosition outer{w.i64(0), w.b().getTrue()};
  addDimensions(w, input, 2, w.item(0), outer);
  int64_t vectors = (inner.size + lanes - 1) / lanes;
  w.loop(middle.size, KernelWriter::Values(), [&](llvm::Value* i, const auto&) {
    PaddedPosition position = outer;
    addDimension(w, middle, i, position);
    llvm::Value* line = w.plus(w.times(w.item(0), middle.size), i);
    llvm::Value* to = w.times(line, inner.size);
    w.loop(vectors, KernelWriter::Values(), [&](llvm::Value* v, const auto&) {
      // The last vector ends where the dimension does.
      llvm::Value* first = w.times(v, lanes);
      llvm::Value* last = w.i64(inner.size - lanes);
      if (inner.size % lanes) {
        first = w.b().CreateSelect(w.b().CreateICmpULT(first, last), first, last);
      }
      PaddedPosition own{w.b().CreateAdd(position.from, first), position.isInside};
      copyElements(w, kinds, own, w.plus(to, first), lanes);
      return KernelWriter::Values();
    });
    return KernelWriter::Values();
  });
  w.finish();
  return {symbol, items, 1, true};
}

OpKernel emitPadding(const PaddedInput& input, const ProductKinds& kinds, llvm::Module& module,
                     const WorkItemForm& form, const std::string& symbol) {
  const PaddedDim& inner = input.inOrder[0];
  auto lanes = static_cast<unsigned>(std::min<int64_t>(
      vectorLanes(form.target, kinds.sum.computeBits()), llvm::bit_floor(uint64_t(inner.size))));
  bool isWhole = inner.size == inner.input && inner.padLow == 0 && inner.stride == 1;
  return lanes >= 4 && isWhole ? emitPaddingOfVectors(input, kinds, lanes, module, form, symbol)
                               : emitPaddingOfElements(input, kinds, module, form, symbol);
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

bool emitVectorConvolution(const ConvRoles& roles, const ProductKinds& kinds, llvm::Module& module,
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
