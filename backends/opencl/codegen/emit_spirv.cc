#include "backends/opencl/codegen/emit_spirv.h"

#include <mutex>
#include <unordered_map>

#include "llvm/CodeGen/CodeGenTargetMachineImpl.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/TargetPassConfig.h"
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

}  // namespace

StatusOr<llvm::SmallString<0>> emitSpirv(llvm::Module& module, llvm::TargetMachine& machine) {
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
