// Fusions are read from their result back to the sums.
#include "backends/cuda/kernels/blas_epilogue.h"

#include <cmath>

#include "backends/cuda/kernels/epilogue_values.h"
#include "backends/cuda/kernels/tensor_dot.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/simplify/match.h"
#include "compiler/schedule/dot_scheduler.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus::cuda {
namespace {

using mlir::Value;
using Factors = llvm::SmallVector<Value, 4>;

// By the constant of the approximation and sqrt(2 / pi).
constexpr double kCubed = 0.044715, kScale = 0.7978845608028654;

// Whether all elements are `number`, as precisely as their type has it.
bool isAbout(Value value, double number) {
  mlir::DenseElementsAttr splat = constantSplat(value);
  if (!splat || !llvm::isa<mlir::FloatType>(splat.getElementType())) return false;
  auto element = splat.getSplatValue<llvm::APFloat>();
  llvm::APFloat rounded(number);
  bool loses = false;
  rounded.convert(element.getSemantics(), llvm::APFloat::rmNearestTiesToEven, &loses);
  constexpr double kTolerance = 1e-6;
  return std::abs(element.convertToDouble() - rounded.convertToDouble()) <=
         kTolerance * std::abs(number);
}

// What is multiplied, in whatever order.
Factors factorsOf(Value value) {
  Factors factors;
  llvm::SmallVector<Value, 4> open = {value};
  constexpr size_t kMaxFactors = 8;
  while (!open.empty() && factors.size() < kMaxFactors) {
    Value one = open.pop_back_val();
    if (auto product = one.getDefiningOp<shlo::MulOp>()) {
      open.append({product.getLhs(), product.getRhs()});
    } else {
      factors.push_back(one);
    }
  }
  return open.empty() ? factors : Factors();
}

// Takes the first factor that `is` what is looked for.
template <typename Is>
Value take(Factors& factors, const Is& is) {
  auto found = llvm::find_if(factors, is);
  if (found == factors.end()) return nullptr;
  Value value = *found;
  factors.erase(found);
  return value;
}

// x, if `value` is x * (1/2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x)))).
Value argumentOfGelu(Value value) {
  Factors factors = factorsOf(value);
  if (!take(factors, [](Value factor) { return isAbout(factor, 0.5); })) return nullptr;
  shlo::TanhOp tanh;
  take(factors, [&](Value factor) {
    Value other = plus(factor, [](Value one) { return isAbout(one, 1); });
    tanh = other ? other.getDefiningOp<shlo::TanhOp>() : shlo::TanhOp();
    return static_cast<bool>(tanh);
  });
  if (!tanh || factors.size() != 1) return nullptr;
  const Value x = factors[0];
  Factors scaled = factorsOf(tanh.getOperand());
  if (!take(scaled, [](Value factor) { return isAbout(factor, kScale); })) return nullptr;
  if (scaled.size() != 1) return nullptr;
  Value cube = plus(scaled[0], [&](Value one) { return one == x; });
  if (!cube) return nullptr;
  Factors cubed = factorsOf(cube);
  if (!take(cubed, [](Value factor) { return isAbout(factor, kCubed); })) return nullptr;
  const bool isCube = cubed.size() == 3 && llvm::all_of(cubed, [&](Value one) { return one == x; });
  return isCube ? x : Value();
}

// Whether element c of `operand` is that of all places of column c, of so many.
bool isForEachColumn(shlo::BroadcastInDimOp broadcast, int64_t columns) {
  mlir::RankedTensorType from = tensorTypeOf(broadcast.getOperand());
  mlir::RankedTensorType to = tensorTypeOf(broadcast.getResult());
  if (from.getNumElements() != columns) return false;
  // Columns are the last dimensions; an operand that has those in their order has nothing else.
  int64_t left = columns;
  size_t next = broadcast.getBroadcastDimensions().size();
  for (int64_t dim = to.getRank(); dim-- > 0 && left > 1;) {
    const int64_t size = to.getDimSize(dim);
    const bool isOfOperand = next > 0 && broadcast.getBroadcastDimensions()[next - 1] == dim;
    if (isOfOperand) --next;
    if (size == 1) continue;
    if (!isOfOperand || from.getDimSize(static_cast<int64_t>(next)) != size) return false;
    left /= size;
  }
  return left == 1;
}

class Reader {
 public:
  Reader(ir::FusionOp fusion, shlo::DotGeneralOp dot) : fusion_(fusion), dot_(dot) {}

  std::optional<BlasFusion> read(bool allowsTf32) {
    std::optional<BlasProduct> product = blasProductOf(dot_, allowsTf32);
    if (!product || fusion_->getNumResults() != 1) return std::nullopt;
    if (product->operands == BlasType::kI8) return std::nullopt;
    read_.product = *product;
    if (!readTypes()) return std::nullopt;
    read_.operands = {llvm::cast<mlir::BlockArgument>(dot_.getLhs()).getArgNumber(),
                      llvm::cast<mlir::BlockArgument>(dot_.getRhs()).getArgNumber()};
    Value value = withoutReshapes(value_);
    int epilogue = 0;
    if (Value x = argumentOfRelu(value)) {
      epilogue = static_cast<int>(BlasEpilogue::kRelu);
      value = withoutReshapes(x);
    } else if (Value y = argumentOfGelu(value); y && result_.getIntOrFloatBitWidth() == 16) {
      epilogue = static_cast<int>(BlasEpilogue::kGelu);
      value = withoutReshapes(y);
    }
    Value sums = plus(value, [&](Value one) { return readBias(one); });
    if (sums) epilogue |= kBlasBias;
    if (epilogue == 0 || withoutReshapes(sums ? sums : value) != dot_.getResult()) {
      return std::nullopt;
    }
    read_.product.epilogue = static_cast<BlasEpilogue>(epilogue);
    return read_;
  }

 private:
  // Sums in f32 may be rounded at the end, and else stay of the result's type.
  bool readTypes() {
    value_ = fusion_.getBody().front().getTerminator()->getOperand(0);
    result_ = tensorTypeOf(value_).getElementType();
    mlir::Type sums = tensorTypeOf(dot_.getResult()).getElementType();
    mlir::Type operands = tensorTypeOf(dot_.getLhs()).getElementType();
    if (!result_.isF32() && !result_.isBF16() && !result_.isF16()) return false;
    if (result_ == sums) return true;
    auto rounding = withoutReshapes(value_).getDefiningOp<shlo::ConvertOp>();
    if (!rounding || !sums.isF32() || result_ != operands) return false;
    value_ = rounding.getOperand();
    read_.product.result = read_.product.operands;
    return tensorTypeOf(value_).getElementType() == sums;
  }

  // A bias has the result's type, though it may be computed with as f32.
  bool readBias(Value value) {
    auto widened = [](Value one) {
      auto convert = one.getDefiningOp<shlo::ConvertOp>();
      return convert ? convert.getOperand() : one;
    };
    auto broadcast =
        withoutReshapes(widened(withoutReshapes(value))).getDefiningOp<shlo::BroadcastInDimOp>();
    if (!broadcast || !isForEachColumn(broadcast, read_.product.columns)) return false;
    Value bias = withoutReshapes(widened(withoutReshapes(broadcast.getOperand())));
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(bias);
    if (!argument || tensorTypeOf(bias).getElementType() != result_) return false;
    read_.operands.push_back(argument.getArgNumber());
    return true;
  }

  ir::FusionOp fusion_;
  shlo::DotGeneralOp dot_;
  BlasFusion read_;
  Value value_;
  mlir::Type result_;
};

}  // namespace

std::optional<BlasFusion> blasFusionOf(ir::FusionOp fusion, bool allowsTf32) {
  shlo::DotGeneralOp dot = contractionOf(fusion);
  if (!dot) return std::nullopt;
  const bool readsMemory =
      llvm::all_of(dot->getOperands(), [](Value value) { return !value.getDefiningOp(); });
  return readsMemory ? Reader(fusion, dot).read(allowsTf32) : std::nullopt;
}

std::string nameOf(BlasEpilogue epilogue) {
  switch (epilogue) {
    case BlasEpilogue::kNone:
      break;
    case BlasEpilogue::kRelu:
      return "ReLU";
    case BlasEpilogue::kBias:
      return "bias";
    case BlasEpilogue::kReluBias:
      return "bias and ReLU";
    case BlasEpilogue::kGelu:
      return "GELU";
    case BlasEpilogue::kGeluBias:
      return "bias and GELU";
  }
  return "";
}

}  // namespace isthmus::cuda
