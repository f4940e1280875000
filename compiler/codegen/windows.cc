// reduce_window: at one index, and as a running reduction over a whole dimension.
#include "compiler/codegen/cost.h"
#include "compiler/codegen/evaluator.h"
#include "compiler/codegen/kernel_builder.h"
#include "compiler/codegen/stages.h"
#include "compiler/dialect/dialect.h"

namespace isthmus::codegen {
namespace {

using Values = LoopBuilder::Values;

mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

// The attributes with their defaults filled in.
struct Window {
  llvm::SmallVector<int64_t> size, stride, baseDilation, dilation, low, high;

  explicit Window(shlo::ReduceWindowOp op) {
    auto given = op.getWindowDimensions();
    size.assign(given.begin(), given.end());
    auto fill = [&](std::optional<llvm::ArrayRef<int64_t>> values) {
      return values ? llvm::SmallVector<int64_t>(*values)
                    : llvm::SmallVector<int64_t>(size.size(), 1);
    };
    stride = fill(op.getWindowStrides());
    baseDilation = fill(op.getBaseDilations());
    dilation = fill(op.getWindowDilations());
    low.assign(size.size(), 0);
    high.assign(size.size(), 0);
    if (auto padding = op.getPadding()) {
      for (uint64_t d = 0; d < size.size(); ++d) {
        low[d] = padding->getValues<int64_t>()[{d, 0}];
        high[d] = padding->getValues<int64_t>()[{d, 1}];
      }
    }
  }
};

// The dimension that `op` runs along, and whether from the end; -1 if it is no scan.
int64_t scanDim(mlir::Operation* op, bool* fromEnd) {
  auto reduce = mlir::dyn_cast_or_null<shlo::ReduceWindowOp>(op);
  if (!reduce) return -1;
  Window window(reduce);
  auto type = typeOf(reduce.getInputs()[0]);
  int64_t dim = -1;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (window.stride[d] != 1 || window.baseDilation[d] != 1 || window.dilation[d] != 1) return -1;
    int64_t size = type.getDimSize(d);
    if (window.size[d] == 1 && window.low[d] == 0 && window.high[d] == 0) continue;
    bool forward = window.low[d] == size - 1 && window.high[d] == 0;
    bool backward = window.low[d] == 0 && window.high[d] == size - 1;
    if (dim >= 0 || window.size[d] != size || !(forward || backward)) return -1;
    dim = d;
    *fromEnd = !forward;
  }
  return dim;
}

}  // namespace

Val Evaluator::reduceWindowAt(mlir::OpResult result, const Place& given) {
  auto reduce = mlir::cast<shlo::ReduceWindowOp>(result.getOwner());
  Window window(reduce);
  auto type = typeOf(reduce.getInputs()[0]);
  int64_t rank = type.getRank();
  Place place = normalize(given, typeOf(result).getShape());
  unsigned width = place.isUniform() ? 1 : lanes_;
  llvm::SmallVector<Val, 2> initial;
  for (mlir::Value value : reduce.getInitValues()) {
    initial.push_back(splat(get(value, Place()), width));
  }
  auto flatten = [](llvm::ArrayRef<Val> values) {
    Values flat;
    for (const Val& value : values) {
      flat.push_back(value.re);
      if (value.im) flat.push_back(value.im);
    }
    return flat;
  };
  auto unflatten = [&](const Values& flat) {
    llvm::SmallVector<Val, 2> values;
    size_t next = 0;
    for (const Val& value : initial) {
      Val one{flat[next++], nullptr, loops_.current()};
      if (value.im) one.im = flat[next++];
      values.push_back(one);
    }
    return values;
  };
  int64_t elements = 1;
  for (int64_t extent : window.size) elements *= extent;
  bool unroll = elements <= 12;

  auto step = [&](llvm::ArrayRef<IndexExpr> offset, const Values& carried) -> Values {
    Place from;
    Condition inside = Condition::always(true);
    for (int64_t d = 0; d < rank; ++d) {
      IndexExpr expr = addIndex(scaleIndex(place.dims[d], window.stride[d]),
                                scaleIndex(offset[d], window.dilation[d]));
      expr = addIndex(expr, IndexExpr(-window.low[d]));
      int64_t spread = window.baseDilation[d];
      int64_t limit = (type.getDimSize(d) - 1) * spread + 1;
      Condition here = type.getDimSize(d) == 0 ? Condition::always(false) : within(expr, 0, limit);
      if (here.known && !here.value) return carried;
      expr = selectIndex(here, expr, 0, 0, limit - 1);
      if (spread > 1) {
        IndexExpr quotient, remainder;
        divideIndex(expr, spread, &quotient, &remainder);
        here = both(here, within(remainder, 0, 1));
        expr = quotient;
      }
      inside = both(inside, here);
      if (inside.known && !inside.value) return carried;
      from.dims.push_back(expr);
    }
    llvm::SmallVector<Val, 4> arguments = unflatten(carried);
    for (mlir::Value input : reduce.getInputs()) {
      arguments.push_back(splat(get(input, from), width));
    }
    llvm::SmallVector<Val, 2> next = evaluateRegion(reduce.getBody(), arguments);
    if (next.size() != initial.size()) return carried;
    llvm::SmallVector<Val, 2> before = unflatten(carried);
    for (size_t i = 0; i < next.size(); ++i) {
      next[i] = splat(selectValue(inside, next[i], before[i]), width);
    }
    return flatten(next);
  };
  std::function<Values(llvm::SmallVector<IndexExpr, 6>, const Values&)> nest =
      [&](llvm::SmallVector<IndexExpr, 6> offset, const Values& carried) -> Values {
    int64_t d = offset.size();
    if (d == rank) return step(offset, carried);
    if (unroll) {
      Values values = carried;
      for (int64_t k = 0; k < window.size[d]; ++k) {
        llvm::SmallVector<IndexExpr, 6> next = offset;
        next.push_back(IndexExpr(k));
        values = nest(next, values);
      }
      return values;
    }
    return loops_.loop(0, window.size[d], 1, carried,
                       [&](const IndexExpr& k, const Values& values) {
                         llvm::SmallVector<IndexExpr, 6> next = offset;
                         next.push_back(k);
                         return nest(next, values);
                       });
  };
  llvm::SmallVector<Val, 2> results = unflatten(nest({}, flatten(initial)));
  return results[result.getResultNumber()];
}

bool isScan(mlir::Operation* op) {
  bool fromEnd = false;
  return scanDim(op, &fromEnd) >= 0;
}

StatusOr<KernelStage> emitScanStage(const StageContext& context, const std::string& symbol,
                                    mlir::Operation* op, llvm::ArrayRef<unsigned> buffers) {
  auto reduce = mlir::cast<shlo::ReduceWindowOp>(op);
  bool fromEnd = false;
  int64_t dim = scanDim(op, &fromEnd);
  auto type = typeOf(op->getResult(0));
  int64_t rank = type.getRank();
  KernelBuilder kernel(context.fusion, context.target, context.module, symbol);
  LoopBuilder& loops = kernel.loops();
  Evaluator& evaluator = kernel.evaluator();
  llvm::SmallVector<llvm::Value*, 2> bases;
  llvm::SmallVector<ElementKind, 2> kinds;
  unsigned widest = 8;
  for (size_t i = 0; i < buffers.size(); ++i) {
    bases.push_back(kernel.buffer(buffers[i]));
    kinds.push_back(evaluator.kindOf(op->getResult(i)));
    widest = std::max(widest, kinds.back().computeBits());
  }
  unsigned lanes = dim == rank - 1 ? 1 : context.target.vectorBits / widest;
  while (lanes > 1 && lanes > type.getDimSize(rank - 1)) lanes /= 2;
  KernelStage stage;
  stage.symbol = symbol;
  stage.nsPerTile = static_cast<double>(type.getNumElements()) * (lanes > 1 ? 0.5 : 1.5) + 10;

  auto runAlong = [&](llvm::SmallVector<IndexExpr, 6> at) {
    unsigned width = evaluator.lanes();
    llvm::SmallVector<Val, 2> initial;
    for (mlir::Value value : reduce.getInitValues()) {
      initial.push_back(evaluator.splat(evaluator.get(value, Place()), width));
    }
    Values start;
    for (const Val& value : initial) {
      start.push_back(value.re);
      if (value.im) start.push_back(value.im);
    }
    int64_t size = type.getDimSize(dim);
    loops.loop(0, size, 1, start, [&](const IndexExpr& i, const Values& carried) {
      Place place;
      place.dims.assign(at.begin(), at.end());
      place.dims[dim] = fromEnd ? add(IndexExpr(size - 1), scale(i, -1)) : i;
      llvm::SmallVector<Val, 4> arguments;
      size_t next = 0;
      for (const Val& value : initial) {
        Val one{carried[next++], nullptr, loops.current()};
        if (value.im) one.im = carried[next++];
        arguments.push_back(one);
      }
      for (mlir::Value input : reduce.getInputs()) {
        arguments.push_back(evaluator.splat(evaluator.get(input, place), width));
      }
      llvm::SmallVector<Val, 2> results = evaluator.evaluateRegion(reduce.getBody(), arguments);
      Values flat;
      if (results.size() != initial.size()) return carried;
      for (size_t r = 0; r < results.size(); ++r) {
        Val value = evaluator.splat(results[r], width);
        evaluator.store(bases[r], kinds[r], evaluator.linearize(place, type), value);
        flat.push_back(value.re);
        if (value.im) flat.push_back(value.im);
      }
      return flat;
    });
  };
  std::function<void(llvm::SmallVector<IndexExpr, 6>)> nest =
      [&](llvm::SmallVector<IndexExpr, 6> at) {
        int64_t d = at.size();
        if (d == rank) {
          runAlong(at);
          return;
        }
        auto with = [&](const IndexExpr& i) {
          llvm::SmallVector<IndexExpr, 6> inner = at;
          inner.push_back(i);
          return inner;
        };
        if (d == dim) {
          nest(with(IndexExpr(0)));
          return;
        }
        int64_t size = type.getDimSize(d);
        if (d == 0 && dim != 0 && size > 1) {
          // Tiles: the rows do not depend on each other.
          LoopBuilder::Bounds bounds;
          bounds.lo = kernel.begin();
          bounds.hi = kernel.end();
          bounds.range = {0, size - 1};
          stage.tiles = size;
          unsigned saved = lanes;
          if (d == rank - 1) lanes = 1;
          loops.loop(bounds, {}, [&](const IndexExpr& i, const Values&) {
            nest(with(i));
            return Values();
          });
          lanes = saved;
          return;
        }
        int64_t step = d == rank - 1 ? lanes : 1;
        int64_t vectorEnd = size / step * step;
        loops.loop(0, vectorEnd, step, {}, [&](const IndexExpr& i, const Values&) {
          IndexExpr expr = i;
          if (step > 1) expr.laneStride = 1;
          evaluator.setLanes(step);
          nest(with(expr));
          return Values();
        });
        evaluator.setLanes(1);
        loops.loop(vectorEnd, size, 1, {}, [&](const IndexExpr& i, const Values&) {
          nest(with(i));
          return Values();
        });
      };
  if (type.getNumElements() > 0) nest({});
  stage.nsPerTile /= static_cast<double>(stage.tiles);
  ISTHMUS_RETURN_IF_ERROR(kernel.finish());
  return stage;
}

}  // namespace isthmus::codegen
