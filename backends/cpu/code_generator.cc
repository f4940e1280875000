// Generates the kernels, emits the program function, compiles and loads it.
#include "backends/cpu/code_generator.h"

#include "backends/cpu/emit/jit.h"
#include "backends/cpu/emit/kernel_modules.h"
#include "backends/cpu/emit/program_emitter.h"
#include "backends/cpu/load/executable.h"
#include "backends/cpu/load/serialization.h"
#include "backends/cpu/lower/library_ops.h"
#include "base/digest.h"
#include "compiler/dialect/dialect.h"
#include "compiler/schedule/attention/attention.h"
#include "compiler/schedule/dot_scheduler.h"
#include "compiler/schedule/loop/sharing.h"
#include "isthmus/trace.h"
#include "llvm/IR/Module.h"
#include "runtime/threads/thread_pool.h"

namespace isthmus::cpu {
namespace {

// Sums are nearest in their result. Where that updates an argument, or what a loop carries, it
// would have to be copied there.
SumsPlace sumsPlaceFor(mlir::Value operand) {
  while (auto view = operand.getDefiningOp<shlo::ReshapeOp>()) operand = view.getOperand();
  return mlir::isa<mlir::BlockArgument>(operand) ? SumsPlace::kApart : SumsPlace::kResult;
}

class CpuCodegen final : public ProgramCodegen {
 public:
  CpuCodegen(const TargetModel& target, int threads, CodegenSettings settings,
             KernelModules modules)
      : target_(target),
        threads_(threads),
        settings_(std::move(settings)),
        modules_(std::move(modules)),
        library_{.target = target_, .module = modules_.programModule()} {}

  Status select(std::span<const Computation> computations) override {
    // The program function is in module 0, with the kernels that may become part of it.
    for (const Computation& computation : computations) {
      if (auto fusion = llvm::dyn_cast<ir::FusionOp>(computation.op)) {
        modules_.count(fusion, computation.isInLoop);
        continue;
      }
      ISTHMUS_ASSIGN_OR_RETURN(code_[computation.op], lowerToLibraryCall(computation.op, library_));
    }
    modules_.divide(threads_);
    for (const Computation& computation : computations) {
      auto fusion = llvm::dyn_cast<ir::FusionOp>(computation.op);
      if (!fusion) continue;
      ISTHMUS_ASSIGN_OR_RETURN(OperationCode code, modules_.emit(fusion, computation.isInLoop));
      if (attentionOf(fusion)) {
        ISTHMUS_RETURN_IF_ERROR(callWithRows(fusion, code, library_));
      } else if (contractionOf(fusion)) {
        ISTHMUS_RETURN_IF_ERROR(callWithEpilogue(fusion, code, library_));
      }
      code_[computation.op] = std::move(code);
    }
    return {};
  }

  std::string kernelText() override { return modules_.text(); }

  bool canShare(mlir::Operation* op, unsigned operand, unsigned result) const override {
    if (auto fusion = llvm::dyn_cast<ir::FusionOp>(op)) {
      return canShareBuffer(fusion, operand, result, sumsPlaceFor(fusion->getOperand(operand)));
    }
    return libraryCanShare(op, operand, result);
  }

  bool prefersInPlace(mlir::Operation* op, unsigned operand, unsigned result) const override {
    auto fusion = llvm::dyn_cast<ir::FusionOp>(op);
    if (!fusion) return libraryCanShare(op, operand, result);
    return fusion.updatesInPlace() && canShareBuffer(fusion, operand, result);
  }

  int64_t scratchBytes(mlir::Operation* op) const override {
    auto it = code_.find(op);
    return it == code_.end() ? 0 : it->second.scratchBytes;
  }

  StatusOr<std::shared_ptr<const Executable>> finish(mlir::func::FuncOp main,
                                                     const MemoryPlan& plan,
                                                     ProgramInfo info) override {
    ProgramImage image;
    image.info = std::move(info);
    image.features = target_.features;
    image.arenaBytes = plan.arenaBytes();
    ConstantPool constants;
    StepTable steps;
    ProgramEstimate estimate;
    {
      trace::Scope scope("stage", "generate");
      ISTHMUS_ASSIGN_OR_RETURN(estimate, emitProgram(main, plan, code_, target_,
                                                     modules_.programModule(), constants, steps));
    }
    image.steps = steps.take();
    image.estimatedNs = estimate.ns;
    image.mayBlock = library_.mayBlock;
    if (!library_.exchanges.empty()) {
      image.info.exchanges = Digest().add(image.info.name).add(library_.exchanges).hex();
    }
    image.callsUserCode = library_.callsUserCode;
    image.calls = std::move(library_.calls);
    image.constants = constants.bytes();
    {
      trace::Scope scope("stage", "compile");
      bool needsOptimizer = estimate.hasLoops || library_.needsOptimizer;
      ISTHMUS_ASSIGN_OR_RETURN(image.objects,
                               modules_.compile(settings_, threads_, needsOptimizer));
    }
    trace::Scope scope("stage", "load");
    return CpuExecutable::load(std::move(image));
  }

 private:
  const TargetModel& target_;
  int threads_;
  CodegenSettings settings_;
  KernelModules modules_;
  LibraryContext library_;
  ProgramCode code_;
};

}  // namespace

std::string CpuCodeGenerator::identity() const {
  return buildId() + "\n" + target_.cpu + "\n" + target_.features;
}

void CpuCodeGenerator::configure(PipelineOptions& options) const {
  options.fusion.target = target_;
  options.channelsLast = true;
  options.overlapsCollectives = true;
  options.functionFormOf = [this](mlir::Operation* product, const DotStage& stage,
                                  std::string* reason) {
    return functionFormOf(product, stage, target_, reason);
  };
}

StatusOr<std::unique_ptr<ProgramCodegen>> CpuCodeGenerator::begin(CodegenSettings settings) const {
  ISTHMUS_ASSIGN_OR_RETURN(KernelModules modules, KernelModules::make(target_));
  return std::unique_ptr<ProgramCodegen>(new CpuCodegen(target_,
                                                        threads_ > 0 ? threads_ : computeThreads(),
                                                        std::move(settings), std::move(modules)));
}

const CpuCodeGenerator& hostCodeGenerator() {
  static const CpuCodeGenerator generator(hostTarget(), 0);
  return generator;
}

}  // namespace isthmus::cpu
