// The split-reductions pass: long reductions to few results in two steps, the first of which has
// results enough for all threads.
#include <limits>
#include <optional>

#include "compiler/cost/rematerialization.h"
#include "compiler/dialect/array_shape.h"
#include "compiler/dialect/combiner.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/simplify/match.h"
#include "compiler/passes/split_type.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace isthmus {

#define GEN_PASS_DEF_SPLITREDUCTIONSPASS
#include "compiler/passes/passes.h.inc"

namespace {

// Of elementwise operations that lead to a reduction and follow the change of its shape.
constexpr int kMaxChain = 32;

// Of rows that are parts of a reduction: folding a vector of sums is little beside them.
constexpr int64_t kMinRowElements = 128;

using Dims = llvm::SmallVector<int64_t>;

// Whether reducing twice with the same initial value gives what reducing once gives.
bool canReduceTwice(shlo::ReduceOp reduce) {
  mlir::Operation* op = soleOperation(reduce.getBody());
  if (!op) return false;
  mlir::Type element = tensorTypeOf(reduce.getInputs()[0]).getElementType();
  mlir::Value initial = reduce.getInitValues()[0];
  if (isIdempotent(op)) return true;
  // Sums of narrow floats are kept wider inside a kernel, and lose that between two.
  if (mlir::isa<mlir::FloatType>(element) && element.getIntOrFloatBitWidth() < 32) return false;
  return (neutralOf(op) == Neutral::kZero && isSplatOf(initial, 0)) ||
         (neutralOf(op) == Neutral::kOne && isSplatOf(initial, 1));
}

// The largest number of parts of equal size that a dimension has; 0 if there is no good one.
int64_t partsOf(int64_t size, const TargetModel& target) {
  for (int64_t parts = target.maxParts; parts >= target.minParts; --parts) {
    if (size % parts == 0) return parts;
  }
  return 0;
}

// Whether the dimensions before those that it reduces are the result's.
bool reducesRows(shlo::ReduceOp reduce) {
  const int64_t kept = rankOf(reduce.getResult(0));
  return reduce.getInputs().size() == 1 &&
         llvm::all_of(reduce.getDimensions(), [&](int64_t dim) { return dim >= kept; });
}

class Splitter {
 public:
  explicit Splitter(const TargetModel& target) : target_(target) {}
  void split(shlo::ReduceOp reduce);

 private:
  mlir::Value splitValue(mlir::OpBuilder& builder, mlir::Value value, int& chain);
  mlir::Value reshaped(mlir::OpBuilder& builder, mlir::Value value, int64_t dim);
  mlir::Value splitBroadcast(mlir::OpBuilder& builder, shlo::BroadcastInDimOp broadcast);
  mlir::Value splitIota(mlir::OpBuilder& builder, shlo::IotaOp iota);
  mlir::Value splitRows(mlir::OpBuilder& builder, shlo::ReduceOp reduce, int& chain);
  mlir::Value reduceOver(mlir::OpBuilder& builder, shlo::ReduceOp like, mlir::Value input,
                         llvm::ArrayRef<int64_t> dimensions);

  const TargetModel& target_;
  int64_t dim_ = 0;
  int64_t parts_ = 0;
  // So that reductions of one array stay reductions of one array, which share a kernel.
  llvm::DenseMap<std::pair<mlir::Value, std::pair<int64_t, int64_t>>, mlir::Value> views_;
};

mlir::Value Splitter::reshaped(mlir::OpBuilder& builder, mlir::Value value, int64_t dim) {
  mlir::Value& view = views_[{value, {dim, parts_}}];
  if (!view || view.getParentBlock() != builder.getInsertionBlock()) {
    mlir::OpBuilder::InsertionGuard guard(builder);
    mlir::Operation* producer = value.getDefiningOp();
    if (producer && producer->getBlock() == builder.getInsertionBlock()) {
      builder.setInsertionPointAfter(producer);
    } else {
      builder.setInsertionPointToStart(builder.getInsertionBlock());
    }
    view = shlo::ReshapeOp::create(builder, value.getLoc(),
                                   splitType(tensorTypeOf(value), dim, parts_), value);
  }
  return view;
}

// Where the operand has the dimension, it is the operand that changes shape: the array is larger.
mlir::Value Splitter::splitBroadcast(mlir::OpBuilder& builder, shlo::BroadcastInDimOp broadcast) {
  mlir::Value operand = broadcast.getOperand();
  llvm::ArrayRef<int64_t> before = broadcast.getBroadcastDimensions();
  const auto found = llvm::find(before, dim_);
  const int64_t at = found - before.begin();
  const bool isSplit = found != before.end() && tensorTypeOf(operand).getDimSize(at) != 1;
  if (isSplit) operand = reshaped(builder, operand, at);
  Dims dims;
  for (int64_t dim : before) {
    dims.push_back(dim + (dim > dim_));
    if (isSplit && dim == dim_) dims.push_back(dim + 1);
  }
  return shlo::BroadcastInDimOp::create(
      builder, broadcast.getLoc(), splitType(tensorTypeOf(broadcast), dim_, parts_), operand, dims);
}

// Computed where it is read, as it was: a reshape would have it stored. Along the dimension the
// number is that of the part times the size of a part, and that inside it, as an integer before it
// becomes anything else.
mlir::Value Splitter::splitIota(mlir::OpBuilder& builder, shlo::IotaOp iota) {
  mlir::RankedTensorType type = splitType(tensorTypeOf(iota), dim_, parts_);
  mlir::Location location = iota.getLoc();
  const auto dim = static_cast<int64_t>(iota.getIotaDimension());
  if (dim != dim_) return shlo::IotaOp::create(builder, location, type, dim + (dim > dim_));
  const int64_t size = type.getDimSize(dim_ + 1);
  const bool fits = size * parts_ <= std::numeric_limits<int32_t>::max();
  mlir::RankedTensorType integers = type.clone(builder.getIntegerType(fits ? 32 : 64));
  mlir::Value part = shlo::IotaOp::create(builder, location, integers, dim);
  mlir::Value inside = shlo::IotaOp::create(builder, location, integers, dim + 1);
  mlir::Value sizes = shlo::ConstantOp::create(
      builder, location,
      mlir::DenseElementsAttr::get(integers,
                                   builder.getIntegerAttr(integers.getElementType(), size)));
  mlir::Value begin = shlo::MulOp::create(builder, location, part, sizes);
  mlir::Value number = shlo::AddOp::create(builder, location, begin, inside);
  return integers == type ? number
                          : shlo::ConvertOp::create(builder, location, type, number).getResult();
}

// A reshape in the midst of elementwise operations would end the kernel; so they all change shape.
mlir::Value Splitter::splitValue(mlir::OpBuilder& builder, mlir::Value value, int& chain) {
  mlir::Operation* op = value.getDefiningOp();
  // A square uses its operand twice.
  bool isForOne = llvm::all_equal(value.getUsers());
  bool follows = op && op->getNumRegions() == 0 &&
                 (isForOne || isRematerializableExpansion(op, target_)) && ++chain <= kMaxChain &&
                 op->getBlock() == builder.getInsertionBlock();
  if (mlir::DenseElementsAttr splat = constantSplat(value)) {
    return shlo::ConstantOp::create(
        builder, value.getLoc(), splat.resizeSplat(splitType(tensorTypeOf(value), dim_, parts_)));
  }
  if (auto broadcast = llvm::dyn_cast_or_null<shlo::BroadcastInDimOp>(op)) {
    return splitBroadcast(builder, broadcast);
  }
  if (auto iota = llvm::dyn_cast_or_null<shlo::IotaOp>(op)) return splitIota(builder, iota);
  if (auto reduce = llvm::dyn_cast_or_null<shlo::ReduceOp>(op); reduce && reducesRows(reduce)) {
    const bool isOwn = isForOne && op->getBlock() == builder.getInsertionBlock();
    return isOwn && ++chain <= kMaxChain ? splitRows(builder, reduce, chain)
                                         : reshaped(builder, value, dim_);
  }
  if (!follows || fusionClass(op) != FusionClass::kElementwise)
    return reshaped(builder, value, dim_);
  mlir::IRMapping mapping;
  for (mlir::Value operand : op->getOperands()) {
    if (tensorTypeOf(operand).getShape() != tensorTypeOf(value).getShape() ||
        mapping.contains(operand))
      continue;
    mapping.map(operand, splitValue(builder, operand, chain));
  }
  mlir::Operation* clone = builder.clone(*op, mapping);
  clone->getResult(0).setType(splitType(tensorTypeOf(value), dim_, parts_));
  return clone->getResult(0);
}

// Rows whose sums the reduction reads: the array that they lie in changes shape.
mlir::Value Splitter::splitRows(mlir::OpBuilder& builder, shlo::ReduceOp reduce, int& chain) {
  mlir::Value rows = splitValue(builder, reduce.getInputs()[0], chain);
  Dims dims(reduce.getDimensions());
  for (int64_t& dim : dims) ++dim;
  return reduceOver(builder, reduce, rows, dims);
}

mlir::Value Splitter::reduceOver(mlir::OpBuilder& builder, shlo::ReduceOp like, mlir::Value input,
                                 llvm::ArrayRef<int64_t> dimensions) {
  mlir::RankedTensorType type = tensorTypeOf(input);
  Dims kept;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (!llvm::is_contained(dimensions, d)) kept.push_back(type.getDimSize(d));
  }
  auto result = mlir::RankedTensorType::get(kept, type.getElementType());
  auto reduce = shlo::ReduceOp::create(builder, like.getLoc(), mlir::TypeRange{result},
                                       mlir::ValueRange{input}, like.getInitValues(), dimensions);
  mlir::IRMapping mapping;
  like.getBody().cloneInto(&reduce.getBody(), mapping);
  return reduce.getResult(0);
}

void Splitter::split(shlo::ReduceOp reduce) {
  if (reduce.getInputs().size() != 1 || !canReduceTwice(reduce)) return;
  mlir::Value input = reduce.getInputs()[0];
  mlir::RankedTensorType type = tensorTypeOf(input);
  if (!type.hasStaticShape() ||
      type.getNumElements() * elementBytes(type) < target_.minParallelBytes)
    return;
  Dims dims(reduce.getDimensions());
  llvm::sort(dims);
  if (dims.empty()) return;
  const int64_t results = tensorTypeOf(reduce.getResult(0)).getNumElements();
  const int64_t reduced = type.getNumElements() / results;
  const bool isRows = dims.front() == type.getRank() - static_cast<int64_t>(dims.size());
  if (results > (isRows ? target_.enoughRows : target_.enoughColumns)) return;
  if (isRows && reduced * elementBytes(type) <= target_.wholeRowBytes) return;

  mlir::OpBuilder builder(reduce);
  const int64_t outermost = type.getDimSize(dims.front());
  mlir::Value partial;
  // Rows are read as they lie, where parts of them would have the lanes read elements that lie
  // apart: then short ones are parts already.
  const bool hasRows =
      !isRows && dims.back() == type.getRank() - 1 && type.getShape().back() >= kMinRowElements;
  if (dims.size() > 1 && outermost >= target_.minParts &&
      (hasRows || reduced / outermost >= target_.minPartElements)) {
    partial = reduceOver(builder, reduce, input, llvm::ArrayRef(dims).drop_front());
    dim_ = dims.front();
  } else {
    dim_ = *llvm::max_element(
        dims, [&](int64_t a, int64_t b) { return type.getDimSize(a) < type.getDimSize(b); });
    parts_ = partsOf(type.getDimSize(dim_), target_);
    const int64_t perPart = isRows ? reduced : type.getNumElements();
    if (parts_ == 0 || perPart / parts_ < target_.minPartElements) return;
    int chain = 0;
    mlir::Value whole = splitValue(builder, input, chain);
    for (int64_t& dim : dims) dim += dim >= dim_;
    partial = reduceOver(builder, reduce, whole, dims);
  }
  // What is left of the dimension, behind those before it that are kept.
  int64_t left = dim_;
  for (int64_t dim : dims) left -= dim < dim_;
  mlir::Value total = reduceOver(builder, reduce, partial, {left});
  reduce.getResult(0).replaceAllUsesWith(total);
  reduce.erase();
  // The chain in its old shape. (A value that has a view keeps it as a user.)
  llvm::SmallVector<mlir::Operation*> dead{input.getDefiningOp()};
  while (!dead.empty()) {
    mlir::Operation* op = dead.pop_back_val();
    if (!op || !mlir::isOpTriviallyDead(op)) continue;
    for (mlir::Value operand : op->getOperands()) dead.push_back(operand.getDefiningOp());
    op->erase();
  }
}

struct SplitReductionsPass : impl::SplitReductionsPassBase<SplitReductionsPass> {
  SplitReductionsPass() = default;
  explicit SplitReductionsPass(const TargetModel& target) : target_(target) {}

  void runOnOperation() override {
    llvm::SmallVector<shlo::ReduceOp> reductions;
    getOperation().walk([&](shlo::ReduceOp reduce) { reductions.push_back(reduce); });
    Splitter splitter(target_);
    for (shlo::ReduceOp reduce : reductions) splitter.split(reduce);
  }

  TargetModel target_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createSplitReductionsPass(const TargetModel& target) {
  return std::make_unique<SplitReductionsPass>(target);
}

}  // namespace isthmus
