#include "compiler/codegen/simt/attention/attention_kernel.h"

#include "compiler/codegen/simt/attention/attention_forms.h"
#include "compiler/codegen/stages.h"
#include "compiler/schedule/choose_schedule.h"

namespace isthmus::codegen {

StatusOr<Kernel> emitAttention(ir::FusionOp fusion, llvm::Module& module, const WorkItemForm& form,
                               const std::string& symbol) {
  ISTHMUS_ASSIGN_OR_RETURN(KernelSchedule schedule, scheduleOf(fusion, form.target));
  const auto* only = schedule.only<AttentionStage>();
  if (!only) return internalError("the kernel of attention has another schedule");
  const AttentionStage& stage = *only;
  KernelBuilder kernel({fusion, form.target, module}, stage, symbol);
  OnlineRows rows(kernel, *attentionOf(fusion), stage);
  LoopBuilder::Bounds tiles;
  tiles.lo = kernel.begin();
  tiles.hi = kernel.end();
  tiles.range = {0, stage.tiles() - 1};
  rows.loops.loop(tiles, {}, [&](const IndexExpr& tile, const LoopBuilder::Values&) {
    rows.enterTile(tile);
    emitThreadAttention(rows);
    return LoopBuilder::Values();
  });
  kernel.evaluator().noteError(rows.status());
  ISTHMUS_RETURN_IF_ERROR(kernel.finish());
  KernelStage result;
  result.symbol = symbol;
  result.tiles = stage.tiles();
  result.nsPerTile = stage.ns / static_cast<double>(result.tiles);
  result.groupThreads = stage.groupThreads;
  return Kernel{{result}};
}

}  // namespace isthmus::codegen
