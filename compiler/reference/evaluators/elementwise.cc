// Operations that compute each element of the result from those at the same index.
#include "compiler/dialect/types/type_conversion.h"
#include "compiler/reference/evaluators/evaluators.h"

namespace isthmus::reference {
namespace {

// A scalar operand goes with every index.
int64_t at(const Tensor& tensor, int64_t position) { return tensor.rank() == 0 ? 0 : position; }

Status requireSameShape(const Tensor& a, const Tensor& b) {
  if (a.dims() == b.dims()) return {};
  return invalidArgument("operands have the shapes of ", a.type().toString(), " and ",
                         b.type().toString());
}

bool holds(shlo::ComparisonDirection direction, int order) {
  using enum shlo::ComparisonDirection;
  switch (direction) {
    case EQ:
      return order == 0;
    case NE:
      return order != 0;
    case GE:
      return order == 0 || order == 1;
    case GT:
      return order == 1;
    case LE:
      return order == 0 || order == -1;
    case LT:
      return order == -1;
  }
  return false;
}

}  // namespace

Status evaluateUnary(Call& call, scalars::Unary function) {
  const Tensor& x = call.tensor(0);
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(call.resultElementType(), x.dims()));
  for (int64_t i = 0; i < x.size(); ++i) result.set(i, function(x.elementType(), x.get(i)));
  call.results.push_back(std::move(result));
  return {};
}

Status evaluateBinary(Call& call, scalars::Binary function) {
  const Tensor& x = call.tensor(0);
  const Tensor& y = call.tensor(1);
  ISTHMUS_RETURN_IF_ERROR(requireSameShape(x, y));
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(call.resultElementType(), x.dims()));
  for (int64_t i = 0; i < x.size(); ++i) {
    result.set(i, function(x.elementType(), x.get(i), y.get(i)));
  }
  call.results.push_back(std::move(result));
  return {};
}

Status evaluateConvert(Call& call) {
  const Tensor& x = call.tensor(0);
  ElementType to = call.resultElementType();
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(to, x.dims()));
  for (int64_t i = 0; i < x.size(); ++i) {
    result.set(i, scalars::convert(x.elementType(), x.get(i), to));
  }
  call.results.push_back(std::move(result));
  return {};
}

Status evaluateReducePrecision(Call& call) {
  auto op = llvm::cast<shlo::ReducePrecisionOp>(call.op);
  const Tensor& x = call.tensor(0);
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(x.elementType(), x.dims()));
  for (int64_t i = 0; i < x.size(); ++i) {
    result.set(i, scalars::makeFloat(roundToPrecision(x.get(i).re, x.elementType(),
                                                      static_cast<int>(op.getExponentBits()),
                                                      static_cast<int>(op.getMantissaBits()))));
  }
  call.results.push_back(std::move(result));
  return {};
}

Status evaluateCompare(Call& call) {
  auto op = llvm::cast<shlo::CompareOp>(call.op);
  const Tensor& x = call.tensor(0);
  const Tensor& y = call.tensor(1);
  ISTHMUS_RETURN_IF_ERROR(requireSameShape(x, y));
  bool isTotal = op.getCompareType() == shlo::ComparisonType::TOTALORDER;
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(ElementType::kPred, x.dims()));
  for (int64_t i = 0; i < x.size(); ++i) {
    int order = isTotal ? scalars::compareTotally(x.elementType(), x.get(i), y.get(i))
                        : scalars::compare(x.elementType(), x.get(i), y.get(i));
    result.set(i, scalars::makeBool(holds(op.getComparisonDirection(), order)));
  }
  call.results.push_back(std::move(result));
  return {};
}

Status evaluateClamp(Call& call) {
  const Tensor& low = call.tensor(0);
  const Tensor& x = call.tensor(1);
  const Tensor& high = call.tensor(2);
  if (low.rank() != 0) ISTHMUS_RETURN_IF_ERROR(requireSameShape(low, x));
  if (high.rank() != 0) ISTHMUS_RETURN_IF_ERROR(requireSameShape(high, x));
  ElementType type = x.elementType();
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(type, x.dims()));
  for (int64_t i = 0; i < x.size(); ++i) {
    Scalar raised = scalars::maximum(type, x.get(i), low.get(at(low, i)));
    result.set(i, scalars::minimum(type, raised, high.get(at(high, i))));
  }
  call.results.push_back(std::move(result));
  return {};
}

Status evaluateSelect(Call& call) {
  const Tensor& choice = call.tensor(0);
  const Tensor& x = call.tensor(1);
  const Tensor& y = call.tensor(2);
  ISTHMUS_RETURN_IF_ERROR(requireSameShape(x, y));
  if (choice.rank() != 0) ISTHMUS_RETURN_IF_ERROR(requireSameShape(choice, x));
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(x.elementType(), x.dims()));
  for (int64_t i = 0; i < x.size(); ++i) {
    result.copyElement(i, choice.integer(at(choice, i)) != 0 ? x : y, i);
  }
  call.results.push_back(std::move(result));
  return {};
}

Status evaluateMap(Call& call) {
  mlir::Region& computation = call.op->getRegion(0);
  const Dims dims = call.tensor(0).dims();
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(call.resultElementType(), dims));
  for (int64_t i = 0; i < result.size(); ++i) {
    std::vector<Tensor> arguments;
    for (unsigned k = 0; k < call.numOperands(); ++k) {
      ISTHMUS_ASSIGN_OR_RETURN(Tensor element, call.elementFor(computation, k, call.tensor(k), i));
      arguments.push_back(std::move(element));
    }
    ISTHMUS_ASSIGN_OR_RETURN(std::vector<Tensor> given,
                             call.runScalars(computation, std::move(arguments)));
    result.set(i, given[0].get(0));
  }
  call.results.push_back(std::move(result));
  return {};
}

}  // namespace isthmus::reference
