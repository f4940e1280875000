// The k largest of each row, by groups of threads that share memory, which read a row once. Each
// thread takes a share of the row and finds its largest element. Only the threads with the k
// largest of these can have any of the row's k largest: their shares are sorted, in the group's
// memory. Long rows are cut into parts, and the k largest of the parts are rows of the next kernel.
#include <algorithm>

#include "compiler/codegen/simt/data_kernels.h"
#include "compiler/codegen/simt/kernel_writer.h"
#include "compiler/codegen/target/group_threads.h"
#include "compiler/schedule/data/data_scheduler.h"
#include "compiler/schedule/data/top_k_schedule.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus::codegen {
namespace {

// An element and its place as one number, by whose order a row is sorted: the element's bits as an
// unsigned integer of the same order above, and below the place, counted down, so that the first of
// equal elements is the largest. 0 is no element's.
constexpr unsigned kKeyBits = 32;

// One kernel, and where what it reads and leaves lies in the scratch memory, in bytes.
struct PlacedSelection : Selection {
  int64_t fromOffset = 0, toOffset = 0;
};

class TopKKernel {
 public:
  TopKKernel(const PlacedSelection& selection, const WorkItemForm& form, KernelWriter& writer)
      : s_(selection), form_(form), w_(writer), b_(writer.b()) {
    thread_ = form.threadInGroup(b_);
    llvm::Module& module = *writer.function().getParent();
    largest_ = makeGroupMemory(module, b_.getInt64Ty(), s_.threads, "largest");
    candidates_ = makeGroupMemory(module, b_.getInt64Ty(), s_.candidates(), "candidates");
    owners_ = makeGroupMemory(module, b_.getInt32Ty(), s_.k, "owners");
    first_ = w_.times(w_.item(0), s_.part);
  }

  void emit() {
    llvm::Value* best = largestOfShare();
    storeTo(largest_, thread_, best);
    w_.branch(b_.CreateICmpULT(thread_, w_.i64(s_.k)), [&] {
      b_.CreateStore(b_.getInt32(static_cast<uint32_t>(s_.threads)),
                     place(owners_, b_.getInt32Ty(), thread_));
    });
    sortDescending(largest_, s_.threads);
    noteOwner(best);
    form_.barrier(b_);
    bringCandidates();
    sortDescending(candidates_, s_.candidates());
    w_.branch(b_.CreateICmpULT(thread_, w_.i64(s_.k)), [&] { storeResult(); });
  }

 private:
  llvm::Value* place(llvm::GlobalVariable* memory, llvm::Type* type, llvm::Value* index) {
    return b_.CreateInBoundsGEP(type, memory, index);
  }
  llvm::Value* loadFrom(llvm::GlobalVariable* memory, llvm::Value* index) {
    return b_.CreateLoad(b_.getInt64Ty(), place(memory, b_.getInt64Ty(), index));
  }
  void storeTo(llvm::GlobalVariable* memory, llvm::Value* index, llvm::Value* value) {
    b_.CreateStore(value, place(memory, b_.getInt64Ty(), index));
  }
  llvm::Value* larger(llvm::Value* x, llvm::Value* y) {
    return b_.CreateSelect(b_.CreateICmpUGT(x, y), x, y);
  }

  llvm::IntegerType* bitsType() { return b_.getIntNTy(8 * s_.kind.storageBytes); }
  llvm::Value* highestBit() {
    return llvm::ConstantInt::get(bitsType(), llvm::APInt::getSignMask(8 * s_.kind.storageBytes));
  }
  // The bits of elements, in their order, of floats the total one of IEEE 754.
  llvm::Value* keyOf(llvm::Value* bits) {
    if (s_.kind.isFloat()) {
      llvm::Value* isNegative = b_.CreateICmpSLT(bits, llvm::ConstantInt::get(bitsType(), 0));
      bits = b_.CreateSelect(isNegative, b_.CreateNot(bits), b_.CreateXor(bits, highestBit()));
    } else if (s_.kind.isSigned) {
      bits = b_.CreateXor(bits, highestBit());
    }
    return b_.CreateZExt(bits, b_.getInt64Ty());
  }
  llvm::Value* bitsOf(llvm::Value* key) {
    llvm::Value* bits = b_.CreateTrunc(key, bitsType());
    if (s_.kind.isFloat()) {
      llvm::Value* isPositive = b_.CreateICmpSLT(bits, llvm::ConstantInt::get(bitsType(), 0));
      return b_.CreateSelect(isPositive, b_.CreateXor(bits, highestBit()), b_.CreateNot(bits));
    }
    return s_.kind.isSigned ? b_.CreateXor(bits, highestBit()) : bits;
  }
  llvm::Value* countedDown(llvm::Value* index) {
    return b_.CreateXor(index, w_.i64(static_cast<int64_t>(UINT32_MAX)));
  }

  // Element number `index` of the row and those after it, so many.
  KernelWriter::Values load(llvm::Value* index, int64_t count) {
    llvm::IntegerType* one = s_.readsOperand ? bitsType() : b_.getInt64Ty();
    llvm::Value* from = s_.readsOperand ? w_.buffer(0) : scratch(s_.fromOffset);
    llvm::Value* at = w_.plus(w_.times(w_.item(1), s_.length), index);
    llvm::Type* all = one;
    if (count > 1) all = llvm::FixedVectorType::get(one, static_cast<unsigned>(count));
    llvm::Align align(static_cast<uint64_t>(count) * one->getBitWidth() / 8);
    llvm::Value* loaded = b_.CreateAlignedLoad(all, b_.CreateGEP(one, from, at), align);
    if (count == 1) return {loaded};
    KernelWriter::Values values;
    for (int64_t lane = 0; lane < count; ++lane) {
      values.push_back(b_.CreateExtractElement(loaded, static_cast<uint64_t>(lane)));
    }
    return values;
  }
  // The ranked number of what load() gave of `index` as its `lane`; 0 of what is not in this part.
  llvm::Value* rankedOf(llvm::Value* loaded, llvm::Value* index, int64_t lane,
                        llvm::Value* isInside) {
    if (s_.readsOperand) {
      llvm::Value* below = countedDown(w_.plus(index, w_.i64(lane)));
      loaded = b_.CreateOr(b_.CreateShl(keyOf(loaded), kKeyBits), below);
    }
    return isInside ? b_.CreateSelect(isInside, loaded, w_.i64(0)) : loaded;
  }
  // Where in the row the `number`-th load of a thread begins, and whether that is in this part
  // (null: it always is): neighbours load neighbours.
  struct Piece {
    llvm::Value* index;
    llvm::Value* isInside;
  };
  Piece pieceOf(llvm::Value* thread, llvm::Value* number) {
    llvm::Value* within = w_.times(w_.plus(w_.times(number, s_.threads), thread), s_.lanes);
    Piece piece{w_.plus(first_, within), nullptr};
    if (s_.share() * s_.threads * s_.parts() == s_.length) return piece;
    llvm::Value* isOfPart = b_.CreateICmpULT(within, w_.i64(s_.part));
    llvm::Value* isOfRow = b_.CreateICmpULT(piece.index, w_.i64(s_.length));
    piece.isInside = b_.CreateAnd(isOfPart, isOfRow);
    // Of a piece outside, another is loaded and not used.
    piece.index = b_.CreateSelect(piece.isInside, piece.index, w_.i64(0));
    return piece;
  }

  llvm::Value* largestOfShare() {
    const int64_t rounds = s_.share() / (s_.lanes * s_.unrolled);
    auto body = [&](llvm::Value* round, const KernelWriter::Values& carried) {
      llvm::SmallVector<std::pair<Piece, KernelWriter::Values>, 4> loaded;
      for (int64_t i = 0; i < s_.unrolled; ++i) {
        Piece piece = pieceOf(thread_, w_.plus(w_.times(round, s_.unrolled), w_.i64(i)));
        loaded.emplace_back(piece, load(piece.index, s_.lanes));
      }
      llvm::Value* best = carried[0];
      for (const auto& [piece, values] : loaded) {
        for (auto [lane, value] : llvm::enumerate(values)) {
          best = larger(best,
                        rankedOf(value, piece.index, static_cast<int64_t>(lane), piece.isInside));
        }
      }
      return KernelWriter::Values{best};
    };
    return w_.loop(rounds, {w_.i64(0)}, body)[0];
  }

  // The group's, a power of two of them, by a bitonic network (K. E. Batcher, Sorting networks and
  // their applications, 1968). Waits before and after.
  void sortDescending(llvm::GlobalVariable* memory, int64_t count) {
    const int64_t levels = llvm::Log2_64(static_cast<uint64_t>(count));
    w_.loop(levels * (levels + 1) / 2, {w_.i64(2), w_.i64(1)},
            [&](llvm::Value*, const KernelWriter::Values& now) {
              llvm::Value *size = now[0], *stride = now[1];
              form_.barrier(b_);
              forEach(count / 2, [&](llvm::Value* pair) { order(memory, pair, size, stride); });
              llvm::Value* isEnd = b_.CreateICmpEQ(stride, w_.i64(1));
              return KernelWriter::Values{b_.CreateSelect(isEnd, b_.CreateShl(size, 1), size),
                                          b_.CreateSelect(isEnd, size, b_.CreateLShr(stride, 1))};
            });
    form_.barrier(b_);
  }
  // The larger of the pair's first where its run is to descend.
  void order(llvm::GlobalVariable* memory, llvm::Value* pair, llvm::Value* size,
             llvm::Value* stride) {
    llvm::Value* within = b_.CreateAnd(pair, b_.CreateSub(stride, w_.i64(1)));
    llvm::Value* first = b_.CreateSub(b_.CreateShl(pair, 1), within);
    llvm::Value* second = b_.CreateAdd(first, stride);
    llvm::Value *x = loadFrom(memory, first), *y = loadFrom(memory, second);
    llvm::Value* descends = b_.CreateICmpEQ(b_.CreateAnd(first, size), w_.i64(0));
    llvm::Value* swaps = b_.CreateXor(b_.CreateICmpUGT(x, y), descends);
    storeTo(memory, first, b_.CreateSelect(swaps, y, x));
    storeTo(memory, second, b_.CreateSelect(swaps, x, y));
  }
  // Of 0 to `count`, shared out to the group's threads.
  void forEach(int64_t count, const std::function<void(llvm::Value*)>& visit) {
    for (int64_t i = 0; i < count; i += s_.threads) {
      llvm::Value* number = w_.plus(thread_, w_.i64(i));
      if (i + s_.threads <= count) {
        visit(number);
      } else {
        w_.branch(b_.CreateICmpULT(number, w_.i64(count)), [&] { visit(number); });
      }
    }
  }

  // If this thread's largest element is one of the k largest, the thread is noted at its rank.
  void noteOwner(llvm::Value* best) {
    // How many of the first k are larger.
    const int64_t steps = llvm::Log2_64_Ceil(static_cast<uint64_t>(s_.k)) + 1;
    KernelWriter::Values range = w_.loop(
        steps, {w_.i64(0), w_.i64(s_.k)}, [&](llvm::Value*, const KernelWriter::Values& now) {
          llvm::Value *low = now[0], *high = now[1];
          llvm::Value* half = b_.CreateLShr(b_.CreateAdd(low, high), 1);
          // Of none that is left, another is looked at and not used.
          llvm::Value* isOver = b_.CreateICmpUGE(low, high);
          llvm::Value* looked = b_.CreateSelect(isOver, w_.i64(0), half);
          llvm::Value* isLarger = b_.CreateICmpUGT(loadFrom(largest_, looked), best);
          llvm::Value* above = b_.CreateSelect(isLarger, w_.plus(half, w_.i64(1)), low);
          llvm::Value* below = b_.CreateSelect(isLarger, high, half);
          return KernelWriter::Values{b_.CreateSelect(isOver, low, above),
                                      b_.CreateSelect(isOver, high, below)};
        });
    llvm::Value* rank = range[0];
    // 0: it has no elements.
    llvm::Value* isOwner =
        b_.CreateAnd(b_.CreateICmpULT(rank, w_.i64(s_.k)), b_.CreateICmpNE(best, w_.i64(0)));
    w_.branch(isOwner, [&] {
      b_.CreateStore(b_.CreateTrunc(thread_, b_.getInt32Ty()),
                     place(owners_, b_.getInt32Ty(), rank));
    });
  }

  // The shares of the threads that were noted.
  void bringCandidates() {
    forEach(s_.candidates(), [&](llvm::Value* number) {
      auto [rank, element] = w_.divide(number, s_.share());
      llvm::Value* isRank = b_.CreateICmpULT(rank, w_.i64(s_.k));
      llvm::Value* looked = b_.CreateSelect(isRank, rank, w_.i64(0));
      llvm::Value* owner = b_.CreateZExt(
          b_.CreateLoad(b_.getInt32Ty(), place(owners_, b_.getInt32Ty(), looked)), b_.getInt64Ty());
      llvm::Value* isNoted = b_.CreateAnd(isRank, b_.CreateICmpULT(owner, w_.i64(s_.threads)));
      auto [piecesBefore, lane] = w_.divide(element, s_.lanes);
      Piece piece = pieceOf(b_.CreateSelect(isNoted, owner, w_.i64(0)), piecesBefore);
      if (piece.isInside) isNoted = b_.CreateAnd(isNoted, piece.isInside);
      llvm::Value* index = b_.CreateSelect(isNoted, w_.plus(piece.index, lane), w_.i64(0));
      storeTo(candidates_, number, rankedOf(load(index, 1)[0], index, 0, isNoted));
    });
  }
  llvm::Value* scratch(int64_t offset) {
    constexpr unsigned kScratch = 3;
    return b_.CreateConstGEP1_64(b_.getInt8Ty(), w_.buffer(kScratch),
                                 static_cast<uint64_t>(offset));
  }
  // Of this thread's number among the k.
  void storeResult() {
    llvm::Value* ranked = loadFrom(candidates_, thread_);
    if (!s_.isLast()) {
      llvm::Value* row = w_.plus(w_.times(w_.item(1), s_.parts()), w_.item(0));
      llvm::Value* at = w_.plus(w_.times(row, s_.k), thread_);
      b_.CreateStore(ranked, b_.CreateGEP(b_.getInt64Ty(), scratch(s_.toOffset), at));
      return;
    }
    llvm::Value* at = w_.plus(w_.times(w_.item(1), s_.k), thread_);
    b_.CreateStore(bitsOf(b_.CreateLShr(ranked, kKeyBits)),
                   b_.CreateGEP(bitsType(), w_.buffer(1), at));
    b_.CreateStore(b_.CreateTrunc(countedDown(ranked), b_.getInt32Ty()),
                   b_.CreateGEP(b_.getInt32Ty(), w_.buffer(2), at));
  }

  const PlacedSelection& s_;
  const WorkItemForm& form_;
  KernelWriter& w_;
  llvm::IRBuilder<>& b_;
  llvm::Value* thread_;
  llvm::GlobalVariable *largest_, *candidates_, *owners_;
  llvm::Value* first_;  // element of the row that is of this part
};

}  // namespace

StatusOr<OpKernels> emitTopK(shlo::CompositeOp op, llvm::Module& module, const WorkItemForm& form,
                             const std::string& symbol) {
  ISTHMUS_ASSIGN_OR_RETURN(KernelSchedule schedule, dataScheduleOf(op, form.target));
  ISTHMUS_ASSIGN_OR_RETURN(SelectionShape shape, selectionShapeOf(op, form.target));
  OpKernels kernels;
  std::vector<PlacedSelection> stages;
  for (const TopKStage& stage : schedule.all<TopKStage>()) {
    PlacedSelection selection{{shape, stage}};
    if (!stages.empty()) selection.fromOffset = stages.back().toOffset;
    if (!selection.isLast()) {
      selection.toOffset = kernels.scratchBytes;
      kernels.scratchBytes += selection.rows * selection.parts() * selection.k * kRankedBytes;
    }
    shape = selection.next();
    stages.push_back(selection);
  }
  const unsigned buffers = kernels.scratchBytes > 0 ? 4 : 3;
  for (auto [i, stage] : llvm::enumerate(stages)) {
    OpKernel kernel{symbol + (i == 0 ? "" : "_" + std::to_string(i)),
                    {stage.parts(), stage.rows, 1},
                    static_cast<unsigned>(stage.threads)};
    KernelWriter writer(module, form, kernel.name, buffers, kernel.items, kernel.groupThreads);
    TopKKernel(stage, form, writer).emit();
    writer.finish();
    kernels.stages.push_back(kernel);
  }
  return kernels;
}

}  // namespace isthmus::codegen
