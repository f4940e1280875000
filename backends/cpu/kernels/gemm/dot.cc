// isthmus_rt_dot: chooses between kernels for skinny matrices and blocked multiplication.
#include "backends/cpu/kernels/gemm/dot.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/gemm/dot_job.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

bool runBlocked(RunServices& services, const DotProblem& p, GemmDomain domain) {
  constexpr int64_t kLocalEntries = 512;
  int64_t local[kLocalEntries];
  Scratch<int64_t> tables(services, p.rows + p.cols + 2 * p.depth, local, kLocalEntries);
  return tables && runGemm(services, DotJob(p, domain, tables.data()));
}

}  // namespace

int termsAtOnce(ElementType lhs, ElementType rhs, ElementType result) {
  return gemmKernels(narrowDomain(chooseDomain(lhs, rhs, result), lhs, rhs)).stepsPerElement;
}

extern "C" int32_t isthmus_rt_dot(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  const auto& dot = *static_cast<const DotDescriptor*>(descriptor);
  GemmDomain domain = chooseDomain(dot.lhsType, dot.rhsType, dot.resultType);
  if (runNearVectorDot(dot, buffers, domain)) return 0;
  DotProblem p = decodeDot(dot, buffers);
  if (p.batches == 0 || p.rows == 0 || p.cols == 0) return 0;
  if (runSkinnyDot(*run->services, p, domain)) return 0;
  domain = narrowDomain(domain, dot.lhsType, dot.rhsType);
  if (runBlocked(*run->services, p, domain)) return 0;
  return fail(run, resourceExhausted("dot_general: no scratch memory for packing operands"));
}

}  // namespace isthmus::cpu
