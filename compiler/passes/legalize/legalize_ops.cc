// The legalize-ops pass: the rewrite rules of this folder.
#include "compiler/dialect/chlo.h"
#include "compiler/dialect/diagnostics/diagnostics.h"
#include "compiler/dialect/dialect.h"
#include "compiler/passes/legalize/patterns.h"
#include "compiler/passes/passes.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace isthmus {

#define GEN_PASS_DEF_LEGALIZEOPSPASS
#include "compiler/passes/passes.h.inc"

namespace {

// Remembers what rules create. What an operation becomes is checked, as some have no rules of their
// own: one of wrong sizes would read and write out of bounds.
class CreatedOperations : public mlir::RewriterBase::Listener {
 public:
  void notifyOperationInserted(mlir::Operation* op, mlir::OpBuilder::InsertPoint) override {
    created_.insert(op);
  }
  void notifyOperationErased(mlir::Operation* op) override { created_.erase(op); }
  void notifyOperationReplaced(mlir::Operation* op, mlir::ValueRange by) override {
    for (auto [result, value] : llvm::zip(op->getResults(), by)) {
      if (result.getType() == value.getType()) continue;
      emitInvalid(op, "has a result ") << result.getType() << ", but computes " << value.getType();
    }
  }

  void check(mlir::ModuleOp module) const {
    module.walk([&](mlir::Operation* op) {
      if (created_.contains(op)) (void)verifyRules(op, /*isRecursive=*/false);
    });
  }

 private:
  llvm::DenseSet<mlir::Operation*> created_;
};

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
    CreatedOperations created;
    config.setListener(&created);
    (void)mlir::applyPatternsGreedily(getOperation(), std::move(patterns), config);
    if (!hasReported) created.check(getOperation());
    if (hasReported) signalPassFailure();
  }
};

}  // namespace
}  // namespace isthmus
