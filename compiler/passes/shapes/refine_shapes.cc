// The refine-shapes pass: shapes that a program computes from constants become types.
#include "compiler/dialect/diagnostics/diagnostics.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/rules/rules.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/shapes/contraction_shapes.h"
#include "compiler/passes/shapes/dynamic_calls.h"
#include "compiler/passes/shapes/known_integers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

namespace isthmus {

#define GEN_PASS_DEF_REFINESHAPESPASS
#include "compiler/passes/passes.h.inc"

namespace {

using Dims = llvm::SmallVector<int64_t>;
using mlir::RankedTensorType;
using mlir::Value;

bool hasKnownShape(mlir::Type type) {
  auto tensor = llvm::dyn_cast<RankedTensorType>(type);
  return !tensor || tensor.hasStaticShape();
}

// Fails for sizes that are no shape.
std::optional<Dims> asShape(std::optional<KnownIntegers::Numbers> numbers) {
  if (!numbers || llvm::any_of(*numbers, [](int64_t size) { return size < 0; })) {
    return std::nullopt;
  }
  return Dims(numbers->begin(), numbers->end());
}

class Refiner {
 public:
  explicit Refiner(mlir::MLIRContext* context) : builder_(context) {}

  // Fails if the program asserts what is not so.
  mlir::LogicalResult run(mlir::Block& block) {
    refineBlock(block);
    // Not before: known_ must not meet a value in the memory of one that it has answered for.
    for (mlir::Operation* op : replaced_) op->erase();
    return mlir::success(!hasFailed_);
  }

 private:
  void refineBlock(mlir::Block& block) {
    for (mlir::Operation& op : llvm::make_early_inc_range(block)) refineOperation(op);
  }

  void refineOperation(mlir::Operation& op) {
    if (auto loop = llvm::dyn_cast<shlo::WhileOp>(op)) return refineWhile(loop);
    bool isBranch = llvm::isa<shlo::CaseOp, shlo::IfOp>(op);
    if (isBranch) {
      for (mlir::Region& region : op.getRegions()) refineBlock(region.front());
    }
    builder_.setInsertionPoint(&op);
    if (auto call = llvm::dyn_cast<shlo::CustomCallOp>(op); call && refineCall(call)) return;
    if (Value known = knownOperation(op)) {
      op.getResult(0).replaceAllUsesWith(known);
      replaced_.push_back(&op);
      return;
    }
    if (llvm::all_of(op.getResultTypes(), hasKnownShape)) return;
    if (isBranch) {
      mlir::Operation* yield = op.getRegion(0).front().getTerminator();
      for (auto [result, yielded] : llvm::zip(op.getResults(), yield->getOperands())) {
        if (hasKnownShape(yielded.getType())) result.setType(yielded.getType());
      }
      return;
    }
    inferResults(op);
  }

  // Whether nothing is left to do.
  bool refineCall(shlo::CustomCallOp call) {
    mlir::FailureOr<bool> isTrue = holds(call, known_);
    hasFailed_ |= mlir::failed(isTrue);
    if (mlir::failed(isTrue)) return true;
    if (*isTrue) {
      replaced_.push_back(call);
      return true;
    }
    mlir::Operation* known = knownForm(call, known_, builder_);
    if (!known) return false;
    inferResults(*known);
    hasFailed_ |= mlir::failed(verifyRules(known));
    call->replaceAllUsesWith(known);
    replaced_.push_back(call);
    return true;
  }

  // The body may see the initial shapes if it gives them back.
  void refineWhile(shlo::WhileOp loop) {
    mlir::Block& cond = loop.getCond().front();
    mlir::Block& body = loop.getBody().front();
    for (auto [i, init] : llvm::enumerate(loop.getOperands())) {
      body.getArgument(i).setType(init.getType());
    }
    refineBlock(body);
    mlir::Operation* yield = body.getTerminator();
    for (auto [i, init] : llvm::enumerate(loop.getOperands())) {
      // Otherwise the sizes change on the way, and the error is the backend's.
      if (yield->getOperand(i).getType() != init.getType()) return;
    }
    for (auto [i, init] : llvm::enumerate(loop.getOperands())) {
      cond.getArgument(i).setType(init.getType());
      loop.getResult(i).setType(init.getType());
    }
    refineBlock(cond);
  }

  void inferResults(mlir::Operation& op) {
    llvm::SmallVector<mlir::Type> types;
    if (std::optional<Dims> shape = shapeOfContraction(op)) {
      types.push_back(shaped(op, *shape));
    } else if (auto infers = llvm::dyn_cast<mlir::InferTypeOpInterface>(op)) {
      mlir::DictionaryAttr attributes = op.getAttrDictionary();
      if (mlir::failed(infers.inferReturnTypes(op.getContext(), std::nullopt, op.getOperands(),
                                               attributes, op.getPropertiesStorage(),
                                               op.getRegions(), types))) {
        return;
      }
    } else if (op.hasTrait<mlir::OpTrait::SameOperandsAndResultShape>() || isElementwiseCall(op)) {
      for (Value result : op.getResults()) {
        types.push_back(tensorTypeOf(result).clone(tensorTypeOf(op.getOperand(0)).getShape()));
      }
    }
    if (types.size() != op.getNumResults()) return;
    for (auto [result, type] : llvm::zip(op.getResults(), types)) {
      if (!hasKnownShape(result.getType()) && hasKnownShape(type)) result.setType(type);
    }
  }

  static std::optional<Dims> shapeOfContraction(mlir::Operation& op) {
    if (auto dot = llvm::dyn_cast<shlo::DotGeneralOp>(op)) return shapeOfResult(dot);
    if (auto conv = llvm::dyn_cast<shlo::ConvolutionOp>(op)) return shapeOfResult(conv);
    return std::nullopt;
  }

  RankedTensorType shaped(mlir::Operation& op, llvm::ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, tensorTypeOf(op.getResult(0)).getElementType());
  }

  // The shape of an operation's result: its type's, or the one that `shape` computes.
  std::optional<Dims> shapeOf(mlir::Operation& op, Value shape) {
    RankedTensorType type = tensorTypeOf(op.getResult(0));
    if (type.hasStaticShape()) return Dims(type.getShape());
    return asShape(known_.of(shape));
  }

  // What replaces an operation whose shapes are known; null if they are not.
  Value knownOperation(mlir::Operation& op) {
    return llvm::TypeSwitch<mlir::Operation*, Value>(&op)
        .Case<shlo::GetDimensionSizeOp>([&](auto size) { return constantSize(size); })
        .Case<shlo::SetDimensionSizeOp>([&](auto size) { return resized(size); })
        .Case<shlo::DynamicReshapeOp>([&](shlo::DynamicReshapeOp reshape) -> Value {
          std::optional<Dims> shape = shapeOf(op, reshape.getOutputShape());
          RankedTensorType operand = tensorTypeOf(reshape.getOperand());
          if (!shape || !operand.hasStaticShape()) return {};
          RankedTensorType type = shaped(op, *shape);
          if (type.getNumElements() != operand.getNumElements()) return {};
          return shlo::ReshapeOp::create(builder_, op.getLoc(), type, reshape.getOperand());
        })
        .Case<shlo::DynamicBroadcastInDimOp>([&](shlo::DynamicBroadcastInDimOp broadcast) -> Value {
          std::optional<Dims> shape = shapeOf(op, broadcast.getOutputDimensions());
          if (!shape || !hasKnownShape(broadcast.getOperand().getType())) return {};
          return shlo::BroadcastInDimOp::create(builder_, op.getLoc(), shaped(op, *shape),
                                                broadcast.getOperand(),
                                                broadcast.getBroadcastDimensions());
        })
        .Case<shlo::DynamicIotaOp>([&](shlo::DynamicIotaOp iota) -> Value {
          std::optional<Dims> shape = shapeOf(op, iota.getOutputShape());
          if (!shape) return {};
          return shlo::IotaOp::create(builder_, op.getLoc(), shaped(op, *shape),
                                      iota.getIotaDimension());
        })
        .Case<shlo::DynamicPadOp>([&](auto pad) { return knownPad(pad); })
        .Case<shlo::RealDynamicSliceOp>([&](auto slice) { return knownSlice(slice); })
        .Case<shlo::DynamicGatherOp>([&](auto gather) { return knownGather(gather); })
        .Case<shlo::DynamicConvOp>([&](auto conv) { return knownConv(conv); })
        .Default([](auto) { return Value(); });
  }

  Value constantSize(shlo::GetDimensionSizeOp op) {
    std::optional<KnownIntegers::Numbers> size = known_.of(op.getResult());
    if (!size) return {};
    return shlo::ConstantOp::create(
        builder_, op.getLoc(),
        mlir::DenseElementsAttr::get(RankedTensorType::get({}, builder_.getI32Type()),
                                     llvm::ArrayRef<int32_t>{static_cast<int32_t>((*size)[0])}));
  }

  // A dimension that is set to a known size is a static one from there on.
  Value resized(shlo::SetDimensionSizeOp op) {
    std::optional<KnownIntegers::Numbers> size = known_.of(op.getSize());
    RankedTensorType operand = tensorTypeOf(op.getOperand());
    if (!size || !operand.hasStaticShape()) return {};
    Dims starts(operand.getRank(), 0), limits(operand.getShape()), strides(operand.getRank(), 1);
    if ((*size)[0] < 0 || (*size)[0] > limits[op.getDimension()]) return {};
    limits[op.getDimension()] = (*size)[0];
    return shlo::SliceOp::create(builder_, op.getLoc(), shaped(*op, limits), op.getOperand(),
                                 starts, limits, strides);
  }

  Value knownPad(shlo::DynamicPadOp op) {
    auto low = known_.of(op.getEdgePaddingLow()), high = known_.of(op.getEdgePaddingHigh());
    auto interior = asShape(known_.of(op.getInteriorPadding()));
    if (!low || !high || !interior || !hasKnownShape(op.getOperand().getType())) return {};
    Dims shape;
    for (auto [d, size] : llvm::enumerate(tensorTypeOf(op.getOperand()).getShape())) {
      int64_t padded = std::max<int64_t>(size - 1, 0), sum;
      if (llvm::MulOverflow(padded, (*interior)[d], padded) ||
          llvm::AddOverflow(padded, size, padded) || llvm::AddOverflow(padded, (*low)[d], padded) ||
          llvm::AddOverflow(padded, (*high)[d], sum) || sum < 0) {
        return {};
      }
      shape.push_back(sum);
    }
    return shlo::PadOp::create(builder_, op.getLoc(), shaped(*op, shape), op.getOperand(),
                               op.getPaddingValue(), *low, *high, *interior);
  }

  Value knownSlice(shlo::RealDynamicSliceOp op) {
    auto starts = asShape(known_.of(op.getStartIndices()));
    auto limits = asShape(known_.of(op.getLimitIndices()));
    auto strides = asShape(known_.of(op.getStrides()));
    RankedTensorType operand = tensorTypeOf(op.getOperand());
    if (!strides || !operand.hasStaticShape()) return {};
    if (!starts || !limits) return movingSlice(op, *strides);
    Dims shape;
    for (int64_t d = 0; d < operand.getRank(); ++d) {
      int64_t start = (*starts)[d], limit = (*limits)[d], stride = (*strides)[d];
      if (stride < 1 || start > limit || limit > operand.getDimSize(d)) return {};
      shape.push_back((limit - start) / stride + ((limit - start) % stride != 0));
    }
    return shlo::SliceOp::create(builder_, op.getLoc(), shaped(*op, shape), op.getOperand(),
                                 *starts, *limits, *strides);
  }

  // A slice of known size from a computed place.
  Value movingSlice(shlo::RealDynamicSliceOp op, llvm::ArrayRef<int64_t> strides) {
    if (!op.getType().hasStaticShape() ||
        llvm::any_of(strides, [](int64_t stride) { return stride != 1; })) {
      return {};
    }
    mlir::Type element = tensorTypeOf(op.getStartIndices()).getElementType();
    llvm::SmallVector<Value> starts;
    for (int64_t d = 0; d < op.getType().getRank(); ++d) {
      Value start =
          shlo::SliceOp::create(builder_, op.getLoc(), RankedTensorType::get({1}, element),
                                op.getStartIndices(), Dims{d}, Dims{d + 1}, Dims{1});
      starts.push_back(shlo::ReshapeOp::create(builder_, op.getLoc(),
                                               RankedTensorType::get({}, element), start));
    }
    return shlo::DynamicSliceOp::create(builder_, op.getLoc(), op.getType(), op.getOperand(),
                                        starts, op.getType().getShape());
  }

  Value knownGather(shlo::DynamicGatherOp op) {
    auto sizes = asShape(known_.of(op.getSliceSizes()));
    RankedTensorType operand = tensorTypeOf(op.getOperand()),
                     indices = tensorTypeOf(op.getStartIndices());
    if (!sizes || !operand.hasStaticShape() || !indices.hasStaticShape()) return {};
    for (int64_t d = 0; d < operand.getRank(); ++d) {
      if ((*sizes)[d] > operand.getDimSize(d)) return {};
    }
    shlo::GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
    Dims batch(indices.getShape());
    if (numbers.getIndexVectorDim() < indices.getRank()) {
      batch.erase(batch.begin() + numbers.getIndexVectorDim());
    }
    Dims offsets;
    for (int64_t d = 0; d < operand.getRank(); ++d) {
      if (!llvm::is_contained(numbers.getCollapsedSliceDims(), d) &&
          !llvm::is_contained(numbers.getOperandBatchingDims(), d)) {
        offsets.push_back((*sizes)[d]);
      }
    }
    Dims shape;
    size_t nextBatch = 0, nextOffset = 0;
    for (size_t d = 0; d < batch.size() + offsets.size(); ++d) {
      bool isOffset = llvm::is_contained(numbers.getOffsetDims(), static_cast<int64_t>(d));
      if (isOffset ? nextOffset == offsets.size() : nextBatch == batch.size()) return {};
      shape.push_back(isOffset ? offsets[nextOffset++] : batch[nextBatch++]);
    }
    return shlo::GatherOp::create(builder_, op.getLoc(), shaped(*op, shape), op.getOperand(),
                                  op.getStartIndices(), numbers, *sizes, op.getIndicesAreSorted());
  }

  Value knownConv(shlo::DynamicConvOp op) {
    auto padding = known_.of(op.getPadding());
    if (!padding || !hasKnownShape(op.getLhs().getType()) ||
        !hasKnownShape(op.getRhs().getType())) {
      return {};
    }
    auto matrix =
        RankedTensorType::get(tensorTypeOf(op.getPadding()).getShape(), builder_.getI64Type());
    if (!matrix.hasStaticShape()) return {};
    auto conv = shlo::ConvolutionOp::create(
        builder_, op.getLoc(), op.getType(), op.getLhs(), op.getRhs(), op.getWindowStridesAttr(),
        mlir::DenseIntElementsAttr::get(matrix, llvm::ArrayRef<int64_t>(*padding)),
        op.getLhsDilationAttr(), op.getRhsDilationAttr(), op.getWindowReversalAttr(),
        op.getDimensionNumbers(), op.getFeatureGroupCountAttr(), op.getBatchGroupCountAttr(),
        op.getPrecisionConfigAttr());
    if (!hasKnownShape(conv.getType())) inferResults(*conv);
    return conv;
  }

  mlir::OpBuilder builder_;
  KnownIntegers known_;
  llvm::SmallVector<mlir::Operation*> replaced_;
  bool hasFailed_ = false;
};

struct RefineShapesPass : impl::RefineShapesPassBase<RefineShapesPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<mlir::func::FuncOp>()) {
      if (function.isExternal()) continue;
      takeShapes(function);
      if (!needsRefining(function)) continue;
      if (mlir::failed(Refiner(&getContext()).run(function.getBody().front()))) {
        return signalPassFailure();
      }
      mlir::Operation* result = function.getBody().front().getTerminator();
      function.setType(mlir::FunctionType::get(&getContext(), function.getArgumentTypes(),
                                               result->getOperandTypes()));
      if (!isValid(function)) return signalPassFailure();
    }
  }

  // What the program says of sizes that it computes may be wrong, which only shows now. Of
  // quantized types the pass legalize-quantized says more.
  static bool isValid(mlir::func::FuncOp function) {
    auto isQuantized = [](mlir::Type type) {
      return shlo::isQuantized(mlir::getElementTypeOrSelf(type));
    };
    return !function
                .walk([&](mlir::Operation* op) {
                  if (llvm::any_of(op->getOperandTypes(), isQuantized) ||
                      llvm::any_of(op->getResultTypes(), isQuantized)) {
                    return mlir::WalkResult::advance();
                  }
                  return mlir::WalkResult(verifyRules(op, /*isRecursive=*/false));
                })
                .wasInterrupted();
  }

  // The shapes that the caller gives become the arguments' types.
  static void takeShapes(mlir::func::FuncOp function) {
    bool hasChanged = false;
    for (mlir::BlockArgument argument : function.getArguments()) {
      unsigned i = argument.getArgNumber();
      auto shape = function.getArgAttrOfType<mlir::DenseI64ArrayAttr>(i, kShapeAttribute);
      if (!shape) continue;
      argument.setType(
          RankedTensorType::get(shape.asArrayRef(), tensorTypeOf(argument).getElementType()));
      function.removeArgAttr(i, kShapeAttribute);
      hasChanged = true;
    }
    if (!hasChanged) return;
    function.setType(mlir::FunctionType::get(function.getContext(),
                                             function.getBody().front().getArgumentTypes(),
                                             function.getResultTypes()));
  }

  static bool needsRefining(mlir::func::FuncOp function) {
    return function
        .walk([](mlir::Operation* op) {
          const OpFacts* facts = findOpFacts(op);
          bool isDynamic = (facts && facts->isDynamic) || isDynamicCall(op) ||
                           !llvm::all_of(op->getResultTypes(), hasKnownShape);
          return isDynamic ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
        })
        .wasInterrupted();
  }
};

}  // namespace
}  // namespace isthmus
