// All factors of a dimension's Fourier transform by groups of threads: each thread has a few points
// in registers for a factor, and between factors the points of a group's lines are in its memory,
// so that global memory is read and written once.
#include "compiler/codegen/simt/fft/fft_writer.h"
#include "compiler/codegen/target/group_threads.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::codegen {
namespace {

class GroupFft : public FftWriter {
 public:
  GroupFft(const FftPass& pass, llvm::Module& module, const WorkItemForm& form,
           KernelWriter& writer)
      : FftWriter(pass, module, writer), form_(form) {
    thread_ = b_.CreateTrunc(form.threadInGroup(b_), b_.getInt32Ty());
    memory_ = makeGroupMemory(module, type(), 2 * fftPlacesOf(pass.lines * pass.size), "points");
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
    const int64_t count = p_.lines * stride;
    std::vector<Butterfly> all;
    for (int64_t i = 0; i < count; i += p_.groupThreads) {
      Butterfly one{};
      llvm::Value* number = b_.CreateAdd(thread_, i32(i));
      if (i + p_.groupThreads > count) {
        one.isInside = b_.CreateICmpULT(number, i32(count));
        number = b_.CreateSelect(one.isInside, number, i32(count - 1));
      }
      // Neighbours have what lies side by side in global memory: points of a line, or lines.
      const int64_t together = p_.inner == 1 ? stride : p_.lines;
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
    llvm::Value* number = w_.plus(w_.times(w_.item(0), p_.lines), wide(one.line));
    llvm::Value* isInside = nullptr;
    if (count % p_.lines != 0) {
      isInside = b_.CreateICmpULT(number, w_.i64(count));
      number = b_.CreateSelect(isInside, number, w_.i64(count - 1));
    }
    if (p_.inner == 1) return {{number, w_.i64(0)}, isInside};
    return {{w_.item(1), number}, isInside};
  }

  // Of the group's memory.
  llvm::Value* address(llvm::Value* line, llvm::Value* at) {
    llvm::Value* place = p_.inner == 1 ? b_.CreateAdd(b_.CreateMul(line, i32(p_.size)), at)
                                       : b_.CreateAdd(b_.CreateMul(at, i32(p_.lines)), line);
    place = b_.CreateAdd(place, b_.CreateUDiv(place, i32(kFftBanks)));
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

  const WorkItemForm& form_;
  llvm::Value* thread_;
  llvm::GlobalVariable* memory_;
};

}  // namespace

OpKernel emitGroupFft(const FftPass& pass, llvm::Module& module, const WorkItemForm& form,
                      const std::string& name, unsigned buffers) {
  const int64_t lines = pass.inner == 1 ? pass.outer : pass.inner;
  OpKernel kernel{name,
                  {llvm::divideCeilSigned(lines, pass.lines), pass.inner == 1 ? 1 : pass.outer, 1},
                  pass.groupThreads};
  KernelWriter writer(module, form, name, buffers, kernel.items, kernel.groupThreads);
  GroupFft(pass, module, form, writer).emit();
  writer.finish();
  return kernel;
}

}  // namespace isthmus::codegen
