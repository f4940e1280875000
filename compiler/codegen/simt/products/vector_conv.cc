#include "compiler/codegen/simt/products/vector_conv.h"

#include <algorithm>

#include "compiler/codegen/simt/products/vector_contraction.h"
#include "llvm/ADT/bit.h"

namespace isthmus::codegen {
namespace {

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
void copyElements(ProductWriter& w, const ProductKinds& kinds, const PaddedPosition& position,
                  llvm::Value* to, unsigned lanes) {
  llvm::Value* from = w.b().CreateSelect(position.isInside, position.from, w.i64(0));
  Val value = w.convert(w.load(w.lhs(), from, kinds.lhs, lanes), kinds.lhs, kinds.sum);
  value = w.select(position.isInside, value, {llvm::Constant::getNullValue(value.re->getType())});
  w.store(w.scratch(), to, kinds.sum, value);
}

// One element by each work-item.
OpKernel emitPaddingOfElements(const PaddedInput& input, const ProductTask& task,
                               llvm::Module& module, const WorkItemForm& form,
                               const std::string& symbol) {
  const PaddedDim& inner = input.inOrder[0];
  Items items{inner.size, input.elements / inner.size, 1};
  ProductWriter w(module, form, symbol, task, items, 1, true);
  PaddedPosition position{w.i64(0), w.b().getTrue()};
  addDimension(w, inner, w.item(0), position);
  addDimensions(w, input, 1, w.item(1), position);
  copyElements(w, task.kinds, position, w.plus(w.times(w.item(1), inner.size), w.item(0)), 1);
  w.KernelWriter::finish();
  return {symbol, items};
}

// Vectors along the innermost dimension, which has no padding; the two innermost dimensions by each
// work-item.
OpKernel emitPaddingOfVectors(const PaddedInput& input, const ProductTask& task, unsigned lanes,
                              llvm::Module& module, const WorkItemForm& form,
                              const std::string& symbol) {
  const PaddedDim& inner = input.inOrder[0];
  const PaddedDim& middle = input.inOrder[1];
  Items items{input.elements / inner.size / middle.size, 1, 1};
  ProductWriter w(module, form, symbol, task, items, 1, true);
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
      copyElements(w, task.kinds, own, w.plus(to, first), lanes);
      return KernelWriter::Values();
    });
    return KernelWriter::Values();
  });
  w.KernelWriter::finish();
  return {symbol, items, 1, true};
}

OpKernel emitPadding(const PaddedInput& input, const ProductTask& task, llvm::Module& module,
                     const WorkItemForm& form, const std::string& symbol) {
  const PaddedDim& inner = input.inOrder[0];
  auto lanes =
      static_cast<unsigned>(std::min<int64_t>(form.target.vectorLanes(task.kinds.sum.computeBits()),
                                              llvm::bit_floor(uint64_t(inner.size))));
  bool isWhole = inner.size == inner.input && inner.padLow == 0 && inner.stride == 1;
  return lanes >= 4 && isWhole ? emitPaddingOfVectors(input, task, lanes, module, form, symbol)
                               : emitPaddingOfElements(input, task, module, form, symbol);
}

}  // namespace

StatusOr<OpKernels> emitVectorConvolution(const ConvRoles& roles, const ProductTask& task,
                                          llvm::Module& module, const WorkItemForm& form,
                                          const std::string& symbol) {
  const ProductKinds& kinds = task.kinds;
  std::optional<PaddedInput> found = paddedInputOf(roles, kinds);
  if (!found) return internalError("a convolution without an input");
  const PaddedInput& input = *found;
  int64_t copyBytes = input.isCopied ? input.elements * kinds.sum.storageBytes : 0;
  VectorPlan plan = planOf(contractionOf(roles, kinds, input), task.stage, copyBytes);
  OpKernels kernels;
  if (input.isCopied) {
    kernels.stages.push_back(emitPadding(input, task, module, form, symbol + "_pad"));
  }
  ISTHMUS_RETURN_IF_ERROR(emitVectorContraction(plan, task, module, form, symbol, kernels));
  return kernels;
}

}  // namespace isthmus::codegen
