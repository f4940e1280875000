// threefry2x32 and philox4x32 (Salmon et al., SC 2011): each work-item computes the words of one
// counter.
#include "compiler/codegen/simt/data_kernels.h"
#include "compiler/codegen/simt/kernel_writer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Module.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus::codegen {
namespace {

// Where words go: threefry's two lie along the first dimension of even size (else the longest), as
// XLA has it. Elements of 8 bytes take two words each.
struct Layout {
  bool isThreefry = false;
  int64_t stateWords = 2;
  ElementKind kind;
  int64_t elements = 1;
  int64_t splitOuter = 1, splitSize = 1, splitInner = 1;

  int64_t half() const { return (splitSize + 1) / 2; }
  int64_t counters() const {
    if (kind.storageBytes == 8) return isThreefry ? elements : (elements + 1) / 2;
    return isThreefry ? splitOuter * half() * splitInner : (elements + 3) / 4;
  }
};

class RandomBits {
 public:
  RandomBits(const Layout& layout, KernelWriter& writer) : d_(layout), w_(writer), b_(writer.b()) {}

  void emit() {
    llvm::Value* key = stateWord(0);
    llvm::Value* low = stateWord(1);
    llvm::Value* high = d_.stateWords == 3 ? stateWord(2) : key;
    llvm::Value* counter = w_.item(0);
    w_.branch(b_.CreateICmpEQ(counter, w_.i64(0)), [&] { advance(key, low, high); });
    llvm::Value* at = b_.CreateAdd(low, counter);
    llvm::Value* carry = b_.CreateZExt(b_.CreateICmpULT(at, low), b_.getInt64Ty());
    if (d_.isThreefry) {
      storeThreefry(counter, threefry(key, at));
    } else {
      storePhilox(counter, philox(key, at, b_.CreateAdd(high, carry)));
    }
  }

 private:
  using Words = llvm::SmallVector<llvm::Value*, 4>;

  llvm::Value* i32(uint32_t value) { return b_.getInt32(value); }
  llvm::Value* lowWord(llvm::Value* value) { return b_.CreateTrunc(value, b_.getInt32Ty()); }
  llvm::Value* highWord(llvm::Value* value) { return lowWord(b_.CreateLShr(value, 32)); }
  llvm::Value* statePlace(unsigned buffer, uint64_t word) {
    return b_.CreateConstGEP1_64(b_.getInt64Ty(), w_.buffer(buffer), word);
  }
  llvm::Value* stateWord(uint64_t word) {
    return b_.CreateLoad(b_.getInt64Ty(), statePlace(0, word));
  }

  // The state once all counters have been used.
  void advance(llvm::Value* key, llvm::Value* low, llvm::Value* high) {
    llvm::Value* next = b_.CreateAdd(low, w_.i64(d_.counters()));
    b_.CreateStore(key, statePlace(1, 0));
    b_.CreateStore(next, statePlace(1, 1));
    if (d_.stateWords < 3) return;
    llvm::Value* carry = b_.CreateZExt(b_.CreateICmpULT(next, low), b_.getInt64Ty());
    b_.CreateStore(d_.isThreefry ? high : b_.CreateAdd(high, carry), statePlace(1, 2));
  }

  Words threefry(llvm::Value* key, llvm::Value* counter) {
    static constexpr uint32_t kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    Words ks = {lowWord(key), highWord(key)};
    ks.push_back(b_.CreateXor(b_.CreateXor(ks[0], ks[1]), i32(0x1BD11BDA)));
    llvm::Value* x0 = b_.CreateAdd(lowWord(counter), ks[0]);
    llvm::Value* x1 = b_.CreateAdd(highWord(counter), ks[1]);
    for (uint32_t group = 0; group < 5; ++group) {
      for (uint32_t rotation : kRotations[group % 2]) {
        x0 = b_.CreateAdd(x0, x1);
        x1 = b_.CreateOr(b_.CreateShl(x1, rotation), b_.CreateLShr(x1, 32 - rotation));
        x1 = b_.CreateXor(x1, x0);
      }
      x0 = b_.CreateAdd(x0, ks[(group + 1) % 3]);
      x1 = b_.CreateAdd(b_.CreateAdd(x1, ks[(group + 2) % 3]), i32(group + 1));
    }
    return {x0, x1};
  }

  Words philox(llvm::Value* key, llvm::Value* low, llvm::Value* high) {
    Words x = {lowWord(low), highWord(low), lowWord(high), highWord(high)};
    llvm::Value* k0 = lowWord(key);
    llvm::Value* k1 = highWord(key);
    auto product = [&](llvm::Value* a, uint32_t factor) {
      return b_.CreateMul(b_.CreateZExt(a, b_.getInt64Ty()), b_.getInt64(factor));
    };
    for (int round = 0; round < 10; ++round) {
      llvm::Value* p0 = product(x[0], 0xD2511F53U);
      llvm::Value* p1 = product(x[2], 0xCD9E8D57U);
      x = {b_.CreateXor(b_.CreateXor(highWord(p1), x[1]), k0), lowWord(p1),
           b_.CreateXor(b_.CreateXor(highWord(p0), x[3]), k1), lowWord(p0)};
      k0 = b_.CreateAdd(k0, i32(0x9E3779B9U));
      k1 = b_.CreateAdd(k1, i32(0xBB67AE85U));
    }
    return x;
  }

  llvm::Value* both(llvm::Value* low, llvm::Value* high) {
    return b_.CreateOr(b_.CreateZExt(low, b_.getInt64Ty()),
                       b_.CreateShl(b_.CreateZExt(high, b_.getInt64Ty()), 32));
  }

  // The low bits of a word, or of two; of less than a byte, extended by zeros or the sign.
  void store(llvm::Value* index, llvm::Value* word) {
    llvm::IntegerType* type = b_.getIntNTy(8 * d_.kind.storageBytes);
    llvm::Value* bits = b_.CreateZExtOrTrunc(word, type);
    if (d_.kind.isSubByte()) {
      uint64_t rest = 8 - d_.kind.bits;
      bits = b_.CreateShl(bits, rest);
      bits = d_.kind.isSigned ? b_.CreateAShr(bits, rest) : b_.CreateLShr(bits, rest);
    }
    b_.CreateAlignedStore(bits, b_.CreateGEP(type, w_.buffer(2), index),
                          llvm::Align(d_.kind.storageBytes));
  }

  void storeThreefry(llvm::Value* counter, const Words& words) {
    if (d_.kind.storageBytes == 8) return store(counter, both(words[0], words[1]));
    auto [row, inner] = w_.divide(counter, d_.splitInner);
    auto [outer, position] = w_.divide(row, d_.half());
    for (int64_t word = 0; word < 2; ++word) {
      llvm::Value* split = w_.plus(w_.times(position, 2), w_.i64(word));
      llvm::Value* at = w_.plus(w_.times(outer, d_.splitSize), split);
      at = w_.plus(w_.times(at, d_.splitInner), inner);
      auto write = [&, at = at] { store(at, words[static_cast<size_t>(word)]); };
      if (word == 1 && d_.splitSize % 2 != 0) {
        w_.branch(b_.CreateICmpULT(split, w_.i64(d_.splitSize)), write);
      } else {
        write();
      }
    }
  }

  void storePhilox(llvm::Value* counter, Words words) {
    if (d_.kind.storageBytes == 8) words = {both(words[0], words[1]), both(words[2], words[3])};
    auto count = static_cast<int64_t>(words.size());
    for (int64_t i = 0; i < count; ++i) {
      llvm::Value* at = w_.plus(w_.times(counter, count), w_.i64(i));
      llvm::Value* word = words[static_cast<size_t>(i)];
      if (d_.elements % count == 0) {
        store(at, word);
      } else {
        w_.branch(b_.CreateICmpULT(at, w_.i64(d_.elements)), [&] { store(at, word); });
      }
    }
  }

  const Layout& d_;
  KernelWriter& w_;
  llvm::IRBuilder<>& b_;
};

StatusOr<Layout> layoutOf(shlo::RngBitGeneratorOp op) {
  auto state = llvm::cast<mlir::RankedTensorType>(op.getInitialState().getType());
  auto result = llvm::cast<mlir::RankedTensorType>(op.getOutput().getType());
  Layout layout;
  layout.isThreefry = op.getRngAlgorithm() == shlo::RngAlgorithm::THREE_FRY;
  layout.stateWords = state.getNumElements();
  bool isKnown = state.getElementType().isUnsignedInteger(64) &&
                 (layout.stateWords == 2 || (layout.stateWords == 3 && !layout.isThreefry));
  if (!isKnown) return unimplemented("a state that is not of two or three ui64");
  std::optional<ElementKind> kind = elementKind(result.getElementType());
  // Floats' bits are what words are.
  if (!kind || kind->isComplex() || kind->isBool() || (kind->isFloat() && kind->bits < 8)) {
    return unimplemented("no kernel makes bits of this type");
  }
  layout.kind = *kind;
  layout.elements = result.getNumElements();
  llvm::ArrayRef<int64_t> shape = result.getShape();
  const auto* split = llvm::find_if(shape, [](int64_t size) { return size % 2 == 0; });
  if (split == shape.end()) split = std::max_element(shape.begin(), shape.end());
  for (const auto* size = shape.begin(); size != shape.end(); ++size) {
    (size < split    ? layout.splitOuter
     : size == split ? layout.splitSize
                     : layout.splitInner) *= *size;
  }
  return layout;
}

}  // namespace

StatusOr<OpKernels> emitRandomBits(shlo::RngBitGeneratorOp op, llvm::Module& module,
                                   const WorkItemForm& form, const std::string& symbol) {
  ISTHMUS_ASSIGN_OR_RETURN(Layout layout, layoutOf(op));
  if (layout.elements == 0) return unimplemented("no kernel makes no bits");
  Items items{layout.counters(), 1, 1};
  KernelWriter writer(module, form, symbol, 3, items);
  RandomBits(layout, writer).emit();
  writer.finish();
  OpKernels kernels;
  kernels.stages.push_back({symbol, items});
  return kernels;
}

}  // namespace isthmus::codegen
