#include "compiler/schedule/attention/softmax_attention.h"

#include "compiler/schedule/attention/online_softmax.h"

namespace isthmus {
namespace {

using mlir::Value;

// Behind what leaves each element, or with `isNumber` each row's number, as it is.
Value behind(Value value, bool isNumber) {
  while (mlir::Operation* op = value.getDefiningOp()) {
    const bool keeps = mlir::isa<shlo::ConvertOp, shlo::ReshapeOp>(op) ||
                       (isNumber && mlir::isa<shlo::BroadcastInDimOp>(op));
    if (!keeps) break;
    value = op->getOperand(0);
  }
  return value;
}

// Whether the weights are an exponential over the sum of its row, and no multiple of that.
bool isQuotient(ir::FusionOp rows, const OnlineSoftmax& softmax) {
  Value weights = rows.getBody().front().getTerminator()->getOperand(0);
  auto divide = behind(weights, false).getDefiningOp<shlo::DivOp>();
  return divide && behind(divide.getLhs(), false) == behind(softmax.exponentials, false) &&
         behind(divide.getRhs(), true) == softmax.sum;
}

}  // namespace

std::optional<SoftmaxAttention> softmaxAttentionOf(Attention attention, const char** why) {
  std::optional<OnlineSoftmax> softmax = onlineSoftmaxOf(attention.rows);
  if (!softmax || !isQuotient(attention.rows, *softmax)) {
    *why = "the weights are no softmax";
    return std::nullopt;
  }
  AttentionShape shape = attentionShapeOf(attention);
  if (shape.rows.size() > 1) {
    *why = "the rows have several dimensions";
    return std::nullopt;
  }
  mlir::Block& block = attention.rows.getBody().front();
  std::optional<ScoreTerms> terms =
      scoreTermsOf(softmax->logits, block.getArgument(attention.scoresOperand(0)),
                   static_cast<int>(shape.batch.size()), static_cast<int>(shape.rows.size()), why);
  if (!terms) return std::nullopt;
  return SoftmaxAttention{std::move(shape), *std::move(terms)};
}

}  // namespace isthmus
