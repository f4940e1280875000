#include "compiler/schedule/attention/attention_pass.h"

#include "compiler/dialect/array_shape.h"
#include "compiler/dialect/source_location.h"
#include "compiler/schedule/attention/attention.h"
#include "compiler/schedule/attention/attention_gradient.h"
#include "compiler/schedule/dot_scheduler.h"
#include "isthmus/log.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"

namespace isthmus {
namespace {

// Why attention of so few scores is better left to kernels of their own; null if it is not.
const char* sizeRefusal(shlo::DotGeneralOp scores, const TargetModel& target) {
  auto type = mlir::cast<mlir::RankedTensorType>(scores.getType());
  if (4 * type.getNumElements() < target.minScoreBytes) {
    return "scores are few enough to stay in the cache";
  }
  return type.getRank() > 0 && type.getShape().back() < target.minScoreColumns ? "rows are short"
                                                                               : nullptr;
}

// The same for gradients, which compute what the forward pass has computed again.
const char* gradientSizeRefusal(AttentionGradient& gradient, const TargetModel& target) {
  if (const char* why = sizeRefusal(gradient.scores[0], target)) return why;
  auto bytes = [](shlo::DotGeneralOp dot) {
    return elementBytes(tensorTypeOf(dot.getResult()).getElementType());
  };
  const bool isNarrow =
      llvm::all_of(gradient.scores, [&](shlo::DotGeneralOp dot) { return bytes(dot) < 4; });
  shlo::DotGeneralOp first = gradient.scores[0];
  const int64_t elements = tensorTypeOf(first.getResult()).getNumElements();
  int64_t rows = sumsMatrixOf(first).rows;
  for (int64_t d : first.getDotDimensionNumbers().getLhsBatchingDimensions()) {
    rows /= tensorTypeOf(first.getLhs()).getDimSize(d);
  }
  // For which keys and values would be packed.
  if (rows < target.maxScoreRows) return "there are few rows for each batch item";
  const int64_t least =
      isNarrow ? target.minNarrowGradientScoreBytes : target.minGradientScoreBytes;
  return elements * (isNarrow ? 2 : 4) < least
             ? "they are few enough to cost less than computing them again"
             : nullptr;
}

// The fusion that only transposes the result, if that is all that happens to it.
ir::FusionOp transposeOf(shlo::DotGeneralOp product) {
  mlir::Value result = product.getResult();
  if (!result.hasOneUse()) return nullptr;
  auto fusion = mlir::dyn_cast<ir::FusionOp>(*result.user_begin());
  if (!fusion || fusion->getBlock() != product->getBlock()) return nullptr;
  mlir::Block& body = fusion.getBody().front();
  if (body.getOperations().size() != 2 || !mlir::isa<shlo::TransposeOp>(body.front())) {
    return nullptr;
  }
  return fusion;
}

// Whether all elements are one number, which costs less to have than to read.
bool isSplat(ir::FusionOp fusion) {
  return fusion->getNumOperands() == 0 && fusion->getNumResults() == 1 &&
         llvm::all_of(fusion.getBody().front().without_terminator(), [](mlir::Operation& op) {
           auto constant = mlir::dyn_cast<shlo::ConstantOp>(op);
           return constant ? constant.getValue().isSplat()
                           : mlir::isa<shlo::BroadcastInDimOp, shlo::ReshapeOp>(op);
         });
}

// Takes arrays of one number, such as scales that several kernels read, into the kernel. Kernels
// that nobody reads then are erased, and noted in `gone`.
void inlineSplats(ir::FusionOp rows, llvm::DenseSet<mlir::Operation*>& gone) {
  mlir::Block& block = rows.getBody().front();
  for (unsigned i = rows->getNumOperands(); i-- > 0;) {
    auto splat = rows->getOperand(i).getDefiningOp<ir::FusionOp>();
    if (!splat || !isSplat(splat)) continue;
    auto builder = mlir::OpBuilder::atBlockBegin(&block);
    mlir::IRMapping mapping;
    mlir::Block& body = splat.getBody().front();
    for (mlir::Operation& op : body.without_terminator()) builder.clone(op, mapping);
    block.getArgument(i).replaceAllUsesWith(mapping.lookup(body.getTerminator()->getOperand(0)));
    block.eraseArgument(i);
    rows->eraseOperand(i);
    if (!splat->use_empty()) continue;
    gone.insert(splat);
    splat.erase();
  }
}

// The last product must be the last in the block. All parts are erased; kernels are noted in
// `gone`.
void fuse(Attention attention, llvm::DenseSet<mlir::Operation*>& gone) {
  inlineSplats(attention.rows, gone);
  llvm::SmallVector<mlir::Operation*> parts(attention.scores.begin(), attention.scores.end());
  parts.push_back(attention.rows);
  llvm::SmallVector<ir::FusionOp> transposes;
  llvm::SmallVector<mlir::Operation*> last;  // whose results are the fusion's
  llvm::SmallVector<mlir::Type> types;
  for (RowProduct& product : attention.products) {
    parts.push_back(product.dot);
    transposes.push_back(transposeOf(product.dot));
    last.push_back(transposes.back() ? transposes.back().getOperation() : product.dot);
    types.push_back(last.back()->getResult(0).getType());
  }
  llvm::SetVector<mlir::Value> inputs;
  for (mlir::Operation* part : parts) {
    for (mlir::Value operand : part->getOperands()) {
      if (!llvm::is_contained(parts, operand.getDefiningOp())) inputs.insert(operand);
    }
  }
  mlir::OpBuilder builder(attention.products.back().dot);
  auto fusion = ir::FusionOp::create(builder, attention.rows.getLoc(), types, inputs.getArrayRef());
  mlir::Block* block = builder.createBlock(&fusion.getBody());
  mlir::IRMapping mapping;
  for (mlir::Value input : inputs) {
    mapping.map(input, block->addArgument(input.getType(), input.getLoc()));
  }
  for (mlir::Operation* part : parts) builder.clone(*part, mapping);
  llvm::SmallVector<mlir::Value> results;
  for (auto [product, transpose] : llvm::zip(attention.products, transposes)) {
    results.push_back(mapping.lookup(product.dot.getResult()));
    if (!transpose) continue;
    mlir::IRMapping inner;
    inner.map(transpose.getBody().getArgument(0), results.back());
    results.back() = builder.clone(transpose.getBody().front().front(), inner)->getResult(0);
  }
  ir::YieldOp::create(builder, attention.rows.getLoc(), results);
  for (auto [op, result] : llvm::zip(last, fusion->getResults())) {
    op->getResult(0).replaceAllUsesWith(result);
  }
  for (ir::FusionOp transpose : transposes) {
    if (!transpose) continue;
    gone.insert(transpose);
    transpose.erase();
  }
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
    return "Makes one kernel of products, the work on their rows and the products of that.";
  }

  void runOnOperation() override {
    // Gradients first: then what the forward pass computes is used by it alone.
    const llvm::SmallVector<ir::FusionOp> kernels = kernelsOf();
    llvm::DenseSet<mlir::Operation*> gone;
    for (ir::FusionOp last : kernels) {
      if (!gone.contains(last)) fuseGradient(last, gone);
    }
    llvm::SmallVector<Attention> found;
    for (ir::FusionOp rows : kernelsOf()) {
      std::optional<Attention> attention = attentionAround(rows);
      if (!attention) continue;
      const char* why = sizeRefusal(attention->scores[0], target_);
      if (!why) why = attentionRefusal(*attention, target_);
      if (!why) {
        found.push_back(*attention);
      } else {
        log(rows, "rows of products", why);
      }
    }
    llvm::DenseSet<mlir::Operation*> taken;
    for (const Attention& attention : found) {
      // One's second product may be another's first.
      mlir::Operation* scores = attention.scores[0];
      mlir::Operation* values = attention.products[0].dot;
      if (taken.contains(scores) || taken.contains(values)) continue;
      taken.insert(scores);
      taken.insert(values);
      fuse(attention, gone);
    }
  }

 private:
  llvm::SmallVector<ir::FusionOp> kernelsOf() {
    llvm::SmallVector<ir::FusionOp> kernels;
    getOperation().walk([&](ir::FusionOp fusion) {
      if (!mlir::isa<ir::FusionOp>(fusion->getParentOp())) kernels.push_back(fusion);
    });
    return kernels;
  }

  static void log(ir::FusionOp rows, const char* what, const char* why) {
    if (!logsCompilation()) return;
    std::string where = sourceLocation(rows.getLoc());
    logCompilation(std::string(what) + (where.empty() ? "" : " at " + where) +
                   " are stored: " + why);
  }

  void fuseGradient(ir::FusionOp last, llvm::DenseSet<mlir::Operation*>& gone) {
    const char* why;
    std::optional<AttentionGradient> gradient = gradientAround(last, &why);
    if (gradient) why = gradientSizeRefusal(*gradient, target_);
    Attention attention;
    if (gradient && !why) {
      llvm::SmallVector<mlir::Operation*> rows(gradient->rows.begin(), gradient->rows.end());
      why = rematerialize(*gradient, target_, &attention);
      if (!why) {
        gone.insert(rows.begin(), rows.end());
        return fuse(attention, gone);
      }
    }
    if (why) log(last, "rows of products and their gradients", why);
  }

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
