#include "compiler/codegen/target/target_instructions.h"

#include "compiler/codegen/target/nvptx/nvptx_instructions.h"
#include "compiler/codegen/target/x86/x86_instructions.h"
#include "llvm/Support/ErrorHandling.h"

namespace isthmus::codegen {
llvm::Value* TargetInstructions::scaleByPowerOfTwo(llvm::IRBuilder<>&, llvm::Value*,
                                                   llvm::Value*) const {
  llvm_unreachable("the target has no such instruction");
}

llvm::Value* TargetInstructions::reciprocal(llvm::IRBuilder<>&, llvm::Value*) const {
  llvm_unreachable("the target has no such instruction");
}

llvm::Value* TargetInstructions::quotient(llvm::IRBuilder<>&, llvm::Value*, llvm::Value*) const {
  llvm_unreachable("the target has no such instruction");
}

llvm::Value* TargetInstructions::powerOfTwo(llvm::IRBuilder<>&, llvm::Value*) const {
  llvm_unreachable("the target has no such instruction");
}

llvm::Value* TargetInstructions::extremum(llvm::IRBuilder<>&, llvm::Value*, llvm::Value*,
                                          bool) const {
  llvm_unreachable("the target has no such instruction");
}

void TargetInstructions::addAtomically(llvm::IRBuilder<>&, llvm::Value*, llvm::Value*) const {
  llvm_unreachable("the target has no such instruction");
}

llvm::Value* TargetInstructions::shuffleAny(llvm::IRBuilder<>&, llvm::Value*, llvm::Value*,
                                            llvm::ArrayRef<int>) const {
  llvm_unreachable("the target has no such instruction");
}

const TargetInstructions& instructionsOf(const TargetModel& target) {
  static const TargetInstructions none;
  switch (target.intrinsics) {
    case Intrinsics::kNone:
      break;
    case Intrinsics::kX86:
      return x86Instructions(target);
    case Intrinsics::kNvptx:
      return nvptxInstructions();
  }
  return none;
}

}  // namespace isthmus::codegen
