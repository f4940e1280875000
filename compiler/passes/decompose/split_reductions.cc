// The split-reductions pass: long reductions to few results in two steps, the first of which has
// results enough for all threads.
#include <algorithm>
#include <limits>
#include <optional>

#include "compiler/cost/rematerialization.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/decompose/split_type.h"
#include "compiler/passes/legalize/reduce_over.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/simplify/match.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace isthmus {

#define GEN_PASS_DEF_SPLITREDUCTIONSPASS
#include "compiler/passes/passes.h.inc"

namespace {

// Of elementwise operations that lead to a reduction and follow the change of its shape.
constexpr int kMaxReductionChain = 32;

using Dims = llvm::SmallVector<int64_t>;

// Whether each result is one of the values that are combined, as the largest and its index are:
// initial values that are combined again change nothing then.
bool choosesAmongValues(mlir::Region& combiner) {
  mlir::Block& block = combiner.front();
  auto isChosen = [&](mlir::Value value) {
    mlir::Operation* op = value.getDefiningOp();
    if (op && isIdempotent(op)) return true;
    auto select = llvm::dyn_cast_or_null<shlo::SelectOp>(op);
    auto isArgument = [&](mlir::Value of) { return llvm::is_contained(block.getArguments(), of); };
    return select && isArgument(select.getOnTrue()) && isArgument(select.getOnFalse());
  };
  return llvm::all_of(block.getTerminator()->getOperands(), isChosen);
}

// Whether reducing twice with the same initial value gives what reducing once gives.
bool canReduceTwice(shlo::ReduceOp reduce) {
  if (reduce.getInputs().size() > 1) return choosesAmongValues(reduce.getBody());
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

// The largest number of parts of equal size that a dimension has, of `least` to `most`; 0 if there
// is no such number.
int64_t partsOf(int64_t size, int64_t least, int64_t most) {
  for (int64_t parts = most; parts >= least; --parts) {
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
  mlir::Value splitSlice(mlir::OpBuilder& builder, shlo::SliceOp slice);
  mlir::Value splitRows(mlir::OpBuilder& builder, shlo::ReduceOp reduce, int& chain);
  bool chooseParts(shlo::ReduceOp reduce);
  bool isRecomputed(mlir::Operation* op);
  void eraseDeadChains(mlir::ValueRange operands);
  void chooseKept(mlir::RankedTensorType type, int64_t results);

  const TargetModel& target_;
  // Of the reduction at hand, what its first step keeps: leading ones of the dimensions that are
  // reduced (in ascending order), and of dimension dim_, if parts_ is not 0, so many parts.
  Dims dims_;
  size_t kept_ = 0;
  int64_t dim_ = 0;
  int64_t parts_ = 0;
  // So that reductions of one array stay reductions of one array, which share a kernel.
  llvm::DenseMap<std::pair<mlir::Value, std::pair<int64_t, int64_t>>, mlir::Value> views_;
  // Of the block at hand, as it was before its reductions were split.
  mlir::Block* block_ = nullptr;
  std::optional<RecomputedOps> recomputed_;
};

// What is computed for operands whose place others took. (A value that has a view keeps it as a
// user.)
void Splitter::eraseDeadChains(mlir::ValueRange operands) {
  llvm::SetVector<mlir::Operation*> dead;
  auto consider = [&](mlir::ValueRange values) {
    for (mlir::Value value : values) {
      if (mlir::Operation* op = value.getDefiningOp()) dead.insert(op);
    }
  };
  consider(operands);
  while (!dead.empty()) {
    mlir::Operation* op = dead.pop_back_val();
    if (!mlir::isOpTriviallyDead(op)) continue;
    const llvm::SmallVector<mlir::Value> values(op->getOperands());
    if (recomputed_) recomputed_->erase(op);
    op->erase();
    consider(values);
  }
}

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

// Of an array that changes shape instead, where the slice has all of the dimension; otherwise it is
// stored.
mlir::Value Splitter::splitSlice(mlir::OpBuilder& builder, shlo::SliceOp slice) {
  const mlir::RankedTensorType type = tensorTypeOf(slice);
  if (tensorTypeOf(slice.getOperand()).getDimSize(dim_) != type.getDimSize(dim_)) {
    return reshaped(builder, slice, dim_);
  }
  const int64_t size = type.getDimSize(dim_) / parts_;
  auto with = [&](llvm::ArrayRef<int64_t> values, int64_t part, int64_t inside) {
    Dims result(values);
    result[dim_] = inside;
    result.insert(result.begin() + dim_, part);
    return result;
  };
  return shlo::SliceOp::create(builder, slice.getLoc(), reshaped(builder, slice.getOperand(), dim_),
                               with(slice.getStartIndices(), 0, 0),
                               with(slice.getLimitIndices(), parts_, size),
                               with(slice.getStrides(), 1, 1));
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

bool Splitter::isRecomputed(mlir::Operation* op) {
  if (op->getBlock() != block_) {
    block_ = op->getBlock();
    recomputed_.emplace(*block_, target_);
  }
  return recomputed_->contains(op);
}

// A reshape in the midst of elementwise operations would end the kernel; so they all change shape.
mlir::Value Splitter::splitValue(mlir::OpBuilder& builder, mlir::Value value, int& chain) {
  mlir::Operation* op = value.getDefiningOp();
  // A square uses its operand twice.
  bool isForOne = llvm::all_equal(value.getUsers());
  bool follows = op && op->getNumRegions() == 0 &&
                 (isForOne || isRematerializableExpansion(op, target_) || isRecomputed(op)) &&
                 ++chain <= kMaxReductionChain && op->getBlock() == builder.getInsertionBlock();
  if (mlir::DenseElementsAttr splat = constantSplat(value)) {
    return shlo::ConstantOp::create(
        builder, value.getLoc(), splat.resizeSplat(splitType(tensorTypeOf(value), dim_, parts_)));
  }
  if (auto broadcast = llvm::dyn_cast_or_null<shlo::BroadcastInDimOp>(op)) {
    return splitBroadcast(builder, broadcast);
  }
  if (auto iota = llvm::dyn_cast_or_null<shlo::IotaOp>(op)) return splitIota(builder, iota);
  if (auto slice = llvm::dyn_cast_or_null<shlo::SliceOp>(op)) return splitSlice(builder, slice);
  if (auto reduce = llvm::dyn_cast_or_null<shlo::ReduceOp>(op); reduce && reducesRows(reduce)) {
    const bool isOwn = isForOne && op->getBlock() == builder.getInsertionBlock();
    return isOwn && ++chain <= kMaxReductionChain ? splitRows(builder, reduce, chain)
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
  return reduceOver(builder, reduce, rows, dims).getResult(0);
}

// Dimensions before the innermost of a reduction of columns: some whole, and parts of the next if
// that is far too few results.
void Splitter::chooseKept(mlir::RankedTensorType type, int64_t results) {
  int64_t parts = 1;
  auto isFarTooFew = [&] { return parts * results * target_.minParts <= target_.enoughColumns; };
  do {
    parts *= type.getDimSize(dims_[kept_++]);
  } while (kept_ + 1 < dims_.size() && isFarTooFew() &&
           parts * type.getDimSize(dims_[kept_]) <= target_.maxParts);
  dim_ = dims_[kept_];
  const bool isColumns = dims_.back() != type.getRank() - 1;
  if (!isColumns || !isFarTooFew()) return;
  constexpr int64_t kLeast = 2;
  parts_ = partsOf(type.getDimSize(dim_), kLeast, target_.maxParts / parts);
}

// Whether the reduction had better be two, and of which parts.
bool Splitter::chooseParts(shlo::ReduceOp reduce) {
  mlir::RankedTensorType type = tensorTypeOf(reduce.getInputs()[0]);
  if (!canReduceTwice(reduce) || !type.hasStaticShape() ||
      type.getNumElements() * elementBytes(type) < target_.minParallelBytes) {
    return false;
  }
  dims_ = Dims(reduce.getDimensions());
  llvm::sort(dims_);
  kept_ = 0;
  parts_ = 0;
  if (dims_.empty()) return false;
  const int64_t results = tensorTypeOf(reduce.getResult(0)).getNumElements();
  const int64_t reduced = type.getNumElements() / results;
  const bool isRows = dims_.front() == type.getRank() - static_cast<int64_t>(dims_.size());
  if (results > (isRows ? target_.enoughRows : target_.enoughColumns)) return false;
  if (isRows && reduced * elementBytes(type) <= target_.wholeRowBytes) return false;

  const int64_t outermost = type.getDimSize(dims_.front());
  // Rows are read as they lie, where parts of them would have the lanes read elements that lie
  // apart: then short ones are parts already.
  const bool hasRows = !isRows && dims_.back() == type.getRank() - 1 &&
                       type.getShape().back() >= target_.minPartRowElements;
  if (dims_.size() > 1 && outermost >= target_.minParts &&
      (hasRows || reduced / outermost >= target_.minPartElements)) {
    chooseKept(type, results);
    return true;
  }
  const int64_t elements = isRows ? reduced : type.getNumElements();
  const int64_t most = std::min({target_.maxParts, elements / target_.minPartElements,
                                 std::max(target_.maxPartials / results, target_.minParts)});
  auto partsAlong = [&](int64_t dim) {
    return partsOf(type.getDimSize(dim), target_.minParts, most);
  };
  // Parts of the outermost dimension of rows lie together in memory.
  const auto* found = llvm::find_if(dims_, partsAlong);
  if (!isRows || found == dims_.end()) {
    found = llvm::max_element(
        dims_, [&](int64_t a, int64_t b) { return type.getDimSize(a) < type.getDimSize(b); });
  }
  dim_ = *found;
  parts_ = partsAlong(dim_);
  return parts_ != 0;
}

void Splitter::split(shlo::ReduceOp reduce) {
  if (!chooseParts(reduce)) return;
  mlir::OpBuilder builder(reduce);
  const llvm::SmallVector<mlir::Value> inputs(reduce.getInputs());
  llvm::SmallVector<mlir::Value> parts(inputs);
  // Of the array that the first step reads: what it keeps for the second, and what it reduces.
  Dims kept = Dims(llvm::ArrayRef(dims_).take_front(kept_)),
       first = Dims(llvm::ArrayRef(dims_).drop_front(kept_));
  if (parts_ != 0) {
    int chain = 0;
    for (mlir::Value& part : parts) part = splitValue(builder, part, chain);
    for (int64_t& dim : first) dim += dim >= dim_;
    kept.push_back(dim_);
  }
  auto partial = reduceOver(builder, reduce, parts, first);
  // Where the kept ones are among those that are left.
  for (int64_t& dim : kept) dim = keptDimension(first, dim);
  auto total = reduceOver(builder, reduce, partial.getResults(), kept);
  reduce.replaceAllUsesWith(total);
  reduce.erase();
  eraseDeadChains(inputs);
}

struct SplitReductionsPass : impl::SplitReductionsPassBase<SplitReductionsPass> {
  using SplitReductionsPassBase::SplitReductionsPassBase;
  explicit SplitReductionsPass(const TargetModel& target) : target_(target) {}

  void runOnOperation() override {
    if (maxParts != 0) target_.maxParts = maxParts;
    if (enoughColumns != 0) target_.enoughColumns = enoughColumns;
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
