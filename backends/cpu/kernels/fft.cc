// isthmus_rt_fft: transforms lines along one dimension after another, several lines at a time.
#include "backends/cpu/kernels/fft.h"

#include <algorithm>
#include <atomic>

#include "backends/cpu/kernels/fft_plan.h"
#include "backends/cpu/kernels/fft_real_plan.h"

namespace isthmus::cpu {
namespace {

// A pass over all lines along one dimension of an array seen as [outer, length, inner]: what its
// kinds share. A group of lines is transformed together.
template <typename T>
struct Lines {
  RunServices& services;
  const T* source;
  T* target;
  int64_t count;
  int64_t length;
  int64_t inner;  // 1 in real transforms
  T scale;
  std::atomic<bool> outOfMemory{false};

  const FftKernels<T> kernels = FftPlan<T>::kernels();

  // Memory for groups of `values` values per line.
  template <typename Group>
  void forGroups(int64_t begin, int64_t end, bool together, int64_t values, Group group) {
    const int64_t lanes = together ? kFftLanes<T> : 1;
    const size_t bytes = static_cast<size_t>(values * lanes) * sizeof(T);
    T* memory = static_cast<T*>(services.allocateScratch(bytes));
    if (!memory) {
      outOfMemory = true;
      return;
    }
    for (int64_t g = begin; g < end; ++g) {
      group(memory, g * lanes, std::min(lanes, count - g * lanes), lanes);
    }
    services.freeScratch(memory, bytes);
  }
};

template <typename T>
struct ComplexPass : Lines<T> {
  bool inverse;
  // Whole groups and lines alone, see FftOrder.
  std::shared_ptr<const FftPlan<T>> grouped, alone;

  void operator()(int64_t begin, int64_t end, bool together) {
    const int64_t length = std::max(grouped->scratchLength(), alone->scratchLength());
    this->forGroups(begin, end, together, 4 * length,
                    [&](T* memory, int64_t first, int64_t lines, int64_t lanes) {
                      T *re = memory, *im = re + length * lanes, *spareRe = im + length * lanes,
                        *spareIm = spareRe + length * lanes;
                      load(re, im, first, lines, lanes);
                      const auto& plan = lines == kFftLanes<T> ? grouped : alone;
                      if (plan->transform(together, inverse, re, im, spareRe, spareIm)) {
                        re = spareRe, im = spareIm;
                      }
                      store(re, im, first, lines, lanes);
                    });
  }

  int64_t lineOffset(int64_t line) const {
    return line / this->inner * this->length * this->inner + line % this->inner;
  }
  int64_t lineStride() const { return this->inner == 1 ? this->length : 1; }
  // Whether the kernels can move these lines: all lanes, and lines beside or behind each other.
  bool areRegular(int64_t first, int64_t lines, int64_t lanes) const {
    return lanes > 1 && lines == lanes &&
           (this->inner == 1 || first % this->inner + lines <= this->inner);
  }

  void load(T* re, T* im, int64_t first, int64_t lines, int64_t lanes) const {
    const int64_t n = this->length, inner = this->inner;
    if (areRegular(first, lines, lanes)) {
      return this->kernels.loadLines(this->source + 2 * lineOffset(first), lineStride(), inner, n,
                                     re, im);
    }
    for (int64_t l = 0; l < lanes; ++l) {
      const T* line = l < lines ? this->source + 2 * lineOffset(first + l) : nullptr;
      for (int64_t k = 0; k < n; ++k) {
        re[k * lanes + l] = line ? line[2 * k * inner] : T(0);
        im[k * lanes + l] = line ? line[2 * k * inner + 1] : T(0);
      }
    }
  }
  void store(const T* re, const T* im, int64_t first, int64_t lines, int64_t lanes) const {
    const int64_t n = this->length, inner = this->inner;
    if (areRegular(first, lines, lanes)) {
      return this->kernels.storeLines(re, im, this->scale, n, this->target + 2 * lineOffset(first),
                                      lineStride(), inner);
    }
    for (int64_t l = 0; l < lines; ++l) {
      T* line = this->target + 2 * lineOffset(first + l);
      for (int64_t k = 0; k < n; ++k) {
        line[2 * k * inner] = re[k * lanes + l] * this->scale;
        line[2 * k * inner + 1] = im[k * lanes + l] * this->scale;
      }
    }
  }
};

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

template <typename T, typename Pass>
bool run(RunServices& services, Pass& pass) {
  struct Context {
    Pass& pass;
    bool together;
  };
  // One line alone is not worth filling lanes with zeros for.
  const bool together = pass.count > 1;
  const int64_t lanes = together ? kFftLanes<T> : 1;
  const int64_t groups = (pass.count + lanes - 1) / lanes;
  Context context{pass, together};
  if (groups < 2 || groups * lanes * pass.length < 8192) {
    pass(0, groups, together);
  } else {
    services.parallelFor(
        groups, std::max<int64_t>(1, 4096 / (lanes * pass.length)),
        [](void* data, int64_t begin, int64_t end) {
          auto* c = static_cast<Context*>(data);
          c->pass(begin, end, c->together);
        },
        &context);
  }
  return !pass.outOfMemory;
}

template <typename T>
bool runComplex(RunServices& services, bool inverse, int64_t n, const T* source, T* target,
                int64_t lines, int64_t inner, double scale) {
  auto alone = FftPlan<T>::get(n, FftOrder::kAlone);
  // DUCC takes lines alone that would not fit in its part of the cache together.
  constexpr int64_t kCacheBytes = 512 << 10;
  const int64_t together = inner == 1 ? 2 * kFftLanes<T> + 1 : 3;
  const bool fits = n <= kCacheBytes / static_cast<int64_t>(2 * sizeof(T)) / together;
  auto grouped = fits ? FftPlan<T>::get(n, FftOrder::kGrouped) : alone;
  ComplexPass<T> pass{
      {services, source, target, lines, n, inner, static_cast<T>(scale)}, inverse, grouped, alone};
  return run<T>(services, pass);
}

template <typename T>
bool runReal(RunServices& services, bool inverse, int64_t n, const T* source, T* target,
             int64_t lines, double scale) {
  RealPass<T> pass{{services, source, target, lines, n, 1, static_cast<T>(scale)},
                   inverse,
                   RealFftPlan<T>::get(n)};
  return run<T>(services, pass);
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
      return along(d.rank, operand, result, scale);
    case FftType::kRfft:
      return runReal<T>(services, false, n, operand, result, realLines, 1.0) &&
             along(last, result, result, 1.0);
    case FftType::kIrfft: {
      if (d.rank == 1) return runReal<T>(services, true, n, operand, result, realLines, scale);
      const size_t bytes = static_cast<size_t>(total) * 2 * sizeof(T);
      T* scratch = static_cast<T*>(services.allocateScratch(bytes));
      if (!scratch) return false;
      const bool done = along(last, operand, scratch, 1.0) &&
                        runReal<T>(services, true, n, scratch, result, realLines, scale);
      services.freeScratch(scratch, bytes);
      return done;
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
    if (type == FftType::kIrfft && i + 1 == fftLength.size()) {
      expected = fftLength[i] == 0 ? 0 : fftLength[i] / 2 + 1;
    }
    if (operandDims[leading + i] != expected || fftLength[i] < 0) {
      return invalidArgument("fft: operand dimension ", leading + i, " has size ",
                             operandDims[leading + i], ", expected ", expected);
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
