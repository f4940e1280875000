// From one fusion to its stages, as its schedule says.
#include "compiler/codegen/kernel_emitter.h"

#include "compiler/codegen/kernel_builder.h"
#include "compiler/codegen/loop/loop_kernel.h"
#include "compiler/codegen/stages.h"
#include "compiler/dialect/dialect.h"
#include "compiler/schedule/attention/attention.h"
#include "llvm/IR/Module.h"

namespace isthmus {
namespace {

using codegen::KernelBuilder;
using codegen::StageContext;

void emitBody(KernelBuilder& kernel, ir::FusionOp fusion, const StageSchedule& stage) {
  if (const auto* loop = stage.as<LoopStage>()) {
    codegen::LoopKernel(kernel, fusion, *loop).emit();
  } else if (const auto* scan = stage.as<ScanStage>()) {
    scan->scanPart == ScanPart::kNone ? codegen::emitScan(kernel, fusion, *scan)
                                      : codegen::emitScanPart(kernel, fusion, *scan);
  } else if (const auto* update = stage.as<UpdateStage>()) {
    const auto emit = update->kind == StageKind::kScatter       ? codegen::emitScatter
                      : update->kind == StageKind::kUpdateSlice ? codegen::emitUpdateSlice
                                                                : codegen::emitSelectAndScatter;
    emit(kernel, fusion, *update);
  } else if (const auto* dot = stage.as<DotStage>()) {
    codegen::emitEpilogue(kernel, fusion, *dot);
  }
  // Attention has no kernel of its own, and other stages are of no fusion.
}

StatusOr<KernelStage> emitStage(const StageContext& context, const StageSchedule& stage,
                                const std::string& symbol) {
  KernelBuilder kernel(context, stage, symbol);
  emitBody(kernel, context.fusion, stage);
  ISTHMUS_RETURN_IF_ERROR(kernel.finish());
  KernelStage result;
  result.symbol = symbol;
  result.tiles = stage.tiles();
  result.nsPerTile = stage.base().ns / static_cast<double>(result.tiles);
  if (const auto* fused = stage.as<FusedStage>()) {
    result.share = std::min(fused->share, result.tiles);
  }
  result.groupThreads = stage.base().groupThreads;
  const auto* loop = stage.as<LoopStage>();
  if (loop && loop->kind == StageKind::kCopy) {
    Root root = rootsOf(context.fusion, *loop)[0];
    result.copiesFrom = root.operand;
    if (root.operand >= 0) {
      result.copiesTo = static_cast<int>(context.fusion->getNumOperands() + root.result);
    }
  }
  return result;
}

}  // namespace

StatusOr<Kernel> emitKernel(ir::FusionOp fusion, const TargetModel& target, llvm::Module& module,
                            std::string_view symbol) {
  ISTHMUS_ASSIGN_OR_RETURN(KernelSchedule schedule, scheduleOf(fusion, target));
  if (std::optional<Attention> attention = attentionOf(fusion)) {
    // Its kernel is that of the rows, which the backend's function calls on some at a time.
    ISTHMUS_ASSIGN_OR_RETURN(KernelSchedule rows, rowScheduleOf(attention->rows, target));
    attachSchedule(rows, attention->rows);
    return emitKernel(attention->rows, target, module, symbol);
  }
  StageContext context{fusion, target, module};
  Kernel kernel;
  for (const StageSchedule& stage : schedule.stages) {
    std::string name(symbol);
    if (!kernel.stages.empty()) name += "." + std::to_string(kernel.stages.size());
    StatusOr<KernelStage> emitted = emitStage(context, stage, name);
    if (!emitted.ok()) {
      // Of a kernel that cannot be had, nothing stays in the module.
      for (const KernelStage& earlier : kernel.stages) {
        module.getFunction(earlier.symbol)->eraseFromParent();
      }
      return emitted.status();
    }
    kernel.stages.push_back(std::move(*emitted));
  }
  return kernel;
}

}  // namespace isthmus
