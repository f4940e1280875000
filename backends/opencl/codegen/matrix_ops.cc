#include "backends/opencl/codegen/matrix_ops.h"

#include "backends/opencl/codegen/builtin_call.h"
#include "compiler/codegen/target/group_threads.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"

namespace isthmus::opencl {
namespace {

using codegen::MatrixOps;
using Type = MatrixOps::Type;

llvm::Value* localId(llvm::IRBuilder<>& b) {
  return callBuiltin(b, "_Z12get_local_idj", b.getInt64Ty(), {b.getInt32(0)}, Builtin::kPure);
}

// The fence of a group's memory.
void waitForGroup(llvm::IRBuilder<>& b) {
  callBuiltin(b, "_Z7barrierj", b.getVoidTy(), {b.getInt32(1)}, Builtin::kConvergent);
}

// The functions' names as C++ has them: (short8, int8, float8) and (short8, int8, int8).
const char* functionOf(Type type) {
  switch (type) {
    case Type::kBf16:
      return "_Z40intel_sub_group_bf16_bf16_matrix_mad_k16Dv8_sDv8_iDv8_f";
    case Type::kF16:
      return "_Z38intel_sub_group_f16_f16_matrix_mad_k16Dv8_sDv8_iDv8_f";
    case Type::kI8:
      return "_Z36intel_sub_group_i8_i8_matrix_mad_k32Dv8_sDv8_iS0_";
  }
  return nullptr;
}

// Element number `index` of those packed in `bits`, as a number of c's type.
llvm::Value* unpack(llvm::IRBuilder<>& b, Type type, llvm::Value* bits, unsigned index) {
  const unsigned width = type == Type::kI8 ? 8 : 16;
  llvm::Value* element = b.CreateTrunc(b.CreateLShr(bits, index * width), b.getIntNTy(width));
  switch (type) {
    case Type::kBf16:
      // bf16 is the upper half of an f32.
      return b.CreateBitCast(b.CreateShl(b.CreateZExt(element, b.getInt32Ty()), 16),
                             b.getFloatTy());
    case Type::kF16:
      return b.CreateFPExt(b.CreateBitCast(element, b.getHalfTy()), b.getFloatTy());
    case Type::kI8:
      return b.CreateSExt(element, b.getInt32Ty());
  }
  return nullptr;
}

llvm::Value* emulate(llvm::IRBuilder<>& b, llvm::GlobalVariable& memory, Type type, llvm::Value* a,
                     llvm::Value* rhs, llvm::Value* sums) {
  llvm::Value* self = localId(b);
  auto slot = [&](llvm::Value* thread) {
    return b.CreateInBoundsGEP(a->getType(), &memory, thread);
  };
  // Each thread has a column of the left operand, and needs those of its whole sub-group.
  b.CreateStore(a, slot(self));
  waitForGroup(b);
  const unsigned perHalf = type == Type::kI8 ? 2 : 1, perWord = 2 * perHalf;
  // Of the sub-group's threads, which are neighbours: their number is a power of two.
  llvm::Value* first = b.CreateAnd(self, ~uint64_t{kMatrixThreads - 1});
  for (unsigned thread = 0; thread < kMatrixThreads; ++thread) {
    llvm::Value* column = b.CreateLoad(a->getType(), slot(b.CreateAdd(first, b.getInt64(thread))));
    for (unsigned e = 0; e < perHalf; ++e) {
      const unsigned k = thread * perHalf + e;
      llvm::Value* word = b.CreateExtractElement(rhs, uint64_t{k / perWord});
      llvm::Value* y = unpack(b, type, word, k % perWord);
      for (unsigned row = 0; row < kMatrixRows; ++row) {
        llvm::Value* x = unpack(b, type, b.CreateExtractElement(column, uint64_t{row}), e);
        llvm::Value* sum = b.CreateExtractElement(sums, uint64_t{row});
        sum = type == Type::kI8 ? b.CreateAdd(sum, b.CreateMul(x, y))
                                : b.CreateFAdd(sum, b.CreateFMul(x, y));
        sums = b.CreateInsertElement(sums, sum, uint64_t{row});
      }
    }
  }
  // The next product writes where slow threads may still read.
  waitForGroup(b);
  return sums;
}

}  // namespace

MatrixOps intelMatrixOps() {
  MatrixOps ops;
  ops.require = [](llvm::Function& kernel) { requireSubgroupsOf(kMatrixThreads, kernel); };
  auto number = [](const char* name) {
    return [name](llvm::IRBuilder<>& b) -> llvm::Value* {
      llvm::Value* value = callBuiltin(b, name, b.getInt32Ty(), {}, Builtin::kPure);
      return b.CreateZExt(value, b.getInt64Ty());
    };
  };
  ops.threadInSubgroup = number("_Z22get_sub_group_local_idv");
  ops.subgroupInGroup = number("_Z16get_sub_group_idv");
  ops.multiplyAdd = [](llvm::IRBuilder<>& b, Type type, llvm::Value* a, llvm::Value* rhs,
                       llvm::Value* sums) -> llvm::Value* {
    return callBuiltin(b, functionOf(type), sums->getType(), {a, rhs, sums}, Builtin::kConvergent);
  };
  return ops;
}

MatrixOps emulatedMatrixOps(unsigned groupThreads) {
  MatrixOps ops;
  ops.require = [](llvm::Function&) {};
  ops.threadInSubgroup = [](llvm::IRBuilder<>& b) {
    return b.CreateAnd(localId(b), uint64_t{kMatrixThreads - 1});
  };
  ops.subgroupInGroup = [](llvm::IRBuilder<>& b) {
    return b.CreateUDiv(localId(b), b.getInt64(kMatrixThreads));
  };
  ops.multiplyAdd = [groupThreads](llvm::IRBuilder<>& b, Type type, llvm::Value* a,
                                   llvm::Value* rhs, llvm::Value* sums) -> llvm::Value* {
    constexpr const char* kName = "rows of sub-groups";
    llvm::Module& module = *b.GetInsertBlock()->getModule();
    llvm::GlobalVariable* memory = module.getNamedGlobal(kName);
    if (memory == nullptr) {
      memory = codegen::makeGroupMemory(module, a->getType(), groupThreads, kName);
    }
    return emulate(b, *memory, type, a, rhs, sums);
  };
  return ops;
}

}  // namespace isthmus::opencl
