// The kernels of a program under construction: operations become kernels in one LLVM module.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/kernel_emitter.h"
#include "compiler/codegen/simt/op_kernels.h"
#include "compiler/codegen/simt/work_item_kernel.h"
#include "compiler/dialect/isthmus.h"
#include "isthmus/status.h"
#include "llvm/IR/Module.h"

namespace isthmus::codegen {

// What a launch needs to know of a kernel.
struct KernelInfo {
  std::string name;
  // Work-items along each dimension; those beyond do nothing.
  Items items{1, 1, 1};
  // If not 1: each item is a group of so many threads, and launches have no more groups.
  unsigned groupThreads = 1;
  // Items are few, compute vectors, and share nothing: a group has one.
  bool isVector = false;
  std::string description;  // the operations and their source position, for errors
};

class KernelModule {
 public:
  // Kernels are added to `module`. Both outlive this object.
  KernelModule(llvm::Module& module, const WorkItemForm& form) : module_(module), form_(form) {}

  // A launch of a fusion: kernel number `kernel`, over all of the fusion's buffers.
  struct Stage {
    int kernel = 0;
    // If not -1: the stage copies one buffer to another, and need not run where they are the same.
    int copiesFrom = -1;
    int copiesTo = -1;
    double ns = 0;  // of a fusion's: an estimate, as KernelStage has it, of all tiles
  };
  struct Code {
    std::vector<Stage> stages;
    int64_t scratchBytes = 0;
    // Some elements of the result are computed by more than one work-item.
    bool repeatsElements = false;
  };
  // Whether the device takes as many parameters as a kernel of `op` has. Fusion counts what it
  // joins; one operation may have too many operands by itself.
  bool hasRoomFor(mlir::Operation* op) const;
  // Emits the kernels of `fusion`. kUnimplemented names the operation, its types and its location.
  StatusOr<Code> add(ir::FusionOp fusion);
  // Of another operation. Nothing if there are no kernels for it.
  StatusOr<std::optional<Code>> add(mlir::Operation* op);
  // Of kernels of `op` that the caller has emitted into the module, whose names began with
  // nextSymbol(). They compute so many `others` as well.
  Code add(mlir::Operation* op, const OpKernels& kernels, size_t others = 0);

  // Of a kernel that no launch needs after all: what is left costs a driver's compiler nothing.
  void makeEmpty(int kernel);
  // For products of forms that only the backend has.
  void setEmitOther(EmitTask emit) { emitOther_ = std::move(emit); }
  // Kernels that are launched alike and compute the same share one function from here on, and its
  // name: drivers take up to 0.1 s for each. Nothing is added afterwards.
  void shareFunctions();

  std::string nextSymbol() const { return "kernel" + std::to_string(kernels_.size()); }
  llvm::Module& module() { return module_; }
  const WorkItemForm& form() const { return form_; }
  const std::vector<KernelInfo>& kernels() const { return kernels_; }

 private:
  llvm::Module& module_;
  const WorkItemForm& form_;
  EmitTask emitOther_;
  std::vector<KernelInfo> kernels_;
};

}  // namespace isthmus::codegen
