// dot_general and convolution as calls of isthmus_rt_dot and isthmus_rt_conv.
#include "backends/cpu/kernels/conv/conv.h"
#include "backends/cpu/kernels/gemm/dot.h"
#include "backends/cpu/lower/library_ops.h"
#include "compiler/cost/library_time.h"
#include "compiler/cost/time.h"
#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/type_conversion.h"
#include "compiler/schedule/dot_scheduler.h"
#include "compiler/schedule/products/product_scheduler.h"
#include "compiler/schedule/products/roles.h"
#include "isthmus/log.h"
#include "llvm/IR/Module.h"

namespace isthmus::cpu {
namespace {

constexpr const char* kDotFunction = "isthmus_rt_dot";

// "dot_general at f.py:12 is computed in the form blocked for v3 (…)".
template <typename Descriptor>
void logForm(mlir::Operation* op, const Descriptor& descriptor, const std::string& reason) {
  if (!logsCompilation()) return;
  logCompilation(describeBriefly(op) + " is computed in the form " + describeForm(descriptor) +
                 (reason.empty() ? "" : " (" + reason + ")"));
}

std::string chooseForm(const TargetModel& target, DotDescriptor& descriptor) {
  return chooseDotForm(target.l2Bytes, descriptor);
}
std::string chooseForm(const TargetModel&, ConvDescriptor& descriptor) {
  return chooseConvForm(descriptor);
}
std::string setForm(const FunctionForm& form, DotDescriptor& descriptor) {
  return setDotForm(form.name, form.isSwapped, descriptor);
}
std::string setForm(const FunctionForm& form, ConvDescriptor& descriptor) {
  if (form.isSwapped) return "the operands of a convolution stay in their places";
  return setConvForm(form.name, descriptor);
}

bool isSwapped(const DotDescriptor& descriptor) { return descriptor.flags & kDotIsSwapped; }
bool isSwapped(const ConvDescriptor&) { return false; }

// The form that the schedule says, or where it says none, the one that suits.
template <typename Descriptor>
Status decideForm(mlir::Operation* op, const FunctionForm& said, const TargetModel& target,
                  Descriptor& descriptor) {
  // Why another would suit is wanted in the log only.
  const bool choose = said.name.empty();
  std::string reason;
  if (choose || logsCompilation()) reason = chooseForm(target, descriptor);
  if (!choose) {
    const std::string chosen(formNameOf(descriptor));
    if (std::string why = setForm(said, descriptor); !why.empty()) {
      return invalidArgument(describeBriefly(op), ": the form of its schedule: ", why);
    }
    if (chosen != said.name) reason = "as its schedule says";
  }
  logForm(op, descriptor, reason);
  return {};
}

// With an epilogue whose sums lie where `stage` says.
void addEpilogue(ir::FusionOp fusion, const DotStage& stage, DotDescriptor& descriptor) {
  shlo::DotGeneralOp dot = contractionOf(fusion);
  const auto operands = static_cast<int32_t>(fusion->getNumOperands());
  descriptor.flags |= kDotHasEpilogue;
  descriptor.lhsBuffer = bufferOf(dot.getLhs());
  descriptor.rhsBuffer = bufferOf(dot.getRhs());
  descriptor.sumsBuffer = stage.sums < 0 ? -1 : operands + stage.sums;
  descriptor.epilogueBuffer = operands + static_cast<int32_t>(fusion->getNumResults());
}

StatusOr<FunctionForm> formSaidOf(mlir::Operation* op, const LibraryContext& context) {
  return context.isOfDevice ? FunctionForm() : functionFormCarriedBy(op);
}

StatusOr<ConvDescriptor> describeConv(shlo::ConvolutionOp conv) {
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType lhs, toArrayType(conv.getLhs().getType()));
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType rhs, toArrayType(conv.getRhs().getType()));
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType result, toArrayType(conv.getResult().getType()));
  return makeConvDescriptor({lhs.elementType, lhs.dims, {}}, {rhs.elementType, rhs.dims, {}},
                            result.elementType, result.dims, convNumbersOf(conv));
}

}  // namespace

FunctionForm functionFormOf(mlir::Operation* op, const DotStage& stage, const TargetModel& target,
                            std::string* reason) {
  // What cannot be described is refused when its call is emitted.
  auto formOf = [&](auto descriptor) {
    *reason = chooseForm(target, descriptor);
    return FunctionForm{std::string(formNameOf(descriptor)), isSwapped(descriptor)};
  };
  if (auto conv = mlir::dyn_cast<shlo::ConvolutionOp>(op)) {
    StatusOr<ConvDescriptor> descriptor = describeConv(conv);
    return descriptor.ok() ? formOf(*descriptor) : FunctionForm();
  }
  StatusOr<DotDescriptor> descriptor = describeDot(mlir::cast<shlo::DotGeneralOp>(op));
  if (!descriptor.ok()) return {};
  auto fusion = mlir::dyn_cast<ir::FusionOp>(op->getParentOp());
  if (fusion) addEpilogue(fusion, stage, *descriptor);
  return formOf(*descriptor);
}

int32_t bufferOf(mlir::Value argument) {
  return static_cast<int32_t>(mlir::cast<mlir::BlockArgument>(argument).getArgNumber());
}

void callBack(const char* function, std::string descriptor, double estimatedNs, OperationCode& code,
              LibraryContext& context) {
  code.libraryFunction = function;
  code.descriptor = std::move(descriptor);
  code.estimatedNs = estimatedNs;
  code.callbacks = {code.stages[0].symbol};
  code.stages.clear();
  // The function may be in another module.
  context.module.getOrInsertFunction(
      code.callbacks[0],
      llvm::FunctionType::get(llvm::Type::getVoidTy(context.module.getContext()), false));
}

StatusOr<DotDescriptor> describeDot(shlo::DotGeneralOp dot) {
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType lhs, toArrayType(dot.getLhs().getType()));
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType rhs, toArrayType(dot.getRhs().getType()));
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType result, toArrayType(dot.getResult().getType()));
  shlo::DotDimensionNumbersAttr numbers = dot.getDotDimensionNumbers();
  return makeDotDescriptor(
      {lhs.elementType, lhs.dims, {}}, {rhs.elementType, rhs.dims, {}}, result.elementType,
      toSpan(numbers.getLhsBatchingDimensions()), toSpan(numbers.getRhsBatchingDimensions()),
      toSpan(numbers.getLhsContractingDimensions()), toSpan(numbers.getRhsContractingDimensions()));
}

StatusOr<OperationCode> lowerDotGeneral(mlir::Operation* op, LibraryContext& context) {
  auto dot = llvm::cast<shlo::DotGeneralOp>(op);
  ISTHMUS_ASSIGN_OR_RETURN(DotDescriptor descriptor, describeDot(dot));
  ISTHMUS_ASSIGN_OR_RETURN(FunctionForm form, formSaidOf(op, context));
  ISTHMUS_RETURN_IF_ERROR(decideForm(op, form, context.target, descriptor));
  OperationCode code;
  code.libraryFunction = kDotFunction;
  code.descriptor = descriptorBytes(descriptor);
  code.estimatedNs = libraryNs(context.target, dot);
  return code;
}

Status callWithEpilogue(ir::FusionOp fusion, OperationCode& code, LibraryContext& context) {
  shlo::DotGeneralOp dot = contractionOf(fusion);
  ISTHMUS_ASSIGN_OR_RETURN(KernelSchedule schedule, scheduleOf(fusion, context.target));
  const auto* only = schedule.only<DotStage>();
  if (!only) return internalError("the kernel of a product has another schedule");
  const DotStage& stage = *only;
  ISTHMUS_ASSIGN_OR_RETURN(DotDescriptor descriptor, describeDot(dot));
  addEpilogue(fusion, stage, descriptor);
  ISTHMUS_RETURN_IF_ERROR(decideForm(dot, stage.function, context.target, descriptor));
  callBack(kDotFunction, descriptorBytes(descriptor), context.target.callNs + stage.ns, code,
           context);
  return {};
}

StatusOr<OperationCode> lowerConvolution(mlir::Operation* op, LibraryContext& context) {
  auto conv = llvm::cast<shlo::ConvolutionOp>(op);
  ISTHMUS_ASSIGN_OR_RETURN(ConvDescriptor descriptor, describeConv(conv));
  ISTHMUS_ASSIGN_OR_RETURN(FunctionForm form, formSaidOf(op, context));
  ISTHMUS_RETURN_IF_ERROR(decideForm(op, form, context.target, descriptor));
  OperationCode code;
  code.libraryFunction = "isthmus_rt_conv";
  code.descriptor = descriptorBytes(descriptor);
  code.estimatedNs = libraryNs(context.target, op);
  return code;
}

}  // namespace isthmus::cpu
