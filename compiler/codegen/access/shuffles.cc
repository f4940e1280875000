#include "compiler/codegen/access/shuffles.h"

#include <string>

#include "compiler/codegen/access/shuffle_network.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"

namespace isthmus::codegen {
namespace {

// AVX-512's shuffle of two vectors by any mask.
llvm::Intrinsic::ID anyShuffle(const TargetModel& target, llvm::Type* element, size_t lanes) {
  if (!target.avx512) return llvm::Intrinsic::not_intrinsic;
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
  if (bits == 8 && target.avx512Vbmi) {
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

// Eklundh's swaps of the off-diagonal halves of ever larger squares.
void swapHalves(
    llvm::MutableArrayRef<llvm::Value*> rows,
    llvm::function_ref<llvm::Value*(llvm::Value*, llvm::Value*, llvm::ArrayRef<int>)> shuffle) {
  size_t size = rows.size();
  for (size_t half = 1; half < size; half *= 2) {
    llvm::SmallVector<int, 16> upper, lower;
    for (size_t x = 0; x < size; ++x) {
      upper.push_back(static_cast<int>(x & half ? size + x - half : x));
      lower.push_back(static_cast<int>(x & half ? size + x : x + half));
    }
    for (size_t i = 0; i < size; ++i) {
      if (i & half) continue;
      llvm::Value* a = rows[i];
      llvm::Value* c = rows[i + half];
      rows[i] = shuffle(a, c, upper);
      rows[i + half] = shuffle(a, c, lower);
    }
  }
}

}  // namespace

bool hasAnyShuffle(const TargetModel& target, llvm::Type* element, size_t lanes) {
  return anyShuffle(target, element, lanes) != llvm::Intrinsic::not_intrinsic;
}

llvm::Value* shuffle(llvm::IRBuilder<>& b, const TargetModel& target, llvm::Value* first,
                     llvm::Value* second, llvm::ArrayRef<int> mask) {
  llvm::Type* type = first->getType();
  unsigned bits = type->getScalarSizeInBits();
  llvm::Type* element = type->getScalarType();
  llvm::Intrinsic::ID id = anyShuffle(target, element, mask.size());
  // LLVM writes some masks as several shuffles with fixed patterns, each of which waits for the one
  // before; as an intrinsic it stays one instruction with its mask in a register.
  if (id == llvm::Intrinsic::not_intrinsic) return b.CreateShuffleVector(first, second, mask);
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

void transposeSquare(llvm::IRBuilder<>& b, llvm::MutableArrayRef<llvm::Value*> rows) {
  swapHalves(rows, [&](llvm::Value* first, llvm::Value* second, llvm::ArrayRef<int> mask) {
    return b.CreateShuffleVector(first, second, mask);
  });
}

void transposeSquare(llvm::IRBuilder<>& b, const TargetModel& target,
                     llvm::MutableArrayRef<llvm::Value*> rows) {
  swapHalves(rows, [&](llvm::Value* first, llvm::Value* second, llvm::ArrayRef<int> mask) {
    return shuffle(b, target, first, second, mask);
  });
}

llvm::SmallVector<llvm::Value*, 16> pickAll(llvm::IRBuilder<>& b, const TargetModel& target,
                                            llvm::ArrayRef<llvm::Value*> vectors,
                                            llvm::ArrayRef<Offsets> wanted) {
  const ShuffleNetwork network = mergeLanes(vectors.size(), wanted.front().size(), wanted);
  llvm::SmallVector<llvm::Value*, 64> made(vectors);
  for (const Shuffle& step : network.shuffles) {
    made.push_back(shuffle(b, target, made[step.first], made[step.second], step.mask));
  }
  llvm::SmallVector<llvm::Value*, 16> results;
  for (size_t vector : network.results) results.push_back(made[vector]);
  return results;
}

}  // namespace isthmus::codegen
