// Rules of operations that look at neighbours: convolutions and windows.
#include "compiler/dialect/facts/combiner.h"
#include "compiler/partition/rules/factor_rules.h"
#include "compiler/partition/split/running_windows.h"

namespace isthmus {
namespace {

template <typename Sizes>
int64_t sizeOr1(const Sizes& sizes, int64_t d) {
  return sizes ? (*sizes)[d] : 1;
}

int64_t lowPadding(const std::optional<mlir::DenseIntElementsAttr>& padding, int64_t d) {
  return padding ? padding->getValues<int64_t>()[2 * d] : 0;
}

bool isPadded(const std::optional<mlir::DenseIntElementsAttr>& padding, int64_t d) {
  return padding && (lowPadding(padding, d) != 0 || padding->getValues<int64_t>()[2 * d + 1] != 0);
}

// A spatial dimension is split with the result, or, where the kernel is the longer one, as that of
// the gradient of a kernel is, with the kernel: then each device has a part of the sum.
void addSpatial(shlo::ConvolutionOp op, int64_t s, int factor, FactorRule& rule) {
  shlo::ConvDimensionNumbersAttr dims = op.getDimensionNumbers();
  const int64_t inputDim = dims.getInputSpatialDimensions()[s];
  const int64_t kernelDim = dims.getKernelSpatialDimensions()[s];
  const int64_t resultDim = dims.getOutputSpatialDimensions()[s];
  const int64_t taps = shapeOf(op.getRhs())[kernelDim];
  const int64_t places = shapeOf(op.getResult())[resultDim];
  const int64_t stride = sizeOr1(op.getWindowStrides(), s);
  const int64_t dilation = sizeOr1(op.getRhsDilation(), s);
  Halo halo;
  halo.dim = inputDim;
  halo.factor = factor;
  halo.low = lowPadding(op.getPadding(), s);
  halo.baseDilation = sizeOr1(op.getLhsDilation(), s);
  if (taps <= places) {
    halo.size = places;
    halo.stride = stride;
    halo.span = (taps - 1) * dilation + 1;
    rule.results[0][resultDim] = factor;
  } else {
    bool isReversed = op.getWindowReversal() && (*op.getWindowReversal())[s];
    if (isReversed || !isSummable(op.getResult())) return;
    halo.size = taps;
    halo.stride = dilation;
    halo.span = (places - 1) * stride + 1;
    rule.operands[1][kernelDim] = factor;
    rule.summed.insert(factor);
  }
  rule.operands[0][inputDim] = factor;
  rule.halos.push_back(halo);
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
    rule.summed.insert(next++);
  }
  const auto spatial = static_cast<int64_t>(dims.getInputSpatialDimensions().size());
  for (int64_t s = 0; s < spatial; ++s) addSpatial(op, s, next++, rule);
  return rule;
}

FactorRule reduceWindowRule(shlo::ReduceWindowOp op) {
  const size_t inputs = op.getInputs().size();
  FactorRule rule = alignedRule(op, 0, inputs, [](int) { return true; });
  std::optional<RunningWindow> running = runningWindowOf(op);
  for (int d = 0; d < rankOf(op->getResult(0)); ++d) {
    const int64_t window = op.getWindowDimensions()[d];
    const int64_t stride = sizeOr1(op.getWindowStrides(), d);
    const int64_t dilation = sizeOr1(op.getWindowDilations(), d);
    const int64_t baseDilation = sizeOr1(op.getBaseDilations(), d);
    const int64_t size = shapeOf(op->getResult(0))[d];
    // Windows that follow each other stay within a block if it is made of whole ones.
    bool areApart = window == stride && dilation == 1 && baseDilation == 1 &&
                    !isPadded(op.getPadding(), d) && shapeOf(op.getInputs()[0])[d] == size * window;
    if (areApart) continue;
    if (running && running->dimension == d) {
      rule.running = d;
      continue;
    }
    for (unsigned i = 0; i < inputs; ++i) {
      rule.halos.push_back({i, d, d, size, stride, lowPadding(op.getPadding(), d),
                            (window - 1) * dilation + 1, baseDilation});
    }
  }
  return rule;
}

FactorRule selectAndScatterRule(shlo::SelectAndScatterOp op) {
  FactorRule rule = wholeRule(op);
  // Windows that there are not add nothing.
  bool isSum = llvm::isa_and_nonnull<shlo::AddOp>(soleOperation(op.getScatter())) &&
               isZero(op.getInitValue());
  for (int d = 0; d < rankOf(op.getOperand()); ++d) {
    const int64_t window = sizeOr1(op.getWindowDimensions(), d);
    const int64_t stride = sizeOr1(op.getWindowStrides(), d);
    const int64_t rows = shapeOf(op.getOperand())[d], windows = shapeOf(op.getSource())[d];
    if (isPadded(op.getPadding(), d)) continue;
    bool areApart = window == stride && rows == windows * window;
    if (!areApart && (!isSum || window < stride)) continue;
    rule.operands[0][d] = rule.operands[1][d] = rule.results[0][d] = d;
    if (areApart) continue;
    Halo halo{.dim = d, .factor = d, .size = rows, .stride = stride, .scatterWindow = window};
    rule.halos.push_back(halo);
    halo.operand = 1;
    halo.isOfWindows = true;
    rule.halos.push_back(halo);
  }
  return rule;
}

}  // namespace isthmus
