// What an edited schedule may say.
#include <algorithm>
#include <concepts>
#include <functional>
#include <type_traits>

#include "compiler/cost/op_cost.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/attention/group_attention.h"
#include "compiler/schedule/choose_schedule.h"
#include "compiler/schedule/dot_scheduler.h"
#include "compiler/schedule/loop/loop_scheduler.h"
#include "compiler/schedule/loop/reduction_axes.h"
#include "compiler/schedule/products/product_scheduler.h"
#include "compiler/target/element_kind.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus {
namespace {

// Bounds on code size and on the stack.
constexpr unsigned kMaxLanes = 128;
constexpr unsigned kMaxInterleave = 64;
constexpr int64_t kMaxBlockRows = 16;
constexpr int64_t kMaxStackBytes = 1 << 20;

// Whether a function of the backend computes the product of a stage.
bool hasFunction(const DotStage& stage) { return stage.product.form == ProductForm::kNone; }

int64_t bytesOf(mlir::Value value) {
  auto kind = kindOf(value);
  return kind ? kind->storageBytes : 8;
}

// Checks one stage against what was chosen for it: the structure must be the same, numbers may
// differ within limits. By its kind's record.
template <typename Stage>
class StageVerifier {
 public:
  StageVerifier(const Stage& stage, const Stage& chosen, ir::FusionOp fusion,
                const TargetModel& target)
      : stage_(stage), chosen_(chosen), fusion_(fusion), target_(target) {}

  Status run() const {
    if (stage_.kind != chosen_.kind || stage_.results != chosen_.results) return wrongResults();
    if (!llvm::isPowerOf2_32(stage_.lanes) || stage_.lanes > kMaxLanes) {
      return wrong("lanes must be a power of two up to ", kMaxLanes);
    }
    if (stage_.lanes > target_.maxVectorElements) {
      return wrong("lanes must be at most ", target_.maxVectorElements);
    }
    if (target_.device == DeviceKind::kGpu && stage_.kind != StageKind::kDot &&
        stage_.lanes > chosen_.lanes) {
      return wrong("lanes must be at most ", chosen_.lanes, ", since threads are the lanes");
    }
    if (stage_.groupThreads != 1 &&
        (stage_.groupThreads > target_.groupSize || !llvm::isPowerOf2_32(stage_.groupThreads))) {
      return wrong("threads must be a power of two up to ", target_.groupSize);
    }
    if constexpr (std::derived_from<Stage, FusedStage>) ISTHMUS_RETURN_IF_ERROR(checkInner());
    return checkOwn();
  }

 private:
  template <typename... Parts>
  Status wrong(Parts&&... parts) const {
    return invalidArgument("schedule '", toString(stage_), "': ", std::forward<Parts>(parts)...);
  }
  Status wrongResults() const {
    return wrong("the stage computes other results than the fusion has");
  }

  // What a stage of this kind has of its own.
  Status checkOwn() const;

  Status checkInner() const {
    if (stage_.share < 0 || (stage_.share > 0 && target_.device != DeviceKind::kCpu)) {
      return wrong("share must be a number of tiles, of threads of a CPU");
    }
    constexpr double kMaxUnrolled = 64;
    for (unsigned number : stage_.unrolled) {
      auto window = mlir::dyn_cast_or_null<shlo::ReduceWindowOp>(opNumbered(fusion_, number));
      if (!window || windowElements(window) > kMaxUnrolled) {
        return wrong("op ", number, " is no window of at most ", kMaxUnrolled, " elements");
      }
    }
    return {};
  }

  // Of an operation that is computed with all its results.
  Status checkWhole(bool isPart = false) const {
    for (const ReductionSchedule& reduction : stage_.reductions) {
      if (reduction.strategy != ReductionStrategy::kRow) {
        return wrong("lanes of a stage without loops share rows only");
      }
    }
    ISTHMUS_RETURN_IF_ERROR(checkReductions());
    bool isUncut = stage_.tileSpace == TileSpace::kNone && !isPart;
    bool isSame = stage_.tileSpace == chosen_.tileSpace && stage_.tileDim == chosen_.tileDim &&
                  stage_.tileUnit == chosen_.tileUnit && stage_.tileCount == chosen_.tileCount;
    if (!isUncut && !isSame) return wrong("tiles would meet in the result");
    if (stage_.kind != StageKind::kScan && stage_.groupThreads != 1 &&
        (chosen_.groupThreads == 1 || isUncut)) {
      return wrong("threads do not share a tile");
    }
    return {};
  }

  // The loops must cover the space, each dimension once and in order.
  Status checkDims() const {
    auto type = rootsOf(fusion_, stage_)[0].type();
    llvm::SmallVector<int64_t, 6> space = spaceOf(type);
    int64_t next = 0;
    for (const LoopDim& dim : stage_.dims) {
      if (space.empty() && stage_.dims.size() == 1 && dim == LoopDim()) return {};
      if (dim.first != next || dim.last < dim.first ||
          dim.last >= static_cast<int64_t>(space.size())) {
        return wrong("the loops do not cover the dimensions in order");
      }
      int64_t size = 1;
      for (int64_t d = dim.first; d <= dim.last; ++d) size *= type.getDimSize(space[d]);
      if (size != dim.size) return wrong("a loop has the size ", dim.size, ", expected ", size);
      next = dim.last + 1;
    }
    if (stage_.dims.empty() || next != static_cast<int64_t>(space.size())) {
      return wrong("the loops do not cover all dimensions");
    }
    return {};
  }

  Status checkOrder() const {
    auto count = static_cast<int64_t>(stage_.dims.size());
    auto lanes = static_cast<int64_t>(stage_.lanes);
    if (stage_.tail == RowTail::kOverlap && chosen_.tail != stage_.tail) {
      return wrong("what would be computed again may be overwritten by then");
    }
    if (stage_.order == LoopOrder::kRows) return {};
    if (stage_.order == LoopOrder::kRowBlocks) return checkRowBlocks();
    if (chosen_.order == LoopOrder::kTransposed && chosen_.groupThreads > 1) return checkSquares();
    if (stage_.orderDim < 0 || stage_.orderDim + 1 >= count || lanes < 2 ||
        stage_.dims[stage_.orderDim].size < lanes) {
      return wrong("the order needs vectors along a loop other than the last");
    }
    // What cuts loops and sums row by row knows rows only.
    if (!stage_.kept.empty() || accumulates() || stage_.cuts.size() != 2) {
      return wrong("the order allows no cuts, kept rows or accumulation");
    }
    if (stage_.order == LoopOrder::kTransposed) {
      return lanes <= kMaxBlockRows ? Status()
                                    : wrong("blocks have up to ", kMaxBlockRows, " rows");
    }
    if (chosen_.order != LoopOrder::kInterleaved || stage_.orderDim != chosen_.orderDim) {
      return wrong("the rows are too long to be interleaved");
    }
    return {};
  }

  Status checkSquares() const {
    return stage_.order == chosen_.order && stage_.orderDim == chosen_.orderDim &&
                   stage_.dims == chosen_.dims && stage_.chunk == chosen_.chunk &&
                   stage_.groupThreads == chosen_.groupThreads
               ? Status()
               : wrong("groups transpose squares of ", chosen_.chunk);
  }

  // Tiles of one row each, of which those of a call are in blocks; lanes go along the row, if that
  // is not only reduced.
  bool isSingleRows() const {
    return stage_.order == LoopOrder::kRowBlocks && stage_.chunk == 1 &&
           stage_.orderDim + 2 >= static_cast<int64_t>(stage_.dims.size());
  }

  // Sums of rows become lanes: as many rows as a reduction has lanes.
  Status checkRowBlocks() const {
    if (chosen_.order != stage_.order || stage_.orderDim != chosen_.orderDim ||
        stage_.dims != chosen_.dims || stage_.kept != chosen_.kept ||
        stage_.blockRows != chosen_.blockRows || stage_.reductions != chosen_.reductions) {
      return wrong("other loops have no blocks of rows whose reductions come first");
    }
    const int64_t rows = stage_.dims[stage_.orderDim].size;
    if (stage_.chunk != rows && stage_.chunk % stage_.blockRows != 0 && !isSingleRows()) {
      return wrong("chunk must be 1 or a multiple of block");
    }
    return {};
  }

  Status checkTiles() const {
    bool isRows = stage_.order == LoopOrder::kRows;
    auto count = static_cast<int64_t>(stage_.dims.size());
    int64_t size = stage_.dims.back().size;
    // What tiles are parts of; and what vectors run along, which cuts divide.
    int64_t tiled = isRows ? size : stage_.dims[stage_.orderDim].size;
    int64_t cut = stage_.order == LoopOrder::kInterleaved ? tiled : size;
    if (stage_.tiledDims < 0 || stage_.tiledDims > count)
      return wrong("there are ", count, " loops");
    if (stage_.tiledDims == count && stage_.lanes != 1) {
      return wrong("tiles of single elements have no lanes");
    }
    if (stage_.chunk < 1 || stage_.chunk > std::max<int64_t>(1, tiled) || stage_.grain < 1) {
      return wrong("chunk must be from 1 to ", tiled, ", grain from 1");
    }
    // Blocks begin where whole vectors do.
    if (!isRows && stage_.chunk != tiled && stage_.chunk % stage_.lanes != 0 && !isSingleRows()) {
      return wrong("chunk must be a multiple of lanes");
    }
    if (cut == 0) return {};
    llvm::ArrayRef<int64_t> cuts = stage_.cuts;
    if (cuts.size() < 2 || cuts.front() != 0 || cuts.back() != cut || !llvm::is_sorted(cuts)) {
      return wrong("cuts must rise from 0 to ", cut);
    }
    return {};
  }

  Status checkOuterCuts() const {
    if (!stage_.outerCuts.empty() && stage_.order != LoopOrder::kRows) {
      return wrong("only loops over rows have outer cuts");
    }
    int64_t next = 0;
    for (const OuterCuts& cuts : stage_.outerCuts) {
      if (cuts.loop < next || cuts.loop + 1 >= static_cast<int64_t>(stage_.dims.size())) {
        return wrong("outer cuts must be of loops in their order, without the last");
      }
      next = cuts.loop + 1;
      const bool rises = std::adjacent_find(cuts.at.begin(), cuts.at.end(),
                                            std::greater_equal<>()) == cuts.at.end();
      if (cuts.at.empty() || !rises || cuts.at.front() <= 0 ||
          cuts.at.back() >= stage_.dims[cuts.loop].size) {
        return wrong("outer cuts must rise inside of their loop of ", stage_.dims[cuts.loop].size);
      }
    }
    return {};
  }

  bool accumulates() const {
    return llvm::any_of(stage_.reductions, [](const ReductionSchedule& reduction) {
      return reduction.strategy == ReductionStrategy::kAccumulate;
    });
  }

  Status checkReductions() const {
    for (const ReductionSchedule& reduction : stage_.reductions) {
      auto reduce = mlir::dyn_cast_or_null<shlo::ReduceOp>(opNumbered(fusion_, reduction.op));
      if (!reduce) return wrong("op ", reduction.op, " is no reduction");
      const ReductionSchedule* chosen = chosen_.reductionOf(reduction.op);
      if (!chosen) return wrong("op ", reduction.op, " is not reduced by this stage");
      ISTHMUS_RETURN_IF_ERROR(checkReduction(reduction, reduce, *chosen));
    }
    for (const ReductionSchedule& chosen : chosen_.reductions) {
      if (!stage_.reductionOf(chosen.op)) {
        return wrong("it does not say how op ", chosen.op, " reduces");
      }
    }
    return {};
  }

  // Accumulators and kept rows.
  Status checkStack() const {
    int64_t stackBytes = 0;
    bool isMixed = false;
    for (const ReductionSchedule& reduction : stage_.reductions) {
      if (reduction.strategy != ReductionStrategy::kAccumulate) {
        isMixed = accumulates();
        continue;
      }
      for (mlir::Value result : opNumbered(fusion_, reduction.op)->getResults()) {
        stackBytes += stage_.chunk * bytesOf(result);
      }
    }
    for (const KeptRow& row : stage_.kept) {
      if (!llvm::is_contained(chosen_.kept, row)) return wrong("a row cannot be kept");
      stackBytes += stage_.dims.back().size * bytesOf(opNumbered(fusion_, row.value)->getResult(0));
    }
    if (stackBytes > kMaxStackBytes) return wrong("it takes ", stackBytes, " bytes of stack");
    if (isMixed) return wrong("either all reductions accumulate or none");
    return {};
  }

  Status checkReduction(const ReductionSchedule& reduction, shlo::ReduceOp reduce,
                        const ReductionSchedule& chosen) const {
    unsigned maxLanes =
        reduction.strategy == ReductionStrategy::kGroup ? target_.groupSize : kMaxLanes;
    if (!llvm::isPowerOf2_32(reduction.lanes) || reduction.lanes > maxLanes ||
        reduction.interleave < 1 || reduction.interleave > kMaxInterleave ||
        !llvm::isPowerOf2_32(reduction.restLanes) || reduction.restLanes > kMaxLanes ||
        reduction.restInterleave < 1 || reduction.restInterleave > kMaxInterleave) {
      return wrong("a reduction's lanes and interleave are out of range");
    }
    ReducedAxes reduced = reducedAxesOf(reduce);
    int64_t last = reduced.axes.empty() ? 1 : reduced.axes.back().size;
    bool needsNeutral =
        (reduction.strategy == ReductionStrategy::kRow && reduction.interleave > 1) ||
        reduction.restInterleave > 1;
    if (needsNeutral && !hasNeutralValue(reduce)) {
      return wrong("a reducer without a neutral value has one accumulator");
    }
    const bool isAccumulated = reduction.strategy == ReductionStrategy::kAccumulate;
    if (reduction.block != 0 &&
        ((reduction.strategy != ReductionStrategy::kRow && !isAccumulated) || !isRounded(reduce) ||
         (isAccumulated && !hasNeutralValue(reduce)))) {
      return wrong("only sums of floats along rows, or row by row, are combined by blocks");
    }
    const unsigned rowLanes =
        reduction.strategy == ReductionStrategy::kRow ? reduction.lanes : reduction.restLanes;
    if (static_cast<int64_t>(rowLanes) > std::max<int64_t>(1, last)) {
      return wrong("there are ", last, " elements to reduce");
    }
    if (reduction.strategy == ReductionStrategy::kAccumulate &&
        (chosen.strategy != reduction.strategy || reduction.interleave > last)) {
      return wrong("the sums are read while they grow");
    }
    const bool isNeighbours = reduction.strategy == ReductionStrategy::kGroup;
    if (isNeighbours && reduction.interleave != 1 &&
        (chosen.strategy != reduction.strategy || reduction.interleave != chosen.interleave)) {
      return wrong("a thread's neighbours must be 1 or as many as one access has");
    }
    if (reduction.strategy == ReductionStrategy::kGroup &&
        (stage_.groupThreads == 1 || reduction.lanes != stage_.groupThreads)) {
      return wrong("there is no group of so many threads");
    }
    if (reduction.strategy == ReductionStrategy::kGroup &&
        !canShareInGroup(reduce, reduction.lanes, reduction.interleave)) {
      return wrong("there are ", last, " elements for threads to begin with");
    }
    return {};
  }

  const Stage& stage_;
  const Stage& chosen_;
  ir::FusionOp fusion_;
  const TargetModel& target_;
};

template <>
Status StageVerifier<LoopStage>::checkOwn() const {
  if (stage_.rowResults != chosen_.rowResults) return wrongResults();
  ISTHMUS_RETURN_IF_ERROR(checkDims());
  ISTHMUS_RETURN_IF_ERROR(checkOrder());
  ISTHMUS_RETURN_IF_ERROR(checkTiles());
  ISTHMUS_RETURN_IF_ERROR(checkOuterCuts());
  if (!stage_.rowResults.empty() &&
      (!finishesRows(stage_) || stage_.dims.back().first != chosen_.dims.back().first)) {
    return wrong("results of rows need whole rows");
  }
  ISTHMUS_RETURN_IF_ERROR(checkReductions());
  return checkStack();
}

template <>
Status StageVerifier<ScanStage>::checkOwn() const {
  if (stage_.lanes > chosen_.lanes) return wrong("at most ", chosen_.lanes, " lanes lie together");
  if (stage_.scanDim != chosen_.scanDim || stage_.isScanFromEnd != chosen_.isScanFromEnd) {
    return wrong("the scan runs along another dimension");
  }
  if (stage_.scanPart != chosen_.scanPart || stage_.chunk != chosen_.chunk) {
    return wrong("the parts of a scan go together");
  }
  if ((stage_.groupThreads > 1) != (chosen_.groupThreads > 1)) {
    return wrong("threads that share a block are another number of tiles");
  }
  constexpr int64_t kMaxElements = 16;
  const int64_t most = stage_.groupThreads > 1 ? kMaxElements : 1;
  if (stage_.grain < 1 || stage_.grain > most) return wrong("grain must be from 1 to ", most);
  return checkWhole(stage_.scanPart != ScanPart::kNone);
}

template <>
Status StageVerifier<UpdateStage>::checkOwn() const {
  if (stage_.lanes > chosen_.lanes) return wrong("at most ", chosen_.lanes, " lanes lie together");
  return checkWhole();
}

template <>
Status StageVerifier<DotStage>::checkOwn() const {
  if (!hasFunction(chosen_) && stage_.function != FunctionForm()) {
    return wrong("no function of the backend computes it");
  }
  if (stage_.contraction != chosen_.contraction) return wrong("the product is another");
  mlir::Operation* product = opNumbered(fusion_, static_cast<unsigned>(chosen_.contraction));
  auto dot = mlir::dyn_cast<shlo::DotGeneralOp>(product);
  if (!dot && stage_.product.form != ProductForm::kLibrary) {
    return wrong("only libraries compute a convolution with other work");
  }
  if (!hasFunction(chosen_)) {
    if (stage_.sums >= 0) return wrong("sums stay in registers");
    std::string why = productRefusal(product, stage_, target_);
    return why.empty() ? Status() : wrong(why);
  }
  if (!hasFunction(stage_)) return wrong("no kernels multiply");
  if (stage_.lanes > chosen_.lanes) return wrong("at most ", chosen_.lanes, " lanes lie together");
  if (stage_.sums == chosen_.sums) return {};
  const bool isResult =
      stage_.sums >= 0 && stage_.sums < static_cast<int>(fusion_->getNumResults());
  if (isResult &&
      canHoldSums(dot, tensorTypeOf(fusion_->getResult(stage_.sums)).getElementType())) {
    return {};
  }
  return wrong("the sums have no room there");
}

template <>
Status StageVerifier<AttentionStage>::checkOwn() const {
  // Whether it is one's, the backend says.
  if (stage_.isOfLibrary && target_.device == DeviceKind::kGpu) return {};
  if (stage_.isOfLibrary) return wrong("rows have kernels of their own");
  if (chosen_.isOfLibrary) return wrong("only a library computes it");
  if (target_.device == DeviceKind::kGpu) {
    if (stage_.dims != chosen_.dims || stage_.tiledDims != chosen_.tiledDims) {
      return wrong("tiles are of rows of a batch item");
    }
    const char* why = tileRefusal(fusion_, stage_, target_);
    return why ? wrong(why) : Status();
  }
  constexpr int64_t kMaxRows = 1024;
  if (stage_.rows >= 1 && stage_.rows <= kMaxRows) return {};
  return wrong("chunk must be from 1 to ", kMaxRows, " rows");
}

// Operations outside of fusions (compiler/schedule/data).
template <typename Stage>
Status StageVerifier<Stage>::checkOwn() const {
  return wrong("it is no stage of a fusion");
}

Status verifyStage(const StageSchedule& stage, const StageSchedule& chosen, ir::FusionOp fusion,
                   const TargetModel& target) {
  return stage.visit([&](const auto& of) {
    using Stage = std::remove_cvref_t<decltype(of)>;
    const auto* same = chosen.as<Stage>();
    if (same) return StageVerifier<Stage>(of, *same, fusion, target).run();
    return invalidArgument("schedule '", toString(stage),
                           "': the stage computes other results than the fusion has");
  });
}

}  // namespace

Status verifySchedule(const KernelSchedule& schedule, ir::FusionOp fusion,
                      const TargetModel& target) {
  ISTHMUS_ASSIGN_OR_RETURN(KernelSchedule chosen, chooseSchedule(fusion, target));
  // The backend checks which of its function's forms is said.
  const auto* given = schedule.only<DotStage>();
  auto* dot = chosen.only<DotStage>();
  if (given && dot && hasFunction(*dot)) dot->function = given->function;
  if (schedule == chosen) return {};
  if (schedule.stages.size() != chosen.stages.size()) {
    return invalidArgument("the schedule has ", schedule.stages.size(), " stages, expected ",
                           chosen.stages.size());
  }
  for (size_t i = 0; i < chosen.stages.size(); ++i) {
    ISTHMUS_RETURN_IF_ERROR(verifyStage(schedule.stages[i], chosen.stages[i], fusion, target));
  }
  return {};
}

}  // namespace isthmus
