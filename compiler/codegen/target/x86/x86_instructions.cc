#include "compiler/codegen/target/x86/x86_instructions.h"

#include <algorithm>
#include <array>
#include <string>

#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"

namespace isthmus::codegen {
namespace {

// Of vectors of 128, 256 and 512 bits.
using Ids = std::array<llvm::Intrinsic::ID, 3>;

constexpr int kCurrentRounding = 4;

unsigned lanesOf(llvm::Type* type) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector ? vector->getNumElements() : 1;
}

// The instruction with nothing masked.
llvm::Value* callUnmasked(llvm::IRBuilder<>& b, const Ids& ids,
                          llvm::ArrayRef<llvm::Value*> operands) {
  llvm::Type* type = operands[0]->getType();
  const unsigned width = lanesOf(type) * type->getScalarSizeInBits();
  llvm::SmallVector<llvm::Value*, 6> arguments(operands);
  arguments.push_back(llvm::PoisonValue::get(type));
  arguments.push_back(llvm::Constant::getAllOnesValue(b.getIntNTy(std::max(8U, lanesOf(type)))));
  if (width == 512) arguments.push_back(b.getInt32(kCurrentRounding));
  return b.CreateIntrinsic(ids[width / 256], {}, arguments);
}

// vpermi2: two vectors by any mask.
llvm::Intrinsic::ID anyShuffle(llvm::Type* element, size_t lanes, bool hasBytes) {
  const unsigned bits = element->getScalarSizeInBits();
  if (bits == 64 && lanes == 8) {
    return element->isDoubleTy() ? llvm::Intrinsic::x86_avx512_vpermi2var_pd_512
                                 : llvm::Intrinsic::x86_avx512_vpermi2var_q_512;
  }
  if (bits == 32 && lanes == 16) {
    return element->isFloatTy() ? llvm::Intrinsic::x86_avx512_vpermi2var_ps_512
                                : llvm::Intrinsic::x86_avx512_vpermi2var_d_512;
  }
  if (bits == 32 && lanes == 8) {
    return element->isFloatTy() ? llvm::Intrinsic::x86_avx512_vpermi2var_ps_256
                                : llvm::Intrinsic::x86_avx512_vpermi2var_d_256;
  }
  if (bits == 16 && lanes == 32) return llvm::Intrinsic::x86_avx512_vpermi2var_hi_512;
  if (bits == 16 && lanes == 16) return llvm::Intrinsic::x86_avx512_vpermi2var_hi_256;
  if (bits == 8 && hasBytes) {
    if (lanes == 64) return llvm::Intrinsic::x86_avx512_vpermi2var_qi_512;
    if (lanes == 32) return llvm::Intrinsic::x86_avx512_vpermi2var_qi_256;
    if (lanes == 16) return llvm::Intrinsic::x86_avx512_vpermi2var_qi_128;
  }
  return llvm::Intrinsic::not_intrinsic;
}

// The mask of a shuffle in memory. It has a name, for shuffles in many places share it.
llvm::Value* loadMask(llvm::IRBuilder<>& b, unsigned bits, llvm::ArrayRef<int> mask) {
  llvm::Type* element = b.getIntNTy(bits);
  auto* type = llvm::FixedVectorType::get(element, mask.size());
  std::string name = "lanes.i" + std::to_string(bits);
  llvm::SmallVector<llvm::Constant*, 32> lanes;
  for (int lane : mask) {
    // A lane that nobody reads is -1 to LLVM; the instruction wants some number.
    int64_t from = std::max(lane, 0);
    name += "." + std::to_string(from);
    lanes.push_back(llvm::ConstantInt::get(element, from));
  }
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  llvm::GlobalVariable* global = module.getNamedGlobal(name);
  if (!global) {
    global = new llvm::GlobalVariable(module, type, /*isConstant=*/true,
                                      llvm::GlobalValue::PrivateLinkage,
                                      llvm::ConstantVector::get(lanes), name);
    // Of the largest vector: a load that crosses no line of the cache.
    global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    global->setAlignment(llvm::Align(64));
  }
  return b.CreateAlignedLoad(type, global, llvm::Align(64));
}

class X86 : public TargetInstructions {
 public:
  bool keepsNanPayloads() const override { return true; }
};

class Avx512 : public X86 {
 public:
  explicit Avx512(bool shufflesBytes) : shufflesBytes_(shufflesBytes) {}

  bool computesInType(llvm::Type* type) const override {
    llvm::Type* element = type->getScalarType();
    const unsigned width = lanesOf(type) * type->getScalarSizeInBits();
    return (element->isFloatTy() || element->isDoubleTy()) && lanesOf(type) > 1 &&
           (width == 128 || width == 256 || width == 512);
  }

  llvm::Value* scaleByPowerOfTwo(llvm::IRBuilder<>& b, llvm::Value* x,
                                 llvm::Value* n) const override {
    const bool isF64 = x->getType()->getScalarType()->isDoubleTy();
    const Ids ids = isF64 ? Ids{llvm::Intrinsic::x86_avx512_mask_scalef_pd_128,
                                llvm::Intrinsic::x86_avx512_mask_scalef_pd_256,
                                llvm::Intrinsic::x86_avx512_mask_scalef_pd_512}
                          : Ids{llvm::Intrinsic::x86_avx512_mask_scalef_ps_128,
                                llvm::Intrinsic::x86_avx512_mask_scalef_ps_256,
                                llvm::Intrinsic::x86_avx512_mask_scalef_ps_512};
    return callUnmasked(b, ids, {x, n});
  }

  llvm::Value* extremum(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y,
                        bool isMaximum) const override {
    const bool isF64 = x->getType()->getScalarType()->isDoubleTy();
    const Ids ids = isF64 ? Ids{llvm::Intrinsic::x86_avx512_mask_range_pd_128,
                                llvm::Intrinsic::x86_avx512_mask_range_pd_256,
                                llvm::Intrinsic::x86_avx512_mask_range_pd_512}
                          : Ids{llvm::Intrinsic::x86_avx512_mask_range_ps_128,
                                llvm::Intrinsic::x86_avx512_mask_range_ps_256,
                                llvm::Intrinsic::x86_avx512_mask_range_ps_512};
    constexpr int kSignOfResult = 4, kMaximum = 1;
    return callUnmasked(b, ids, {x, y, b.getInt32(kSignOfResult | (isMaximum ? kMaximum : 0))});
  }

  bool approximatesReciprocal(llvm::Type* type) const override {
    return computesInType(type) && type->getScalarType()->isFloatTy();
  }

  llvm::Value* reciprocal(llvm::IRBuilder<>& b, llvm::Value* x) const override {
    const unsigned lanes = lanesOf(x->getType());
    constexpr Ids ids{llvm::Intrinsic::x86_avx512_rcp14_ps_128,
                      llvm::Intrinsic::x86_avx512_rcp14_ps_256,
                      llvm::Intrinsic::x86_avx512_rcp14_ps_512};
    return b.CreateIntrinsic(ids[lanes / 8], {},
                             {x, llvm::PoisonValue::get(x->getType()),
                              llvm::Constant::getAllOnesValue(b.getIntNTy(std::max(8U, lanes)))});
  }

  bool shufflesAny(llvm::Type* element, size_t lanes) const override {
    return anyShuffle(element, lanes, shufflesBytes_) != llvm::Intrinsic::not_intrinsic;
  }

  llvm::Value* shuffleAny(llvm::IRBuilder<>& b, llvm::Value* first, llvm::Value* second,
                          llvm::ArrayRef<int> mask) const override {
    llvm::Type* type = first->getType();
    const unsigned bits = type->getScalarSizeInBits();
    llvm::Type* element = type->getScalarType();
    const llvm::Intrinsic::ID id = anyShuffle(element, mask.size(), shufflesBytes_);
    if (element->isFloatTy() || element->isDoubleTy()) {
      return b.CreateIntrinsic(id, {}, {first, loadMask(b, bits, mask), second});
    }
    llvm::Type* integers = llvm::FixedVectorType::get(b.getIntNTy(bits), mask.size());
    llvm::Value* shuffled =
        b.CreateIntrinsic(id, {},
                          {b.CreateBitCast(first, integers), loadMask(b, bits, mask),
                           b.CreateBitCast(second, integers)});
    return b.CreateBitCast(shuffled, type);
  }

 private:
  bool shufflesBytes_;
};

}  // namespace

const TargetInstructions& x86Instructions(const TargetModel& target) {
  static const Avx512 words(/*shufflesBytes=*/false), bytes(/*shufflesBytes=*/true);
  static const X86 any;
  if (!target.avx512) return any;
  return target.avx512Vbmi ? bytes : words;
}

}  // namespace isthmus::codegen
