// The simplify pass: the rewrite rules of this folder, greedily. Those that look at the whole body
// of a loop have turns of their own: they would look again after each change in it.
#include "compiler/passes/passes.h"
#include "compiler/passes/simplify/patterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace isthmus {

#define GEN_PASS_DEF_SIMPLIFYPASS
#include "compiler/passes/passes.h.inc"

namespace {

bool hasLoop(mlir::ModuleOp module) {
  return module.walk([](shlo::WhileOp) { return mlir::WalkResult::interrupt(); }).wasInterrupted();
}

struct SimplifyPass : impl::SimplifyPassBase<SimplifyPass> {
  SimplifyPass() = default;
  explicit SimplifyPass(const TargetModel& target) : target_(target) {}

  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    addEmptyPatterns(patterns);
    addFoldingPatterns(patterns);
    addArithmeticPatterns(patterns);
    addShapePatterns(patterns);
    addReshapesFirstPatterns(patterns);
    addSlicesFirstPatterns(patterns);
    addIndexingPatterns(patterns);
    addOneUpdateScatterPatterns(patterns);
    addContractionPatterns(patterns);
    addProductBatchPatterns(patterns);
    addTransposedRowPatterns(patterns);
    addReducedMovePatterns(patterns);
    addSmallContractionPatterns(patterns, target_);
    addInterleavingPatterns(patterns);
    addAccumulatedSlicePatterns(patterns);
    addNarrowingPatterns(patterns);
    addControlFlowPatterns(patterns);
    mlir::RewritePatternSet loopPatterns(&getContext());
    addWholeLoopPatterns(loopPatterns);
    mlir::GreedyRewriteConfig config;
    // Merging blocks means nothing for structured regions, and costs time.
    config.setRegionSimplificationLevel(mlir::GreedySimplifyRegionLevel::Disabled);
    // Operands first: an operation of many is looked at again for each that changes after it.
    config.setUseTopDownTraversal(true);
    // Not converging only means that something stayed less simple than it could be.
    constexpr int kMaxTurns = 8;
    const mlir::FrozenRewritePatternSet everywhere(std::move(patterns));
    const mlir::FrozenRewritePatternSet ofLoops(std::move(loopPatterns));
    bool haveLoopsChanged = true;
    for (int turn = 0; turn < kMaxTurns && haveLoopsChanged; ++turn) {
      (void)mlir::applyPatternsGreedily(getOperation(), everywhere, config);
      haveLoopsChanged = false;
      if (hasLoop(getOperation())) {
        (void)mlir::applyPatternsGreedily(getOperation(), ofLoops, config, &haveLoopsChanged);
      }
    }
  }

  TargetModel target_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createSimplifyPass(const TargetModel& target) {
  return std::make_unique<SimplifyPass>(target);
}

}  // namespace isthmus
