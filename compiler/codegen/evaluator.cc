// Values on demand: memo, dispatch by op, errors.
#include "compiler/codegen/evaluator.h"

#include "compiler/codegen/math/vector_math.h"
#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/loop/complex_words.h"
#include "compiler/schedule/loop/reduction_axes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"

namespace isthmus::codegen {
namespace {

// Region bodies nest, and hostile programs nest deeper than the stack.
constexpr int kMaxDepth = 2000;
// Values emitted in one kernel, all indices counted: a bound on code size and compile time.
constexpr int64_t kMaxEmitted = 100000;

std::string memoKey(mlir::Value value, const MultiIndex& index, unsigned lanes) {
  std::string key;
  key.reserve(32 + index.dims.size() * 48);
  auto put = [&](auto x) { key.append(reinterpret_cast<const char*>(&x), sizeof(x)); };
  put(value.getAsOpaquePointer());
  put(index.merged);
  bool uniform = true;
  for (const IndexExpr& dim : index.dims) {
    for (const IndexExpr::Term& term : dim.terms) {
      put(term.symbol);
      put(term.coefficient);
    }
    put(dim.constant);
    put(dim.laneStride);
    put(dim.lanes);
    uniform &= dim.isUniform();
  }
  put(uniform ? 1u : lanes);
  return key;
}

}  // namespace

Evaluator::Evaluator(LoopBuilder& loops, ir::FusionOp fusion, const FusedStage* stage,
                     llvm::ArrayRef<llvm::Value*> operands)
    : loops_(loops), fusion_(fusion), operands_(operands.begin(), operands.end()) {
  // Kernels of single threads become parts of others, whose loops write what the next round reads.
  isForGroup_ = stage && stage->groupThreads > 1;
  areComplexWords_ = movesComplexWords(fusion, loops.target());
  unsigned number = 0;
  for (mlir::Operation& op : fusion.getBody().front()) {
    if (const ReductionSchedule* reduction = stage ? stage->reductionOf(number) : nullptr) {
      reductions_[&op] = *reduction;
    }
    if (stage && llvm::is_contained(stage->unrolled, number)) unrolled_.insert(&op);
    ++number;
  }
  // What a thread of a group reads again comes from further away than a core's own cache.
  if (!stage || !loops.target().hasGroups()) return;
  for (const auto& reduces : reductionsOfOneLoop(fusion, *stage)) {
    for (shlo::ReduceOp reduce : reduces) sharedLoops_[reduce] = reduces;
  }
}

ReductionSchedule Evaluator::scheduleOf(mlir::Operation* op) {
  if (auto it = reductions_.find(op); it != reductions_.end()) return it->second;
  noteError(internalError("the schedule does not say how a reduction is computed"));
  return {};
}

Level* Evaluator::levelOf(const MultiIndex& index) const {
  Level* level = loops_.entry();
  for (const IndexExpr& dim : index.dims) {
    level = LoopBuilder::deeper(level, LoopBuilder::levelOf(dim, loops_.entry()));
  }
  return level;
}

ElementKind Evaluator::kindOf(mlir::Type type) {
  mlir::Type element = type;
  if (auto shaped = mlir::dyn_cast<mlir::ShapedType>(type)) element = shaped.getElementType();
  if (areComplexWords_) element = wordOfComplex(element);
  if (auto kind = elementKind(element)) return *kind;
  std::string text;
  llvm::raw_string_ostream(text) << type;
  noteError(unimplemented("no kernel computes with the type ", text));
  return *elementKind(mlir::Float32Type::get(type.getContext()));
}

ElementKind Evaluator::kindOf(mlir::Value value) { return kindOf(value.getType()); }

Val Evaluator::fail(mlir::Operation* op, const std::string& why) {
  if (status_.ok()) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << op->getName().getStringRef() << " " << signatureOf(op) << " at ";
    op->getLoc().print(stream);
    status_ = unimplemented("no kernel for ", text, ": ", why);
  }
  ElementKind kind = op->getNumResults() ? kindOf(op->getResult(0)) : ElementKind();
  llvm::Value* undefined = llvm::PoisonValue::get(kind.computeType(loops_.context()));
  return {undefined, kind.isComplex() ? undefined : nullptr, loops_.entry()};
}

Val Evaluator::splat(Val value, unsigned lanes) {
  if (lanes == 1 || value.lanes() == lanes) return value;
  llvm::IRBuilder<>& b = loops_.at(value.level);
  value.re = b.CreateVectorSplat(lanes, value.re);
  if (value.im) value.im = b.CreateVectorSplat(lanes, value.im);
  return value;
}

const Val* Evaluator::findMemo(const std::string& key) const {
  for (Level* level = loops_.current(); level; level = level->parent) {
    if (auto it = level->memo.find(key); it != level->memo.end()) return &it->second[0];
  }
  return nullptr;
}

bool Evaluator::memoised(mlir::Value value, const MultiIndex& index) const {
  return findMemo(memoKey(value, index, lanes_)) != nullptr;
}

void Evaluator::memoise(mlir::Value value, const MultiIndex& index, const Val& known) {
  known.level->memo[memoKey(value, index, lanes_)] = {known};
}

Val Evaluator::get(mlir::Value value, const MultiIndex& index) {
  if (const Val* known = materialized_.registerOf(value)) return *known;
  std::string key = memoKey(value, index, lanes_);
  if (const Val* known = findMemo(key)) return *known;
  if (!status_.ok() || depth_ > kMaxDepth || emitted_ > kMaxEmitted) {
    noteError(resourceExhausted("a fusion is too large to become one kernel"));
    ElementKind kind = kindOf(value);
    llvm::Value* undefined = llvm::PoisonValue::get(kind.computeType(loops_.context()));
    return {undefined, kind.isComplex() ? undefined : nullptr, loops_.entry()};
  }
  // Nothing about the value depends on loops further in than its index does.
  Level* level = levelOf(index);
  ++depth_;
  ++emitted_;
  const MaterializedValues::Row* row = materialized_.rowOf(value);
  if (row && !isRowAtHand(*row, value, index)) row = nullptr;
  const MaterializedValues::StoredRow* stored = materialized_.storedRowOf(value);
  Val result;
  if (row && row->level) {
    result = load(row->base, kindOf(value), positionInRow(*row, index), row->level);
  } else if (stored && isStoredRow(*stored, value, index)) {
    mlir::RankedTensorType type = tensorTypeOf(value);
    result = load(stored->base, kindOf(value), linearize(index, type), stored->level,
                  type.getNumElements());
  } else {
    result = loops_.within(level, [&] {
      Val computed = compute(value, index);
      if (row && activeReduce_ == row->writer) {
        store(row->base, kindOf(value), positionInRow(*row, index), computed);
      }
      return computed;
    });
  }
  --depth_;
  if (!result.level) result.level = level;
  result.level->memo[key] = {result};
  return result;
}

bool Evaluator::isStoredRow(const MaterializedValues::StoredRow& row, mlir::Value value,
                            const MultiIndex& index) {
  return linearizeOuter(index, tensorTypeOf(value), row.outerDims) == row.row;
}

Val Evaluator::compute(mlir::Value value, const MultiIndex& index) {
  if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(value)) {
    auto type = mlir::cast<mlir::RankedTensorType>(value.getType());
    if (argument.getOwner() != &fusion_.getBody().front()) {
      noteError(internalError("a region's argument is used outside of its region"));
      return fail(fusion_, "stray block argument");
    }
    const llvm::scope_exit restore(
        [this, saved = std::exchange(readsOperand_, true)] { readsOperand_ = saved; });
    return load(operands_[argument.getArgNumber()], kindOf(value), linearize(index, type), nullptr,
                type.getNumElements());
  }
  return computeOp(mlir::cast<mlir::OpResult>(value), index);
}

Val Evaluator::computeOp(mlir::OpResult value, const MultiIndex& index) {
  mlir::Operation* op = value.getOwner();
  if (isElementwise(op)) return elementwiseAt(op, index);
  if (op == materialized_.productSums().op) return sumAt(op);
  using Method = Val (Evaluator::*)(mlir::Operation*, const MultiIndex&);
  Method method = llvm::StringSwitch<Method>(op->getName().getStringRef())
                      .Case("stablehlo.constant", &Evaluator::constantAt)
                      .Case("stablehlo.iota", &Evaluator::iotaAt)
                      .Cases({"stablehlo.broadcast_in_dim", "stablehlo.reverse", "stablehlo.slice",
                              "stablehlo.transpose"},
                             &Evaluator::mappedAt)
                      .Case("stablehlo.reshape", &Evaluator::reshapeAt)
                      .Case("stablehlo.pad", &Evaluator::padAt)
                      .Case("stablehlo.concatenate", &Evaluator::concatenateAt)
                      .Case("stablehlo.dynamic_slice", &Evaluator::dynamicSliceAt)
                      .Case("stablehlo.dynamic_update_slice", &Evaluator::dynamicUpdateSliceAt)
                      .Case("stablehlo.gather", &Evaluator::gatherAt)
                      .Case("stablehlo.bitcast_convert", &Evaluator::bitcastAt)
                      .Default(nullptr);
  if (method) return (this->*method)(op, index);
  if (op->getName().getStringRef() == "stablehlo.optimization_barrier") {
    return get(op->getOperand(value.getResultNumber()), index);
  }
  if (op->getName().getStringRef() == "stablehlo.reduce") {
    llvm::SmallVector<Val, 2> results = reduceAt(op, index);
    // All results of one reduction come from one loop.
    for (unsigned i = 0; i < results.size(); ++i) memoise(op->getResult(i), index, results[i]);
    return results[value.getResultNumber()];
  }
  if (op->getName().getStringRef() == "stablehlo.reduce_window") {
    return reduceWindowAt(value, index);
  }
  return fail(op, "the op is not one that kernels are generated for");
}

Val Evaluator::sumAt(mlir::Operation* op) {
  const MaterializedValues::ProductSums& sums = materialized_.productSums();
  Val sum = load(sums.row, sums.kind, sums.column, sums.level);
  sum.re = roundToKind(loops_.at(sum.level), loops_.target(), sum.re, kindOf(op->getResult(0)));
  return sum;
}

Val Evaluator::elementwiseAt(mlir::Operation* op, const MultiIndex& index) {
  llvm::SmallVector<Val, 3> operands;
  for (mlir::Value operand : op->getOperands()) {
    auto type = mlir::cast<mlir::RankedTensorType>(operand.getType());
    // select and clamp take scalars beside tensors.
    operands.push_back(type.getRank() == 0 && !index.dims.empty() ? get(operand, MultiIndex())
                                                                  : get(operand, index));
  }
  return elementwise(op, operands);
}

llvm::SmallVector<Val, 2> Evaluator::evaluateRegion(mlir::Region& region,
                                                    llvm::ArrayRef<Val> arguments) {
  llvm::SmallVector<Val, 2> results;
  llvm::DenseMap<mlir::Value, Val> values;
  mlir::Block& block = region.front();
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments)) {
    values[argument] = value;
  }
  auto lookup = [&](mlir::Value value) {
    auto it = values.find(value);
    return it != values.end() ? it->second : get(value, MultiIndex());
  };
  for (mlir::Operation& op : block) {
    if (op.hasTrait<mlir::OpTrait::IsTerminator>()) {
      for (mlir::Value operand : op.getOperands()) results.push_back(lookup(operand));
      break;
    }
    llvm::SmallVector<Val, 3> operands;
    if (isElementwise(&op)) {
      for (mlir::Value operand : op.getOperands()) operands.push_back(lookup(operand));
      values[op.getResult(0)] = elementwise(&op, operands);
    } else if (op.getNumOperands() == 0) {
      values[op.getResult(0)] =
          computeOp(mlir::cast<mlir::OpResult>(op.getResult(0)), MultiIndex());
    } else if (llvm::StringSwitch<bool>(op.getName().getStringRef())
                   .Cases({"stablehlo.reshape", "stablehlo.broadcast_in_dim", "stablehlo.transpose",
                           "stablehlo.optimization_barrier"},
                          true)
                   .Default(false)) {
      for (auto [operand, result] : llvm::zip(op.getOperands(), op.getResults())) {
        values[result] = lookup(operand);
      }
    } else {
      results.assign(block.getTerminator()->getNumOperands(),
                     fail(&op, "not supported inside a scalar region"));
      break;
    }
  }
  // A value that no argument enters, such as a constant, is one for all lanes.
  unsigned lanes = 1;
  for (const Val& argument : arguments) lanes = std::max(lanes, argument.lanes());
  for (Val& result : results) result = splat(result, lanes);
  return results;
}

}  // namespace isthmus::codegen
