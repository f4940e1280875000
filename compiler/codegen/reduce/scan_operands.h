// What a running reduction reads and writes: the same for each of the ways in which one is emitted.
#pragma once

#include "compiler/codegen/kernel_builder.h"
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

  // Stores what is computed at `index` from the reduction's `values` up to there.
  void storeAt(const MultiIndex& index, llvm::ArrayRef<Val> values) {
    for (auto [result, value] : llvm::zip(reduce_->getResults(), values)) {
      evaluator_.materialized().setRegister(result, value);
    }
    const IndexExpr linear = evaluator_.linearize(index, type_);
    for (const StoredRoot& root : roots_) {
      Val value = evaluator_.splat(evaluator_.get(root.value, index), evaluator_.lanes());
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
