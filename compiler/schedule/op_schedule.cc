#include "compiler/schedule/op_schedule.h"

#include "mlir/IR/Builders.h"

namespace isthmus {

StatusOr<std::optional<KernelSchedule>> carriedSchedule(mlir::Operation* op) {
  mlir::Attribute carried = op->getAttr(kOpScheduleName);
  if (!carried) return std::optional<KernelSchedule>();
  auto texts = llvm::dyn_cast<mlir::ArrayAttr>(carried);
  KernelSchedule schedule;
  for (mlir::Attribute each : texts ? texts.getValue() : llvm::ArrayRef<mlir::Attribute>()) {
    auto text = llvm::dyn_cast<mlir::StringAttr>(each);
    if (!text) return invalidArgument("a schedule is an array of texts");
    ISTHMUS_ASSIGN_OR_RETURN(StageSchedule stage, parseStageSchedule(text.getValue()));
    schedule.stages.push_back(std::move(stage));
  }
  if (schedule.stages.empty()) return invalidArgument("a schedule is an array of texts");
  return std::optional(std::move(schedule));
}

void attachOpSchedule(const KernelSchedule& schedule, mlir::Operation* op) {
  mlir::Builder builder(op->getContext());
  llvm::SmallVector<mlir::Attribute, 2> texts;
  for (const StageSchedule& stage : schedule.stages) {
    texts.push_back(builder.getStringAttr(toString(stage)));
  }
  op->setAttr(kOpScheduleName, builder.getArrayAttr(texts));
}

}  // namespace isthmus
