// Quantization as the specification defines it, with its roundings in the expressed type.
#include "compiler/reference/evaluators/quantization.h"

#include <algorithm>
#include <cmath>

#include "compiler/dialect/types/type_conversion.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus::reference {
namespace {

mlir::quant::QuantizedType quantizedType(mlir::Type type) {
  return llvm::dyn_cast<mlir::quant::QuantizedType>(mlir::getElementTypeOrSelf(type));
}

struct Parameters {
  double scale;
  int64_t zeroPoint;
};

// The parameters of each element of an array of these dimensions.
class ParametersOf {
 public:
  static StatusOr<ParametersOf> make(mlir::quant::QuantizedType type, const Dims& dims) {
    ParametersOf result;
    if (auto uniform = llvm::dyn_cast<mlir::quant::UniformQuantizedType>(type)) {
      result.all_.push_back({uniform.getScale(), uniform.getZeroPoint()});
      return result;
    }
    auto perAxis = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(type);
    if (!perAxis) return unimplemented("quantization by blocks, or of any kind");
    auto axis = static_cast<size_t>(perAxis.getQuantizedDimension());
    for (auto [scale, zero] : llvm::zip(perAxis.getScales(), perAxis.getZeroPoints())) {
      result.all_.push_back({scale, zero});
    }
    if (axis >= dims.size() || dims[axis] != static_cast<int64_t>(result.all_.size())) {
      return invalidArgument("a type with ", result.all_.size(),
                             " scales does not fit the quantized dimension ", axis);
    }
    for (size_t d = axis + 1; d < dims.size(); ++d) result.inner_ *= dims[d];
    return result;
  }

  const Parameters& at(int64_t position) const {
    if (all_.size() == 1) return all_.front();
    return all_[static_cast<size_t>(position / inner_) % all_.size()];
  }

 private:
  std::vector<Parameters> all_;
  int64_t inner_ = 1;
};

double rounded(double value, ElementType type) {
  return normalized(scalars::makeFloat(value), type).re;
}

}  // namespace

bool usesQuantizedTypes(mlir::Operation* op) {
  auto isQuantized = [](mlir::Type type) { return quantizedType(type) != nullptr; };
  return llvm::any_of(op->getOperandTypes(), isQuantized) ||
         llvm::any_of(op->getResultTypes(), isQuantized);
}

StatusOr<Tensor> dequantize(Call& call, const Tensor& stored, mlir::Type type) {
  mlir::quant::QuantizedType quantized = quantizedType(type);
  ElementType expressed = toElementType(quantized.getExpressedType());
  ISTHMUS_ASSIGN_OR_RETURN(ParametersOf parameters, ParametersOf::make(quantized, stored.dims()));
  ISTHMUS_ASSIGN_OR_RETURN(Tensor reals, call.make(expressed, stored.dims()));
  for (int64_t i = 0; i < stored.size(); ++i) {
    const Parameters& p = parameters.at(i);
    double offset = rounded(static_cast<double>(stored.integer(i) - p.zeroPoint), expressed);
    reals.set(i, scalars::makeFloat(offset * rounded(p.scale, expressed)));
  }
  return reals;
}

StatusOr<Tensor> quantize(Call& call, const Tensor& reals, mlir::Type type) {
  mlir::quant::QuantizedType quantized = quantizedType(type);
  ElementType expressed = toElementType(quantized.getExpressedType());
  ISTHMUS_ASSIGN_OR_RETURN(ParametersOf parameters, ParametersOf::make(quantized, reals.dims()));
  ISTHMUS_ASSIGN_OR_RETURN(Tensor stored, call.make(toElementType(type), reals.dims()));
  double least = rounded(static_cast<double>(quantized.getStorageTypeMin()), expressed);
  double greatest = rounded(static_cast<double>(quantized.getStorageTypeMax()), expressed);
  for (int64_t i = 0; i < reals.size(); ++i) {
    const Parameters& p = parameters.at(i);
    double scaled = rounded(reals.get(i).re / rounded(p.scale, expressed), expressed);
    double shifted =
        rounded(scaled + rounded(static_cast<double>(p.zeroPoint), expressed), expressed);
    // NaN has no place among the stored values; converting it to an integer gives 0.
    double clamped = std::min(std::max(shifted, least), greatest);
    stored.set(i, scalars::convert(expressed, scalars::makeFloat(std::nearbyint(clamped)),
                                   stored.elementType()));
  }
  return stored;
}

Status evaluateByReals(Call& call, Evaluator evaluate) {
  std::vector<Value> reals(call.operands.begin(), call.operands.end());
  for (auto [type, value] : llvm::zip(call.op->getOperandTypes(), reals)) {
    if (!quantizedType(type)) continue;
    ISTHMUS_ASSIGN_OR_RETURN(value, dequantize(call, value.tensor, type));
  }
  Call inner{call.op, reals, call.resultTypes, call.interpreter, call.frame};
  for (mlir::Type& type : inner.resultTypes) {
    if (auto quantized = quantizedType(type)) {
      type = llvm::cast<mlir::RankedTensorType>(type).clone(quantized.getExpressedType());
    }
  }
  ISTHMUS_RETURN_IF_ERROR(evaluate(inner));
  for (auto [type, value] : llvm::zip(call.op->getResultTypes(), inner.results)) {
    if (!quantizedType(type)) continue;
    ISTHMUS_ASSIGN_OR_RETURN(value, quantize(call, value.tensor, type));
  }
  call.results = std::move(inner.results);
  return {};
}

Status evaluateUniformQuantize(Call& call) {
  Tensor reals = call.tensor(0);
  mlir::Type type = call.op->getOperand(0).getType();
  if (quantizedType(type)) {
    ISTHMUS_ASSIGN_OR_RETURN(reals, dequantize(call, reals, type));
  }
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, quantize(call, reals, call.op->getResult(0).getType()));
  call.results.push_back(std::move(result));
  return {};
}

Status evaluateUniformDequantize(Call& call) {
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result,
                           dequantize(call, call.tensor(0), call.op->getOperand(0).getType()));
  call.results.push_back(std::move(result));
  return {};
}

}  // namespace isthmus::reference
