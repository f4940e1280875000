// Fourier transforms by Stockham's algorithm: for each dimension, a kernel for each factor of its
// size, from one copy of the array to the other; elements are in order at the end of each
// dimension. Real transforms compute with complex numbers whose imaginary parts are 0, or whose
// second half mirrors the first.
#include <cmath>
#include <numbers>

#include "compiler/codegen/simt/data_kernels.h"
#include "compiler/codegen/simt/kernel_writer.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus::codegen {
namespace {

// Points that a work-item transforms in registers.
constexpr int64_t kMostPoints = 13;
// Of larger prime factors, each point is a sum of its own; sizes with still larger ones are the
// host's, which has an algorithm for them.
constexpr int64_t kMostSummands = 256;
// Roots of unity up to this many are in one table; beyond, products of two.
constexpr int64_t kMostRoots = 4096;
constexpr int64_t kMostSize = int64_t{1} << 24;
constexpr int64_t kMostElements = int64_t{1} << 40;

// An array of complex or real numbers as one dimension of it sees it.
struct Side {
  unsigned buffer = 0;
  int64_t offset = 0;  // in bytes
  ElementKind kind;
  int64_t size = 1;     // of the dimension
  bool isHalf = false;  // of a dimension whose second half mirrors this first
};

struct Pass {
  Side from, to;
  int64_t size = 1;  // of the dimension
  int64_t outer = 1, inner = 1;
  int64_t done = 1;    // product of the factors of earlier passes
  int64_t factor = 1;  // of this one
  bool isInverse = false;
  double scale = 1;
};

// Of 4 first; empty if one is too large.
llvm::SmallVector<int64_t, 16> factorsOf(int64_t size) {
  llvm::SmallVector<int64_t, 16> factors;
  while (size % 4 == 0) {
    factors.push_back(4);
    size /= 4;
  }
  for (int64_t factor = 2; factor <= kMostSummands; ++factor) {
    while (size % factor == 0) {
      factors.push_back(factor);
      size /= factor;
    }
  }
  if (size != 1) return {};
  if (factors.empty()) factors.push_back(1);
  return factors;
}

class FftKernel {
 public:
  FftKernel(const Pass& pass, KernelWriter& writer) : p_(pass), w_(writer), b_(writer.b()) {}

  void emit(llvm::Module& module) {
    auto [number, inner] = w_.divide(w_.item(0), p_.inner);
    inner_ = inner;
    int64_t stride = p_.size / p_.factor;
    if (p_.factor > kMostPoints) return emitPoint(module, number);
    auto [block, within] = w_.divide(number, p_.done);
    llvm::SmallVector<Val, 16> points;
    for (int64_t q = 0; q < p_.factor; ++q) {
      Val point = load(w_.plus(number, w_.i64(q * stride)));
      if (p_.done > 1 && q > 0) {
        llvm::Value* turn = w_.times(within, q * (stride / p_.done));
        point = times(point, root(module, turn));
      }
      points.push_back(point);
    }
    llvm::Value* first = w_.plus(w_.times(block, p_.done * p_.factor), within);
    for (int64_t k = 0; k < p_.factor; ++k) {
      store(w_.plus(first, w_.i64(k * p_.done)), pointOf(points, k));
    }
  }

 private:
  llvm::Type* type() { return p_.from.kind.computeType(b_.getContext()); }
  llvm::Value* number(double value) { return llvm::ConstantFP::get(type(), value); }

  llvm::Value* indexOf(const Side& side, llvm::Value* at) {
    llvm::Value* row = w_.plus(w_.times(w_.item(1), side.size), at);
    return w_.plus(w_.times(row, p_.inner), inner_);
  }
  llvm::Value* baseOf(const Side& side) {
    llvm::Value* base = w_.buffer(side.buffer);
    if (side.offset == 0) return base;
    return b_.CreateConstGEP1_64(b_.getInt8Ty(), base, static_cast<uint64_t>(side.offset));
  }

  Val load(llvm::Value* at) {
    const Side& side = p_.from;
    if (!side.kind.isComplex()) {
      Val value = w_.load(baseOf(side), indexOf(side, at), side.kind);
      value.im = number(0);
      return value;
    }
    if (!side.isHalf) return w_.load(baseOf(side), indexOf(side, at), side.kind);
    // Of the first number, and the one in the middle, the imaginary part does not count.
    llvm::Value* isMirrored = b_.CreateICmpUGE(at, w_.i64(side.size));
    llvm::Value* place = b_.CreateSelect(isMirrored, b_.CreateSub(w_.i64(p_.size), at), at);
    Val value = w_.load(baseOf(side), indexOf(side, place), side.kind);
    llvm::Value* isReal = b_.CreateOr(b_.CreateICmpEQ(at, w_.i64(0)),
                                      b_.CreateICmpEQ(b_.CreateShl(at, 1), w_.i64(p_.size)));
    value.im = b_.CreateSelect(isMirrored, b_.CreateFNeg(value.im), value.im);
    value.im = b_.CreateSelect(isReal, number(0), value.im);
    return value;
  }

  void store(llvm::Value* at, Val value) {
    const Side& side = p_.to;
    if (p_.scale != 1) {
      value.re = b_.CreateFMul(value.re, number(p_.scale));
      value.im = b_.CreateFMul(value.im, number(p_.scale));
    }
    auto write = [&] { w_.store(baseOf(side), indexOf(side, at), side.kind, value); };
    if (side.isHalf) {
      w_.branch(b_.CreateICmpULT(at, w_.i64(side.size)), write);
    } else {
      write();
    }
  }

  Val times(const Val& x, const Val& y) {
    Val product;
    product.re = b_.CreateFSub(b_.CreateFMul(x.re, y.re), b_.CreateFMul(x.im, y.im));
    product.im = b_.CreateFAdd(b_.CreateFMul(x.re, y.im), b_.CreateFMul(x.im, y.re));
    return product;
  }
  Val plus(const Val& x, const Val& y) {
    return {b_.CreateFAdd(x.re, y.re), b_.CreateFAdd(x.im, y.im)};
  }

  // exp(-2 pi i turn / size), of the inverse exp(2 pi i turn / size); turn < size.
  Val root(llvm::Module& module, llvm::Value* turn) {
    if (p_.size <= kMostRoots) return fromTable(module, turn, 1, p_.size);
    int64_t low = int64_t{1} << llvm::Log2_64_Ceil(static_cast<uint64_t>(p_.size)) / 2;
    auto [quotient, remainder] = w_.divide(turn, low);
    return times(fromTable(module, quotient, low, p_.size / low + 1),
                 fromTable(module, remainder, 1, low));
  }

  // Root number `index` times `step` of `count` such.
  Val fromTable(llvm::Module& module, llvm::Value* index, int64_t step, int64_t count) {
    std::string name = "roots_" + std::to_string(p_.size) + "_" + std::to_string(step) +
                       (type()->isFloatTy() ? "_f32" : "_f64") + (p_.isInverse ? "_inverse" : "");
    llvm::GlobalVariable* table = module.getGlobalVariable(name, /*AllowInternal=*/true);
    if (!table) {
      llvm::SmallVector<double> parts;
      for (int64_t k = 0; k < count; ++k) {
        auto [re, im] = unit(k * step, p_.size);
        parts.push_back(re);
        parts.push_back(im);
      }
      llvm::SmallVector<llvm::Constant*> elements;
      for (double part : parts) elements.push_back(llvm::ConstantFP::get(type(), part));
      auto* array = llvm::ArrayType::get(type(), elements.size());
      table = new llvm::GlobalVariable(module, array, /*isConstant=*/true,
                                       llvm::GlobalValue::PrivateLinkage,
                                       llvm::ConstantArray::get(array, elements), name);
      table->setAlignment(llvm::Align(64));
    }
    auto part = [&](int64_t offset) {
      llvm::Value* at = w_.plus(w_.times(index, 2), w_.i64(offset));
      return b_.CreateLoad(type(), b_.CreateGEP(type(), table, at));
    };
    Val value;
    value.re = part(0);
    value.im = part(1);
    return value;
  }

  // exp(-+2 pi i turn / size).
  std::pair<double, double> unit(int64_t turn, int64_t size) const {
    // Exact where it can be, and small angles elsewhere.
    int64_t eighths = 8 * (turn % size);
    double angle =
        2 * std::numbers::pi * static_cast<double>(turn % size) / static_cast<double>(size);
    double re = std::cos(angle), im = std::sin(angle);
    if (eighths % (2 * size) == 0) {
      re = std::round(re);
      im = std::round(im);
    }
    return {re, p_.isInverse ? im : -im};
  }

  // Number `at` of the pass's results.
  void emitPoint(llvm::Module& module, llvm::Value* at) {
    int64_t together = p_.done * p_.factor;
    int64_t stride = p_.size / p_.factor;
    auto [block, turns] = w_.divide(at, together);
    llvm::Value* first = w_.plus(w_.times(block, p_.done), w_.divide(turns, p_.done).second);
    Val zero = {number(0), number(0)};
    KernelWriter::Elements sums =
        w_.loop(p_.factor, KernelWriter::Elements{zero},
                [&, turns = turns](llvm::Value* q, const KernelWriter::Elements& carried) {
                  Val point = load(w_.plus(first, w_.times(q, stride)));
                  llvm::Value* turn = w_.times(b_.CreateMul(q, turns), stride / p_.done);
                  turn = w_.divide(turn, p_.size).second;
                  KernelWriter::Elements next{plus(carried[0], times(point, root(module, turn)))};
                  return next;
                });
    store(at, sums[0]);
  }

  // Number k of the transform of the points.
  Val pointOf(llvm::ArrayRef<Val> points, int64_t k) {
    Val sum = points[0];
    for (int64_t q = 1; q < p_.factor; ++q) {
      auto [re, im] = unit(q * k, p_.factor);
      sum = plus(sum, timesConstant(points[static_cast<size_t>(q)], re, im));
    }
    return sum;
  }

  Val timesConstant(const Val& x, double re, double im) {
    auto negated = [&](llvm::Value* value, bool isNegated) {
      return isNegated ? b_.CreateFNeg(value) : value;
    };
    if (im == 0) return re == 1 ? x : Val{b_.CreateFNeg(x.re), b_.CreateFNeg(x.im)};
    if (re == 0) return {negated(x.im, im > 0), negated(x.re, im < 0)};
    Val constant;
    constant.re = number(re);
    constant.im = number(im);
    return times(x, constant);
  }

  const Pass& p_;
  KernelWriter& w_;
  llvm::IRBuilder<>& b_;
  llvm::Value* inner_ = nullptr;
};

}  // namespace

StatusOr<OpKernels> emitFft(shlo::FftOp op, llvm::Module& module, const WorkItemForm& form,
                            const std::string& symbol) {
  auto operand = llvm::cast<mlir::RankedTensorType>(op.getOperand().getType());
  auto result = llvm::cast<mlir::RankedTensorType>(op.getResult().getType());
  std::optional<ElementKind> from = kindOf(op.getOperand()), to = kindOf(op.getResult());
  if (!from || !to) return unimplemented("no kernel transforms elements of this type");
  bool isRealToComplex = op.getFftType() == shlo::FftType::RFFT;
  bool isComplexToReal = op.getFftType() == shlo::FftType::IRFFT;
  bool isInverse = isComplexToReal || op.getFftType() == shlo::FftType::IFFT;
  ElementKind complex = isRealToComplex ? *to : *from;
  if (!complex.isComplex() || operand.getNumElements() == 0 || result.getNumElements() == 0) {
    return unimplemented("no kernel transforms no elements");
  }
  int64_t rank = operand.getRank();
  auto dims = static_cast<int64_t>(op.getFftLength().size());
  llvm::SmallVector<int64_t> shape(operand.getShape());
  llvm::ArrayRef<int64_t> lengths = op.getFftLength();
  int64_t largest = std::max(operand.getNumElements(), result.getNumElements());
  if (largest > kMostElements) return unimplemented("no kernel transforms so many elements");

  // The real side comes first, or last.
  llvm::SmallVector<int64_t> order;
  for (int64_t d = rank - dims; d < rank; ++d) order.push_back(d);
  if (isRealToComplex) std::reverse(order.begin(), order.end());
  std::vector<Pass> passes;
  for (int64_t d : order) {
    int64_t length = lengths[static_cast<size_t>(d - (rank - dims))];
    bool isReal = d == rank - 1 && (isRealToComplex || isComplexToReal);
    if (!isReal && shape[static_cast<size_t>(d)] != length) {
      return unimplemented("no kernel transforms a part of a dimension");
    }
    llvm::SmallVector<int64_t, 16> factors = factorsOf(length);
    if (length > kMostSize || factors.empty()) {
      return unimplemented("no kernel transforms a dimension of ", length);
    }
    Pass pass;
    pass.size = length;
    pass.isInverse = isInverse;
    for (int64_t other = 0; other < rank; ++other) {
      if (other != d) {
        (other < d ? pass.outer : pass.inner) *= shape[static_cast<size_t>(other)];
      }
    }
    pass.from = pass.to = {0, 0, complex, length};
    for (auto [i, factor] : llvm::enumerate(factors)) {
      Pass one = pass;
      one.factor = factor;
      bool isFirst = i == 0, isLast = i + 1 == factors.size();
      if (isReal && isRealToComplex && isFirst) one.from.kind = *from;
      if (isReal && isRealToComplex && isLast) {
        one.to.isHalf = true;
        one.to.size = length / 2 + 1;
      }
      if (isReal && isComplexToReal && isFirst) {
        one.from.isHalf = true;
        one.from.size = length / 2 + 1;
      }
      if (isReal && isComplexToReal && isLast) one.to.kind = *to;
      if (isInverse && isLast) one.scale = 1 / static_cast<double>(length);
      passes.push_back(one);
      pass.done *= factor;
    }
    shape[static_cast<size_t>(d)] = passes.back().to.size;
  }

  // From the operand through two halves of the scratch memory to the result.
  int64_t halfBytes = static_cast<int64_t>(
      llvm::alignTo(static_cast<uint64_t>(2 * largest) * complex.storageBytes, 64));
  for (size_t i = 0; i + 1 < passes.size(); ++i) {
    passes[i].to.buffer = passes[i + 1].from.buffer = 2;
    passes[i].to.offset = passes[i + 1].from.offset = i % 2 == 0 ? 0 : halfBytes;
  }
  passes.back().to.buffer = 1;
  OpKernels kernels;
  kernels.scratchBytes = passes.size() == 1 ? 0 : passes.size() == 2 ? halfBytes : 2 * halfBytes;
  unsigned buffers = kernels.scratchBytes > 0 ? 3 : 2;
  for (auto [i, pass] : llvm::enumerate(passes)) {
    int64_t points = pass.factor > kMostPoints ? 1 : pass.factor;
    Items items{pass.size / points * pass.inner, pass.outer, 1};
    std::string name = symbol + (i == 0 ? "" : "_" + std::to_string(i));
    KernelWriter writer(module, form, name, buffers, items);
    FftKernel(pass, writer).emit(module);
    writer.finish();
    kernels.stages.push_back({name, items});
  }
  return kernels;
}

}  // namespace isthmus::codegen
