// Code for a device whose host enqueues steps: kernels of work-items, and what has none.
//
// A backend derives from this, says how an operation without a kernel is carried out, and loads the
// finished program. Some operations are the host's by design (supportByKernels); any other one that
// the device has no code for is refused, or with ISTHMUS_FALLBACK=cpu falls to the host, and the
// log says so.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/codegen/simt/kernel_module.h"
#include "compiler/driver/code_generator.h"
#include "compiler/driver/device_program.h"
#include "compiler/program/step_table.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace isthmus {

class DeviceCodegen : public ProgramCodegen {
 public:
  Status select(std::span<const Computation> computations) final;
  std::string kernelText() final;
  bool canShare(mlir::Operation* op, unsigned operand, unsigned result) const final;
  bool prefersInPlace(mlir::Operation* op, unsigned operand, unsigned result) const final;
  int64_t scratchBytes(mlir::Operation* op) const final;
  StatusOr<std::shared_ptr<const Executable>> finish(mlir::func::FuncOp main,
                                                     const MemoryPlan& plan,
                                                     ProgramInfo info) final;

 protected:
  // How one operation outside of fusions is carried out: exactly one of the first three.
  struct OtherCode {
    std::optional<codegen::KernelModule::Code> kernels;
    int libraryCall = -1;  // number of a call that the backend keeps
    int hostFunction = -1;
    int64_t libraryScratchBytes = 0;
    // Numbers of the operands that a call has buffers of, in their order; empty: all.
    llvm::SmallVector<unsigned, 3> libraryOperands = {};
  };
  // Of a fusion: kUnimplemented, naming the operation, if the device cannot run a kernel of it.
  virtual Status mayHaveKernel(mlir::Operation* op) { return {}; }
  // Of a fusion that is no kernel; none where it is one.
  virtual StatusOr<std::optional<OtherCode>> selectFusion(ir::FusionOp fusion) {
    return std::optional<OtherCode>();
  }
  // kUnimplemented, naming the operation, if there is no way.
  virtual StatusOr<OtherCode> selectOther(mlir::Operation* op) = 0;
  // The number of a function of the host that carries out `op`, which may be a fusion.
  // kUnimplemented if the host has none either.
  virtual StatusOr<int> addHostFunction(mlir::Operation* op) = 0;
  // The number of a function of the host that carries out the loop, all of whose steps are the
  // host's, over the places of Loop::onHost. Asked where isHost().
  virtual StatusOr<int> addHostLoop(const Loop& loop) {
    return internalError("the host has no functions of loops");
  }
  virtual codegen::KernelModule& kernels() = 0;
  // Whether the host computes where the device's arrays lie, and as fast.
  virtual bool isHost() const { return false; }
  virtual StatusOr<std::shared_ptr<const Executable>> load(DeviceProgram program) = 0;

 private:
  struct OperationCode : OtherCode {
    int64_t scratchBytes() const { return kernels ? kernels->scratchBytes : libraryScratchBytes; }
  };

  StatusOr<OperationCode> selectOne(mlir::Operation* op);
  Status generate(mlir::func::FuncOp main, const MemoryPlan& plan);
  // For an operation that the device refuses for the reason `why`.
  StatusOr<OperationCode> fallBack(mlir::Operation* op, const Status& why);
  // Has the host carry out all of a loop of which it does a part in each round, or whose launches
  // would take longer than what they do. Nothing changes if it lacks a function of what is inside.
  void giveLoopToHost(mlir::Operation* loop, const MemoryPlan& plan);
  int32_t profileStep(mlir::Operation* op) { return static_cast<int32_t>(profile_.add(op)); }
  Status placeConstants(const MemoryPlan& plan);
  void placeSlots(const MemoryPlan& plan);
  // DeviceProgram::estimatedNs of steps that are not fused yet.
  double estimateNs(const std::vector<Step>& steps);
  Status addSteps(mlir::Block& block, const MemoryPlan& plan, std::vector<Step>& steps);
  Status addOperation(mlir::Operation* op, const MemoryPlan& plan, std::vector<Step>& steps);
  Status addLoop(mlir::Operation* op, const MemoryPlan& plan, std::vector<Step>& steps);
  Status addBranch(mlir::Operation* op, const MemoryPlan& plan, std::vector<Step>& steps);

  DeviceProgram program_;
  StepTable profile_;
  llvm::DenseMap<mlir::Operation*, OperationCode> code_;
};

// Backend::supports of a backend whose kernels are KernelModule's for such a device, and whose host
// does the rest.
Support supportByKernels(std::string_view op, DeviceKind device = DeviceKind::kGpu);
// Those that the host does, by name, for a device's attributes: "stablehlo.cholesky stablehlo.fft
// …".
std::string hostOperations(DeviceKind device = DeviceKind::kGpu);

}  // namespace isthmus
