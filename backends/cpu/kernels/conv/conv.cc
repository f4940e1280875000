// isthmus_rt_conv: chooses between depthwise loops, windows in place and matrix multiplication.
#include "backends/cpu/kernels/conv/conv.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/conv/conv_problem.h"
#include "backends/cpu/kernels/gemm/gemm_domains.h"
#include "backends/cpu/kernels/parallel_for.h"

namespace isthmus::cpu {

namespace {

// The results that no tap meets, which dilation makes: zeros. False where this is not to be done
// in rows of features.
bool fillUntouched(RunServices& services, const ConvProblem& p, GemmDomain domain) {
  const ElementType type = p.conv.resultType;
  if (p.taps() != 0 || p.epilogue || p.rank == 0 || type != floatTypeOf(domain)) return false;
  if (p.conv.outputFeatureStride != 1 || p.conv.resultColumns != p.conv.outputFeatures)
    return false;
  const auto bytes = static_cast<int64_t>(storageBytes(type));
  const ConvAxis& inner = p.axes[p.rank - 1];
  const auto rowBytes = static_cast<size_t>(p.groups * p.outputFeatures * bytes);
  const int64_t rows = p.positions() / inner.outputSize;
  const int64_t grain = std::max<int64_t>(
      1, (int64_t{64} << 10) / std::max<int64_t>(1, inner.outputSize * p.outputFeatures));
  parallelFor(services, rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t rest = row, output = p.outputOffset;
      for (int d = p.rank - 1; d-- > 0;) {
        output += rest % p.axes[d].outputSize * p.axes[d].outputStride;
        rest /= p.axes[d].outputSize;
      }
      char* to = static_cast<char*>(p.result) + output * bytes;
      for (int64_t i = 0; i < inner.outputSize; ++i) {
        std::memset(to + i * inner.outputStride * bytes, 0, rowBytes);
      }
    }
  });
  return true;
}

}  // namespace

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
    if (positions == 0 || fillUntouched(services, p, domain)) continue;
    if (runDepthwise(services, p, domain)) continue;
    std::optional<bool> done = runTransposedSums(services, p, domain);
    if (!done) done = runPositionSums(services, p, domain);
    if (!done) done = runWindowConv(services, p, domain);
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
