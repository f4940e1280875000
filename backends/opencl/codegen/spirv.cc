#include "backends/opencl/codegen/spirv.h"

#include <array>
#include <limits>
#include <mutex>

#include "backends/opencl/codegen/emit_spirv.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

namespace isthmus::opencl {
namespace {

constexpr const char* kTriple = "spirv64-unknown-unknown";

StatusOr<std::unique_ptr<llvm::TargetMachine>> makeMachine() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeSPIRVTargetInfo();
    LLVMInitializeSPIRVTarget();
    LLVMInitializeSPIRVTargetMC();
    LLVMInitializeSPIRVAsmPrinter();
  });
  std::string error;
  llvm::Triple triple(kTriple);
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) return internalError("no code generator for ", kTriple, ": ", error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, "", "", options, std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine) return internalError("cannot make a code generator for ", kTriple);
  return machine;
}

}  // namespace

namespace {

TargetModel kernelTarget() {
  TargetModel target = gpuTarget(kTriple);
  // Rows are not shared by the work-items of a group yet: each element is computed by itself.
  target.subgroupSize = std::numeric_limits<int32_t>::max();
  return target;
}

llvm::Value* globalIndex(llvm::IRBuilder<>& b, unsigned dimension) {
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  // size_t get_global_id(uint)
  llvm::FunctionCallee function =
      module.getOrInsertFunction("_Z13get_global_idj", b.getInt64Ty(), b.getInt32Ty());
  auto* declared = llvm::cast<llvm::Function>(function.getCallee());
  declared->setCallingConv(llvm::CallingConv::SPIR_FUNC);
  declared->setDoesNotThrow();
  declared->setDoesNotAccessMemory();
  llvm::CallInst* call = b.CreateCall(function, {b.getInt32(dimension)}, "index");
  call->setCallingConv(llvm::CallingConv::SPIR_FUNC);
  return call;
}

}  // namespace

codegen::WorkItemForm kernelForm() {
  codegen::WorkItemForm form;
  form.target = kernelTarget();
  form.indices = [](llvm::IRBuilder<>& b, const codegen::Items& items) {
    std::array<llvm::Value*, 3> indices{};
    for (unsigned d = 0; d < items.size(); ++d) {
      indices[d] = items[d] == 1 ? b.getInt64(0) : globalIndex(b, d);
    }
    return indices;
  };
  return form;
}

namespace {

// Intel's compiler for CPUs takes the result of a function for different in each work-item of a
// vector, and gathers from an address that depends on it.
void selectExtremes(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* extreme = llvm::dyn_cast<llvm::MinMaxIntrinsic>(&instruction);
    if (!extreme) continue;
    llvm::IRBuilder<> b(extreme);
    llvm::Value* isLeft =
        b.CreateICmp(extreme->getPredicate(), extreme->getLHS(), extreme->getRHS());
    extreme->replaceAllUsesWith(b.CreateSelect(isLeft, extreme->getLHS(), extreme->getRHS()));
    extreme->eraseFromParent();
  }
}

}  // namespace

void callBuiltins(llvm::Module& module) {
  for (llvm::Function& function : module) selectExtremes(function);
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    llvm::Type* result = function.getReturnType();
    bool isMath = function.isDeclaration() && !function.isIntrinsic() &&
                  !function.getName().starts_with("_Z") &&
                  (result->isFloatTy() || result->isDoubleTy());
    if (!isMath) continue;
    std::string name = function.getName().str();
    if (result->isFloatTy() && name.back() == 'f') name.pop_back();
    // As C++ names it: the length, the name, a letter for each parameter.
    std::string mangled = "_Z" + std::to_string(name.size()) + name;
    for (llvm::Type* type : function.getFunctionType()->params()) {
      mangled += type->isFloatTy() ? 'f' : 'd';
    }
    function.setName(mangled);
    function.setCallingConv(llvm::CallingConv::SPIR_FUNC);
    for (llvm::User* user : function.users()) {
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(user)) {
        call->setCallingConv(llvm::CallingConv::SPIR_FUNC);
      }
    }
  }
}

StatusOr<std::unique_ptr<llvm::Module>> makeModule(std::string_view name,
                                                   llvm::LLVMContext& context) {
  ISTHMUS_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, makeMachine());
  auto module = std::make_unique<llvm::Module>(llvm::StringRef(name), context);
  module->setTargetTriple(llvm::Triple(kTriple));
  module->setDataLayout(machine->createDataLayout());
  return module;
}

StatusOr<std::string> compileToSpirv(llvm::Module& module) {
  std::string problems;
  llvm::raw_string_ostream said(problems);
  if (llvm::verifyModule(module, &said)) {
    return internalError("generated kernels are malformed: ", problems);
  }
  ISTHMUS_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, makeMachine());
  ISTHMUS_ASSIGN_OR_RETURN(llvm::SmallString<0> binary, emitSpirv(module, *machine));
  return binary.str().str();
}

}  // namespace isthmus::opencl
