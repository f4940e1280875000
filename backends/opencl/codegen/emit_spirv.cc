#include "backends/opencl/codegen/emit_spirv.h"

#include <mutex>
#include <unordered_map>

#include "llvm/CodeGen/CodeGenTargetMachineImpl.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

namespace isthmus::opencl {
namespace {

// Of all emissions, held by the one that is under way.
std::mutex emission;

// By the address of a function: the numbers below have been used.
std::unordered_map<const llvm::MachineFunction*, unsigned>& usedNumbers() {
  static auto& numbers = *new std::unordered_map<const llvm::MachineFunction*, unsigned>;
  return numbers;
}

class NumberBlocks final : public llvm::MachineFunctionPass {
 public:
  static char ID;
  NumberBlocks() : MachineFunctionPass(ID) {}
  llvm::StringRef getPassName() const override { return "block numbers that are new"; }

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    unsigned& used = usedNumbers()[&function];
    bool isKnown = used > 0;
    while (function.getNumBlockIDs() < used) function.addToMBBNumbering(nullptr);
    for (llvm::MachineBasicBlock& block : function) {
      if (!isKnown) break;
      function.removeFromMBBNumbering(static_cast<unsigned>(block.getNumber()));
      block.setNumber(static_cast<int>(function.addToMBBNumbering(&block)));
    }
    used = function.getNumBlockIDs();
    return isKnown;
  }
};

char NumberBlocks::ID = 0;

// LLVM 22 leaves out the first half of `extend(truncate(x))` where the second is to a type between
// the two, and masks x in its own type by a constant of the other. Here x is cut off in its type.
void cutOffBeforeTruncation(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    bool isSigned = llvm::isa<llvm::SExtInst>(instruction);
    if (!isSigned && !llvm::isa<llvm::ZExtInst>(instruction)) continue;
    auto* truncation = llvm::dyn_cast<llvm::TruncInst>(instruction.getOperand(0));
    // Booleans are a type of their own.
    if (!truncation || truncation->getType()->getScalarSizeInBits() == 1) continue;
    llvm::IRBuilder<> b(&instruction);
    llvm::Value* whole = truncation->getOperand(0);
    llvm::Type* type = whole->getType();
    unsigned rest = type->getScalarSizeInBits() - truncation->getType()->getScalarSizeInBits();
    llvm::Value* shift = llvm::ConstantInt::get(type, rest);
    llvm::Value* cut = b.CreateShl(whole, shift);
    cut = isSigned ? b.CreateAShr(cut, shift) : b.CreateLShr(cut, shift);
    cut = b.CreateIntCast(cut, instruction.getType(), isSigned);
    instruction.replaceAllUsesWith(cut);
    instruction.eraseFromParent();
    if (truncation->use_empty()) truncation->eraseFromParent();
  }
}

}  // namespace

StatusOr<llvm::SmallString<0>> emitSpirv(llvm::Module& module, llvm::TargetMachine& machine) {
  for (llvm::Function& function : module) cutOffBeforeTruncation(function);
  std::lock_guard lock(emission);
  // As LLVM's addPassesToEmitFile does it, with one more pass before the last.
  auto& target = static_cast<llvm::CodeGenTargetMachineImpl&>(machine);
  llvm::SmallString<0> binary;
  llvm::raw_svector_ostream stream(binary);
  llvm::legacy::PassManager passes;
  llvm::TargetPassConfig* config = target.createPassConfig(passes);
  config->setDisableVerify(true);
  passes.add(config);
  auto* functions = new llvm::MachineModuleInfoWrapperPass(&target);
  passes.add(functions);
  bool failed = config->addISelPasses();
  if (!failed) {
    config->addMachinePasses();
    config->setInitialized();
    passes.add(new NumberBlocks);
    failed = target.addAsmPrinter(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile,
                                  functions->getMMI().getContext());
  }
  if (failed) {
    return internalError("the code generator for ", machine.getTargetTriple().str(),
                         " cannot write object files");
  }
  passes.run(module);
  return binary;
}

}  // namespace isthmus::opencl
