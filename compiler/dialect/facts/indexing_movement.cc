// How elementwise operations and those that place elements elsewhere index.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/indexing_rules.h"

namespace isthmus {

using Exprs = llvm::SmallVector<mlir::AffineExpr, 6>;

// Scalars of clamp and select are read whole.
void indexElementwise(IndexingBuilder& b) {
  for (unsigned i = 0; i < b.op()->getNumOperands(); ++i) {
    if (b.shapeOf(i) == b.resultShape()) b.set(i, b.identity());
  }
}

// Result i is operand i; the others are waited for, not read.
void indexBarrier(IndexingBuilder& b) {
  for (unsigned i = 0; i < b.op()->getNumOperands(); ++i) b.setUnread(i);
  b.set(b.result(), b.identity());
}

void indexBitcast(IndexingBuilder& b) {
  Exprs indices = b.identity();
  llvm::ArrayRef<int64_t> from = b.shapeOf(0);
  if (from.size() > indices.size()) indices.push_back(b.symbol(SymbolKind::kReduced, from.back()));
  if (from.size() < indices.size()) indices.pop_back();
  b.set(0, indices);
}

void indexBroadcast(IndexingBuilder& b) {
  auto broadcast = llvm::cast<shlo::BroadcastInDimOp>(b.op());
  Exprs indices;
  for (auto [d, target] : llvm::enumerate(broadcast.getBroadcastDimensions())) {
    bool grows = b.shapeOf(0)[d] == 1 && b.resultShape()[target] != 1;
    indices.push_back(grows ? b.constant(0) : b.dim(target));
  }
  b.set(0, indices);
}

void indexConcatenate(IndexingBuilder& b) {
  auto along = static_cast<int64_t>(llvm::cast<shlo::ConcatenateOp>(b.op()).getDimension());
  Exprs indices = b.identity();
  int64_t begin = 0;
  for (unsigned i = 0; i < b.op()->getNumOperands(); ++i) {
    indices[along] = b.dim(along) - begin;
    b.set(i, indices);
    begin += b.shapeOf(i)[along];
  }
}

void indexDynamicSlice(IndexingBuilder& b) {
  Exprs indices = b.identity();
  for (size_t d = 0; d < indices.size(); ++d) {
    int64_t starts = b.shapeOf(0)[d] - b.resultShape()[d] + 1;
    if (starts > 1) indices[d] = indices[d] + b.symbol(SymbolKind::kSelected, starts);
  }
  b.set(0, indices);
}

// What is not overwritten stays where it is.
void indexDynamicUpdateSlice(IndexingBuilder& b) {
  b.set(0, b.identity());
  Exprs indices = b.identity();
  for (size_t d = 0; d < indices.size(); ++d) {
    int64_t starts = b.resultShape()[d] - b.shapeOf(1)[d] + 1;
    if (starts > 1) indices[d] = indices[d] - b.symbol(SymbolKind::kSelected, starts);
  }
  b.set(1, indices);
}

void indexGather(IndexingBuilder& b) {
  auto gather = llvm::cast<shlo::GatherOp>(b.op());
  shlo::GatherDimensionNumbersAttr dims = gather.getDimensionNumbers();
  // The result's dimensions that the indices have: those of the indices' dimensions in order.
  llvm::ArrayRef<int64_t> indicesShape = b.shapeOf(1);
  int64_t vectorDim = dims.getIndexVectorDim(), next = 0;
  llvm::SmallVector<int64_t, 6> resultDimOf(indicesShape.size(), -1);
  for (int64_t to = 0; to < static_cast<int64_t>(b.resultShape().size()); ++to) {
    if (llvm::is_contained(dims.getOffsetDims(), to)) continue;
    if (next == vectorDim) ++next;
    resultDimOf[next++] = to;
  }
  Exprs starts;
  for (size_t d = 0; d < indicesShape.size(); ++d) {
    starts.push_back(static_cast<int64_t>(d) == vectorDim
                         ? b.symbol(SymbolKind::kWhole, indicesShape[d])
                         : b.dim(resultDimOf[d]));
  }
  b.set(1, starts);

  Exprs indices;
  size_t window = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(b.shapeOf(0).size()); ++d) {
    const auto* batch = llvm::find(dims.getOperandBatchingDims(), d);
    if (batch != dims.getOperandBatchingDims().end()) {
      size_t position = batch - dims.getOperandBatchingDims().begin();
      indices.push_back(b.dim(resultDimOf[dims.getStartIndicesBatchingDims()[position]]));
      continue;
    }
    int64_t size = gather.getSliceSizes()[d];
    mlir::AffineExpr index = b.constant(0);
    if (!llvm::is_contained(dims.getCollapsedSliceDims(), d)) {
      index = b.dim(dims.getOffsetDims()[window++]);
    }
    // Starts are kept inside the operand; what none is given for begins at 0.
    int64_t room = b.shapeOf(0)[d] - size + 1;
    if (room > 1 && llvm::is_contained(dims.getStartIndexMap(), d)) {
      index = index + b.symbol(SymbolKind::kSelected, room);
    }
    indices.push_back(index);
  }
  b.set(0, indices);
}

void indexPad(IndexingBuilder& b) {
  auto pad = llvm::cast<shlo::PadOp>(b.op());
  Exprs indices, zeros;
  for (size_t d = 0; d < b.resultShape().size(); ++d) {
    mlir::AffineExpr index = b.dim(d) - pad.getEdgePaddingLow()[d];
    int64_t step = pad.getInteriorPadding()[d] + 1;
    if (step > 1) {
      zeros.push_back(index % step);
      index = index.floorDiv(step);
    }
    indices.push_back(index);
  }
  b.set(0, indices, zeros);
}

// Within each group, the operand's indices are the digits of the result's index.
void indexReshape(IndexingBuilder& b) {
  llvm::ArrayRef<int64_t> from = b.shapeOf(0), to = b.resultShape();
  ReshapeGroups groups = reshapeGroups(from, to);
  if (groups.from.empty() && !from.empty()) return;
  Exprs indices(from.size());
  for (size_t g = 0; g < groups.from.size(); ++g) {
    auto [begin, end] = groups.from[g];
    auto [toBegin, toEnd] = groups.to[g];
    mlir::AffineExpr linear = b.constant(0);
    for (int64_t d = toBegin; d < toEnd; ++d) {
      if (to[d] != 1) linear = linear * to[d] + b.dim(d);
    }
    int64_t stride = 1, elements = 1;
    for (int64_t d = begin; d < end; ++d) elements *= from[d];
    for (int64_t d = end - 1; d >= begin; --d) {
      mlir::AffineExpr digit = linear.floorDiv(stride);
      stride *= from[d];
      if (stride < elements) digit = digit % from[d];
      indices[d] = from[d] == 1 ? b.constant(0) : digit;
    }
  }
  b.set(0, indices);
}

void indexReverse(IndexingBuilder& b) {
  Exprs indices = b.identity();
  for (int64_t d : llvm::cast<shlo::ReverseOp>(b.op()).getDimensions()) {
    indices[d] = b.constant(b.resultShape()[d] - 1) - b.dim(d);
  }
  b.set(0, indices);
}

void indexSlice(IndexingBuilder& b) {
  auto slice = llvm::cast<shlo::SliceOp>(b.op());
  Exprs indices;
  for (size_t d = 0; d < b.resultShape().size(); ++d) {
    indices.push_back(b.dim(d) * slice.getStrides()[d] + slice.getStartIndices()[d]);
  }
  b.set(0, indices);
}

void indexTranspose(IndexingBuilder& b) {
  llvm::ArrayRef<int64_t> permutation = llvm::cast<shlo::TransposeOp>(b.op()).getPermutation();
  Exprs indices(permutation.size());
  for (auto [to, from] : llvm::enumerate(permutation)) indices[from] = b.dim(to);
  b.set(0, indices);
}

}  // namespace isthmus
