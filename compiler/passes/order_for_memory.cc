// The order-for-memory pass: operations run where fewer arrays are alive meanwhile. One whose
// operands die in it and are larger than its results moves up to where they are there; one whose
// results are larger moves down to where they are read. Neither lets more be alive anywhere.
#include "compiler/dialect/facts/collective_groups.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/isthmus.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace isthmus {

#define GEN_PASS_DEF_ORDERFORMEMORYPASS
#include "compiler/passes/passes.h.inc"

namespace {

// Otherwise the program's own order is as good.
constexpr int64_t kMinBytes = 4 << 10;

bool isView(mlir::Operation* op) { return op && roleOf(op) == OpRole::kView; }

// The value whose memory `value` is.
mlir::Value baseOf(mlir::Value value) {
  while (isView(value.getDefiningOp())) {
    auto result = mlir::cast<mlir::OpResult>(value);
    value = result.getOwner()->getOperand(result.getResultNumber());
  }
  return value;
}

bool isMovable(mlir::Operation* op) {
  return roleOf(op) == OpRole::kCompute && mlir::isMemoryEffectFree(op);
}

class Orderer {
 public:
  explicit Orderer(mlir::Block& block) : block_(block) {}

  void run() {
    if (!block_.mightHaveTerminator()) return;
    // What moves down could come between an array and what frees it.
    moveUp();
    moveDown();
  }

 private:
  using Ops = llvm::SmallSetVector<mlir::Operation*, 8>;

  // What reads the memory of `base`, in this block.
  const Ops& readersOf(mlir::Value base) {
    auto [found, isNew] = readers_.try_emplace(base);
    if (!isNew) return found->second;
    llvm::SmallVector<mlir::Value, 4> values{base};
    while (!values.empty()) {
      for (mlir::Operation* user : values.pop_back_val().getUsers()) {
        mlir::Operation* op = block_.findAncestorOpInBlock(*user);
        if (op == user && isView(op)) {
          values.append(op->result_begin(), op->result_end());
        } else if (op) {
          found->second.insert(op);
        }
      }
    }
    return found->second;
  }

  // The bases of the arrays that `op`, or what is inside it, reads.
  static llvm::SmallSetVector<mlir::Value, 8> readBy(mlir::Operation* op) {
    llvm::SmallSetVector<mlir::Value, 8> bases;
    auto add = [&](mlir::Operation* reader) {
      for (mlir::Value operand : reader->getOperands()) bases.insert(baseOf(operand));
    };
    // Kernels read nothing but their operands.
    if (mlir::isa<ir::FusionOp>(op)) {
      add(op);
    } else {
      op->walk(add);
    }
    return bases;
  }

  bool isOwn(mlir::Value base) const {
    return base.getDefiningOp() && base.getDefiningOp()->getBlock() == &block_ &&
           roleOf(base.getDefiningOp()) != OpRole::kConstant;
  }

  // From the last operation on, so that what reads a result has found its place.
  void moveDown() {
    llvm::SmallVector<mlir::Operation*> ops;
    for (mlir::Operation& op : block_.without_terminator()) ops.push_back(&op);
    for (mlir::Operation* op : llvm::reverse(ops)) {
      const int64_t bytes = arrayBytes(op->getResults());
      if (bytes < kMinBytes || !(isView(op) || isMovable(op))) continue;
      mlir::Operation* first = firstReader(op->getResults());
      if (!first || first == op->getNextNode()) continue;
      // A view would hold back what it is a view of.
      if (isView(op) || bytes - bytesHeldFor(op, first) >= kMinBytes) op->moveBefore(first);
    }
  }

  // The first operation that uses one of the values, a view perhaps.
  mlir::Operation* firstReader(mlir::ValueRange values) const {
    mlir::Operation* first = nullptr;
    for (mlir::Value value : values) {
      for (mlir::Operation* user : value.getUsers()) {
        mlir::Operation* op = block_.findAncestorOpInBlock(*user);
        if (op && (!first || op->isBeforeInBlock(first))) first = op;
      }
    }
    return first;
  }

  // Bytes that would be read for the last time before `until`, but for `op`. Those of parameters
  // count: what updates them in place must not come first.
  int64_t bytesHeldFor(mlir::Operation* op, mlir::Operation* until) {
    int64_t bytes = 0;
    for (mlir::Value base : readBy(op)) {
      if (base.getDefiningOp() && roleOf(base.getDefiningOp()) == OpRole::kConstant) continue;
      const bool isReadLater = llvm::any_of(readersOf(base), [&](mlir::Operation* reader) {
        return reader != op && !reader->isBeforeInBlock(until);
      });
      if (!isReadLater) bytes += arrayBytes(base.getType());
    }
    return bytes;
  }

  void moveUp() {
    for (mlir::Operation& op : block_.without_terminator()) count(&op);
    count(block_.getTerminator());
    llvm::SmallVector<mlir::Operation*> order;
    for (mlir::Operation& op : block_.without_terminator()) order.push_back(&op);
    for (mlir::Operation* op : order) {
      if (done_.contains(op)) continue;
      markDone(op);
      runWhatFollows(op);
    }
  }

  // What `op`, or what is inside it, waits for.
  void count(mlir::Operation* op) {
    llvm::SmallPtrSet<mlir::Operation*, 8> producers;
    op->walk([&](mlir::Operation* nested) {
      for (mlir::Value operand : nested->getOperands()) {
        mlir::Operation* producer = operand.getDefiningOp();
        if (producer && producer->getBlock() == &block_ && producers.insert(producer).second) {
          ++missing_[op];
          users_[producer].push_back(op);
        }
      }
    });
  }

  void markDone(mlir::Operation* op) {
    done_.insert(op);
    for (mlir::Value base : readBy(op)) {
      if (isOwn(base) && !isView(op)) --left(base);
    }
  }

  // `op` runs next: what it makes possible, and is worth it, follows at once.
  void runWhatFollows(mlir::Operation* op) {
    llvm::SmallVector<mlir::Operation*> work{op};
    mlir::Operation* last = op;
    while (!work.empty()) {
      mlir::Operation* ran = work.pop_back_val();
      Ops candidates;
      for (mlir::Operation* user : users_[ran]) {
        --missing_[user];
        candidates.insert(user);
      }
      for (mlir::Value base : readBy(ran)) {
        if (!isOwn(base) || left(base) != 1) continue;
        for (mlir::Operation* reader : readersOf(base)) {
          if (!done_.contains(reader)) candidates.insert(reader);
        }
      }
      for (mlir::Operation* candidate : candidates) {
        if (missing_[candidate] > 0 || done_.contains(candidate) || !isWorthRunning(candidate)) {
          continue;
        }
        markDone(candidate);
        candidate->moveAfter(last);
        last = candidate;
        work.push_back(candidate);
      }
    }
  }

  // How many have not read `base` yet.
  size_t& left(mlir::Value base) {
    auto [found, isNew] = left_.try_emplace(base, 0);
    if (isNew) found->second = readersOf(base).size();
    return found->second;
  }

  bool isWorthRunning(mlir::Operation* op) {
    if (isView(op)) return true;
    if (!isMovable(op)) return false;
    int64_t freed = 0;
    for (mlir::Value base : readBy(op)) {
      if (isOwn(base) && left(base) == 1) freed += arrayBytes(base.getType());
    }
    return freed - arrayBytes(op->getResults()) >= kMinBytes;
  }

  mlir::Block& block_;
  llvm::DenseMap<mlir::Value, Ops> readers_;
  llvm::DenseMap<mlir::Value, size_t> left_;
  llvm::DenseMap<mlir::Operation*, int> missing_;  // operands that are not there yet
  llvm::DenseMap<mlir::Operation*, llvm::SmallVector<mlir::Operation*, 4>> users_;
  llvm::DenseSet<mlir::Operation*> done_;
};

void order(mlir::Block& block) {
  // What stands between a collective and the reader of its result hides the time that it is under
  // way (ADR 31), and both moves would take it from there.
  const bool hasCollective =
      llvm::any_of(block, [](mlir::Operation& op) { return isCollective(&op); });
  if (!hasCollective) Orderer(block).run();
  for (mlir::Operation& op : block) {
    const OpRole role = roleOf(&op);
    if (role != OpRole::kWhile && role != OpRole::kBranch) continue;
    for (mlir::Region& region : op.getRegions()) {
      for (mlir::Block& inner : region) order(inner);
    }
  }
}

struct OrderForMemoryPass : impl::OrderForMemoryPassBase<OrderForMemoryPass> {
  void runOnOperation() override {
    getOperation().walk([](mlir::func::FuncOp function) {
      for (mlir::Block& block : function.getBody()) order(block);
    });
  }
};

}  // namespace
}  // namespace isthmus
