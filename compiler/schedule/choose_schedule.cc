// Which stages a kernel has, and the text that a fusion carries.
#include "compiler/schedule/choose_schedule.h"

#include <algorithm>
#include <cmath>

#include "compiler/cost/op_cost.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/scan.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/attention/attention.h"
#include "compiler/schedule/dot_scheduler.h"
#include "compiler/schedule/loop/loop_scheduler.h"
#include "compiler/schedule/loop/reduction_axes.h"
#include "compiler/schedule/loop/update_scheduler.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "mlir/IR/Builders.h"

namespace isthmus {
namespace {

mlir::Operation* yieldOf(ir::FusionOp fusion) { return fusion.getBody().front().getTerminator(); }

llvm::SmallVector<int64_t, 4> squeezed(mlir::Value value) {
  llvm::SmallVector<int64_t, 4> shape;
  for (int64_t extent : mlir::cast<mlir::RankedTensorType>(value.getType()).getShape()) {
    if (extent != 1) shape.push_back(extent);
  }
  return shape;
}

// The kind of stage that computes all results of `op` at once, if it is not an element at a time.
std::optional<StageKind> wholeKind(mlir::Operation* op) {
  if (!op) return std::nullopt;
  if (mlir::isa<shlo::ScatterOp>(op)) return StageKind::kScatter;
  if (mlir::isa<shlo::SelectAndScatterOp>(op)) return StageKind::kSelectAndScatter;
  if (mlir::isa<shlo::DynamicUpdateSliceOp>(op)) return StageKind::kUpdateSlice;
  return std::nullopt;
}

class KernelScheduler {
 public:
  KernelScheduler(ir::FusionOp fusion, const TargetModel& target)
      : fusion_(fusion), target_(target), done_(yieldOf(fusion)->getNumOperands(), false) {}

  StatusOr<KernelSchedule> run() {
    mlir::Operation* yield = yieldOf(fusion_);
    for (mlir::Value operand : yield->getOperands()) {
      auto type = mlir::dyn_cast<mlir::RankedTensorType>(operand.getType());
      if (!type || !type.hasStaticShape()) {
        return unimplemented("a kernel's result must be an array of static shape");
      }
    }
    if (std::optional<Attention> attention = attentionOf(fusion_)) return rows(*attention);
    if (mlir::Operation* op = productOf(fusion_)) return product(op);
    if (shlo::ReduceWindowOp scan = scanIn(fusion_)) return runningReduction(scan);
    for (unsigned i = 0; i < done_.size(); ++i) {
      if (done_[i]) continue;
      mlir::Operation* op = yield->getOperand(i).getDefiningOp();
      if (auto kind = wholeKind(op)) {
        ISTHMUS_RETURN_IF_ERROR(addWhole(*kind, op, i));
      } else {
        addLoop(i);
      }
    }
    return finished();
  }

 private:
  StatusOr<KernelSchedule> finished() {
    for (StageSchedule& stage : schedule_.stages) {
      auto* fused = stage.as<FusedStage>();
      addInner(*fused);
      chooseShare(*fused, stage.tiles());
    }
    return std::move(schedule_);
  }

  // All results are the scan's, or are computed from it at the same index.
  StatusOr<KernelSchedule> runningReduction(shlo::ReduceWindowOp scan) {
    mlir::Operation* yield = yieldOf(fusion_);
    ScanStage stage;
    for (unsigned i = 0; i < done_.size(); ++i) {
      if (tensorTypeOf(yield->getOperand(i)).getShape() !=
          tensorTypeOf(scan->getResult(0)).getShape()) {
        return unimplemented("a running reduction with a result of another shape");
      }
      stage.results.push_back(i);
    }
    const Scan along = *scanOf(scan);
    stage.scanDim = along.dim;
    stage.isScanFromEnd = along.fromEnd;
    llvm::append_range(schedule_.stages, scheduleScan(fusion_, target_, stage));
    const bool isAlone = llvm::equal(yield->getOperands(), scan->getResults());
    if (schedule_.stages.size() > 1 && !isAlone) {
      return unimplemented("threads that share a line read of a scan what they store of it");
    }
    return finished();
  }

  StatusOr<KernelSchedule> rows(const Attention& attention) {
    if (const char* why = partsRefusal(attention, target_)) {
      return unimplemented("no kernel computes these rows between products: ", why);
    }
    AttentionStage stage;
    for (unsigned i = 0; i < done_.size(); ++i) stage.results.push_back(i);
    const char* why = attentionRefusal(attention, target_);
    if (why && target_.device == DeviceKind::kCpu) {
      return unimplemented("no kernel computes these rows between products: ", why);
    }
    // What groups do not compute is fused for a library alone.
    scheduleAttention(fusion_, target_, why != nullptr, &stage);
    schedule_.stages.push_back(std::move(stage));
    return std::move(schedule_);
  }

  StatusOr<KernelSchedule> product(mlir::Operation* op) {
    auto dot = mlir::dyn_cast<shlo::DotGeneralOp>(op);
    const char* why = dot ? epilogueRefusal(fusion_, dot.getResult(), dot, target_) : nullptr;
    if (why) {
      return unimplemented("no kernel computes a dot_general with this work on its sums: ", why);
    }
    for (mlir::Value operand : op->getOperands()) {
      if (operand.getDefiningOp()) {
        return unimplemented("the operands of a kernel's product must be in memory");
      }
    }
    DotStage stage;
    for (unsigned i = 0; i < done_.size(); ++i) stage.results.push_back(i);
    scheduleDot(fusion_, target_, &stage);
    schedule_.stages.push_back(std::move(stage));
    return std::move(schedule_);
  }

  // Results of one shape, but for dimensions of size 1, share their loops; each shape is a stage,
  // unless its elements are by-products of the rows of another.
  void addLoop(unsigned first) {
    mlir::Operation* yield = yieldOf(fusion_);
    for (unsigned j = first + 1; j < done_.size() && !done_[first]; ++j) {
      if (!done_[j] && isLoop(j) && hasRowsOf(j, first)) addLoop(j);
    }
    if (done_[first]) return;
    LoopStage stage;
    for (unsigned j = first; j < done_.size(); ++j) {
      if (done_[j] || squeezed(yield->getOperand(j)) != squeezed(yield->getOperand(first))) {
        continue;
      }
      done_[j] = true;
      stage.results.push_back(j);
    }
    scheduleLoop(fusion_, target_, &stage);
    addRowResults(stage);
    schedule_.stages.push_back(std::move(stage));
  }

  bool isLoop(unsigned result) const {
    return !wholeKind(yieldOf(fusion_)->getOperand(result).getDefiningOp());
  }

  // Whether the shape of `rows` is that of `result` without some of the last dimensions.
  bool hasRowsOf(unsigned result, unsigned rows) const {
    auto whole = squeezed(yieldOf(fusion_)->getOperand(result));
    auto outer = squeezed(yieldOf(fusion_)->getOperand(rows));
    return outer.size() < whole.size() && llvm::ArrayRef<int64_t>(whole).take_front(outer.size()) ==
                                              llvm::ArrayRef<int64_t>(outer);
  }

  void addRowResults(LoopStage& stage) {
    if (!finishesRows(stage)) return;
    for (unsigned j = 0; j < done_.size(); ++j) {
      mlir::Value value = yieldOf(fusion_)->getOperand(j);
      if (done_[j] || !isLoop(j) || !hasRowsOf(stage.results[0], j) ||
          static_cast<int64_t>(squeezed(value).size()) != stage.dims.back().first ||
          !isReducedFromRows(value, stage)) {
        continue;
      }
      done_[j] = true;
      stage.rowResults.push_back(j);
    }
  }

  // Whether `value` is computed from a reduction that lanes or threads share, row by row.
  bool isReducedFromRows(mlir::Value value, const LoopStage& stage) const {
    llvm::SmallPtrSet<mlir::Operation*, 16> rows, seen;
    for (const ReductionSchedule& reduction : stage.reductions) {
      if (reduction.strategy == ReductionStrategy::kRow ||
          reduction.strategy == ReductionStrategy::kGroup) {
        rows.insert(opNumbered(fusion_, reduction.op));
      }
    }
    llvm::SmallVector<mlir::Value, 8> pending = {value};
    while (!pending.empty()) {
      mlir::Operation* op = pending.pop_back_val().getDefiningOp();
      if (!op || !seen.insert(op).second) continue;
      if (rows.contains(op)) return true;
      llvm::append_range(pending, op->getOperands());
    }
    return false;
  }

  // The results of `op`, which must all be the fusion's; empty if they are not.
  llvm::SmallVector<unsigned, 2> takeResults(mlir::Operation* op, unsigned first) {
    mlir::Operation* yield = yieldOf(fusion_);
    llvm::SmallVector<unsigned, 2> results;
    for (mlir::Value result : op->getResults()) {
      bool found = false;
      for (unsigned j = first; j < done_.size() && !found; ++j) {
        if (yield->getOperand(j) != result || done_[j]) continue;
        done_[j] = found = true;
        results.push_back(j);
      }
      if (!found) return {};
    }
    return results;
  }

  Status addWhole(StageKind kind, mlir::Operation* op, unsigned first) {
    const llvm::SmallVector<unsigned, 2> results = takeResults(op, first);
    if (results.empty()) {
      return unimplemented("a fusion must yield all results of ",
                           op->getName().getStringRef().str());
    }
    const bool isFilled = kind == StageKind::kSelectAndScatter;
    for (unsigned result : results) {
      addBefore(isFilled ? StageKind::kFill : StageKind::kCopy, result);
      if (isFilled) break;
    }
    UpdateStage stage(kind);
    stage.results = results;
    if (kind == StageKind::kScatter) {
      scheduleScatter(fusion_, target_, &stage);
    } else if (kind == StageKind::kUpdateSlice) {
      scheduleUpdateSlice(fusion_, target_, &stage);
    } else {
      scheduleSelectAndScatter(fusion_, target_, &stage);
    }
    schedule_.stages.push_back(std::move(stage));
    return {};
  }

  void chooseShare(FusedStage& stage, int64_t tiles) const {
    if (target_.device != DeviceKind::kCpu || tiles < 2 || stage.ns < target_.parallelNs) return;
    const double nsPerTile = std::max(stage.ns / static_cast<double>(tiles), 1e-3);
    stage.share = std::clamp<int64_t>(std::llround(target_.grainNs / nsPerTile), 1, tiles);
  }

  // What is computed inside of an element: small windows, and reductions in stages that are no
  // loops over results.
  void addInner(FusedStage& stage) {
    const bool isLoop = stage.kind == StageKind::kLoop || stage.kind == StageKind::kCopy ||
                        stage.kind == StageKind::kFill;
    unsigned number = 0;
    for (mlir::Operation& op : fusion_.getBody().front()) {
      if (auto window = mlir::dyn_cast<shlo::ReduceWindowOp>(op)) {
        const bool isScan = stage.kind == StageKind::kScan && &op == wholeOpOf(fusion_, stage);
        if (!isScan && windowElements(window) <= target_.maxUnrolledWindow)
          stage.unrolled.push_back(number);
      } else if (auto reduce = mlir::dyn_cast<shlo::ReduceOp>(op); reduce && !isLoop) {
        stage.reductions.push_back(chooseRowReduction(reduce, number, target_));
      }
      ++number;
    }
  }

  void addBefore(StageKind kind, unsigned result) {
    LoopStage stage(kind);
    stage.results = {result};
    scheduleLoop(fusion_, target_, &stage);
    schedule_.stages.push_back(std::move(stage));
  }

  ir::FusionOp fusion_;
  const TargetModel& target_;
  std::vector<bool> done_;
  KernelSchedule schedule_;
};

}  // namespace

mlir::RankedTensorType Root::type() const {
  return mlir::cast<mlir::RankedTensorType>((shapedLike ? shapedLike : value).getType());
}

shlo::ReduceWindowOp scanIn(ir::FusionOp fusion) {
  for (auto window : fusion.getBody().front().getOps<shlo::ReduceWindowOp>()) {
    if (scanOf(window)) return window;
  }
  return nullptr;
}

mlir::Operation* wholeOpOf(ir::FusionOp fusion, const StageBase& stage) {
  if (stage.kind == StageKind::kScan) return scanIn(fusion);
  return yieldOf(fusion)->getOperand(stage.results[0]).getDefiningOp();
}

mlir::Operation* opNumbered(ir::FusionOp fusion, unsigned number) {
  for (mlir::Operation& op : fusion.getBody().front()) {
    if (number-- == 0) return &op;
  }
  return nullptr;
}

llvm::SmallVector<Root, 4> rootsOf(ir::FusionOp fusion, const LoopStage& stage) {
  llvm::SmallVector<Root, 4> roots;
  for (unsigned result : stage.results) {
    mlir::Value value = yieldOf(fusion)->getOperand(result);
    Root root{value, result};
    if (stage.kind == StageKind::kCopy) {
      auto number = mlir::cast<mlir::OpResult>(value).getResultNumber();
      auto scatter = mlir::dyn_cast<shlo::ScatterOp>(value.getDefiningOp());
      root.value = scatter ? scatter.getInputs()[number] : value.getDefiningOp()->getOperand(0);
      if (auto argument = mlir::dyn_cast<mlir::BlockArgument>(root.value)) {
        root.operand = static_cast<int>(argument.getArgNumber());
      }
    } else if (stage.kind == StageKind::kFill) {
      root.value = mlir::cast<shlo::SelectAndScatterOp>(value.getDefiningOp()).getInitValue();
      root.shapedLike = value;
    }
    roots.push_back(root);
  }
  return roots;
}

llvm::SmallVector<Root, 2> rowRootsOf(ir::FusionOp fusion, const LoopStage& stage) {
  llvm::SmallVector<Root, 2> roots;
  for (unsigned result : stage.rowResults) {
    roots.push_back({yieldOf(fusion)->getOperand(result), result});
  }
  return roots;
}

bool finishesRows(const LoopStage& stage) {
  if (stage.kind != StageKind::kLoop) return false;
  const auto loops = static_cast<int64_t>(stage.dims.size());
  if (stage.order == LoopOrder::kRowBlocks) return stage.orderDim + 2 == loops;
  if (stage.order != LoopOrder::kRows || stage.chunk != stage.dims.back().size) return false;
  return stage.groupThreads > 1 ? stage.tiledDims + 1 == loops : stage.tiledDims < loops;
}

StatusOr<KernelSchedule> chooseSchedule(ir::FusionOp fusion, const TargetModel& target) {
  return KernelScheduler(fusion, target).run();
}

StatusOr<KernelSchedule> scheduleOf(ir::FusionOp fusion, const TargetModel& target) {
  std::optional<mlir::ArrayAttr> carried = fusion.getSchedule();
  if (!carried) return chooseSchedule(fusion, target);
  KernelSchedule schedule;
  for (mlir::Attribute text : *carried) {
    ISTHMUS_ASSIGN_OR_RETURN(StageSchedule stage,
                             parseStageSchedule(mlir::cast<mlir::StringAttr>(text).getValue()));
    schedule.stages.push_back(std::move(stage));
  }
  ISTHMUS_RETURN_IF_ERROR(verifySchedule(schedule, fusion, target));
  return schedule;
}

void attachSchedule(const KernelSchedule& schedule, ir::FusionOp fusion) {
  mlir::Builder builder(fusion.getContext());
  llvm::SmallVector<mlir::Attribute, 2> texts;
  for (const StageSchedule& stage : schedule.stages) {
    texts.push_back(builder.getStringAttr(toString(stage)));
  }
  fusion.setScheduleAttr(builder.getArrayAttr(texts));
}

}  // namespace isthmus
