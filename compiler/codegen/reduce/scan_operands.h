// What a running reduction reads and writes: the same for each of the ways in which one is emitted.
#pragma once

#include "compiler/codegen/kernel_builder.h"
#include "compiler/codegen/stages.h"
#include "compiler/dialect/types/array_shape.h"

namespace isthmus::codegen {

// Base of their emitters: the operation, which is all of the fusion's stage, and its results in
// memory.
class ScanOperands {
 protected:
  ScanOperands(KernelBuilder& kernel, ir::FusionOp fusion, const ScanStage& stage)
      : kernel_(kernel),
        loops_(kernel.loops()),
        evaluator_(kernel.evaluator()),
        stage_(stage),
        reduce_(mlir::cast<shlo::ReduceWindowOp>(wholeOpOf(fusion, stage))),
        type_(tensorTypeOf(reduce_->getResult(0))) {
    for (auto [result, number] : llvm::zip(reduce_->getResults(), stage.results)) {
      bases_.push_back(kernel.buffer(fusion->getNumOperands() + number));
      kinds_.push_back(evaluator_.kindOf(result));
    }
  }
  ~ScanOperands() = default;

  KernelBuilder& kernel_;
  LoopBuilder& loops_;
  Evaluator& evaluator_;
  const ScanStage& stage_;
  shlo::ReduceWindowOp reduce_;
  mlir::RankedTensorType type_;
  llvm::SmallVector<llvm::Value*, 2> bases_;  // of the results
  llvm::SmallVector<ElementKind, 2> kinds_;
};

}  // namespace isthmus::codegen
