// Stages that are loops over the roots' common space, split into tiles.
#include <algorithm>
#include <functional>
#include <numeric>

#include "compiler/codegen/cost.h"
#include "compiler/codegen/evaluator.h"
#include "compiler/codegen/iteration.h"
#include "compiler/codegen/kernel_builder.h"
#include "compiler/codegen/stages.h"
#include "compiler/dialect/dialect.h"
#include "llvm/IR/Module.h"

namespace isthmus::codegen {
namespace {

mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

// Emits the roots of one shape as one stage.
class LoopKernel {
 public:
  LoopKernel(const StageContext& context, llvm::ArrayRef<Root> roots)
      : fusion_(context.fusion), target_(context.target), module_(context.module), roots_(roots) {
    for (const Root& root : roots_) {
      spaces_.emplace_back();
      auto type = shapeOf(root);
      for (int64_t d = 0; d < type.getRank(); ++d) {
        if (type.getDimSize(d) != 1) spaces_.back().push_back(d);
      }
    }
  }

  StatusOr<KernelStage> emit(const std::string& symbol);

 private:
  static mlir::RankedTensorType shapeOf(const Root& root) {
    return typeOf(root.shapedLike ? root.shapedLike : root.value);
  }
  Place placeOf(size_t root, llvm::ArrayRef<IndexExpr> groups);
  void chooseGroups();
  bool lanesMeetRowReductionAlong(size_t group) const;
  void chooseLanes();
  void emitBody(LoopBuilder& loops, Evaluator& evaluator, llvm::ArrayRef<llvm::Value*> results,
                const KernelBuilder& kernel);
  void emitGroups(LoopBuilder& loops, Evaluator& evaluator, llvm::ArrayRef<llvm::Value*> results,
                  size_t group, llvm::SmallVector<IndexExpr, 4> at, llvm::Value* lo,
                  llvm::Value* hi);
  void emitInner(LoopBuilder& loops, Evaluator& evaluator, llvm::ArrayRef<llvm::Value*> results,
                 llvm::ArrayRef<IndexExpr> outer, llvm::Value* lo, llvm::Value* hi);
  void forColumns(LoopBuilder& loops, Evaluator& evaluator, llvm::Value* lo, llvm::Value* hi,
                  const std::function<void(const IndexExpr&)>& body);
  // Whether an element takes so long that code for the ends of rows is worth its compilation.
  bool isCostly();
  // Reductions whose results lie along the lanes, if all of the fusion's can be run row by row.
  void findColumns();
  // Expensive values that both a reduction of the row and the roots use.
  void findRows();
  // Blocks of unrolled rows along transposed_, whose operands are read as blocks.
  bool chooseTransposition();
  // Rows shorter than a vector: lanes run over several, the elements of each are unrolled.
  bool chooseInterleaving();
  // A tile's block of the rows along a group.
  struct RowBlock {
    llvm::SmallVector<IndexExpr, 4> at;  // of the groups that tiles run over
    llvm::Value *lo, *hi;
    llvm::Value* middle;  // where less than a vector of rows is left
  };
  // Runs `body` for each tile, a block of the rows along `group` at one place of the other groups
  // before `end`.
  void forRowBlocks(LoopBuilder& loops, Evaluator& evaluator, const KernelBuilder& kernel,
                    size_t group, size_t end, llvm::function_ref<void(RowBlock&)> body);
  void emitInterleaved(LoopBuilder& loops, Evaluator& evaluator,
                       llvm::ArrayRef<llvm::Value*> results, const KernelBuilder& kernel);
  void emitTransposed(LoopBuilder& loops, Evaluator& evaluator,
                      llvm::ArrayRef<llvm::Value*> results, const KernelBuilder& kernel);
  void emitElement(Evaluator& evaluator, llvm::ArrayRef<llvm::Value*> results,
                   llvm::ArrayRef<IndexExpr> groups);

  ir::FusionOp fusion_;
  const KernelTarget& target_;
  llvm::Module& module_;
  llvm::ArrayRef<Root> roots_;

  // The common space: all dimensions but those of size 1. For each root, which they are.
  llvm::SmallVector<llvm::SmallVector<int64_t, 6>, 4> spaces_;
  // Runs of merged dimensions, outermost first; lanes run along the last.
  struct Group {
    int64_t first, last;  // dimensions of the space
    int64_t size;
  };
  llvm::SmallVector<Group, 4> groups_;
  unsigned lanes_ = 1;
  llvm::SmallVector<mlir::Operation*, 2> columns_;
  llvm::SmallVector<std::pair<mlir::Value, mlir::Operation*>, 2> rows_;  // value, its reduction
  llvm::SmallVector<mlir::Operation*, 2> rowWriters_;
  int64_t transposed_ = -1;             // a group, or -1
  int64_t interleaved_ = -1;            // the group whose rows are short, or -1
  llvm::SmallVector<int64_t, 4> cuts_;  // of the last group, 0 and its size included
  size_t tiledGroups_ = 0;              // that many outer groups are run over by tiles
  int64_t chunk_ = 0;  // of the last group per tile; its whole size if it is not split
  int64_t rowsPerTile_ = 1;
  int64_t outer_ = 1;  // product of tiled groups and chunks
};

void LoopKernel::chooseGroups() {
  auto type = shapeOf(roots_[0]);
  for (size_t k = 0; k < spaces_[0].size(); ++k) {
    bool joins = !groups_.empty();
    for (size_t r = 0; joins && r < roots_.size(); ++r) {
      if (roots_[r].shapedLike) continue;
      for (int64_t d = spaces_[r][k - 1]; d < spaces_[r][k]; ++d) {
        joins = joins && canMerge(roots_[r].value, static_cast<unsigned>(d));
      }
    }
    int64_t size = type.getDimSize(spaces_[0][k]);
    int64_t dim = static_cast<int64_t>(k);
    if (joins) {
      groups_.back() = {groups_.back().first, dim, groups_.back().size * size};
    } else {
      groups_.push_back({dim, dim, size});
    }
  }
  if (groups_.empty()) groups_.push_back({0, -1, 1});
}

Place LoopKernel::placeOf(size_t root, llvm::ArrayRef<IndexExpr> groups) {
  Place place;
  place.dims.resize(shapeOf(roots_[root]).getRank());
  const auto& space = spaces_[root];
  for (size_t g = 0; g < groups_.size(); ++g) {
    if (groups_[g].last < 0) continue;
    place.dims[space[groups_[g].last]] = groups[g];
    for (int64_t d = space[groups_[g].first]; d < space[groups_[g].last]; ++d) {
      place.merged |= uint64_t{1} << d;
    }
  }
  return place;
}

bool LoopKernel::lanesMeetRowReductionAlong(size_t group) const {
  int64_t shortRow = std::max<int64_t>(7, maxInterleaving(target_));
  if (groups_[group].last < 0) return false;
  for (size_t r = 0; r < roots_.size(); ++r) {
    if (roots_[r].shapedLike) continue;
    if (lanesMeetRowReduction(roots_[r].value, spaces_[r][groups_[group].last], shortRow)) {
      return true;
    }
  }
  return false;
}

bool LoopKernel::chooseInterleaving() {
  // Values that are computed for each element of a row: a bound on the code.
  constexpr int64_t kMaxUnrolledOps = 600;
  int64_t limit = maxInterleaving(target_);
  if (groups_.back().size >= static_cast<int64_t>(lanes_) || roots_[0].skipIfSame >= 0)
    return false;
  size_t inner = groups_.size();
  int64_t elements = 1;
  while (inner > 1 && elements * groups_[inner - 1].size <= limit) {
    elements *= groups_[--inner].size;
  }
  if (inner == groups_.size() || groups_[inner - 1].size < static_cast<int64_t>(lanes_)) {
    return false;
  }
  int64_t ops = 0;
  for (mlir::Operation& op : fusion_.getBody().front()) {
    int64_t steps = 1;
    if (auto reduce = mlir::dyn_cast<shlo::ReduceOp>(op)) {
      for (int64_t d : reduce.getDimensions()) {
        steps = std::min(steps, limit + 1) * typeOf(reduce.getInputs()[0]).getDimSize(d);
      }
      if (steps > limit) return false;
    } else if (mlir::isa<shlo::ReduceWindowOp, shlo::DynamicUpdateSliceOp, shlo::BitcastConvertOp>(
                   op)) {
      return false;
    }
    ops += steps;
  }
  if (ops * elements > kMaxUnrolledOps || lanesMeetRowReductionAlong(inner - 1)) return false;
  interleaved_ = static_cast<int64_t>(inner) - 1;
  cuts_ = {0, groups_[interleaved_].size};
  return true;
}

void LoopKernel::chooseLanes() {
  unsigned widest = 8;
  fusion_.getBody().walk([&](mlir::Operation* op) {
    for (mlir::Value result : op->getResults()) {
      auto shaped = mlir::dyn_cast<mlir::RankedTensorType>(result.getType());
      if (!shaped) continue;
      if (auto kind = elementKind(shaped.getElementType())) {
        // Scalars that only feed indices do not count.
        if (shaped.getRank() > 0) widest = std::max(widest, kind->computeBits());
      }
    }
  });
  for (const Root& root : roots_) {
    if (auto kind = elementKind(typeOf(root.value).getElementType())) {
      widest = std::max(widest, kind->computeBits());
    }
  }
  lanes_ = target_.vectorBits / widest;
  if (chooseInterleaving()) return;
  if (lanesMeetRowReductionAlong(groups_.size() - 1)) lanes_ = 1;
  if (lanes_ > 1) {
    // Rows shorter than a vector: let lanes run over several of them.
    while (groups_.size() > 1 && groups_.back().size < static_cast<int64_t>(lanes_)) {
      Group inner = groups_.pop_back_val();
      groups_.back() = {groups_.back().first, inner.last, groups_.back().size * inner.size};
    }
  }
  while (lanes_ > 1 && groups_.back().size < static_cast<int64_t>(lanes_)) lanes_ /= 2;
  cuts_.push_back(0);
  if (groups_.back().first == groups_.back().last) {
    for (size_t r = 0; r < roots_.size(); ++r) {
      if (roots_[r].shapedLike) continue;
      llvm::SmallVector<int64_t, 4> cuts =
          cutsAlong(roots_[r].value, spaces_[r][groups_.back().last]);
      cuts_.append(cuts.begin(), cuts.end());
    }
  }
  cuts_.push_back(groups_.back().size);
  llvm::sort(cuts_);
  cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
}

void LoopKernel::emitElement(Evaluator& evaluator, llvm::ArrayRef<llvm::Value*> results,
                             llvm::ArrayRef<IndexExpr> groups) {
  // All values before any store: a result may be written over an operand.
  llvm::SmallVector<Val, 4> values;
  for (size_t r = 0; r < roots_.size(); ++r) {
    values.push_back(
        evaluator.get(roots_[r].value, roots_[r].shapedLike ? Place() : placeOf(r, groups)));
  }
  for (size_t r = 0; r < roots_.size(); ++r) {
    evaluator.store(results[r], evaluator.kindOf(roots_[r].value),
                    evaluator.linearize(placeOf(r, groups), shapeOf(roots_[r])), values[r]);
  }
}

void LoopKernel::emitInner(LoopBuilder& loops, Evaluator& evaluator,
                           llvm::ArrayRef<llvm::Value*> results, llvm::ArrayRef<IndexExpr> outer,
                           llvm::Value* lo, llvm::Value* hi) {
  llvm::SmallVector<IndexExpr, 4> at(outer.begin(), outer.end());
  at.emplace_back();
  auto over = [&](const std::function<void(const IndexExpr&)>& body) {
    forColumns(loops, evaluator, lo, hi, body);
  };
  for (mlir::Operation* reduce : columns_) {
    auto placeAt = [&](const IndexExpr& j) {
      at.back() = j;
      return placeOf(0, at);
    };
    // Accumulators begin at the first column of the chunk.
    auto& buffers = evaluator.columnBuffers[reduce];
    IndexExpr first =
        IndexExpr::of(loops.makeSymbol(lo, loops.current(), {0, groups_.back().size}));
    at.back() = first;
    buffers.origin = evaluator.linearize(placeOf(0, at), shapeOf(roots_[0]));
    evaluator.accumulateColumns(reduce, placeAt, over);
  }
  // Reductions that keep a row of what they compute run before the loop that reads it.
  for (mlir::Operation* writer : rowWriters_) {
    Place full = placeOf(0, at);
    Place place;
    size_t rank = typeOf(writer->getResult(0)).getRank();
    place.dims.assign(full.dims.begin(), full.dims.begin() + rank);
    place.merged = rank > 0 ? full.merged & ((uint64_t{1} << (rank - 1)) - 1) : 0;
    evaluator.setLanes(1);
    evaluator.get(writer->getResult(0), place);
    for (auto& [value, buffer] : evaluator.rowBuffers) {
      if (buffer.writer != writer) continue;
      buffer.isWritten = true;
      buffer.level = loops.current();
    }
  }
  over([&](const IndexExpr& j) {
    at.back() = j;
    emitElement(evaluator, results, at);
  });
  for (auto& [value, buffer] : evaluator.rowBuffers) buffer.isWritten = false;
}

bool LoopKernel::isCostly() {
  constexpr double kCostly = 20;
  double weight = 0;
  for (mlir::Operation& op : fusion_.getBody().front()) {
    if (op.getNumRegions() > 0) return false;
    if (Evaluator::isElementwise(&op)) weight += arithmeticWeight(&op);
  }
  return weight >= kCostly;
}

void LoopKernel::forColumns(LoopBuilder& loops, Evaluator& evaluator, llvm::Value* lo,
                            llvm::Value* hi, const std::function<void(const IndexExpr&)>& body) {
  auto* constantLo = llvm::dyn_cast<llvm::ConstantInt>(lo);
  auto* constantHi = llvm::dyn_cast<llvm::ConstantInt>(hi);
  auto larger = [&](llvm::Value* x, int64_t y) -> llvm::Value* {
    if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(x)) {
      return loops.i64(std::max(constant->getSExtValue(), y));
    }
    return y <= 0 ? x : loops.here().CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, loops.i64(y));
  };
  auto smaller = [&](llvm::Value* x, int64_t y) -> llvm::Value* {
    if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(x)) {
      return loops.i64(std::min(constant->getSExtValue(), y));
    }
    return y >= groups_.back().size
               ? x
               : loops.here().CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, loops.i64(y));
  };
  int64_t lanes = lanes_;
  for (size_t piece = 0; piece + 1 < cuts_.size(); ++piece) {
    int64_t from = cuts_[piece];
    int64_t to = cuts_[piece + 1];
    llvm::Value* start = larger(lo, from);
    llvm::Value* stop = smaller(hi, to);
    bool wholeChunks = (constantLo && constantHi) || (cuts_.size() == 2 && chunk_ % lanes == 0);
    int64_t leftover = (to - from) % lanes;
    // With cuts inside of chunks, any piece of any chunk may have odd ends.
    bool hasTail = lanes > 1 && (wholeChunks ? leftover != 0 : true);
    if (constantLo && constantHi) {
      hasTail = lanes > 1 && (llvm::cast<llvm::ConstantInt>(stop)->getSExtValue() -
                              llvm::cast<llvm::ConstantInt>(start)->getSExtValue()) %
                                     lanes !=
                                 0;
    }
    llvm::Value* middle = stop;
    if (hasTail) {
      llvm::IRBuilder<>& b = loops.here();
      llvm::Value* length = b.CreateSub(stop, start);
      middle = b.CreateAdd(start, b.CreateAnd(length, loops.i64(-lanes)));
      // A piece outside of this chunk has a negative length, and no elements.
    }
    LoopBuilder::Bounds bounds;
    bounds.lo = start;
    bounds.hi = middle;
    bounds.step = lanes;
    bounds.range = {from, std::max(from, to - lanes)};
    bounds.multipleOf = from % lanes == 0 && (constantLo || chunk_ % lanes == 0) ? lanes : 1;
    evaluator.setLanes(lanes_);
    loops.loop(bounds, {}, [&](const IndexExpr& i, const LoopBuilder::Values&) {
      IndexExpr j = i;
      if (lanes > 1) j.laneStride = 1;
      body(j);
      return LoopBuilder::Values();
    });
    if (!hasTail) continue;
    bounds.multipleOf = 1;
    auto* constantMiddle = llvm::dyn_cast<llvm::ConstantInt>(middle);
    auto* constantStop = llvm::dyn_cast<llvm::ConstantInt>(stop);
    if (constantMiddle && constantStop) {
      // Narrower vectors, where single elements would take longer than all vectors before.
      int64_t at = constantMiddle->getSExtValue(), end = constantStop->getSExtValue();
      int64_t vectors = (at - from) / lanes;
      bool isWorthwhile = end - at > std::max<int64_t>(1, vectors / 2) && isCostly();
      for (int64_t width = lanes / 2; width > 1 && isWorthwhile; width /= 2) {
        if (end - at < width) continue;
        evaluator.setLanes(static_cast<unsigned>(width));
        IndexExpr j(at);
        j.laneStride = 1;
        body(j);
        at += width;
      }
      middle = loops.i64(at);
      if (at == end) continue;
    }
    evaluator.setLanes(1);
    bounds.lo = middle;
    bounds.hi = stop;
    bounds.step = 1;
    bounds.range = {from, to - 1};
    loops.loop(bounds, {}, [&](const IndexExpr& i, const LoopBuilder::Values&) {
      body(i);
      return LoopBuilder::Values();
    });
  }
}

void LoopKernel::emitGroups(LoopBuilder& loops, Evaluator& evaluator,
                            llvm::ArrayRef<llvm::Value*> results, size_t group,
                            llvm::SmallVector<IndexExpr, 4> at, llvm::Value* lo, llvm::Value* hi) {
  if (group + 1 == groups_.size()) {
    emitInner(loops, evaluator, results, at, lo, hi);
    return;
  }
  loops.loop(0, groups_[group].size, 1, {}, [&](const IndexExpr& i, const LoopBuilder::Values&) {
    llvm::SmallVector<IndexExpr, 4> inner = at;
    inner.push_back(i);
    emitGroups(loops, evaluator, results, group + 1, inner, lo, hi);
    return LoopBuilder::Values();
  });
}

void LoopKernel::emitBody(LoopBuilder& loops, Evaluator& evaluator,
                          llvm::ArrayRef<llvm::Value*> results, const KernelBuilder& kernel) {
  int64_t tiles = (outer_ + rowsPerTile_ - 1) / rowsPerTile_;
  int64_t size = groups_.back().size;
  llvm::Value* first = loops.i64(0);
  llvm::Value* last = loops.i64(outer_);
  if (tiles > 1) {
    llvm::IRBuilder<>& b = loops.here();
    first = b.CreateMul(kernel.begin(), loops.i64(rowsPerTile_), "", false, true);
    last = b.CreateMul(kernel.end(), loops.i64(rowsPerTile_), "", false, true);
    if (outer_ % rowsPerTile_) {
      last = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, last, loops.i64(outer_));
    }
  }
  int64_t chunks = (size + chunk_ - 1) / chunk_;
  if (tiledGroups_ == 0 && chunks > 1 && columns_.empty()) {
    // Tiles are consecutive stretches of one dimension: one loop over all of them.
    llvm::IRBuilder<>& b = loops.here();
    llvm::Value* lo = b.CreateMul(first, loops.i64(chunk_), "", false, true);
    llvm::Value* hi = b.CreateMul(last, loops.i64(chunk_), "", false, true);
    if (size % chunk_) hi = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, hi, loops.i64(size));
    emitGroups(loops, evaluator, results, 0, {}, lo, hi);
    return;
  }
  LoopBuilder::Bounds bounds;
  bounds.lo = first;
  bounds.hi = last;
  bounds.range = {0, outer_ - 1};
  loops.loop(bounds, {}, [&](const IndexExpr& o, const LoopBuilder::Values&) {
    IndexExpr rest = o;
    llvm::Value* lo = loops.i64(0);
    llvm::Value* hi = loops.i64(size);
    if (chunks > 1) {
      IndexExpr quotient, remainder;
      evaluator.divideIndex(rest, chunks, &quotient, &remainder);
      lo = loops.uniformPart(scale(remainder, chunk_));
      llvm::IRBuilder<>& b = loops.here();
      hi = b.CreateAdd(lo, loops.i64(chunk_));
      if (size % chunk_) hi = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, hi, loops.i64(size));
      rest = quotient;
    }
    llvm::SmallVector<IndexExpr, 4> at(tiledGroups_);
    for (size_t g = tiledGroups_; g-- > 0;) {
      IndexExpr quotient, remainder;
      if (g == 0) {
        at[g] = rest;
        break;
      }
      evaluator.divideIndex(rest, groups_[g].size, &quotient, &remainder);
      at[g] = remainder;
      rest = quotient;
    }
    emitGroups(loops, evaluator, results, tiledGroups_, at, lo, hi);
    return LoopBuilder::Values();
  });
}

// Ops of the same shape that `value` is computed from, through elementwise ops only.
static void elementwiseCone(mlir::Value value, llvm::DenseSet<mlir::Operation*>& cone) {
  mlir::Operation* op = value.getDefiningOp();
  if (!op || !Evaluator::isElementwise(op) || !cone.insert(op).second) return;
  for (mlir::Value operand : op->getOperands()) {
    if (typeOf(operand).getShape() == typeOf(value).getShape()) elementwiseCone(operand, cone);
  }
}

void LoopKernel::findRows() {
  constexpr int64_t kMaxRowBytes = 128 << 10;
  auto shape = shapeOf(roots_[0]).getShape();
  if (groups_.back().first != groups_.back().last || shape.empty()) return;
  if (spaces_[0][groups_.back().last] != static_cast<int64_t>(shape.size()) - 1) return;
  llvm::DenseSet<mlir::Operation*> used;
  for (const Root& root : roots_) {
    if (shapeOf(root).getShape() == shape && !root.shapedLike) elementwiseCone(root.value, used);
  }
  for (mlir::Operation& op : fusion_.getBody().front()) {
    auto reduce = mlir::dyn_cast<shlo::ReduceOp>(op);
    if (!reduce || typeOf(reduce.getInputs()[0]).getShape() != shape) continue;
    if (reduce.getDimensions() != llvm::ArrayRef<int64_t>{static_cast<int64_t>(shape.size()) - 1}) {
      continue;
    }
    llvm::DenseSet<mlir::Operation*> cone;
    for (mlir::Value input : reduce.getInputs()) elementwiseCone(input, cone);
    for (mlir::Operation& candidate : fusion_.getBody().front()) {
      if (!cone.contains(&candidate) || !used.contains(&candidate)) continue;
      if (arithmeticWeight(&candidate) < 10) continue;
      mlir::Value value = candidate.getResult(0);
      auto kind = elementKind(typeOf(value).getElementType());
      if (!kind || groups_.back().size * kind->storageBytes > kMaxRowBytes) continue;
      if (llvm::any_of(rows_, [&](auto& row) { return row.first == value; })) continue;
      rows_.push_back({value, reduce});
      if (!llvm::is_contained(rowWriters_, reduce.getOperation())) rowWriters_.push_back(reduce);
    }
  }
}

void LoopKernel::findColumns() {
  if (lanes_ < 2 || cuts_.size() != 2) return;
  llvm::SmallVector<mlir::Operation*, 2> found;
  llvm::DenseSet<mlir::Value> seen;
  llvm::SmallVector<mlir::Value, 8> pending;
  for (const Root& root : roots_) {
    if (shapeOf(root) == shapeOf(roots_[0]) ||
        shapeOf(root).getShape() == shapeOf(roots_[0]).getShape()) {
      pending.push_back(root.value);
    }
  }
  while (!pending.empty()) {
    mlir::Value value = pending.pop_back_val();
    mlir::Operation* op = value.getDefiningOp();
    if (!seen.insert(value).second || !op) continue;
    if (mlir::isa<shlo::ReduceOp>(op)) {
      if (!llvm::is_contained(found, op)) found.push_back(op);
    } else if (Evaluator::isElementwise(op)) {
      for (mlir::Value operand : op->getOperands()) {
        if (typeOf(operand).getShape() == shapeOf(roots_[0]).getShape()) pending.push_back(operand);
      }
    }
  }
  size_t all = 0;
  bool worthwhile = true;
  fusion_.getBody().walk([&](shlo::ReduceOp reduce) {
    ++all;
    auto type = typeOf(reduce.getInputs()[0]);
    int64_t rows = 1;
    for (int64_t d : reduce.getDimensions()) rows *= type.getDimSize(d);
    worthwhile = worthwhile && rows >= 16;
  });
  if (all != found.size() || !worthwhile) return;
  // Accumulators hold sums only where the roots ask for them, and only after all of the rows: other
  // reductions must not depend on them, nor roots at another place.
  llvm::DenseSet<mlir::Operation*> visitedInPlace, visitedElsewhere;
  std::function<bool(mlir::Value, bool)> readsElsewhere = [&](mlir::Value value, bool isInPlace) {
    mlir::Operation* op = value.getDefiningOp();
    if (!op || !(isInPlace ? visitedInPlace : visitedElsewhere).insert(op).second) return false;
    if (!isInPlace && llvm::is_contained(found, op)) return true;
    bool isReshape = mlir::isa<shlo::ReshapeOp>(op);
    for (mlir::Value operand : op->getOperands()) {
      auto type = mlir::dyn_cast<mlir::RankedTensorType>(operand.getType());
      bool keepsPlace = isReshape || (Evaluator::isElementwise(op) && type &&
                                      type.getShape() == typeOf(value).getShape());
      if (readsElsewhere(operand, isInPlace && keepsPlace)) return true;
    }
    return false;
  };
  for (const Root& root : roots_) {
    if (readsElsewhere(root.value, true)) return;
  }
  columns_ = found;
}

bool LoopKernel::chooseTransposition() {
  if (lanes_ < 2 || lanes_ > 16 || groups_.size() < 2 || cuts_.size() != 2) return false;
  for (size_t r = 0; r < roots_.size(); ++r) {
    if (roots_[r].shapedLike) continue;
    int64_t dim = transposedDim(roots_[r].value, spaces_[r][groups_.back().last]);
    for (size_t g = 0; dim >= 0 && g + 1 < groups_.size(); ++g) {
      if (spaces_[r][groups_[g].last] == dim && groups_[g].size >= static_cast<int64_t>(lanes_)) {
        transposed_ = static_cast<int64_t>(g);
        return true;
      }
    }
  }
  return false;
}

// Rows from `lo` up to `hi`, `step` at a time, out of `rows`.
static LoopBuilder::Bounds rowsBetween(llvm::Value* lo, llvm::Value* hi, int64_t step,
                                       int64_t rows) {
  LoopBuilder::Bounds bounds;
  bounds.lo = lo;
  bounds.hi = hi;
  bounds.step = step;
  bounds.range = {0, std::max<int64_t>(0, rows - step)};
  bounds.multipleOf = step;
  return bounds;
}

void LoopKernel::forRowBlocks(LoopBuilder& loops, Evaluator& evaluator, const KernelBuilder& kernel,
                              size_t group, size_t end, llvm::function_ref<void(RowBlock&)> body) {
  int64_t lanes = lanes_;
  int64_t rows = groups_[group].size;
  int64_t blocks = (rows + chunk_ - 1) / chunk_;
  LoopBuilder::Bounds bounds;
  bounds.lo = outer_ > 1 ? kernel.begin() : loops.i64(0);
  bounds.hi = outer_ > 1 ? kernel.end() : loops.i64(1);
  bounds.range = {0, outer_ - 1};
  loops.loop(bounds, {}, [&](const IndexExpr& tile, const LoopBuilder::Values&) {
    RowBlock block;
    IndexExpr rest, index;
    evaluator.divideIndex(tile, blocks, &rest, &index);
    block.at.resize(groups_.size());
    for (size_t g = end; g-- > 0;) {
      if (g == group) continue;
      IndexExpr quotient;
      evaluator.divideIndex(rest, groups_[g].size, &quotient, &block.at[g]);
      rest = quotient;
    }
    block.lo = loops.uniformPart(scale(index, chunk_));
    llvm::IRBuilder<>& b = loops.here();
    block.hi = blocks == 1 ? loops.i64(rows) : b.CreateAdd(block.lo, loops.i64(chunk_));
    if (blocks > 1 && rows % chunk_) {
      block.hi = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, block.hi, loops.i64(rows));
    }
    block.middle = block.hi;
    if (rows % lanes) {
      llvm::Value* whole = b.CreateAnd(b.CreateSub(block.hi, block.lo), loops.i64(-lanes));
      block.middle = b.CreateAdd(block.lo, whole);
    }
    body(block);
    return LoopBuilder::Values();
  });
}

void LoopKernel::emitTransposed(LoopBuilder& loops, Evaluator& evaluator,
                                llvm::ArrayRef<llvm::Value*> results, const KernelBuilder& kernel) {
  using Values = LoopBuilder::Values;
  int64_t lanes = lanes_;
  int64_t rows = groups_[transposed_].size;
  int64_t columns = groups_.back().size;
  int64_t mainColumns = columns / lanes * lanes;
  forRowBlocks(loops, evaluator, kernel, transposed_, groups_.size() - 1, [&](RowBlock& block) {
    llvm::SmallVector<IndexExpr, 4>& at = block.at;
    LoopBuilder::Bounds wholeVectors = rowsBetween(block.lo, block.middle, lanes, rows);
    loops.loop(0, mainColumns, lanes, {}, [&](const IndexExpr& j, const Values&) {
      loops.loop(wholeVectors, {}, [&](const IndexExpr& i, const Values&) {
        evaluator.setLanes(lanes_);
        const Symbol* symbol =
            i.terms.empty()
                ? loops.makeSymbol(loops.i64(i.constant), loops.entry(), {i.constant, i.constant})
                : i.terms[0].symbol;
        for (unsigned step = 0; step < lanes_; ++step) {
          evaluator.setTransposition(symbol, lanes_, step);
          at[transposed_] = add(IndexExpr::of(symbol), IndexExpr(step));
          at.back() = j;
          at.back().laneStride = 1;
          emitElement(evaluator, results, at);
        }
        evaluator.setTransposition(nullptr, 0, 0);
        return Values();
      });
      return Values();
    });
    auto rowByRow = [&](llvm::Value* from, llvm::Value* to, int64_t first, int64_t last,
                        int64_t step) {
      loops.loop(rowsBetween(from, to, 1, rows), {}, [&](const IndexExpr& i, const Values&) {
        loops.loop(first, last, step, {}, [&](const IndexExpr& j, const Values&) {
          evaluator.setLanes(static_cast<unsigned>(step));
          at[transposed_] = i;
          at.back() = j;
          if (step > 1) at.back().laneStride = 1;
          emitElement(evaluator, results, at);
          return Values();
        });
        return Values();
      });
    };
    if (rows % lanes) rowByRow(block.middle, block.hi, 0, mainColumns, lanes);
    if (columns % lanes) rowByRow(block.lo, block.hi, mainColumns, columns, 1);
  });
}

void LoopKernel::emitInterleaved(LoopBuilder& loops, Evaluator& evaluator,
                                 llvm::ArrayRef<llvm::Value*> results,
                                 const KernelBuilder& kernel) {
  using Values = LoopBuilder::Values;
  auto group = static_cast<size_t>(interleaved_);
  int64_t lanes = lanes_;
  int64_t rows = groups_[group].size;
  // Runs `body` for each element of a row.
  auto forElements = [&](llvm::SmallVector<IndexExpr, 4>& at, const std::function<void()>& body) {
    std::function<void(size_t)> nest = [&](size_t g) {
      if (g == groups_.size()) return body();
      for (int64_t i = 0; i < groups_[g].size; ++i) {
        at[g] = IndexExpr(i);
        nest(g + 1);
      }
    };
    nest(group + 1);
  };
  auto emitRows = [&](llvm::SmallVector<IndexExpr, 4> at) {
    // All values before any store: a result may be written over an operand.
    llvm::SmallVector<llvm::SmallVector<Val, 16>, 4> columns(roots_.size());
    forElements(at, [&] {
      for (size_t r = 0; r < roots_.size(); ++r) {
        Place place = roots_[r].shapedLike ? Place() : placeOf(r, at);
        columns[r].push_back(evaluator.get(roots_[r].value, place));
      }
    });
    for (size_t g = group + 1; g < groups_.size(); ++g) at[g] = IndexExpr(0);
    for (size_t r = 0; r < roots_.size(); ++r) {
      evaluator.storeInterleaved(results[r], evaluator.kindOf(roots_[r].value),
                                 evaluator.linearize(placeOf(r, at), shapeOf(roots_[r])),
                                 columns[r]);
    }
  };
  forRowBlocks(loops, evaluator, kernel, group, group, [&](RowBlock& block) {
    llvm::SmallVector<IndexExpr, 4>& at = block.at;
    evaluator.setLanes(lanes_);
    LoopBuilder::Bounds wholeVectors = rowsBetween(block.lo, block.middle, lanes, rows);
    loops.loop(wholeVectors, {}, [&](const IndexExpr& i, const Values&) {
      at[group] = i;
      at[group].laneStride = 1;
      emitRows(at);
      return Values();
    });
    if (rows % lanes == 0) return;
    evaluator.setLanes(1);
    LoopBuilder::Bounds rest = rowsBetween(block.middle, block.hi, 1, rows);
    loops.loop(rest, {}, [&](const IndexExpr& i, const Values&) {
      at[group] = i;
      std::function<void(size_t)> nest = [&](size_t g) {
        if (g == groups_.size()) return emitElement(evaluator, results, at);
        loops.loop(0, groups_[g].size, 1, {}, [&](const IndexExpr& j, const Values&) {
          at[g] = j;
          nest(g + 1);
          return Values();
        });
      };
      nest(group + 1);
      return Values();
    });
  });
}

StatusOr<KernelStage> LoopKernel::emit(const std::string& symbol) {
  chooseGroups();
  chooseLanes();
  bool interleaves = interleaved_ >= 0;
  if (!interleaves) findColumns();
  bool hasRowReduction = false;
  fusion_.getBody().walk([&](shlo::ReduceOp reduce) {
    // A reduction with fewer elements than the roots is the same for all of the last group.
    if (typeOf(reduce.getResult(0)).getNumElements() != shapeOf(roots_[0]).getNumElements()) {
      hasRowReduction = true;
    }
  });
  hasRowReduction = hasRowReduction && columns_.empty();
  if (hasRowReduction && !interleaves) findRows();
  bool transposes = !interleaves && columns_.empty() && chooseTransposition();
  llvm::SmallVector<mlir::Value, 4> values;
  for (const Root& root : roots_) values.push_back(root.value);
  double total = std::max(1.0, costNs(fusion_, values));

  // Enough tiles for any number of threads, none so small that handing it over costs more.
  constexpr double kTileNs = 20000;
  constexpr int64_t kMaxTiles = 256;
  constexpr int64_t kTransposedRows = 64;
  constexpr int64_t kColumnChunk = 1024;
  int64_t elements = shapeOf(roots_[0]).getNumElements();
  int64_t wanted = std::clamp<int64_t>(static_cast<int64_t>(total / kTileNs), 1, kMaxTiles);
  int64_t size = groups_.back().size;
  chunk_ = std::max<int64_t>(size, 1);
  outer_ = 1;
  if (transposes) {
    // A tile is some rows, as many as fill whole cache lines of what is read, over all columns.
    int64_t rows = groups_[transposed_].size;
    chunk_ = rows <= kTransposedRows ? rows : kTransposedRows;
    outer_ = elements / std::max<int64_t>(1, rows * size) * ((rows + chunk_ - 1) / chunk_);
  }
  if (interleaves) {
    int64_t rows = groups_[interleaved_].size, rowElements = 1;
    for (size_t g = interleaved_ + 1; g < groups_.size(); ++g) rowElements *= groups_[g].size;
    outer_ = elements / std::max<int64_t>(1, rows * rowElements);
    int64_t pieces = std::clamp<int64_t>(wanted / std::max<int64_t>(1, outer_), 1, rows / lanes_);
    chunk_ = std::min<int64_t>(rows, (rows / pieces + lanes_ - 1) / lanes_ * lanes_);
    outer_ *= (rows + chunk_ - 1) / chunk_;
  }
  bool isPlain = !transposes && !interleaves;
  while (isPlain && tiledGroups_ + 1 < groups_.size() &&
         (outer_ < wanted || groups_[tiledGroups_].size == 1)) {
    outer_ *= groups_[tiledGroups_++].size;
  }
  // Each part of a split row would need the whole row's reductions.
  if (isPlain && !hasRowReduction && outer_ < wanted && size > 1) {
    int64_t chunks = (wanted + outer_ - 1) / outer_;
    int64_t unit = std::max<int64_t>(lanes_, 1) * (lanes_ > 1 ? 8 : 1);
    chunk_ = ((size + chunks - 1) / chunks + unit - 1) / unit * unit;
    if (chunk_ >= size) chunk_ = size;
    outer_ *= (size + chunk_ - 1) / chunk_;
  }
  if (!columns_.empty()) {
    outer_ = 1;
    for (size_t g = 0; g < tiledGroups_; ++g) outer_ *= groups_[g].size;
    // The accumulators of one chunk stay in the first-level cache; long stretches of rows are read
    // faster than short ones, so a row is not cut into more pieces than make tiles enough.
    int64_t unit = lanes_ * 8;
    int64_t pieces = std::clamp<int64_t>((wanted + outer_ - 1) / outer_, 1, 8);
    chunk_ = std::clamp<int64_t>((size / pieces + unit - 1) / unit * unit, kColumnChunk / 8,
                                 kColumnChunk);
    if (chunk_ > size) chunk_ = size;
    outer_ *= (size + chunk_ - 1) / chunk_;
  }
  rowsPerTile_ = !isPlain || !columns_.empty() ? 1 : std::max<int64_t>(1, outer_ / wanted);
  KernelStage stage;
  stage.symbol = symbol;
  stage.tiles = std::max<int64_t>(1, (outer_ + rowsPerTile_ - 1) / rowsPerTile_);
  stage.nsPerTile = total / static_cast<double>(stage.tiles);
  if (roots_[0].skipIfSame >= 0) {
    stage.copiesFrom = roots_[0].skipIfSame;
    stage.copiesTo = static_cast<int>(roots_[0].buffer);
  }

  KernelBuilder kernel(fusion_, target_, module_, symbol);
  LoopBuilder& loops = kernel.loops();
  Evaluator& evaluator = kernel.evaluator();
  llvm::SmallVector<llvm::Value*, 4> results;
  for (const Root& root : roots_) results.push_back(kernel.buffer(root.buffer));
  for (auto& [value, writer] : rows_) {
    ElementKind kind = evaluator.kindOf(value);
    auto* array = llvm::ArrayType::get(kind.storageType(loops.context()),
                                       static_cast<uint64_t>(groups_.back().size) * kind.parts());
    llvm::AllocaInst* memory = loops.here().CreateAlloca(array);
    memory->setAlignment(llvm::Align(64));
    Evaluator::RowBuffer& buffer = evaluator.rowBuffers[value];
    buffer.base = memory;
    buffer.dim = typeOf(value).getRank() - 1;
    buffer.writer = writer;
  }
  for (mlir::Operation* reduce : columns_) {
    auto& buffers = evaluator.columnBuffers[reduce];
    for (mlir::Value result : reduce->getResults()) {
      ElementKind kind = evaluator.kindOf(result);
      auto* array = llvm::ArrayType::get(kind.storageType(loops.context()),
                                         static_cast<uint64_t>(chunk_) * kind.parts());
      llvm::AllocaInst* memory = loops.here().CreateAlloca(array);
      memory->setAlignment(llvm::Align(64));
      buffers.bases.push_back(memory);
    }
  }
  if (elements > 0 && transposes) {
    emitTransposed(loops, evaluator, results, kernel);
  } else if (elements > 0 && interleaves) {
    emitInterleaved(loops, evaluator, results, kernel);
  } else if (elements > 0 && roots_[0].skipIfSame >= 0) {
    llvm::Value* from = kernel.buffer(roots_[0].skipIfSame);
    llvm::Value* differs = loops.here().CreateICmpNE(from, results[0]);
    loops.branch(differs, {}, [&] {
      emitBody(loops, evaluator, results, kernel);
      return LoopBuilder::Values();
    });
  } else if (elements > 0) {
    emitBody(loops, evaluator, results, kernel);
  }
  ISTHMUS_RETURN_IF_ERROR(kernel.finish());
  return stage;
}

}  // namespace

StatusOr<KernelStage> emitLoopStage(const StageContext& context, const std::string& symbol,
                                    llvm::ArrayRef<Root> roots) {
  return LoopKernel(context, roots).emit(symbol);
}

}  // namespace isthmus::codegen
