// isthmus_rt_fft: transforms lines along one dimension after another, several lines at a time.
#include "backends/cpu/kernels/fft/fft.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "backends/cpu/kernels/fft/fft_long.h"
#include "backends/cpu/kernels/fft/fft_pass.h"
#include "backends/cpu/kernels/fft/fft_real_plan.h"
#include "backends/cpu/kernels/parallel_for.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

// Lines of real values and of n / 2 + 1 complex ones, along the last dimension.
template <typename T>
struct RealPass : Lines<T> {
  bool inverse;
  std::shared_ptr<const RealFftPlan<T>> plan;

  // Complex lines are half spectra as the kernels have them, with imaginary parts of 0 behind the
  // first value and, for even n, the last: seen from one value earlier, only the first differs.
  void operator()(int64_t begin, int64_t end, bool together) {
    const int64_t n = this->length, parts = 2 * (n / 2 + 1);
    this->forGroups(begin, end, together, n + 2 + plan->workLength(),
                    [&](T* memory, int64_t first, int64_t lines, int64_t lanes) {
                      T* values = memory + lanes;
                      T* work = memory + (n + 2) * lanes;
                      if (inverse) {
                        load(memory, parts, first, lines, lanes);
                        std::copy_n(memory, lanes, values);
                        T* result = plan->transform(together, true, values, work);
                        store(result, n, first, lines, lanes);
                      } else {
                        load(values, n, first, lines, lanes);
                        T* result = plan->transform(together, false, values, work);
                        std::copy_n(result, lanes, result - lanes);
                        std::fill_n(result, lanes, T(0));
                        if (n % 2 == 0) std::fill_n(result + n * lanes, lanes, T(0));
                        store(result - lanes, parts, first, lines, lanes);
                      }
                    });
  }

  void load(T* values, int64_t n, int64_t first, int64_t lines, int64_t lanes) const {
    const T* source = this->source + first * n;
    if (lanes > 1 && lines == lanes) return this->kernels.loadReal(source, n, n, values);
    for (int64_t l = 0; l < lanes; ++l) {
      for (int64_t k = 0; k < n; ++k) values[k * lanes + l] = l < lines ? source[l * n + k] : T(0);
    }
  }
  void store(const T* values, int64_t n, int64_t first, int64_t lines, int64_t lanes) const {
    T* target = this->target + first * n;
    if (lanes > 1 && lines == lanes) {
      return this->kernels.storeReal(values, this->scale, n, target, n);
    }
    for (int64_t l = 0; l < lines; ++l) {
      for (int64_t k = 0; k < n; ++k) target[l * n + k] = values[k * lanes + l] * this->scale;
    }
  }
};

// Transforms along the last dimension of long lines: many side by side, few one after the other by
// all threads; nothing if they are not long.
template <typename T>
std::optional<bool> runLong(RunServices& services, FftType type, int64_t n, const T* source,
                            T* target, int64_t lines, double scale) {
  std::shared_ptr<const LongFft<T>> plan = LongFft<T>::get(type, n, lines);
  if (!plan) return std::nullopt;
  const int64_t half = 2 * (n / 2 + 1);
  const int64_t from = type == FftType::kRfft ? n : type == FftType::kIrfft ? half : 2 * n;
  const int64_t to = type == FftType::kRfft ? half : type == FftType::kIrfft ? n : 2 * n;
  std::atomic<bool> outOfMemory{false};
  auto transform = [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end && !outOfMemory; ++line) {
      if (!plan->run(services, type, source + line * from, target + line * to,
                     static_cast<T>(scale))) {
        outOfMemory = true;
      }
    }
  };
  if (lines >= 2 * services.numThreads()) {
    parallelFor(services, lines, 1, transform);
  } else {
    transform(0, lines);
  }
  return !outOfMemory;
}

template <typename T>
bool runReal(RunServices& services, bool inverse, int64_t n, const T* source, T* target,
             int64_t lines, double scale) {
  const FftType type = inverse ? FftType::kIrfft : FftType::kRfft;
  if (auto done = runLong<T>(services, type, n, source, target, lines, scale)) return *done;
  RealPass<T> pass{{services, source, target, lines, n, 1, static_cast<T>(scale)},
                   inverse,
                   RealFftPlan<T>::get(n)};
  return runPass<T>(services, pass);
}

template <typename T>
bool runFft(RunServices& services, const FftDescriptor& d, const T* operand, T* result) {
  const int last = d.rank - 1;
  const bool isReal = d.type == FftType::kRfft || d.type == FftType::kIrfft;
  const bool inverse = d.type == FftType::kIfft || d.type == FftType::kIrfft;
  // Sizes of the complex array along the transformed dimensions.
  int64_t sizes[kMaxFftRank], total = d.batch;
  double points = 1;
  for (int i = 0; i < d.rank; ++i) {
    points *= static_cast<double>(d.lengths[i]);
    sizes[i] = isReal && i == last ? d.lengths[i] / 2 + 1 : d.lengths[i];
    total *= sizes[i];
  }
  const double scale = inverse ? 1 / points : 1;
  auto inner = [&](int dimension) {
    int64_t product = 1;
    for (int i = dimension + 1; i < d.rank; ++i) product *= sizes[i];
    return product;
  };
  // Complex passes along the first `count` dimensions. The first pass scales.
  auto along = [&](int count, const T* from, T* to, double factor) {
    int order[kMaxFftRank] = {0, 1, 2};
    // A pass that need not be in place starts with contiguous lines.
    for (int i = 1; i < count && from != result; ++i) {
      if (inner(i) == 1) {
        std::swap(order[0], order[i]);
        break;
      }
    }
    for (int i = 0; i < count; ++i) {
      const int64_t n = sizes[order[i]];
      if (!runComplex<T>(services, inverse, n, i ? to : from, to, total / n, inner(order[i]),
                         i ? 1.0 : factor)) {
        return false;
      }
    }
    return true;
  };
  const int64_t realLines = total / sizes[last], n = d.lengths[last];
  switch (d.type) {
    case FftType::kFft:
    case FftType::kIfft:
      if (d.rank == 1) {
        if (auto done = runLong<T>(services, d.type, n, operand, result, d.batch, scale)) {
          return *done;
        }
      }
      return along(d.rank, operand, result, scale);
    case FftType::kRfft:
      return runReal<T>(services, false, n, operand, result, realLines, 1.0) &&
             along(last, result, result, 1.0);
    case FftType::kIrfft: {
      if (d.rank == 1) return runReal<T>(services, true, n, operand, result, realLines, scale);
      Scratch<T> scratch(services, 2 * total);
      return scratch && along(last, operand, scratch.data(), 1.0) &&
             runReal<T>(services, true, n, scratch.data(), result, realLines, scale);
    }
  }
  return false;
}

}  // namespace

StatusOr<FftDescriptor> makeFftDescriptor(FftType type, ElementType operandType,
                                          std::span<const int64_t> operandDims,
                                          std::span<const int64_t> fftLength) {
  const bool fromReal = type == FftType::kRfft;
  const ElementType single = fromReal ? ElementType::kF32 : ElementType::kC64;
  const ElementType wide = fromReal ? ElementType::kF64 : ElementType::kC128;
  if (operandType != single && operandType != wide) {
    return invalidArgument("fft: got an operand of element type ", static_cast<int>(operandType),
                           ", expected ", fromReal ? "f32 or f64" : "complex<f32> or complex<f64>");
  }
  if (fftLength.empty() || fftLength.size() > kMaxFftRank ||
      fftLength.size() > operandDims.size()) {
    return invalidArgument("fft: got ", fftLength.size(), " lengths for an operand of rank ",
                           operandDims.size(), ", expected 1 to 3");
  }
  FftDescriptor d{};
  d.type = type;
  d.isDouble = operandType == wide;
  d.rank = static_cast<int32_t>(fftLength.size());
  d.batch = 1;
  const size_t leading = operandDims.size() - fftLength.size();
  for (size_t i = 0; i < leading; ++i) d.batch *= operandDims[i];
  for (size_t i = 0; i < fftLength.size(); ++i) {
    d.lengths[i] = fftLength[i];
    int64_t expected = fftLength[i];
    const int64_t size = operandDims[leading + i];
    if (type == FftType::kIrfft && i + 1 == fftLength.size()) {
      // Nothing is made of either no complex value or one.
      expected = fftLength[i] == 0 ? std::clamp<int64_t>(size, 0, 1) : fftLength[i] / 2 + 1;
    }
    if (size != expected || fftLength[i] < 0) {
      return invalidArgument("fft: operand dimension ", leading + i, " has size ", size,
                             ", expected ", expected);
    }
  }
  return d;
}

extern "C" int32_t isthmus_rt_fft(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  const auto& d = *static_cast<const FftDescriptor*>(descriptor);
  if (d.batch == 0) return 0;
  for (int i = 0; i < d.rank; ++i) {
    if (d.lengths[i] == 0) return 0;
  }
  bool done = d.isDouble ? runFft<double>(*run->services, d, static_cast<const double*>(buffers[0]),
                                          static_cast<double*>(buffers[1]))
                         : runFft<float>(*run->services, d, static_cast<const float*>(buffers[0]),
                                         static_cast<float*>(buffers[1]));
  if (!done) return fail(run, resourceExhausted("fft: no scratch memory"));
  return 0;
}

}  // namespace isthmus::cpu
