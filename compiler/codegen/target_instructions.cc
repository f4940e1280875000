#include "compiler/codegen/target_instructions.h"

#include "compiler/codegen/x86/x86_instructions.h"
#include "llvm/Support/ErrorHandling.h"

namespace isthmus::codegen {
namespace {

class Nvptx : public TargetInstructions {
 public:
  // Of LLVM 22: PTX's shifts clamp, so that it takes them for the choice.
  bool losesShiftAmounts() const override { return true; }
};

}  // namespace

llvm::Value* TargetInstructions::scaleByPowerOfTwo(llvm::IRBuilder<>&, llvm::Value*,
                                                   llvm::Value*) const {
  llvm_unreachable("the target has no such instruction");
}

llvm::Value* TargetInstructions::reciprocal(llvm::IRBuilder<>&, llvm::Value*) const {
  llvm_unreachable("the target has no such instruction");
}

llvm::Value* TargetInstructions::extremum(llvm::IRBuilder<>&, llvm::Value*, llvm::Value*,
                                          bool) const {
  llvm_unreachable("the target has no such instruction");
}

llvm::Value* TargetInstructions::shuffleAny(llvm::IRBuilder<>&, llvm::Value*, llvm::Value*,
                                            llvm::ArrayRef<int>) const {
  llvm_unreachable("the target has no such instruction");
}

const TargetInstructions& instructionsOf(const TargetModel& target) {
  static const TargetInstructions none;
  static const Nvptx nvptx;
  if (llvm::StringRef(target.triple).starts_with("nvptx")) return nvptx;
  const TargetInstructions* x86 = x86Instructions(target);
  return x86 ? *x86 : none;
}

}  // namespace isthmus::codegen
