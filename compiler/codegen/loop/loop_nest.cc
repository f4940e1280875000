// Loops over all of an index space, or the tiles of one of its dimensions.
#include "compiler/codegen/loop/loop_nest.h"

#include <algorithm>

#include "compiler/codegen/target/group_threads.h"

namespace isthmus::codegen {
namespace {

using Values = LoopBuilder::Values;
using Position = llvm::SmallVector<IndexExpr, 6>;

class LoopNest {
 public:
  LoopNest(KernelBuilder& kernel, llvm::ArrayRef<int64_t> sizes, unsigned lanes,
           const std::function<void(llvm::ArrayRef<IndexExpr>)>& body, const TiledDim& tiled)
      : loops_(kernel.loops()),
        evaluator_(kernel.evaluator()),
        sizes_(sizes),
        lanes_(lanes),
        body_(body),
        tiled_(tiled) {}

  void emit(const Position& at) {
    size_t d = at.size();
    if (d == sizes_.size()) {
      evaluator_.setLanes(1);
      return body_(at);
    }
    // Vectors run along the last dimension, where elements lie side by side.
    int64_t step = d + 1 == sizes_.size() ? lanes_ : 1;
    int64_t vectorEnd = sizes_[d] / step * step;
    loop(d, 0, vectorEnd, step, at);
    // Only the last tile can have a rest.
    loop(d, narrowVectors(d, vectorEnd, at), sizes_[d], 1, at);
    evaluator_.setLanes(1);
  }

 private:
  // Returns where what is left of a row begins that single elements are for.
  int64_t narrowVectors(size_t d, int64_t from, const Position& at) {
    if (d + 1 != sizes_.size() || tiled_.dim == static_cast<int64_t>(d)) return from;
    return forNarrowVectors(evaluator_, from, sizes_[d], from / lanes_, lanes_,
                            [&](const IndexExpr& i) {
                              Position inner = at;
                              inner.push_back(i);
                              body_(inner);
                            });
  }

  void loop(size_t d, int64_t from, int64_t to, int64_t by, const Position& at) {
    if (from == to) return;
    auto run = [&](const IndexExpr& i, const Values&) {
      Position inner = at;
      inner.push_back(i);
      if (by > 1) {
        inner.back().laneStride = 1;
        evaluator_.setLanes(static_cast<unsigned>(by));
        body_(inner);
      } else {
        emit(inner);
      }
      return Values();
    };
    if (tiled_.dim != static_cast<int64_t>(d)) {
      loops_.loop(from, to, by, {}, run);
      return;
    }
    LoopBuilder::Bounds bounds;
    bounds.lo = from == 0 ? tiled_.lo : loops_.i64(from);
    bounds.hi = to == sizes_[d] ? tiled_.hi
                                : loops_.here().CreateBinaryIntrinsic(llvm::Intrinsic::smin,
                                                                      tiled_.hi, loops_.i64(to));
    bounds.step = by;
    bounds.range = {from, to - by};
    bounds.multipleOf = by;
    loops_.loop(bounds, {}, run);
  }

  LoopBuilder& loops_;
  Evaluator& evaluator_;
  llvm::ArrayRef<int64_t> sizes_;
  int64_t lanes_;
  const std::function<void(llvm::ArrayRef<IndexExpr>)>& body_;
  const TiledDim& tiled_;
};

}  // namespace

TiledDim tiledDimOf(KernelBuilder& kernel, const WholeStage& stage, TileSpace space, int64_t size) {
  if (stage.tileSpace != space || stage.tileCount == 1) return {};
  LoopBuilder& loops = kernel.loops();
  llvm::IRBuilder<>& b = loops.here();
  TiledDim tiled{stage.tileDim};
  tiled.lo = b.CreateMul(kernel.begin(), loops.i64(stage.tileUnit), "", false, true);
  tiled.hi = b.CreateMul(kernel.end(), loops.i64(stage.tileUnit), "", false, true);
  if (size % stage.tileUnit) {
    tiled.hi = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, tiled.hi, loops.i64(size));
  }
  return tiled;
}

int64_t forNarrowVectors(Evaluator& evaluator, int64_t from, int64_t end, int64_t vectors,
                         int64_t lanes, llvm::function_ref<void(const IndexExpr&)> body) {
  if (end - from <= std::max<int64_t>(1, vectors / 2)) return from;
  for (int64_t width = lanes / 2; width > 1; width /= 2) {
    if (end - from < width) continue;
    evaluator.setLanes(static_cast<unsigned>(width));
    IndexExpr i(from);
    i.laneStride = 1;
    body(i);
    from += width;
  }
  return from;
}

void forUpdates(KernelBuilder& kernel, const UpdateStage& stage, mlir::RankedTensorType updates,
                const std::function<void(const MultiIndex&)>& body) {
  LoopBuilder& loops = kernel.loops();
  Evaluator& evaluator = kernel.evaluator();
  int64_t count = updates.getNumElements();
  TiledDim tiles = tiledDimOf(kernel, stage, TileSpace::kIndices, count);
  const int64_t lanes = stage.lanes;
  evaluator.setLanes(stage.lanes);
  LoopBuilder::Bounds bounds;
  bounds.lo = tiles.lo ? tiles.lo : loops.i64(0);
  bounds.hi = tiles.hi ? tiles.hi : loops.i64(count);
  bounds.step = lanes;
  bounds.multipleOf = lanes;
  if (stage.groupThreads > 1) {
    bounds.lo = loops.here().CreateAdd(bounds.lo, threadInGroup(loops));
    bounds.step = stage.groupThreads;
  }
  bounds.range = {0, count - lanes};
  loops.loop(bounds, {}, [&](const IndexExpr& number, const Values&) {
    MultiIndex at;
    at.dims.resize(updates.getRank());
    IndexExpr rest = number;
    for (int64_t d = updates.getRank(); d-- > 0;) {
      if (d == 0) {
        // What is left is smaller than the dimension: no division.
        at.dims[d] = rest;
      } else {
        evaluator.divideIndex(rest, updates.getDimSize(d), &rest, &at.dims[d]);
      }
    }
    if (lanes > 1) at.dims.back().laneStride = 1;
    body(at);
    return Values();
  });
}

void loopNest(KernelBuilder& kernel, llvm::ArrayRef<int64_t> sizes, unsigned lanes,
              const std::function<void(llvm::ArrayRef<IndexExpr>)>& body, const TiledDim& tiled) {
  LoopNest(kernel, sizes, lanes, body, tiled).emit({});
}

}  // namespace isthmus::codegen
