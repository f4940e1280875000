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
        rowsAtATime_(evaluator.scheduleOf(reduce).interleave),
        block_(evaluator.scheduleOf(reduce).block) {}

  void emit() {
    Group initial;
    for (mlir::Value value : reduce_.getInitValues()) {
      initial.push_back(evaluator_.get(value, MultiIndex()));
    }
    fill(sums().bases, initial);
    if (!axes_.axes.empty()) overRows({});
  }

 private:
  using Index = llvm::SmallVector<IndexExpr, 4>;
  using Bases = llvm::ArrayRef<llvm::Value*>;

  const MaterializedValues::Accumulators& sums() const {
    return *evaluator_.materialized().accumulatorsOf(reduce_);
  }

  Group load(Bases bases, const MultiIndex& index) {
    return evaluator_.loadAccumulators(reduce_, bases, index);
  }

  void store(Bases bases, const MultiIndex& index, llvm::ArrayRef<Val> values) {
    const IndexExpr position = evaluator_.accumulatorAt(reduce_, index);
    for (auto [i, value] : llvm::enumerate(values)) {
      evaluator_.store(bases[i], evaluator_.kindOf(reduce_->getResult(i)), position, value);
    }
  }

  void fill(Bases bases, llvm::ArrayRef<Val> values) {
    forColumns_([&](const IndexExpr& j) { store(bases, multiIndexAt_(j), values); });
  }

  // `rows` neighbours along the last axis are added to each of these accumulators while it is in a
  // register.
  void addRows(Bases bases, llvm::ArrayRef<IndexExpr> at, int64_t rows) {
    forColumns_([&](const IndexExpr& j) {
      MultiIndex index = multiIndexAt_(j);
      Group sums = load(bases, index);
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
      store(bases, index, sums);
    });
  }

  // What a block's accumulators hold is added to the others.
  void addBlock() {
    forColumns_([&](const IndexExpr& j) {
      MultiIndex index = multiIndexAt_(j);
      llvm::SmallVector<Val, 4> arguments(load(sums().bases, index));
      arguments.append(load(sums().blockBases, index));
      store(sums().bases, index, evaluator_.evaluateRegion(reduce_.getBody(), arguments));
    });
  }

  void overRows(const Index& at) {
    const int64_t size = axes_.axes[at.size()].size;
    if (at.size() + 1 < axes_.axes.size()) {
      return loop(0, size, 1, [&](const IndexExpr& i) {
        Index inner = at;
        inner.push_back(i);
        overRows(inner);
      });
    }
    const int64_t blocks = block_ == 0 ? 0 : size / block_;
    if (blocks != 0) {
      const Group none = {*neutralValueOf(reduce_, evaluator_.loops(), evaluator_)};
      loop(0, blocks * block_, block_, [&](const IndexExpr& i) {
        fill(sums().blockBases, none);
        overLastRows(sums().blockBases, at, i, block_);
        addBlock();
      });
    }
    overLastRows(sums().bases, at, IndexExpr(blocks * block_), size - blocks * block_);
  }

  // Several rows a step: the accumulators are read and written once for all of them, which is what
  // a sum over rows waits for.
  void overLastRows(Bases bases, const Index& at, const IndexExpr& first, int64_t count) {
    const int64_t step = std::clamp<int64_t>(count, 1, rowsAtATime_);
    auto run = [&](int64_t from, int64_t to, int64_t by) {
      loop(from, to, by, [&](const IndexExpr& i) {
        Index inner = at;
        inner.push_back(evaluator_.addIndex(first, i));
        addRows(bases, inner, by);
      });
    };
    run(0, count / step * step, step);
    run(count / step * step, count, 1);
  }

  void loop(int64_t from, int64_t to, int64_t by, llvm::function_ref<void(const IndexExpr&)> body) {
    evaluator_.loops().loop(from, to, by, {}, [&](const IndexExpr& i, const LoopBuilder::Values&) {
      body(i);
      return LoopBuilder::Values();
    });
  }

  Evaluator& evaluator_;
  shlo::ReduceOp reduce_;
  std::function<MultiIndex(const IndexExpr&)> multiIndexAt_;
  const ForColumns& forColumns_;
  ReducedAxes axes_;
  int64_t rowsAtATime_;
  int64_t block_;  // of rows that are summed up by themselves, so that rounding errors do not grow
};

}  // namespace

IndexExpr Evaluator::accumulatorAt(mlir::Operation* op, const MultiIndex& index) {
  auto type = mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  return addIndex(linearize(index, type), scaleIndex(materialized_.accumulatorsOf(op)->origin, -1));
}

llvm::SmallVector<Val, 2> Evaluator::loadAccumulators(mlir::Operation* op,
                                                      llvm::ArrayRef<llvm::Value*> bases,
                                                      const MultiIndex& index) {
  const IndexExpr position = accumulatorAt(op, index);
  llvm::SmallVector<Val, 2> values;
  for (auto [i, base] : llvm::enumerate(bases)) {
    values.push_back(load(base, kindOf(op->getResult(i)), position, loops_.current()));
  }
  return values;
}

llvm::SmallVector<Val, 2> Evaluator::accumulatedAt(mlir::Operation* op, const MultiIndex& index) {
  return loadAccumulators(op, materialized_.accumulatorsOf(op)->bases, index);
}

void Evaluator::accumulateColumns(mlir::Operation* op,
                                  const std::function<MultiIndex(const IndexExpr&)>& multiIndexAt,
                                  const ForColumns& forColumns) {
  Accumulation(*this, mlir::cast<shlo::ReduceOp>(op), multiIndexAt, forColumns).emit();
}

}  // namespace isthmus::codegen
