// Depthwise convolution (and its gradients): sums over taps of vectors of features.
#include <algorithm>
#include <atomic>

#include "backends/cpu/kernels/conv/conv_problem.h"
#include "backends/cpu/kernels/conv/depthwise_kernels.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/parallel_for.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

SumOfProducts chooseKernel(ElementType type) {
  if (type == ElementType::kBF16) {
    return forHost(v2::sumOfProductsBf16, v3::sumOfProductsBf16, v4::sumOfProductsBf16)();
  }
  if (type == ElementType::kF64)
    return forHost(v2::sumOfProductsF64, v3::sumOfProductsF64, v4::sumOfProductsF64)();
  return forHost(v2::sumOfProductsF32, v3::sumOfProductsF32, v4::sumOfProductsF32)();
}

struct Job {
  const ConvProblem& p;
  SumOfProducts kernel;
  RunServices& services;
  int64_t bytes;
  // Tasks are (position, block of features): blocks only where positions are too few.
  int64_t featureBlocks;
  int64_t blockFeatures;
  std::atomic<bool> outOfMemory{false};

  // Lists the terms of an output position: one per tap inside the input and per input feature (the
  // contraction over the batch in gradients with respect to the kernel).
  int64_t terms(const int64_t* x, int64_t* input, int64_t* kernel) const {
    int64_t inputTaps[1] = {p.inputOffset};
    int64_t count = 1;
    input[0] = inputTaps[0];
    kernel[0] = p.kernelOffset;
    for (int d = 0; d < p.rank; ++d) {
      const ConvAxis& a = p.axes[d];
      const int64_t start = x[d] * a.windowStride - a.padLow;
      const int64_t first =
          start >= 0 ? 0 : (-start + a.tapStep - 1) / std::max<int64_t>(a.tapStep, 1);
      int64_t last = a.taps;  // one past the last tap inside
      if (start >= a.inputSize)
        last = 0;
      else if (a.tapStep > 0)
        last = std::min(last, (a.inputSize - 1 - start) / a.tapStep + 1);
      if (last <= first) return 0;
      // Expanded from the back, so that each entry is read before it is overwritten.
      const int64_t width = last - first;
      for (int64_t i = count; i-- > 0;) {
        const int64_t inputBase = input[i], kernelBase = kernel[i];
        for (int64_t w = width; w-- > 0;) {
          const int64_t tap = first + w;
          input[i * width + w] = inputBase + (start + tap * a.tapStep) * a.inputStride;
          kernel[i * width + w] = kernelBase + tap * a.kernelStride;
        }
      }
      count *= width;
    }
    for (int64_t i = count; i-- > 0;) {
      const int64_t inputBase = input[i], kernelBase = kernel[i];
      for (int64_t f = p.inputFeatures; f-- > 0;) {
        input[i * p.inputFeatures + f] = inputBase + f * p.conv.inputFeatureStride;
        kernel[i * p.inputFeatures + f] = kernelBase + f * p.conv.kernelInputStride;
      }
    }
    return count * p.inputFeatures;
  }

  void operator()(int64_t begin, int64_t end) {
    const int64_t entries = std::max<int64_t>(1, p.taps() * p.inputFeatures);
    Scratch<int64_t> memory(services, 2 * entries);
    if (!memory) {
      outOfMemory = true;
      return;
    }
    int64_t* input = memory.data();
    int64_t* weights = input + entries;
    int64_t x[kMaxConvAxes];
    for (int64_t task = begin; task < end; ++task) {
      int64_t rest = task / featureBlocks;
      const int64_t feature = task % featureBlocks * blockFeatures;
      int64_t output = p.outputOffset + feature;
      for (int d = p.rank; d-- > 0;) {
        x[d] = rest % p.axes[d].outputSize;
        rest /= p.axes[d].outputSize;
        output += x[d] * p.axes[d].outputStride;
      }
      const int64_t count = terms(x, input, weights);
      kernel(static_cast<const char*>(p.lhs) + feature * bytes, input,
             static_cast<const char*>(p.rhs) + feature * bytes, weights, count,
             static_cast<char*>(p.result) + output * bytes,
             std::min(blockFeatures, p.groups - feature));
      if (p.epilogue) {
        const int64_t row = task / featureBlocks;
        p.epilogue(p.epilogueBuffers, row, row + 1, feature,
                   std::min(p.groups, feature + blockFeatures));
      }
    }
  }
};

ElementType depthwiseType(const ConvDescriptor& c, GemmDomain domain) {
  const bool isBf16 = domain == GemmDomain::kF32 && c.lhsType == ElementType::kBF16;
  return isBf16 ? c.lhsType : floatTypeOf(domain);
}

}  // namespace

const char* depthwiseRefusal(const ConvProblem& p, GemmDomain domain, Asked asked) {
  const ConvDescriptor& c = p.conv;
  const ElementType type = depthwiseType(c, domain);
  if (c.lhsType != type || c.rhsType != type || c.resultType != type) return "mixed types";
  if (asked == Asked::kWhetherItSuits && p.groups < 4) return "few groups";
  if (p.outputFeatures != 1) return "several features of a group";
  if (p.inputGroupStride != 1 || p.kernelGroupStride != 1 || p.outputGroupStride != 1) {
    return "features lie apart";
  }
  // Feature groups with several input features each are matrix products; the features of batch
  // groups are the batch that a gradient sums over.
  if (c.batchGroups == 1 && p.inputFeatures != 1) return "several features of a group";
  if (asked == Asked::kWhetherItSuits && c.batchGroups == 1 && p.groups % 16 != 0 &&
      windowsAreFiltered(p, domain)) {
    return "features do not fill vectors";
  }
  // Each task lists its terms: too many would not fit the caches.
  return p.taps() * p.inputFeatures > (1 << 20) ? "many terms" : nullptr;
}

bool runDepthwise(RunServices& services, const ConvProblem& p, GemmDomain domain) {
  const ElementType type = depthwiseType(p.conv, domain);
  Job job{p, chooseKernel(type), services, static_cast<int64_t>(storageBytes(type)), 1, p.groups};
  const int64_t positions = p.positions();
  const double work = static_cast<double>(positions) * static_cast<double>(p.groups) *
                      static_cast<double>(p.taps() * p.inputFeatures);
  const int threads = services.numThreads();
  if (threads == 1 || !worthThreads(2 * work)) {
    job(0, positions);
    return !job.outOfMemory;
  }
  if (positions < 4 * threads) {
    job.blockFeatures = std::clamp<int64_t>(p.groups / (4 * threads) / 32 * 32, 32, p.groups);
    if (p.groups < 32) job.blockFeatures = p.groups;
    job.featureBlocks = (p.groups + job.blockFeatures - 1) / job.blockFeatures;
  }
  const int64_t tasks = positions * job.featureBlocks;
  parallelFor(services, tasks, std::max<int64_t>(1, tasks / (16 * threads)), job);
  return !job.outOfMemory;
}

}  // namespace isthmus::cpu
