// Generates code for comparators.
#include "backends/cpu/lower/comparator.h"

#include "compiler/codegen/kernel_emitter.h"
#include "compiler/program/comparator.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace isthmus::cpu {

StatusOr<std::string> emitComparator(mlir::Region& comparator, llvm::ArrayRef<int32_t> elementBytes,
                                     LibraryContext& context) {
  mlir::Block operands;
  ISTHMUS_ASSIGN_OR_RETURN(ir::FusionOp fusion, comparatorFusion(comparator, operands));
  std::string name = "comparator" + std::to_string(context.nextNumber++);
  StatusOr<Kernel> kernel = emitKernel(fusion, context.target, context.module, name + "_body");
  fusion->destroy();
  if (!kernel.ok()) return kernel.status();
  if (kernel->stages.size() != 1) {
    return unimplemented("its comparator takes more than one loop");
  }

  // int32_t name(const void* const* operands, int64_t left, int64_t right): the kernel takes the
  // elements, left and right of operand 0, of operand 1, …, and a result.
  llvm::LLVMContext& llvmContext = context.module.getContext();
  llvm::IRBuilder<> builder(llvmContext);
  llvm::PointerType* pointer = builder.getPtrTy();
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(builder.getInt32Ty(),
                              {pointer, builder.getInt64Ty(), builder.getInt64Ty()}, false),
      llvm::Function::ExternalLinkage, name, context.module);
  function->addFnAttr("target-cpu", context.target.cpu);
  function->addFnAttr("target-features", context.target.features);
  builder.SetInsertPoint(llvm::BasicBlock::Create(llvmContext, "entry", function));
  unsigned count = comparator.getNumArguments();
  llvm::Value* buffers = builder.CreateAlloca(llvm::ArrayType::get(pointer, count + 1));
  llvm::Value* result = builder.CreateAlloca(builder.getInt8Ty());
  for (unsigned i = 0; i < count; ++i) {
    llvm::Value* operand = builder.CreateLoad(
        pointer, builder.CreateConstInBoundsGEP1_64(pointer, function->getArg(0), i / 2));
    llvm::Value* offset =
        builder.CreateMul(function->getArg(1 + i % 2), builder.getInt64(elementBytes[i / 2]));
    llvm::Value* element = builder.CreateInBoundsGEP(builder.getInt8Ty(), operand, offset);
    builder.CreateStore(element, builder.CreateConstInBoundsGEP1_64(pointer, buffers, i));
  }
  builder.CreateStore(result, builder.CreateConstInBoundsGEP1_64(pointer, buffers, count));
  llvm::Function* body = context.module.getFunction(kernel->stages[0].symbol);
  if (!body) return internalError("the body of ", name, " was not generated");
  builder.CreateCall(body, {buffers, builder.getInt64(0), builder.getInt64(1)});
  builder.CreateRet(
      builder.CreateZExt(builder.CreateLoad(builder.getInt8Ty(), result), builder.getInt32Ty()));
  body->setLinkage(llvm::GlobalValue::InternalLinkage);
  body->addFnAttr(llvm::Attribute::AlwaysInline);
  function->addFnAttr(kOptimizeAttribute);
  context.needsOptimizer = true;
  return name;
}

}  // namespace isthmus::cpu
