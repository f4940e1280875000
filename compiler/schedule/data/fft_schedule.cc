#include "compiler/schedule/data/fft_schedule.h"

#include <algorithm>

#include "llvm/Support/MathExtras.h"

namespace isthmus {
namespace {

// Of larger prime factors, each point is a sum of its own; sizes with still larger ones are the
// host's, which has an algorithm for them.
constexpr int64_t kMaxRadix = 256;
constexpr int64_t kMaxLength = int64_t{1} << 24;
constexpr int64_t kMaxTransformed = int64_t{1} << 40;
// Points of a group's lines together.
constexpr int64_t kMaxGroupPoints = 4096;
// Of a thread for one factor, which it has in registers, in an edited schedule.
constexpr int64_t kMaxThreadPoints = 256;

// Products of primes that a thread transforms in registers, or larger primes; empty if one is too
// large.
llvm::SmallVector<int64_t, 4> factorsOf(int64_t size) {
  llvm::SmallVector<int64_t, 24> primes;
  for (int64_t prime = 2; prime <= kMaxRadix; ++prime) {
    for (; size % prime == 0; size /= prime) primes.push_back(prime);
  }
  if (size != 1) return {};
  llvm::SmallVector<int64_t, 4> factors;
  while (!primes.empty()) {
    int64_t factor = primes.pop_back_val();
    for (size_t i = primes.size(); i-- > 0;) {
      if (factor * primes[i] > kMaxFftPoints) continue;
      factor *= primes[i];
      primes.erase(primes.begin() + static_cast<std::ptrdiff_t>(i));
    }
    factors.push_back(factor);
  }
  if (factors.empty()) factors.push_back(1);
  return factors;
}

// Of the group's memory, for so many lines.
int64_t localBytesOf(const FftShape& shape, const FftDim& dim, int64_t lines) {
  return fftPlacesOf(lines * dim.size) * shape.complex.storageBytes;
}

bool fitsGroup(const FftShape& shape, const FftDim& dim, int64_t lines, const TargetModel& target) {
  return dim.size <= kMaxGroupPoints && lines <= kMaxGroupPoints / dim.size &&
         localBytesOf(shape, dim, lines) <= target.localBytes;
}

// Why groups do not transform by these factors; empty if they do.
std::string groupFftRefusal(const FftShape& shape, const FftDim& dim,
                            llvm::ArrayRef<int64_t> factors, const TargetModel& target) {
  if (!target.hasGroups()) return "the device has none";
  if (factors.size() < 2) return "there is one factor";
  if (!fitsGroup(shape, dim, 1, target)) return "a line does not fit a group's memory";
  const int64_t largest = *llvm::max_element(factors);
  if (largest <= kMaxFftPoints) return "";
  return "a factor of " + std::to_string(largest) + " does not fit a thread's registers";
}

void shareLines(const FftShape& shape, const FftDim& dim, const TargetModel& target,
                FftStage* stage) {
  const int64_t others = dim.inner == 1 ? 1 : dim.outer;
  auto groups = [&](int64_t lines) { return others * llvm::divideCeilSigned(dim.lines(), lines); };
  while (fitsGroup(shape, dim, 2 * stage->lines, target) && stage->lines < dim.lines() &&
         groups(2 * stage->lines) >= target.enoughRows) {
    stage->lines *= 2;
  }
  // As many threads as have work at the largest factor.
  const int64_t largest = *llvm::max_element(stage->factors);
  const int64_t wanted = llvm::divideCeilSigned(stage->lines * dim.size, largest);
  const auto least = static_cast<int64_t>(target.subgroupSize);
  stage->groupThreads = static_cast<unsigned>(
      std::clamp<int64_t>(llvm::divideCeilSigned(wanted, least) * least, least, target.groupSize));
}

std::string stageRefusal(const FftShape& shape, const FftDim& dim, const FftStage& stage,
                         const TargetModel& target) {
  for (int64_t factor : stage.factors) {
    if (factor < 1 || factor > kMaxRadix) {
      return "factors must be from 1 to " + std::to_string(kMaxRadix);
    }
  }
  if (stage.groupThreads == 1) {
    if (stage.lines != 1) return "work-items transform lines apart";
    return stage.factors.size() == 1 ? "" : "work-items transform by one factor in each stage";
  }
  const std::string why = groupFftRefusal(shape, dim, stage.factors, target);
  if (!why.empty()) return "no group transforms so: " + why;
  if (stage.lines < 1 || !fitsGroup(shape, dim, stage.lines, target)) {
    return "so many lines do not fit a group's memory";
  }
  if (stage.groupThreads > target.groupSize) {
    return "threads must be at most " + std::to_string(target.groupSize);
  }
  const int64_t points = llvm::divideCeilSigned(stage.lines * dim.size, stage.groupThreads);
  return points <= kMaxThreadPoints ? "" : "the points do not fit the threads' registers";
}

}  // namespace

StatusOr<FftShape> fftShapeOf(shlo::FftOp op) {
  auto operand = llvm::cast<mlir::RankedTensorType>(op.getOperand().getType());
  auto result = llvm::cast<mlir::RankedTensorType>(op.getResult().getType());
  std::optional<ElementKind> from = kindOf(op.getOperand()), to = kindOf(op.getResult());
  if (!from || !to) return unimplemented("no kernel transforms elements of this type");
  const bool isRealToComplex = op.getFftType() == shlo::FftType::RFFT;
  const bool isComplexToReal = op.getFftType() == shlo::FftType::IRFFT;
  FftShape shape;
  shape.isInverse = isComplexToReal || op.getFftType() == shlo::FftType::IFFT;
  shape.complex = isRealToComplex ? *to : *from;
  shape.real = isRealToComplex ? *from : *to;
  if (!shape.complex.isComplex() || operand.getNumElements() == 0 || result.getNumElements() == 0) {
    return unimplemented("no kernel transforms no elements");
  }
  shape.largest = std::max(operand.getNumElements(), result.getNumElements());
  if (shape.largest > kMaxTransformed) {
    return unimplemented("no kernel transforms so many elements");
  }
  const int64_t rank = operand.getRank();
  llvm::ArrayRef<int64_t> lengths = op.getFftLength();
  const auto dims = static_cast<int64_t>(lengths.size());
  llvm::SmallVector<int64_t> sizes(operand.getShape());
  // The real side comes first, or last.
  llvm::SmallVector<int64_t> order;
  for (int64_t d = rank - dims; d < rank; ++d) order.push_back(d);
  if (isRealToComplex) std::reverse(order.begin(), order.end());
  for (int64_t d : order) {
    FftDim dim;
    dim.dim = d;
    dim.size = lengths[static_cast<size_t>(d - (rank - dims))];
    dim.fromReal = d == rank - 1 && isRealToComplex;
    dim.toReal = d == rank - 1 && isComplexToReal;
    if (!dim.fromReal && !dim.toReal && sizes[static_cast<size_t>(d)] != dim.size) {
      return unimplemented("no kernel transforms a part of a dimension");
    }
    if (dim.size > kMaxLength) {
      return unimplemented("no kernel transforms a dimension of ", dim.size);
    }
    for (int64_t other = 0; other < rank; ++other) {
      if (other != d) (other < d ? dim.outer : dim.inner) *= sizes[static_cast<size_t>(other)];
    }
    sizes[static_cast<size_t>(d)] = dim.fromReal ? dim.size / 2 + 1 : dim.size;
    shape.dims.push_back(dim);
  }
  return shape;
}

StatusOr<KernelSchedule> scheduleFft(const FftShape& shape, const TargetModel& target,
                                     const FftStage& base, std::string* reason) {
  KernelSchedule schedule;
  std::string all;
  for (const FftDim& dim : shape.dims) {
    llvm::SmallVector<int64_t, 4> factors = factorsOf(dim.size);
    if (factors.empty()) return unimplemented("no kernel transforms a dimension of ", dim.size);
    FftStage stage = base;
    stage.dim = dim.dim;
    std::string why = groupFftRefusal(shape, dim, factors, target);
    if (why.empty()) {
      stage.factors = std::move(factors);
      shareLines(shape, dim, target, &stage);
      schedule.stages.push_back(std::move(stage));
      continue;
    }
    all += (all.empty() ? "" : "; ") + ("groups along " + std::to_string(dim.dim)) + ": " + why;
    for (int64_t factor : factors) {
      stage.factors = {factor};
      schedule.stages.push_back(stage);
    }
  }
  if (reason) *reason = all.empty() ? "lines fit groups' memory" : all;
  return schedule;
}

std::string fftRefusal(const FftShape& shape, llvm::ArrayRef<FftStage> stages,
                       const TargetModel& target) {
  const FftStage* stage = stages.begin();
  for (const FftDim& dim : shape.dims) {
    int64_t done = 1;
    bool isFirst = true, isGroup = false;
    for (; stage != stages.end() && stage->dim == dim.dim; ++stage) {
      if (isGroup || (!isFirst && stage->groupThreads > 1)) {
        return "a group transforms by all factors of a dimension";
      }
      if (std::string why = stageRefusal(shape, dim, *stage, target); !why.empty()) return why;
      isFirst = false;
      isGroup = stage->groupThreads > 1;
      for (int64_t factor : stage->factors) {
        if (factor > dim.size / done) return "the factors make more than the dimension";
        done *= factor;
      }
    }
    if (isFirst) {
      return "dimension " + std::to_string(dim.dim) + " is to be transformed next";
    }
    if (done != dim.size) {
      return "the factors of dimension " + std::to_string(dim.dim) + " make " +
             std::to_string(done) + ", expected " + std::to_string(dim.size);
    }
  }
  return stage == stages.end() ? "" : "there is no further dimension";
}

}  // namespace isthmus
