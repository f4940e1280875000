#include "compiler/schedule/data/data_scheduler.h"

#include <algorithm>

#include "compiler/cost/time.h"
#include "compiler/schedule/data/fft_schedule.h"
#include "compiler/schedule/data/sort_schedule.h"
#include "compiler/schedule/data/top_k_schedule.h"
#include "compiler/schedule/op_schedule.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

namespace isthmus {
namespace {

// A stage of the operation of which nothing is decided yet.
template <typename Stage>
Stage baseOf(mlir::Operation* op, const TargetModel& target) {
  Stage stage;
  for (unsigned i = 0; i < op->getNumResults(); ++i) stage.results.push_back(i);
  stage.ns = std::max(1.0, workNs(target, workOf(op)));
  return stage;
}

StageKind kindOfStages(mlir::Operation* op) {
  if (llvm::isa<shlo::SortOp>(op)) return StageKind::kSort;
  return llvm::isa<shlo::FftOp>(op) ? StageKind::kFft : StageKind::kTopK;
}

std::string commonRefusal(const StageBase& stage, mlir::Operation* op, const TargetModel& target) {
  const bool isOfAllResults = stage.results.size() == op->getNumResults() &&
                              llvm::all_of(llvm::enumerate(stage.results), [](auto result) {
                                return result.value() == result.index();
                              });
  if (stage.kind != kindOfStages(op) || !isOfAllResults) return "the operation is another";
  if (stage.groupThreads == 1) return "";  // work-items
  if (!target.hasGroups()) return "the device has no groups of threads";
  const bool isPower = llvm::isPowerOf2_32(stage.groupThreads);
  const bool isFft = stage.kind == StageKind::kFft;
  if (stage.groupThreads == 0 || stage.groupThreads > target.groupSize || (!isPower && !isFft)) {
    return std::string("threads must be ") + (isFft ? "" : "a power of two ") + "up to " +
           std::to_string(target.groupSize);
  }
  return "";
}

StatusOr<std::string> refusalOf(mlir::Operation* op, const KernelSchedule& schedule,
                                const TargetModel& target) {
  return llvm::TypeSwitch<mlir::Operation*, StatusOr<std::string>>(op)
      .Case([&](shlo::SortOp sort) -> StatusOr<std::string> {
        ISTHMUS_ASSIGN_OR_RETURN(SortShape shape, sortShapeOf(sort));
        const auto* stage = schedule.only<SortStage>();
        return stage ? sortRefusal(shape, *stage, target) : std::string("a sort has one stage");
      })
      .Case([&](shlo::CompositeOp topK) -> StatusOr<std::string> {
        ISTHMUS_ASSIGN_OR_RETURN(SelectionShape shape, selectionShapeOf(topK, target));
        return topKRefusal(shape, schedule.all<TopKStage>(), target);
      })
      .Case([&](shlo::FftOp fft) -> StatusOr<std::string> {
        ISTHMUS_ASSIGN_OR_RETURN(FftShape shape, fftShapeOf(fft));
        return fftRefusal(shape, schedule.all<FftStage>(), target);
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
  return llvm::TypeSwitch<mlir::Operation*, StatusOr<KernelSchedule>>(op)
      .Case([&](shlo::SortOp sort) -> StatusOr<KernelSchedule> {
        ISTHMUS_ASSIGN_OR_RETURN(SortShape shape, sortShapeOf(sort));
        if (shape.isEmpty()) return KernelSchedule();
        auto stage = baseOf<SortStage>(op, target);
        scheduleSort(shape, target, &stage, reason);
        return KernelSchedule{{std::move(stage)}};
      })
      .Case([&](shlo::CompositeOp topK) -> StatusOr<KernelSchedule> {
        ISTHMUS_ASSIGN_OR_RETURN(SelectionShape shape, selectionShapeOf(topK, target));
        if (shape.isEmpty()) return KernelSchedule();
        return scheduleTopK(shape, target, baseOf<TopKStage>(op, target), reason);
      })
      .Case([&](shlo::FftOp fft) -> StatusOr<KernelSchedule> {
        ISTHMUS_ASSIGN_OR_RETURN(FftShape shape, fftShapeOf(fft));
        return scheduleFft(shape, target, baseOf<FftStage>(op, target), reason);
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
    if (why.empty()) why = commonRefusal(stage.base(), op, target);
  }
  if (why.empty()) {
    ISTHMUS_ASSIGN_OR_RETURN(why, refusalOf(op, *given, target));
  }
  if (!why.empty()) return invalidArgument("schedule '", textOfStages(*given), "': ", why);
  return *std::move(given);
}

}  // namespace isthmus
