// The legalize-ops pass: the rewrite rules of this folder.
#include "compiler/dialect/chlo.h"
#include "compiler/passes/legalize/patterns.h"
#include "compiler/passes/passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace isthmus {

#define GEN_PASS_DEF_LEGALIZEOPSPASS
#include "compiler/passes/passes.h.inc"

namespace {

struct LegalizeOpsPass : impl::LegalizeOpsPassBase<LegalizeOpsPass> {
  void getDependentDialects(mlir::DialectRegistry& registry) const override {
    registry.insert<chlo::ChloDialect, shlo::ShloDialect>();
  }

  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    addShorthandPatterns(patterns);
    addBatchNormPatterns(patterns);
    addScanPatterns(patterns);
    addChloElementwisePatterns(patterns);
    addSpecialFunctionPatterns(patterns);
    addExpandedFunctionPatterns(patterns);
    addChloStructurePatterns(patterns);
    addLegacyPatterns(patterns);
    addWideningPatterns(patterns);
    addAsynchronousPatterns(patterns);
    addCustomCallPatterns(patterns);
    addApproxTopKPatterns(patterns);
    addRaggedAllToAllPatterns(patterns);
    addArgExtremumPatterns(patterns);
    mlir::GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(mlir::GreedySimplifyRegionLevel::Disabled);
    // Rules that find an operation wrong report it, each time that they are tried: the first report
    // will do.
    bool hasReported = false;
    mlir::ScopedDiagnosticHandler handler(&getContext(), [&](mlir::Diagnostic& diagnostic) {
      const bool isError = diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
      const bool isKnown = isError && hasReported;
      hasReported |= isError;
      return mlir::success(isKnown);
    });
    (void)mlir::applyPatternsGreedily(getOperation(), std::move(patterns), config);
    if (hasReported) signalPassFailure();
  }
};

}  // namespace
}  // namespace isthmus
