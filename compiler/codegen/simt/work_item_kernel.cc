#include "compiler/codegen/simt/work_item_kernel.h"

#include "compiler/codegen/module/analyses.h"
#include "compiler/codegen/target/group_threads.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/InferAddressSpaces.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"
#include "llvm/Transforms/Scalar/LoopDeletion.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace isthmus::codegen {
namespace {

// An operand's elements are what they were until the last reader has read them, so that one that a
// thread reads again, behind a barrier, is in a register. No later pass may know: the result of
// another kernel, or of this one, may take the operand's place, before which its elements have to
// be read.
void forgetInvariance(llvm::Function& kernel) {
  for (llvm::Instruction& instruction : llvm::instructions(kernel)) {
    instruction.setMetadata(llvm::LLVMContext::MD_invariant_load, nullptr);
  }
}

// Makes all addresses what they are: global, or private. The loop over one tile goes, and if
// `unrolls` so do those of few rounds.
void simplify(llvm::Function& kernel, bool unrolls) {
  Analyses analyses;
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::InferAddressSpacesPass(/*AddressSpace=*/0));
  passes.addPass(llvm::InstSimplifyPass());
  llvm::LoopPassManager loopPasses;
  loopPasses.addPass(llvm::IndVarSimplifyPass());
  loopPasses.addPass(llvm::LoopDeletionPass());
  if (unrolls) loopPasses.addPass(llvm::LoopFullUnrollPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loopPasses)));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::EarlyCSEPass());
  passes.run(kernel, analyses.functions);
  forgetInvariance(kernel);
}

// Calls of what a kernel of a group asks of its device become what the device has for it.
void answerGroupCalls(llvm::Function& kernel, const WorkItemForm& form) {
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(kernel))) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
    if (!callee) continue;
    llvm::IRBuilder<> b(call);
    if (callee->getName() == kThreadInGroupSymbol) {
      call->replaceAllUsesWith(form.threadInGroup(b));
    } else if (callee->getName() == kGroupBarrierSymbol) {
      form.barrier(b);
    } else if (callee->getName() == kSubgroupShuffleSymbol && form.subgroupShuffle) {
      call->replaceAllUsesWith(
          form.subgroupShuffle(b, call->getArgOperand(0), call->getArgOperand(1)));
    } else {
      continue;
    }
    call->eraseFromParent();
  }
}

}  // namespace

llvm::Value* makeParameterTable(llvm::IRBuilder<>& b, llvm::Function& kernel, unsigned parameters) {
  auto* type = llvm::ArrayType::get(b.getPtrTy(), std::max(parameters, 1U));
  llvm::Value* table = b.CreateAlloca(type, nullptr, "buffers");
  for (unsigned i = 0; i < parameters; ++i) {
    b.CreateStore(b.CreateAddrSpaceCast(kernel.getArg(i), b.getPtrTy()),
                  b.CreateConstInBoundsGEP1_64(b.getPtrTy(), table, i));
  }
  return table;
}

static Status settleAddresses(llvm::Function& kernel, bool unrolls) {
  simplify(kernel, unrolls);
  for (llvm::Instruction& instruction : llvm::instructions(kernel)) {
    if (llvm::isa<llvm::AddrSpaceCastInst>(instruction)) {
      return internalError("kernel ", kernel.getName().str(),
                           " has an address of more than one memory");
    }
  }
  return {};
}

Status settleAddresses(llvm::Function& kernel) {
  return settleAddresses(kernel, /*unrolls=*/false);
}

Status makeWorkItemKernel(llvm::Module& module, const std::string& tileKernel, unsigned buffers,
                          int64_t tiles, const WorkItemForm& form, unsigned groupThreads,
                          int64_t share) {
  bool isForGroup = groupThreads > 1;
  if (isForGroup && !form.groupIndex) {
    return unimplemented("kernels whose tiles are shared by a group of work-items");
  }
  llvm::Function* body = module.getFunction(tileKernel);
  if (!body) return internalError("kernel ", tileKernel, " was not generated");
  llvm::LLVMContext& context = module.getContext();
  body->setName(tileKernel + ".tiles");
  std::vector<llvm::Type*> types(buffers, llvm::PointerType::get(context, form.globalSpace));
  llvm::Function* kernel =
      llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false),
                             llvm::Function::ExternalLinkage, tileKernel, &module);
  kernel->setCallingConv(form.convention);
  kernel->addFnAttr(llvm::Attribute::NoUnwind);

  llvm::BasicBlock* entry = llvm::BasicBlock::Create(context, "entry", kernel);
  llvm::BasicBlock* exit = llvm::BasicBlock::Create(context, "exit", kernel);
  llvm::IRBuilder<> b(entry);
  llvm::Value* table = makeParameterTable(b, *kernel, buffers);
  const int64_t items = llvm::divideCeilSigned(tiles, share);
  llvm::Value* index = isForGroup ? form.groupIndex(b) : form.indices(b, {items, 1, 1})[0];
  // No group is beyond the last, so that none has barriers below a condition: PoCL 3.1 writes
  // wherever the stack points to where they are below one that all threads agree on.
  if (!isForGroup) {
    llvm::BasicBlock* work = llvm::BasicBlock::Create(context, "work", kernel, exit);
    b.CreateCondBr(b.CreateICmpULT(index, b.getInt64(items)), work, exit);
    b.SetInsertPoint(work);
  }
  llvm::Value* first = index;
  llvm::Value* last = b.CreateAdd(index, b.getInt64(1), "", true, true);
  if (share > 1) {
    first = b.CreateMul(first, b.getInt64(share), "", true, true);
    last = b.CreateMul(last, b.getInt64(share), "", true, true);
    if (tiles % share) {
      last = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, last, b.getInt64(tiles));
    }
  }
  llvm::CallInst* call = b.CreateCall(body, {table, first, last});
  b.CreateBr(exit);
  b.SetInsertPoint(exit);
  b.CreateRetVoid();

  // What was said to the compiler of another machine.
  body->setAttributes(llvm::AttributeList());
  llvm::InlineFunctionInfo info;
  if (!llvm::InlineFunction(*call, info).isSuccess()) {
    return internalError("kernel ", tileKernel, " cannot be made one of work-items");
  }
  body->eraseFromParent();
  if (isForGroup) answerGroupCalls(*kernel, form);
  // Threads of a group read again what they have reduced: without the loop that is a register.
  return settleAddresses(*kernel, /*unrolls=*/isForGroup);
}

}  // namespace isthmus::codegen
