#include "compiler/schedule/attention_pass.h"

#include "compiler/dialect/source_location.h"
#include "compiler/schedule/attention.h"
#include "isthmus/log.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"

namespace isthmus {
namespace {

int64_t scoreBytes(Attention attention) {
  return 4 * mlir::cast<mlir::RankedTensorType>(attention.scores.getType()).getNumElements();
}

// The fusion that only transposes the result, if that is all that happens to it.
ir::FusionOp transposeOf(Attention attention) {
  mlir::Value result = attention.values.getResult();
  if (!result.hasOneUse()) return nullptr;
  auto fusion = mlir::dyn_cast<ir::FusionOp>(*result.user_begin());
  if (!fusion || fusion->getBlock() != attention.values->getBlock()) return nullptr;
  mlir::Block& body = fusion.getBody().front();
  if (body.getOperations().size() != 2 || !mlir::isa<shlo::TransposeOp>(body.front())) {
    return nullptr;
  }
  return fusion;
}

void fuse(Attention attention) {
  ir::FusionOp transpose = transposeOf(attention);
  mlir::Operation* last = transpose ? transpose.getOperation() : attention.values.getOperation();
  llvm::SmallVector<mlir::Operation*, 3> parts = {attention.scores, attention.rows,
                                                  attention.values};
  llvm::SmallSetVector<mlir::Value, 8> inputs;
  for (mlir::Operation* part : parts) {
    for (mlir::Value operand : part->getOperands()) {
      if (!llvm::is_contained(parts, operand.getDefiningOp())) inputs.insert(operand);
    }
  }
  mlir::OpBuilder builder(last);
  auto fusion = ir::FusionOp::create(builder, attention.rows.getLoc(), last->getResultTypes(),
                                     inputs.getArrayRef());
  mlir::Block* block = builder.createBlock(&fusion.getBody());
  mlir::IRMapping mapping;
  for (mlir::Value input : inputs) {
    mapping.map(input, block->addArgument(input.getType(), input.getLoc()));
  }
  for (mlir::Operation* part : parts) builder.clone(*part, mapping);
  mlir::Value result = mapping.lookup(attention.values.getResult());
  if (transpose) {
    mlir::IRMapping inner;
    inner.map(transpose.getBody().getArgument(0), result);
    result = builder.clone(transpose.getBody().front().front(), inner)->getResult(0);
  }
  ir::YieldOp::create(builder, attention.rows.getLoc(), result);
  last->replaceAllUsesWith(fusion->getResults());
  if (transpose) transpose.erase();
  for (mlir::Operation* part : llvm::reverse(parts)) part->erase();
}

class FuseAttentionPass
    : public mlir::PassWrapper<FuseAttentionPass, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseAttentionPass)

  FuseAttentionPass() = default;
  explicit FuseAttentionPass(const TargetModel& target) : target_(target) {}

  llvm::StringRef getArgument() const override { return "fuse-attention"; }
  llvm::StringRef getDescription() const override {
    return "Makes one kernel of two products and the work on rows between them.";
  }

  void runOnOperation() override {
    llvm::SmallVector<Attention> found;
    getOperation().walk([&](ir::FusionOp rows) {
      std::optional<Attention> attention = attentionAround(rows);
      if (!attention) return;
      const char* why = scoreBytes(*attention) < target_.minScoreBytes
                            ? "scores are few enough to stay in the cache"
                        : attention->scores.getType().getShape().back() < target_.minScoreColumns
                            ? "rows are short"
                            : attentionRefusal(*attention, target_);
      if (!why) {
        found.push_back(*attention);
      } else if (logsCompilation()) {
        std::string where = sourceLocation(rows.getLoc());
        logCompilation("rows of products" + (where.empty() ? "" : " at " + where) +
                       " are stored: " + why);
      }
    });
    llvm::DenseSet<mlir::Operation*> taken;
    for (Attention attention : found) {
      // One's second product may be another's first.
      if (taken.contains(attention.scores) || taken.contains(attention.values)) continue;
      taken.insert(attention.scores);
      taken.insert(attention.values);
      fuse(attention);
    }
  }

 private:
  TargetModel target_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createFuseAttentionPass(const TargetModel& target) {
  return std::make_unique<FuseAttentionPass>(target);
}

void registerFuseAttentionPass() {
  mlir::PassRegistration<FuseAttentionPass>([] { return createFuseAttentionPass(TargetModel()); });
}

}  // namespace isthmus
