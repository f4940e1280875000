// The three batch_norm operations as elementwise work and reductions.
//
// Formulas: StableHLO specification, batch_norm_inference, batch_norm_training, batch_norm_grad.
#include "compiler/dialect/dialect.h"
#include "compiler/passes/legalize/patterns.h"
#include "mlir/IR/Builders.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::RankedTensorType;
using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;

// Builds arrays of one operand's shape; per-feature arrays have rank 1.
class Builder {
 public:
  Builder(mlir::Operation* op, Value operand, int64_t feature, PatternRewriter& rewriter)
      : rewriter_(rewriter),
        location_(op->getLoc()),
        type_(llvm::cast<RankedTensorType>(operand.getType())),
        feature_(feature) {}

  Value constant(double number, RankedTensorType type) {
    auto element = llvm::cast<mlir::FloatType>(type.getElementType());
    auto splat = mlir::DenseElementsAttr::get(type, rewriter_.getFloatAttr(element, number));
    return shlo::ConstantOp::create(rewriter_, location_, splat);
  }
  Value like(double number, Value model) {
    return constant(number, llvm::cast<RankedTensorType>(model.getType()));
  }
  // A per-feature array over the whole operand.
  Value spread(Value perFeature) {
    return shlo::BroadcastInDimOp::create(rewriter_, location_, type_, perFeature, Dims{feature_});
  }
  // Sums everything but the feature dimension.
  Value sum(Value array) {
    Dims dimensions;
    for (int64_t d = 0; d < type_.getRank(); ++d) {
      if (d != feature_) dimensions.push_back(d);
    }
    auto scalar = RankedTensorType::get({}, type_.getElementType());
    auto result = RankedTensorType::get({type_.getDimSize(feature_)}, type_.getElementType());
    auto reduce = shlo::ReduceOp::create(rewriter_, location_, mlir::TypeRange{result},
                                         mlir::ValueRange{array},
                                         mlir::ValueRange{constant(0, scalar)}, dimensions);
    mlir::OpBuilder::InsertionGuard guard(rewriter_);
    mlir::Block* block =
        rewriter_.createBlock(&reduce.getBody(), {}, {scalar, scalar}, {location_, location_});
    Value total = shlo::AddOp::create(rewriter_, location_, scalar, block->getArgument(0),
                                      block->getArgument(1));
    shlo::ReturnOp::create(rewriter_, location_, mlir::ValueRange{total});
    return reduce.getResult(0);
  }
  Value mean(Value array) {
    double count = 1;
    for (int64_t d = 0; d < type_.getRank(); ++d) {
      if (d != feature_) count *= type_.getDimSize(d);
    }
    Value total = sum(array);
    return div(total, like(count, total));
  }
  Value add(Value a, Value b) {
    return shlo::AddOp::create(rewriter_, location_, a.getType(), a, b);
  }
  Value sub(Value a, Value b) {
    return shlo::SubtractOp::create(rewriter_, location_, a.getType(), a, b);
  }
  Value mul(Value a, Value b) {
    return shlo::MulOp::create(rewriter_, location_, a.getType(), a, b);
  }
  Value div(Value a, Value b) {
    return shlo::DivOp::create(rewriter_, location_, a.getType(), a, b);
  }
  Value sqrt(Value a) { return shlo::SqrtOp::create(rewriter_, location_, a.getType(), a); }

  double elementsPerFeature() const {
    return static_cast<double>(type_.getNumElements()) / type_.getDimSize(feature_);
  }

 private:
  PatternRewriter& rewriter_;
  mlir::Location location_;
  RankedTensorType type_;
  int64_t feature_;
};

bool isStatic(Value value) {
  auto type = llvm::dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && type.getNumElements() > 0;
}

Value normalize(Builder& b, Value operand, Value scale, Value offset, Value mean, Value variance,
                double epsilon) {
  Value deviation = b.sqrt(b.add(variance, b.like(epsilon, variance)));
  Value normalized = b.div(b.sub(operand, b.spread(mean)), b.spread(deviation));
  return b.add(b.mul(b.spread(scale), normalized), b.spread(offset));
}

LogicalResult legalizeInference(shlo::BatchNormInferenceOp op, PatternRewriter& rewriter) {
  if (!isStatic(op.getOperand())) return mlir::failure();
  Builder b(op, op.getOperand(), op.getFeatureIndex(), rewriter);
  rewriter.replaceOp(op, normalize(b, op.getOperand(), op.getScale(), op.getOffset(), op.getMean(),
                                   op.getVariance(), op.getEpsilon().convertToDouble()));
  return mlir::success();
}

LogicalResult legalizeTraining(shlo::BatchNormTrainingOp op, PatternRewriter& rewriter) {
  if (!isStatic(op.getOperand())) return mlir::failure();
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
  if (!isStatic(op.getOperand())) return mlir::failure();
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
