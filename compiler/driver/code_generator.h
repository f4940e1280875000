// What a backend supplies to the compile driver: code for one target.
//
// The sequence (import, stages, description, plan, load) is the driver's; a backend decides how
// each operation is carried out, and makes an executable of the planned program.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "compiler/pipeline/pipeline.h"
#include "compiler/plan/memory_plan.h"
#include "isthmus/backend.h"
#include "isthmus/status.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace isthmus {

// What the driver tells the code of one program.
struct CodegenSettings {
  // LLVM checks the modules of native code before it compiles them. Who writes PTX or SPIR-V checks
  // always, as does the driver the plan.
  bool verify = false;
  // Receives files such as plan.txt, *.ll and *.s by name; empty if nobody wants them.
  std::function<void(std::string_view fileName, std::string_view text)> dump = {};
  // An edited file, which replaces what is dumped by this name; nothing if there is none. From any
  // thread; empty if there are none at all.
  std::function<std::optional<std::string>(std::string_view fileName)> readOverride = {};
};

// An operation that computes: a fusion, or one that stands alone.
struct Computation {
  mlir::Operation* op;
  bool isInLoop;  // its code runs more than once
};

// The code of one program; on one thread. Of the table's stages (allStages()), the driver opens the
// trace::Scope of `select`, and finish() those of `generate`, `compile` and `load`. Methods are
// called in the order in which they stand here.
class ProgramCodegen {
 public:
  virtual ~ProgramCodegen() = default;

  // Decides how each of these operations, in program order, is carried out. kUnimplemented, naming
  // op, types and source position, for one that the target has no code for.
  virtual Status select(std::span<const Computation> computations) = 0;

  // The kernels of selected operations, as LLVM IR to read.
  virtual std::string kernelText() = 0;

  // What the plan asks about selected operations; see PlanOptions.
  virtual bool canShare(mlir::Operation* op, unsigned operand, unsigned result) const = 0;
  virtual bool prefersInPlace(mlir::Operation* op, unsigned operand, unsigned result) const = 0;
  virtual int64_t scratchBytes(mlir::Operation* op) const = 0;

  // The executable, loaded. `info` is complete but for the bytes of code.
  virtual StatusOr<std::shared_ptr<const Executable>> finish(mlir::func::FuncOp main,
                                                             const MemoryPlan& plan,
                                                             ProgramInfo info) = 0;
};

// A target; immutable, used from many threads.
class CodeGenerator {
 public:
  virtual ~CodeGenerator() = default;
  // Everything that generated code depends on besides the program: build, machine, features. Part
  // of fingerprints.
  virtual std::string identity() const = 0;
  // What `python -m isthmus` calls the platform; empty if it does not know it.
  virtual std::string_view platform() const { return {}; }
  // What the stages are to do for this target.
  virtual void configure(PipelineOptions& options) const {}
  virtual StatusOr<std::unique_ptr<ProgramCodegen>> begin(CodegenSettings settings) const = 0;
};

}  // namespace isthmus
