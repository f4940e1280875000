#include "backends/opencl/codegen/builtin_call.h"

#include "llvm/IR/Module.h"

namespace isthmus::opencl {

llvm::CallInst* callBuiltin(llvm::IRBuilder<>& b, const char* name, llvm::Type* result,
                            llvm::ArrayRef<llvm::Value*> arguments, Builtin kind) {
  llvm::SmallVector<llvm::Type*, 4> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  llvm::FunctionCallee function =
      module.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
  auto* declared = llvm::cast<llvm::Function>(function.getCallee());
  declared->setCallingConv(llvm::CallingConv::SPIR_FUNC);
  declared->setDoesNotThrow();
  if (kind == Builtin::kConvergent) {
    declared->setConvergent();
  } else {
    declared->setDoesNotAccessMemory();
  }
  llvm::CallInst* call = b.CreateCall(function, arguments);
  call->setCallingConv(llvm::CallingConv::SPIR_FUNC);
  if (kind == Builtin::kConvergent) call->setConvergent();
  return call;
}

void requireSubgroupsOf(unsigned items, llvm::Function& kernel) {
  llvm::LLVMContext& context = kernel.getContext();
  llvm::Constant* size = llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), items);
  kernel.setMetadata("intel_reqd_sub_group_size",
                     llvm::MDNode::get(context, llvm::ConstantAsMetadata::get(size)));
}

}  // namespace isthmus::opencl
