// The partition pass: see compiler/partition/partition.h.
#include "compiler/partition/partition.h"

#include "compiler/dialect/collective_groups.h"
#include "compiler/dialect/diagnostics.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/sdy.h"
#include "compiler/partition/combine_collectives.h"
#include "compiler/passes/partition_pass.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/simplify/patterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace isthmus {

#define GEN_PASS_DEF_PARTITIONPASS
#include "compiler/passes/passes.h.inc"

namespace {

// Before collectives are joined with others that have to stay.
void hoistFromLoops(mlir::ModuleOp module) {
  auto found = module.walk([](shlo::WhileOp loop) {
    return loop.getBody().walk([](mlir::Operation* op) {
      return isCollective(op) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
    });
  });
  if (!found.wasInterrupted()) return;
  mlir::RewritePatternSet patterns(module.getContext());
  addControlFlowPatterns(patterns);
  mlir::GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(mlir::GreedySimplifyRegionLevel::Disabled);
  config.enableFolding(false);
  config.enableConstantCSE(false);
  (void)mlir::applyPatternsGreedily(module, std::move(patterns), config);
}

struct PartitionPass : impl::PartitionPassBase<PartitionPass> {
  using PartitionPassBase::PartitionPassBase;
  PartitionPass(const PartitionPassOptions& options, CallPartitioner partitionCall)
      : PartitionPassBase(options), partitionCall(std::move(partitionCall)) {}

  CallPartitioner partitionCall;

  void runOnOperation() override {
    Status status = partitionProgram(getOperation(), numPartitions, partitionCall);
    if (status.ok()) {
      hoistFromLoops(getOperation());
      combineCollectives(getOperation());
      return;
    }
    emitStatus(getOperation(), status);
    signalPassFailure();
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> createPartitionPass(int64_t numPartitions,
                                                CallPartitioner partitionCall) {
  return std::make_unique<PartitionPass>(PartitionPassOptions{numPartitions},
                                         std::move(partitionCall));
}

}  // namespace isthmus
