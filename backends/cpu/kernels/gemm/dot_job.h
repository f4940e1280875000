// A dot_general as a job for blocked multiplication: operands behind tables of offsets.
#pragma once

#include <algorithm>

#include "backends/cpu/kernels/gemm/dot_problem.h"
#include "backends/cpu/kernels/gemm/gemm_domains.h"

namespace isthmus::cpu {

// Whether sums in their result would overwrite an operand that the epilogue reads.
inline bool sumsShareMemory(const DotDescriptor& dot, void* const* buffers) {
  for (int32_t i = 0; i < dot.epilogueBuffer; ++i) {
    if (i != dot.sumsBuffer && buffers[i] == buffers[dot.sumsBuffer]) return true;
  }
  return false;
}

// What a descriptor says without its buffers.
inline DotProblem decodeShape(const DotDescriptor& dot) {
  const DotDimension* dims = dot.dims;
  DotProblem p{dot, nullptr, nullptr, nullptr, {}, {}, {}, {}, 0, 0, 0, 0, nullptr, nullptr};
  p.batch = {dims, static_cast<size_t>(dot.batchRank)};
  p.m = {p.batch.data() + dot.batchRank, static_cast<size_t>(dot.mRank)};
  p.n = {p.m.data() + dot.mRank, static_cast<size_t>(dot.nRank)};
  p.k = {p.n.data() + dot.nRank, static_cast<size_t>(dot.kRank)};
  p.batches = groupSize(p.batch);
  p.rows = groupSize(p.m);
  p.cols = groupSize(p.n);
  p.contracting = groupSize(p.k);
  return p;
}

// The same with them.
inline DotProblem decodeDot(const DotDescriptor& dot, void* const* buffers) {
  DotProblem p = decodeShape(dot);
  const bool hasEpilogue = dot.flags & kDotHasEpilogue;
  const bool hasRoom = dot.sumsBuffer >= 0 && !(hasEpilogue && sumsShareMemory(dot, buffers));
  p.lhs = buffers[dot.lhsBuffer];
  p.rhs = buffers[dot.rhsBuffer];
  p.result = hasRoom ? buffers[dot.sumsBuffer] : nullptr;
  p.buffers = buffers;
  if (hasEpilogue) {
    p.epilogue = reinterpret_cast<SumsEpilogue>(buffers[dot.epilogueBuffer]);
  }
  return p;
}

// Operands behind tables of offsets: any number of dimensions in each group.
class DotJob : public GemmJob {
 public:
  // `tables` has room for rows + cols + 2 * contracting offsets.
  DotJob(const DotProblem& problem, GemmDomain gemmDomain, int64_t* tables)
      : p_(problem), kernels_(gemmKernels(gemmDomain)) {
    domain = gemmDomain;
    batches = p_.batches;
    m = p_.rows;
    n = p_.cols;
    k = p_.contracting;
    rowOffsets_ = tables;
    colOffsets_ = rowOffsets_ + m;
    kLhs_ = colOffsets_ + n;
    kRhs_ = kLhs_ + k;
    fillOffsets(p_.m, rowOffsets_, nullptr);
    fillOffsets(p_.n, nullptr, colOffsets_);
    fillOffsets(p_.k, kLhs_, kRhs_);
    rowRun_ = innerRun(p_.m, &DotDimension::lhsStride);
    colRun_ = innerRun(p_.n, &DotDimension::rhsStride);
    kLhsRun_ = innerRun(p_.k, &DotDimension::lhsStride);
    kRhsRun_ = innerRun(p_.k, &DotDimension::rhsStride);
    isLeftInPlace_ = canTakeRowsInPlace();
    direct_ = p_.epilogue ? p_.result != nullptr : isDomainType(domain, p_.dot.resultType);
  }

  void packA(int64_t batch, void* panel, int width, int64_t lane, int lanes, int64_t k0,
             int64_t kc) const override {
    pack(true, p_.lhs, p_.dot.lhsType, groupOffset(p_.batch, batch).lhs, rowOffsets_ + lane,
         contiguous(rowRun_, lane, lanes), kLhs_ + k0, kLhsRun_, k0, panel, width, lanes, kc);
  }
  void packB(int64_t batch, void* panel, int width, int64_t lane, int lanes, int64_t k0,
             int64_t kc) const override {
    pack(false, p_.rhs, p_.dot.rhsType, groupOffset(p_.batch, batch).rhs, colOffsets_ + lane,
         contiguous(colRun_, lane, lanes), kRhs_ + k0, kRhsRun_, k0, panel, width, lanes, kc);
  }
  const void* leftInPlace(int64_t batch, int64_t* rowStride) const override {
    if (!isLeftInPlace_) return nullptr;
    *rowStride = p_.m[0].lhsStride;
    return static_cast<const char*>(p_.lhs) +
           groupOffset(p_.batch, batch).lhs * static_cast<int64_t>(storageBytes(p_.dot.lhsType));
  }
  void* directResult(int64_t batch, int64_t* ld) const override {
    *ld = n;
    if (!direct_) return nullptr;
    return static_cast<char*>(p_.result) + batch * m * n * kernels_.elementBytes;
  }
  void finish(int64_t batch, int64_t rowBegin, int64_t rowEnd, int64_t colBegin, int64_t colEnd,
              const void* sums, int64_t ldSums) const override {
    int64_t firstRow = batch * m;
    if (p_.epilogue) {
      if (!sums) {
        sums = static_cast<char*>(directResult(batch, &ldSums)) +
               (rowBegin * n + colBegin) * kernels_.elementBytes;
      }
      return p_.epilogue(p_.buffers, firstRow + rowBegin, firstRow + rowEnd, colBegin, colEnd, sums,
                         ldSums);
    }
    if (!sums) return;
    storeSumRows(domain, sums, ldSums, rowEnd - rowBegin, colEnd - colBegin, p_.dot.resultType,
                 p_.result, (firstRow + rowBegin) * n + colBegin, n);
  }

 private:
  bool canTakeRowsInPlace() const {
    if (!kernels_.takesRowsInPlace || p_.m.size() != 1 || p_.k.size() != 1 ||
        p_.k[0].lhsStride != 1) {
      return false;
    }
    const auto bytes = static_cast<int64_t>(storageBytes(p_.dot.lhsType));
    auto isWhole = [&](const DotDimension& d) {
      return d.lhsStride * bytes % kCacheLineBytes == 0;
    };
    return reinterpret_cast<uintptr_t>(p_.lhs) % kCacheLineBytes == 0 && isWhole(p_.m[0]) &&
           std::all_of(p_.batch.begin(), p_.batch.end(), isWhole);
  }
  static bool contiguous(int64_t run, int64_t lane, int lanes) {
    return lane / run == (lane + lanes - 1) / run;
  }
  void pack(bool isLeft, const void* data, ElementType type, int64_t base,
            const int64_t* laneOffsets, bool lanesContiguous, const int64_t* kOffsets, int64_t kRun,
            int64_t k0, void* panel, int width, int lanes, int64_t kc) const {
    PanelSource source{
        static_cast<const char*>(data) + base * static_cast<int64_t>(storageBytes(type)),
        type,
        lanes,
        laneOffsets,
        kOffsets,
        kc,
        lanesContiguous && lanes > 1,
        kRun,
        k0 % kRun,
        isLeft};
    kernels_.pack(panel, width, source);
  }

  const DotProblem& p_;
  const GemmKernels& kernels_;
  int64_t* rowOffsets_;
  int64_t* colOffsets_;
  int64_t* kLhs_;
  int64_t* kRhs_;
  int64_t rowRun_, colRun_, kLhsRun_, kRhsRun_;
  bool direct_;
  bool isLeftInPlace_;
};

}  // namespace isthmus::cpu
