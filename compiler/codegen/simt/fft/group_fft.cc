// All factors of a dimension's Fourier transform by groups of threads: each thread has a few points
// in registers for a factor, and between factors the points of a group's lines are in its memory,
// so that global memory is read and written once.
#include <algorithm>
#include <bit>

#include "compiler/codegen/group_threads.h"
#include "compiler/codegen/simt/fft/fft_writer.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::codegen {
namespace {

// Points of a group's lines together.
constexpr int64_t kMostGroupPoints = 4096;
// After so many points in a group's memory one is left out: those that lie apart by a power of two
// are then in different banks.
constexpr int64_t kPointBanks = 16;

struct GroupShape {
  int64_t lines = 1, threads = 1;
};

int64_t placesOf(int64_t points) { return points + points / kPointBanks; }

// Of the group's memory, for so many lines.
int64_t localBytesOf(const FftPass& pass, int64_t lines) {
  const int64_t pointBytes = pass.from.kind.storageBytes * (pass.from.kind.isComplex() ? 1 : 2);
  return placesOf(lines * pass.size) * pointBytes;
}

GroupShape shapeOf(const FftPass& pass, const TargetModel& target) {
  const int64_t all = pass.inner == 1 ? pass.outer : pass.inner;
  const int64_t others = pass.inner == 1 ? 1 : pass.outer;
  GroupShape shape;
  auto groups = [&](int64_t lines) { return others * llvm::divideCeilSigned(all, lines); };
  auto fits = [&](int64_t lines) {
    return lines * pass.size <= kMostGroupPoints && localBytesOf(pass, lines) <= target.localBytes;
  };
  while (fits(2 * shape.lines) && shape.lines < all &&
         groups(2 * shape.lines) >= target.enoughRows) {
    shape.lines *= 2;
  }
  // As many threads as have work at the largest factor.
  const int64_t largest = *llvm::max_element(pass.factors);
  const int64_t wanted = llvm::divideCeilSigned(shape.lines * pass.size, largest);
  const auto least = static_cast<int64_t>(target.subgroupSize);
  shape.threads =
      std::clamp<int64_t>(llvm::divideCeilSigned(wanted, least) * least, least, target.groupSize);
  return shape;
}

class GroupFft : public FftWriter {
 public:
  GroupFft(const FftPass& pass, const GroupShape& shape, llvm::Module& module,
           const WorkItemForm& form, KernelWriter& writer)
      : FftWriter(pass, module, writer), shape_(shape), form_(form) {
    thread_ = b_.CreateTrunc(form.threadInGroup(b_), b_.getInt32Ty());
    memory_ = makeGroupMemory(module, type(), 2 * placesOf(shape.lines * pass.size), "points");
  }

  void emit() {
    int64_t done = p_.done;
    for (auto [i, factor] : llvm::enumerate(p_.factors)) {
      const bool isFirst = i == 0, isLast = i + 1 == p_.factors.size();
      std::vector<Butterfly> all = read(factor, done, isFirst);
      // Nobody writes before all have read.
      if (!isFirst && !isLast) form_.barrier(b_);
      for (const Butterfly& one : all) write(one, factor, done, isLast);
      if (!isLast) form_.barrier(b_);
      done *= factor;
    }
  }

 private:
  // The points of one thread for one factor.
  struct Butterfly {
    llvm::Value* line;      // of the group, an i32
    llvm::Value* first;     // where the first of its results goes in the line, an i32
    llvm::Value* isInside;  // null: it is
    Points points;
  };

  llvm::Value* i32(int64_t value) { return b_.getInt32(static_cast<uint32_t>(value)); }
  llvm::Value* wide(llvm::Value* value) { return b_.CreateZExt(value, b_.getInt64Ty()); }

  std::vector<Butterfly> read(int64_t factor, int64_t done, bool isFirst) {
    const int64_t stride = p_.size / factor;
    const int64_t count = shape_.lines * stride;
    std::vector<Butterfly> all;
    for (int64_t i = 0; i < count; i += shape_.threads) {
      Butterfly one{};
      llvm::Value* number = b_.CreateAdd(thread_, i32(i));
      if (i + shape_.threads > count) {
        one.isInside = b_.CreateICmpULT(number, i32(count));
        number = b_.CreateSelect(one.isInside, number, i32(count - 1));
      }
      // Neighbours have what lies side by side in global memory: points of a line, or lines.
      const int64_t together = p_.inner == 1 ? stride : shape_.lines;
      llvm::Value* quotient = b_.CreateUDiv(number, i32(together));
      llvm::Value* remainder = b_.CreateURem(number, i32(together));
      one.line = p_.inner == 1 ? quotient : remainder;
      llvm::Value* at = p_.inner == 1 ? remainder : quotient;
      llvm::Value* within = b_.CreateURem(at, i32(done));
      one.first =
          b_.CreateAdd(b_.CreateMul(b_.CreateUDiv(at, i32(done)), i32(done * factor)), within);
      for (int64_t q = 0; q < factor; ++q) {
        llvm::Value* place = b_.CreateAdd(at, i32(q * stride));
        one.points.push_back(isFirst ? load(lineOf(one).line, wide(place))
                                     : loadShared(one.line, place));
      }
      if (done > 1) {
        Points roots = powersOfRoot(w_.times(wide(within), stride / done), factor);
        for (size_t q = 1; q < one.points.size(); ++q) {
          one.points[q] = times(one.points[q], roots[q]);
        }
      }
      one.points = transform(one.points);
      all.push_back(std::move(one));
    }
    return all;
  }

  void write(const Butterfly& one, int64_t factor, int64_t done, bool isLast) {
    llvm::Value* isInside = one.isInside;
    GlobalLine global{};
    if (isLast) {
      global = lineOf(one);
      if (global.isInside) {
        isInside = isInside ? b_.CreateAnd(isInside, global.isInside) : global.isInside;
      }
    }
    auto all = [&] {
      for (int64_t k = 0; k < factor; ++k) {
        llvm::Value* at = b_.CreateAdd(one.first, i32(k * done));
        const Val& point = one.points[static_cast<size_t>(k)];
        isLast ? store(global.line, wide(at), point) : storeShared(one.line, at, point);
      }
    };
    isInside ? w_.branch(isInside, all) : all();
  }

  // In global memory. One beyond the last is read as the last, and not written.
  struct GlobalLine {
    Line line;
    llvm::Value* isInside;  // null: it is
  };
  GlobalLine lineOf(const Butterfly& one) {
    const int64_t count = p_.inner == 1 ? p_.outer : p_.inner;
    llvm::Value* number = w_.plus(w_.times(w_.item(0), shape_.lines), wide(one.line));
    llvm::Value* isInside = nullptr;
    if (count % shape_.lines != 0) {
      isInside = b_.CreateICmpULT(number, w_.i64(count));
      number = b_.CreateSelect(isInside, number, w_.i64(count - 1));
    }
    if (p_.inner == 1) return {{number, w_.i64(0)}, isInside};
    return {{w_.item(1), number}, isInside};
  }

  // Of the group's memory.
  llvm::Value* address(llvm::Value* line, llvm::Value* at) {
    llvm::Value* place = p_.inner == 1 ? b_.CreateAdd(b_.CreateMul(line, i32(p_.size)), at)
                                       : b_.CreateAdd(b_.CreateMul(at, i32(shape_.lines)), line);
    place = b_.CreateAdd(place, b_.CreateUDiv(place, i32(kPointBanks)));
    return b_.CreateInBoundsGEP(type(), memory_, wide(b_.CreateShl(place, 1)));
  }
  // Both parts at once, where a device has instructions for that: a point is aligned as a whole.
  llvm::Align alignmentOf(unsigned part) {
    const uint64_t bytes = type()->getPrimitiveSizeInBits().getFixedValue() / 8;
    return llvm::Align(part == 0 ? 2 * bytes : bytes);
  }
  Val loadShared(llvm::Value* line, llvm::Value* at) {
    llvm::Value* place = address(line, at);
    auto part = [&](unsigned index) {
      return b_.CreateAlignedLoad(type(), b_.CreateConstInBoundsGEP1_32(type(), place, index),
                                  alignmentOf(index));
    };
    Val value;
    value.re = part(0);
    value.im = part(1);
    return value;
  }
  void storeShared(llvm::Value* line, llvm::Value* at, const Val& value) {
    llvm::Value* place = address(line, at);
    for (unsigned part : {0u, 1u}) {
      b_.CreateAlignedStore(part == 0 ? value.re : value.im,
                            b_.CreateConstInBoundsGEP1_32(type(), place, part), alignmentOf(part));
    }
  }

  const GroupShape& shape_;
  const WorkItemForm& form_;
  llvm::Value* thread_;
  llvm::GlobalVariable* memory_;
};

}  // namespace

bool fitsGroup(const FftPass& pass, llvm::ArrayRef<int64_t> factors, const TargetModel& target) {
  return target.hasGroups() && factors.size() > 1 && pass.size <= kMostGroupPoints &&
         localBytesOf(pass, 1) <= target.localBytes &&
         llvm::all_of(factors, [](int64_t factor) { return factor <= kMostFftPoints; });
}

OpKernel emitGroupFft(const FftPass& pass, llvm::Module& module, const WorkItemForm& form,
                      const std::string& name, unsigned buffers) {
  const GroupShape shape = shapeOf(pass, form.target);
  const int64_t lines = pass.inner == 1 ? pass.outer : pass.inner;
  OpKernel kernel{name,
                  {llvm::divideCeilSigned(lines, shape.lines), pass.inner == 1 ? 1 : pass.outer, 1},
                  static_cast<unsigned>(shape.threads)};
  KernelWriter writer(module, form, name, buffers, kernel.items, kernel.groupThreads);
  GroupFft(pass, shape, module, form, writer).emit();
  writer.finish();
  return kernel;
}

}  // namespace isthmus::codegen
