// Rules of operations that address elements by indices: gathers, scatters, dynamic slices.
#include "compiler/dialect/facts/combiner.h"
#include "compiler/partition/rules/factor_rules.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

using Dims = llvm::ArrayRef<int64_t>;

// Dimensions that are taken whole are not touched; one of which a single element is taken is
// addressed.
template <typename Op>
FactorRule slicedRule(Op op, size_t numArrays, mlir::Value slice) {
  Dims whole = shapeOf(op.getOperand()), part = shapeOf(slice);
  return alignedRule(op, 0, numArrays, [&](int d) { return whole[d] == part[d]; });
}

// Dimensions, addressed by an index, of which a few elements are taken at a time.
llvm::SmallVector<int> addressed(Dims whole, Dims part) {
  llvm::SmallVector<int> dims;
  for (int d = 0; d < static_cast<int>(whole.size()); ++d) {
    bool isOne = part[d] == 1 && whole[d] > 1;
    if (isOne || (part[d] > 0 && isFew(part[d], whole[d]))) dims.push_back(d);
  }
  return dims;
}

}  // namespace

FactorRule dynamicSliceRule(shlo::DynamicSliceOp op) {
  FactorRule rule = slicedRule(op, 1, op.getResult());
  if (!isSummable(op.getResult())) return rule;
  auto factor = static_cast<int>(rankOf(op.getResult()));
  for (int d : addressed(shapeOf(op.getOperand()), shapeOf(op.getResult()))) {
    rule.operands[0][d] = factor;
    rule.summed.insert(factor);
    rule.indexed.insert(factor++);
  }
  return rule;
}

FactorRule dynamicUpdateSliceRule(shlo::DynamicUpdateSliceOp op) {
  FactorRule rule = slicedRule(op, 2, op.getUpdate());
  auto factor = static_cast<int>(rankOf(op.getResult()));
  for (int d : addressed(shapeOf(op.getOperand()), shapeOf(op.getUpdate()))) {
    rule.operands[0][d] = rule.results[0][d] = factor;
    rule.indexed.insert(factor++);
  }
  return rule;
}

// Window dimensions as long as the operand's are not touched: the only index inside bounds is zero.
FactorRule gatherRule(shlo::GatherOp op) {
  FactorRule rule = wholeRule(op);
  shlo::GatherDimensionNumbersAttr dims = op.getDimensionNumbers();
  size_t window = 0;
  for (int64_t d = 0; d < rankOf(op.getOperand()); ++d) {
    if (llvm::is_contained(dims.getCollapsedSliceDims(), d) ||
        llvm::is_contained(dims.getOperandBatchingDims(), d)) {
      continue;
    }
    int64_t to = dims.getOffsetDims()[window++];
    if (op.getSliceSizes()[d] != shapeOf(op.getOperand())[d]) continue;
    rule.operands[0][d] = rule.results[0][to] = static_cast<int>(to);
  }
  // Each index makes its own part of the result, of its own part of the operand in a batch.
  int64_t from = 0;
  for (int64_t to = 0; to < rankOf(op.getResult()); ++to) {
    if (llvm::is_contained(dims.getOffsetDims(), to)) continue;
    if (from == dims.getIndexVectorDim()) ++from;
    rule.operands[1][from] = rule.results[0][to] = static_cast<int>(to);
    auto batch = llvm::find(dims.getStartIndicesBatchingDims(), from);
    if (batch != dims.getStartIndicesBatchingDims().end()) {
      int64_t d = dims.getOperandBatchingDims()[batch - dims.getStartIndicesBatchingDims().begin()];
      rule.operands[0][d] = static_cast<int>(to);
    }
    ++from;
  }
  if (!isSummable(op.getResult())) return rule;
  auto factor = static_cast<int>(rankOf(op.getResult()));
  for (int64_t d : dims.getStartIndexMap()) {
    if (op.getSliceSizes()[d] != 1 || rule.operands[0][d] != kWhole) continue;
    rule.operands[0][d] = factor;
    rule.summed.insert(factor);
    rule.indexed.insert(factor++);
  }
  return rule;
}

FactorRule scatterRule(shlo::ScatterOp op) {
  FactorRule rule = wholeRule(op);
  shlo::ScatterDimensionNumbersAttr dims = op.getScatterDimensionNumbers();
  size_t numInputs = op.getInputs().size(), window = 0;
  llvm::SmallVector<int64_t> rows(rankOf(op.getInputs()[0]), 1);
  for (int d = 0; d < rankOf(op.getInputs()[0]); ++d) {
    if (llvm::is_contained(dims.getInsertedWindowDims(), d) ||
        llvm::is_contained(dims.getInputBatchingDims(), d)) {
      continue;
    }
    int64_t from = dims.getUpdateWindowDims()[window++];
    rows[d] = shapeOf(op.getUpdates()[0])[from];
    if (shapeOf(op.getInputs()[0])[d] != rows[d]) continue;
    for (size_t i = 0; i < numInputs; ++i) {
      rule.operands[i][d] = d;
      rule.operands[numInputs + 1 + i][from] = d;
      rule.results[i][d] = d;
    }
  }
  for (int64_t d : dims.getScatterDimsToOperandDims()) {
    if (rows[d] != 1 || rule.operands[0][d] != kWhole) continue;
    for (size_t i = 0; i < numInputs; ++i) {
      rule.operands[i][d] = rule.results[i][d] = static_cast<int>(d);
    }
    rule.indexed.insert(static_cast<int>(d));
  }
  mlir::Operation* reducer = numInputs == 1 ? soleOperation(op->getRegion(0)) : nullptr;
  rule.isSum = llvm::isa_and_nonnull<shlo::AddOp>(reducer) && isSummable(op->getResult(0));
  // Each device adds what it has of the updates, or takes the largest, or their product.
  if (rule.isSum) rule.partialSums = {0};
  bool hasParts = rule.isSum || isNeutral(reducer, op.getInputs()[0]);
  int64_t from = 0;
  auto next = static_cast<int>(rankOf(op.getInputs()[0]));
  for (int64_t d = 0; d < rankOf(op.getUpdates()[0]); ++d) {
    if (llvm::is_contained(dims.getUpdateWindowDims(), d)) continue;
    if (from == dims.getIndexVectorDim()) ++from;
    auto batch = llvm::find(dims.getScatterIndicesBatchingDims(), from);
    if (batch != dims.getScatterIndicesBatchingDims().end()) {
      int64_t of =
          dims.getInputBatchingDims()[batch - dims.getScatterIndicesBatchingDims().begin()];
      rule.operands[numInputs][from] = static_cast<int>(of);
      for (size_t i = 0; i < numInputs; ++i) {
        rule.operands[i][of] = rule.results[i][of] = static_cast<int>(of);
        rule.operands[numInputs + 1 + i][d] = static_cast<int>(of);
      }
    } else if (hasParts) {
      rule.operands[1][from] = rule.operands[2][d] = next;
      rule.summed.insert(next++);
    }
    ++from;
  }
  return rule;
}

}  // namespace isthmus
