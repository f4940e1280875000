// isthmus_rt_conv: chooses between depthwise loops, windows in place and matrix multiplication.
#include "backends/cpu/kernels/conv.h"

#include "backends/cpu/kernels/conv_problem.h"
#include "backends/cpu/kernels/gemm_domains.h"
#include "backends/cpu/kernels/parallel_for.h"

namespace isthmus::cpu {

extern "C" int32_t isthmus_rt_conv(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  const auto& conv = *static_cast<const ConvDescriptor*>(descriptor);
  RunServices& services = *run->services;
  const GemmDomain domain = chooseDomain(conv.lhsType, conv.rhsType, conv.resultType);
  const bool native = isDomainType(domain, conv.resultType);
  std::vector<ConvProblem> problems = plainProblems(conv, buffers);
  auto epilogue = (conv.flags & kConvHasEpilogue) ? reinterpret_cast<DotEpilogue>(buffers[3])
                                                  : DotEpilogue{nullptr};
  bool epilogueDone = epilogue == nullptr;
  if (epilogue && problems.size() == 1 && positionsAreRows(problems[0])) {
    problems[0].epilogue = epilogue;
    problems[0].epilogueBuffers = buffers + 4;
    epilogueDone = true;
  }
  int64_t elements = 0;
  for (const ConvProblem& p : problems) {
    const int64_t positions = p.positions();
    elements += positions * p.groups * p.outputFeatures;
    if (positions == 0) continue;
    if (runDepthwise(services, p, domain)) continue;
    if (runPositionSums(services, p, domain)) continue;
    std::optional<bool> done = runWindowConv(services, p, domain);
    if (!done) done = runConvAsGemm(services, p, domain, native);
    if (!*done) {
      return fail(run, resourceExhausted("convolution: no scratch memory for packing operands"));
    }
  }
  if (epilogueDone || elements == 0) return 0;
  const int64_t columns = conv.resultColumns;
  parallelFor(services, elements / columns, std::max<int64_t>(1, 16384 / columns),
              [&](int64_t begin, int64_t end) { epilogue(buffers + 4, begin, end, 0, columns); });
  return 0;
}

}  // namespace isthmus::cpu
