#include "compiler/codegen/target/nvptx/nvptx_instructions.h"

#include <string>

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace isthmus::codegen {
namespace {

// What an intrinsic makes of each lane.
llvm::Value* ofEachLane(llvm::IRBuilder<>& b, llvm::Intrinsic::ID id,
                        llvm::ArrayRef<llvm::Type*> types, llvm::ArrayRef<llvm::Value*> operands) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(operands[0]->getType());
  if (!vector) return b.CreateIntrinsic(id, types, operands);
  llvm::Value* result = llvm::PoisonValue::get(vector);
  for (uint64_t lane = 0; lane < vector->getNumElements(); ++lane) {
    llvm::SmallVector<llvm::Value*, 2> elements;
    for (llvm::Value* operand : operands) {
      elements.push_back(b.CreateExtractElement(operand, lane));
    }
    result = b.CreateInsertElement(result, b.CreateIntrinsic(id, types, elements), lane);
  }
  return result;
}

// By the PTX ISA's section on floating-point instructions: ex2.approx and div.full are within 2
// ulp, rcp.approx within 1; max.NaN and min.NaN are of f32 from sm_80 on, and of no f64.
class Nvptx : public TargetInstructions {
 public:
  bool raisesTwo(llvm::Type* type) const override { return type->getScalarType()->isFloatTy(); }
  llvm::Value* powerOfTwo(llvm::IRBuilder<>& b, llvm::Value* x) const override {
    return ofEachLane(b, llvm::Intrinsic::nvvm_ex2_approx, {b.getFloatTy()}, x);
  }

  bool ordersNumbers(llvm::Type* type) const override { return type->getScalarType()->isFloatTy(); }

  void addAtomically(llvm::IRBuilder<>& b, llvm::Value* to, llvm::Value* vector) const override {
    constexpr unsigned kGlobalSpace = 1;
    const unsigned lanes = llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
    llvm::SmallVector<llvm::Value*, 5> operands = {
        b.CreateAddrSpaceCast(to, b.getPtrTy(kGlobalSpace))};
    std::string text = "red.relaxed.gpu.global.add.v" + std::to_string(lanes) + ".f32 [$0], {";
    std::string constraints = "l";
    for (unsigned lane = 0; lane < lanes; ++lane) {
      operands.push_back(b.CreateExtractElement(vector, lane));
      text += (lane > 0 ? ", $" : "$") + std::to_string(lane + 1);
      constraints += ",f";
    }
    llvm::SmallVector<llvm::Type*, 5> types;
    for (llvm::Value* operand : operands) types.push_back(operand->getType());
    b.CreateCall(llvm::InlineAsm::get(llvm::FunctionType::get(b.getVoidTy(), types, false),
                                      text + "};", constraints + ",~{memory}",
                                      /*hasSideEffects=*/true),
                 operands);
  }

  bool approximatesReciprocal(llvm::Type* type) const override {
    return type->getScalarType()->isFloatTy();
  }
  llvm::Value* reciprocal(llvm::IRBuilder<>& b, llvm::Value* x) const override {
    return ofEachLane(b, llvm::Intrinsic::nvvm_rcp_approx_ftz_f, {}, x);
  }

  bool approximatesQuotient(llvm::Type* type) const override {
    return type->getScalarType()->isFloatTy();
  }
  llvm::Value* quotient(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y) const override {
    return ofEachLane(b, llvm::Intrinsic::nvvm_div_full, {}, {x, y});
  }

  bool contractsProducts() const override { return true; }

  // Of LLVM 22: PTX's shifts clamp, so that it takes them for the choice.
  bool losesShiftAmounts() const override { return true; }
};

}  // namespace

const TargetInstructions& nvptxInstructions() {
  static const Nvptx nvptx;
  return nvptx;
}

}  // namespace isthmus::codegen
