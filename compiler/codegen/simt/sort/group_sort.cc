// A merge sort by groups of threads that share memory. A group sorts a tile there: each thread
// sorts short runs in registers, then pairs of runs are merged, of which each thread makes as many
// elements, whose beginnings in both runs it finds by bisection. In rounds over the whole arrays, a
// group makes a tile of what two runs become: it brings the piece of each to its memory and merges
// them there. Global memory is read and written in order, by threads side by side.
#include "compiler/codegen/simt/sort/sort_writer.h"
#include "compiler/codegen/target/group_threads.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::codegen {
namespace {

// How groups share the work; all are powers of two.
struct GroupTile {
  explicit GroupTile(const SortStage& stage)
      : elements(stage.chunk * stage.lines),
        perThread(stage.grain),
        segment(stage.chunk),
        run(stage.run) {}

  int64_t elements;
  int64_t perThread;
  int64_t segment;  // of the tile, for a row or a tile of it
  int64_t run;      // elements that a thread sorts in registers

  int64_t threads() const { return elements / perThread; }
  int64_t segments() const { return elements / segment; }
  int64_t places() const { return sortPlacesOf(elements); }
};

class GroupSort : public SortWriter {
 public:
  GroupSort(const SortArrays& arrays, const GroupTile& tile, llvm::Module& module,
            const WorkItemForm& form, KernelWriter& writer)
      : SortWriter(arrays, writer), t_(tile), form_(form) {
    thread_ = b_.CreateTrunc(form.threadInGroup(b_), b_.getInt32Ty());
    for (size_t k = 0; k < a_.kinds.size(); ++k) {
      const ElementKind& kind = a_.kinds[k];
      all_.push_back(k);
      if (a_.comparesArray(k))
        compared_.push_back(k);
      else
        others_.push_back(k);
      memory_.push_back(makeGroupMemory(module, kind.storageType(b_.getContext()),
                                        2 * t_.places() * kind.parts(), "sorted"));
    }
  }

  // From the operands.
  void sortTiles(SortStorage to, bool areMerged) {
    if (areMerged) {
      whenFirst([&] { b_.CreateStore(w_.i64(t_.segment), runLength(0)); });
    }
    llvm::Value* first = w_.times(w_.item(0), t_.segment);
    const bool isFull = a_.length % t_.segment == 0;
    llvm::Value* size = i32(t_.segment);
    if (!isFull) {
      llvm::Value* rest = b_.CreateSub(w_.i64(a_.length), first);
      size = b_.CreateTrunc(least(rest, w_.i64(t_.segment)), b_.getInt32Ty());
    }
    auto indexAt = [&](llvm::Value* slot) {
      llvm::Value* within = b_.CreateAnd(slot, i32(t_.segment - 1));
      llvm::Value* row = rowOf(slot);
      PredicatedIndex at;
      if (!isFull) at.isInside = b_.CreateICmpULT(within, size);
      if (a_.rows() % t_.segments() != 0) {
        llvm::Value* isRow = b_.CreateICmpULT(row, w_.i64(a_.rows()));
        at.isInside = at.isInside ? b_.CreateAnd(at.isInside, isRow) : isRow;
        row = least(row, w_.i64(a_.rows() - 1));
      }
      // Of an index outside, another element is read, which stays behind those inside.
      if (!isFull) within = least(within, b_.CreateSub(size, i32(1)));
      at.index = indexOf(row, w_.plus(first, wide(within)));
      return at;
    };
    copyIn(SortStorage::kOperands, [&](llvm::Value* slot) { return indexAt(slot).index; });
    form_.barrier(b_);
    sortRuns(isFull ? nullptr : size);
    llvm::Value* from = mergeInTile(size);
    form_.barrier(b_);
    copyOut(to, from, indexAt);
  }

  // From `from` to `to`, in rounds of this parity.
  void mergeTiles(SortStorage from, SortStorage to, int64_t parity) {
    llvm::Value* run = b_.CreateLoad(b_.getInt64Ty(), runLength(parity));
    llvm::Value* two = b_.CreateShl(run, 1);
    whenFirst([&] { b_.CreateStore(two, runLength(1 - parity)); });
    llvm::Value* first = w_.times(w_.item(0), t_.elements);
    llvm::Value* low = b_.CreateAnd(first, b_.CreateNeg(two));
    llvm::Value* middle = least(w_.plus(low, run), w_.i64(a_.length));
    llvm::Value* high = least(w_.plus(low, two), w_.i64(a_.length));
    llvm::Value* before = b_.CreateSub(first, low);
    llvm::Value* after =
        b_.CreateSub(least(w_.plus(first, w_.i64(t_.elements)), w_.i64(a_.length)), low);
    auto [lefts, leftsAfter] = boundsOf(from, low, middle, high, before, after);
    llvm::Value* firstLeft = w_.plus(low, lefts);
    llvm::Value* firstRight = w_.plus(middle, b_.CreateSub(before, lefts));
    llvm::Value* leftCount = b_.CreateTrunc(b_.CreateSub(leftsAfter, lefts), b_.getInt32Ty());
    llvm::Value* count = b_.CreateTrunc(b_.CreateSub(after, before), b_.getInt32Ty());
    llvm::Value* row = w_.item(1);
    copyIn(from, [&](llvm::Value* slot) {
      slot = least(slot, b_.CreateSub(count, i32(1)));
      llvm::Value* right = w_.plus(firstRight, wide(b_.CreateSub(slot, leftCount)));
      llvm::Value* left = w_.plus(firstLeft, wide(slot));
      return indexOf(row, b_.CreateSelect(b_.CreateICmpULT(slot, leftCount), left, right));
    });
    form_.barrier(b_);
    llvm::Value* at = b_.CreateMul(thread_, i32(t_.perThread));
    w_.branch(b_.CreateICmpULT(at, count),
              [&] { mergePair(i32(0), i32(t_.places()), i32(0), leftCount, count, at); });
    form_.barrier(b_);
    const bool isFull = a_.length % t_.elements == 0;
    copyOut(to, i32(t_.places()), [&](llvm::Value* slot) {
      return PredicatedIndex{indexOf(row, w_.plus(first, wide(slot))),
                             isFull ? nullptr : b_.CreateICmpULT(slot, count)};
    });
  }

 private:
  struct PredicatedIndex {
    llvm::Value* index = nullptr;     // of an element in global memory
    llvm::Value* isInside = nullptr;  // null: it is
  };
  using Arrays = llvm::SmallVector<size_t, 4>;

  llvm::Value* i32(int64_t value) { return b_.getInt32(static_cast<uint32_t>(value)); }
  llvm::Value* wide(llvm::Value* value) { return b_.CreateSExt(value, b_.getInt64Ty()); }
  void whenFirst(const std::function<void()>& then) {
    llvm::Value* isFirst = b_.CreateICmpEQ(thread_, i32(0));
    for (unsigned d : {0u, 1u}) {
      isFirst = b_.CreateAnd(isFirst, b_.CreateICmpEQ(w_.item(d), w_.i64(0)));
    }
    w_.branch(isFirst, then);
  }

  llvm::Value* rowOf(llvm::Value* slot) {
    llvm::Value* row = w_.times(w_.item(1), t_.segments());
    if (t_.segments() == 1) return row;
    return w_.plus(row, wide(b_.CreateUDiv(slot, i32(t_.segment))));
  }
  llvm::Value* indexOf(llvm::Value* row, llvm::Value* i) {
    auto [outer, inner] = w_.divide(row, a_.inner);
    llvm::Value* line = w_.plus(w_.times(outer, a_.length), i);
    return a_.inner == 1 ? line : w_.plus(w_.times(line, a_.inner), inner);
  }

  // The slot of the tile that this thread copies as its i-th, so that neighbours copy neighbours:
  // of one row, or where a row's elements lie apart, of several.
  llvm::Value* slotOf(int64_t i) {
    llvm::Value* number = b_.CreateAdd(thread_, i32(i * t_.threads()));
    if (a_.inner == 1 || t_.segments() == 1) return number;
    llvm::Value* segment = b_.CreateURem(number, i32(t_.segments()));
    llvm::Value* within = b_.CreateUDiv(number, i32(t_.segments()));
    return b_.CreateAdd(b_.CreateMul(segment, i32(t_.segment)), within);
  }
  // Where a part of a slot is, of one half of the group's memory that begins at `from`.
  llvm::Value* address(size_t k, llvm::Value* from, llvm::Value* slot, unsigned part) {
    const ElementKind& kind = a_.kinds[k];
    llvm::Value* index =
        b_.CreateAdd(b_.CreateAdd(from, slot), b_.CreateUDiv(slot, i32(kSortBanks)));
    if (kind.isComplex()) index = b_.CreateAdd(b_.CreateMul(index, i32(2)), i32(part));
    return b_.CreateInBoundsGEP(kind.storageType(b_.getContext()), memory_[k], wide(index));
  }
  llvm::Value* address(size_t k, SortStorage storage, llvm::Value* index, unsigned part) {
    const ElementKind& kind = a_.kinds[k];
    llvm::Value* place = w_.plus(w_.times(index, kind.parts()), w_.i64(part));
    return b_.CreateGEP(kind.storageType(b_.getContext()), base(storage, k), place);
  }
  // Calls `visit` for each part of these arrays, in the order of Values.
  void forParts(
      const Arrays& arrays,
      const std::function<void(size_t k, unsigned part, llvm::Type*, llvm::Align)>& visit) {
    for (size_t k : arrays) {
      const ElementKind& kind = a_.kinds[k];
      for (unsigned part = 0; part < kind.parts(); ++part) {
        visit(k, part, kind.storageType(b_.getContext()),
              llvm::Align(kind.storageBytes / kind.parts()));
      }
    }
  }
  // Bits stay as they are, also those of a NaN.
  template <typename Where>
  Values loadBits(const Arrays& arrays, Where from, llvm::Value* index) {
    Values bits;
    forParts(arrays, [&](size_t k, unsigned part, llvm::Type* type, llvm::Align align) {
      bits.push_back(b_.CreateAlignedLoad(type, address(k, from, index, part), align));
    });
    return bits;
  }
  template <typename Where>
  void storeBits(const Arrays& arrays, Where to, llvm::Value* index,
                 llvm::ArrayRef<llvm::Value*> bits) {
    size_t next = 0;
    forParts(arrays, [&](size_t k, unsigned part, llvm::Type*, llvm::Align align) {
      b_.CreateAlignedStore(bits[next++], address(k, to, index, part), align);
    });
  }
  Values select(llvm::Value* condition, llvm::ArrayRef<llvm::Value*> a,
                llvm::ArrayRef<llvm::Value*> b) {
    Values chosen;
    for (auto [x, y] : llvm::zip(a, b)) chosen.push_back(b_.CreateSelect(condition, x, y));
    return chosen;
  }
  // Of the bits of these arrays, which the comparator's are among.
  Row valuesOf(const Arrays& arrays, llvm::ArrayRef<llvm::Value*> bits) {
    Row row(a_.kinds.size());
    size_t next = 0;
    forParts(arrays, [&](size_t k, unsigned part, llvm::Type*, llvm::Align) {
      llvm::Value* value = bits[next++];
      if (!a_.comparesArray(k)) return;
      (part == 0 ? row[k].re : row[k].im) = w_.fromStorage(value, a_.kinds[k]);
    });
    return row;
  }
  Row keysAt(llvm::Value* from, llvm::Value* slot) {
    return valuesOf(compared_, loadBits(compared_, from, slot));
  }
  Row keysAt(SortStorage from, llvm::Value* index) {
    return valuesOf(compared_, loadBits(compared_, from, index));
  }

  // Brings a tile to the first half of the group's memory: all loads of an array before its stores.
  void copyIn(SortStorage from, const std::function<llvm::Value*(llvm::Value* slot)>& indexOfSlot) {
    Values slots, indices;
    for (int64_t i = 0; i < t_.perThread; ++i) {
      slots.push_back(slotOf(i));
      indices.push_back(indexOfSlot(slots.back()));
    }
    for (size_t k : all_) {
      llvm::SmallVector<Values, 16> loaded;
      for (llvm::Value* index : indices) loaded.push_back(loadBits({k}, from, index));
      for (auto [slot, bits] : llvm::zip(slots, loaded)) storeBits({k}, i32(0), slot, bits);
    }
  }
  void copyOut(SortStorage to, llvm::Value* from,
               const std::function<PredicatedIndex(llvm::Value* slot)>& indexAt) {
    for (int64_t i = 0; i < t_.perThread; ++i) {
      llvm::Value* slot = slotOf(i);
      PredicatedIndex at = indexAt(slot);
      auto copy = [&] { storeBits(all_, to, at.index, loadBits(all_, from, slot)); };
      at.isInside ? w_.branch(at.isInside, copy) : copy();
    }
  }

  // Each thread's, in place, by exchanging neighbours. `size`: of a segment; null if it is full.
  void sortRuns(llvm::Value* size) {
    const int64_t run = t_.run;
    if (run == 1) return;
    w_.loop(t_.perThread / run, {}, [&](llvm::Value* number, const Values&) {
      llvm::Value* first =
          b_.CreateAdd(b_.CreateMul(thread_, i32(t_.perThread)),
                       b_.CreateMul(b_.CreateTrunc(number, b_.getInt32Ty()), i32(run)));
      llvm::Value* within = b_.CreateAnd(first, i32(t_.segment - 1));
      Values bits;
      for (int64_t i = 0; i < run; ++i) {
        bits.append(loadBits(all_, i32(0), b_.CreateAdd(first, i32(i))));
      }
      const size_t parts = bits.size() / static_cast<size_t>(run);
      // A round for even places and one for odd ones, as often as an element may have to move.
      bits = w_.loop(run / 2, bits, [&](llvm::Value*, Values now) {
        for (int64_t odd : {0, 1}) {
          for (int64_t i = odd; i + 1 < run; i += 2) {
            llvm::MutableArrayRef<llvm::Value*> all(now);
            auto x = all.slice(static_cast<size_t>(i) * parts, parts);
            auto y = all.slice(static_cast<size_t>(i + 1) * parts, parts);
            llvm::Value* swaps = SortWriter::less(valuesOf(all_, y), valuesOf(all_, x));
            if (size) {
              llvm::Value* isInside = b_.CreateICmpULT(b_.CreateAdd(within, i32(i + 1)), size);
              swaps = b_.CreateAnd(swaps, isInside);
            }
            Values lower = select(swaps, y, x), upper = select(swaps, x, y);
            llvm::copy(lower, x.begin());
            llvm::copy(upper, y.begin());
          }
        }
        return now;
      });
      for (int64_t i = 0; i < run; ++i) {
        storeBits(all_, i32(0), b_.CreateAdd(first, i32(i)),
                  llvm::ArrayRef(bits).slice(static_cast<size_t>(i) * parts, parts));
      }
      return Values();
    });
  }

  // Merges runs until a segment is one. Returns where the half of the memory begins that has it.
  llvm::Value* mergeInTile(llvm::Value* size) {
    const int64_t levels = llvm::Log2_64(static_cast<uint64_t>(t_.segment / t_.run));
    llvm::Value* at = b_.CreateMul(thread_, i32(t_.perThread));
    llvm::Value* end = b_.CreateAdd(b_.CreateAnd(at, i32(-t_.segment)), size);
    w_.loop(levels, {i32(t_.run), i32(0)}, [&](llvm::Value*, const Values& now) -> Values {
      llvm::Value *run = now[0], *from = now[1];
      llvm::Value* two = b_.CreateShl(run, 1);
      llvm::Value* to = b_.CreateSub(i32(t_.places()), from);
      llvm::Value* low = b_.CreateAnd(at, b_.CreateNeg(two));
      form_.barrier(b_);
      w_.branch(b_.CreateICmpULT(at, end), [&] {
        mergePair(from, to, low, least(b_.CreateAdd(low, run), end),
                  least(b_.CreateAdd(low, two), end), at);
      });
      return {two, to};
    });
    return i32(levels % 2 * t_.places());
  }

  // This thread's elements, from `at` on, of what the runs [low, middle) and [middle, high) make.
  // What is written behind `high` means nothing.
  void mergePair(llvm::Value* from, llvm::Value* to, llvm::Value* low, llvm::Value* middle,
                 llvm::Value* high, llvm::Value* at) {
    llvm::Value* before = b_.CreateSub(at, low);
    llvm::Value* lefts =
        leftsOf(before, b_.CreateSub(middle, low), b_.CreateSub(high, middle),
                [&](llvm::Value* right, llvm::Value* left) {
                  return SortWriter::less(keysAt(from, b_.CreateAdd(middle, right)),
                                          keysAt(from, b_.CreateAdd(low, left)));
                });
    // Of a run that is used up, an element that is there is compared and not used.
    llvm::Value* last = b_.CreateSub(high, i32(1));
    auto keyBits = [&](llvm::Value* slot) { return loadBits(compared_, from, least(slot, last)); };
    Values carried{b_.CreateAdd(low, lefts), b_.CreateAdd(middle, b_.CreateSub(before, lefts))};
    Values x = keyBits(carried[0]), y = keyBits(carried[1]);
    carried.append(x);
    carried.append(y);
    w_.loop(t_.perThread, carried, [&](llvm::Value* i, const Values& now) -> Values {
      llvm::Value *left = now[0], *right = now[1];
      llvm::ArrayRef<llvm::Value*> bits = llvm::ArrayRef(now).drop_front(2);
      llvm::ArrayRef<llvm::Value*> ofLeft = bits.take_front(x.size());
      llvm::ArrayRef<llvm::Value*> ofRight = bits.take_back(x.size());
      llvm::Value* isLess =
          SortWriter::less(valuesOf(compared_, ofRight), valuesOf(compared_, ofLeft));
      llvm::Value* isOver = b_.CreateICmpUGE(left, middle);
      llvm::Value* takesRight =
          b_.CreateAnd(b_.CreateICmpULT(right, high), b_.CreateOr(isOver, isLess));
      llvm::Value* slot = b_.CreateAdd(at, b_.CreateTrunc(i, b_.getInt32Ty()));
      storeBits(compared_, to, slot, select(takesRight, ofRight, ofLeft));
      llvm::Value* taken = b_.CreateSelect(takesRight, right, left);
      if (!others_.empty()) {
        storeBits(others_, to, slot, loadBits(others_, from, least(taken, last)));
      }
      llvm::Value* following = b_.CreateAdd(taken, i32(1));
      Values next{b_.CreateSelect(takesRight, left, following),
                  b_.CreateSelect(takesRight, following, right)};
      Values bitsAfter = keyBits(following);
      next.append(select(takesRight, ofLeft, bitsAfter));
      next.append(select(takesRight, bitsAfter, ofRight));
      return next;
    });
  }

  // How many elements of the left run are among the first `before` and the first `after` of what
  // two runs in global memory make: one half of the threads finds each.
  std::pair<llvm::Value*, llvm::Value*> boundsOf(SortStorage from, llvm::Value* low,
                                                 llvm::Value* middle, llvm::Value* high,
                                                 llvm::Value* before, llvm::Value* after) {
    llvm::Value* isUpper = b_.CreateICmpUGE(thread_, i32(t_.threads() / 2));
    llvm::Value* lefts =
        leftsOf(b_.CreateSelect(isUpper, after, before), b_.CreateSub(middle, low),
                b_.CreateSub(high, middle), [&](llvm::Value* right, llvm::Value* left) {
                  return SortWriter::less(keysAt(from, indexOf(w_.item(1), w_.plus(middle, right))),
                                          keysAt(from, indexOf(w_.item(1), w_.plus(low, left))));
                });
    llvm::GlobalVariable* memory =
        makeGroupMemory(*b_.GetInsertBlock()->getModule(), b_.getInt64Ty(), 2, "bounds");
    auto place = [&](llvm::Value* half) {
      return b_.CreateInBoundsGEP(b_.getInt64Ty(), memory, half);
    };
    llvm::Value* isOne = b_.CreateICmpEQ(b_.CreateURem(thread_, i32(t_.threads() / 2)), i32(0));
    w_.branch(isOne,
              [&] { b_.CreateStore(lefts, place(b_.CreateZExt(isUpper, b_.getInt64Ty()))); });
    form_.barrier(b_);
    return {b_.CreateLoad(b_.getInt64Ty(), place(w_.i64(0))),
            b_.CreateLoad(b_.getInt64Ty(), place(w_.i64(1)))};
  }

  const GroupTile& t_;
  const WorkItemForm& form_;
  llvm::Value* thread_;
  Arrays all_, compared_, others_;
  llvm::SmallVector<llvm::GlobalVariable*, 4> memory_;
};

}  // namespace

OpKernels emitGroupSort(const SortArrays& arrays, const SortStage& stage, llvm::Module& module,
                        const WorkItemForm& form, const std::string& symbol) {
  OpKernels kernels;
  const GroupTile tile(stage);
  int64_t rounds = 0;
  for (int64_t run = tile.segment; run < arrays.length; run *= 2) ++rounds;
  kernels.scratchBytes = rounds > 0 ? arrays.scratchBytes : 0;
  Items items{llvm::divideCeilSigned(arrays.length, tile.segment),
              llvm::divideCeilSigned(arrays.rows(), tile.segments()), 1};
  auto emit = [&](const char* suffix, const std::function<void(GroupSort&)>& body) {
    auto threads = static_cast<unsigned>(tile.threads());
    OpKernel kernel{symbol + suffix, items, threads};
    KernelWriter writer(module, form, kernel.name, arrays.buffers() - (rounds == 0), items,
                        threads);
    GroupSort sort(arrays, tile, module, form, writer);
    body(sort);
    writer.finish();
    return kernel;
  };
  // The last round ends in the results.
  bool startsInResults = rounds % 2 == 0;
  SortStorage first = startsInResults ? SortStorage::kResults : SortStorage::kScratch;
  SortStorage second = startsInResults ? SortStorage::kScratch : SortStorage::kResults;
  kernels.stages.push_back(emit("", [&](GroupSort& sort) { sort.sortTiles(first, rounds > 0); }));
  OpKernel there, back;
  if (rounds > 0) {
    there = emit("_there", [&](GroupSort& sort) { sort.mergeTiles(first, second, 0); });
  }
  if (rounds > 1) {
    back = emit("_back", [&](GroupSort& sort) { sort.mergeTiles(second, first, 1); });
  }
  for (int64_t round = 0; round < rounds; ++round) {
    kernels.stages.push_back(round % 2 == 0 ? there : back);
  }
  return kernels;
}

}  // namespace isthmus::codegen
