// Stages that change a result in place: scatter and dynamic_update_slice.
#include "compiler/codegen/loop/loop_nest.h"
#include "compiler/codegen/reduce/reduction.h"
#include "compiler/codegen/stages.h"
#include "compiler/codegen/target/group_threads.h"
#include "compiler/codegen/update/atomic_update.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/loop/scatter_dims.h"

namespace isthmus::codegen {
namespace {

using Values = LoopBuilder::Values;

// An integer of the program as an i64.
llvm::Value* asI64(LoopBuilder& loops, const Val& value, const ElementKind& kind) {
  llvm::IRBuilder<>& b = loops.at(value.level);
  return kind.isSigned && !kind.isBool() ? b.CreateSExt(value.re, b.getInt64Ty())
                                         : b.CreateZExt(value.re, b.getInt64Ty());
}

class ScatterEmitter {
 public:
  ScatterEmitter(KernelBuilder& kernel, ir::FusionOp fusion, const UpdateStage& stage)
      : kernel_(kernel),
        loops_(kernel.loops()),
        evaluator_(kernel.evaluator()),
        stage_(stage),
        scatter_(mlir::cast<shlo::ScatterOp>(wholeOpOf(fusion, stage))),
        numbers_(scatter_.getScatterDimensionNumbers()),
        dims_(scatter_),
        to_(tensorTypeOf(scatter_->getResult(0))),
        updates_(tensorTypeOf(scatter_.getUpdates()[0])) {
    for (auto [result, number] : llvm::zip(scatter_->getResults(), stage.results)) {
      bases_.push_back(kernel.buffer(fusion->getNumOperands() + number));
      kinds_.push_back(evaluator_.kindOf(result));
    }
  }

  void emit() {
    if (updates_.getNumElements() == 0 || to_.getNumElements() == 0) return;
    if (stage_.groupThreads > 1) return updateCopy();
    auto sizeOf = [&](llvm::ArrayRef<int64_t> sizes, TileSpace space) {
      return stage_.tileSpace == space ? sizes[stage_.tileDim] : 1;
    };
    if (tilesAreUpdates(stage_)) {
      forUpdates(kernel_, stage_, updates_, [&](const MultiIndex& from) { updateElement(from); });
      return;
    }
    TiledDim indexTiles = tiledDimOf(kernel_, stage_, TileSpace::kIndices,
                                     sizeOf(dims_.indexSizes, TileSpace::kIndices));
    windowTiles_ = tiledDimOf(kernel_, stage_, TileSpace::kWindow,
                              sizeOf(dims_.windowSizes, TileSpace::kWindow));
    loopNest(
        kernel_, dims_.indexSizes, 1, [&](llvm::ArrayRef<IndexExpr> at) { updateWindow(at); },
        indexTiles);
  }

 private:
  // The group's share of the updates, in a copy of its own, and then that.
  void updateCopy() {
    mlir::Region& combiner = scatter_.getUpdateComputation();
    const ElementKind& kind = kinds_[0];
    std::optional<Val> neutral = neutralValueOf(combiner, kind, loops_);
    if (!neutral) {
      evaluator_.fail(scatter_, "copies of its operand without a neutral value");
      return;
    }
    GroupMemory copy(loops_, kind.storageType(loops_.context()),
                     static_cast<uint64_t>(to_.getNumElements()));
    evaluator_.setLanes(1);
    forElements([&](const IndexExpr& i) { copy.store(loops_.uniformPart(i), neutral->re); });
    groupBarrier(loops_);
    // For updateElement(), which changes what is at bases_.
    llvm::Value* operand = std::exchange(bases_[0], copy.base());
    forUpdates(kernel_, stage_, updates_, [&](const MultiIndex& from) { updateElement(from); });
    bases_[0] = operand;
    groupBarrier(loops_);
    forElements([&](const IndexExpr& i) {
      llvm::Value* value = copy.load(loops_.uniformPart(i));
      // All groups add to one operand: elements that this one has no update for are left alone.
      // By its bits: a zero of the other sign, too, changes a number.
      llvm::Type* bits = loops_.here().getIntNTy(8 * kind.storageBytes);
      auto bitsOf = [&](llvm::Value* number) { return loops_.here().CreateBitCast(number, bits); };
      llvm::Value* isChanged = loops_.here().CreateICmpNE(bitsOf(value), bitsOf(neutral->re));
      loops_.branch(isChanged, {}, [&] {
        updateAtomically(evaluator_, operand, kind, i, combiner,
                         {value, nullptr, loops_.current()});
        return Values();
      });
    });
  }

  // Of the operand, shared out to the group's threads.
  void forElements(const std::function<void(const IndexExpr&)>& body) {
    LoopBuilder::Bounds bounds;
    bounds.lo = threadInGroup(loops_);
    bounds.hi = loops_.i64(to_.getNumElements());
    bounds.step = stage_.groupThreads;
    bounds.range = {0, to_.getNumElements() - 1};
    loops_.loop(bounds, {}, [&](const IndexExpr& i, const Values&) {
      body(i);
      return Values();
    });
  }

  // Where the window begins in dimension `d` of the operand: read from the indices, or null.
  llvm::Value* startAlong(int64_t d, llvm::ArrayRef<IndexExpr> indexAt) {
    auto it = llvm::find(dims_.operandDimsOfIndex, d);
    if (it == dims_.operandDimsOfIndex.end()) return nullptr;
    mlir::Value indices = scatter_.getScatterIndices();
    MultiIndex at;
    size_t next = 0;
    for (int64_t e = 0; e < tensorTypeOf(indices).getRank(); ++e) {
      bool isVector = e == static_cast<int64_t>(numbers_.getIndexVectorDim());
      at.dims.push_back(isVector ? IndexExpr(it - dims_.operandDimsOfIndex.begin())
                                 : indexAt[next++]);
    }
    return asI64(loops_, evaluator_.get(indices, at), evaluator_.kindOf(indices));
  }

  IndexExpr batchAlong(int64_t d, llvm::ArrayRef<IndexExpr> indexAt) const {
    llvm::ArrayRef<int64_t> batching = numbers_.getInputBatchingDims();
    auto it = llvm::find(batching, d);
    return it == batching.end() ? IndexExpr()
                                : indexAt[dims_.batchingOfIndices[it - batching.begin()]];
  }

  void updateElement(const MultiIndex& from) {
    llvm::SmallVector<IndexExpr> indexAt, window;
    for (int64_t d = 0; d < updates_.getRank(); ++d) {
      (llvm::is_contained(dims_.windowDims, d) ? window : indexAt).push_back(from.dims[d]);
    }
    whereWindowFits(
        indexAt, [&](llvm::ArrayRef<IndexExpr> starts) { updateElement(starts, indexAt, window); });
  }

  void updateWindow(llvm::ArrayRef<IndexExpr> indexAt) {
    whereWindowFits(indexAt, [&](llvm::ArrayRef<IndexExpr> starts) {
      loopNest(
          kernel_, dims_.windowSizes, dims_.windowSizes.empty() ? 1 : stage_.lanes,
          [&](llvm::ArrayRef<IndexExpr> window) { updateElement(starts, indexAt, window); },
          windowTiles_);
    });
  }

  void whereWindowFits(llvm::ArrayRef<IndexExpr> indexAt,
                       const std::function<void(llvm::ArrayRef<IndexExpr>)>& body) {
    llvm::SmallVector<llvm::Value*> start(to_.getRank(), nullptr);
    llvm::SmallVector<IndexExpr> batch(to_.getRank());
    for (int64_t d = 0; d < to_.getRank(); ++d) {
      start[d] = startAlong(d, indexAt);
      batch[d] = batchAlong(d, indexAt);
    }
    // A window that sticks out is left out as a whole, as XLA does and JAX relies on.
    llvm::IRBuilder<>& b = loops_.here();
    llvm::Value* whole = b.getTrue();
    for (int64_t d = 0; d < to_.getRank(); ++d) {
      if (!start[d]) continue;
      int64_t extent = dims_.windowOf[d] < 0 ? 1 : updates_.getDimSize(dims_.windowOf[d]);
      int64_t places = std::max<int64_t>(0, to_.getDimSize(d) - extent + 1);
      // Unsigned, so that a negative start is too large.
      whole = b.CreateAnd(whole, b.CreateICmpULT(start[d], loops_.i64(places)));
    }
    loops_.branch(whole, {}, [&] {
      llvm::SmallVector<IndexExpr> starts = batch;
      for (int64_t d = 0; d < to_.getRank(); ++d) {
        if (!start[d]) continue;
        const Symbol* symbol =
            loops_.makeSymbol(start[d], loops_.current(), {0, to_.getDimSize(d) - 1});
        starts[d] = evaluator_.addIndex(IndexExpr::of(symbol), batch[d]);
      }
      body(starts);
      return Values();
    });
  }

  void updateElement(llvm::ArrayRef<IndexExpr> starts, llvm::ArrayRef<IndexExpr> indexAt,
                     llvm::ArrayRef<IndexExpr> window) {
    MultiIndex from, into;
    size_t nextIndex = 0, nextWindow = 0;
    for (int64_t d = 0; d < updates_.getRank(); ++d) {
      from.dims.push_back(llvm::is_contained(dims_.windowDims, d) ? window[nextWindow++]
                                                                  : indexAt[nextIndex++]);
    }
    for (int64_t d = 0; d < to_.getRank(); ++d) {
      int64_t along = dims_.windowOf[d];
      into.dims.push_back(along < 0 ? starts[d] : evaluator_.addIndex(starts[d], from.dims[along]));
    }
    IndexExpr linear = evaluator_.linearize(into, to_);
    // Another tile may update the same element at the same time.
    if (tilesAreUpdates(stage_) && !scatter_.getUniqueIndices()) {
      updateAtomically(evaluator_, bases_[0], kinds_[0], linear, scatter_.getUpdateComputation(),
                       evaluator_.get(scatter_.getUpdates()[0], from));
      return;
    }
    llvm::SmallVector<Val, 4> arguments;
    for (size_t i = 0; i < bases_.size(); ++i) {
      // Here and no further out, whatever the index depends on: an update before may have changed
      // it.
      arguments.push_back(evaluator_.load(bases_[i], kinds_[i], linear, loops_.current()));
    }
    for (mlir::Value value : scatter_.getUpdates()) {
      arguments.push_back(evaluator_.get(value, from));
    }
    for (Val& value : arguments) value = evaluator_.splat(value, evaluator_.lanes());
    llvm::SmallVector<Val, 2> results =
        evaluator_.evaluateRegion(scatter_.getUpdateComputation(), arguments);
    for (size_t i = 0; i < bases_.size() && i < results.size(); ++i) {
      evaluator_.store(bases_[i], kinds_[i], linear, results[i]);
    }
  }

  KernelBuilder& kernel_;
  LoopBuilder& loops_;
  Evaluator& evaluator_;
  const UpdateStage& stage_;
  shlo::ScatterOp scatter_;
  shlo::ScatterDimensionNumbersAttr numbers_;
  ScatterDims dims_;
  mlir::RankedTensorType to_, updates_;
  llvm::SmallVector<llvm::Value*, 2> bases_;
  llvm::SmallVector<ElementKind, 2> kinds_;
  TiledDim windowTiles_;
};

}  // namespace

void emitScatter(KernelBuilder& kernel, ir::FusionOp fusion, const UpdateStage& stage) {
  ScatterEmitter(kernel, fusion, stage).emit();
}

void emitUpdateSlice(KernelBuilder& kernel, ir::FusionOp fusion, const UpdateStage& stage) {
  auto update = mlir::cast<shlo::DynamicUpdateSliceOp>(wholeOpOf(fusion, stage));
  auto to = tensorTypeOf(update->getResult(0)), block = tensorTypeOf(update.getUpdate());
  Evaluator& evaluator = kernel.evaluator();
  llvm::Value* base = kernel.buffer(fusion->getNumOperands() + stage.results[0]);
  ElementKind kind = evaluator.kindOf(update.getUpdate());
  llvm::SmallVector<IndexExpr, 6> starts;
  for (int64_t d = 0; d < to.getRank(); ++d) {
    int64_t last = to.getDimSize(d) - block.getDimSize(d);
    mlir::Value start = update.getStartIndices()[d];
    // The specification moves a block that would stick out, instead of cutting it.
    starts.push_back(last == 0 ? IndexExpr(0)
                               : evaluator.indexFrom(evaluator.get(start, MultiIndex()),
                                                     evaluator.kindOf(start), 0, last, true));
  }
  if (block.getNumElements() == 0) return;
  auto updateAt = [&](const MultiIndex& from) {
    MultiIndex into;
    for (size_t d = 0; d < starts.size(); ++d) {
      into.dims.push_back(evaluator.addIndex(from.dims[d], starts[d]));
    }
    evaluator.store(base, kind, evaluator.linearize(into, to),
                    evaluator.get(update.getUpdate(), from));
  };
  if (stage.tileSpace == TileSpace::kIndices) return forUpdates(kernel, stage, block, updateAt);
  const TiledDim tiled = tiledDimOf(kernel, stage, TileSpace::kWindow,
                                    stage.tileDim >= 0 ? block.getDimSize(stage.tileDim) : 1);
  auto updateInLoops = [&](llvm::ArrayRef<IndexExpr> at) {
    MultiIndex from;
    from.dims.assign(at.begin(), at.end());
    updateAt(from);
  };
  loopNest(kernel, block.getShape(), stage.lanes, updateInLoops, tiled);
}

}  // namespace isthmus::codegen
