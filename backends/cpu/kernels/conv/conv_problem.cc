// Splits a dilated convolution into plain ones.
#include "backends/cpu/kernels/conv/conv_problem.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <tuple>

namespace isthmus::cpu {
namespace {

// One residue of one dimension; offsets are added to those of the problem.
struct Phase {
  ConvAxis axis;
  int64_t kernelOffset;
  int64_t outputOffset;
};

int64_t floorMod(int64_t a, int64_t b) { return ((a % b) + b) % b; }

std::vector<Phase> phasesOf(const ConvSpatialRole& s) {
  std::vector<Phase> phases;
  const int64_t dilation = s.lhsDilation;
  // Output positions of one residue are this far apart: their first reads differ by whole steps.
  const int64_t outputStep = dilation / std::gcd(dilation, s.windowStride);
  const int64_t tapStep = dilation / std::gcd(dilation, s.rhsDilation);
  for (int64_t first = 0; first < std::min(outputStep, s.outputSize); ++first) {
    const int64_t start = first * s.windowStride - s.padLow;
    // The first tap that meets an element and not a hole.
    int64_t tap = 0;
    while (tap < tapStep && floorMod(start + tap * s.rhsDilation, dilation) != 0) ++tap;
    Phase phase{};
    ConvAxis& a = phase.axis;
    a.inputSize = s.inputSize;
    a.inputStride = s.inputStride;
    a.outputSize = (s.outputSize - first + outputStep - 1) / outputStep;
    a.outputStride = s.outputStride * outputStep;
    a.windowStride = s.windowStride * outputStep / dilation;
    phase.outputOffset = first * s.outputStride;
    if (tap < tapStep && tap < s.kernelSize) {
      a.taps = (s.kernelSize - tap + tapStep - 1) / tapStep;
      a.tapStep = s.rhsDilation * tapStep / dilation;
      a.padLow = -(start + tap * s.rhsDilation) / dilation;
      a.kernelStride = (s.isReversed ? -s.kernelStride : s.kernelStride) * tapStep;
      phase.kernelOffset = (s.isReversed ? s.kernelSize - 1 - tap : tap) * s.kernelStride;
    }
    phases.push_back(phase);
  }
  return phases;
}

}  // namespace

std::vector<ConvProblem> plainProblems(const ConvDescriptor& conv, void* const* buffers) {
  std::vector<ConvProblem> problems;
  const int64_t batch = conv.batch / conv.batchGroups;
  if (batch == 0 || conv.outputFeatures == 0) return problems;
  ConvProblem base{conv, buffers[0], buffers[1], buffers[2], 0, 0,  0,       1,      0,
                   0,    0,          0,          0,          1, {}, nullptr, nullptr};
  base.groups = std::max(conv.featureGroups, conv.batchGroups);
  base.inputFeatures = conv.inputFeatures / conv.featureGroups;
  base.outputFeatures = conv.outputFeatures / base.groups;
  base.inputGroupStride = conv.batchGroups > 1 ? batch * conv.inputBatchStride
                                               : base.inputFeatures * conv.inputFeatureStride;
  base.kernelGroupStride = base.outputFeatures * conv.kernelOutputStride;
  base.outputGroupStride = base.outputFeatures * conv.outputFeatureStride;
  base.axes[0] = {batch, conv.inputBatchStride, 1, 0, batch, conv.outputBatchStride, 1, 1, 0};
  problems.push_back(base);
  for (int d = 0; d < conv.spatialRank; ++d) {
    std::vector<Phase> phases = phasesOf(conv.spatial[d]);
    std::vector<ConvProblem> next;
    for (const ConvProblem& problem : problems) {
      for (const Phase& phase : phases) {
        next.push_back(problem);
        ConvProblem& p = next.back();
        p.axes[p.rank++] = phase.axis;
        p.kernelOffset += phase.kernelOffset;
        p.outputOffset += phase.outputOffset;
      }
    }
    problems.swap(next);
  }
  for (ConvProblem& p : problems) {
    for (ConvAxis& axis : std::span(p.axes, static_cast<size_t>(p.rank))) {
      // Of a single element, no stride is ever used; this one lets it be one of a row.
      if (axis.inputSize == 1) axis.inputStride = 1;
    }
    // An axis of a single position has the stride of another: it lies within that one.
    std::sort(p.axes, p.axes + p.rank, [](const ConvAxis& a, const ConvAxis& b) {
      return std::tie(a.outputStride, a.outputSize) > std::tie(b.outputStride, b.outputSize);
    });
  }
  return problems;
}

int axisOfMostTaps(const ConvProblem& p) {
  int most = 0;
  for (int d = 0; d + 1 < p.rank; ++d) {
    if (p.axes[d].taps >= p.axes[most].taps) most = d;
  }
  return most;
}

int64_t outputOf(const ConvProblem& p, int64_t index, int64_t* x) {
  int64_t output = p.outputOffset;
  for (int d = p.rank - 1; d-- > 0;) {
    x[d] = index % p.axes[d].outputSize;
    index /= p.axes[d].outputSize;
    output += x[d] * p.axes[d].outputStride;
  }
  return output;
}

int64_t resultSpan(const ConvProblem& p) {
  int64_t span = p.outputOffset + (p.groups - 1) * p.outputGroupStride + p.outputFeatures;
  for (int d = 0; d < p.rank; ++d) span += (p.axes[d].outputSize - 1) * p.axes[d].outputStride;
  return span;
}

bool positionsAreRows(const ConvProblem& p) {
  const ConvDescriptor& c = p.conv;
  if (c.outputFeatureStride != 1 || c.resultColumns != c.outputFeatures || p.outputOffset != 0) {
    return false;
  }
  int64_t stride = c.outputFeatures;
  for (int d = p.rank; d-- > 0;) {
    if (p.axes[d].outputSize != 1 && p.axes[d].outputStride != stride) return false;
    stride *= p.axes[d].outputSize;
  }
  return true;
}

}  // namespace isthmus::cpu
