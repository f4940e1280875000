// The fuse pass: fusion of each block that holds top-level operations.
#include "compiler/dialect/diagnostics/diagnostics.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/isthmus.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/fusion/build_fusions.h"
#include "compiler/fusion/copy_constants.h"
#include "compiler/fusion/grouping.h"
#include "compiler/passes/passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace isthmus {

#define GEN_PASS_DEF_FUSEPASS
#include "compiler/passes/passes.h.inc"

namespace {

// From here on an array of one number is not kept with the program but written when it runs, if it
// must be in memory at all. A bound on the size of what is stored, on every machine.
constexpr int64_t kMaxStoredSplat = 1 << 18;  // elements

void broadcastLargeSplats(mlir::ModuleOp module) {
  module.walk([](shlo::ConstantOp constant) {
    auto splat = llvm::dyn_cast<mlir::SplatElementsAttr>(constant.getValue());
    if (!splat || elementCount(constant.getType()) <= kMaxStoredSplat) return;
    auto type = llvm::cast<mlir::RankedTensorType>(constant.getType());
    mlir::OpBuilder builder(constant);
    auto scalar = mlir::RankedTensorType::get({}, type.getElementType());
    mlir::Value number =
        shlo::ConstantOp::create(builder, constant.getLoc(), splat.resizeSplat(scalar));
    constant->replaceAllUsesWith(shlo::BroadcastInDimOp::create(builder, constant.getLoc(), type,
                                                                number, llvm::ArrayRef<int64_t>{}));
    constant->erase();
  });
}

struct FusePass : impl::FusePassBase<FusePass> {
  FusePass() = default;
  explicit FusePass(const FusionOptions& fusion) : fusion_(fusion) {}

  void runOnOperation() override {
    broadcastLargeSplats(getOperation());
    for (auto function : getOperation().getOps<mlir::func::FuncOp>()) {
      for (mlir::Block& block : function.getBody()) {
        Status status = fuseBlock(block);
        if (status.ok()) continue;
        emitStatus(function, status);
        return signalPassFailure();
      }
    }
  }

  Status fuseBlock(mlir::Block& block) {
    // Inner blocks first: their uses of outer values are then the uses of their kernels.
    for (mlir::Operation& op : block) {
      if (!isControlFlow(&op)) continue;
      for (mlir::Region& region : op.getRegions()) {
        for (mlir::Block& inner : region) {
          copyConstantsInto(inner);
          ISTHMUS_RETURN_IF_ERROR(fuseBlock(inner));
        }
      }
    }
    BlockGraph graph(block, fusion_);
    return buildFusions(block, graph, groupOperations(graph, fusion_));
  }

  FusionOptions fusion_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createFusePass(const FusionOptions& options) {
  return std::make_unique<FusePass>(options);
}

}  // namespace isthmus
