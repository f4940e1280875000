// dot_general and convolution as calls of isthmus_rt_dot and isthmus_rt_conv.
#include "backends/cpu/kernels/conv/conv.h"
#include "backends/cpu/kernels/gemm/dot.h"
#include "backends/cpu/lower/library_ops.h"
#include "compiler/cost/library_time.h"
#include "compiler/cost/time.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/source_location.h"
#include "compiler/dialect/types.h"
#include "compiler/schedule/dot_scheduler.h"
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

void decideForm(shlo::DotGeneralOp dot, const TargetModel& target, DotDescriptor& descriptor) {
  const std::string reason = chooseDotForm(target.l2Bytes, descriptor);
  logForm(dot, descriptor, reason);
}

}  // namespace

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
  decideForm(dot, context.target, descriptor);
  OperationCode code;
  code.libraryFunction = kDotFunction;
  code.descriptor = descriptorBytes(descriptor);
  code.estimatedNs = libraryNs(context.target, dot);
  return code;
}

Status callWithEpilogue(ir::FusionOp fusion, OperationCode& code, LibraryContext& context) {
  shlo::DotGeneralOp dot = contractionOf(fusion);
  ISTHMUS_ASSIGN_OR_RETURN(KernelSchedule schedule, scheduleOf(fusion, context.target));
  const StageSchedule& stage = schedule.stages[0];
  ISTHMUS_ASSIGN_OR_RETURN(DotDescriptor descriptor, describeDot(dot));
  const auto operands = static_cast<int32_t>(fusion->getNumOperands());
  descriptor.flags |= kDotHasEpilogue;
  descriptor.lhsBuffer = bufferOf(dot.getLhs());
  descriptor.rhsBuffer = bufferOf(dot.getRhs());
  descriptor.sumsBuffer = stage.sums < 0 ? -1 : operands + stage.sums;
  descriptor.epilogueBuffer = operands + static_cast<int32_t>(fusion->getNumResults());
  decideForm(dot, context.target, descriptor);
  callBack(kDotFunction, descriptorBytes(descriptor), context.target.callNs + stage.ns, code,
           context);
  return {};
}

StatusOr<OperationCode> lowerConvolution(mlir::Operation* op, LibraryContext& context) {
  auto conv = llvm::cast<shlo::ConvolutionOp>(op);
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType lhs, toArrayType(conv.getLhs().getType()));
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType rhs, toArrayType(conv.getRhs().getType()));
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType result, toArrayType(conv.getResult().getType()));
  ISTHMUS_ASSIGN_OR_RETURN(
      ConvDescriptor descriptor,
      makeConvDescriptor({lhs.elementType, lhs.dims, {}}, {rhs.elementType, rhs.dims, {}},
                         result.elementType, result.dims, convNumbersOf(conv)));
  const std::string reason = chooseConvForm(descriptor);
  logForm(op, descriptor, reason);
  OperationCode code;
  code.libraryFunction = "isthmus_rt_conv";
  code.descriptor = descriptorBytes(descriptor);
  code.estimatedNs = libraryNs(context.target, op);
  return code;
}

}  // namespace isthmus::cpu
