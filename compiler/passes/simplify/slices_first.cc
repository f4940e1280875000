// Slices of arrays of which nothing else is read: what computes or moves them does so for the
// elements that are kept alone.
#include <algorithm>
#include <optional>
#include <vector>

#include "compiler/cost/rematerialization.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/indexing.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/simplify/match.h"
#include "compiler/passes/simplify/patterns.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;

// Bounds the search and what one rewrite makes.
constexpr size_t kMaxOperations = 64;
// Each slice of an array that several take has operations of its own.
constexpr size_t kMaxSlices = 8;
constexpr size_t kMaxParts = 16;

// Which indices of an array are kept along each dimension: start, start + stride, …, below limit.
struct Window {
  Dims starts, limits, strides;

  static Window ofAll(Value array) {
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
  int64_t size(size_t d) const {
    return std::max<int64_t>(0, (limits[d] - starts[d] + strides[d] - 1) / strides[d]);
  }
  int64_t last(size_t d) const { return starts[d] + (size(d) - 1) * strides[d]; }
  bool keepsAll(size_t d, int64_t size) const {
    return starts[d] == 0 && limits[d] == size && (strides[d] == 1 || size == 1);
  }
  bool keepsAll(Value array) const {
    return llvm::all_of(llvm::enumerate(tensorTypeOf(array).getShape()),
                        [&](auto dim) { return keepsAll(dim.index(), dim.value()); });
  }
  Dims shape() const {
    Dims sizes;
    for (size_t d = 0; d < starts.size(); ++d) sizes.push_back(size(d));
    return sizes;
  }
  bool isEmpty() const { return llvm::is_contained(shape(), 0); }
  bool operator==(const Window& other) const {
    return starts == other.starts && limits == other.limits && strides == other.strides;
  }
};

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

// A part of an array that is joined of others.
struct Part {
  Value array;
  Window window;
};

std::optional<llvm::SmallVector<Part>> partsOfJoined(shlo::ConcatenateOp joined,
                                                     const Window& window) {
  const uint64_t d = joined.getDimension();
  llvm::SmallVector<Part> parts;
  int64_t begin = 0;
  const int64_t stride = window.strides[d];
  for (Value input : joined.getInputs()) {
    const int64_t end = begin + tensorTypeOf(input).getDimSize(static_cast<int64_t>(d));
    // The first index that is kept and is not before `begin`.
    const int64_t steps = std::max<int64_t>(0, (begin - window.starts[d] + stride - 1) / stride);
    const int64_t first = window.starts[d] + steps * stride;
    const int64_t limit = std::min(end, window.limits[d]);
    if (first < limit) {
      Part part{input, window};
      part.window.set(d, first - begin, limit - begin);
      parts.push_back(std::move(part));
    }
    begin = end;
  }
  if (parts.size() > kMaxParts) return std::nullopt;
  return parts;
}

// The part of what is padded that a window of the result has, and the padding that is left of it.
struct PartOfPadded {
  Window window;
  Dims low, high;
};

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

// What the operands must be cut to for a window of the result of `op`; nothing if it is made as a
// whole.
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

int64_t elementsOf(const Window& window) {
  int64_t count = 1;
  for (int64_t size : window.shape()) count *= size;
  return count;
}

bool isContraction(mlir::Operation* op) {
  return llvm::isa_and_nonnull<shlo::DotGeneralOp, shlo::ConvolutionOp>(op);
}

// Whether parts of the result, of `kept` elements together, are worth their own operation.
bool isWorthMoving(mlir::Operation* op, int64_t kept) {
  const int64_t all = elementCount(op->getResult(0).getType());
  // A product reads more than it makes, and what follows it directly is its epilogue.
  const bool belongsToContraction =
      isContraction(op) || (fusionClass(op) == FusionClass::kElementwise &&
                            llvm::any_of(op->getOperands(), [](Value operand) {
                              return isContraction(operand.getDefiningOp());
                            }));
  return belongsToContraction ? 2 * kept <= all : kept < all;
}

bool canBeMoved(mlir::Operation* op, mlir::Block* block) {
  return op && op->getBlock() == block && op->getNumResults() == 1 &&
         hasFixedShape(op->getResult(0)) && llvm::all_of(op->getOperands(), hasFixedShape);
}

// Two slices with a reshape between them are one.
bool isReshapeOfSlice(mlir::Operation* op) {
  return llvm::isa<shlo::ReshapeOp>(op) &&
         llvm::isa_and_nonnull<shlo::SliceOp>(op->getOperand(0).getDefiningOp());
}

// A slice, and the operations behind it of which nothing but what it keeps is read.
class SlicedRegion {
 public:
  explicit SlicedRegion(shlo::SliceOp slice) : slice_(slice) {}

  // Whether there are any that would have been stored. With `onlyFirst`, those behind the first
  // such are left, for others need them too.
  bool find(bool onlyFirst) {
    mlir::Operation* producer = slice_.getOperand().getDefiningOp();
    require(slice_.getOperand(), Window::of(slice_));
    while (!waiting_.empty()) {
      // Users before what they use: what is read of an array is known when its turn comes.
      auto* last =
          llvm::max_element(waiting_, [](auto* a, auto* b) { return a->isBeforeInBlock(b); });
      mlir::Operation* op = *last;
      waiting_.erase(last);
      if (op == producer || isReadHereAlone(op)) take(op);
      if (steps_.empty()) return false;
      const bool isReshape = llvm::isa<shlo::ReshapeOp>(steps_.back().op);
      if ((onlyFirst && !isReshape) || steps_.size() == kMaxOperations) break;
    }
    leaveFirstReshapes();
    return llvm::any_of(steps_, [](const Step& step) {
      return !isRematerializable(step.op) || isReshapeOfSlice(step.op);
    });
  }

  // What replaces the slice.
  Value rewrite(PatternRewriter& rewriter) {
    rewriter.setInsertionPoint(slice_);
    for (const Step& step : llvm::reverse(steps_)) {
      llvm::SmallVector<Value> operands;
      for (const Part& part : step.operands) operands.push_back(valueOf(part, rewriter));
      made_.push_back({step.op->getResult(0), step.window, make(step, operands, rewriter)});
    }
    return made_.back().result;
  }

 private:
  struct Step {
    mlir::Operation* op;
    Window window;
    llvm::SmallVector<Part> operands;
  };
  struct Made {
    Value array;
    Window window;
    Value result;
  };

  // Says that so much of an array is read.
  void require(Value array, const Window& window) {
    mlir::Operation* op = array.getDefiningOp();
    if (!canBeMoved(op, slice_->getBlock())) return;
    if (window.keepsAll(array)) {
      readOtherwise_.insert(op);
      return;
    }
    auto [known, isFirst] = windows_.try_emplace(op, window);
    if (isFirst) {
      waiting_.push_back(op);
    } else if (!(known->second == window)) {
      readOtherwise_.insert(op);
    }
  }

  bool isReadHereAlone(mlir::Operation* op) const {
    return !readOtherwise_.contains(op) && llvm::all_of(op->getUsers(), [&](mlir::Operation* user) {
      return llvm::any_of(steps_, [&](const Step& step) { return step.op == user; });
    });
  }

  // A reshape of what is in memory costs nothing, and a slice of it can be part of any kernel; a
  // reshape of a slice cannot.
  void leaveFirstReshapes() {
    llvm::SmallPtrSet<mlir::Operation*, 8> kept;
    llvm::SmallVector<Step, 8> steps;
    for (Step& step : llvm::reverse(steps_)) {
      if (llvm::isa<shlo::ReshapeOp>(step.op) && !isReshapeOfSlice(step.op) &&
          !kept.contains(step.op->getOperand(0).getDefiningOp())) {
        continue;
      }
      kept.insert(step.op);
      steps.push_back(std::move(step));
    }
    steps_.assign(std::make_move_iterator(steps.rbegin()), std::make_move_iterator(steps.rend()));
  }

  void take(mlir::Operation* op) {
    const Window window = windows_.find(op)->second;
    if (!isWorthMoving(op, elementsOf(window))) return;
    std::optional<llvm::SmallVector<Part>> parts = partsOfOperands(op, window);
    if (!parts) return;
    for (const Part& part : *parts) require(part.array, part.window);
    steps_.push_back({op, window, std::move(*parts)});
  }

  Value valueOf(const Part& part, PatternRewriter& rewriter) {
    auto* known = llvm::find_if(made_, [&](const Made& made) {
      return made.array == part.array && made.window == part.window;
    });
    if (known != made_.end()) return known->result;
    Value result = part.array;
    if (!part.window.isEmpty() && !part.window.keepsAll(part.array)) {
      result = shlo::SliceOp::create(
          rewriter, slice_.getLoc(), tensorTypeOf(part.array).clone(part.window.shape()),
          part.array, part.window.starts, part.window.limits, part.window.strides);
    }
    made_.push_back({part.array, part.window, result});
    return result;
  }

  static Value make(const Step& step, llvm::ArrayRef<Value> operands, PatternRewriter& rewriter) {
    mlir::Location location = step.op->getLoc();
    const auto type = tensorTypeOf(step.op->getResult(0)).clone(step.window.shape());
    if (auto pad = llvm::dyn_cast<shlo::PadOp>(step.op)) {
      const PartOfPadded part = *partOfPadded(pad, step.window);
      if (part.window.isEmpty()) {
        return shlo::BroadcastInDimOp::create(rewriter, location, type, pad.getPaddingValue(),
                                              Dims());
      }
      return shlo::PadOp::create(rewriter, location, type, operands[0], pad.getPaddingValue(),
                                 part.low, part.high, pad.getInteriorPadding());
    }
    if (auto joined = llvm::dyn_cast<shlo::ConcatenateOp>(step.op)) {
      if (operands.size() == 1) return operands[0];
      return shlo::ConcatenateOp::create(rewriter, location, type, operands, joined.getDimension());
    }
    mlir::Operation* clone = rewriter.clone(*step.op);
    clone->setOperands(operands);
    clone->getResult(0).setType(type);
    return clone->getResult(0);
  }

  shlo::SliceOp slice_;
  llvm::SmallVector<Step, 8> steps_;  // users first
  llvm::SmallVector<mlir::Operation*, 8> waiting_;
  llvm::DenseMap<mlir::Operation*, Window> windows_;
  // Of what is read in several ways all is made.
  llvm::SmallPtrSet<mlir::Operation*, 4> readOtherwise_;
  llvm::SmallVector<Made> made_;
};

LogicalResult sliceFirst(shlo::SliceOp slice, PatternRewriter& rewriter) {
  mlir::Operation* producer = slice.getOperand().getDefiningOp();
  if (!canBeMoved(producer, slice->getBlock())) return mlir::failure();
  // All slices of the array at once, each with its own region.
  llvm::SmallVector<shlo::SliceOp> slices;
  llvm::SmallVector<Window> windows;
  int64_t kept = 0;
  for (mlir::Operation* user : producer->getUsers()) {
    auto other = llvm::dyn_cast<shlo::SliceOp>(user);
    if (!other || user->getBlock() != slice->getBlock() || slices.size() == kMaxSlices) {
      return mlir::failure();
    }
    slices.push_back(other);
    Window window = Window::of(other);
    if (window.isEmpty()) return mlir::failure();
    if (llvm::is_contained(windows, window)) continue;
    kept += elementsOf(window);
    windows.push_back(std::move(window));
  }
  if (!isWorthMoving(producer, windows.size() > 1 ? 2 * kept : kept)) return mlir::failure();
  std::vector<SlicedRegion> regions;
  for (shlo::SliceOp other : slices) {
    if (!regions.emplace_back(other).find(/*onlyFirst=*/windows.size() > 1)) {
      return mlir::failure();
    }
  }
  for (auto [other, region] : llvm::zip_equal(slices, regions)) {
    rewriter.replaceOp(other, region.rewrite(rewriter));
  }
  return mlir::success();
}

}  // namespace

void addSlicesFirstPatterns(mlir::RewritePatternSet& patterns) { patterns.add(sliceFirst); }

}  // namespace isthmus
