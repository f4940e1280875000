// Split-K: a product of many terms and few results as partial products of some of the terms each,
// which are added in the end. So threads share the terms where the result has too few tiles for
// them, and none packs or reads again what others have.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/gemm/dot_problem.h"
#include "backends/cpu/kernels/gemm/gemm_kernels.h"
#include "isthmus/run_services.h"

namespace isthmus::cpu {

// How a product is cut along the outermost dimension of its terms. That depends on the product
// alone, so that its sums are the same for any number of threads. Problems that the methods return
// refer to this.
class SplitK {
 public:
  // `domain` is what the product is summed in.
  SplitK(const DotDescriptor& dot, GemmDomain domain);

  // Of equal size; 1 if the product is better left whole: then nothing else may be asked.
  int64_t parts() const { return parts_; }
  // The batch of them, without its buffers.
  const DotDescriptor& equalParts() const { return equal_; }

  // Of all partial sums.
  int64_t sumsBytes() const;
  // The equal parts of `p`, the product that this was made of, as one batch.
  DotProblem equalPartsOf(const DotProblem& p, char* sums) const;
  // The terms that they leave over, if there are any.
  bool hasRest() const { return rest_.dims[restDim()].size != 0; }
  DotProblem restOf(const DotProblem& p, char* sums) const;
  // Adds the partial sums up, in `sums`, and makes the product's result of them.
  void finish(RunServices& services, const DotProblem& p, char* sums) const;

 private:
  int64_t restDim() const { return rest_.batchRank + rest_.mRank + rest_.nRank; }

  GemmDomain domain_;
  int64_t parts_ = 1;
  int64_t results_;  // of the product
  DotDescriptor equal_;
  DotDescriptor rest_;
};

}  // namespace isthmus::cpu
