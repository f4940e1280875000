#include "compiler/pipeline/pipeline.h"
#include "base/program/device_limit.h"

#include <algorithm>
#include <string>

#include "compiler/dialect/diagnostics/diagnostics.h"
#include "compiler/dialect/dialect.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/spmd/partition_pass.h"
#include "compiler/pipeline/argument_shapes.h"
#include "compiler/pipeline/custom_partitioning.h"
#include "compiler/schedule/attention/fuse_attention.h"
#include "compiler/schedule/fuse_epilogues.h"
#include "compiler/schedule/passes.h"
#include "compiler/schedule/schedule_pass.h"
#include "compiler/target/error_handlers.h"
#include "isthmus/log.h"
#include "isthmus/memory_reserve.h"
#include "isthmus/out_of_memory.h"
#include "isthmus/trace.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/Passes.h"

namespace isthmus {
namespace {

// What a target rewrites.
class TargetPass : public mlir::PassWrapper<TargetPass, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TargetPass)

  explicit TargetPass(std::function<void(mlir::ModuleOp)> rewrite) : rewrite_(std::move(rewrite)) {}
  void runOnOperation() override { rewrite_(getOperation()); }

 private:
  std::function<void(mlir::ModuleOp)> rewrite_;
};

constexpr Stage kStages[] = {
    {"import", "Reads the program's bytes and verifies every operation.",
     "StableHLO text or bytecode, HLO", "stablehlo, chlo, func, sdy"},
    {"legalize", "Inlines calls and composites and rewrites sugar into the core operations.",
     "stablehlo, chlo, func, sdy", "core stablehlo in one function, sdy",
     [](mlir::OpPassManager& passes, const PipelineOptions& options) {
       const TargetModel& target = options.fusion.target;
       passes.addPass(createInlineCallsPass({target.largestTopK(), target.widestTopK()}));
       passes.addPass(createFlattenTuplesPass());
       passes.addPass(createRefineShapesPass());
       passes.addPass(createPadBoundedPass());
       passes.addPass(createLegalizeQuantizedPass());
       passes.addPass(createLegalizeOpsPass());
       passes.addPass(createSelectByMasksPass());
     }},
    {"partition", "Makes one device's program, with arguments and results as they lie in memory.",
     "core stablehlo, sdy", "core stablehlo",
     [](mlir::OpPassManager& passes, const PipelineOptions& options) {
       // What is computed twice would be moved twice.
       if (options.simplify && options.compile.numPartitions > 1) {
         passes.addPass(mlir::createCSEPass());
       }
       passes.addPass(createPartitionPass(options.compile.numPartitions, &partitionCustomCall,
                                          options.fusion.target));
       passes.addPass(createExpandCollectivesPass(
           {options.compile.numReplicas, options.compile.numPartitions}));
       passes.addPass(createEntryLayoutsPass());
       // After partitioning, so that collectives move the narrow floats of the program.
       passes.addPass(createWidenSumsPass());
     }},
    {"simplify", "Folds constants, applies algebra, removes what is dead or computed twice.",
     "core stablehlo", "core stablehlo",
     [](mlir::OpPassManager& passes, const PipelineOptions& options) {
       if (!options.simplify) return;
       passes.addPass(createSimplifyPass(options.fusion.target));
       passes.addPass(mlir::createCSEPass());
     }},
    {"fuse", "Groups operations into regions that become one kernel each.", "core stablehlo",
     "isthmus.fusion, library operations, control flow",
     [](mlir::OpPassManager& passes, const PipelineOptions& options) {
       if (options.simplify && options.channelsLast) {
         passes.addPass(createChannelsLastPass(options.fusion.target, options.wantsChannelsLast));
       }
       if (options.simplify && options.rewrite) {
         passes.addPass(std::make_unique<TargetPass>(options.rewrite));
         // Arrays that several operations want are made once.
         passes.addPass(mlir::createCSEPass());
       }
       if (options.simplify && options.fusion.merge &&
           options.fusion.target.device == DeviceKind::kCpu) {
         passes.addPass(createMultiplyConvolutionsPass());
         passes.addPass(createSumVectorProductsPass(options.fusion.target));
         passes.addPass(createSplitTransposesPass(options.fusion.target));
       }
       // Functions and libraries skip those zeros by themselves.
       if (options.simplify && !options.isOfLibrary &&
           options.fusion.target.products.unit != ProductUnit::kFunctions) {
         passes.addPass(createSplitDilatedConvolutionsPass(options.fusion.target));
       }
       passes.addPass(createSplitReductionsPass(options.fusion.target));
       if (options.simplify && options.fusion.merge) {
         passes.addPass(createExpandShortReductionsPass(options.fusion.target));
       }
       passes.addPass(createSplitScattersPass(options.fusion.target));
       passes.addPass(createSplitConcatenatesPass(
           {static_cast<uint64_t>(options.fusion.target.maxConcatenated)}));
       passes.addPass(createFusePass(options.fusion));
       const bool hasEpilogues = options.fusion.merge && options.epilogues;
       if (options.fusion.merge && (options.attention || options.isOfLibrary)) {
         passes.addPass(createFuseAttentionPass(options.fusion.target, options.isOfLibrary,
                                                options.attention));
       }
       if (hasEpilogues) {
         passes.addPass(createFuseEpiloguesPass(options.fusion.target, options.isOfLibrary,
                                                options.hasKernel));
       }
       if (options.fusion.merge && logsCompilation()) {
         passes.addPass(createLogMemoryBoundariesPass({hasEpilogues}));
       }
     }},
    {"schedule",
     "Decides in which order kernels run and how, and where collectives are waited for.",
     "isthmus.fusion", "isthmus.fusion with schedules",
     [](mlir::OpPassManager& passes, const PipelineOptions& options) {
       if (options.simplify && options.fusion.merge) passes.addPass(createOrderForMemoryPass());
       passes.addPass(
           createSchedulePass(options.fusion.target, options.isOfLibrary, options.functionFormOf));
       if (options.overlapsCollectives && options.fusion.merge) {
         passes.addPass(createOverlapCollectivesPass(options.fusion.target));
       }
     }},
    {"select", "Decides how each operation is carried out, and emits the kernels.",
     "isthmus.fusion with schedules, library operations, control flow",
     "kernels in LLVM IR, calls of library functions"},
    {"plan", "Gives every value its place in memory and every step its turn.",
     "arrays, and what may share memory", "a memory plan"},
    {"generate", "Emits the function, or the steps, that run the plan.", "the plan, kernels, calls",
     "LLVM IR"},
    {"compile", "Makes machine code, or what the device's driver takes for it.", "LLVM IR",
     "object code"},
    {"load", "Checks the code and puts it where the device runs it.", "object code",
     "an executable"},
};

std::string toText(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  // Nothing is elided: a dump must be readable as an override.
  module.print(out);
  return text;
}

std::string dumpName(size_t index, std::string_view stage) {
  std::string number = std::to_string(index + 1);
  return std::string(2 - std::min<size_t>(2, number.size()), '0') + number + "-" +
         std::string(stage) + ".mlir";
}

}  // namespace

std::span<const Stage> allStages() { return kStages; }

std::span<const Stage> pipelineStages() {
  auto hasPasses = [](const Stage& stage) { return stage.addPasses != nullptr; };
  const Stage* first = std::find_if(std::begin(kStages), std::end(kStages), hasPasses);
  return {first, std::find_if_not(first, std::end(kStages), hasPasses)};
}

const Stage* findStage(std::string_view name) {
  const Stage* found = std::find_if(std::begin(kStages), std::end(kStages),
                                    [&](const Stage& stage) { return stage.name == name; });
  return found == std::end(kStages) ? nullptr : found;
}

std::string describeStages() {
  std::string table;
  for (const Stage& stage : kStages) {
    std::string name(stage.name);
    name.resize(std::max<size_t>(name.size(), 10), ' ');
    table += name + " " + std::string(stage.summary) + "\n           " + std::string(stage.input) +
             " -> " + std::string(stage.output) + "\n";
  }
  return table;
}

void readDeviceCounts(mlir::ModuleOp module, CompileOptions& options) {
  auto read = [&](llvm::StringRef name, int& count) {
    auto attribute = module->getAttrOfType<mlir::IntegerAttr>(name);
    if (!attribute || attribute.getValue().getSignificantBits() > 64) return;
    count = static_cast<int>(std::clamp<int64_t>(attribute.getInt(), 1, kMaxProgramDevices));
  };
  read("mhlo.num_replicas", options.numReplicas);
  read("mhlo.num_partitions", options.numPartitions);
  options.useSpmdPartitioning = options.numPartitions > 1;
}

std::unique_ptr<mlir::MLIRContext> makeContext() {
  installErrorHandlers();
  auto context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  loadAllDialects(*context);
  return context;
}

Status runPassesThatChangeResults(mlir::ModuleOp module) {
  mlir::PassManager passes(module->getContext());
  passes.addPass(createSelectByMasksPass());
  passes.addPass(createWidenSumsPass());
  if (mlir::failed(passes.run(module))) {
    return internalError("the pass select-by-masks or widen-sums failed");
  }
  return {};
}

Status runPipeline(mlir::OwningOpRef<mlir::ModuleOp>& module, const PipelineOptions& options) {
  mlir::MLIRContext* context = module->getContext();
  bool hasStarted = options.startAt.empty();
  if (options.dump && options.dump->enabled()) {
    options.dump->write("00-import.mlir", toText(*module));
  }
  if (hasStarted) ISTHMUS_RETURN_IF_ERROR(noteArgumentShapes(*module, options.compile));
  std::span<const Stage> stages = pipelineStages();
  for (size_t i = 0; i < stages.size(); ++i) {
    const Stage& stage = stages[i];
    hasStarted |= stage.name == options.startAt;
    if (!hasStarted) continue;
    trace::Scope scope("stage", stage.name);
    DiagnosticCollector diagnostics(context);
    mlir::PassManager passes(context, mlir::ModuleOp::getOperationName());
    // The verifier runs once a stage rather than after each pass: it is a fifth of compile time.
    passes.enableVerifier(false);
    stage.addPasses(passes, options);
    const bool hasFailed = mlir::failed(passes.run(*module));
    if (isOutOfMemory()) return outOfHostMemory();
    if (hasFailed) {
      // Passes report what they lack as an error on the operation.
      return diagnostics.status(StatusCode::kUnimplemented,
                                "stage " + std::string(stage.name) + " failed");
    }
#ifndef NDEBUG
    if (mlir::failed(mlir::verify(*module))) {
      return diagnostics.status(StatusCode::kInternal,
                                "stage " + std::string(stage.name) + " made an invalid program");
    }
#endif
    if (options.dump) {
      std::string name = dumpName(i, stage.name);
      if (options.dump->enabled()) options.dump->write(name, toText(*module));
      if (std::optional<std::string> edited = options.dump->readOverride(name)) {
        module = mlir::parseSourceString<mlir::ModuleOp>(*edited, context);
        if (!module) {
          return diagnostics.status(StatusCode::kInvalidArgument, "override " + name);
        }
      }
    }
    if (stage.name == options.stopAfter) break;
  }
  return {};
}

}  // namespace isthmus
