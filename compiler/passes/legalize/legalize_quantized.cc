// The legalize-quantized pass: quantized arrays become the integers that they store.
//
// What an operation means for quantized operands is in the op table: it computes with the real
// numbers that they stand for, or it moves what is stored. Formulas and their order of rounding:
// StableHLO specification, uniform_quantize and uniform_dequantize.
#include "compiler/dialect/diagnostics/diagnostics.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/type_conversion.h"
#include "compiler/passes/passes.h"
#include "compiler/reference/evaluators/evaluators.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus {

#define GEN_PASS_DEF_LEGALIZEQUANTIZEDPASS
#include "compiler/passes/passes.h.inc"

namespace {

using mlir::RankedTensorType;
using mlir::Value;
using mlir::quant::QuantizedType;

QuantizedType quantizedTypeOf(mlir::Type type) {
  return llvm::dyn_cast<QuantizedType>(mlir::getElementTypeOrSelf(type));
}

bool isQuantized(mlir::Type type) { return quantizedTypeOf(type) != nullptr; }

// The type of what is stored for a value of this type.
mlir::Type storageOf(mlir::Type type) {
  QuantizedType quantized = quantizedTypeOf(type);
  if (!quantized || toElementType(type) == ElementType::kInvalid) return type;
  return llvm::cast<mlir::ShapedType>(type).clone(
      fromElementType(type.getContext(), toElementType(type)));
}

// Builds the arithmetic between stored integers and the numbers that they stand for.
class Rewriter {
 public:
  explicit Rewriter(mlir::MLIRContext* context) : builder_(context) {}

  mlir::LogicalResult rewrite(mlir::Operation* op) {
    builder_.setInsertionPoint(op);
    location_ = op->getLoc();
    if (llvm::isa<shlo::UniformDequantizeOp>(op)) {
      return replace(op, dequantize(op->getOperand(0)));
    }
    if (llvm::isa<shlo::UniformQuantizeOp>(op)) {
      Value reals = op->getOperand(0);
      if (isQuantized(reals.getType())) reals = dequantize(reals);
      return replace(op, reals ? quantize(reals, op->getResult(0).getType()) : Value());
    }
    const reference::EvaluatorEntry* entry = reference::findEvaluator(op->getName().getStringRef());
    if (!entry || !entry->computesWithReals) return mlir::success();
    return computeWithReals(op);
  }

 private:
  mlir::LogicalResult replace(mlir::Operation* op, Value value) {
    if (!value) return mlir::failure();
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
    return mlir::success();
  }

  mlir::LogicalResult computeWithReals(mlir::Operation* op) {
    for (mlir::OpOperand& operand : op->getOpOperands()) {
      if (!isQuantized(operand.get().getType())) continue;
      Value reals = dequantize(operand.get());
      if (!reals) return mlir::failure();
      operand.set(reals);
    }
    builder_.setInsertionPointAfter(op);
    for (mlir::OpResult result : op->getResults()) {
      mlir::Type type = result.getType();
      QuantizedType quantized = quantizedTypeOf(type);
      if (!quantized) continue;
      result.setType(llvm::cast<RankedTensorType>(type).clone(quantized.getExpressedType()));
      llvm::SmallVector<mlir::OpOperand*> uses;
      for (mlir::OpOperand& use : result.getUses()) uses.push_back(&use);
      Value stored = quantize(result, type);
      if (!stored) return mlir::failure();
      for (mlir::OpOperand* use : uses) use->set(stored);
    }
    return mlir::success();
  }

  Value splat(RankedTensorType type, double number) {
    auto element = llvm::cast<mlir::FloatType>(type.getElementType());
    return shlo::ConstantOp::create(
        builder_, location_,
        mlir::DenseElementsAttr::get(type, builder_.getFloatAttr(element, number)));
  }

  // What `make` gives for the parameters, one for all or one for each index of the quantized
  // dimension, spread over an array of type `whole`. Null, and reported, if they do not fit.
  template <typename Make>
  Value spread(QuantizedType quantized, RankedTensorType whole, llvm::ArrayRef<double> scales,
               llvm::ArrayRef<int64_t> zeroPoints, Make make) {
    llvm::SmallVector<mlir::Attribute> numbers;
    for (auto [scale, zero] : llvm::zip_equal(scales, zeroPoints)) {
      numbers.push_back(make(scale, zero));
    }
    auto perAxis = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(quantized);
    if (!perAxis) {
      return shlo::ConstantOp::create(builder_, location_,
                                      mlir::DenseElementsAttr::get(whole, numbers));
    }
    auto axis = static_cast<int64_t>(perAxis.getQuantizedDimension());
    auto count = static_cast<int64_t>(numbers.size());
    if (axis >= whole.getRank() || whole.getDimSize(axis) != count) {
      emitInvalid(location_, "a type with ")
          << count << " scales does not fit dimension " << axis << " of " << whole;
      return {};
    }
    Value list = shlo::ConstantOp::create(
        builder_, location_,
        mlir::DenseElementsAttr::get(RankedTensorType::get({count}, whole.getElementType()),
                                     numbers));
    return shlo::BroadcastInDimOp::create(builder_, location_, whole, list,
                                          llvm::SmallVector<int64_t>{axis});
  }

  struct Parameters {
    llvm::SmallVector<double> scales;
    llvm::SmallVector<int64_t> zeroPoints;
  };

  // Nothing, and reported, if there are none.
  std::optional<Parameters> parametersOf(QuantizedType quantized, RankedTensorType whole) {
    if (!whole || !whole.hasStaticShape()) {
      mlir::emitError(location_, "quantized arrays of dynamic shape cannot be compiled");
      return std::nullopt;
    }
    if (auto uniform = llvm::dyn_cast<mlir::quant::UniformQuantizedType>(quantized)) {
      return Parameters{{uniform.getScale()}, {uniform.getZeroPoint()}};
    }
    if (auto perAxis = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(quantized)) {
      return Parameters{llvm::SmallVector<double>(perAxis.getScales()),
                        llvm::SmallVector<int64_t>(perAxis.getZeroPoints())};
    }
    mlir::emitError(location_) << "type " << quantized << " cannot be compiled: only uniform "
                               << "quantization, of whole tensors or along one dimension, can";
    return std::nullopt;
  }

  // (stored - zeroPoint) * scale
  Value dequantize(Value stored) {
    auto whole = llvm::dyn_cast<RankedTensorType>(stored.getType());
    QuantizedType quantized = quantizedTypeOf(whole);
    std::optional<Parameters> parameters = parametersOf(quantized, whole);
    if (!parameters) return {};
    auto expressed = llvm::cast<mlir::FloatType>(quantized.getExpressedType());
    RankedTensorType realType = whole.clone(expressed);
    Value offset = stored;
    if (llvm::any_of(parameters->zeroPoints, [](int64_t zero) { return zero != 0; })) {
      // Of integers that hold every difference, so that it is rounded once.
      unsigned width = quantized.getStorageTypeIntegralWidth() <= 16 ? 32 : 64;
      auto wide = builder_.getIntegerType(width);
      Value converted = shlo::ConvertOp::create(builder_, location_, whole.clone(wide), stored);
      Value zeros = spread(quantized, whole.clone(wide), parameters->scales, parameters->zeroPoints,
                           [&](double, int64_t zero) -> mlir::Attribute {
                             return builder_.getIntegerAttr(wide, zero);
                           });
      if (!zeros) return {};
      offset = shlo::SubtractOp::create(builder_, location_, converted.getType(), converted, zeros);
    }
    offset = shlo::ConvertOp::create(builder_, location_, realType, offset);
    Value scales = spread(quantized, realType, parameters->scales, parameters->zeroPoints,
                          [&](double scale, int64_t) -> mlir::Attribute {
                            return builder_.getFloatAttr(expressed, scale);
                          });
    if (!scales) return {};
    return shlo::MulOp::create(builder_, location_, realType, offset, scales);
  }

  // round(clamp(least, real / scale + zeroPoint, greatest))
  Value quantize(Value reals, mlir::Type type) {
    auto whole = llvm::dyn_cast<RankedTensorType>(reals.getType());
    QuantizedType quantized = quantizedTypeOf(type);
    std::optional<Parameters> parameters = parametersOf(quantized, whole);
    if (!parameters) return {};
    auto expressed = llvm::cast<mlir::FloatType>(whole.getElementType());
    auto number = [&](double value) -> mlir::Attribute {
      return builder_.getFloatAttr(expressed, value);
    };
    Value scales = spread(quantized, whole, parameters->scales, parameters->zeroPoints,
                          [&](double scale, int64_t) { return number(scale); });
    if (!scales) return {};
    Value value = shlo::DivOp::create(builder_, location_, whole, reals, scales);
    if (llvm::any_of(parameters->zeroPoints, [](int64_t zero) { return zero != 0; })) {
      Value zeros = spread(quantized, whole, parameters->scales, parameters->zeroPoints,
                           [&](double, int64_t zero) { return number(static_cast<double>(zero)); });
      value = shlo::AddOp::create(builder_, location_, whole, value, zeros);
    }
    Value least = splat(whole, static_cast<double>(quantized.getStorageTypeMin()));
    Value greatest = splat(whole, static_cast<double>(quantized.getStorageTypeMax()));
    value = shlo::ClampOp::create(builder_, location_, whole, least, value, greatest);
    value = shlo::RoundNearestEvenOp::create(builder_, location_, whole, value);
    // Of the quantized type until all operations have been rewritten: they go by it.
    return shlo::ConvertOp::create(builder_, location_, whole.clone(quantized), value);
  }

  mlir::OpBuilder builder_;
  mlir::Location location_ = builder_.getUnknownLoc();
};

struct LegalizeQuantizedPass : impl::LegalizeQuantizedPassBase<LegalizeQuantizedPass> {
  void runOnOperation() override {
    llvm::SmallVector<mlir::Operation*> quantized;
    getOperation().walk([&](mlir::Operation* op) {
      if (llvm::any_of(op->getResultTypes(), isQuantized) ||
          llvm::any_of(op->getOperandTypes(), isQuantized)) {
        quantized.push_back(op);
      }
    });
    if (quantized.empty() &&
        !llvm::any_of(getOperation().getOps<mlir::func::FuncOp>(), [](mlir::func::FuncOp function) {
          return llvm::any_of(function.getArgumentTypes(), isQuantized);
        })) {
      return;
    }
    Rewriter rewriter(&getContext());
    for (mlir::Operation* op : quantized) {
      if (mlir::failed(rewriter.rewrite(op))) return signalPassFailure();
    }
    // What is left moves what is stored.
    getOperation().walk([](mlir::Operation* op) {
      for (Value result : op->getResults()) result.setType(storageOf(result.getType()));
      for (mlir::Region& region : op->getRegions()) {
        for (mlir::Block& block : region) {
          for (Value argument : block.getArguments()) {
            argument.setType(storageOf(argument.getType()));
          }
        }
      }
    });
    for (auto function : getOperation().getOps<mlir::func::FuncOp>()) {
      auto stored = [](mlir::TypeRange types) {
        return llvm::to_vector(llvm::map_range(types, storageOf));
      };
      function.setType(mlir::FunctionType::get(&getContext(), stored(function.getArgumentTypes()),
                                               stored(function.getResultTypes())));
    }
  }
};

}  // namespace
}  // namespace isthmus
