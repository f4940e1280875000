#include "compiler/codegen/update/atomic_update.h"

#include <optional>

#include "compiler/codegen/target/target_instructions.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/combiner.h"

namespace isthmus::codegen {
namespace {

using Update = llvm::AtomicRMWInst::BinOp;

// Nobody learns from an update that others are there: results are read after the kernel.
constexpr auto kOrder = llvm::AtomicOrdering::Monotonic;

using AtomicFloats = TargetModel::AtomicFloats;

AtomicFloats neededToAdd(const ElementKind& kind) {
  // No target adds the formats of a byte.
  constexpr auto kNever = static_cast<AtomicFloats>(static_cast<int>(AtomicFloats::kBf16) + 1);
  if (kind.isBf16) return AtomicFloats::kBf16;
  if (kind.isF16) return AtomicFloats::kF16;
  return kind.small ? kNever : AtomicFloats::kF32AndF64;
}

// One instruction for the whole of it, or for each part of a complex number, where there is one.
std::optional<Update> instructionFor(mlir::Operation* op, const ElementKind& kind,
                                     const TargetModel& target) {
  if (!op) return std::nullopt;
  bool isAdd = mlir::isa<shlo::AddOp>(op);
  if (kind.isFloat() || kind.isComplex()) {
    // Their extrema have instructions, but none with StableHLO's NaN and order of zeros.
    return isAdd && target.atomicFloats >= neededToAdd(kind) ? std::optional(Update::FAdd)
                                                             : std::nullopt;
  }
  // Narrower ones share a word, which is exchanged as a whole.
  if (!kind.isInteger() || kind.bits < 32) return std::nullopt;
  if (isAdd) return Update::Add;
  if (mlir::isa<shlo::AndOp>(op)) return Update::And;
  if (mlir::isa<shlo::OrOp>(op)) return Update::Or;
  if (mlir::isa<shlo::XorOp>(op)) return Update::Xor;
  if (mlir::isa<shlo::MaxOp>(op)) return kind.isSigned ? Update::Max : Update::UMax;
  if (mlir::isa<shlo::MinOp>(op)) return kind.isSigned ? Update::Min : Update::UMin;
  return std::nullopt;
}

// Whether what is there does not matter, so that storing the update is all.
bool returnsUpdate(mlir::Region& combiner) {
  mlir::Block& block = combiner.front();
  return block.getNumArguments() == 2 && block.getTerminator()->getNumOperands() == 1 &&
         block.getTerminator()->getOperand(0) == block.getArgument(1);
}

class AtomicUpdate {
 public:
  AtomicUpdate(Evaluator& evaluator, const ElementKind& kind)
      : evaluator_(evaluator),
        loops_(evaluator.loops()),
        kind_(kind),
        wordBits_(kind.storageBytes == 8 ? 64 : 32) {}

  void emit(llvm::Value* base, const IndexExpr& linear, mlir::Region& combiner, const Val& update) {
    if (linear.laneStride == 1) return addVector(base, linear, update);
    llvm::SyncScope::ID scope = loops_.context().getOrInsertSyncScopeID("device");
    if (auto op = instructionFor(soleOperation(combiner), kind_, loops_.target())) {
      return updateAtOnce(*op, base, linear, update, scope);
    }
    locate(base, linear);
    llvm::IRBuilder<>& b = loops_.here();
    // A guess, not atomic: where it is wrong, the exchange fails and says what is there.
    llvm::Value* first = b.CreateAlignedLoad(wordType(), word_, align());
    repeat(first, [&](llvm::Value* word) {
      llvm::SmallVector<Val, 2> results =
          evaluator_.evaluateRegion(combiner, {elementOf(word), update});
      if (results.empty()) return word;
      llvm::Value* next = withElement(word, evaluator_.splat(results[0], 1));
      llvm::IRBuilder<>& at = loops_.here();
      llvm::Value* exchanged =
          at.CreateAtomicCmpXchg(word_, word, next, align(), kOrder, kOrder, scope);
      return at.CreateExtractValue(exchanged, 0);
    });
  }

 private:
  // Of the neighbours that the schedule has chosen, whose combiner is an addition.
  void addVector(llvm::Value* base, const IndexExpr& linear, const Val& update) {
    llvm::Value* vector = evaluator_.splat(update, evaluator_.lanes()).re;
    llvm::Value* index = loops_.uniformPart(linear);
    llvm::IRBuilder<>& b = loops_.here();
    llvm::Value* to = b.CreateGEP(vector->getType()->getScalarType(), base, index);
    instructionsOf(loops_.target()).addAtomically(b, to, vector);
  }

  void updateAtOnce(Update op, llvm::Value* base, const IndexExpr& linear, const Val& update,
                    llvm::SyncScope::ID scope) {
    llvm::Value* index = loops_.uniformPart(linear);
    llvm::IRBuilder<>& b = loops_.here();
    // The parts of a complex number one after the other: nobody reads it in between.
    const unsigned parts = kind_.parts();
    const llvm::Align align(kind_.storageBytes / parts);
    for (unsigned part = 0; part < parts; ++part) {
      llvm::Value* value = part == 0 ? update.re : update.im;
      if (kind_.small) {
        llvm::Type* type = kind_.isBf16 ? b.getBFloatTy() : b.getHalfTy();
        value = b.CreateBitCast(evaluator_.toStorage(value, kind_), type);
      }
      llvm::Value* at = b.CreateMul(index, b.getInt64(parts));
      llvm::Value* place = b.CreateGEP(value->getType(), base, b.CreateAdd(at, b.getInt64(part)));
      b.CreateAtomicRMW(op, place, value, align, kOrder, scope);
    }
  }

  llvm::IntegerType* wordType() const {
    return llvm::IntegerType::get(loops_.context(), wordBits_);
  }
  llvm::MaybeAlign align() const { return llvm::Align(wordBits_ / 8); }
  llvm::IntegerType* bitsType() const {
    return llvm::IntegerType::get(loops_.context(), 8 * kind_.storageBytes);
  }
  bool isWhole() const { return 8 * kind_.storageBytes == wordBits_; }

  // `body` gets what is thought to be there and returns what was, until both are the same.
  void repeat(llvm::Value* first, const std::function<llvm::Value*(llvm::Value*)>& body) {
    Level* outer = loops_.current();
    Level inner;
    inner.parent = outer;
    inner.depth = outer->depth + 1;
    auto* header = llvm::BasicBlock::Create(loops_.context(), "exchange", loops_.function());
    auto* done = llvm::BasicBlock::Create(loops_.context(), "exchanged", loops_.function());
    inner.block = header;
    llvm::PHINode* expected = loops_.at(&inner).CreatePHI(first->getType(), 2);
    llvm::Value* found = loops_.within(&inner, [&] { return body(expected); });
    llvm::IRBuilder<>& b = loops_.at(&inner);
    // As integers: compared as floats a NaN would never be what was expected.
    b.CreateCondBr(b.CreateICmpEQ(found, expected), done, header);
    expected->addIncoming(found, inner.block);
    expected->addIncoming(first, outer->block);
    loops_.at(outer).CreateBr(header);
    outer->block = done;
  }

  // The word that the element is in, and its first bit there.
  void locate(llvm::Value* base, const IndexExpr& linear) {
    llvm::Value* index = loops_.uniformPart(linear);
    llvm::IRBuilder<>& b = loops_.here();
    if (!isWhole()) {
      llvm::Value* byte = b.CreateMul(index, b.getInt64(kind_.storageBytes));
      shift_ = b.CreateTrunc(b.CreateShl(b.CreateAnd(byte, b.getInt64(3)), 3), wordType());
      index = b.CreateLShr(byte, 2);
    }
    word_ = b.CreateGEP(wordType(), base, index);
  }

  Val elementOf(llvm::Value* word) {
    Level* level = loops_.current();
    llvm::IRBuilder<>& b = loops_.here();
    if (kind_.isComplex()) {
      llvm::Value* low = b.CreateTrunc(word, b.getInt32Ty());
      llvm::Value* high = b.CreateTrunc(b.CreateLShr(word, 32), b.getInt32Ty());
      return {b.CreateBitCast(low, b.getFloatTy()), b.CreateBitCast(high, b.getFloatTy()), level};
    }
    llvm::Value* bits = isWhole() ? word : b.CreateTrunc(b.CreateLShr(word, shift_), bitsType());
    llvm::Value* stored = b.CreateBitCast(bits, kind_.storageType(loops_.context()));
    return {evaluator_.fromStorage(stored, kind_, level), nullptr, level};
  }

  llvm::Value* withElement(llvm::Value* word, const Val& value) {
    if (kind_.isComplex()) {
      llvm::IRBuilder<>& b = loops_.here();
      llvm::Value* low = b.CreateZExt(b.CreateBitCast(value.re, b.getInt32Ty()), wordType());
      llvm::Value* high = b.CreateZExt(b.CreateBitCast(value.im, b.getInt32Ty()), wordType());
      return b.CreateOr(low, b.CreateShl(high, 32));
    }
    llvm::IRBuilder<>& b = loops_.here();
    llvm::Value* bits = b.CreateBitCast(evaluator_.toStorage(value.re, kind_), bitsType());
    if (isWhole()) return bits;
    llvm::Value* mask = llvm::ConstantInt::get(wordType(), bitsType()->getBitMask());
    llvm::Value* others = b.CreateAnd(word, b.CreateNot(b.CreateShl(mask, shift_)));
    return b.CreateOr(others, b.CreateShl(b.CreateZExt(bits, wordType()), shift_));
  }

  Evaluator& evaluator_;
  LoopBuilder& loops_;
  const ElementKind& kind_;
  unsigned wordBits_;
  llvm::Value* word_ = nullptr;
  llvm::Value* shift_ = nullptr;
};

}  // namespace

void updateAtomically(Evaluator& evaluator, llvm::Value* base, const ElementKind& kind,
                      const IndexExpr& linear, mlir::Region& combiner, const Val& update) {
  if (returnsUpdate(combiner)) {
    evaluator.store(base, kind, linear, update);
  } else {
    AtomicUpdate(evaluator, kind).emit(base, linear, combiner, update);
  }
}

}  // namespace isthmus::codegen
