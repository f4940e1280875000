// Reductions row by row, into accumulators that lie side by side in memory.
#include <algorithm>

#include "compiler/codegen/reduce/reduction.h"

namespace isthmus::codegen {
namespace {

using ForColumns = std::function<void(const std::function<void(const IndexExpr&)>&)>;

class Accumulation {
 public:
  Accumulation(Evaluator& evaluator, shlo::ReduceOp reduce,
               std::function<MultiIndex(const IndexExpr&)> multiIndexAt,
               const ForColumns& forColumns)
      : evaluator_(evaluator),
        reduce_(reduce),
        multiIndexAt_(std::move(multiIndexAt)),
        forColumns_(forColumns),
        axes_(reducedAxesOf(reduce)),
        rowsAtATime_(evaluator.scheduleOf(reduce).interleave) {}

  void emit() {
    Group initial;
    for (mlir::Value value : reduce_.getInitValues()) {
      initial.push_back(evaluator_.get(value, MultiIndex()));
    }
    forColumns_([&](const IndexExpr& j) { store(multiIndexAt_(j), initial); });
    if (!axes_.axes.empty()) overRows({});
  }

 private:
  using Index = llvm::SmallVector<IndexExpr, 4>;

  IndexExpr positionOf(const MultiIndex& index) { return evaluator_.accumulatorAt(reduce_, index); }

  void store(const MultiIndex& index, llvm::ArrayRef<Val> values) {
    IndexExpr position = positionOf(index);
    const auto& bases = evaluator_.materialized().accumulatorsOf(reduce_)->bases;
    for (auto [i, value] : llvm::enumerate(values)) {
      evaluator_.store(bases[i], evaluator_.kindOf(reduce_->getResult(i)), position, value);
    }
  }

  // `rows` neighbours along the last axis are added to each accumulator while it is in a register.
  void addRows(llvm::ArrayRef<IndexExpr> at, int64_t rows) {
    forColumns_([&](const IndexExpr& j) {
      MultiIndex index = multiIndexAt_(j);
      Group sums = evaluator_.accumulatedAt(reduce_, index);
      MultiIndex from = indexInOperand(evaluator_, reduce_, index, axes_);
      for (size_t a = 0; a < axes_.axes.size(); ++a) from.dims[axes_.axes[a].dim] = at[a];
      IndexExpr& row = from.dims[axes_.axes.back().dim];
      for (int64_t r = 0; r < rows; ++r) {
        llvm::SmallVector<Val, 4> arguments(sums.begin(), sums.end());
        for (mlir::Value input : reduce_.getInputs()) {
          arguments.push_back(evaluator_.get(input, from));
        }
        for (Val& value : arguments) value = evaluator_.splat(value, evaluator_.lanes());
        Group next = evaluator_.evaluateRegion(reduce_.getBody(), arguments);
        if (next.size() != sums.size()) return;
        sums = next;
        row = add(row, IndexExpr(1));
      }
      store(index, sums);
    });
  }

  // Several rows a step: the accumulators are read and written once for all of them, which is what
  // a sum over rows waits for.
  void overRows(const Index& at) {
    size_t a = at.size();
    bool isLast = a + 1 == axes_.axes.size();
    int64_t size = axes_.axes[a].size;
    int64_t step = isLast ? std::clamp<int64_t>(size, 1, rowsAtATime_) : 1;
    auto run = [&](int64_t from, int64_t to, int64_t by) {
      evaluator_.loops().loop(from, to, by, {},
                              [&](const IndexExpr& i, const LoopBuilder::Values&) {
                                Index inner = at;
                                inner.push_back(i);
                                isLast ? addRows(inner, by) : overRows(inner);
                                return LoopBuilder::Values();
                              });
    };
    run(0, size / step * step, step);
    run(size / step * step, size, 1);
  }

  Evaluator& evaluator_;
  shlo::ReduceOp reduce_;
  std::function<MultiIndex(const IndexExpr&)> multiIndexAt_;
  const ForColumns& forColumns_;
  ReducedAxes axes_;
  int64_t rowsAtATime_;
};

}  // namespace

IndexExpr Evaluator::accumulatorAt(mlir::Operation* op, const MultiIndex& index) {
  auto type = mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  return addIndex(linearize(index, type), scaleIndex(materialized_.accumulatorsOf(op)->origin, -1));
}

llvm::SmallVector<Val, 2> Evaluator::accumulatedAt(mlir::Operation* op, const MultiIndex& index) {
  IndexExpr position = accumulatorAt(op, index);
  llvm::SmallVector<Val, 2> values;
  for (auto [i, base] : llvm::enumerate(materialized_.accumulatorsOf(op)->bases)) {
    values.push_back(load(base, kindOf(op->getResult(i)), position, loops_.current()));
  }
  return values;
}

void Evaluator::accumulateColumns(mlir::Operation* op,
                                  const std::function<MultiIndex(const IndexExpr&)>& multiIndexAt,
                                  const ForColumns& forColumns) {
  Accumulation(*this, mlir::cast<shlo::ReduceOp>(op), multiIndexAt, forColumns).emit();
}

}  // namespace isthmus::codegen
