// isthmus_rt_fft: transforms lines along one dimension after another, several lines at a time.
#include "backends/cpu/kernels/fft.h"

#include <algorithm>
#include <atomic>

#include "backends/cpu/kernels/fft_plan.h"

namespace isthmus::cpu {
namespace {

// Arrays for one group of lines, each `length` values of all lanes.
template <typename T>
struct LineMemory {
  T* re;
  T* im;
  T* spareRe;
  T* spareIm;

  // The spectra of two real lines take two values more than a complex line.
  static size_t bytes(int64_t length, int64_t lanes) {
    return 4 * static_cast<size_t>((length + 2) * lanes) * sizeof(T);
  }
  LineMemory(T* memory, int64_t length, int64_t lanes) {
    re = memory;
    im = re + (length + 2) * lanes;
    spareRe = im + (length + 2) * lanes;
    spareIm = spareRe + (length + 2) * lanes;
  }
  // Transforms; afterwards the result is in re, im.
  void transform(const FftPlan<T>& plan, bool together, bool inverse) {
    const bool moved = inverse ? plan.transform(together, im, re, spareIm, spareRe)
                               : plan.transform(together, re, im, spareRe, spareIm);
    if (moved) {
      std::swap(re, spareRe);
      std::swap(im, spareIm);
    }
  }
};

// One pass over all lines along one dimension of an array seen as [outer, length, inner].
template <typename T>
struct Pass {
  FftType type;
  const FftPlan<T>& plan;
  RunServices& services;
  const T* source;
  T* target;
  int64_t lines;
  int64_t inner;  // 1 in real transforms
  T scale;
  std::atomic<bool> outOfMemory{false};

  bool real() const { return type == FftType::kRfft || type == FftType::kIrfft; }
  const FftKernels<T> kernels = FftPlan<T>::kernels();

  // Real lines share a complex one by twos.
  int64_t groupLines(int64_t lanes) const { return real() ? 2 * lanes : lanes; }

  void operator()(int64_t begin, int64_t end, bool together) {
    const int64_t lanes = together ? kFftLanes<T> : 1;
    const int64_t length = plan.scratchLength();
    const size_t bytes = LineMemory<T>::bytes(length, lanes);
    T* memory = static_cast<T*>(services.allocateScratch(bytes));
    if (!memory) {
      outOfMemory = true;
      return;
    }
    for (int64_t group = begin; group < end; ++group) {
      LineMemory<T> m(memory, length, lanes);
      const int64_t first = group * groupLines(lanes);
      const int64_t count = std::min(groupLines(lanes), lines - first);
      if (type == FftType::kRfft) {
        loadReal(m, first, count, lanes);
        m.transform(plan, together, false);
        storeHalves(m, first, count, lanes);
      } else if (type == FftType::kIrfft) {
        loadHalves(m, first, count, lanes);
        m.transform(plan, together, true);
        storeReal(m, first, count, lanes);
      } else {
        loadComplex(m, first, count, lanes);
        m.transform(plan, together, type == FftType::kIfft);
        storeComplex(m, first, count, lanes);
      }
    }
    services.freeScratch(memory, bytes);
  }

  int64_t lineOffset(int64_t line) const {
    return line / inner * plan.length() * inner + line % inner;
  }
  bool isWhole(int64_t count, int64_t lanes) const {
    return lanes > 1 && count == groupLines(lanes);
  }
  // Whether the kernels can move these lines: all lanes, and lines beside or behind each other.
  bool areRegular(int64_t first, int64_t count, int64_t lanes) const {
    return isWhole(count, lanes) && (inner == 1 || first % inner + count <= inner);
  }
  int64_t lineStride() const { return inner == 1 ? plan.length() : 1; }

  void loadComplex(const LineMemory<T>& m, int64_t first, int64_t count, int64_t lanes) const {
    if (areRegular(first, count, lanes)) {
      return kernels.loadLines(source + 2 * lineOffset(first), lineStride(), inner, plan.length(),
                               m.re, m.im);
    }
    for (int64_t l = 0; l < lanes; ++l) {
      const T* line = l < count ? source + 2 * lineOffset(first + l) : nullptr;
      for (int64_t k = 0; k < plan.length(); ++k) {
        m.re[k * lanes + l] = line ? line[2 * k * inner] : T(0);
        m.im[k * lanes + l] = line ? line[2 * k * inner + 1] : T(0);
      }
    }
  }
  void storeComplex(const LineMemory<T>& m, int64_t first, int64_t count, int64_t lanes) const {
    if (areRegular(first, count, lanes)) {
      return kernels.storeLines(m.re, m.im, scale, plan.length(), target + 2 * lineOffset(first),
                                lineStride(), inner);
    }
    for (int64_t l = 0; l < count; ++l) {
      T* line = target + 2 * lineOffset(first + l);
      for (int64_t k = 0; k < plan.length(); ++k) {
        line[2 * k * inner] = m.re[k * lanes + l] * scale;
        line[2 * k * inner + 1] = m.im[k * lanes + l] * scale;
      }
    }
  }

  // Lines 2 l and 2 l + 1 as real and imaginary part of lane l.
  void loadReal(const LineMemory<T>& m, int64_t first, int64_t count, int64_t lanes) const {
    const int64_t n = plan.length();
    if (isWhole(count, lanes)) {
      kernels.loadReal(source + first * n, 2 * n, n, m.re);
      kernels.loadReal(source + (first + 1) * n, 2 * n, n, m.im);
      return;
    }
    for (int64_t l = 0; l < 2 * lanes; ++l) {
      T* part = (l % 2 ? m.im : m.re) + l / 2;
      const T* line = l < count ? source + (first + l) * n : nullptr;
      for (int64_t k = 0; k < n; ++k) part[k * lanes] = line ? line[k] : T(0);
    }
  }
  void storeReal(const LineMemory<T>& m, int64_t first, int64_t count, int64_t lanes) const {
    const int64_t n = plan.length();
    if (isWhole(count, lanes)) {
      kernels.storeReal(m.re, scale, n, target + first * n, 2 * n);
      kernels.storeReal(m.im, scale, n, target + (first + 1) * n, 2 * n);
      return;
    }
    for (int64_t l = 0; l < count; ++l) {
      const T* part = (l % 2 ? m.im : m.re) + l / 2;
      T* line = target + (first + l) * n;
      for (int64_t k = 0; k < n; ++k) line[k] = part[k * lanes] * scale;
    }
  }

  // The spectra of two real lines a and b from that of a + i b.
  void storeHalves(const LineMemory<T>& m, int64_t first, int64_t count, int64_t lanes) const {
    const int64_t n = plan.length(), half = n / 2 + 1;
    if (isWhole(count, lanes)) {
      T *aRe = m.spareRe, *aIm = m.spareIm, *bRe = aRe + half * lanes, *bIm = aIm + half * lanes;
      kernels.splitSpectra(n, m.re, m.im, aRe, aIm, bRe, bIm);
      T* lines = target + 2 * first * half;
      kernels.storeLines(aRe, aIm, scale, half, lines, 2 * half, 1);
      kernels.storeLines(bRe, bIm, scale, half, lines + 2 * half, 2 * half, 1);
      return;
    }
    for (int64_t l = 0; l < count; l += 2) {
      T* a = target + 2 * (first + l) * half;
      T* b = l + 1 < count ? a + 2 * half : nullptr;
      for (int64_t k = 0; k < half; ++k) {
        const int64_t at = k * lanes + l / 2, mirrored = (k == 0 ? 0 : n - k) * lanes + l / 2;
        const T re = m.re[at], im = m.im[at], mirroredRe = m.re[mirrored],
                mirroredIm = m.im[mirrored];
        a[2 * k] = (re + mirroredRe) * T(0.5) * scale;
        a[2 * k + 1] = (im - mirroredIm) * T(0.5) * scale;
        if (!b) continue;
        b[2 * k] = (im + mirroredIm) * T(0.5) * scale;
        b[2 * k + 1] = (mirroredRe - re) * T(0.5) * scale;
      }
    }
  }
  void loadHalves(const LineMemory<T>& m, int64_t first, int64_t count, int64_t lanes) const {
    const int64_t n = plan.length(), half = n / 2 + 1;
    for (int64_t l = 0; l < 2 * lanes; l += 2) {
      const T* a = l < count ? source + 2 * (first + l) * half : nullptr;
      const T* b = l + 1 < count ? a + 2 * half : nullptr;
      for (int64_t k = 0; k < half; ++k) {
        const bool isReal = k == 0 || 2 * k == n;
        const T aRe = a ? a[2 * k] : T(0), aIm = a && !isReal ? a[2 * k + 1] : T(0);
        const T bRe = b ? b[2 * k] : T(0), bIm = b && !isReal ? b[2 * k + 1] : T(0);
        m.re[k * lanes + l / 2] = aRe - bIm;
        m.im[k * lanes + l / 2] = aIm + bRe;
        if (k > 0) {
          m.re[(n - k) * lanes + l / 2] = aRe + bIm;
          m.im[(n - k) * lanes + l / 2] = bRe - aIm;
        }
      }
    }
  }
};

template <typename T>
bool runPass(RunServices& services, FftType type, int64_t n, const T* source, T* target,
             int64_t lines, int64_t inner, double scale) {
  auto plan = FftPlan<T>::get(n);
  Pass<T> pass{type, *plan, services, source, target, lines, inner, static_cast<T>(scale)};
  struct Context {
    Pass<T>& pass;
    bool together;
  };
  // One line alone is not worth filling lanes with zeros for.
  const bool together = lines > (pass.real() ? 2 : 1);
  const int64_t perGroup = pass.groupLines(together ? kFftLanes<T> : 1);
  const int64_t groups = (lines + perGroup - 1) / perGroup;
  Context context{pass, together};
  if (groups < 2 || groups * perGroup * n < 8192) {
    pass(0, groups, together);
  } else {
    services.parallelFor(
        groups, std::max<int64_t>(1, 4096 / (perGroup * n)),
        [](void* data, int64_t begin, int64_t end) {
          auto* c = static_cast<Context*>(data);
          c->pass(begin, end, c->together);
        },
        &context);
  }
  return !pass.outOfMemory;
}

template <typename T>
bool runFft(RunServices& services, const FftDescriptor& d, const T* operand, T* result) {
  const int last = d.rank - 1;
  double scale = 1;
  if (d.type == FftType::kIfft || d.type == FftType::kIrfft) {
    for (int i = 0; i < d.rank; ++i) scale /= static_cast<double>(d.lengths[i]);
  }
  // Sizes of the complex array along the transformed dimensions.
  int64_t sizes[kMaxFftRank], outer = d.batch;
  for (int i = 0; i < d.rank; ++i) {
    sizes[i] = d.lengths[i];
    if (i == last && (d.type == FftType::kRfft || d.type == FftType::kIrfft)) {
      sizes[i] = d.lengths[i] / 2 + 1;
    }
  }
  for (int i = 0; i < last; ++i) outer *= sizes[i];
  // Passes along all dimensions but the last, in place from the second on.
  auto leading = [&](FftType type, const T* from, T* to, double lastScale) {
    int64_t total = d.batch;
    for (int i = 0; i < d.rank; ++i) total *= sizes[i];
    int64_t inner = 1;
    for (int i = d.rank; i-- > 0;) {
      if (i < last) {
        if (!runPass<T>(services, type, sizes[i], from, to, total / sizes[i], inner,
                        i == 0 ? lastScale : 1.0)) {
          return false;
        }
        from = to;
      }
      inner *= sizes[i];
    }
    return true;
  };
  switch (d.type) {
    case FftType::kFft:
    case FftType::kIfft:
      return runPass<T>(services, d.type, d.lengths[last], operand, result, outer, 1,
                        d.rank == 1 ? scale : 1.0) &&
             leading(d.type, result, result, scale);
    case FftType::kRfft:
      return runPass<T>(services, d.type, d.lengths[last], operand, result, outer, 1, 1.0) &&
             leading(FftType::kFft, result, result, 1.0);
    case FftType::kIrfft: {
      if (d.rank == 1) {
        return runPass<T>(services, d.type, d.lengths[last], operand, result, outer, 1, scale);
      }
      const size_t bytes = static_cast<size_t>(outer * sizes[last]) * 2 * sizeof(T);
      T* scratch = static_cast<T*>(services.allocateScratch(bytes));
      if (!scratch) return false;
      bool done = leading(FftType::kIfft, operand, scratch, 1.0) &&
                  runPass<T>(services, d.type, d.lengths[last], scratch, result, outer, 1, scale);
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
