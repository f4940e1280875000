// Stages that change a result in place: scatter, dynamic_update_slice, select_and_scatter.
#include "compiler/codegen/cost.h"
#include "compiler/codegen/kernel_builder.h"
#include "compiler/codegen/stages.h"
#include "compiler/dialect/dialect.h"

namespace isthmus::codegen {
namespace {

using Values = LoopBuilder::Values;

mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

// An integer of the program as an i64.
llvm::Value* asI64(LoopBuilder& loops, const Val& value, const ElementKind& kind) {
  llvm::IRBuilder<>& b = loops.at(value.level);
  return kind.isSigned && !kind.isBool() ? b.CreateSExt(value.re, b.getInt64Ty())
                                         : b.CreateZExt(value.re, b.getInt64Ty());
}

// The part of one dimension that the kernel's tiles cover.
struct TiledDim {
  int64_t dim = -1;  // of a loop nest; -1: none
  int64_t unit = 1;  // elements of a tile; a multiple of the lanes
  int64_t tiles = 1;
  llvm::Value* lo = nullptr;
  llvm::Value* hi = nullptr;

  // At most `most` tiles of at least `least` elements each.
  static TiledDim over(int64_t dim, int64_t size, int64_t least, int64_t most) {
    int64_t unit = std::max<int64_t>(least, llvm::alignTo((size + most - 1) / most, least));
    return {dim, unit, (size + unit - 1) / unit};
  }
  void setBounds(KernelBuilder& kernel, int64_t size) {
    LoopBuilder& loops = kernel.loops();
    llvm::IRBuilder<>& b = loops.here();
    lo = b.CreateMul(kernel.begin(), loops.i64(unit), "", false, true);
    hi = b.CreateMul(kernel.end(), loops.i64(unit), "", false, true);
    if (size % unit) hi = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, hi, loops.i64(size));
  }
};

// Loops over all of `sizes`, or the tiles of one of them, the last in steps of `lanes` with a
// scalar rest.
void loopNest(KernelBuilder& kernel, llvm::ArrayRef<int64_t> sizes, unsigned lanes,
              const std::function<void(llvm::ArrayRef<IndexExpr>)>& body,
              const TiledDim& tiled = {}) {
  LoopBuilder& loops = kernel.loops();
  Evaluator& evaluator = kernel.evaluator();
  std::function<void(llvm::SmallVector<IndexExpr, 6>)> nest =
      [&](llvm::SmallVector<IndexExpr, 6> at) {
        size_t d = at.size();
        if (d == sizes.size()) {
          evaluator.setLanes(1);
          body(at);
          return;
        }
        bool isLast = d + 1 == sizes.size();
        int64_t step = isLast ? lanes : 1;
        int64_t vectorEnd = sizes[d] / step * step;
        // Only the last tile can have a rest.
        auto loop = [&](int64_t from, int64_t to, int64_t by,
                        const std::function<Values(const IndexExpr&, const Values&)>& run) {
          if (from == to) return;
          if (tiled.dim != static_cast<int64_t>(d)) {
            loops.loop(from, to, by, {}, run);
            return;
          }
          LoopBuilder::Bounds bounds;
          bounds.lo = from == 0 ? tiled.lo : loops.i64(from);
          bounds.hi = to == sizes[d] ? tiled.hi
                                     : loops.here().CreateBinaryIntrinsic(llvm::Intrinsic::smin,
                                                                          tiled.hi, loops.i64(to));
          bounds.step = by;
          bounds.range = {from, to - by};
          bounds.multipleOf = by;
          loops.loop(bounds, {}, run);
        };
        loop(0, vectorEnd, step, [&](const IndexExpr& i, const Values&) {
          llvm::SmallVector<IndexExpr, 6> inner = at;
          inner.push_back(i);
          if (step > 1) {
            inner.back().laneStride = 1;
            evaluator.setLanes(step);
            body(inner);
          } else {
            nest(inner);
          }
          return Values();
        });
        loop(vectorEnd, sizes[d], 1, [&](const IndexExpr& i, const Values&) {
          llvm::SmallVector<IndexExpr, 6> inner = at;
          inner.push_back(i);
          nest(inner);
          return Values();
        });
        evaluator.setLanes(1);
      };
  nest({});
}

unsigned lanesFor(const KernelTarget& target, const ElementKind& kind, int64_t size) {
  unsigned lanes = target.vectorBits / kind.computeBits();
  while (lanes > 1 && lanes > size) lanes /= 2;
  return lanes;
}

}  // namespace

StatusOr<KernelStage> emitUpdateSliceStage(const StageContext& context, const std::string& symbol,
                                           mlir::Operation* op, unsigned buffer) {
  auto update = mlir::cast<shlo::DynamicUpdateSliceOp>(op);
  auto to = typeOf(op->getResult(0));
  auto block = typeOf(update.getUpdate());
  KernelBuilder kernel(context.fusion, context.target, context.module, symbol);
  Evaluator& evaluator = kernel.evaluator();
  llvm::Value* base = kernel.buffer(buffer);
  ElementKind kind = evaluator.kindOf(update.getUpdate());
  llvm::SmallVector<IndexExpr, 6> starts;
  for (int64_t d = 0; d < to.getRank(); ++d) {
    int64_t last = to.getDimSize(d) - block.getDimSize(d);
    mlir::Value start = update.getStartIndices()[d];
    starts.push_back(last == 0 ? IndexExpr(0)
                               : evaluator.indexFrom(evaluator.get(start, Place()),
                                                     evaluator.kindOf(start), 0, last, true));
  }
  unsigned lanes =
      to.getRank() ? lanesFor(context.target, kind, block.getDimSize(to.getRank() - 1)) : 1;
  KernelStage stage;
  stage.symbol = symbol;
  stage.nsPerTile = costNs(context.fusion, {update.getUpdate()});
  if (block.getNumElements() > 0) {
    loopNest(kernel, block.getShape(), lanes, [&](llvm::ArrayRef<IndexExpr> at) {
      Place from, into;
      for (size_t d = 0; d < at.size(); ++d) {
        from.dims.push_back(at[d]);
        into.dims.push_back(evaluator.addIndex(at[d], starts[d]));
      }
      evaluator.store(base, kind, evaluator.linearize(into, to),
                      evaluator.get(update.getUpdate(), from));
    });
  }
  ISTHMUS_RETURN_IF_ERROR(kernel.finish());
  return stage;
}

StatusOr<KernelStage> emitScatterStage(const StageContext& context, const std::string& symbol,
                                       mlir::Operation* op, llvm::ArrayRef<unsigned> buffers) {
  auto scatter = mlir::cast<shlo::ScatterOp>(op);
  auto numbers = scatter.getScatterDimensionNumbers();
  auto to = typeOf(op->getResult(0));
  auto indices = typeOf(scatter.getScatterIndices());
  auto updates = typeOf(scatter.getUpdates()[0]);
  llvm::ArrayRef<int64_t> windowDims = numbers.getUpdateWindowDims();
  llvm::ArrayRef<int64_t> inserted = numbers.getInsertedWindowDims();
  llvm::ArrayRef<int64_t> inputBatching = numbers.getInputBatchingDims();
  llvm::ArrayRef<int64_t> indicesBatching = numbers.getScatterIndicesBatchingDims();
  llvm::ArrayRef<int64_t> dimMap = numbers.getScatterDimsToOperandDims();
  int64_t vectorDim = numbers.getIndexVectorDim();
  size_t count = buffers.size();

  KernelBuilder kernel(context.fusion, context.target, context.module, symbol);
  LoopBuilder& loops = kernel.loops();
  Evaluator& evaluator = kernel.evaluator();
  llvm::SmallVector<llvm::Value*, 2> bases;
  llvm::SmallVector<ElementKind, 2> kinds;
  for (size_t i = 0; i < count; ++i) {
    bases.push_back(kernel.buffer(buffers[i]));
    kinds.push_back(evaluator.kindOf(op->getResult(i)));
  }
  KernelStage stage;
  stage.symbol = symbol;

  // Per dimension of the operand: the window's dimension of the updates, or -1.
  llvm::SmallVector<int64_t> windowOf(to.getRank(), -1);
  {
    size_t next = 0;
    for (int64_t d = 0; d < to.getRank(); ++d) {
      if (llvm::is_contained(inserted, d) || llvm::is_contained(inputBatching, d)) continue;
      windowOf[d] = windowDims[next++];
    }
  }
  llvm::SmallVector<int64_t> scatterDims;
  llvm::SmallVector<int64_t> scatterSizes;
  for (int64_t d = 0; d < updates.getRank(); ++d) {
    if (llvm::is_contained(windowDims, d)) continue;
    scatterDims.push_back(d);
    scatterSizes.push_back(updates.getDimSize(d));
  }
  // Lanes run along the innermost dimension where updates and operand agree on it.
  int64_t last = to.getRank() - 1;
  bool innermost = last >= 0 && windowOf[last] >= 0 && windowOf[last] == updates.getRank() - 1;
  unsigned widest = 8;
  for (const ElementKind& kind : kinds) widest = std::max(widest, kind.computeBits());
  unsigned lanes = innermost ? context.target.vectorBits / widest : 1;
  while (innermost && lanes > 1 && lanes > updates.getDimSize(updates.getRank() - 1)) lanes /= 2;

  llvm::SmallVector<int64_t> windowSizes;
  for (int64_t d : windowDims) windowSizes.push_back(updates.getDimSize(d));

  // Tiles must not meet in the operand: they are parts of a batch, of windows along a dimension
  // that no index moves, or of updates that are promised to be to different places.
  constexpr int64_t kMaxTiles = 64;
  constexpr int64_t kMinTileBytes = 256;  // of a window, for lines of the cache to have one owner
  constexpr int64_t kMinTilePlaces = 1024;
  TiledDim scatterTiles, windowTiles;
  for (int64_t dim : indicesBatching) {
    int64_t d = dim > vectorDim ? dim - 1 : dim;
    TiledDim tiles = TiledDim::over(d, scatterSizes[d], 1, kMaxTiles);
    if (tiles.tiles > scatterTiles.tiles) scatterTiles = tiles;
  }
  int64_t innerBytes = widest / 8;
  for (int64_t w = static_cast<int64_t>(windowDims.size()); w-- > 0 && scatterTiles.tiles == 1;) {
    auto it = llvm::find(windowOf, windowDims[w]);
    int64_t least = std::max<int64_t>(lanes, llvm::divideCeil(kMinTileBytes, innerBytes));
    innerBytes *= windowSizes[w];
    if (it == windowOf.end() || llvm::is_contained(dimMap, it - windowOf.begin())) continue;
    TiledDim tiles = TiledDim::over(w, windowSizes[w], llvm::alignTo(least, lanes), kMaxTiles);
    if (tiles.tiles > windowTiles.tiles) windowTiles = tiles;
  }
  if (scatterTiles.tiles == 1 && windowTiles.tiles == 1 && scatter.getUniqueIndices() &&
      !scatterSizes.empty()) {
    int64_t inner = 1;
    for (int64_t size : llvm::drop_begin(scatterSizes)) inner *= size;
    int64_t least = std::max<int64_t>(1, kMinTilePlaces / std::max<int64_t>(1, inner));
    scatterTiles = TiledDim::over(0, scatterSizes[0], least, kMaxTiles);
  }
  stage.tiles = std::max(scatterTiles.tiles, windowTiles.tiles);
  {
    auto elements = static_cast<double>(updates.getNumElements());
    double places = 1;
    for (int64_t size : scatterSizes) places *= static_cast<double>(size);
    double ns = elements * (lanes > 1 ? 0.25 : 1.0);
    stage.nsPerTile = (ns + places) / static_cast<double>(scatterTiles.tiles) + 10;
    // Tiles of windows each read all indices.
    if (windowTiles.tiles > 1) {
      stage.nsPerTile = ns / static_cast<double>(windowTiles.tiles) + places + 10;
    }
  }

  if (updates.getNumElements() > 0 && to.getNumElements() > 0) {
    if (scatterTiles.tiles > 1) scatterTiles.setBounds(kernel, scatterSizes[scatterTiles.dim]);
    if (windowTiles.tiles > 1) windowTiles.setBounds(kernel, windowSizes[windowTiles.dim]);
    if (scatterTiles.tiles == 1) scatterTiles.dim = -1;
    if (windowTiles.tiles == 1) windowTiles.dim = -1;
    auto updatePlace = [&](llvm::ArrayRef<IndexExpr> scatterAt) {
      llvm::SmallVector<llvm::Value*> start(to.getRank(), nullptr);
      llvm::SmallVector<IndexExpr> batch(to.getRank());
      for (int64_t d = 0; d < to.getRank(); ++d) {
        if (auto it = llvm::find(dimMap, d); it != dimMap.end()) {
          Place at;
          size_t next = 0;
          for (int64_t e = 0; e < indices.getRank(); ++e) {
            at.dims.push_back(e == vectorDim ? IndexExpr(it - dimMap.begin()) : scatterAt[next++]);
          }
          Val value = evaluator.get(scatter.getScatterIndices(), at);
          start[d] = asI64(loops, value, evaluator.kindOf(scatter.getScatterIndices()));
        }
        if (auto it = llvm::find(inputBatching, d); it != inputBatching.end()) {
          int64_t dim = indicesBatching[it - inputBatching.begin()];
          batch[d] = scatterAt[dim > vectorDim ? dim - 1 : dim];
        }
      }
      // A window that sticks out is left out as a whole, as XLA does and JAX relies on.
      llvm::IRBuilder<>& b = loops.here();
      llvm::Value* whole = b.getTrue();
      for (int64_t d = 0; d < to.getRank(); ++d) {
        if (!start[d]) continue;
        int64_t extent = windowOf[d] < 0 ? 1 : updates.getDimSize(windowOf[d]);
        llvm::Value* fits = b.CreateICmpULT(
            start[d], loops.i64(std::max<int64_t>(0, to.getDimSize(d) - extent + 1)));
        whole = b.CreateAnd(whole, fits);
      }
      auto update = [&](llvm::ArrayRef<IndexExpr> starts, llvm::ArrayRef<IndexExpr> window) {
        Place from, into;
        size_t nextScatter = 0, nextWindow = 0;
        for (int64_t d = 0; d < updates.getRank(); ++d) {
          from.dims.push_back(llvm::is_contained(windowDims, d) ? window[nextWindow++]
                                                                : scatterAt[nextScatter++]);
        }
        for (int64_t d = 0; d < to.getRank(); ++d) {
          IndexExpr expr = evaluator.addIndex(starts[d], batch[d]);
          if (windowOf[d] >= 0) expr = evaluator.addIndex(expr, from.dims[windowOf[d]]);
          into.dims.push_back(expr);
        }
        IndexExpr linear = evaluator.linearize(into, to);
        llvm::SmallVector<Val, 4> arguments;
        for (size_t i = 0; i < count; ++i) {
          arguments.push_back(evaluator.load(bases[i], kinds[i], linear, loops.current()));
        }
        for (mlir::Value value : scatter.getUpdates()) {
          arguments.push_back(evaluator.get(value, from));
        }
        for (Val& value : arguments) value = evaluator.splat(value, evaluator.lanes());
        llvm::SmallVector<Val, 2> results =
            evaluator.evaluateRegion(scatter.getUpdateComputation(), arguments);
        for (size_t i = 0; i < count && i < results.size(); ++i) {
          evaluator.store(bases[i], kinds[i], linear, results[i]);
        }
      };
      loops.branch(whole, {}, [&] {
        llvm::SmallVector<IndexExpr> starts(to.getRank());
        for (int64_t d = 0; d < to.getRank(); ++d) {
          if (start[d]) {
            starts[d] = IndexExpr::of(
                loops.makeSymbol(start[d], loops.current(), {0, to.getDimSize(d) - 1}));
          }
        }
        loopNest(
            kernel, windowSizes, windowSizes.empty() ? 1 : lanes,
            [&](llvm::ArrayRef<IndexExpr> window) { update(starts, window); }, windowTiles);
        return Values();
      });
    };
    loopNest(kernel, scatterSizes, 1, updatePlace, scatterTiles);
  }
  ISTHMUS_RETURN_IF_ERROR(kernel.finish());
  return stage;
}

StatusOr<KernelStage> emitSelectAndScatterStage(const StageContext& context,
                                                const std::string& symbol, mlir::Operation* op,
                                                unsigned buffer) {
  auto select = mlir::cast<shlo::SelectAndScatterOp>(op);
  auto to = typeOf(op->getResult(0));
  auto source = typeOf(select.getSource());
  int64_t rank = to.getRank();
  llvm::SmallVector<int64_t> window(rank, 1), strides(rank, 1), low(rank, 0);
  if (auto dims = select.getWindowDimensions()) window.assign(dims->begin(), dims->end());
  if (auto given = select.getWindowStrides()) strides.assign(given->begin(), given->end());
  if (auto padding = select.getPadding()) {
    for (int64_t d = 0; d < rank; ++d) low[d] = padding->getValues<int64_t>()[{uint64_t(d), 0}];
  }
  KernelBuilder kernel(context.fusion, context.target, context.module, symbol);
  LoopBuilder& loops = kernel.loops();
  Evaluator& evaluator = kernel.evaluator();
  llvm::Value* base = kernel.buffer(buffer);
  ElementKind kind = evaluator.kindOf(op->getResult(0));
  KernelStage stage;
  stage.symbol = symbol;
  int64_t elements = 1;
  for (int64_t extent : window) elements *= extent;
  stage.nsPerTile = static_cast<double>(source.getNumElements() * elements) / 2 + 10;

  // Lanes along an innermost dimension that the windows do not extend over.
  bool innermost = rank > 0 && window[rank - 1] == 1 && strides[rank - 1] == 1 &&
                   low[rank - 1] == 0 && to.getDimSize(rank - 1) == source.getDimSize(rank - 1);
  unsigned lanes = innermost ? lanesFor(context.target, kind, source.getDimSize(rank - 1)) : 1;
  // Windows of different sources of the leading, not windowed dimensions never meet: tiles.
  int64_t tiles = 1;
  bool tiled = rank > 1 && window[0] == 1 && strides[0] == 1 && low[0] == 0 &&
               to.getDimSize(0) == source.getDimSize(0);
  if (tiled) tiles = std::max<int64_t>(1, source.getDimSize(0));

  auto emitAt = [&](llvm::ArrayRef<IndexExpr> at) {
    unsigned width = evaluator.lanes();
    Val update = evaluator.splat(evaluator.get(select.getSource(), Place{Index(at), 0}), width);
    // Position in the operand of a window element, and whether it exists.
    auto positionOf = [&](llvm::ArrayRef<IndexExpr> offset, Condition* inside) {
      Place position;
      *inside = Condition::always(true);
      for (int64_t d = 0; d < rank; ++d) {
        IndexExpr expr = evaluator.addIndex(
            evaluator.addIndex(evaluator.scaleIndex(at[d], strides[d]), offset[d]),
            IndexExpr(-low[d]));
        *inside = evaluator.both(*inside, evaluator.within(expr, 0, to.getDimSize(d)));
        position.dims.push_back(expr);
      }
      return position;
    };
    auto flag = [&](const Condition& condition) -> llvm::Value* {
      return condition.known ? loops.here().getInt1(condition.value) : condition.dynamic.re;
    };
    std::function<Values(llvm::SmallVector<IndexExpr, 6>, const Values&,
                         const std::function<Values(llvm::ArrayRef<IndexExpr>, const Values&)>&)>
        overWindow =
            [&](llvm::SmallVector<IndexExpr, 6> offset, const Values& carried,
                const std::function<Values(llvm::ArrayRef<IndexExpr>, const Values&)>& body)
        -> Values {
      if (static_cast<int64_t>(offset.size()) == rank) return body(offset, carried);
      return loops.loop(0, window[offset.size()], 1, carried,
                        [&](const IndexExpr& i, const Values& values) {
                          llvm::SmallVector<IndexExpr, 6> next = offset;
                          next.push_back(i);
                          return overWindow(next, values, body);
                        });
    };
    auto numberOf = [&](llvm::ArrayRef<IndexExpr> offset) {
      IndexExpr number;
      for (int64_t d = 0; d < rank; ++d) {
        number = evaluator.addIndex(evaluator.scaleIndex(number, window[d]), offset[d]);
      }
      llvm::Value* value = loops.uniformPart(number);
      llvm::IRBuilder<>& b = loops.here();
      value = b.CreateTrunc(value, b.getInt32Ty());
      return width > 1 ? b.CreateVectorSplat(width, value) : value;
    };
    llvm::IRBuilder<>& b = loops.here();
    llvm::Type* i32 = b.getInt32Ty();
    if (width > 1) i32 = llvm::FixedVectorType::get(i32, width);
    // The chosen element of each lane's window: its value, and its number (-1: none yet).
    Values chosen = {llvm::Constant::getNullValue(update.re->getType()),
                     llvm::ConstantInt::getSigned(i32, -1)};
    if (update.im) {
      evaluator.fail(op, "complex numbers have no order");
      return;
    }
    chosen = overWindow({}, chosen, [&](llvm::ArrayRef<IndexExpr> offset, const Values& carried) {
      Condition inside;
      Place position = positionOf(offset, &inside);
      if (inside.known && !inside.value) return carried;
      auto consider = [&]() -> Values {
        Val value = evaluator.splat(evaluator.get(select.getOperand(), position), width);
        Val best{carried[0], nullptr, loops.current()};
        llvm::SmallVector<Val, 2> keep =
            evaluator.evaluateRegion(select.getSelect(), {best, value});
        if (keep.empty()) return carried;
        Val keepBest = evaluator.splat(keep[0], width);
        llvm::Value* number = numberOf(offset);
        llvm::IRBuilder<>& inner = loops.here();
        llvm::Value* any = inner.CreateICmpSGE(carried[1], llvm::Constant::getNullValue(i32));
        llvm::Value* stay = inner.CreateAnd(keepBest.re, any);
        return {inner.CreateSelect(stay, carried[0], value.re),
                inner.CreateSelect(stay, carried[1], number)};
      };
      if (inside.known) return consider();
      return loops.branch(flag(inside), carried, consider);
    });
    overWindow({}, {}, [&](llvm::ArrayRef<IndexExpr> offset, const Values&) {
      Condition inside;
      Place position = positionOf(offset, &inside);
      if (inside.known && !inside.value) return Values();
      auto add = [&]() -> Values {
        llvm::Value* number = numberOf(offset);
        llvm::Value* here = loops.here().CreateICmpEQ(chosen[1], number);
        IndexExpr linear = evaluator.linearize(position, to);
        Val old = evaluator.splat(evaluator.load(base, kind, linear, loops.current()), width);
        llvm::SmallVector<Val, 2> sum =
            evaluator.evaluateRegion(select.getScatter(), {old, update});
        if (sum.empty()) return {};
        Val next = evaluator.splat(sum[0], width);
        next.re = loops.here().CreateSelect(here, next.re, old.re);
        next.level = loops.current();
        evaluator.store(base, kind, linear, next);
        return {};
      };
      if (inside.known) {
        add();
      } else {
        loops.branch(flag(inside), {}, add);
      }
      return Values();
    });
  };

  if (source.getNumElements() > 0 && to.getNumElements() > 0) {
    if (tiled && tiles > 1) {
      LoopBuilder::Bounds bounds;
      bounds.lo = kernel.begin();
      bounds.hi = kernel.end();
      bounds.range = {0, tiles - 1};
      loops.loop(bounds, {}, [&](const IndexExpr& i, const Values&) {
        loopNest(kernel, source.getShape().drop_front(), lanes,
                 [&](llvm::ArrayRef<IndexExpr> rest) {
                   llvm::SmallVector<IndexExpr, 6> at = {i};
                   at.append(rest.begin(), rest.end());
                   emitAt(at);
                 });
        return Values();
      });
      stage.tiles = tiles;
      stage.nsPerTile /= static_cast<double>(tiles);
    } else {
      loopNest(kernel, source.getShape(), lanes, emitAt);
    }
  }
  ISTHMUS_RETURN_IF_ERROR(kernel.finish());
  return stage;
}

}  // namespace isthmus::codegen
