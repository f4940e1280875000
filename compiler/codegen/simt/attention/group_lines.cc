#include "compiler/codegen/simt/attention/group_lines.h"

#include <algorithm>

#include "compiler/codegen/target/group_threads.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/attention/group_attention.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::codegen {
namespace {

// Of the longest vectors that the kernel reads and writes at once (kAttentionVector).
constexpr unsigned kVectorBytes = sizeof(float) * kAttentionVector;

}  // namespace

GroupLines::GroupLines(LoopBuilder& loops, const char* name, int64_t lines, int64_t stride)
    : loops_(loops), stride_(stride) {
  memory_ = makeGroupMemory(*loops.function()->getParent(), llvm::Type::getFloatTy(loops.context()),
                            lines * stride, name, kVectorBytes);
}

bool GroupLines::hasVectors(size_t count) const {
  return count > 1 && loops_.target().threadBits >= 32 * count;
}

llvm::Value* GroupLines::slot(llvm::Value* line, llvm::Value* element) {
  llvm::IRBuilder<>& b = loops_.here();
  llvm::Value* index = b.CreateAdd(b.CreateMul(line, loops_.i64(stride_)), element);
  return b.CreateInBoundsGEP(b.getFloatTy(), memory_, index);
}

Registers GroupLines::load(llvm::Value* slot, unsigned count) {
  llvm::IRBuilder<>& b = loops_.here();
  Registers values;
  llvm::Value* vector = nullptr;
  if (hasVectors(count)) {
    vector = b.CreateAlignedLoad(llvm::FixedVectorType::get(b.getFloatTy(), count), slot,
                                 llvm::Align(uint64_t{4} * count));
  }
  for (unsigned i = 0; i < count; ++i) {
    values.push_back(vector ? b.CreateExtractElement(vector, uint64_t{i})
                            : b.CreateLoad(b.getFloatTy(),
                                           b.CreateConstInBoundsGEP1_64(b.getFloatTy(), slot, i)));
  }
  return values;
}

void GroupLines::store(llvm::Value* slot, const Registers& values) {
  llvm::IRBuilder<>& b = loops_.here();
  if (!hasVectors(values.size())) {
    for (auto [i, value] : llvm::enumerate(values)) {
      b.CreateStore(value, b.CreateConstInBoundsGEP1_64(b.getFloatTy(), slot, i));
    }
    return;
  }
  llvm::Value* vector = llvm::PoisonValue::get(
      llvm::FixedVectorType::get(b.getFloatTy(), static_cast<unsigned>(values.size())));
  for (auto [i, value] : llvm::enumerate(values)) {
    vector = b.CreateInsertElement(vector, value, uint64_t{i});
  }
  b.CreateAlignedStore(vector, slot, llvm::Align(4 * values.size()));
}

namespace {

class LineCopy {
 public:
  LineCopy(OnlineRows& rows, const OperandLines& from, llvm::Value* first, int64_t count,
           int64_t width, GroupLines& to)
      : rows_(rows),
        loops_(rows.loops),
        from_(from),
        kind_(rows.evaluator.kindOf(from.operand)),
        first_(first),
        count_(count),
        width_(width),
        to_(to),
        numElements_(AttentionShape::sizeOf(from.elements)) {
    alongElements_ = innermost(from.elements) == 1 || innermost(from.lines) != 1;
    vector_ = readsVectors() ? static_cast<unsigned>(kAttentionVector) : 1;
  }

  void run() {
    const auto threads = static_cast<int64_t>(rows_.stage.groupThreads);
    const int64_t pieces = count_ * width_ / vector_;
    llvm::Value* thread = threadInGroup(loops_);
    llvm::SmallVector<Piece, 8> open;
    for (int64_t begin = 0; begin < pieces; begin += threads) {
      open.push_back(load(b().CreateAdd(thread, loops_.i64(begin))));
      if (begin + threads > pieces) {
        open.back().exists = b().CreateICmpULT(thread, loops_.i64(pieces - begin));
      }
      if (static_cast<int64_t>(open.size()) == loops_.target().loadsAtOnce ||
          begin + threads >= pieces) {
        for (const Piece& piece : open) store(piece);
        open.clear();
      }
    }
  }

 private:
  struct Piece {
    llvm::Value *line, *element;
    Registers values;
    llvm::Value* exists = nullptr;  // null: it does
  };

  llvm::IRBuilder<>& b() { return loops_.here(); }

  int64_t innermost(const AttentionDims& dims) const {
    return dims.empty() ? 0 : dims.back().*from_.stride;
  }

  // Whether neighbours lie side by side, at multiples of their size.
  bool readsVectors() const {
    const TargetModel& target = loops_.target();
    const int64_t bytes = kAttentionVector * kind_.storageBytes;
    auto isWhole = [&](const AttentionDims& dims) {
      return llvm::all_of(
          dims, [&](const AttentionDim& dim) { return dim.*from_.stride % kAttentionVector == 0; });
    };
    return alongElements_ && from_.elements.size() == 1 && innermost(from_.elements) == 1 &&
           numElements_ % kAttentionVector == 0 && isWhole(from_.lines) &&
           isWhole(rows_.shape.batch) && bytes <= target.bufferBytes && target.threadBits > 0;
  }

  Piece load(llvm::Value* index) {
    Piece piece;
    const int64_t side = alongElements_ ? width_ / vector_ : count_;
    llvm::Value* quick = b().CreateURem(index, loops_.i64(side));
    llvm::Value* slow = b().CreateUDiv(index, loops_.i64(side));
    piece.line = alongElements_ ? slow : quick;
    piece.element = b().CreateMul(alongElements_ ? quick : slow, loops_.i64(vector_));
    llvm::Value* line = b().CreateAdd(first_, piece.line);
    llvm::Value* isInside =
        b().CreateICmpULT(line, loops_.i64(AttentionShape::sizeOf(from_.lines)));
    if (numElements_ < width_) {
      isInside =
          b().CreateAnd(isInside, b().CreateICmpULT(piece.element, loops_.i64(numElements_)));
    }
    llvm::Value* place = b().CreateAdd(rows_.offset(line, from_.lines, from_.stride),
                                       rows_.offset(piece.element, from_.elements, from_.stride));
    // These are computed further out, where the builder is then.
    llvm::Value* batch = rows_.batchOffset(from_.stride);
    llvm::Value* buffer = rows_.bufferOf(from_.operand);
    place = b().CreateAdd(batch, place);
    // Outside, what is there is read and not used.
    place = b().CreateSelect(isInside, place, loops_.i64(0));
    llvm::Type* type = kind_.storageType(loops_.context());
    llvm::Type* loaded = vector_ == 1 ? type : llvm::FixedVectorType::get(type, vector_);
    llvm::Value* stored =
        b().CreateAlignedLoad(loaded, b().CreateGEP(type, buffer, place),
                              llvm::Align(static_cast<uint64_t>(vector_) * kind_.storageBytes));
    llvm::Value* value = rows_.evaluator.fromStorage(stored, kind_, loops_.current());
    value = b().CreateSelect(isInside, value, llvm::Constant::getNullValue(value->getType()));
    for (unsigned i = 0; i < vector_; ++i) {
      piece.values.push_back(vector_ == 1 ? value : b().CreateExtractElement(value, uint64_t{i}));
    }
    return piece;
  }

  void store(const Piece& piece) {
    auto put = [&] {
      to_.store(to_.slot(piece.line, piece.element), piece.values);
      return LoopBuilder::Values();
    };
    if (piece.exists) {
      loops_.branch(piece.exists, {}, put);
    } else {
      put();
    }
  }

  OnlineRows& rows_;
  LoopBuilder& loops_;
  const OperandLines& from_;
  ElementKind kind_;
  llvm::Value* first_;
  int64_t count_, width_;
  GroupLines& to_;
  int64_t numElements_;
  bool alongElements_ = false;  // neighbouring threads read along lines, else across them
  unsigned vector_ = 1;
};

}  // namespace

void copyLines(OnlineRows& rows, const OperandLines& from, llvm::Value* first, int64_t count,
               int64_t width, GroupLines& to) {
  LineCopy(rows, from, first, count, width, to).run();
}

}  // namespace isthmus::codegen
