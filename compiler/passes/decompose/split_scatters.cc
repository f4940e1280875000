// The split-scatters pass: many updates of few elements go to several copies of them, which threads
// fill side by side and a reduction joins. How many does not depend on the number of threads, so
// that results do not either. (Of GPUs' threads, which update elements by atomic operations, they
// depend on the order in which those come, as XLA's do.)
#include "compiler/cost/private_copies.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/decompose/split_type.h"
#include "compiler/passes/passes.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/IRMapping.h"

namespace isthmus {

#define GEN_PASS_DEF_SPLITSCATTERSPASS
#include "compiler/passes/passes.h.inc"

namespace {

using Dims = llvm::SmallVector<int64_t>;

// What `op` leaves unchanged; null for other ops, and types whose results depend on the order of
// updates by more than the last bits.
mlir::Attribute neutralElement(mlir::Operation* op, mlir::Type element) {
  const Neutral neutral = neutralOf(op);
  if (neutral == Neutral::kNone) return {};
  if (auto type = mlir::dyn_cast<mlir::FloatType>(element)) {
    if (!type.isF32() && !type.isF64()) return {};
    const llvm::fltSemantics& semantics = type.getFloatSemantics();
    // Not +0: that would turn a sum of -0 into itself.
    if (neutral == Neutral::kZero) {
      return mlir::FloatAttr::get(type, llvm::APFloat::getZero(semantics, /*Negative=*/true));
    }
    if (neutral == Neutral::kOne) {
      return mlir::FloatAttr::get(type, llvm::APFloat::getOne(semantics));
    }
    return mlir::FloatAttr::get(
        type, llvm::APFloat::getInf(semantics, /*Negative=*/neutral == Neutral::kLowest));
  }
  auto type = mlir::dyn_cast<mlir::IntegerType>(element);
  if (!type || type.getWidth() < 8) return {};
  const unsigned width = type.getWidth();
  llvm::APInt value(width, neutral == Neutral::kOne ? 1 : 0);
  if (neutral == Neutral::kAllOnes) value = llvm::APInt::getAllOnes(width);
  if (neutral == Neutral::kLowest && !type.isUnsigned()) {
    value = llvm::APInt::getSignedMinValue(width);
  }
  if (neutral == Neutral::kHighest) {
    value =
        type.isUnsigned() ? llvm::APInt::getMaxValue(width) : llvm::APInt::getSignedMaxValue(width);
  }
  return mlir::IntegerAttr::get(type, value);
}

// Dimension numbers once a dimension has been put in at `at`.
Dims shifted(llvm::ArrayRef<int64_t> dims, int64_t at) {
  Dims result(dims);
  for (int64_t& dim : result) dim += dim >= at;
  return result;
}

void split(shlo::ScatterOp scatter, const TargetModel& target) {
  auto numbers = scatter.getScatterDimensionNumbers();
  // Updates to different places, those of batches, and of copies in the memory of groups, are split
  // by the kernel.
  if (scatter.getInputs().size() != 1 || scatter.getUniqueIndices() ||
      !numbers.getInputBatchingDims().empty() || privateCopies(scatter, target) > 0) {
    return;
  }
  mlir::Value operand = scatter.getInputs()[0], updates = scatter.getUpdates()[0];
  mlir::Value indices = scatter.getScatterIndices();
  mlir::RankedTensorType type = tensorTypeOf(operand);
  if (!type.hasStaticShape() || !tensorTypeOf(updates).hasStaticShape()) return;
  mlir::Operation* combiner = soleOperation(scatter.getUpdateComputation());
  if (!combiner) return;
  mlir::Attribute neutral = neutralElement(combiner, type.getElementType());
  if (!neutral) return;
  const int64_t count = tensorTypeOf(updates).getNumElements();
  if (count < target.minParallelUpdates || type.getNumElements() == 0) return;

  llvm::ArrayRef<int64_t> windowDims = numbers.getUpdateWindowDims();
  int64_t windowElements = 1;
  int64_t updatesDim = -1;  // the first that is not of the windows
  for (int64_t d = 0; d < tensorTypeOf(updates).getRank(); ++d) {
    if (llvm::is_contained(windowDims, d)) {
      windowElements *= tensorTypeOf(updates).getDimSize(d);
    } else if (updatesDim < 0) {
      updatesDim = d;
    }
  }
  // Wider windows are split along themselves, by the kernel.
  if (updatesDim < 0 || windowElements * elementBytes(type) > target.maxScatterWindowBytes) return;
  // Filling and joining the copies must not be felt beside the updates.
  const int64_t most = std::min(target.maxScatterCopies,
                                count / target.minUpdatesPerElement / type.getNumElements());
  int64_t copies = 0;
  for (int64_t parts = 2; parts <= most; ++parts) {
    if (tensorTypeOf(updates).getDimSize(updatesDim) % parts == 0) copies = parts;
  }
  if (copies == 0) return;

  const int64_t vectorDim = numbers.getIndexVectorDim();
  const int64_t indicesDim = vectorDim == 0 ? 1 : 0;
  mlir::OpBuilder builder(scatter);
  mlir::Location location = scatter.getLoc();
  Dims shape(type.getShape());
  shape.insert(shape.begin(), copies);
  auto copiesType = mlir::RankedTensorType::get(shape, type.getElementType());
  auto constant = [&](mlir::RankedTensorType like) {
    return shlo::ConstantOp::create(builder, location, mlir::DenseElementsAttr::get(like, neutral));
  };
  auto viewOf = [&](mlir::Value value, int64_t dim) {
    return shlo::ReshapeOp::create(builder, location, splitType(tensorTypeOf(value), dim, copies),
                                   value);
  };
  Dims inserted = shifted(numbers.getInsertedWindowDims(), 0);
  Dims indexed = shifted(numbers.getScatterDimsToOperandDims(), 0);
  auto splitNumbers = shlo::ScatterDimensionNumbersAttr::get(
      builder.getContext(), shifted(windowDims, updatesDim), inserted, Dims{0}, Dims{indicesDim},
      indexed, vectorDim + (vectorDim >= indicesDim));
  mlir::Value filled = constant(copiesType);
  mlir::Value splitIndices = viewOf(indices, indicesDim);
  mlir::Value splitUpdates = viewOf(updates, updatesDim);
  auto parts = shlo::ScatterOp::create(builder, location, mlir::TypeRange{copiesType},
                                       mlir::ValueRange{filled}, splitIndices,
                                       mlir::ValueRange{splitUpdates}, splitNumbers);
  auto cloneComputation = [&](mlir::Region& to) {
    mlir::IRMapping mapping;
    scatter.getUpdateComputation().cloneInto(&to, mapping);
  };
  cloneComputation(parts.getUpdateComputation());

  mlir::Value start = constant(mlir::RankedTensorType::get({}, type.getElementType()));
  auto joined = shlo::ReduceOp::create(builder, location, mlir::TypeRange{type},
                                       mlir::ValueRange{parts.getResult(0)},
                                       mlir::ValueRange{start}, llvm::ArrayRef<int64_t>{0});
  cloneComputation(joined.getBody());

  mlir::OperationState state(location, combiner->getName());
  state.addOperands({operand, joined.getResult(0)});
  state.addTypes(type);
  scatter.getResult(0).replaceAllUsesWith(builder.create(state)->getResult(0));
  scatter.erase();
}

struct SplitScattersPass : impl::SplitScattersPassBase<SplitScattersPass> {
  SplitScattersPass() = default;
  explicit SplitScattersPass(const TargetModel& target) : target_(target) {}

  void runOnOperation() override {
    llvm::SmallVector<shlo::ScatterOp> scatters;
    getOperation().walk([&](shlo::ScatterOp scatter) { scatters.push_back(scatter); });
    for (shlo::ScatterOp scatter : scatters) split(scatter, target_);
  }

  TargetModel target_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createSplitScattersPass(const TargetModel& target) {
  return std::make_unique<SplitScattersPass>(target);
}

}  // namespace isthmus
