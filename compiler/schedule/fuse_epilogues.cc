#include "compiler/schedule/fuse_epilogues.h"

#include "compiler/cost/time.h"
#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/schedule/dot_scheduler.h"
#include "compiler/schedule/passes.h"
#include "isthmus/log.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"

namespace isthmus {

#define GEN_PASS_DEF_FUSEEPILOGUESPASS
#include "compiler/schedule/passes.h.inc"

namespace {

// The first operation of the block that uses the result, in a region below it or itself.
mlir::Operation* firstUser(mlir::Operation* product) {
  mlir::Operation* first = nullptr;
  for (mlir::Operation* user : product->getUsers()) {
    mlir::Operation* op = product->getBlock()->findAncestorOpInBlock(*user);
    if (!first || op->isBeforeInBlock(first)) first = op;
  }
  return first;
}

class EpilogueFuser {
 public:
  EpilogueFuser(const TargetModel& target, const IsOfLibrary& isOfLibrary,
                const HasKernel& hasKernel)
      : target_(target), isOfLibrary_(isOfLibrary), hasKernel_(hasKernel) {}

  // A dot_general, or a convolution of a library's: no kernel of ours has an epilogue of those.
  void fuse(mlir::Operation* product) {
    const bool isOfLibrary = isOfLibrary_ && isOfLibrary_(product);
    auto dot = mlir::dyn_cast<shlo::DotGeneralOp>(product);
    if (!dot && !isOfLibrary) return;
    // What uses the result later finds it in memory all the same.
    mlir::Operation* user = firstUser(product);
    auto view = mlir::dyn_cast_or_null<shlo::ReshapeOp>(user);
    if (view && product->hasOneUse() && view->hasOneUse()) user = *view->user_begin();
    auto fusion = mlir::dyn_cast_or_null<ir::FusionOp>(user);
    if (fusion && fusion->getBlock() != product->getBlock()) fusion = nullptr;
    if (logsCompilation()) logOthers(product, fusion);
    if (!fusion) return;
    // Attention must stay as it is recognised: its products read arguments, no views of them.
    if (contractionOf(fusion)) return log(product, fusion, "another product is not an epilogue");
    moveViewInto(fusion, product);
    const char* why = dot ? refusal(dot, fusion, isOfLibrary) : nullptr;
    if (why) return log(product, fusion, why);
    ir::FusionOp merged = makeMerged(product, fusion);
    // One call of a library and one kernel are better than one kernel of ours.
    if (isOfLibrary && !isOfLibrary_(merged)) {
      merged.erase();
      return log(product, fusion, "a library computes the product, and this with it not");
    }
    replace(product, fusion, merged);
  }

 private:
  static void log(mlir::Operation* product, ir::FusionOp fusion, const char* why) {
    if (!logsCompilation()) return;
    logCompilation(describeBriefly(product) + " has no epilogue " + describeBriefly(fusion) + ": " +
                   why);
  }

  // Of the kernels that read the product and are not `first`, which is to be its epilogue.
  static void logOthers(mlir::Operation* product, ir::FusionOp first) {
    llvm::SmallSetVector<mlir::Operation*, 4> users;
    for (mlir::Operation* user : product->getUsers()) {
      if (!mlir::isa<shlo::ReshapeOp>(user)) {
        users.insert(user);
      } else {
        users.insert(user->user_begin(), user->user_end());
      }
    }
    for (mlir::Operation* user : users) {
      auto fusion = mlir::dyn_cast<ir::FusionOp>(user);
      if (!fusion || fusion == first || fusion->getBlock() != product->getBlock()) continue;
      log(product, fusion, "another operation reads the product before it");
    }
  }

  // A view of the product between it and the fusion becomes part of the fusion.
  static void moveViewInto(ir::FusionOp fusion, mlir::Operation* product) {
    mlir::Value sums = product->getResult(0);
    for (mlir::OpOperand& operand : fusion->getOpOperands()) {
      auto view = operand.get().getDefiningOp<shlo::ReshapeOp>();
      if (!view || view.getOperand() != sums) continue;
      mlir::BlockArgument argument = fusion.getBody().getArgument(operand.getOperandNumber());
      mlir::OpBuilder builder = mlir::OpBuilder::atBlockBegin(&fusion.getBody().front());
      argument.setType(sums.getType());
      auto inner = shlo::ReshapeOp::create(builder, view.getLoc(), view.getType(), argument);
      argument.replaceAllUsesExcept(inner.getResult(), inner);
      operand.set(sums);
      view.erase();
      return;
    }
  }

  const char* refusal(shlo::DotGeneralOp dot, ir::FusionOp fusion, bool isOfLibrary) const {
    unsigned operand = 0;
    while (fusion->getOperand(operand) != dot.getResult()) ++operand;
    mlir::Value sums = fusion.getBody().getArgument(operand);
    if (const char* why = epilogueRefusal(fusion, sums, dot, target_)) return why;
    // What is refused, or falls to the host, must be what the device lacks and no more: the host's
    // kernel may refuse the epilogue.
    const bool asksForKernels = hasKernel_ && !isOfLibrary;
    if (asksForKernels && !hasKernel_(dot)) return "the device has no kernel of the product";
    if (asksForKernels && !hasKernel_(fusion)) return "the device has no kernel of it";
    if (target_.products.unit != ProductUnit::kFunctions) return nullptr;
    // A kernel of its own goes along elements of several rows.
    if (sumsMatrixOf(dot).cols < static_cast<int64_t>(epilogueLanesFor(fusion, target_))) {
      return "its rows are shorter than a vector";
    }
    // Kernels of few products run on one thread, and the epilogue with them.
    mlir::Operation* yield = fusion.getBody().front().getTerminator();
    llvm::SmallVector<mlir::Value> roots(yield->getOperands());
    if (contractionNs(target_, dot) < target_.parallelProductNs &&
        kernelNs(target_, fusion, roots) > target_.parallelNs) {
      return "the product alone would not use the threads";
    }
    return nullptr;
  }

  // The fusion with the operation in its region, and the product among its results if others use
  // it. Nobody uses it yet.
  static ir::FusionOp makeMerged(mlir::Operation* op, ir::FusionOp fusion) {
    mlir::Value product = op->getResult(0);
    llvm::SmallSetVector<mlir::Value, 8> inputs;
    inputs.insert(op->operand_begin(), op->operand_end());
    for (mlir::Value operand : fusion->getOperands()) {
      if (operand != product) inputs.insert(operand);
    }
    mlir::Block& body = fusion.getBody().front();
    llvm::SmallVector<mlir::Type> types(fusion->getResultTypes());
    const bool isKept = !product.hasOneUse();
    if (isKept) types.push_back(product.getType());

    mlir::OpBuilder builder(fusion);
    auto merged = ir::FusionOp::create(builder, fusion.getLoc(), types, inputs.getArrayRef());
    mlir::Block* block = builder.createBlock(&merged.getBody());
    mlir::IRMapping outside, inside;
    for (mlir::Value input : inputs) {
      outside.map(input, block->addArgument(input.getType(), input.getLoc()));
    }
    mlir::Operation* copy = builder.clone(*op, outside);
    outside.map(product, copy->getResult(0));
    for (auto [argument, operand] : llvm::zip(body.getArguments(), fusion->getOperands())) {
      inside.map(argument, outside.lookup(operand));
    }
    for (mlir::Operation& one : body.without_terminator()) builder.clone(one, inside);
    llvm::SmallVector<mlir::Value> results;
    for (mlir::Value result : body.getTerminator()->getOperands()) {
      results.push_back(inside.lookup(result));
    }
    if (isKept) results.push_back(copy->getResult(0));
    ir::YieldOp::create(builder, fusion.getLoc(), results);
    return merged;
  }

  static void replace(mlir::Operation* product, ir::FusionOp fusion, ir::FusionOp merged) {
    const bool isKept = merged->getNumResults() > fusion->getNumResults();
    fusion->replaceAllUsesWith(merged->getResults().take_front(fusion->getNumResults()));
    fusion.erase();
    if (isKept) product->getResult(0).replaceAllUsesWith(merged->getResults().back());
    product->erase();
  }

  const TargetModel& target_;
  const IsOfLibrary& isOfLibrary_;
  const HasKernel& hasKernel_;
};

class FuseEpiloguesPass : public impl::FuseEpiloguesPassBase<FuseEpiloguesPass> {
 public:
  FuseEpiloguesPass() = default;
  FuseEpiloguesPass(const TargetModel& target, IsOfLibrary isOfLibrary, HasKernel hasKernel)
      : target_(target), isOfLibrary_(std::move(isOfLibrary)), hasKernel_(std::move(hasKernel)) {}

  void runOnOperation() override {
    llvm::SmallVector<mlir::Operation*> products;
    getOperation().walk([&](mlir::Operation* op) {
      if (mlir::isa<shlo::DotGeneralOp, shlo::ConvolutionOp>(op) &&
          !mlir::isa<ir::FusionOp>(op->getParentOp())) {
        products.push_back(op);
      }
    });
    EpilogueFuser fuser(target_, isOfLibrary_, hasKernel_);
    for (mlir::Operation* product : products) fuser.fuse(product);
  }

 private:
  TargetModel target_;
  IsOfLibrary isOfLibrary_;
  HasKernel hasKernel_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createFuseEpiloguesPass(const TargetModel& target,
                                                    IsOfLibrary isOfLibrary, HasKernel hasKernel) {
  return std::make_unique<FuseEpiloguesPass>(target, std::move(isOfLibrary), std::move(hasKernel));
}

}  // namespace isthmus
