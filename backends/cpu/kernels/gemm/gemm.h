// Blocked matrix multiplication over abstract operands: what dot and convolution share.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/cache_sizes.h"
#include "backends/cpu/kernels/gemm/gemm_kernels.h"
#include "isthmus/run_services.h"

namespace isthmus::cpu {

// Lets the calling thread compute tiles while it lives; not within another.
class TilesInUse {
 public:
  explicit TilesInUse(const GemmKernels& kernels) : kernels_(kernels) {
    if (kernels_.begin) kernels_.begin();
  }
  ~TilesInUse() {
    if (kernels_.end) kernels_.end();
  }
  TilesInUse(const TilesInUse&) = delete;
  TilesInUse& operator=(const TilesInUse&) = delete;

 private:
  const GemmKernels& kernels_;
};

// A batch of products: sums(m, n) = sum over k of a(m, k) * b(k, n). The methods are called from
// several threads.
class GemmJob {
 public:
  virtual ~GemmJob() = default;

  GemmDomain domain;
  int64_t batches = 1;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;

  // Pack lanes [lane, lane + lanes) of the operand for steps [k0, k0 + kc) with
  // kernels.pack(panel, width, …).
  virtual void packA(int64_t batch, void* panel, int width, int64_t lane, int lanes, int64_t k0,
                     int64_t kc) const = 0;
  virtual void packB(int64_t batch, void* panel, int width, int64_t lane, int lanes, int64_t k0,
                     int64_t kc) const = 0;

  // Where rows of the left operand of a batch lie, `*rowStride` elements apart, if kernels' runTile
  // takes them there: their steps lie side by side, are of the narrow type of the domain's panels,
  // and begin with a cache line, since others take longer to read than to pack. Or null, of every
  // batch: they are packed.
  virtual const void* leftInPlace(int64_t /*batch*/, int64_t* /*rowStride*/) const {
    return nullptr;
  }

  // Where the sums of a batch go, row-major with rows `*ld` apart, or null: then they are
  // collected in scratch memory and handed to `finish`.
  virtual void* directResult(int64_t batch, int64_t* ld) const = 0;

  // Called once for each finished rectangle of sums. `sums` is null if they are in directResult.
  virtual void finish(int64_t batch, int64_t rowBegin, int64_t rowEnd, int64_t colBegin,
                      int64_t colEnd, const void* sums, int64_t ldSums) const = 0;
};

// Needs m, n >= 1; k may be 0. Fails only for want of scratch memory (returns false).
bool runGemm(RunServices& services, const GemmJob& job);

// Whether so many multiply-adds, some 10 us of one thread, are worth waking others.
inline bool worthThreads(double multiplyAdds) { return multiplyAdds >= 4e5; }

}  // namespace isthmus::cpu
