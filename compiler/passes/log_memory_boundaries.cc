// Why values go through memory between a kernel and what no kernel may contain: library operations,
// loops and branches.
#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/isthmus.h"
#include "compiler/passes/passes.h"
#include "isthmus/log.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus {

#define GEN_PASS_DEF_LOGMEMORYBOUNDARIESPASS
#include "compiler/passes/passes.h.inc"

namespace {

// A user of a value in the value's block, and the operation that reads it there: one of a fusion's
// region, or the user itself.
struct Reader {
  mlir::Operation* user;
  mlir::Operation* inner;
};

class MemoryBoundaries {
 public:
  explicit MemoryBoundaries(bool hasEpilogues) : hasEpilogues_(hasEpilogues) {}

  void log(mlir::Operation* producer) const {
    if (!isComputed(producer)) return;
    for (mlir::OpResult result : producer->getResults()) {
      llvm::SmallVector<Reader> readers;
      readersOf(result, producer->getBlock(), readers);
      llvm::DenseSet<mlir::Operation*> seen;
      for (const Reader& reader : readers) {
        if (!seen.insert(reader.user).second) continue;
        if (const char* why = refusal(producer, reader)) {
          logCompilation(describeBriefly(innerOf(result)) + " is not fused into " +
                         describeBriefly(reader.inner) + ": " + why);
        }
      }
    }
  }

 private:
  static bool isComputed(mlir::Operation* op) {
    return roleOf(op) == OpRole::kCompute || isControlFlow(op);
  }

  // Through views, which are no work.
  static void readersOf(mlir::Value value, mlir::Block* block, llvm::SmallVector<Reader>& readers) {
    for (mlir::OpOperand& use : value.getUses()) {
      mlir::Operation* owner = use.getOwner();
      mlir::Operation* user = block->findAncestorOpInBlock(*owner);
      if (user == owner && roleOf(user) == OpRole::kView) {
        for (mlir::Value view : user->getResults()) readersOf(view, block, readers);
        continue;
      }
      if (!isComputed(user)) continue;
      mlir::Operation* inner = user;
      if (auto fusion = llvm::dyn_cast<ir::FusionOp>(user); fusion && user == owner) {
        mlir::BlockArgument argument = fusion.getBody().getArgument(use.getOperandNumber());
        if (!argument.use_empty()) inner = *argument.user_begin();
      }
      readers.push_back({user, inner});
    }
  }

  // The operation of a fusion's region that computes the result, or the one outside.
  static mlir::Operation* innerOf(mlir::OpResult result) {
    auto fusion = llvm::dyn_cast<ir::FusionOp>(result.getOwner());
    if (!fusion) return result.getOwner();
    mlir::Operation* yield = fusion.getBody().front().getTerminator();
    mlir::Operation* inner = yield->getOperand(result.getResultNumber()).getDefiningOp();
    return inner ? inner : result.getOwner();
  }

  // Null for what the fuse and the epilogue pass have told of.
  const char* refusal(mlir::Operation* producer, const Reader& reader) const {
    if (isControlFlow(reader.user)) return "loops and branches read their operands from memory";
    // In a fusion, a product reads as it does alone.
    if (!llvm::isa<ir::FusionOp>(reader.user) || llvm::isa<shlo::DotGeneralOp>(reader.inner)) {
      return "a library operation reads its operands from memory";
    }
    if (isControlFlow(producer)) return "loops and branches write their results to memory";
    if (llvm::isa<ir::FusionOp>(producer)) return nullptr;
    if (!llvm::isa<shlo::DotGeneralOp>(producer)) {
      return "a library operation writes its results to memory";
    }
    return hasEpilogues_ ? nullptr : "products of this target have no epilogues";
  }

  bool hasEpilogues_;
};

struct LogMemoryBoundariesPass : impl::LogMemoryBoundariesPassBase<LogMemoryBoundariesPass> {
  using Base::Base;

  void runOnOperation() override {
    MemoryBoundaries boundaries(hasEpilogues);
    getOperation().walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
      boundaries.log(op);
      // What is in a kernel does not go through memory.
      return llvm::isa<ir::FusionOp>(op) ? mlir::WalkResult::skip() : mlir::WalkResult::advance();
    });
  }
};

}  // namespace

}  // namespace isthmus
