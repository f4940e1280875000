// Operations on constants become constants, through the reference evaluator.
#include <algorithm>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/byte_size.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/dialect/types/type_conversion.h"
#include "compiler/passes/simplify/patterns.h"
#include "compiler/reference/interpreter.h"
#include "isthmus/flags.h"

namespace isthmus {
namespace {

// Enough for what is worth folding; a reduction takes a few steps for each element.
constexpr int64_t kMaxSteps = 1 << 13;
constexpr int64_t kMaxOperandBytes = 1 << 14;
// For one program, however large: a few milliseconds.
constexpr int64_t kMaxStepsOfProgram = 1 << 17;

// What is no function of its operands alone, or may not end.
bool isNeverFolded(mlir::Operation* op) {
  return isControlFlow(op) || llvm::isa<shlo::ConstantOp, shlo::OptimizationBarrierOp,
                                        shlo::CrossReplicaSumOp, shlo::CompositeOp>(op);
}

bool isQuantized(mlir::Type type) {
  return llvm::isa<mlir::quant::QuantizedType>(mlir::getElementTypeOrSelf(type));
}

mlir::DenseElementsAttr asElement(mlir::DenseElementsAttr splat) {
  return splat.resizeSplat(splat.getType().clone(llvm::ArrayRef<int64_t>()));
}

class FoldConstants final : public mlir::RewritePattern {
 public:
  FoldConstants(mlir::MLIRContext* context, int64_t maxBytes)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context), maxBytes_(maxBytes) {}

  mlir::LogicalResult matchAndRewrite(mlir::Operation* op,
                                      mlir::PatternRewriter& rewriter) const override {
    // Most operations leave here.
    if (op->getNumOperands() == 0 || op->getNumResults() == 0) return mlir::failure();
    llvm::SmallVector<mlir::DenseElementsAttr, 4> constants;
    for (mlir::Value operand : op->getOperands()) {
      auto constant = operand.getDefiningOp<shlo::ConstantOp>();
      auto value = constant ? llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue())
                            : mlir::DenseElementsAttr();
      if (!value || isQuantized(operand.getType())) return mlir::failure();
      constants.push_back(value);
    }
    if (!llvm::isa_and_nonnull<shlo::ShloDialect>(op->getDialect()) || isNeverFolded(op) ||
        !mlir::isMemoryEffectFree(op)) {
      return mlir::failure();
    }
    return fold(op, constants, rewriter);
  }

 private:
  mlir::LogicalResult fold(mlir::Operation* op, llvm::ArrayRef<mlir::DenseElementsAttr> constants,
                           mlir::PatternRewriter& rewriter) const {
    // The same element everywhere stays that, at any size.
    bool isSplat = op->hasTrait<mlir::OpTrait::Elementwise>() && op->getNumResults() == 1 &&
                   op->getNumRegions() == 0 &&
                   llvm::all_of(constants, [](mlir::DenseElementsAttr c) { return c.isSplat(); });
    int64_t resultBytes = 0;
    for (mlir::Type type : op->getResultTypes()) {
      StatusOr<int64_t> bytes = byteSize(type);
      if (!isStaticArray(type) || !bytes.ok() || isQuantized(type)) return mlir::failure();
      resultBytes = std::max(resultBytes, *bytes);
    }
    // Constants, which have a size.
    const int64_t operandBytes = arrayBytes(op->getOperands());
    if (!isSplat && (resultBytes > maxBytes_ || operandBytes > kMaxOperandBytes)) {
      return mlir::failure();
    }

    if (stepsLeft_ <= 0) return mlir::failure();
    reference::InterpreterOptions options;
    options.limits = {std::min(kMaxSteps, stepsLeft_), 4 * (maxBytes_ + kMaxOperandBytes), 4};
    std::vector<reference::Value> operands;
    for (mlir::DenseElementsAttr constant : constants) {
      StatusOr<reference::Tensor> tensor =
          reference::tensorOf(isSplat ? asElement(constant) : constant);
      if (!tensor.ok()) return mlir::failure();
      operands.push_back(std::move(tensor).value());
    }
    reference::Interpreter interpreter(op->getParentOfType<mlir::ModuleOp>(), options);
    StatusOr<std::vector<reference::Value>> results = interpreter.evaluate(op, operands);
    // What fails may be tried again, so that it counts too.
    stepsLeft_ -= interpreter.steps();
    if (!results.ok()) return mlir::failure();

    llvm::SmallVector<mlir::Value> replacements;
    for (auto [value, old] : llvm::zip(*results, op->getResults())) {
      auto type = llvm::cast<mlir::RankedTensorType>(old.getType());
      mlir::DenseElementsAttr folded = reference::attributeOf(value.tensor, type.getElementType());
      if (isSplat) folded = folded.resizeSplat(type);
      replacements.push_back(shlo::ConstantOp::create(rewriter, op->getLoc(), folded).getResult());
    }
    rewriter.replaceOp(op, replacements);
    return mlir::success();
  }

  int64_t maxBytes_;
  // A set of patterns is made for one run of the pass, which is on one thread.
  mutable int64_t stepsLeft_ = kMaxStepsOfProgram;
};

}  // namespace

void addFoldingPatterns(mlir::RewritePatternSet& patterns) {
  int64_t maxBytes = flagInt("ISTHMUS_FOLD_BYTES");
  if (maxBytes > 0) patterns.add<FoldConstants>(patterns.getContext(), maxBytes);
}

}  // namespace isthmus
