// The schedule pass: each fusion gets the schedule that its kernel will have.
#include "compiler/schedule/schedule_pass.h"

#include "compiler/dialect/source_location.h"
#include "compiler/schedule/attention/attention.h"
#include "compiler/schedule/choose_schedule.h"
#include "isthmus/log.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus {
namespace {

// "kernel 3 (tensor<8xf32>) -> tensor<8xf32>: add, tanh at f.py:12; loop results=0 …".
std::string lineOf(ir::FusionOp fusion, int number, const StatusOr<KernelSchedule>& schedule) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "kernel " << number << " (";
  llvm::interleaveComma(fusion->getOperandTypes(), out);
  out << ") -> (";
  llvm::interleaveComma(fusion->getResultTypes(), out);
  out << "):";
  for (mlir::Operation& op : fusion.getBody().front().without_terminator()) {
    out << " " << op.getName().stripDialect();
  }
  if (std::string where = sourceLocation(fusion.getLoc()); !where.empty()) out << " at " << where;
  if (!schedule.ok()) {
    out << "; refused: " << schedule.status().message();
    return text;
  }
  for (const StageSchedule& stage : schedule->stages) out << "; " << toString(stage);
  return text;
}

class SchedulePass : public mlir::PassWrapper<SchedulePass, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SchedulePass)

  SchedulePass() = default;
  explicit SchedulePass(const TargetModel& target) : target_(target) {}

  llvm::StringRef getArgument() const override { return "schedule"; }
  llvm::StringRef getDescription() const override {
    return "Decides how each fusion's kernel runs over its elements.";
  }

  void runOnOperation() override {
    int number = 0;
    getOperation().walk([&](ir::FusionOp fusion) {
      // Rows of an attention, which is scheduled after what is in it.
      const bool isInner = mlir::isa<ir::FusionOp>(fusion->getParentOp());
      StatusOr<KernelSchedule> schedule =
          isInner ? rowScheduleOf(fusion, target_) : chooseSchedule(fusion, target_);
      if (schedule.ok()) attachSchedule(*schedule, fusion);
      if (logsCompilation()) logCompilation(lineOf(fusion, number++, schedule));
    });
  }

 private:
  TargetModel target_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createSchedulePass(const TargetModel& target) {
  return std::make_unique<SchedulePass>(target);
}

void registerSchedulePass() {
  mlir::PassRegistration<SchedulePass>([] { return createSchedulePass(TargetModel()); });
}

}  // namespace isthmus
