// What kernels of Fourier transforms have in common: the arrays of a pass, roots of unity, and
// transforms of a few points in registers.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "compiler/codegen/simt/kernel_writer.h"
#include "compiler/codegen/simt/op_kernels.h"
#include "compiler/schedule/data/fft_schedule.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"

namespace isthmus::codegen {

// An array of complex or real numbers as one dimension of it sees it.
struct FftSide {
  unsigned buffer = 0;
  int64_t offset = 0;  // in bytes
  ElementKind kind;
  int64_t size = 1;     // of the dimension
  bool isHalf = false;  // of a dimension whose second half mirrors this first
};

// One kernel's work: some of the factors of a dimension's size by Stockham's algorithm, from one
// array to another.
struct FftPass {
  FftSide from, to;
  int64_t size = 1;  // of the dimension
  int64_t outer = 1, inner = 1;
  int64_t done = 1;  // product of the factors of earlier passes
  // In turn, by groups of so many threads with so many lines in their memory; or one, by
  // work-items.
  llvm::SmallVector<int64_t, 4> factors;
  unsigned groupThreads = 1;
  int64_t lines = 1;
  bool isInverse = false;
  double scale = 1;
};

class FftWriter {
 public:
  FftWriter(const FftPass& pass, llvm::Module& module, KernelWriter& writer)
      : p_(pass), module_(module), w_(writer), b_(writer.b()) {}

 protected:
  using Points = llvm::SmallVector<Val, 16>;

  llvm::Type* type() { return p_.from.kind.computeType(b_.getContext()); }
  llvm::Value* number(double value) { return llvm::ConstantFP::get(type(), value); }
  Val zero() { return {number(0), number(0)}; }
  Val times(const Val& x, const Val& y);
  Val plus(const Val& x, const Val& y) {
    return {b_.CreateFAdd(x.re, y.re), b_.CreateFAdd(x.im, y.im)};
  }

  // Number `at` of the dimension, of the line at `row` and `inner`, in the pass's arrays.
  struct Line {
    llvm::Value *row, *inner;
  };
  Val load(const Line& line, llvm::Value* at);
  void store(const Line& line, llvm::Value* at, Val value);

  // exp(-2 pi i turn / size), of the inverse exp(2 pi i turn / size); turn, an i64, < size.
  Val root(llvm::Value* turn);
  // Its powers 0 to count - 1, where turn * (count - 1) < size.
  Points powersOfRoot(llvm::Value* turn, int64_t count);
  // The transform of the points.
  Points transform(llvm::ArrayRef<Val> points);

 private:
  llvm::Value* indexOf(const FftSide& side, const Line& line, llvm::Value* at);
  llvm::Value* baseOf(const FftSide& side);
  // exp(-+2 pi i turn / size).
  std::pair<double, double> unit(int64_t turn, int64_t size) const;
  // Root number `index` times `step` of `count` such.
  Val fromTable(llvm::Value* index, int64_t step, int64_t count);
  Val timesUnit(const Val& x, int64_t turn, int64_t size);
  Points sums(llvm::ArrayRef<Val> points);

 protected:
  const FftPass& p_;
  llvm::Module& module_;
  KernelWriter& w_;
  llvm::IRBuilder<>& b_;
};

// The kernel of one factor, for each work-item.
OpKernel emitItemFft(const FftPass& pass, llvm::Module& module, const WorkItemForm& form,
                     const std::string& name, unsigned buffers);

// The kernel of all factors, for groups of threads.
OpKernel emitGroupFft(const FftPass& pass, llvm::Module& module, const WorkItemForm& form,
                      const std::string& name, unsigned buffers);

}  // namespace isthmus::codegen
