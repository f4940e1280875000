// The simplify pass: the rewrite rules of this folder, greedily.
#include "compiler/passes/passes.h"
#include "compiler/passes/simplify/patterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace isthmus {

#define GEN_PASS_DEF_SIMPLIFYPASS
#include "compiler/passes/passes.h.inc"

namespace {

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
    addIndexingPatterns(patterns);
    addOneUpdateScatterPatterns(patterns);
    addContractionPatterns(patterns);
    addProductBatchPatterns(patterns);
    addSmallContractionPatterns(patterns, target_);
    addInterleavingPatterns(patterns);
    addNarrowingPatterns(patterns);
    addControlFlowPatterns(patterns);
    mlir::GreedyRewriteConfig config;
    // Merging blocks means nothing for structured regions, and costs time.
    config.setRegionSimplificationLevel(mlir::GreedySimplifyRegionLevel::Disabled);
    // Not converging only means that something stayed less simple than it could be.
    (void)mlir::applyPatternsGreedily(getOperation(), std::move(patterns), config);
  }

  TargetModel target_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createSimplifyPass(const TargetModel& target) {
  return std::make_unique<SimplifyPass>(target);
}

}  // namespace isthmus
