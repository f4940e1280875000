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
  switch (stage.kind) {
    case StageKind::kLoop:
    case StageKind::kCopy:
    case StageKind::kFill:
      return codegen::LoopKernel(kernel, fusion, stage).emit();
    case StageKind::kScan:
      return stage.scanPart == ScanPart::kNone ? codegen::emitScan(kernel, fusion, stage)
                                               : codegen::emitScanPart(kernel, fusion, stage);
    case StageKind::kScatter:
      return codegen::emitScatter(kernel, fusion, stage);
    case StageKind::kUpdateSlice:
      return codegen::emitUpdateSlice(kernel, fusion, stage);
    case StageKind::kSelectAndScatter:
      return codegen::emitSelectAndScatter(kernel, fusion, stage);
    case StageKind::kDot:
      return codegen::emitEpilogue(kernel, fusion, stage);
    case StageKind::kAttention:
      return;  // has no kernel of its own
  }
}

StatusOr<KernelStage> emitStage(const StageContext& context, const StageSchedule& stage,
                                const std::string& symbol) {
  KernelBuilder kernel(context, stage, symbol);
  emitBody(kernel, context.fusion, stage);
  ISTHMUS_RETURN_IF_ERROR(kernel.finish());
  KernelStage result;
  result.symbol = symbol;
  result.tiles = stage.tiles();
  result.nsPerTile = stage.ns / static_cast<double>(result.tiles);
  result.share = std::min(stage.share, result.tiles);
  result.groupThreads = stage.groupThreads;
  if (stage.kind == StageKind::kCopy) {
    Root root = rootsOf(context.fusion, stage)[0];
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
