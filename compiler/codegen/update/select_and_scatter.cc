// The select_and_scatter stage: each window's chosen element gets the source's value added.
#include "compiler/codegen/loop/loop_nest.h"
#include "compiler/codegen/stages.h"
#include "compiler/codegen/update/atomic_update.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/loop/scatter_dims.h"

namespace isthmus::codegen {
namespace {

using Values = LoopBuilder::Values;
using Position = llvm::SmallVector<IndexExpr, 6>;

class SelectAndScatterEmitter {
 public:
  SelectAndScatterEmitter(KernelBuilder& kernel, ir::FusionOp fusion, const UpdateStage& stage)
      : kernel_(kernel),
        loops_(kernel.loops()),
        evaluator_(kernel.evaluator()),
        stage_(stage),
        select_(mlir::cast<shlo::SelectAndScatterOp>(wholeOpOf(fusion, stage))),
        window_(select_),
        to_(tensorTypeOf(select_->getResult(0))),
        source_(tensorTypeOf(select_.getSource())),
        base_(kernel.buffer(fusion->getNumOperands() + stage.results[0])),
        kind_(evaluator_.kindOf(select_->getResult(0))) {}

  void emit() {
    if (source_.getNumElements() == 0 || to_.getNumElements() == 0) return;
    if (kind_.isComplex()) {
      evaluator_.fail(select_, "complex numbers have no order");
      return;
    }
    if (tilesAreUpdates(stage_)) {
      forUpdates(kernel_, stage_, source_, [&](const MultiIndex& at) { emitAt(at.dims); });
      return;
    }
    int64_t size = stage_.tileSpace == TileSpace::kIndices ? source_.getDimSize(stage_.tileDim) : 1;
    TiledDim tiled = tiledDimOf(kernel_, stage_, TileSpace::kIndices, size);
    loopNest(
        kernel_, source_.getShape(), stage_.lanes,
        [&](llvm::ArrayRef<IndexExpr> at) { emitAt(at); }, tiled);
  }

 private:
  using Body = std::function<Values(llvm::ArrayRef<IndexExpr> offset, const Values& carried)>;

  // The position in the operand of a window's element, and whether there is one.
  MultiIndex positionOf(llvm::ArrayRef<IndexExpr> at, llvm::ArrayRef<IndexExpr> offset,
                        Condition* inside) {
    MultiIndex position;
    *inside = Condition::always(true);
    for (int64_t d = 0; d < to_.getRank(); ++d) {
      IndexExpr expr = evaluator_.addIndex(
          evaluator_.addIndex(evaluator_.scaleIndex(at[d], window_.stride[d]), offset[d]),
          IndexExpr(-window_.low[d]));
      *inside = evaluator_.both(*inside, evaluator_.within(expr, 0, to_.getDimSize(d)));
      position.dims.push_back(expr);
    }
    return position;
  }

  Values overWindow(const Position& offset, const Values& carried, const Body& body) {
    if (static_cast<int64_t>(offset.size()) == to_.getRank()) return body(offset, carried);
    return loops_.loop(0, window_.size[offset.size()], 1, carried,
                       [&](const IndexExpr& i, const Values& values) {
                         Position next = offset;
                         next.push_back(i);
                         return overWindow(next, values, body);
                       });
  }

  // The number of a window's element, for each lane.
  llvm::Value* numberOf(llvm::ArrayRef<IndexExpr> offset) {
    IndexExpr number;
    for (int64_t d = 0; d < to_.getRank(); ++d) {
      number = evaluator_.addIndex(evaluator_.scaleIndex(number, window_.size[d]), offset[d]);
    }
    llvm::Value* value = loops_.uniformPart(number);
    llvm::IRBuilder<>& b = loops_.here();
    value = b.CreateTrunc(value, b.getInt32Ty());
    return width_ > 1 ? b.CreateVectorSplat(width_, value) : value;
  }

  // `then` where the element is inside, else `otherwise`.
  Values whereInside(const Condition& inside, const Values& otherwise,
                     const std::function<Values()>& then) {
    if (!inside.known) return loops_.branch(inside.dynamic.re, otherwise, then);
    return inside.value ? then() : otherwise;
  }

  // The chosen element of each lane's window so far: its value, and its number (-1: none yet).
  Values consider(const MultiIndex& position, llvm::ArrayRef<IndexExpr> offset,
                  const Values& chosen) {
    Val value = evaluator_.splat(evaluator_.get(select_.getOperand(), position), width_);
    Val best{chosen[0], nullptr, loops_.current()};
    llvm::SmallVector<Val, 2> keep = evaluator_.evaluateRegion(select_.getSelect(), {best, value});
    if (keep.empty()) return chosen;
    Val keepBest = evaluator_.splat(keep[0], width_);
    llvm::Value* number = numberOf(offset);
    llvm::IRBuilder<>& b = loops_.here();
    // The first element inside is chosen without asking: nothing is there to compare it with.
    llvm::Value* any =
        b.CreateICmpSGE(chosen[1], llvm::Constant::getNullValue(chosen[1]->getType()));
    llvm::Value* stay = b.CreateAnd(keepBest.re, any);
    return {b.CreateSelect(stay, chosen[0], value.re), b.CreateSelect(stay, chosen[1], number)};
  }

  // Adds `update` to the element, in the lanes whose window has chosen it.
  void addUpdate(const MultiIndex& position, llvm::ArrayRef<IndexExpr> offset, const Values& chosen,
                 const Val& update) {
    llvm::Value* here = loops_.here().CreateICmpEQ(chosen[1], numberOf(offset));
    IndexExpr linear = evaluator_.linearize(position, to_);
    if (tilesAreUpdates(stage_) && window_.meet()) {
      loops_.branch(here, {}, [&] {
        updateAtomically(evaluator_, base_, kind_, linear, select_.getScatter(), update);
        return Values();
      });
      return;
    }
    Val old = evaluator_.splat(evaluator_.load(base_, kind_, linear, loops_.current()), width_);
    llvm::SmallVector<Val, 2> sum = evaluator_.evaluateRegion(select_.getScatter(), {old, update});
    if (sum.empty()) return;
    Val next = evaluator_.splat(sum[0], width_);
    // Lanes that have not chosen it write what was there.
    next.re = loops_.here().CreateSelect(here, next.re, old.re);
    next.level = loops_.current();
    evaluator_.store(base_, kind_, linear, next);
  }

  void emitAt(llvm::ArrayRef<IndexExpr> at) {
    width_ = evaluator_.lanes();
    Val update =
        evaluator_.splat(evaluator_.get(select_.getSource(), MultiIndex{Index(at), 0}), width_);
    llvm::Type* i32 = loops_.here().getInt32Ty();
    if (width_ > 1) i32 = llvm::FixedVectorType::get(i32, width_);
    Values none = {llvm::Constant::getNullValue(update.re->getType()),
                   llvm::ConstantInt::getSigned(i32, -1)};
    // Twice over the window: which element is chosen is known at its end, and where that lies in
    // the operand only where its offset is that of a loop.
    Values chosen =
        overWindow({}, none, [&](llvm::ArrayRef<IndexExpr> offset, const Values& carried) {
          Condition inside;
          MultiIndex position = positionOf(at, offset, &inside);
          return whereInside(inside, carried, [&] { return consider(position, offset, carried); });
        });
    overWindow({}, {}, [&](llvm::ArrayRef<IndexExpr> offset, const Values&) {
      Condition inside;
      MultiIndex position = positionOf(at, offset, &inside);
      return whereInside(inside, {}, [&] {
        addUpdate(position, offset, chosen, update);
        return Values();
      });
    });
  }

  KernelBuilder& kernel_;
  LoopBuilder& loops_;
  Evaluator& evaluator_;
  const UpdateStage& stage_;
  shlo::SelectAndScatterOp select_;
  SelectWindow window_;
  mlir::RankedTensorType to_, source_;
  llvm::Value* base_;
  ElementKind kind_;
  unsigned width_ = 1;
};

}  // namespace

void emitSelectAndScatter(KernelBuilder& kernel, ir::FusionOp fusion, const UpdateStage& stage) {
  SelectAndScatterEmitter(kernel, fusion, stage).emit();
}

}  // namespace isthmus::codegen
