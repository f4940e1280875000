#include "compiler/schedule/data/data_scheduler.h"

#include <algorithm>

#include "compiler/cost/time.h"
#include "compiler/schedule/data/fft_schedule.h"
#include "compiler/schedule/data/sort_schedule.h"
#include "compiler/schedule/data/top_k_schedule.h"
#include "compiler/schedule/op_schedule.h"
#include "llvm/ADT/TypeSwitch.h"

namespace isthmus {
namespace {

StageKind kindOfStages(mlir::Operation* op) {
  if (llvm::isa<shlo::SortOp>(op)) return StageKind::kSort;
  return llvm::isa<shlo::FftOp>(op) ? StageKind::kFft : StageKind::kTopK;
}

StageSchedule baseOf(mlir::Operation* op, const TargetModel& target) {
  StageSchedule stage;
  stage.kind = kindOfStages(op);
  for (unsigned i = 0; i < op->getNumResults(); ++i) stage.results.push_back(i);
  stage.ns = std::max(1.0, workNs(target, workOf(op)));
  return stage;
}

// Of `given`, what a stage of this kind says; the rest is as `base`.
StageSchedule ownFields(const StageSchedule& given, const StageSchedule& base) {
  StageSchedule own = base;
  own.ns = given.ns;
  own.groupThreads = given.groupThreads;
  switch (base.kind) {
    case StageKind::kSort:
      own.run = given.run;
      own.lines = given.lines;
      own.chunk = given.chunk;
      own.grain = given.grain;
      break;
    case StageKind::kTopK:
      own.lanes = given.lanes;
      own.chunk = given.chunk;
      own.grain = given.grain;
      break;
    default:
      own.scanDim = given.scanDim;
      own.factors = given.factors;
      own.lines = given.lines;
  }
  return own;
}

std::string commonRefusal(const StageSchedule& stage, const StageSchedule& base,
                          const TargetModel& target) {
  if (stage.kind != base.kind || stage.results != base.results) return "the operation is another";
  // Which one, the text shows.
  if (ownFields(stage, base) != stage) return "a stage of this kind has no such field";
  if (stage.groupThreads == 1) return "";  // work-items
  if (!target.hasGroups()) return "the device has no groups of threads";
  const bool isPower = llvm::isPowerOf2_32(stage.groupThreads);
  if (stage.groupThreads == 0 || stage.groupThreads > target.groupSize ||
      (!isPower && base.kind != StageKind::kFft)) {
    return std::string("threads must be ") +
           (base.kind == StageKind::kFft ? "" : "a power of two ") + "up to " +
           std::to_string(target.groupSize);
  }
  return "";
}

StatusOr<std::string> refusalOf(mlir::Operation* op, const KernelSchedule& schedule,
                                const TargetModel& target) {
  return llvm::TypeSwitch<mlir::Operation*, StatusOr<std::string>>(op)
      .Case([&](shlo::SortOp sort) -> StatusOr<std::string> {
        ISTHMUS_ASSIGN_OR_RETURN(SortShape shape, sortShapeOf(sort));
        if (schedule.stages.size() != 1) return std::string("a sort has one stage");
        return sortRefusal(shape, schedule.stages[0], target);
      })
      .Case([&](shlo::CompositeOp topK) -> StatusOr<std::string> {
        ISTHMUS_ASSIGN_OR_RETURN(SelectionShape shape, selectionShapeOf(topK, target));
        return topKRefusal(shape, schedule, target);
      })
      .Case([&](shlo::FftOp fft) -> StatusOr<std::string> {
        ISTHMUS_ASSIGN_OR_RETURN(FftShape shape, fftShapeOf(fft));
        return fftRefusal(shape, schedule, target);
      });
}

std::string textOfStages(const KernelSchedule& schedule) {
  std::string text;
  for (const StageSchedule& stage : schedule.stages) {
    text += (text.empty() ? "" : "; ") + toString(stage);
  }
  return text;
}

}  // namespace

bool isDataOp(mlir::Operation* op, const TargetModel& target) {
  if (!hasSortsAndTransforms(target.device)) return false;
  auto composite = llvm::dyn_cast<shlo::CompositeOp>(op);
  if (composite) return composite.getName() == "chlo.top_k" && target.hasGroups();
  return llvm::isa<shlo::SortOp, shlo::FftOp>(op);
}

StatusOr<KernelSchedule> chooseDataSchedule(mlir::Operation* op, const TargetModel& target,
                                            std::string* reason) {
  const StageSchedule base = baseOf(op, target);
  return llvm::TypeSwitch<mlir::Operation*, StatusOr<KernelSchedule>>(op)
      .Case([&](shlo::SortOp sort) -> StatusOr<KernelSchedule> {
        ISTHMUS_ASSIGN_OR_RETURN(SortShape shape, sortShapeOf(sort));
        if (shape.isEmpty()) return KernelSchedule();
        KernelSchedule schedule{{base}};
        scheduleSort(shape, target, &schedule.stages[0], reason);
        return schedule;
      })
      .Case([&](shlo::CompositeOp topK) -> StatusOr<KernelSchedule> {
        ISTHMUS_ASSIGN_OR_RETURN(SelectionShape shape, selectionShapeOf(topK, target));
        if (shape.isEmpty()) return KernelSchedule();
        return scheduleTopK(shape, target, base, reason);
      })
      .Case([&](shlo::FftOp fft) -> StatusOr<KernelSchedule> {
        ISTHMUS_ASSIGN_OR_RETURN(FftShape shape, fftShapeOf(fft));
        return scheduleFft(shape, target, base, reason);
      })
      .Default([](mlir::Operation*) -> StatusOr<KernelSchedule> {
        return unimplemented("no kernel of data");
      });
}

StatusOr<KernelSchedule> dataScheduleOf(mlir::Operation* op, const TargetModel& target) {
  ISTHMUS_ASSIGN_OR_RETURN(KernelSchedule chosen, chooseDataSchedule(op, target));
  ISTHMUS_ASSIGN_OR_RETURN(std::optional<KernelSchedule> given, carriedSchedule(op));
  if (!given || *given == chosen) return chosen;
  std::string why;
  if (chosen.stages.empty()) why = "there is nothing to compute";
  for (const StageSchedule& stage : given->stages) {
    if (why.empty()) why = commonRefusal(stage, baseOf(op, target), target);
  }
  if (why.empty()) {
    ISTHMUS_ASSIGN_OR_RETURN(why, refusalOf(op, *given, target));
  }
  if (!why.empty()) return invalidArgument("schedule '", textOfStages(*given), "': ", why);
  return *std::move(given);
}

}  // namespace isthmus
