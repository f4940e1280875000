// Quantized values: integers that stand for real numbers.
#pragma once

#include "compiler/reference/evaluators/evaluators.h"

namespace isthmus::reference {

// Whether any operand or result of the operation is quantized.
bool usesQuantizedTypes(mlir::Operation* op);

// The real numbers, in the expressed type, that stored values of a quantized tensor type stand for.
StatusOr<Tensor> dequantize(Call& call, const Tensor& stored, mlir::Type type);
// The nearest stored values, saturating.
StatusOr<Tensor> quantize(Call& call, const Tensor& reals, mlir::Type type);

// Dequantizes the operands, evaluates, and quantizes the results.
Status evaluateByReals(Call& call, Evaluator evaluate);

}  // namespace isthmus::reference
