// How reductions, windows, contractions and sorts index.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/indexing_rules.h"

namespace isthmus {
namespace {

using Exprs = llvm::SmallVector<mlir::AffineExpr, 6>;
using Sizes = std::optional<llvm::ArrayRef<int64_t>>;

int64_t atOr(const Sizes& sizes, size_t d, int64_t otherwise) {
  return sizes ? (*sizes)[d] : otherwise;
}

int64_t paddingBefore(const std::optional<mlir::DenseIntElementsAttr>& padding, size_t d) {
  return padding ? padding->getValues<int64_t>()[{d, 0}] : 0;
}

struct Window {
  int64_t size = 1, stride = 1, dilation = 1, baseDilation = 1, low = 0;
};

// The index that position `offset` of the window at `position` has in what it slides over.
mlir::AffineExpr windowIndex(const Window& window, mlir::AffineExpr position,
                             mlir::AffineExpr offset, Exprs& zeros) {
  mlir::AffineExpr index = position * window.stride + offset * window.dilation - window.low;
  if (window.baseDilation == 1) return index;
  zeros.push_back(index % window.baseDilation);
  return index.floorDiv(window.baseDilation);
}

template <typename Op>
Window windowOf(Op op, size_t d) {
  return {atOr(op.getWindowDimensions(), d, 1), atOr(op.getWindowStrides(), d, 1), 1, 1,
          paddingBefore(op.getPadding(), d)};
}

}  // namespace

void indexReduce(IndexingBuilder& b) {
  auto reduce = llvm::cast<shlo::ReduceOp>(b.op());
  Exprs indices;
  int64_t kept = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(b.shapeOf(0).size()); ++d) {
    bool isReduced = llvm::is_contained(reduce.getDimensions(), d);
    indices.push_back(isReduced ? b.symbol(SymbolKind::kReduced, b.shapeOf(0)[d]) : b.dim(kept++));
  }
  for (unsigned i = 0; i < reduce.getInputs().size(); ++i) b.set(i, indices);
}

void indexReduceWindow(IndexingBuilder& b) {
  auto reduce = llvm::cast<shlo::ReduceWindowOp>(b.op());
  Exprs indices, zeros;
  for (size_t d = 0; d < b.resultShape().size(); ++d) {
    Window window = windowOf(reduce, d);
    window.size = reduce.getWindowDimensions()[d];
    window.dilation = atOr(reduce.getWindowDilations(), d, 1);
    window.baseDilation = atOr(reduce.getBaseDilations(), d, 1);
    mlir::AffineExpr offset =
        window.size == 1 ? b.constant(0) : b.symbol(SymbolKind::kReduced, window.size);
    indices.push_back(windowIndex(window, b.dim(d), offset, zeros));
  }
  for (unsigned i = 0; i < reduce.getInputs().size(); ++i) b.set(i, indices, zeros);
}

void indexDotGeneral(IndexingBuilder& b) {
  auto dims = llvm::cast<shlo::DotGeneralOp>(b.op()).getDotDimensionNumbers();
  Exprs left(b.shapeOf(0).size()), right(b.shapeOf(1).size());
  int64_t next = 0;
  for (auto [l, r] : llvm::zip(dims.getLhsBatchingDimensions(), dims.getRhsBatchingDimensions())) {
    left[l] = right[r] = b.dim(next++);
  }
  for (auto [l, r] :
       llvm::zip(dims.getLhsContractingDimensions(), dims.getRhsContractingDimensions())) {
    left[l] = right[r] = b.symbol(SymbolKind::kReduced, b.shapeOf(0)[l]);
  }
  for (Exprs* indices : {&left, &right}) {
    for (mlir::AffineExpr& index : *indices) {
      if (!index) index = b.dim(next++);
    }
  }
  b.set(0, left);
  b.set(1, right);
}

void indexConvolution(IndexingBuilder& b) {
  auto op = llvm::cast<shlo::ConvolutionOp>(b.op());
  shlo::ConvDimensionNumbersAttr dims = op.getDimensionNumbers();
  Exprs input(b.shapeOf(0).size()), kernel(b.shapeOf(1).size()), zeros;
  int64_t outFeatures = b.resultShape()[dims.getOutputFeatureDimension()];
  if (outFeatures == 0) return;
  mlir::AffineExpr feature = b.dim(dims.getOutputFeatureDimension());
  mlir::AffineExpr batch = b.dim(dims.getOutputBatchDimension());
  // Groups of output features read their own part of the input's features, or of its batch.
  int64_t groups = static_cast<int64_t>(op.getFeatureGroupCount());
  int64_t batchGroups = static_cast<int64_t>(op.getBatchGroupCount());
  if (batchGroups > 1) {
    batch = batch + feature.floorDiv(outFeatures / batchGroups) *
                        (b.shapeOf(0)[dims.getInputBatchDimension()] / batchGroups);
  }
  int64_t features = b.shapeOf(1)[dims.getKernelInputFeatureDimension()];
  mlir::AffineExpr channel = b.symbol(SymbolKind::kReduced, features);
  mlir::AffineExpr inputChannel = channel;
  if (groups > 1) inputChannel = feature.floorDiv(outFeatures / groups) * features + channel;
  input[dims.getInputBatchDimension()] = batch;
  input[dims.getInputFeatureDimension()] = inputChannel;
  kernel[dims.getKernelInputFeatureDimension()] = channel;
  kernel[dims.getKernelOutputFeatureDimension()] = feature;
  for (size_t i = 0; i < dims.getInputSpatialDimensions().size(); ++i) {
    int64_t kernelDim = dims.getKernelSpatialDimensions()[i];
    Window window{b.shapeOf(1)[kernelDim], atOr(op.getWindowStrides(), i, 1),
                  atOr(op.getRhsDilation(), i, 1), atOr(op.getLhsDilation(), i, 1),
                  paddingBefore(op.getPadding(), i)};
    mlir::AffineExpr offset =
        window.size == 1 ? b.constant(0) : b.symbol(SymbolKind::kReduced, window.size);
    bool isReversed = op.getWindowReversal() && (*op.getWindowReversal())[i];
    kernel[kernelDim] = isReversed ? b.constant(window.size - 1) - offset : offset;
    input[dims.getInputSpatialDimensions()[i]] =
        windowIndex(window, b.dim(dims.getOutputSpatialDimensions()[i]), offset, zeros);
  }
  b.set(0, input, zeros);
  b.set(1, kernel);
}

void indexSort(IndexingBuilder& b) {
  int64_t along = llvm::cast<shlo::SortOp>(b.op()).getDimension();
  Exprs indices = b.identity();
  if (along < 0) along += static_cast<int64_t>(indices.size());
  indices[along] = b.symbol(SymbolKind::kWhole, b.resultShape()[along]);
  for (unsigned i = 0; i < b.op()->getNumOperands(); ++i) b.set(i, indices);
}

void indexMatrices(IndexingBuilder& b) {
  for (unsigned i = 0; i < b.op()->getNumOperands(); ++i) {
    Exprs indices = b.identity();
    size_t rank = indices.size();
    for (size_t d : {rank - 2, rank - 1}) {
      indices[d] = b.symbol(SymbolKind::kWhole, b.shapeOf(i)[d]);
    }
    b.set(i, indices);
  }
}

void indexFft(IndexingBuilder& b) {
  Exprs indices = b.identity();
  size_t transformed = llvm::cast<shlo::FftOp>(b.op()).getFftLength().size();
  for (size_t d = indices.size() - transformed; d < indices.size(); ++d) {
    indices[d] = b.symbol(SymbolKind::kWhole, b.shapeOf(0)[d]);
  }
  b.set(0, indices);
}

// A result keeps its input's place; which updates come there, the indices say. Dimensions that a
// window fills wholly begin at 0, for other starts are outside.
void indexScatter(IndexingBuilder& b) {
  auto scatter = llvm::cast<shlo::ScatterOp>(b.op());
  shlo::ScatterDimensionNumbersAttr dims = scatter.getScatterDimensionNumbers();
  unsigned count = scatter.getInputs().size();
  Exprs updates(b.shapeOf(count + 1).size());
  Exprs starts(b.shapeOf(count).size());
  size_t window = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(b.resultShape().size()); ++d) {
    if (llvm::is_contained(dims.getInsertedWindowDims(), d) ||
        llvm::is_contained(dims.getInputBatchingDims(), d)) {
      continue;
    }
    int64_t from = dims.getUpdateWindowDims()[window++];
    int64_t size = b.shapeOf(count + 1)[from], room = b.resultShape()[d] - size;
    bool isMoved = room > 0 && llvm::is_contained(dims.getScatterDimsToOperandDims(), d);
    updates[from] = b.dim(d);
    if (isMoved) updates[from] = updates[from] - b.symbol(SymbolKind::kSelected, room + 1);
  }
  // The other dimensions of the updates are those of the indices, in order.
  int64_t next = 0;
  for (auto [u, update] : llvm::enumerate(updates)) {
    if (update) continue;
    if (next == dims.getIndexVectorDim()) ++next;
    const auto* batch = llvm::find(dims.getScatterIndicesBatchingDims(), next);
    if (batch != dims.getScatterIndicesBatchingDims().end()) {
      size_t position = batch - dims.getScatterIndicesBatchingDims().begin();
      update = b.dim(dims.getInputBatchingDims()[position]);
    } else {
      update = b.symbol(SymbolKind::kSelected, b.shapeOf(count + 1)[u]);
    }
    starts[next++] = update;
  }
  for (auto [d, start] : llvm::enumerate(starts)) {
    if (!start) start = b.symbol(SymbolKind::kWhole, b.shapeOf(count)[d]);
  }
  b.set(count, starts);
  for (unsigned i = 0; i < count; ++i) {
    b.set(i, b.identity());
    b.set(count + 1 + i, updates);
  }
}

// Each window of the operand chooses where its element of the source goes: an element of the result
// may come of any window that it lies in, and such a window is all read.
void indexSelectAndScatter(IndexingBuilder& b) {
  auto op = llvm::cast<shlo::SelectAndScatterOp>(b.op());
  Exprs operand, source;
  for (size_t d = 0; d < b.resultShape().size(); ++d) {
    Window window = windowOf(op, d);
    bool isPlain = window.size == 1 && window.stride == 1 && window.low == 0 &&
                   b.shapeOf(1)[d] == b.resultShape()[d];
    operand.push_back(isPlain ? b.dim(d) : b.symbol(SymbolKind::kWhole, b.shapeOf(0)[d]));
    source.push_back(isPlain ? b.dim(d) : b.symbol(SymbolKind::kWhole, b.shapeOf(1)[d]));
  }
  b.set(0, operand);
  b.set(1, source);
}

}  // namespace isthmus
