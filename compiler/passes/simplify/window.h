// Windows of arrays, and what of its operands an operation makes a window of its result of.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/array_shape.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace isthmus {

// Which indices of an array are kept along each dimension: start, start + stride, …, below limit.
struct Window {
  using Dims = llvm::SmallVector<int64_t>;
  Dims starts, limits, strides;

  static Window ofAll(mlir::Value array) {
    Window window;
    for (int64_t size : tensorTypeOf(array).getShape()) window.keep(0, size, 1);
    return window;
  }
  static Window of(shlo::SliceOp slice) {
    return {Dims(slice.getStartIndices()), Dims(slice.getLimitIndices()), Dims(slice.getStrides())};
  }

  void keep(int64_t start, int64_t limit, int64_t stride) {
    starts.push_back(start);
    limits.push_back(limit);
    strides.push_back(stride);
  }
  void keepAs(const Window& other, size_t d) {
    keep(other.starts[d], other.limits[d], other.strides[d]);
  }
  void set(size_t d, int64_t start, int64_t limit) {
    starts[d] = start;
    limits[d] = limit;
  }
  // Strides may be as large as their type.
  int64_t size(size_t d) const {
    return limits[d] > starts[d] ? (limits[d] - starts[d] - 1) / strides[d] + 1 : 0;
  }
  int64_t last(size_t d) const { return starts[d] + (size(d) - 1) * strides[d]; }
  bool keepsAll(size_t d, int64_t size) const {
    return starts[d] == 0 && limits[d] == size && (strides[d] == 1 || size == 1);
  }
  bool keepsAll(mlir::Value array) const {
    return llvm::all_of(llvm::enumerate(tensorTypeOf(array).getShape()),
                        [&](auto dim) { return keepsAll(dim.index(), dim.value()); });
  }
  Dims shape() const {
    Dims sizes;
    for (size_t d = 0; d < starts.size(); ++d) sizes.push_back(size(d));
    return sizes;
  }
  int64_t elements() const {
    int64_t count = 1;
    for (int64_t kept : shape()) count *= kept;
    return count;
  }
  bool isEmpty() const { return elements() == 0; }
  bool operator==(const Window& other) const {
    return starts == other.starts && limits == other.limits && strides == other.strides;
  }
};

// A part of an array.
struct Part {
  mlir::Value array;
  Window window;
};

// The parts of what is joined that a window of it has, in order; nothing if they are more than a
// few.
std::optional<llvm::SmallVector<Part>> partsOfJoined(shlo::ConcatenateOp joined,
                                                     const Window& window);

// The part of what is padded that a window of the result has, and the padding that is left of it.
struct PartOfPadded {
  Window window;
  Window::Dims low, high;
};
// Nothing if it is no window, as between dilated elements.
std::optional<PartOfPadded> partOfPadded(shlo::PadOp pad, const Window& window);

// What the operands must be cut to for a window of the result of `op`, one for each operand but of
// concatenations (those that have a part) and of pads (what is padded); nothing if it is made as a
// whole.
std::optional<llvm::SmallVector<Part>> partsOfOperands(mlir::Operation* op, const Window& window);

}  // namespace isthmus
