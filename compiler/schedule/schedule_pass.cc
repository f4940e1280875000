// The schedule pass: each fusion gets the schedule that its kernel will have.
#include "compiler/schedule/schedule_pass.h"

#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/schedule/attention/attention.h"
#include "compiler/schedule/choose_schedule.h"
#include "compiler/schedule/data/data_scheduler.h"
#include "compiler/schedule/dot_scheduler.h"
#include "compiler/schedule/op_schedule.h"
#include "compiler/schedule/passes.h"
#include "compiler/schedule/products/product_shape.h"
#include "isthmus/log.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus {

#define GEN_PASS_DEF_SCHEDULEPASS
#include "compiler/schedule/passes.h.inc"

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

// "product 3 (tensor<8x8xf32>, …) -> (tensor<8x8xf32>): dot_general at f.py:12; dot results=0 …
// (matrices: …)".
std::string lineOf(const char* what, mlir::Operation* op, int number,
                   const StatusOr<KernelSchedule>& schedule, const std::string& reason) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << what << " " << number << " (";
  llvm::interleaveComma(op->getOperandTypes(), out);
  out << ") -> (";
  llvm::interleaveComma(op->getResultTypes(), out);
  auto composite = mlir::dyn_cast<shlo::CompositeOp>(op);
  out << "): " << (composite ? composite.getName() : op->getName().stripDialect());
  if (std::string where = sourceLocation(op->getLoc()); !where.empty()) out << " at " << where;
  if (!schedule.ok()) {
    out << "; refused: " << schedule.status().message();
    return text;
  }
  for (const StageSchedule& stage : schedule->stages) out << "; " << toString(stage);
  out << " (" << reason << ")";
  return text;
}

class SchedulePass : public impl::SchedulePassBase<SchedulePass> {
 public:
  SchedulePass() = default;
  SchedulePass(const TargetModel& target, IsOfLibrary isOfLibrary, FunctionFormOf functionFormOf)
      : target_(target),
        isOfLibrary_(std::move(isOfLibrary)),
        functionFormOf_(std::move(functionFormOf)) {}
  explicit SchedulePass(const SchedulePassOptions& options) : SchedulePassBase(options) {}

  void runOnOperation() override {
    if (forGpu) target_ = gpuTarget("spirv64-unknown-unknown");
    int number = 0;
    getOperation().walk([&](ir::FusionOp fusion) {
      // Rows of an attention, which is scheduled after what is in it.
      const bool isInner = mlir::isa<ir::FusionOp>(fusion->getParentOp());
      // Groups compute elements of rows between products, by no kernel of their own.
      if (isInner && target_.device == DeviceKind::kGpu) return;
      StatusOr<KernelSchedule> schedule =
          isInner ? rowScheduleOf(fusion, target_) : chooseSchedule(fusion, target_);
      if (schedule.ok() && isOfLibrary_ && !isInner) giveToLibrary(fusion, *schedule);
      std::string reason;
      auto* dot = schedule.ok() ? schedule->only<DotStage>() : nullptr;
      if (dot && functionFormOf_ && dot->product.form == ProductForm::kNone) {
        dot->function = functionFormOf_(contractionOf(fusion), *dot, &reason);
      }
      if (schedule.ok()) attachSchedule(*schedule, fusion);
      if (logsCompilation()) {
        if (reason.empty()) reason = reasonOf(fusion, schedule);
        logCompilation(lineOf(fusion, number++, schedule) +
                       (reason.empty() ? "" : " (" + reason + ")"));
      }
    });
    if (target_.products.unit != ProductUnit::kFunctions || functionFormOf_) scheduleProducts();
    scheduleData();
  }

 private:
  // If one computes it.
  void giveToLibrary(ir::FusionOp fusion, KernelSchedule& schedule) {
    auto* dot = schedule.only<DotStage>();
    auto* attention = schedule.only<AttentionStage>();
    if (dot && dot->product.form != ProductForm::kNone && isOfLibrary_(fusion)) {
      scheduleProduct(productOf(fusion), target_, ofFusion(fusion), dot);
    } else if (attention && isOfLibrary_(fusion)) {
      AttentionStage call;
      call.results = attention->results;
      scheduleAttention(fusion, target_, true, &call);
      *attention = std::move(call);
    }
  }

  // Asks about the whole fusion instead of the product in it.
  IsOfLibrary ofFusion(ir::FusionOp fusion) const {
    return [this, fusion](mlir::Operation*) { return isOfLibrary_ && isOfLibrary_(fusion); };
  }

  // Of a product with an epilogue, on a device whose kernels multiply: why it has its form.
  std::string reasonOf(ir::FusionOp fusion, const StatusOr<KernelSchedule>& schedule) const {
    const auto* dot = schedule.ok() ? schedule->only<DotStage>() : nullptr;
    if (!dot || dot->product.form == ProductForm::kNone) return "";
    DotStage stage = *dot;
    std::string reason;
    scheduleProduct(productOf(fusion), target_, ofFusion(fusion), &stage, &reason);
    return reason;
  }

  // Of those that are kernels, or calls of functions, by themselves.
  void scheduleProducts() {
    const bool areFunctions = target_.products.unit == ProductUnit::kFunctions;
    int number = 0;
    getOperation().walk([&](mlir::Operation* op) {
      if (!mlir::isa<shlo::DotGeneralOp, shlo::ConvolutionOp>(op) ||
          mlir::isa<ir::FusionOp>(op->getParentOp()) || (!areFunctions && !productKindsOf(op))) {
        return;
      }
      std::string reason;
      DotStage stage = areFunctions ? functionCallOf(op, target_, functionFormOf_, &reason)
                                    : chooseProduct(op, target_, isOfLibrary_, &reason);
      if (stage.function.name.empty() && areFunctions) return;
      const KernelSchedule schedule{{std::move(stage)}};
      attachOpSchedule(schedule, op);
      if (logsCompilation()) logCompilation(lineOf("product", op, number++, schedule, reason));
    });
  }

  // Sorts, selections and Fourier transforms. Those of types and sizes without a kernel are left to
  // the host.
  void scheduleData() {
    int number = 0;
    getOperation().walk([&](mlir::Operation* op) {
      if (!isDataOp(op, target_) || mlir::isa<ir::FusionOp>(op->getParentOp())) return;
      std::string reason;
      StatusOr<KernelSchedule> schedule = chooseDataSchedule(op, target_, &reason);
      if (schedule.ok() && schedule->stages.empty()) return;
      if (schedule.ok()) attachOpSchedule(*schedule, op);
      if (logsCompilation()) logCompilation(lineOf("data", op, number++, schedule, reason));
    });
  }

  TargetModel target_;
  IsOfLibrary isOfLibrary_;
  FunctionFormOf functionFormOf_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createSchedulePass(const TargetModel& target, IsOfLibrary isOfLibrary,
                                               FunctionFormOf functionFormOf) {
  return std::make_unique<SchedulePass>(target, std::move(isOfLibrary), std::move(functionFormOf));
}

}  // namespace isthmus
