// The three batch_norm operations as elementwise work and reductions.
//
// Formulas: StableHLO specification, batch_norm_inference, batch_norm_training, batch_norm_grad.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/legalize/patterns.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::RankedTensorType;
using mlir::Value;

// Builds arrays of one operand's shape; per-feature arrays have rank 1.
class Builder : public ArrayBuilder {
 public:
  Builder(mlir::Operation* op, Value operand, int64_t feature, PatternRewriter& rewriter)
      : ArrayBuilder(op, rewriter), type_(tensorTypeOf(operand)), feature_(feature) {}

  // A per-feature array over the whole operand.
  Value spread(Value perFeature) { return broadcast(perFeature, type_.getShape(), feature_); }
  // Sums everything but the feature dimension.
  Value sum(Value array) {
    llvm::SmallVector<int64_t> dimensions;
    for (int64_t d = 0; d < type_.getRank(); ++d) {
      if (d != feature_) dimensions.push_back(d);
    }
    return ArrayBuilder::sum(array, dimensions);
  }
  Value mean(Value array) {
    Value total = sum(array);
    return div(total, like(elementsPerFeature(), total));
  }
  Value sqrt(Value a) { return make<shlo::SqrtOp>(a); }

  double elementsPerFeature() const {
    return static_cast<double>(type_.getNumElements()) / type_.getDimSize(feature_);
  }

 private:
  RankedTensorType type_;
  int64_t feature_;
};

Value normalize(Builder& b, Value operand, Value scale, Value offset, Value mean, Value variance,
                double epsilon) {
  Value deviation = b.sqrt(b.add(variance, b.like(epsilon, variance)));
  Value normalized = b.div(b.sub(operand, b.spread(mean)), b.spread(deviation));
  return b.add(b.mul(b.spread(scale), normalized), b.spread(offset));
}

LogicalResult legalizeInference(shlo::BatchNormInferenceOp op, PatternRewriter& rewriter) {
  if (elementCount(op.getOperand()) == 0) return mlir::failure();
  Builder b(op, op.getOperand(), op.getFeatureIndex(), rewriter);
  rewriter.replaceOp(op, normalize(b, op.getOperand(), op.getScale(), op.getOffset(), op.getMean(),
                                   op.getVariance(), op.getEpsilon().convertToDouble()));
  return mlir::success();
}

LogicalResult legalizeTraining(shlo::BatchNormTrainingOp op, PatternRewriter& rewriter) {
  if (elementCount(op.getOperand()) == 0) return mlir::failure();
  Builder b(op, op.getOperand(), op.getFeatureIndex(), rewriter);
  Value mean = b.mean(op.getOperand());
  Value centered = b.sub(op.getOperand(), b.spread(mean));
  Value variance = b.mean(b.mul(centered, centered));
  Value output = normalize(b, op.getOperand(), op.getScale(), op.getOffset(), mean, variance,
                           op.getEpsilon().convertToDouble());
  rewriter.replaceOp(op, {output, mean, variance});
  return mlir::success();
}

LogicalResult legalizeGrad(shlo::BatchNormGradOp op, PatternRewriter& rewriter) {
  if (elementCount(op.getOperand()) == 0) return mlir::failure();
  Builder b(op, op.getOperand(), op.getFeatureIndex(), rewriter);
  Value gradOutput = op.getGradOutput();
  Value deviation =
      b.sqrt(b.add(op.getVariance(), b.like(op.getEpsilon().convertToDouble(), op.getVariance())));
  Value centered = b.sub(op.getOperand(), b.spread(op.getMean()));
  Value gradOffset = b.sum(gradOutput);
  Value sumCentered = b.sum(b.mul(gradOutput, centered));
  Value gradScale = b.div(sumCentered, deviation);
  // gradOperand = scale / (N * deviation) * (N * g - Σg - centered * Σ(g * centered) / deviation²)
  Value count = b.like(b.elementsPerFeature(), gradOutput);
  Value variance = b.mul(deviation, deviation);
  Value correction = b.mul(centered, b.spread(b.div(sumCentered, variance)));
  Value inner = b.sub(b.sub(b.mul(count, gradOutput), b.spread(gradOffset)), correction);
  Value factor = b.div(op.getScale(), b.mul(deviation, b.like(b.elementsPerFeature(), deviation)));
  rewriter.replaceOp(op, {b.mul(b.spread(factor), inner), gradScale, gradOffset});
  return mlir::success();
}

}  // namespace

void addBatchNormPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(legalizeInference);
  patterns.add(legalizeTraining);
  patterns.add(legalizeGrad);
}

}  // namespace isthmus
