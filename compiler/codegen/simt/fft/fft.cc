// Fourier transforms by Stockham's algorithm, dimension by dimension, from one copy of the array to
// another: by groups of threads that have whole lines in their memory, else a kernel for each
// factor of the dimension's size. Real transforms compute with complex numbers whose imaginary
// parts are 0, or whose second half mirrors the first.
#include "compiler/codegen/simt/data_kernels.h"
#include "compiler/codegen/simt/fft/fft_writer.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus::codegen {
namespace {

// Of larger prime factors, each point is a sum of its own; sizes with still larger ones are the
// host's, which has an algorithm for them.
constexpr int64_t kMostSummands = 256;
constexpr int64_t kMostLength = int64_t{1} << 24;
constexpr int64_t kMostTransformed = int64_t{1} << 40;

// Products of primes that a thread transforms in registers, or larger primes; empty if one is too
// large.
llvm::SmallVector<int64_t, 6> factorsOf(int64_t size) {
  llvm::SmallVector<int64_t, 24> primes;
  for (int64_t prime = 2; prime <= kMostSummands; ++prime) {
    for (; size % prime == 0; size /= prime) primes.push_back(prime);
  }
  if (size != 1) return {};
  llvm::SmallVector<int64_t, 6> factors;
  while (!primes.empty()) {
    int64_t factor = primes.pop_back_val();
    for (size_t i = primes.size(); i-- > 0;) {
      if (factor * primes[i] > kMostFftPoints) continue;
      factor *= primes[i];
      primes.erase(primes.begin() + static_cast<std::ptrdiff_t>(i));
    }
    factors.push_back(factor);
  }
  if (factors.empty()) factors.push_back(1);
  return factors;
}

// The passes of one dimension, which `whole` describes but for its factors.
void addPasses(const FftPass& whole, llvm::ArrayRef<int64_t> factors, const TargetModel& target,
               std::vector<FftPass>& passes) {
  if (fitsGroup(whole, factors, target)) {
    passes.push_back(whole);
    passes.back().factors.assign(factors.begin(), factors.end());
    return;
  }
  const ElementKind& complex = whole.from.kind.isComplex() ? whole.from.kind : whole.to.kind;
  const FftSide between{0, 0, complex, whole.size};
  int64_t done = 1;
  for (auto [i, factor] : llvm::enumerate(factors)) {
    FftPass one = whole;
    one.factors = {factor};
    one.done = done;
    if (i > 0) one.from = between;
    if (i + 1 < factors.size()) {
      one.to = between;
      one.scale = 1;
    }
    passes.push_back(one);
    done *= factor;
  }
}

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
  if (largest > kMostTransformed) return unimplemented("no kernel transforms so many elements");

  // The real side comes first, or last.
  llvm::SmallVector<int64_t> order;
  for (int64_t d = rank - dims; d < rank; ++d) order.push_back(d);
  if (isRealToComplex) std::reverse(order.begin(), order.end());
  std::vector<FftPass> passes;
  for (int64_t d : order) {
    int64_t length = lengths[static_cast<size_t>(d - (rank - dims))];
    bool isReal = d == rank - 1 && (isRealToComplex || isComplexToReal);
    if (!isReal && shape[static_cast<size_t>(d)] != length) {
      return unimplemented("no kernel transforms a part of a dimension");
    }
    llvm::SmallVector<int64_t, 6> factors = factorsOf(length);
    if (length > kMostLength || factors.empty()) {
      return unimplemented("no kernel transforms a dimension of ", length);
    }
    FftPass pass;
    pass.size = length;
    pass.isInverse = isInverse;
    if (isInverse) pass.scale = 1 / static_cast<double>(length);
    for (int64_t other = 0; other < rank; ++other) {
      if (other != d) {
        (other < d ? pass.outer : pass.inner) *= shape[static_cast<size_t>(other)];
      }
    }
    pass.from = pass.to = {0, 0, complex, length};
    if (isReal && isRealToComplex) {
      pass.from.kind = *from;
      pass.to.isHalf = true;
      pass.to.size = length / 2 + 1;
    }
    if (isReal && isComplexToReal) {
      pass.from.isHalf = true;
      pass.from.size = length / 2 + 1;
      pass.to.kind = *to;
    }
    addPasses(pass, factors, form.target, passes);
    shape[static_cast<size_t>(d)] = passes.back().to.size;
  }

  // From the operand through two halves of the scratch memory to the result.
  int64_t halfBytes = static_cast<int64_t>(
      llvm::alignTo(static_cast<uint64_t>(largest) * complex.storageBytes, 64));
  for (size_t i = 0; i + 1 < passes.size(); ++i) {
    passes[i].to.buffer = passes[i + 1].from.buffer = 2;
    passes[i].to.offset = passes[i + 1].from.offset = i % 2 == 0 ? 0 : halfBytes;
  }
  passes.back().to.buffer = 1;
  OpKernels kernels;
  kernels.scratchBytes = passes.size() == 1 ? 0 : passes.size() == 2 ? halfBytes : 2 * halfBytes;
  unsigned buffers = kernels.scratchBytes > 0 ? 3 : 2;
  for (auto [i, pass] : llvm::enumerate(passes)) {
    const std::string name = symbol + (i == 0 ? "" : "_" + std::to_string(i));
    const auto emit = pass.factors.size() > 1 ? emitGroupFft : emitItemFft;
    kernels.stages.push_back(emit(pass, module, form, name, buffers));
  }
  return kernels;
}

}  // namespace isthmus::codegen
