// Which emitter a product's schedule asks for.
#include "compiler/codegen/kernel_emitter.h"
#include "compiler/codegen/simt/op_kernels.h"
#include "compiler/codegen/simt/products/group_dot.h"
#include "compiler/codegen/simt/products/item_products.h"
#include "compiler/codegen/simt/products/line_product.h"
#include "compiler/codegen/simt/products/matrix_product.h"
#include "compiler/codegen/simt/products/vector_contraction.h"
#include "compiler/codegen/simt/products/vector_conv.h"
#include "compiler/schedule/dot_scheduler.h"
#include "compiler/schedule/products/product_scheduler.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/IR/Module.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus::codegen {
namespace {

StatusOr<OpKernels> one(StatusOr<OpKernel> kernel) {
  if (!kernel.ok()) return kernel.status();
  OpKernels kernels;
  kernels.stages.push_back(*std::move(kernel));
  return kernels;
}

template <typename Roles>
StatusOr<OpKernels> emitTiles(const Roles& roles, const ProductTask& task, llvm::Module& module,
                              const WorkItemForm& form, const std::string& symbol) {
  std::optional<ProductProblem> problem = problemOf(roles);
  if (!problem) return internalError("a product without tiles");
  switch (task.product().form) {
    case ProductForm::kMatrices:
      return one(emitMatrixProduct(*problem, task, module, form, symbol));
    case ProductForm::kLines:
      return emitLineProduct(*problem, task, module, form, symbol);
    default:
      return one(emitGroupProduct(*problem, task, module, form, symbol));
  }
}

StatusOr<OpKernels> emitDot(const DotRoles& roles, const ProductTask& task, llvm::Module& module,
                            const WorkItemForm& form, const std::string& symbol) {
  const ProductSchedule& product = task.product();
  if (product.form == ProductForm::kItems) return emitItemDot(roles, task, module, form, symbol);
  if (product.form != ProductForm::kVectors) return emitTiles(roles, task, module, form, symbol);
  VectorContraction contraction = contractionOf(roles, task.kinds);
  contraction.resultColumns = sizeOf(roles.columns);
  if (product.isSwapped) contraction = swapped(std::move(contraction));
  VectorPlan plan = planOf(std::move(contraction), task.stage, 0);
  OpKernels kernels;
  ISTHMUS_RETURN_IF_ERROR(emitVectorContraction(plan, task, module, form, symbol, kernels));
  return kernels;
}

StatusOr<OpKernels> emitConvolution(const ConvRoles& roles, const ProductTask& task,
                                    llvm::Module& module, const WorkItemForm& form,
                                    const std::string& symbol) {
  switch (task.product().form) {
    case ProductForm::kItems:
      return emitItemConvolution(roles, task, module, form, symbol);
    case ProductForm::kVectors:
      return emitVectorConvolution(roles, task, module, form, symbol);
    default:
      return emitTiles(roles, task, module, form, symbol);
  }
}

StatusOr<OpKernels> emitTask(mlir::Operation* op, const ProductTask& task, llvm::Module& module,
                             const WorkItemForm& form, const std::string& symbol,
                             const EmitTask& emitOther) {
  const ProductForm made = task.product().form;
  // Libraries and tensor cores are the backend's own.
  const bool isOther =
      made == ProductForm::kNone || made == ProductForm::kLibrary || made == ProductForm::kTensors;
  if (isOther && emitOther) return emitOther(op, task);
  if (isOther) {
    return invalidArgument("no kernel here computes a product of the form ", nameOf(made));
  }
  if (auto dot = llvm::dyn_cast<shlo::DotGeneralOp>(op)) {
    return emitDot(dotRolesOf(dot), task, module, form, symbol);
  }
  return emitConvolution(convRolesOf(llvm::cast<shlo::ConvolutionOp>(op)), task, module, form,
                         symbol);
}

}  // namespace

StatusOr<OpKernels> emitProduct(mlir::Operation* op, llvm::Module& module, const WorkItemForm& form,
                                const std::string& symbol, const EmitTask& emitOther) {
  std::optional<ProductKinds> kinds = productKindsOf(op);
  if (!kinds) return unimplemented("no arithmetic of this element type");
  if (llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType()).getNumElements() == 0) {
    return OpKernels();
  }
  ISTHMUS_ASSIGN_OR_RETURN(DotStage stage, productScheduleOf(op, form.target));
  return emitTask(op, {*kinds, std::move(stage)}, module, form, symbol, emitOther);
}

StatusOr<OpKernels> emitProductWithEpilogue(ir::FusionOp fusion, llvm::Module& module,
                                            const WorkItemForm& form, const std::string& symbol,
                                            const EmitTask& emitOther) {
  shlo::DotGeneralOp dot = contractionOf(fusion);
  if (!dot) return unimplemented("no kernel computes a convolution with other work");
  std::optional<ProductKinds> kinds = productKindsOf(dot);
  if (!kinds) return unimplemented("no arithmetic of this element type");
  ISTHMUS_ASSIGN_OR_RETURN(KernelSchedule schedule, scheduleOf(fusion, form.target));
  ISTHMUS_ASSIGN_OR_RETURN(Kernel epilogue,
                           emitKernel(fusion, form.target, module, symbol + "_epilogue"));
  llvm::Function* function = module.getFunction(epilogue.stages[0].symbol);
  // What was said to the compiler of functions of another machine.
  function->setAttributes(llvm::AttributeList());
  auto erase = llvm::scope_exit([&] { function->eraseFromParent(); });
  ProductTask task{*kinds, *schedule.only<DotStage>()};
  task.lhs = llvm::cast<mlir::BlockArgument>(dot.getLhs()).getArgNumber();
  task.rhs = llvm::cast<mlir::BlockArgument>(dot.getRhs()).getArgNumber();
  task.parameters = fusion->getNumOperands() + fusion->getNumResults();
  task.epilogue = function;
  task.epilogueLanes = epilogueLanesOf(task.stage);
  return emitTask(dot, task, module, form, symbol, emitOther);
}

}  // namespace isthmus::codegen
