// The split-transposes pass: a transpose of which either array has short rows, as of the kernels of
// convolutions, becomes one of matrices, whose blocks are transposed in registers, and one that
// moves whole rows. In one step, each element would be read from a cache line of its own.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/dialect/types/permutation.h"
#include "compiler/passes/passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"

namespace isthmus {

#define GEN_PASS_DEF_SPLITTRANSPOSESPASS
#include "compiler/passes/passes.h.inc"

namespace {

using Dims = llvm::SmallVector<int64_t>;

// Dimensions of the operand that stay side by side, in the order of the result: each list is one
// dimension of a simpler transpose. Without those of size 1.
llvm::SmallVector<Dims> movedTogether(shlo::TransposeOp op) {
  const llvm::ArrayRef<int64_t> shape = shapeOf(op.getOperand());
  llvm::SmallVector<Dims> groups;
  int64_t next = -1;
  for (int64_t dim : op.getPermutation()) {
    if (shape[dim] == 1) continue;
    if (dim != next) groups.emplace_back();
    groups.back().push_back(dim);
    for (next = dim + 1; next < static_cast<int64_t>(shape.size()) && shape[next] == 1;) ++next;
  }
  return groups;
}

class TransposeSplitter {
 public:
  TransposeSplitter(shlo::TransposeOp op, const TargetModel& target)
      : op_(op),
        shape_(shapeOf(op.getOperand())),
        permutation_(op.getPermutation()),
        groups_(movedTogether(op)),
        lanes_(target.transposedBlockRows) {}

  // The operand's dimensions in their order between the two steps; none if one step is as good.
  Dims order() const {
    if (groups_.size() < 3) return {};
    const Dims& last = groups_.back();
    const auto* innermost = llvm::max_element(
        groups_, [](const Dims& a, const Dims& b) { return a.back() < b.back(); });
    if (innermost == &last) return {};
    // Long rows are made of columns first, in the operand's order; or they are moved, in the
    // result's, and become columns then.
    if (sizeOf(*innermost) < lanes_ && sizeOf(last) >= lanes_) {
      return rowsOf(last, llvm::to_vector(llvm::seq<int64_t>(shape_.size())));
    }
    if (sizeOf(last) < lanes_ && sizeOf(*innermost) >= lanes_) {
      return rowsOf(*innermost, Dims(permutation_));
    }
    return {};
  }

  void split(const Dims& order, mlir::IRRewriter& rewriter) {
    rewriter.setInsertionPoint(op_);
    mlir::Value value = shlo::TransposeOp::create(
        rewriter, op_.getLoc(), permuted(op_.getOperand().getType(), order), op_.getOperand(),
        rewriter.getDenseI64ArrayAttr(order));
    const Dims places = inverseOf(order);
    Dims rest;
    for (int64_t dim : permutation_) rest.push_back(places[dim]);
    rewriter.replaceOpWithNewOp<shlo::TransposeOp>(op_, op_.getType(), value,
                                                   rewriter.getDenseI64ArrayAttr(rest));
  }

 private:
  int64_t sizeOf(llvm::ArrayRef<int64_t> dims) const {
    int64_t size = 1;
    for (int64_t dim : dims) size *= shape_[dim];
    return size;
  }

  // `others` in their order, then `row`; none if no matrix is left to transpose, or nothing to
  // move.
  Dims rowsOf(const Dims& row, const Dims& others) const {
    Dims order, columns;
    bool isBehind = false;
    for (int64_t dim : others) {
      const bool isOfRow = llvm::is_contained(row, dim);
      isBehind |= isOfRow;
      if (isOfRow) continue;
      order.push_back(dim);
      if (isBehind) columns.push_back(dim);
    }
    order.append(row);
    Dims rest;
    for (int64_t dim : permutation_) rest.push_back(inverseOf(order)[dim]);
    Dims between;
    for (int64_t dim : order) between.push_back(shape_[dim]);
    const bool isOneStep = keepsElements(shape_, order) || keepsElements(between, rest);
    return isOneStep || sizeOf(columns) < lanes_ ? Dims() : order;
  }

  shlo::TransposeOp op_;
  llvm::ArrayRef<int64_t> shape_, permutation_;
  llvm::SmallVector<Dims> groups_;
  int64_t lanes_;
};

struct SplitTransposesPass : impl::SplitTransposesPassBase<SplitTransposesPass> {
  using SplitTransposesPassBase::SplitTransposesPassBase;
  explicit SplitTransposesPass(const TargetModel& target) : target_(target) {}

  void runOnOperation() override {
    // What stays in a first-level cache is read in any order.
    constexpr int64_t kMinElements = 16 << 10;
    mlir::IRRewriter rewriter(&getContext());
    getOperation().walk([&](shlo::TransposeOp op) {
      if (!isStaticArray(op.getOperand()) || elementCount(op.getType()) < kMinElements) return;
      TransposeSplitter splitter(op, target_);
      if (const Dims order = splitter.order(); !order.empty()) splitter.split(order, rewriter);
    });
  }

 private:
  TargetModel target_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createSplitTransposesPass(const TargetModel& target) {
  return std::make_unique<SplitTransposesPass>(target);
}

}  // namespace isthmus
