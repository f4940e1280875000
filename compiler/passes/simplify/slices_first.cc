// Slices of arrays of which nothing else is read: what computes or moves them does so for the
// elements that are kept alone.
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/cost/rematerialization.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/simplify/match.h"
#include "compiler/passes/simplify/patterns.h"
#include "compiler/passes/simplify/window.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::Value;
using Dims = Window::Dims;

// Bounds the search and what one rewrite makes.
constexpr size_t kMaxOperations = 64;
// Each slice of an array that several take has operations of its own.
constexpr size_t kMaxSlices = 8;

// Whether parts of the result, of `kept` elements together, are worth their own operation.
bool isWorthMoving(mlir::Operation* op, int64_t kept) {
  const int64_t all = elementCount(op->getResult(0).getType());
  // A product reads more than it makes, and what follows it directly is its epilogue.
  const bool belongsToContraction =
      isContraction(op) || (fusionClass(op) == FusionClass::kElementwise &&
                            llvm::any_of(op->getOperands(), [](Value operand) {
                              mlir::Operation* producer = operand.getDefiningOp();
                              return producer && isContraction(producer);
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
    if (!isWorthMoving(op, window.elements())) return;
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
    kept += window.elements();
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
