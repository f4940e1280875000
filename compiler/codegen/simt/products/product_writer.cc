#include "compiler/codegen/simt/products/product_writer.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace isthmus::codegen {
namespace {

// More instructions than these are not repeated for each element that a thread has.
constexpr size_t kMaxInlined = 1024;

llvm::IRBuilder<> atEntry(llvm::Function& kernel) {
  llvm::BasicBlock& entry = kernel.getEntryBlock();
  return {&entry, entry.getFirstInsertionPt()};
}

}  // namespace

llvm::Value* makeParameterTable(llvm::Function& kernel, unsigned parameters) {
  llvm::IRBuilder<> b = atEntry(kernel);
  return makeParameterTable(b, kernel, parameters);
}

void forEachSum(llvm::IRBuilder<>& b, const llvm::Function& epilogue,
                llvm::ArrayRef<llvm::Value*> sums,
                llvm::function_ref<void(llvm::Value* sum, llvm::Value* number)> place) {
  if (epilogue.getInstructionCount() * sums.size() <= kMaxInlined) {
    for (auto [i, sum] : llvm::enumerate(sums)) place(sum, b.getInt64(i));
    return;
  }
  llvm::Function& kernel = *b.GetInsertBlock()->getParent();
  llvm::Type* type = sums[0]->getType();
  llvm::Value* kept = atEntry(kernel).CreateAlloca(llvm::ArrayType::get(type, sums.size()));
  auto slot = [&](llvm::Value* number) { return b.CreateInBoundsGEP(type, kept, number); };
  for (auto [i, sum] : llvm::enumerate(sums)) b.CreateStore(sum, slot(b.getInt64(i)));
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(b.getContext(), "sums", &kernel);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "stored", &kernel);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* number = b.CreatePHI(b.getInt64Ty(), 2);
  number->addIncoming(b.getInt64(0), before);
  place(b.CreateLoad(type, slot(number)), number);
  llvm::Value* following = b.CreateAdd(number, b.getInt64(1));
  number->addIncoming(following, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpULT(following, b.getInt64(sums.size())), loop, done);
  b.SetInsertPoint(done);
}

Status inlineEpilogue(llvm::Function& kernel, llvm::Function* epilogue) {
  if (!epilogue) return {};
  llvm::SmallVector<llvm::CallInst*, 16> calls;
  for (llvm::Instruction& instruction : llvm::instructions(kernel)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call && call->getCalledFunction() == epilogue) calls.push_back(call);
  }
  for (llvm::CallInst* call : calls) {
    llvm::InlineFunctionInfo info;
    if (!llvm::InlineFunction(*call, info).isSuccess()) {
      return internalError("kernel ", kernel.getName().str(), " cannot have its epilogue");
    }
  }
  return settleAddresses(kernel);
}

ProductWriter::ProductWriter(llvm::Module& module, const WorkItemForm& form,
                             const std::string& name, const ProductTask& task, const Items& items,
                             unsigned groupThreads, bool hasScratch)
    : KernelWriter(module, form, name, task.parameters + (hasScratch ? 1 : 0), items, groupThreads),
      task_(task) {}

llvm::Value* ProductWriter::table() {
  if (!table_) table_ = makeParameterTable(function(), task_.parameters);
  return table_;
}

void ProductWriter::storeSum(const Site& site, const Val& sum) {
  auto store = [&] {
    if (!task_.epilogue) {
      const ProductKinds& kinds = task_.kinds;
      KernelWriter::store(parameter(task_.result), site.place, kinds.result,
                          convert(sum, kinds.sum, kinds.result));
      return;
    }
    const unsigned lanes = sum.lanes();
    for (unsigned first = 0; first < lanes; first += task_.epilogueLanes) {
      llvm::Value* part =
          lanes == task_.epilogueLanes ? sum.re : b().CreateExtractElement(sum.re, uint64_t{first});
      b().CreateCall(task_.epilogue,
                     {table(), site.row, site.row, plus(site.column, i64(first)), part});
    }
  };
  if (site.isInside) {
    branch(site.isInside, store);
  } else {
    store();
  }
}

void ProductWriter::storeSums(const Elements& sums,
                              const std::function<Site(llvm::Value* number)>& siteOf) {
  if (!task_.epilogue) {
    for (auto [i, sum] : llvm::enumerate(sums)) {
      storeSum(siteOf(i64(static_cast<int64_t>(i))), sum);
    }
    return;
  }
  llvm::SmallVector<llvm::Value*, 16> real;
  for (const Val& sum : sums) real.push_back(sum.re);
  forEachSum(b(), *task_.epilogue, real,
             [&](llvm::Value* sum, llvm::Value* number) { storeSum(siteOf(number), {sum}); });
}

llvm::Value* ProductWriter::keep(llvm::ArrayRef<llvm::Value*> numbers) {
  llvm::Type* type = b().getInt64Ty();
  llvm::Value* memory =
      atEntry(function()).CreateAlloca(llvm::ArrayType::get(type, numbers.size()));
  for (auto [i, number] : llvm::enumerate(numbers)) {
    b().CreateStore(number, b().CreateConstInBoundsGEP1_64(type, memory, i));
  }
  return memory;
}

llvm::Value* ProductWriter::kept(llvm::Value* memory, llvm::Value* number) {
  return b().CreateLoad(b().getInt64Ty(), b().CreateInBoundsGEP(b().getInt64Ty(), memory, number));
}

Status ProductWriter::finish() {
  KernelWriter::finish();
  return inlineEpilogue(function(), task_.epilogue);
}

}  // namespace isthmus::codegen
