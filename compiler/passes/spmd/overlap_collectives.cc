// The overlap-collectives pass: a collective sets out where its operands are there, and is waited
// for where its results are needed.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/collective_groups.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/isthmus.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace isthmus {

#define GEN_PASS_DEF_OVERLAPCOLLECTIVESPASS
#include "compiler/passes/passes.h.inc"

namespace {

// Whether `op` takes time that a collective may be under way in.
bool isWork(mlir::Operation* op) {
  switch (roleOf(op)) {
    case OpRole::kCompute:
      return !llvm::isa<shlo::PartitionIdOp, shlo::ReplicaIdOp, ir::AwaitOp>(op);
    case OpRole::kWhile:
    case OpRole::kBranch:
      return true;
    default:
      return false;
  }
}

class BlockOverlapper {
 public:
  BlockOverlapper(mlir::Block& block, int64_t maxBytes, int64_t& nextNumber)
      : block_(block), maxBytes_(maxBytes), nextNumber_(nextNumber) {}

  void run() {
    llvm::SmallVector<mlir::Operation*> collectives;
    for (mlir::Operation& op : block_) {
      if (isCollective(&op) && hasStaticArrays(&op)) collectives.push_back(&op);
    }
    for (mlir::Operation* op : collectives) {
      setOutEarly(op);
      finishLate(op);
    }
  }

 private:
  // Moves `op` up to where its operands are there, but not before another one has been waited for:
  // what all of them give would be alive together. Nor past anything else that has an order.
  void setOutEarly(mlir::Operation* op) {
    llvm::SmallVector<mlir::Operation*> moved{op};  // and the views that it looks through
    mlir::Operation* place = op;
    for (mlir::Operation* before = op->getPrevNode(); before; before = before->getPrevNode()) {
      const bool isOperand = llvm::any_of(moved, [&](mlir::Operation* user) {
        return llvm::any_of(user->getOperands(),
                            [&](mlir::Value operand) { return operand.getDefiningOp() == before; });
      });
      if (isOperand) {
        if (roleOf(before) != OpRole::kView) break;
        moved.push_back(before);
        continue;
      }
      if (!isStarted(before) && !mlir::isMemoryEffectFree(before)) break;
      if (isStarted(before) || roleOf(before) == OpRole::kConstant) continue;
      place = before;
    }
    if (place == op) return;
    for (mlir::Operation* each : llvm::reverse(moved)) each->moveBefore(place);
  }

  static bool isStarted(mlir::Operation* op) { return op->hasAttr(ir::kStartedAs); }

  // Has the first operation wait that needs what `op` gives, if there is work before it.
  void finishLate(mlir::Operation* op) {
    llvm::DenseSet<mlir::Value> results(op->result_begin(), op->result_end());
    bool isWorth = false;
    mlir::Operation* user = op->getNextNode();
    for (; user != &block_.back(); user = user->getNextNode()) {
      if (roleOf(user) == OpRole::kView) {
        for (auto [from, to] : llvm::zip(user->getOperands(), user->getResults())) {
          if (results.contains(from)) results.insert(to);
        }
        continue;
      }
      auto found = user->walk([&](mlir::Operation* nested) {
        auto isResult = [&](mlir::Value operand) { return results.contains(operand); };
        return llvm::any_of(nested->getOperands(), isResult) ? mlir::WalkResult::interrupt()
                                                             : mlir::WalkResult::advance();
      });
      if (found.wasInterrupted()) break;
      isWorth |= isWork(user);
    }
    // An operand that would be overwritten has to be kept.
    const int64_t bytes = arrayBytes(op->getOperands()) + arrayBytes(op->getResults());
    if (!isWorth || bytes > maxBytes_) return;
    mlir::OpBuilder builder(user);
    llvm::SmallVector<mlir::Value> kept(op->getOperands());
    llvm::append_range(kept, op->getResults());
    op->setAttr(ir::kStartedAs, builder.getI64IntegerAttr(nextNumber_));
    ir::AwaitOp::create(builder, op->getLoc(), kept, static_cast<uint64_t>(nextNumber_++));
  }

  mlir::Block& block_;
  int64_t maxBytes_;
  int64_t& nextNumber_;
};

struct OverlapCollectivesPass : impl::OverlapCollectivesPassBase<OverlapCollectivesPass> {
  OverlapCollectivesPass() = default;
  explicit OverlapCollectivesPass(const TargetModel& target) : target_(target) {}

  void runOnOperation() override {
    llvm::SetVector<mlir::Block*> blocks;
    getOperation().walk([&](mlir::Operation* op) {
      if (isCollective(op)) blocks.insert(op->getBlock());
    });
    int64_t nextNumber = 0;
    for (mlir::Block* block : blocks) {
      BlockOverlapper(*block, target_.maxOverlappedBytes, nextNumber).run();
    }
  }

  TargetModel target_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createOverlapCollectivesPass(const TargetModel& target) {
  return std::make_unique<OverlapCollectivesPass>(target);
}

}  // namespace isthmus
