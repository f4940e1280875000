// The kinds of stages that emitKernel puts together.
#pragma once

#include <string>

#include "compiler/codegen/kernel_emitter.h"
#include "llvm/ADT/ArrayRef.h"
#include "mlir/IR/Value.h"

namespace isthmus::codegen {

// A value of the fusion that a kernel stores, and where.
struct Root {
  mlir::Value value;
  unsigned buffer;  // index in the kernel's buffers
  // If not -1: nothing is done at run time when that buffer has the same address.
  int skipIfSame = -1;
  // If set, `value` is a scalar that fills an array of this one's shape.
  mlir::Value shapedLike = nullptr;
};

// What the stage emitters share.
struct StageContext {
  ir::FusionOp fusion;
  const KernelTarget& target;
  llvm::Module& module;

  unsigned resultBuffer(unsigned index) { return fusion.getOperands().size() + index; }
};

// A loop over the common shape of `roots`.
StatusOr<KernelStage> emitLoopStage(const StageContext& context, const std::string& symbol,
                                    llvm::ArrayRef<Root> roots);

// The updates of a scatter, made to the results' buffers, which hold the operands already.
StatusOr<KernelStage> emitScatterStage(const StageContext& context, const std::string& symbol,
                                       mlir::Operation* scatter, llvm::ArrayRef<unsigned> buffers);

// The update of a dynamic_update_slice, put into the result's buffer, which holds the operand.
StatusOr<KernelStage> emitUpdateSliceStage(const StageContext& context, const std::string& symbol,
                                           mlir::Operation* update, unsigned buffer);

// The sums of a select_and_scatter, made to the result's buffer, which holds the initial value.
StatusOr<KernelStage> emitSelectAndScatterStage(const StageContext& context,
                                                const std::string& symbol, mlir::Operation* op,
                                                unsigned buffer);

// A reduce_window that is a running reduction along one dimension, if `op` is one.
bool isScan(mlir::Operation* op);
StatusOr<KernelStage> emitScanStage(const StageContext& context, const std::string& symbol,
                                    mlir::Operation* op, llvm::ArrayRef<unsigned> buffers);

}  // namespace isthmus::codegen
