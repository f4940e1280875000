#include "backends/cpu/kernels/gemm/split_k.h"

#include <algorithm>

#include "backends/cpu/kernels/gemm/dot_job.h"
#include "backends/cpu/kernels/gemm/few_rows.h"
#include "backends/cpu/kernels/gemm/gemm_domains.h"
#include "backends/cpu/kernels/parallel_for.h"
#include "base/integer_math.h"

namespace isthmus::cpu {
namespace {

// Below, packing an operand again and waking threads for less costs little.
constexpr int64_t kMinTerms = 4096;
// Beside the results' rows and columns: so that adding parts up is little of the work.
constexpr int64_t kTermsPerLine = 32;
constexpr int64_t kMaxResults = 128 << 10;
// Batches keep threads busy by themselves.
constexpr int64_t kManyBatches = 8;
constexpr int64_t kMinParts = 4, kMaxParts = 16, kTermsOfPart = 2048;
// Parts of a single dimension are so many terms times a number: they begin with whole vectors.
constexpr int64_t kTermsOfLine = 16;
// Rows that threads share where a few vectors meet them.
constexpr int64_t kManyRows = 64;
// Sums that are worth threads for adding them up.
constexpr int64_t kManySums = 256 << 10;
constexpr int64_t kRowsOfTask = 8;

// Whether long rows in memory meet a few vectors: they are best read from end to end.
bool readsLongRows(const DotProblem& p) {
  return p.k.size() == 1 && p.k[0].lhsStride == 1 && p.k[0].rhsStride == 1 &&
         std::min(p.rows, p.cols) <= kMaxDotRows && std::max(p.rows, p.cols) >= kManyRows;
}

bool isWorthSplitting(const DotProblem& p) {
  const int64_t results = p.batches * p.rows * p.cols;
  return p.contracting >= kMinTerms && p.batches < kManyBatches && results > 0 &&
         results <= kMaxResults && p.contracting >= kTermsPerLine * std::max(p.rows, p.cols) &&
         worthThreads(4 * static_cast<double>(results) * static_cast<double>(p.contracting)) &&
         !readsLongRows(p);
}

// The product with so many of the outermost terms.
DotDescriptor withTerms(const DotDescriptor& dot, GemmDomain domain, int64_t terms) {
  DotDescriptor part = dot;
  part.resultType = floatTypeOf(domain);
  part.flags = 0;
  part.lhsBuffer = 0, part.rhsBuffer = 1, part.sumsBuffer = 2;
  part.form = DotForm::kUndecided;
  part.dims[dot.batchRank + dot.mRank + dot.nRank].size = terms;
  return part;
}

// sums[i] += more[i] for i in [begin, end).
template <typename T>
void add(T* sums, const T* more, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) sums[i] += more[i];
}

}  // namespace

SplitK::SplitK(const DotDescriptor& dot, GemmDomain domain) : domain_(domain) {
  const DotProblem p = decodeShape(dot);
  results_ = p.batches * p.rows * p.cols;
  if (floatTypeOf(domain) == ElementType::kInvalid || !isWorthSplitting(p) ||
      p.batch.size() + p.m.size() + p.n.size() + p.k.size() == kMaxDotDimensions) {
    return;
  }
  const DotDimension outermost = p.k[0];
  const int64_t parts = std::clamp(p.contracting / kTermsOfPart, kMinParts, kMaxParts);
  int64_t terms = outermost.size / parts;
  if (p.k.size() == 1) terms = terms / kTermsOfLine * kTermsOfLine;
  if (terms == 0) return;
  parts_ = parts;
  rest_ = withTerms(dot, domain, outermost.size - parts * terms);
  equal_ = withTerms(dot, domain, terms);
  std::copy_backward(equal_.dims, equal_.dims + kMaxDotDimensions - 1,
                     equal_.dims + kMaxDotDimensions);
  equal_.dims[0] = {parts, terms * outermost.lhsStride, terms * outermost.rhsStride};
  ++equal_.batchRank;
}

int64_t SplitK::sumsBytes() const {
  return (parts_ + (hasRest() ? 1 : 0)) * results_ * gemmKernels(domain_).elementBytes;
}

DotProblem SplitK::equalPartsOf(const DotProblem& p, char* sums) const {
  DotProblem equal = decodeShape(equal_);
  equal.lhs = p.lhs;
  equal.rhs = p.rhs;
  equal.result = sums;
  return equal;
}

DotProblem SplitK::restOf(const DotProblem& p, char* sums) const {
  DotProblem rest = decodeShape(rest_);
  auto behindParts = [&](const void* operand, ElementType type, int64_t stride) {
    return static_cast<const char*>(operand) +
           parts_ * stride * static_cast<int64_t>(storageBytes(type));
  };
  rest.lhs = behindParts(p.lhs, rest_.lhsType, equal_.dims[0].lhsStride);
  rest.rhs = behindParts(p.rhs, rest_.rhsType, equal_.dims[0].rhsStride);
  rest.result = sums + parts_ * results_ * gemmKernels(domain_).elementBytes;
  return rest;
}

void SplitK::finish(RunServices& services, const DotProblem& p, char* sums) const {
  const int64_t bytes = gemmKernels(domain_).elementBytes;
  const int64_t slots = parts_ + (hasRest() ? 1 : 0);
  auto addRows = [&](int64_t rowBegin, int64_t rowEnd) {
    const int64_t begin = rowBegin * p.cols, end = rowEnd * p.cols;
    for (int64_t slot = 1; slot < slots; ++slot) {
      char* more = sums + slot * results_ * bytes;
      if (domain_ == GemmDomain::kF64) {
        add(reinterpret_cast<double*>(sums), reinterpret_cast<double*>(more), begin, end);
      } else {
        add(reinterpret_cast<float*>(sums), reinterpret_cast<float*>(more), begin, end);
      }
    }
    const char* first = sums + begin * bytes;
    if (p.epilogue) return p.epilogue(p.buffers, rowBegin, rowEnd, 0, p.cols, first, p.cols);
    storeSums(domain_, first, end - begin, p.dot.resultType, p.result, begin);
  };
  const int64_t rows = p.batches * p.rows;
  if (slots * results_ < kManySums) return addRows(0, rows);
  parallelFor(services, ceilDiv(rows, kRowsOfTask), 1, [&](int64_t begin, int64_t end) {
    addRows(begin * kRowsOfTask, std::min(rows, end * kRowsOfTask));
  });
}

}  // namespace isthmus::cpu
