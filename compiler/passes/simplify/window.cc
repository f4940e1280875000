#include "compiler/passes/simplify/window.h"

#include <algorithm>

#include "compiler/dialect/facts/indexing.h"
#include "compiler/dialect/facts/op_facts.h"

namespace isthmus {
namespace {

using mlir::Value;
using Dims = Window::Dims;

// Operations that need only other operands to make a part of their result: where that reads, the
// indexing maps tell.
bool isMadeInParts(mlir::Operation* op, const Window& window) {
  if (llvm::isa<shlo::TransposeOp, shlo::BroadcastInDimOp, shlo::ReverseOp, shlo::ReduceOp,
                shlo::DotGeneralOp>(op)) {
    return true;
  }
  if (auto gather = llvm::dyn_cast<shlo::GatherOp>(op)) {
    const auto type = tensorTypeOf(gather.getResult());
    return llvm::all_of(gather.getDimensionNumbers().getOffsetDims(),
                        [&](int64_t d) { return window.keepsAll(d, type.getDimSize(d)); });
  }
  return fusionClass(op) == FusionClass::kElementwise && op->getNumRegions() == 0;
}

// What part of the operand a window of the result is made of; nothing if it is no window.
std::optional<Window> windowOfOperand(mlir::Operation* op, const IndexingMaps& maps,
                                      unsigned operand, const Window& window) {
  Window result;
  if (!maps.operands[operand].map) return Window::ofAll(op->getOperand(operand));
  for (auto [d, size] : llvm::enumerate(tensorTypeOf(op->getOperand(operand)).getShape())) {
    std::optional<DimIndex> index = maps.index(operand, static_cast<int64_t>(d));
    if (!index) return std::nullopt;
    const bool isWhole =
        !index->dim ||
        window.keepsAll(*index->dim, tensorTypeOf(op->getResult(0)).getDimSize(*index->dim));
    if (isWhole) {
      result.keep(0, size, 1);
    } else if (index->isDim()) {
      result.keepAs(window, *index->dim);
    } else if (index->stride == -1 && index->divisor == 1 && index->terms.empty()) {
      result.keep(index->offset - window.last(*index->dim),
                  index->offset - window.starts[*index->dim] + 1, window.strides[*index->dim]);
    } else {
      return std::nullopt;
    }
  }
  return result;
}

// The part of the dimensions `from` of an array that `count` elements from `first` on, in row-major
// order, are; false if they are no window.
bool keepStretch(Window& window, llvm::ArrayRef<int64_t> shape, ReshapeGroups::Range from,
                 int64_t first, int64_t count) {
  int64_t inner = 1;
  for (int64_t d = from.first; d < from.second; ++d) inner *= shape[d];
  for (int64_t d = from.first; d < from.second; ++d) {
    inner /= shape[d];
    const int64_t begin = first / inner, end = (first + count - 1) / inner + 1;
    window.set(d, begin, end);
    if (end - begin > 1) return first % inner == 0 && count % inner == 0;
    first %= inner;
  }
  return true;
}

// The part of what is reshaped that a window of the result is made of; nothing if it is no window.
std::optional<Window> windowOfReshaped(shlo::ReshapeOp reshape, const Window& window) {
  const auto from = tensorTypeOf(reshape.getOperand()).getShape();
  const auto to = tensorTypeOf(reshape.getResult()).getShape();
  const ReshapeGroups groups = reshapeGroups(from, to);
  if (groups.to.empty()) return std::nullopt;
  Window result = Window::ofAll(reshape.getOperand());
  for (auto [fromRange, toRange] : llvm::zip_equal(groups.from, groups.to)) {
    Dims wide, wideFrom;  // dimensions other than 1
    for (int64_t d = toRange.first; d < toRange.second; ++d) {
      if (to[d] != 1) wide.push_back(d);
    }
    for (int64_t d = fromRange.first; d < fromRange.second; ++d) {
      if (from[d] != 1) wideFrom.push_back(d);
    }
    if (wide.size() == 1 && wideFrom.size() == 1) {
      result.set(wideFrom[0], window.starts[wide[0]], window.limits[wide[0]]);
      result.strides[wideFrom[0]] = window.strides[wide[0]];
      continue;
    }
    // One index of outer dimensions, some of the next, all of inner ones: elements that follow each
    // other.
    int64_t first = 0, count = 1;
    bool isOuter = true;
    for (int64_t d : wide) {
      if (!isOuter && !window.keepsAll(d, to[d])) return std::nullopt;
      if (window.size(d) > 1) {
        isOuter = false;
        if (window.strides[d] != 1) return std::nullopt;
      }
      first = first * to[d] + window.starts[d];
      count *= window.size(d);
    }
    if (!keepStretch(result, from, fromRange, first, count)) return std::nullopt;
  }
  return result;
}

}  // namespace

std::optional<llvm::SmallVector<Part>> partsOfJoined(shlo::ConcatenateOp joined,
                                                     const Window& window) {
  constexpr size_t kMaxParts = 16;
  const uint64_t d = joined.getDimension();
  llvm::SmallVector<Part> parts;
  int64_t begin = 0;
  const int64_t stride = window.strides[d];
  for (Value input : joined.getInputs()) {
    const int64_t end = begin + tensorTypeOf(input).getDimSize(static_cast<int64_t>(d));
    // The first index that is kept and is not before `begin`.
    const int64_t start = window.starts[d];
    const int64_t steps = begin > start ? (begin - start - 1) / stride + 1 : 0;
    if (steps >= window.size(d)) break;
    const int64_t first = start + steps * stride;
    const int64_t limit = std::min(end, window.limits[d]);
    if (first < limit) {
      Part part{input, window};
      part.window.set(d, first - begin, limit - begin);
      if (parts.size() == kMaxParts) return std::nullopt;
      parts.push_back(std::move(part));
    }
    begin = end;
  }
  return parts;
}

std::optional<PartOfPadded> partOfPadded(shlo::PadOp pad, const Window& window) {
  PartOfPadded part{Window::ofAll(pad.getOperand()), Dims(pad.getEdgePaddingLow()),
                    Dims(pad.getEdgePaddingHigh())};
  for (auto [d, size] : llvm::enumerate(pad.getOperand().getType().getShape())) {
    const int64_t dim = static_cast<int64_t>(d), low = part.low[d];
    if (window.keepsAll(d, pad.getType().getDimSize(dim))) continue;
    if (pad.getInteriorPadding()[d] != 0) return std::nullopt;
    if (low == 0 && part.high[d] == 0) {
      part.window.set(d, window.starts[d], window.limits[d]);
      part.window.strides[d] = window.strides[d];
      continue;
    }
    if (window.strides[d] != 1) return std::nullopt;
    const int64_t begin = std::clamp<int64_t>(window.starts[d] - low, 0, size);
    const int64_t end = std::clamp<int64_t>(window.limits[d] - low, begin, size);
    part.low[d] = std::clamp<int64_t>(low - window.starts[d], 0, window.size(d));
    part.high[d] = window.size(d) - part.low[d] - (end - begin);
    part.window.set(d, begin, end);
  }
  return part;
}

std::optional<llvm::SmallVector<Part>> partsOfOperands(mlir::Operation* op, const Window& window) {
  llvm::SmallVector<Part> parts;
  auto only = [&](std::optional<Window> part) {
    if (part) parts.push_back({op->getOperand(0), std::move(*part)});
    return part ? std::optional(parts) : std::nullopt;
  };
  if (auto reshape = llvm::dyn_cast<shlo::ReshapeOp>(op)) {
    return only(windowOfReshaped(reshape, window));
  }
  if (auto joined = llvm::dyn_cast<shlo::ConcatenateOp>(op)) return partsOfJoined(joined, window);
  if (auto pad = llvm::dyn_cast<shlo::PadOp>(op)) {
    std::optional<PartOfPadded> part = partOfPadded(pad, window);
    return only(part ? std::optional(part->window) : std::nullopt);
  }
  if (!isMadeInParts(op, window)) return std::nullopt;
  const IndexingMaps maps = indexingMaps(op);
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    std::optional<Window> part = windowOfOperand(op, maps, i, window);
    if (!part) return std::nullopt;
    parts.push_back({op->getOperand(i), std::move(*part)});
  }
  return parts;
}

}  // namespace isthmus
