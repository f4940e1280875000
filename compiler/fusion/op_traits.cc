#include "compiler/fusion/op_traits.h"

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types.h"
#include "compiler/plan/op_role.h"
#include "llvm/ADT/TypeSwitch.h"

namespace isthmus {
namespace {

// Constants up to this many elements live in the kernels that use them.
constexpr int64_t kSmallConstantElements = 16;
constexpr int kMaxFreeDepth = 4;

bool isSmallConstant(mlir::Operation* op) {
  auto constant = llvm::dyn_cast<shlo::ConstantOp>(op);
  if (!constant) return false;
  return constant.getValue().isSplat() ||
         constant.getValue().getNumElements() <= kSmallConstantElements;
}

// Whether the value takes no more of memory than a number: splats, iota, and what is made of them.
bool readsNoArray(mlir::Value value) {
  mlir::Operation* op = value.getDefiningOp();
  while (op && llvm::isa<shlo::ReshapeOp>(op)) op = op->getOperand(0).getDefiningOp();
  if (!op || llvm::isa<shlo::SliceOp>(op)) return false;
  return !llvm::isa<shlo::BroadcastInDimOp>(op) || elementCount(op->getOperand(0).getType()) == 1;
}

bool isFreeWithin(mlir::Operation* op, int depth) {
  if (isSmallConstant(op)) return true;
  if (llvm::isa<shlo::IotaOp, shlo::BroadcastInDimOp>(op)) return true;
  if (auto slice = llvm::dyn_cast<shlo::SliceOp>(op)) {
    // Strided reads are slow enough to be done once.
    return llvm::all_of(slice.getStrides(), [](int64_t stride) { return stride == 1; });
  }
  if (auto reshape = llvm::dyn_cast<shlo::ReshapeOp>(op)) {
    return elementCount(reshape.getType()) > 0 &&
           squeezedShape(reshape.getOperand().getType()) == squeezedShape(reshape.getType());
  }
  if (depth == 0 || fusionClass(op) != FusionClass::kElementwise || elementCost(op) > 1) {
    return false;
  }
  return llvm::all_of(op->getOperands(), [&](mlir::Value operand) {
    return readsNoArray(operand) && isFreeWithin(operand.getDefiningOp(), depth - 1);
  });
}

double floatFactor(mlir::Type type) {
  auto element = mlir::getElementTypeOrSelf(type);
  if (llvm::isa<mlir::ComplexType>(element)) return 4;
  return element.getIntOrFloatBitWidth() >= 64 ? 2 : 1;
}

}  // namespace

FusionClass fusionClass(mlir::Operation* op) {
  using namespace shlo;
  for (mlir::Value result : op->getResults()) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(result.getType());
    if (!type || !type.hasStaticShape()) return FusionClass::kOpaque;
  }
  return llvm::TypeSwitch<mlir::Operation*, FusionClass>(op)
      .Case<AbsOp, AddOp, AndOp, Atan2Op, CbrtOp, CeilOp, ClampOp, ClzOp, CompareOp, ComplexOp,
            ConvertOp, CosineOp, DivOp, ExpOp, Expm1Op, FloorOp, ImagOp, IsFiniteOp, Log1pOp, LogOp,
            LogisticOp, MaxOp, MinOp, MulOp, NegOp, NotOp, OrOp, PopulationCountOp, PowOp, RealOp,
            ReducePrecisionOp, RemOp, RoundNearestEvenOp, RoundOp, RsqrtOp, SelectOp, ShiftLeftOp,
            ShiftRightArithmeticOp, ShiftRightLogicalOp, SignOp, SineOp, SqrtOp, SubtractOp, TanOp,
            TanhOp, XorOp>([](auto) { return FusionClass::kElementwise; })
      .Case<BitcastConvertOp>([](BitcastConvertOp convert) {
        if (convert.getOperand().getType().getShape() == convert.getType().getShape()) {
          return FusionClass::kElementwise;
        }
        return roleOf(convert) == OpRole::kView ? FusionClass::kView : FusionClass::kIndexed;
      })
      .Case<BroadcastInDimOp, ConcatenateOp, DynamicSliceOp, GatherOp, IotaOp, PadOp, ReverseOp,
            SliceOp, TransposeOp>([](auto) { return FusionClass::kIndexed; })
      .Case<ReshapeOp, OptimizationBarrierOp>([](auto) { return FusionClass::kView; })
      .Case<ReduceOp>([](auto) { return FusionClass::kReduce; })
      .Case<ReduceWindowOp>([](auto) { return FusionClass::kWindow; })
      .Case<DynamicUpdateSliceOp>([](auto) { return FusionClass::kUpdateSlice; })
      .Case<ScatterOp, SelectAndScatterOp>([](auto) { return FusionClass::kScatter; })
      .Case<ConstantOp>([](auto) { return FusionClass::kConstant; })
      .Default([](auto) { return FusionClass::kOpaque; });
}

bool isKernel(mlir::Operation* op) {
  FusionClass fusion = fusionClass(op);
  return fusion != FusionClass::kOpaque && fusion != FusionClass::kView &&
         fusion != FusionClass::kConstant;
}

bool isFree(mlir::Operation* op) { return isFreeWithin(op, kMaxFreeDepth); }

double elementCost(mlir::Operation* op) {
  using namespace shlo;
  if (op->getNumResults() == 0) return 0;
  double factor = floatFactor(op->getResult(0).getType());
  return factor *
         llvm::TypeSwitch<mlir::Operation*, double>(op)
             .Case<ExpOp, LogisticOp, TanhOp, Expm1Op, LogOp, Log1pOp>([](auto) { return 12; })
             .Case<SineOp, CosineOp, CbrtOp>([](auto) { return 20; })
             .Case<PowOp, Atan2Op, TanOp>([](auto) { return 40; })
             .Case<DivOp, SqrtOp, RsqrtOp>([](auto) { return 5; })
             .Case<RemOp>([](auto) { return 20; })
             .Case<GatherOp>([](auto) { return 8; })
             .Case<ConcatenateOp, PadOp>([](auto) { return 2; })
             .Case<ReduceWindowOp>([](ReduceWindowOp window) {
               double size = 1;
               for (int64_t extent : window.getWindowDimensions()) size *= extent;
               return 2 * size;
             })
             .Case<BroadcastInDimOp, ReshapeOp, SliceOp, ConstantOp, IotaOp>([](auto) { return 0; })
             .Default([](auto) { return 1; });
}

double operandEvaluations(mlir::Operation* op, unsigned index) {
  using namespace shlo;
  double result = op->getNumResults() ? elementCount(op->getResult(0).getType()) : 0;
  double operand = elementCount(op->getOperand(index).getType());
  return llvm::TypeSwitch<mlir::Operation*, double>(op)
      .Case<ReduceOp, PadOp, ConcatenateOp, DynamicUpdateSliceOp>([&](auto) { return operand; })
      .Case<ReduceWindowOp>([&](ReduceWindowOp window) {
        double size = 1;
        for (int64_t extent : window.getWindowDimensions()) size *= extent;
        return result * size;
      })
      .Case<DynamicSliceOp>([&](auto) { return index == 0 ? result : 1.0; })
      .Default([&](auto) { return operand == 1 ? 1.0 : result; });
}

int64_t elementCount(mlir::Type type) {
  auto ranked = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return ranked && ranked.hasStaticShape() ? ranked.getNumElements() : 0;
}

llvm::SmallVector<int64_t> squeezedShape(mlir::Type type) {
  llvm::SmallVector<int64_t> shape;
  for (int64_t extent : llvm::cast<mlir::RankedTensorType>(type).getShape()) {
    if (extent != 1) shape.push_back(extent);
  }
  return shape;
}

int64_t elementBytes(mlir::Type type) {
  return static_cast<int64_t>(elementSizeBytes(toElementType(mlir::getElementTypeOrSelf(type))));
}

}  // namespace isthmus
