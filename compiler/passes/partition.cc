// The partition pass: see compiler/partition/partition.h.
#include "compiler/partition/partition.h"

#include "compiler/dialect/diagnostics.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/sdy.h"
#include "compiler/passes/passes.h"

namespace isthmus {

#define GEN_PASS_DEF_PARTITIONPASS
#include "compiler/passes/passes.h.inc"

namespace {

struct PartitionPass : impl::PartitionPassBase<PartitionPass> {
  using PartitionPassBase::PartitionPassBase;

  void runOnOperation() override {
    Status status = partitionProgram(getOperation(), numPartitions);
    if (status.ok()) return;
    emitStatus(getOperation(), status);
    signalPassFailure();
  }
};

}  // namespace
}  // namespace isthmus
