// The partition pass: see compiler/partition/partition.h.
#include "compiler/partition/partition.h"

#include "compiler/dialect/diagnostics.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/sdy.h"
#include "compiler/passes/partition_pass.h"
#include "compiler/passes/passes.h"

namespace isthmus {

#define GEN_PASS_DEF_PARTITIONPASS
#include "compiler/passes/passes.h.inc"

namespace {

struct PartitionPass : impl::PartitionPassBase<PartitionPass> {
  using PartitionPassBase::PartitionPassBase;
  PartitionPass(const PartitionPassOptions& options, CallPartitioner partitionCall)
      : PartitionPassBase(options), partitionCall(std::move(partitionCall)) {}

  CallPartitioner partitionCall;

  void runOnOperation() override {
    Status status = partitionProgram(getOperation(), numPartitions, partitionCall);
    if (status.ok()) return;
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
