// The expand-short-reductions pass: sums of few neighbours that another reduction reads, as
// additions of slices, so that both are one kernel and nothing is stored between them. Where the
// other one keeps such neighbours apart (forces between all pairs of bodies, of which each has a
// distance), it becomes a reduction of an array for each of them.
#include "compiler/dialect/dead_code.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/simplify/match.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/IRMapping.h"

namespace isthmus {

#define GEN_PASS_DEF_EXPANDSHORTREDUCTIONSPASS
#include "compiler/passes/passes.h.inc"

namespace {

// Of elementwise operations between two reductions.
constexpr int kMaxReducedChain = 8;

using Dims = llvm::SmallVector<int64_t>;

// Whether the next reduction of what `value` leads to is all that reads it, element by element.
bool leadsToReduction(mlir::Value value) {
  // A square uses its operand twice.
  for (int i = 0; i < kMaxReducedChain && !value.use_empty() && llvm::all_equal(value.getUsers());
       ++i) {
    mlir::Operation* user = *value.user_begin();
    if (auto reduce = mlir::dyn_cast<shlo::ReduceOp>(user)) {
      return llvm::is_contained(reduce.getInputs(), value);
    }
    if (fusionClass(user) != FusionClass::kElementwise || user->getNumResults() != 1) return false;
    value = user->getResult(0);
  }
  return false;
}

// Of the innermost dimension, with as many elements as vectors are read apart at.
bool isShort(shlo::ReduceOp reduce, const TargetModel& target) {
  if (reduce.getInputs().size() != 1 || reduce.getDimensions().size() != 1) return false;
  mlir::RankedTensorType type = tensorTypeOf(reduce.getInputs()[0]);
  const int64_t dim = reduce.getDimensions()[0];
  if (!type.hasStaticShape() || dim + 1 != type.getRank() || dim == 0) return false;
  const int64_t size = type.getDimSize(dim);
  return size >= 2 && size <= std::min(target.maxInterleave, target.maxTerms) &&
         type.getNumElements() / size >= target.minSums;
}

// What the initial value may be left out of: StableHLO leaves open how often it is seen.
mlir::Operation* combinerOf(shlo::ReduceOp reduce) {
  mlir::Operation* op = soleOperation(reduce.getBody());
  mlir::Type element = tensorTypeOf(reduce.getInputs()[0]).getElementType();
  // Sums of narrow floats are kept wider inside a reduction.
  if (mlir::isa<mlir::FloatType>(element) && element.getIntOrFloatBitWidth() < 32) return nullptr;
  return op && !isIdempotent(op) && isNeutral(op, reduce.getInitValues()[0]) ? op : nullptr;
}

// Whether only reductions that keep the innermost dimension read what a sum leads to, element by
// element, as one number for all places along that dimension.
class NeighborReductions {
 public:
  bool run(mlir::Value sum) {
    shape_ = squeezedShape(sum.getType());
    values_.insert(sum);
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_.size() > kMaxReducedChain || values_[i].use_empty()) return false;
      for (mlir::Operation* user : values_[i].getUsers()) {
        if (!follow(values_[i], user)) return false;
      }
    }
    return true;
  }
  const llvm::SetVector<mlir::Operation*>& found() const { return found_; }

 private:
  bool isSpread(mlir::Value value) const { return squeezedShape(value.getType()) != shape_; }

  bool follow(mlir::Value value, mlir::Operation* user) {
    if (user->getNumResults() != 1 || user->getBlock() != value.getParentBlock()) return false;
    mlir::Value result = user->getResult(0);
    if (auto reduce = mlir::dyn_cast<shlo::ReduceOp>(user)) {
      found_.insert(user);
      return isSpread(value) && reduce.getInputs().size() == 1 &&
             !llvm::is_contained(reduce.getDimensions(), rankOf(value) - 1);
    }
    values_.insert(result);
    if (mlir::isa<shlo::ReshapeOp>(user)) return !isSpread(value) && !isSpread(result);
    if (auto broadcast = mlir::dyn_cast<shlo::BroadcastInDimOp>(user)) {
      if (isSpread(value)) return false;
      return !isSpread(result) || spreads(broadcast);
    }
    return fusionClass(user) == FusionClass::kElementwise;
  }

  // Along a new innermost dimension, or one of size 1.
  static bool spreads(shlo::BroadcastInDimOp broadcast) {
    llvm::ArrayRef<int64_t> shape = shapeOf(broadcast.getOperand());
    llvm::ArrayRef<int64_t> spread = shapeOf(broadcast.getResult());
    if (shape.size() == spread.size() && !shape.empty() && shape.back() == 1) {
      shape = shape.drop_back();
    }
    return !spread.empty() && spread.drop_back() == shape &&
           llvm::is_sorted(broadcast.getBroadcastDimensions());
  }

  llvm::SmallVector<int64_t> shape_;
  llvm::SetVector<mlir::Value> values_;
  llvm::SetVector<mlir::Operation*> found_;
};

// Arrays without their innermost dimension, for one place along it each, as several operations of a
// block want them.
class Neighbors {
 public:
  explicit Neighbors(mlir::Operation* op) : builder_(op), b_(op, builder_) {}

  // What is built from now on stands before `op`, which comes after all earlier ones.
  void moveTo(mlir::Operation* op) { builder_.setInsertionPoint(op); }

  mlir::Value at(mlir::Value value, int64_t place) {
    // A reference into the map would not survive what is added meanwhile.
    if (mlir::Value known = made_.lookup({value, place})) return known;
    mlir::Value made = make(value, place);
    made_[{value, place}] = made;
    return made;
  }
  ArrayBuilder& arrays() { return b_; }

 private:
  mlir::Value make(mlir::Value value, int64_t place) {
    mlir::Operation* op = value.getDefiningOp();
    if (op && fusionClass(op) == FusionClass::kElementwise && op->getNumRegions() == 0 &&
        op->getNumResults() == 1) {
      mlir::IRMapping operands;
      for (mlir::Value operand : op->getOperands()) {
        if (rankOf(operand) == rankOf(value)) operands.map(operand, at(operand, place));
      }
      mlir::Operation* copy = builder_.clone(*op, operands);
      copy->getResult(0).setType(withoutLast(value));
      return copy->getResult(0);
    }
    if (auto constant = mlir::dyn_cast_or_null<shlo::ConstantOp>(op)) {
      if (constant.getValue().isSplat()) {
        auto splat = mlir::cast<mlir::DenseElementsAttr>(constant.getValue());
        return shlo::ConstantOp::create(builder_, op->getLoc(),
                                        splat.resizeSplat(withoutLast(value)));
      }
    }
    if (auto broadcast = mlir::dyn_cast_or_null<shlo::BroadcastInDimOp>(op)) {
      return ofBroadcast(broadcast, place);
    }
    if (auto view = mlir::dyn_cast_or_null<shlo::ReshapeOp>(op);
        view && shapeOf(value).back() == 1) {
      return shapeOf(view.getOperand()) == shapeOf(value).drop_back()
                 ? view.getOperand()
                 : b_.reshape(view.getOperand(), shapeOf(value).drop_back());
    }
    return ofMemory(value, rankOf(value) - 1, place);
  }

  mlir::Value ofBroadcast(shlo::BroadcastInDimOp broadcast, int64_t place) {
    mlir::Value operand = broadcast.getOperand();
    const int64_t last = rankOf(broadcast.getResult()) - 1;
    Dims dims(broadcast.getBroadcastDimensions());
    if (auto* mapped = llvm::find(dims, last); mapped != dims.end()) {
      const int64_t dim = mapped - dims.begin();
      const bool isOne = shapeOf(operand)[dim] == 1;
      operand = isOne && dim + 1 == rankOf(operand) ? at(operand, 0)
                                                    : ofMemory(operand, dim, isOne ? 0 : place);
      dims.erase(mapped);
    }
    llvm::ArrayRef<int64_t> shape = shapeOf(broadcast.getResult()).drop_back();
    const bool isWhole =
        shapeOf(operand) == shape && llvm::equal(dims, llvm::seq<int64_t>(0, last));
    return isWhole ? operand : b_.broadcast(operand, shape, dims);
  }

  mlir::Value ofMemory(mlir::Value value, int64_t dim, int64_t place) {
    Dims starts(rankOf(value), 0), limits(shapeOf(value)), shape(shapeOf(value));
    starts[dim] = place;
    limits[dim] = place + 1;
    shape.erase(shape.begin() + dim);
    return b_.reshape(b_.slice(value, starts, limits), shape);
  }

  static mlir::RankedTensorType withoutLast(mlir::Value value) {
    mlir::RankedTensorType type = tensorTypeOf(value);
    return type.clone(type.getShape().drop_back());
  }

  mlir::OpBuilder builder_;
  ArrayBuilder b_;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> made_;
};

// Adds up what `term` gives for each place along the innermost dimension, where `b` builds.
template <typename Term>
void expand(shlo::ReduceOp reduce, ArrayBuilder& b, Term term) {
  mlir::Value sum;
  for (int64_t i = 0; i < shapeOf(reduce.getInputs()[0]).back(); ++i) {
    mlir::Value next = term(i);
    sum = sum ? b.apply(reduce.getBody().front(), {sum, next}) : next;
  }
  reduce.getResult(0).replaceAllUsesWith(sum);
  reduce.erase();
}

void expand(shlo::ReduceOp reduce) {
  mlir::OpBuilder builder(reduce);
  ArrayBuilder b(reduce, builder);
  mlir::Value input = reduce.getInputs()[0];
  llvm::ArrayRef<int64_t> shape = shapeOf(input);
  expand(reduce, b, [&](int64_t i) {
    Dims starts(shape.size(), 0), limits(shape);
    starts.back() = i;
    limits.back() = i + 1;
    return b.reshape(b.slice(input, starts, limits), shape.drop_back());
  });
}

// The reducer of so many arrays at once, each by the operations of `body`.
void repeatReducer(mlir::Block& body, int64_t times, mlir::Region& region) {
  auto builder = mlir::OpBuilder::atBlockBegin(&region.emplaceBlock());
  mlir::Block& block = region.front();
  // The left sides come first, then the right ones.
  for (unsigned side = 0; side < 2; ++side) {
    for (int64_t i = 0; i < times; ++i) {
      block.addArgument(body.getArgument(side).getType(), body.getArgument(side).getLoc());
    }
  }
  llvm::SmallVector<mlir::Value> results;
  for (int64_t i = 0; i < times; ++i) {
    mlir::IRMapping mapping;
    mapping.map(body.getArgument(0), block.getArgument(i));
    mapping.map(body.getArgument(1), block.getArgument(times + i));
    for (mlir::Operation& op : body.without_terminator()) builder.clone(op, mapping);
    results.push_back(mapping.lookupOrDefault(body.getTerminator()->getOperand(0)));
  }
  shlo::ReturnOp::create(builder, body.getTerminator()->getLoc(), results);
}

// A reduction of the arrays for each place along the innermost dimension, which it keeps: what they
// share is computed once.
void takeApart(shlo::ReduceOp reduce, Neighbors& neighbors) {
  neighbors.moveTo(reduce);
  ArrayBuilder& b = neighbors.arrays();
  mlir::Value input = reduce.getInputs()[0], result = reduce.getResult(0);
  const int64_t count = shapeOf(input).back();
  mlir::RankedTensorType type = tensorTypeOf(result);
  llvm::SmallVector<mlir::Value> inputs;
  for (int64_t i = 0; i < count; ++i) inputs.push_back(neighbors.at(input, i));
  const llvm::SmallVector<mlir::Value> initial(inputs.size(), reduce.getInitValues()[0]);
  const llvm::SmallVector<mlir::Type> types(inputs.size(), type.clone(type.getShape().drop_back()));
  auto all = shlo::ReduceOp::create(b.builder(), reduce.getLoc(), types, inputs, initial,
                                    reduce.getDimensions());
  repeatReducer(reduce.getBody().front(), count, all.getBody());
  Dims column(type.getShape());
  column.back() = 1;
  llvm::SmallVector<mlir::Value> columns;
  for (mlir::Value part : all->getResults()) columns.push_back(b.reshape(part, column));
  result.replaceAllUsesWith(shlo::ConcatenateOp::create(b.builder(), b.location(), type, columns,
                                                        static_cast<uint64_t>(type.getRank() - 1)));
  reduce.erase();
}

// Sums of neighbours, and reductions that keep them apart, of one block.
void takeApart(llvm::SmallVector<mlir::Operation*, 0> ops) {
  llvm::sort(ops, [](mlir::Operation* a, mlir::Operation* b) { return a->isBeforeInBlock(b); });
  Neighbors neighbors(ops.front());
  for (mlir::Operation* op : ops) {
    auto reduce = mlir::cast<shlo::ReduceOp>(op);
    if (llvm::is_contained(reduce.getDimensions(), rankOf(reduce.getInputs()[0]) - 1)) {
      neighbors.moveTo(op);
      expand(reduce, neighbors.arrays(),
             [&](int64_t i) { return neighbors.at(reduce.getInputs()[0], i); });
    } else {
      takeApart(reduce, neighbors);
    }
  }
}

struct ExpandShortReductionsPass : impl::ExpandShortReductionsPassBase<ExpandShortReductionsPass> {
  ExpandShortReductionsPass() = default;
  explicit ExpandShortReductionsPass(const TargetModel& target) : target_(target) {}

  void runOnOperation() override {
    llvm::SmallVector<shlo::ReduceOp> reductions;
    // With what is taken apart for their sake, in the order of the program.
    llvm::MapVector<mlir::Block*, llvm::SetVector<mlir::Operation*>> apart;
    getOperation().walk([&](shlo::ReduceOp reduce) {
      if (!isShort(reduce, target_) || !combinerOf(reduce)) return;
      mlir::Value sum = reduce.getResult(0);
      NeighborReductions neighbors;
      if (leadsToReduction(sum)) {
        reductions.push_back(reduce);
      } else if (target_.device == DeviceKind::kCpu && neighbors.run(sum) &&
                 llvm::all_of(neighbors.found(), [&](mlir::Operation* op) { return isFew(op); })) {
        auto& ops = apart[reduce->getBlock()];
        ops.insert(reduce);
        ops.insert(neighbors.found().begin(), neighbors.found().end());
      }
    });
    for (shlo::ReduceOp reduce : reductions) expand(reduce);
    for (auto& [block, ops] : apart) {
      takeApart(ops.takeVector());
      // What nothing reads any more would keep what it reads from kernels that read the same.
      eraseDead(*block);
    }
  }

  // Of as many neighbours as are read apart, and one reduction for each adds up.
  bool isFew(mlir::Operation* reader) const {
    return shapeOf(reader->getOperand(0)).back() <=
           std::min(target_.maxInterleave, target_.maxTerms);
  }

  TargetModel target_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createExpandShortReductionsPass(const TargetModel& target) {
  return std::make_unique<ExpandShortReductionsPass>(target);
}

}  // namespace isthmus
