// What a running reduction reads and writes: the same for each of the ways in which one is emitted.
#pragma once

#include <optional>

#include "compiler/codegen/kernel_builder.h"
#include "compiler/codegen/reduce/reduction.h"
#include "compiler/codegen/stages.h"
#include "compiler/dialect/types/array_shape.h"

namespace isthmus::codegen {

// Base of their emitters: the operation, and the fusion's results in memory, which are its results
// or computed from them.
class ScanOperands {
 protected:
  ScanOperands(KernelBuilder& kernel, ir::FusionOp fusion, const ScanStage& stage)
      : kernel_(kernel),
        loops_(kernel.loops()),
        evaluator_(kernel.evaluator()),
        stage_(stage),
        reduce_(mlir::cast<shlo::ReduceWindowOp>(wholeOpOf(fusion, stage))),
        type_(tensorTypeOf(reduce_->getResult(0))) {
    mlir::Operation* yield = fusion.getBody().front().getTerminator();
    for (unsigned number : stage.results) {
      mlir::Value root = yield->getOperand(number);
      roots_.push_back(
          {root, kernel.buffer(fusion->getNumOperands() + number), evaluator_.kindOf(root)});
    }
  }
  ~ScanOperands() = default;

  // With as many lanes as the context.
  Group combine(llvm::ArrayRef<Val> before, llvm::ArrayRef<Val> values) {
    llvm::SmallVector<Val, 4> arguments(before.begin(), before.end());
    llvm::append_range(arguments, values);
    Group results = evaluator_.evaluateRegion(reduce_.getBody(), arguments);
    if (results.size() != before.size()) return Group(before);
    for (Val& result : results) result = evaluator_.splat(result, evaluator_.lanes());
    return results;
  }

  // Of a reduction of one array: what its reducer leaves unchanged, if there is such a value.
  std::optional<Val> neutral() {
    return neutralValueOf(reduce_.getBody(), evaluator_.kindOf(reduce_->getResult(0)), loops_);
  }

  // Stores what is computed at `index` from the reduction's `values` up to there.
  void storeAt(const MultiIndex& index, llvm::ArrayRef<Val> values) {
    for (auto [result, value] : llvm::zip(reduce_->getResults(), values)) {
      evaluator_.materialized().setRegister(result, value);
    }
    // A result may be where an operand is, which the others read as well: all come before any
    // store.
    Group stored;
    for (const StoredRoot& root : roots_) {
      stored.push_back(evaluator_.splat(evaluator_.get(root.value, index), evaluator_.lanes()));
    }
    const IndexExpr linear = evaluator_.linearize(index, type_);
    for (auto [root, value] : llvm::zip(roots_, stored)) {
      evaluator_.store(root.base, root.kind, linear, value);
    }
  }

  // A result of the fusion.
  struct StoredRoot {
    mlir::Value value;
    llvm::Value* base;
    ElementKind kind;
  };

  KernelBuilder& kernel_;
  LoopBuilder& loops_;
  Evaluator& evaluator_;
  const ScanStage& stage_;
  shlo::ReduceWindowOp reduce_;
  mlir::RankedTensorType type_;
  llvm::SmallVector<StoredRoot, 2> roots_;
};

}  // namespace isthmus::codegen
