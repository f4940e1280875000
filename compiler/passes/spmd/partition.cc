// The partition pass: see compiler/partition/partition.h.
#include "compiler/partition/partition.h"

#include "compiler/dialect/diagnostics/diagnostics.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/collective_groups.h"
#include "compiler/dialect/sdy.h"
#include "compiler/partition/reshard/combine_collectives.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/simplify/patterns.h"
#include "compiler/passes/spmd/partition_pass.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace isthmus {

#define GEN_PASS_DEF_PARTITIONPASS
#include "compiler/passes/passes.h.inc"

namespace {

bool hasCollective(mlir::Operation* op) {
  auto found = op->walk([](mlir::Operation* nested) {
    return isCollective(nested) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  });
  return found.wasInterrupted();
}

// Collectives of which nobody uses the result go, and out of loops what their rounds have in
// common, before they are joined with others that have to stay.
void simplifyAroundCollectives(mlir::ModuleOp module) {
  if (!hasCollective(module)) return;
  mlir::RewritePatternSet patterns(module.getContext());
  addSlicePatterns(patterns);
  auto found = module.walk([](shlo::WhileOp loop) {
    return hasCollective(loop) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  });
  if (found.wasInterrupted()) {
    addControlFlowPatterns(patterns);
    addWholeLoopPatterns(patterns);
  }
  mlir::GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(mlir::GreedySimplifyRegionLevel::Disabled);
  config.enableFolding(false);
  config.enableConstantCSE(false);
  (void)mlir::applyPatternsGreedily(module, std::move(patterns), config);
  // All devices run this program: none waits for another there.
  module.walk<mlir::WalkOrder::PostOrder, mlir::ReverseIterator>([](mlir::Operation* op) {
    if (op->use_empty() && (isCollective(op) || mlir::isOpTriviallyDead(op))) op->erase();
  });
}

struct PartitionPass : impl::PartitionPassBase<PartitionPass> {
  using PartitionPassBase::PartitionPassBase;
  PartitionPass(const PartitionPassOptions& options, CallPartitioner partitionCall,
                const TargetModel& target)
      : PartitionPassBase(options), partitionCall(std::move(partitionCall)), target(target) {}

  CallPartitioner partitionCall;
  TargetModel target;

  void runOnOperation() override {
    Status status = partitionProgram(getOperation(), numPartitions, target, partitionCall);
    if (status.ok()) {
      simplifyAroundCollectives(getOperation());
      combineCollectives(getOperation(), target);
      return;
    }
    emitStatus(getOperation(), status);
    signalPassFailure();
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> createPartitionPass(int64_t numPartitions,
                                                CallPartitioner partitionCall,
                                                const TargetModel& target) {
  return std::make_unique<PartitionPass>(PartitionPassOptions{numPartitions},
                                         std::move(partitionCall), target);
}

}  // namespace isthmus
