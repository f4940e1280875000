// Rules of operations that look at neighbours: convolutions, windows, padding, Fourier transforms.
#include "compiler/partition/factor_rules.h"

namespace isthmus {
namespace {

template <typename Sizes>
int64_t sizeOr1(const Sizes& sizes, int d) {
  return sizes ? (*sizes)[d] : 1;
}

bool isPadded(std::optional<mlir::DenseIntElementsAttr> padding, int d) {
  if (!padding) return false;
  auto values = padding->getValues<int64_t>();
  return values[2 * d] != 0 || values[2 * d + 1] != 0;
}

}  // namespace

FactorRule convolutionRule(shlo::ConvolutionOp op) {
  FactorRule rule = wholeRule(op);
  shlo::ConvDimensionNumbersAttr dims = op.getDimensionNumbers();
  int next = 0;
  Factors &input = rule.operands[0], &kernel = rule.operands[1], &result = rule.results[0];
  const auto featureGroups = static_cast<int64_t>(op.getFeatureGroupCount());
  const auto batchGroups = static_cast<int64_t>(op.getBatchGroupCount());
  if (batchGroups == 1) {
    input[dims.getInputBatchDimension()] = result[dims.getOutputBatchDimension()] = next++;
  }
  // What a group makes depends on its own part of the input.
  if (featureGroups > 1) {
    rule.units[next] = featureGroups;
    input[dims.getInputFeatureDimension()] = next;
  } else if (batchGroups > 1) {
    rule.units[next] = batchGroups;
    input[dims.getInputBatchDimension()] = next;
  }
  kernel[dims.getKernelOutputFeatureDimension()] = next;
  result[dims.getOutputFeatureDimension()] = next++;
  if (featureGroups == 1 && isSummable(op.getResult())) {
    input[dims.getInputFeatureDimension()] = kernel[dims.getKernelInputFeatureDimension()] = next;
    rule.summed.insert(next);
  }
  return rule;
}

FactorRule fftRule(shlo::FftOp op) {
  int64_t batch = rankOf(op.getResult()) - static_cast<int64_t>(op.getFftLength().size());
  return alignedRule(op, 0, 1, [&](int d) { return d < batch; });
}

FactorRule padRule(shlo::PadOp op) {
  return alignedRule(op, 0, 1, [&](int d) {
    return op.getEdgePaddingLow()[d] == 0 && op.getEdgePaddingHigh()[d] == 0 &&
           op.getInteriorPadding()[d] == 0;
  });
}

// Windows that follow each other stay within a block if it is made of whole ones.
FactorRule reduceWindowRule(shlo::ReduceWindowOp op) {
  return alignedRule(op, 0, op.getInputs().size(), [&](int d) {
    int64_t window = op.getWindowDimensions()[d];
    return window == sizeOr1(op.getWindowStrides(), d) && sizeOr1(op.getBaseDilations(), d) == 1 &&
           sizeOr1(op.getWindowDilations(), d) == 1 && !isPadded(op.getPadding(), d) &&
           shapeOf(op.getInputs()[0])[d] == shapeOf(op->getResult(0))[d] * window;
  });
}

FactorRule selectAndScatterRule(shlo::SelectAndScatterOp op) {
  return alignedRule(op, 0, 2, [&](int d) {
    int64_t window = sizeOr1(op.getWindowDimensions(), d);
    return window == sizeOr1(op.getWindowStrides(), d) && !isPadded(op.getPadding(), d) &&
           shapeOf(op.getOperand())[d] == shapeOf(op.getSource())[d] * window;
  });
}

}  // namespace isthmus
