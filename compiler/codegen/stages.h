// The kinds of stages that emitKernel puts together.
#pragma once

#include <string>

#include "compiler/codegen/kernel_emitter.h"
#include "compiler/schedule/choose_schedule.h"
#include "llvm/ADT/ArrayRef.h"
#include "mlir/IR/Value.h"

namespace isthmus::codegen {

class KernelBuilder;

// What the stage emitters share.
struct StageContext {
  ir::FusionOp fusion;
  const TargetModel& target;
  llvm::Module& module;
};

// Each emits the body of one stage as its schedule says. Errors are kept in the kernel's evaluator.

// The updates of a scatter, made to the results' buffers, which hold the operands already.
void emitScatter(KernelBuilder& kernel, ir::FusionOp fusion, const UpdateStage& stage);
// The update of a dynamic_update_slice, put into the result's buffer, which holds the operand.
void emitUpdateSlice(KernelBuilder& kernel, ir::FusionOp fusion, const UpdateStage& stage);
// The sums of a select_and_scatter, made to the result's buffer, which holds the initial value.
void emitSelectAndScatter(KernelBuilder& kernel, ir::FusionOp fusion, const UpdateStage& stage);
// A reduce_window that is a running reduction along one dimension.
void emitScan(KernelBuilder& kernel, ir::FusionOp fusion, const ScanStage& stage);
// The same, or a part of it, where the tiles are blocks of lines.
void emitScanPart(KernelBuilder& kernel, ir::FusionOp fusion, const ScanStage& stage);
// What a fusion computes of each rectangle of its dot_general's sums, as a SumsEpilogue; on devices
// whose kernels multiply, of the sums that they have in registers at one place.
void emitEpilogue(KernelBuilder& kernel, ir::FusionOp fusion, const DotStage& stage);

}  // namespace isthmus::codegen
