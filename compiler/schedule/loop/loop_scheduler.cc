// Schedules of stages that are loops over results.
#include "compiler/schedule/loop/loop_scheduler.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "compiler/cost/op_cost.h"
#include "compiler/cost/time.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/indexing.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/loop/complex_words.h"
#include "compiler/schedule/loop/iteration.h"
#include "compiler/schedule/loop/reduction_axes.h"
#include "compiler/schedule/loop/row_blocks.h"
#include "compiler/schedule/loop/sharing.h"
#include "compiler/target/element_kind.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/bit.h"

namespace isthmus {
namespace {

class LoopScheduler {
 public:
  LoopScheduler(ir::FusionOp fusion, const TargetModel& target, LoopStage* stage)
      : fusion_(fusion), target_(target), stage_(*stage), roots_(rootsOf(fusion, *stage)) {
    for (const Root& root : roots_) spaces_.push_back(spaceOf(root.type()));
    unsigned number = 0;
    for (mlir::Operation& op : fusion.getBody().front()) numbers_[&op] = number++;
  }

  void run();

 private:
  void chooseDims();
  void chooseLanes();
  bool keepsShortRows();
  void chooseCuts();
  // Of a loop over one dimension, inside of it, rising; of no root more than `most`.
  llvm::SmallVector<int64_t, 4> cutsOfRoots(const LoopDim& dim, size_t most) const;
  void chooseOuterCuts();
  bool chooseInterleaving();
  bool chooseTransposition();
  bool chooseRowBlocks();
  void chooseVectors();
  void chooseTail();
  bool keepsOperands() const;
  void chooseAccumulated();
  void chooseKeptRows();
  void chooseReductions();
  void chooseTiles();
  void chooseThreads();
  void chooseNeighbours();
  bool chooseTransposedTiles();
  int64_t neighbours(bool goesByCuts = false);
  unsigned neighboursIn(shlo::ReduceOp reduce);
  void tileRows(int64_t wanted, bool hasRowReduction);
  void tileTransposed();
  void tileBlocks(int64_t wanted, int64_t unit);
  void tileAccumulated(int64_t wanted);

  llvm::ArrayRef<int64_t> shape() const { return roots_[0].type().getShape(); }
  int64_t elements() const { return roots_[0].type().getNumElements(); }
  bool isAccumulated(mlir::Operation* op) const { return llvm::is_contained(accumulated_, op); }
  bool lanesMeetRowReductionAlong(size_t dim) const;
  llvm::SmallVector<mlir::Operation*, 2> reductionsAtRoots() const;
  bool isReadElsewhere(llvm::ArrayRef<mlir::Operation*> reductions) const;
  bool hasRowReduction();
  bool hasRowResults();
  bool isForGroup(shlo::ReduceOp reduce) const;
  // Whether some stretch between cuts is no whole number of vectors.
  bool hasTails() const;
  // Whether an element takes so long that code for the ends of rows is worth its compilation.
  bool isCostly();

  ir::FusionOp fusion_;
  const TargetModel& target_;
  LoopStage& stage_;
  llvm::SmallVector<Root, 4> roots_;
  llvm::SmallVector<llvm::SmallVector<int64_t, 6>, 4> spaces_;
  llvm::DenseMap<mlir::Operation*, unsigned> numbers_;
  llvm::SmallVector<mlir::Operation*, 2> accumulated_;
};

// Whether a result has an element for each of the roots' rows, which the same loops write after the
// row if they go by rows. Of rows that fill a vector: lanes go over several shorter ones.
bool LoopScheduler::hasRowResults() {
  if (target_.device != DeviceKind::kCpu || stage_.kind != StageKind::kLoop) return false;
  const llvm::ArrayRef<int64_t> dims = shape();
  if (dims.size() < 2 || dims.back() * elementBytes(roots_[0].type()) * 8 < target_.vectorBits) {
    return false;
  }
  mlir::Block& body = fusion_.getBody().front();
  auto isOfRows = [&](mlir::Value value) {
    return tensorTypeOf(value).getShape() == dims.drop_back();
  };
  auto reducesRows = [&](shlo::ReduceOp reduce) {
    return tensorTypeOf(reduce.getInputs()[0]).getShape() == dims &&
           reduce.getDimensions() == llvm::ArrayRef<int64_t>{static_cast<int64_t>(dims.size()) - 1};
  };
  return llvm::any_of(body.getTerminator()->getOperands(), isOfRows) &&
         llvm::any_of(body.getOps<shlo::ReduceOp>(), reducesRows);
}

void LoopScheduler::chooseDims() {
  const bool areRows = hasRowResults();
  for (size_t k = 0; k < spaces_[0].size(); ++k) {
    bool joins = !stage_.dims.empty() && !(areRows && k + 1 == spaces_[0].size());
    for (size_t r = 0; joins && r < roots_.size(); ++r) {
      if (roots_[r].shapedLike) continue;
      for (int64_t d = spaces_[r][k - 1]; d < spaces_[r][k]; ++d) {
        joins = joins && canMerge(roots_[r].value, static_cast<unsigned>(d));
      }
    }
    int64_t size = shape()[spaces_[0][k]];
    auto dim = static_cast<int64_t>(k);
    if (joins) {
      stage_.dims.back() = {stage_.dims.back().first, dim, stage_.dims.back().size * size};
    } else {
      stage_.dims.push_back({dim, dim, size});
    }
  }
  if (stage_.dims.empty()) stage_.dims.push_back({});
}

bool LoopScheduler::lanesMeetRowReductionAlong(size_t dim) const {
  const int64_t shortRow = std::max(target_.shortRowElements, target_.maxInterleave);
  if (stage_.dims[dim].last < 0) return false;
  for (size_t r = 0; r < roots_.size(); ++r) {
    if (roots_[r].shapedLike) continue;
    if (lanesMeetRowReduction(roots_[r].value, spaces_[r][stage_.dims[dim].last], shortRow)) {
      return true;
    }
  }
  return false;
}

bool LoopScheduler::chooseInterleaving() {
  int64_t limit = target_.maxInterleave;
  auto lanes = static_cast<int64_t>(stage_.lanes);
  if (stage_.dims.back().size >= lanes || roots_[0].operand >= 0) return false;
  size_t inner = stage_.dims.size();
  int64_t elements = 1;
  while (inner > 1 && elements * stage_.dims[inner - 1].size <= limit) {
    elements *= stage_.dims[--inner].size;
  }
  if (inner == stage_.dims.size() || stage_.dims[inner - 1].size < lanes) return false;
  double ops = 0;
  bool reduces = false;
  const auto all = static_cast<double>(this->elements());
  for (mlir::Operation& op : fusion_.getBody().front()) {
    int64_t steps = 1;
    if (auto reduce = mlir::dyn_cast<shlo::ReduceOp>(op)) {
      for (int64_t d : reduce.getDimensions()) {
        steps = std::min(steps, limit + 1) * tensorTypeOf(reduce.getInputs()[0]).getDimSize(d);
      }
      if (steps > limit) return false;
      reduces |= steps > 1;
    } else if (mlir::isa<shlo::ReduceWindowOp, shlo::DynamicUpdateSliceOp, shlo::BitcastConvertOp>(
                   op)) {
      return false;
    }
    // What has fewer elements than the results is asked for fewer times: of what is concatenated
    // along the elements, each has its own.
    const double share =
        op.getNumResults() == 0 ? 1 : std::min(1.0, elementCount(op.getResult(0).getType()) / all);
    ops += static_cast<double>(steps) * std::max(1.0, share * static_cast<double>(elements));
  }
  // Of what lies further apart than shuffles reach, each term of each element would be gathered.
  const double rows = all / static_cast<double>(elements);
  const bool areApart =
      reduces && llvm::any_of(fusion_.getBody().getArgumentTypes(), [&](mlir::Type type) {
        return elementCount(type) > rows * static_cast<double>(limit);
      });
  if (areApart || ops > static_cast<double>(target_.maxUnrolledOps) ||
      lanesMeetRowReductionAlong(inner - 1)) {
    return false;
  }
  stage_.order = LoopOrder::kInterleaved;
  stage_.orderDim = static_cast<int64_t>(inner) - 1;
  // Of narrow elements, shorter vectors where many rows would be left: those go one by one.
  const int64_t rowsAlong = stage_.dims[inner - 1].size;
  while (stage_.lanes > target_.transposedBlockRows &&
         rowsAlong % stage_.lanes > rowsAlong % (stage_.lanes / 2)) {
    stage_.lanes /= 2;
  }
  return true;
}

// Whether vectors of a short row that does not join the next, and what is left of it, take less
// time than whole vectors over several rows, each element of which has an address of its own.
bool LoopScheduler::keepsShortRows() {
  constexpr double kGathered = 2;  // additions that an element takes
  const auto& dims = stage_.dims;
  const int64_t size = dims.back().size;
  if (dims.size() < 2 || size < 4 || size >= static_cast<int64_t>(stage_.lanes)) return false;
  double additions = 0, reads = 0;
  for (mlir::Operation& op : fusion_.getBody().front()) {
    if (isElementwise(&op)) additions += std::max(1.0, elementCost(&op));
  }
  for (mlir::Type type : fusion_.getBody().getArgumentTypes()) reads += elementCount(type) > 1;
  const auto row = static_cast<double>(size);
  const double gathered = row * (additions / stage_.lanes + kGathered * reads);
  const double vectors = llvm::popcount(static_cast<uint64_t>(size)) * (additions + reads);
  return vectors < gathered;
}

void LoopScheduler::chooseLanes() {
  unsigned widest = 8;
  const bool areWords = movesComplexWords(fusion_, target_);
  auto consider = [&](mlir::Type element) {
    if (areWords) element = wordOfComplex(element);
    if (auto kind = elementKind(element)) widest = std::max(widest, kind->computeBits());
  };
  fusion_.getBody().walk([&](mlir::Operation* op) {
    for (mlir::Value result : op->getResults()) {
      auto shaped = mlir::dyn_cast<mlir::RankedTensorType>(result.getType());
      // Scalars that only feed indices do not count.
      if (shaped && shaped.getRank() > 0) consider(shaped.getElementType());
    }
  });
  for (const Root& root : roots_) consider(tensorTypeOf(root.value).getElementType());
  stage_.lanes = target_.vectorLanes(widest);
  if (stage_.lanes > 1 && chooseInterleaving()) return;
  if (lanesMeetRowReductionAlong(stage_.dims.size() - 1)) stage_.lanes = 1;
  auto& dims = stage_.dims;
  // Narrow elements have many lanes, of which fewer are still a vector.
  while (stage_.lanes > target_.transposedBlockRows && dims.size() > 1 &&
         dims.back().size < static_cast<int64_t>(stage_.lanes)) {
    stage_.lanes /= 2;
  }
  if (keepsShortRows()) stage_.lanes = llvm::bit_floor(static_cast<unsigned>(dims.back().size));
  if (stage_.lanes > 1) {
    // Rows shorter than a vector: let lanes run over several of them.
    while (dims.size() > 1 && dims.back().size < static_cast<int64_t>(stage_.lanes)) {
      LoopDim inner = dims.pop_back_val();
      dims.back() = {dims.back().first, inner.last, dims.back().size * inner.size};
    }
  }
  while (stage_.lanes > 1 && dims.back().size < static_cast<int64_t>(stage_.lanes)) {
    stage_.lanes /= 2;
  }
}

void LoopScheduler::chooseCuts() {
  // Code size: each stretch is a loop of its own. Beyond a few, lanes decide for themselves.
  constexpr size_t kFewCuts = 6;
  const LoopDim& last = stage_.dims.back();
  if (stage_.order == LoopOrder::kInterleaved) {
    stage_.cuts = {0, stage_.dims[stage_.orderDim].size};
    return;
  }
  stage_.cuts.push_back(0);
  llvm::append_range(stage_.cuts, cutsOfRoots(last, kFewCuts));
  stage_.cuts.push_back(last.size);
  stage_.cuts.erase(std::unique(stage_.cuts.begin(), stage_.cuts.end()), stage_.cuts.end());
}

llvm::SmallVector<int64_t, 4> LoopScheduler::cutsOfRoots(const LoopDim& dim, size_t most) const {
  llvm::SmallVector<int64_t, 4> cuts;
  if (dim.first != dim.last) return cuts;
  for (size_t r = 0; r < roots_.size(); ++r) {
    if (roots_[r].shapedLike) continue;
    llvm::append_range(cuts, cutsAlong(roots_[r].value, spaces_[r][dim.last], most));
  }
  llvm::sort(cuts);
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

// Where pads and concatenations along an outer loop are decided within it, all that they choose
// from is computed for each element. A stretch of the loop has the part that it needs.
void LoopScheduler::chooseOuterCuts() {
  constexpr double kMinNs = 500;  // further code has to be worth its compilation
  constexpr double kOperationsPerNs = .2;
  constexpr int64_t kMaxStretches = 32;     // of all loops, one within the other
  constexpr int64_t kMaxOperations = 4096;  // of all bodies, if each had the whole fusion's
  if (target_.device != DeviceKind::kCpu || stage_.order != LoopOrder::kRows ||
      stage_.groupThreads > 1 || stage_.ns < kMinNs ||
      stage_.dims.back().size < static_cast<int64_t>(stage_.lanes)) {
    return;
  }
  const int64_t limit =
      std::min(kMaxOperations, static_cast<int64_t>(kOperationsPerNs * stage_.ns));
  mlir::Block& body = fusion_.getBody().front();
  if (!body.getOps<shlo::ReduceOp>().empty()) return;
  const auto operations = static_cast<int64_t>(numbers_.size() * (stage_.cuts.size() - 1));
  int64_t stretches = 1;
  for (size_t g = 0; g + 1 < stage_.dims.size(); ++g) {
    OuterCuts cuts{static_cast<int64_t>(g), cutsOfRoots(stage_.dims[g], kMaxCuts)};
    const int64_t more = stretches * (static_cast<int64_t>(cuts.at.size()) + 1);
    if (cuts.at.empty() || more > kMaxStretches || more * operations > limit) continue;
    stretches = more;
    stage_.outerCuts.push_back(std::move(cuts));
  }
}

bool LoopScheduler::hasTails() const {
  for (size_t i = 0; i + 1 < stage_.cuts.size(); ++i) {
    if ((stage_.cuts[i + 1] - stage_.cuts[i]) % static_cast<int64_t>(stage_.lanes) != 0)
      return true;
  }
  return false;
}

bool LoopScheduler::isCostly() {
  double weight = 0;
  for (mlir::Operation& op : fusion_.getBody().front()) {
    if (isElementwise(&op)) weight += elementCost(&op);
  }
  return weight >= target_.tailAdditions;
}

// Reductions that the roots ask for at the roots' own index, but for dimensions of size 1.
llvm::SmallVector<mlir::Operation*, 2> LoopScheduler::reductionsAtRoots() const {
  llvm::SmallVector<mlir::Operation*, 2> found;
  llvm::DenseSet<mlir::Value> seen;
  llvm::SmallVector<mlir::Value, 8> pending;
  for (const Root& root : roots_) {
    if (root.type().getShape() == shape()) pending.push_back(root.value);
  }
  while (!pending.empty()) {
    mlir::Value value = pending.pop_back_val();
    mlir::Operation* op = value.getDefiningOp();
    if (!seen.insert(value).second || !op) continue;
    if (mlir::isa<shlo::ReduceOp>(op)) {
      if (!llvm::is_contained(found, op)) found.push_back(op);
    } else if (isElementwise(op)) {
      for (mlir::Value operand : op->getOperands()) {
        if (tensorTypeOf(operand).getShape() == tensorTypeOf(value).getShape()) {
          pending.push_back(operand);
        }
      }
    } else if (mlir::isa<shlo::ReshapeOp>(op) &&
               squeezedShape(op->getOperand(0).getType()) == squeezedShape(value.getType())) {
      pending.push_back(op->getOperand(0));
    }
  }
  return found;
}

// Accumulators hold sums only where the roots ask for them, and only after all of the rows: other
// reductions must not depend on them, nor roots at another place.
bool LoopScheduler::isReadElsewhere(llvm::ArrayRef<mlir::Operation*> reductions) const {
  llvm::DenseSet<mlir::Operation*> visitedInPlace, visitedElsewhere;
  std::function<bool(mlir::Value, bool)> readsElsewhere = [&](mlir::Value value, bool isInPlace) {
    mlir::Operation* op = value.getDefiningOp();
    if (!op || !(isInPlace ? visitedInPlace : visitedElsewhere).insert(op).second) return false;
    if (!isInPlace && llvm::is_contained(reductions, op)) return true;
    bool isReshape = mlir::isa<shlo::ReshapeOp>(op);
    for (mlir::Value operand : op->getOperands()) {
      auto type = mlir::dyn_cast<mlir::RankedTensorType>(operand.getType());
      bool keepsPlace = isReshape || (isElementwise(op) && type &&
                                      type.getShape() == tensorTypeOf(value).getShape());
      if (readsElsewhere(operand, isInPlace && keepsPlace)) return true;
    }
    return false;
  };
  return llvm::any_of(roots_, [&](const Root& root) { return readsElsewhere(root.value, true); });
}

void LoopScheduler::chooseAccumulated() {
  if (stage_.lanes < 2 || stage_.cuts.size() != 2 || stage_.order == LoopOrder::kInterleaved) {
    return;
  }
  llvm::SmallVector<mlir::Operation*, 2> found = reductionsAtRoots();
  size_t all = 0;
  bool isWorthwhile = true;
  fusion_.getBody().walk([&](shlo::ReduceOp reduce) {
    ++all;
    auto type = tensorTypeOf(reduce.getInputs()[0]);
    int64_t rows = 1;
    for (int64_t d : reduce.getDimensions()) rows *= type.getDimSize(d);
    isWorthwhile = isWorthwhile && rows >= target_.minAccumulatedRows;
  });
  if (all != found.size() || !isWorthwhile || isReadElsewhere(found)) return;
  accumulated_ = found;
}

// A reduction with fewer elements than the roots is the same for all of the last loop.
bool LoopScheduler::hasRowReduction() {
  if (!accumulated_.empty()) return false;
  bool found = false;
  fusion_.getBody().walk([&](shlo::ReduceOp reduce) {
    found |= tensorTypeOf(reduce.getResult(0)).getNumElements() != elements();
  });
  return found;
}

// Ops of the same shape that `value` is computed from, through elementwise ops only.
void elementwiseCone(mlir::Value value, llvm::DenseSet<mlir::Operation*>& cone) {
  mlir::Operation* op = value.getDefiningOp();
  if (!op || !isElementwise(op) || !cone.insert(op).second) return;
  for (mlir::Value operand : op->getOperands()) {
    if (tensorTypeOf(operand).getShape() == tensorTypeOf(value).getShape())
      elementwiseCone(operand, cone);
  }
}

// Expensive values that both a reduction of the row and the roots use.
void LoopScheduler::chooseKeptRows() {
  const LoopDim& last = stage_.dims.back();
  auto rank = static_cast<int64_t>(shape().size());
  if (last.first != last.last || rank == 0 || spaces_[0][last.last] != rank - 1) return;
  llvm::DenseSet<mlir::Operation*> used;
  for (const Root& root : roots_) {
    if (root.type().getShape() == shape() && !root.shapedLike) elementwiseCone(root.value, used);
  }
  int64_t keptBytes = 0;
  for (mlir::Operation& op : fusion_.getBody().front()) {
    auto reduce = mlir::dyn_cast<shlo::ReduceOp>(op);
    if (!reduce || tensorTypeOf(reduce.getInputs()[0]).getShape() != shape()) continue;
    if (reduce.getDimensions() != llvm::ArrayRef<int64_t>{rank - 1}) continue;
    llvm::DenseSet<mlir::Operation*> cone;
    for (mlir::Value input : reduce.getInputs()) elementwiseCone(input, cone);
    for (mlir::Operation& candidate : fusion_.getBody().front()) {
      if (!cone.contains(&candidate) || !used.contains(&candidate)) continue;
      if (elementCost(&candidate) < target_.keptAdditions) continue;
      unsigned value = numbers_[&candidate];
      auto kind = elementKind(tensorTypeOf(candidate.getResult(0)).getElementType());
      bool isKept = llvm::any_of(stage_.kept, [&](auto& row) { return row.value == value; });
      if (!kind || isKept) continue;
      int64_t bytes = last.size * kind->storageBytes;
      if (keptBytes + bytes > target_.maxKeptRowBytes()) continue;
      keptBytes += bytes;
      stage_.kept.push_back({value, numbers_[&op]});
    }
  }
}

bool LoopScheduler::chooseTransposition() {
  const auto& dims = stage_.dims;
  // Narrow elements would fill longer vectors than a block has rows.
  const unsigned lanes = std::min(stage_.lanes, target_.transposedBlockRows);
  if (stage_.order != LoopOrder::kRows || !accumulated_.empty()) return false;
  if (lanes < 2 || dims.size() < 2) return false;
  if (stage_.cuts.size() != 2) return false;
  for (size_t r = 0; r < roots_.size(); ++r) {
    if (roots_[r].shapedLike) continue;
    int64_t dim = transposedDim(roots_[r].value, spaces_[r][dims.back().last]);
    for (size_t g = 0; dim >= 0 && g + 1 < dims.size(); ++g) {
      if (spaces_[r][dims[g].last] != dim) continue;
      if (dims[g].size < static_cast<int64_t>(lanes)) continue;
      stage_.order = LoopOrder::kTransposed;
      stage_.orderDim = static_cast<int64_t>(g);
      stage_.lanes = lanes;
      return true;
    }
  }
  return false;
}

// Folding one row's lanes to a number takes longer than all else that a short row needs, and the
// row waits for it. With as many rows as lanes, all of them are folded by as many steps, and other
// rows are computed meanwhile.
bool LoopScheduler::chooseRowBlocks() {
  if (stage_.order != LoopOrder::kRows || !accumulated_.empty()) return false;
  if (target_.device != DeviceKind::kCpu) return false;
  llvm::SmallVector<mlir::Value, 4> values;
  for (const Root& root : roots_) {
    if (root.shapedLike || root.operand >= 0) return false;
    values.push_back(root.value);
  }
  std::optional<RowReductions> rows = rowReductionsOf(values);
  if (!rows) return false;
  const unsigned lanes = chooseRowReduction(rows->reductions[0], 0, target_).lanes;
  if (lanes < 4 || lanes > target_.transposedBlockRows) return false;
  if (rows->rowSize > target_.maxBlockRowVectors * lanes) return false;
  for (shlo::ReduceOp reduce : rows->reductions) {
    auto kind = elementKind(tensorTypeOf(reduce->getResult(0)).getElementType());
    if (!hasNeutralValue(reduce) || kind->isBool()) return false;
    if (chooseRowReduction(reduce, 0, target_).lanes != lanes) return false;
  }
  const LoopDim& last = stage_.dims.back();
  auto rowLoop = static_cast<int64_t>(stage_.dims.size()) - 1;
  if (!rows->resultsAreRows) {
    // The last loop is a row, and the one before runs over them.
    const auto lastDim = static_cast<int64_t>(shape().size()) - 1;
    if (last.first != last.last || spaces_[0][last.last] != lastDim || rowLoop == 0) return false;
    if (rows->rowSize != last.size) return false;
    --rowLoop;
  } else {
    if (stage_.lanes != 1 || last.last < 0) return false;
    stage_.lanes = lanes;
  }
  if (stage_.dims[rowLoop].size < 2 * static_cast<int64_t>(lanes)) {
    if (rows->resultsAreRows) stage_.lanes = 1;
    return false;
  }
  stage_.order = LoopOrder::kRowBlocks;
  stage_.orderDim = rowLoop;
  stage_.blockRows = lanes;
  return true;
}

void LoopScheduler::chooseReductions() {
  // The loop that lanes run along: reductions that differ along it are each lane's own.
  size_t lanesDim = stage_.order == LoopOrder::kInterleaved ? static_cast<size_t>(stage_.orderDim)
                                                            : stage_.dims.size() - 1;
  const LoopDim& along = stage_.dims[lanesDim];
  llvm::DenseSet<mlir::Operation*> perLane;
  bool sharesLoop = stage_.lanes > 1 ||
                    (stage_.groupThreads > 1 && stage_.tiledDims <= static_cast<int64_t>(lanesDim));
  // Lanes then run along what reductions have given, not along what they reduce.
  if (stage_.order == LoopOrder::kRowBlocks) sharesLoop = false;
  for (size_t r = 0; r < roots_.size() && sharesLoop; ++r) {
    if (roots_[r].shapedLike) continue;
    for (int64_t d = along.first; d <= along.last; ++d) {
      reductionsAlong(roots_[r].value, spaces_[r][d], perLane);
    }
  }
  for (mlir::Operation& op : fusion_.getBody().front()) {
    auto reduce = mlir::dyn_cast<shlo::ReduceOp>(op);
    if (!reduce) continue;
    ReductionSchedule schedule = chooseRowReduction(reduce, numbers_[&op], target_);
    ReducedAxes reduced = reducedAxesOf(reduce);
    if (stage_.order == LoopOrder::kRowBlocks) {
      schedule.interleave = chainsOfShortRow(reduce, schedule, target_);
    }
    const unsigned threads = stage_.groupThreads;
    if (threads > 1 && isForGroup(reduce) && canShareInGroup(reduce, threads, 1) &&
        !perLane.contains(&op)) {
      const unsigned neighbours = neighboursIn(reduce);
      schedule = {numbers_[&op], ReductionStrategy::kGroup, threads,
                  canShareInGroup(reduce, threads, neighbours) ? neighbours : 1};
    } else if (isAccumulated(&op)) {
      const int64_t rows = reduced.axes.empty() ? 1 : reduced.axes.back().size;
      schedule = {numbers_[&op], ReductionStrategy::kAccumulate, 1,
                  static_cast<unsigned>(std::clamp<int64_t>(rows, 1, target_.accumulatedRows))};
      schedule.block = blockOfRows(reduce);
    } else if (perLane.contains(&op)) {
      // A few steps read columns that lie together, and compute what others need as well.
      int64_t limit = target_.maxInterleave, steps = 1;
      for (const ReducedAxis& axis : reduced.axes) steps = std::min(steps, limit + 1) * axis.size;
      const auto side = static_cast<unsigned>(steps <= limit ? std::max<int64_t>(1, steps) : 1);
      schedule = {numbers_[&op], ReductionStrategy::kLane, 1,
                  side,          schedule.lanes,           schedule.interleave};
    }
    stage_.reductions.push_back(schedule);
  }
}

void LoopScheduler::tileTransposed() {
  // A tile is some rows, as many as fill whole cache lines of what is read, over all columns. Rows
  // that lie a power of two apart share few sets of the cache: as many as these hold, for each is
  // written a vector at a time.
  int64_t rowBytes = elementBytes(roots_[0].type().getElementType());
  for (const LoopDim& dim : llvm::drop_begin(stage_.dims, stage_.orderDim + 1))
    rowBytes *= dim.size;
  const int64_t sets = target_.cacheSetsBytes / std::gcd(rowBytes, target_.cacheSetsBytes);
  const int64_t held = std::max<int64_t>(stage_.lanes, sets * target_.cacheWays);
  stage_.chunk = std::min({stage_.dims[stage_.orderDim].size, target_.transposedRows, held});
}

// Of `unit` rows, or some times as many.
void LoopScheduler::tileBlocks(int64_t wanted, int64_t unit) {
  int64_t rows = stage_.dims[stage_.orderDim].size, outer = 1;
  for (int64_t d = 0; d < stage_.orderDim; ++d) outer *= stage_.dims[d].size;
  int64_t most = std::max<int64_t>(1, rows / unit);
  int64_t pieces = std::clamp<int64_t>(wanted / std::max<int64_t>(1, outer), 1, most);
  stage_.chunk = std::min<int64_t>(rows, (rows / pieces + unit - 1) / unit * unit);
}

void LoopScheduler::tileRows(int64_t wanted, bool hasRowReduction) {
  int64_t size = stage_.dims.back().size, outer = 1;
  stage_.chunk = std::max<int64_t>(size, 1);
  while (stage_.tiledDims + 1 < static_cast<int64_t>(stage_.dims.size()) &&
         (outer < wanted || stage_.dims[stage_.tiledDims].size == 1)) {
    outer *= stage_.dims[stage_.tiledDims++].size;
  }
  if (!accumulated_.empty()) return tileAccumulated(wanted);
  // Each part of a split row would need the whole row's reductions.
  if (!hasRowReduction && outer < wanted && size > 1) {
    int64_t chunks = (wanted + outer - 1) / outer;
    int64_t unit = std::max<int64_t>(stage_.lanes, 1) * (stage_.lanes > 1 ? 8 : 1);
    stage_.chunk = std::min(size, ((size + chunks - 1) / chunks + unit - 1) / unit * unit);
  }
  stage_.grain = std::max<int64_t>(1, stage_.pieces() / wanted);
}

void LoopScheduler::tileAccumulated(int64_t wanted) {
  // The accumulators of one chunk stay in the first-level cache; a row is not cut into more pieces
  // than make tiles enough.
  int64_t size = stage_.dims.back().size, outer = 1;
  for (int64_t d = 0; d < stage_.tiledDims; ++d) outer *= stage_.dims[d].size;
  int64_t unit = static_cast<int64_t>(stage_.lanes) * 8;
  int64_t pieces = std::clamp<int64_t>((wanted + outer - 1) / outer, 1, target_.maxRowPieces);
  int64_t most = target_.accumulatorElements;
  stage_.chunk = std::clamp<int64_t>((size / pieces + unit - 1) / unit * unit,
                                     most / target_.maxRowPieces, most);
  stage_.chunk = std::min(stage_.chunk, size);
}

void LoopScheduler::chooseTiles() {
  bool hasRows = hasRowReduction();
  if (hasRows && stage_.order == LoopOrder::kRows) chooseKeptRows();
  if (chooseTransposition()) {
    stage_.kept.clear();
  } else {
    chooseRowBlocks();
  }
  if (target_.device == DeviceKind::kGpu) return chooseThreads();
  // Enough tiles for any number of threads, none so small that handing it over costs more.
  auto wanted = static_cast<int64_t>(
      std::clamp(stage_.ns / target_.tileNs, 1.0, static_cast<double>(target_.maxTiles)));
  switch (stage_.order) {
    case LoopOrder::kTransposed:
      return tileTransposed();
    case LoopOrder::kInterleaved:
      return tileBlocks(wanted, stage_.lanes);
    case LoopOrder::kRowBlocks:
      return tileBlocks(wanted, stage_.blockRows);
    case LoopOrder::kRows:
      return tileRows(wanted, hasRows);
  }
}

// Threads side by side read rows of what is not reduced along its innermost dimension, unless there
// are too few of them.
bool LoopScheduler::isForGroup(shlo::ReduceOp reduce) const {
  auto type = tensorTypeOf(reduce.getInputs()[0]);
  int64_t innermost = type.getRank() - 1;
  while (innermost > 0 && type.getDimSize(innermost) == 1) --innermost;
  return target_.hasGroups() && canShareInGroup(reduce, target_.subgroupSize, 1) &&
         !reducedAxesOf(reduce).axes.empty() &&
         (llvm::is_contained(reduce.getDimensions(), innermost) ||
          tensorTypeOf(reduce.getResult(0)).getNumElements() < target_.enoughRows);
}

// A thread computes an element; where elements share reductions of their row, a group of threads
// computes the row.
void LoopScheduler::chooseThreads() {
  stage_.kept.clear();
  auto last = static_cast<int64_t>(stage_.dims.size()) - 1;
  stage_.chunk = std::max<int64_t>(1, stage_.dims.back().size);
  int64_t row = 0, enough = target_.groupSize;
  unsigned most = 1;
  fusion_.getBody().walk([&](shlo::ReduceOp reduce) {
    if (!isForGroup(reduce)) return;
    const int64_t size = reducedAxesOf(reduce).axes.back().size;
    row = std::max(row, size);
    most = std::max(most, neighboursIn(reduce));
    if (!hasNeutralValue(reduce)) enough = std::min(enough, size);
  });
  stage_.tiledDims = last + 1;
  if (chooseTransposedTiles()) return;
  if (row < target_.subgroupSize) return chooseNeighbours();
  unsigned threads = target_.subgroupSize;
  while (2 * threads <= enough && threads * most < row) threads *= 2;
  stage_.groupThreads = threads;
  // The loop that the row's elements lie along, if results are such elements, is the group's.
  if (hasRowReduction() && stage_.dims.back().size > 1 &&
      !lanesMeetRowReductionAlong(stage_.dims.size() - 1)) {
    stage_.tiledDims = last;
    const int64_t lanes = neighbours();
    if (stage_.dims.back().size % lanes == 0) stage_.lanes = static_cast<unsigned>(lanes);
  }
}

// Threads side by side read neighbours of what is transposed, and write neighbours of the result,
// where a group takes a square of it through its memory: where all that it reads lies so.
bool LoopScheduler::chooseTransposedTiles() {
  // Of an element of any type.
  constexpr int64_t kMaxBytes = 16;
  if (!target_.hasGroups() || roots_.size() != 1 || stage_.dims.size() < 2) {
    return false;
  }
  const Root& root = roots_[0];
  if (root.shapedLike || root.operand >= 0 || stage_.cuts.size() != 2) return false;
  auto isLarge = [&](mlir::Type type) { return elementCount(type) > 1; };
  auto isOther = [&](mlir::Operation& op) {
    return !isElementwise(&op) &&
           !mlir::isa<shlo::TransposeOp, shlo::ConstantOp, shlo::BroadcastInDimOp, ir::YieldOp>(op);
  };
  const auto arguments = fusion_.getBody().getArgumentTypes();
  if (llvm::count_if(arguments, isLarge) != 1) return false;
  if (llvm::any_of(fusion_.getBody().front(), isOther)) return false;
  const int64_t side = std::min<int64_t>(target_.transposedSide, target_.groupSize);
  if (side * (side + 1) * kMaxBytes > target_.localBytes) return false;
  const int64_t dim = transposedDim(root.value, spaces_[0][stage_.dims.back().last]);
  for (size_t g = 0; dim >= 0 && g + 1 < stage_.dims.size(); ++g) {
    if (spaces_[0][stage_.dims[g].last] != dim) continue;
    if (stage_.dims[g].size < side || stage_.dims.back().size < side) return false;
    stage_.order = LoopOrder::kTransposed;
    stage_.orderDim = static_cast<int64_t>(g);
    stage_.groupThreads = target_.groupSize;
    stage_.tiledDims = 0;
    stage_.chunk = side;
    return true;
  }
  return false;
}

// Whether no element moves along the innermost dimension: its neighbours are neighbours of what is
// read.
bool keepsInnermost(mlir::Operation& op) {
  if (!mlir::isa<shlo::TransposeOp, shlo::PadOp, shlo::ReverseOp, shlo::DynamicSliceOp,
                 shlo::GatherOp>(op)) {
    return false;
  }
  const llvm::ArrayRef<int64_t> from = tensorTypeOf(op.getOperand(0)).getShape();
  const llvm::ArrayRef<int64_t> to = tensorTypeOf(op.getResult(0)).getShape();
  if (from.empty() || to.empty() || from.back() != to.back()) return false;
  return indexingMaps(&op).operands[0].resultDim(static_cast<int64_t>(from.size()) - 1) ==
         static_cast<int64_t>(to.size()) - 1;
}

// Whether `lanes` neighbours are computed from neighbours in memory, or from one element; pieces of
// a concatenation begin where `isCut` lets them.
bool readsNeighbours(mlir::Operation& op, int64_t lanes, bool isCut) {
  if (auto slice = mlir::dyn_cast<shlo::SliceOp>(op)) return slice.getStrides().back() == 1;
  if (isElementwise(&op) || mlir::isa<shlo::ConstantOp, shlo::IotaOp, shlo::BroadcastInDimOp,
                                      shlo::ReshapeOp, shlo::ReduceOp, ir::YieldOp>(op)) {
    return true;
  }
  if (op.getNumResults() != 1) return false;
  const llvm::ArrayRef<int64_t> shape = tensorTypeOf(op.getResult(0)).getShape();
  if (mlir::isa<shlo::BitcastConvertOp>(op)) {
    return tensorTypeOf(op.getOperand(0)).getShape() == shape;
  }
  if (auto concatenate = mlir::dyn_cast<shlo::ConcatenateOp>(op)) {
    const auto dim = static_cast<int64_t>(concatenate.getDimension());
    return isCut && (dim + 1 == static_cast<int64_t>(shape.size()) || shape.back() % lanes == 0);
  }
  return !shape.empty() && shape.back() % lanes == 0 && keepsInnermost(op);
}

// Elements of the widest array that one access to memory has; 1 where they are not computed
// together. A thread that goes from cut to cut may have cuts between its elements.
int64_t LoopScheduler::neighbours(bool goesByCuts) {
  int64_t widest = 1;
  bool isWhole = true;
  auto consider = [&](mlir::Type type) {
    auto kind = elementKind(mlir::cast<mlir::RankedTensorType>(type).getElementType());
    // Parts of complex numbers would be taken apart.
    isWhole = isWhole && kind && !kind->isComplex();
    if (kind) widest = std::max<int64_t>(widest, kind->storageBytes);
  };
  // Few indices, or what is broadcast, are read one by one.
  constexpr int64_t kFew = 16;
  for (mlir::Type type : fusion_.getBody().getArgumentTypes()) {
    if (elementCount(type) > elements() / kFew) consider(type);
  }
  for (const Root& root : roots_) consider(root.type());
  const int64_t lanes = std::min<int64_t>(target_.neighboursOf(widest), target_.maxVectorElements);
  constexpr size_t kMaxCuts = 16;
  const bool isCut = goesByCuts && stage_.cuts.size() <= kMaxCuts && stage_.cutsBetween(lanes);
  isWhole = isWhole && (isCut || stage_.cuts.size() == 2);
  // Copies and fillings compute nothing of what the fusion does.
  if (stage_.kind == StageKind::kCopy || stage_.kind == StageKind::kFill)
    return isWhole ? lanes : 1;
  for (mlir::Operation& op : fusion_.getBody().front()) {
    isWhole = isWhole && readsNeighbours(op, lanes, isCut);
  }
  return isWhole ? lanes : 1;
}

// A thread computes as many neighbours as one access to memory has, if there are threads enough.
void LoopScheduler::chooseNeighbours() {
  const auto last = static_cast<int64_t>(stage_.dims.size()) - 1;
  const int64_t lanes = neighbours(/*goesByCuts=*/true);
  if (lanes == 1 || elements() < lanes * target_.enoughColumns) return;
  // Each vector begins where memory is aligned.
  if ((last > 0 || stage_.cuts.size() > 2) && stage_.dims.back().size % lanes != 0) return;
  if (!fusion_.getBody().front().getOps<shlo::ReduceOp>().empty()) return;
  stage_.lanes = static_cast<unsigned>(lanes);
  stage_.tiledDims = last;
  stage_.chunk = lanes;
}

// Neighbours of the row that each thread of the group reduces together.
unsigned LoopScheduler::neighboursIn(shlo::ReduceOp reduce) {
  const ReducedAxis last = reducedAxesOf(reduce).axes.back();
  const bool isInnermost = last.dim + 1 == tensorTypeOf(reduce.getInputs()[0]).getRank();
  const int64_t count = neighbours();
  return isInnermost && last.size % count == 0 ? static_cast<unsigned>(count) : 1;
}

void LoopScheduler::run() {
  chooseDims();
  chooseLanes();
  chooseCuts();
  chooseAccumulated();
  llvm::SmallVector<mlir::Value, 4> values;
  for (const Root& root : roots_) values.push_back(root.value);
  // A stage that fills computes nothing of what the fusion does.
  const double ns = stage_.kind == StageKind::kFill
                        ? trafficNs(target_, bytesOf(roots_[0].shapedLike.getType()))
                        : kernelNs(target_, fusion_, values);
  stage_.ns = std::max(1.0, ns);
  chooseTiles();
  chooseReductions();
  chooseVectors();
  chooseTail();
  chooseOuterCuts();
}

// A core reorders so many instructions. Where an element takes more, of which each waits for the
// one before, two vectors side by side give it something to do meanwhile.
void LoopScheduler::chooseVectors() {
  constexpr double kShareInFlight = .65;   // of what is in flight: the next vector has little room
  constexpr double kIssuedPerCycle = 2.5;  // where nothing waits
  constexpr double kMinNs = 100'000;       // twice the code has to be worth its compilation
  const int64_t lanes = 2 * static_cast<int64_t>(stage_.lanes);
  if (target_.instructionsInFlight == 0 || stage_.ns < kMinNs || stage_.lanes == 1 ||
      stage_.order != LoopOrder::kRows || stage_.cuts.size() != 2 || !stage_.reductions.empty() ||
      stage_.dims.back().size < 4 * lanes || stage_.chunk < 4 * lanes) {
    return;
  }
  const InstructionChain chain = instructionChainOf(fusion_.getBody().front(), elements());
  if (chain.instructions < kShareInFlight * target_.instructionsInFlight ||
      chain.cycles < chain.instructions / kIssuedPerCycle) {
    return;
  }
  stage_.lanes = static_cast<unsigned>(lanes);
}

void LoopScheduler::chooseTail() {
  const bool isWhole = stage_.order == LoopOrder::kRows && stage_.chunk == stage_.dims.back().size;
  const bool isBlock = stage_.order == LoopOrder::kRowBlocks &&
                       stage_.orderDim + 1 < static_cast<int64_t>(stage_.dims.size());
  if (stage_.lanes == 1 || !(stage_.order == LoopOrder::kRows || isBlock) || !hasTails()) return;
  if ((isWhole || isBlock) && stage_.cuts.size() == 2 && accumulated_.empty() && keepsOperands()) {
    stage_.tail = RowTail::kOverlap;
  } else if (isCostly()) {
    stage_.tail = RowTail::kNarrow;
  }
}

// Whether no result may take the place of an operand.
bool LoopScheduler::keepsOperands() const {
  for (unsigned operand = 0; operand < fusion_->getNumOperands(); ++operand) {
    for (unsigned result = 0; result < fusion_->getNumResults(); ++result) {
      if (canShareBuffer(fusion_, operand, result)) return false;
    }
  }
  return true;
}

}  // namespace

llvm::SmallVector<int64_t, 6> spaceOf(mlir::RankedTensorType type) {
  llvm::SmallVector<int64_t, 6> space;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (type.getDimSize(d) != 1) space.push_back(d);
  }
  return space;
}

void scheduleLoop(ir::FusionOp fusion, const TargetModel& target, LoopStage* stage) {
  LoopScheduler(fusion, target, stage).run();
}

}  // namespace isthmus
