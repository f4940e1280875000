// Factors, solutions, transforms and normalisations, in long double and by their definitions.
#include <cmath>
#include <complex>

#include "compiler/reference/evaluators/evaluators.h"

namespace isthmus::reference {
namespace {

using Complex = std::complex<long double>;

Complex numberAt(const Tensor& tensor, int64_t position) {
  Scalar value = tensor.get(position);
  return {value.re, value.im};
}

void setNumber(Tensor& tensor, int64_t position, const Complex& value) {
  Scalar scalar;
  scalar.re = static_cast<double>(value.real());
  scalar.im = static_cast<double>(value.imag());
  tensor.set(position, scalar);
}

constexpr long double kPi = 3.141592653589793238462643383279502884L;

// Transforms all lines along `axis`; `sign` is -1 forwards and +1, with a division, backwards.
Status transform(Call& call, std::vector<Complex>& values, const Dims& dims, size_t axis,
                 int sign) {
  int64_t length = dims[axis];
  Dims lines = dims;
  lines[axis] = 1;
  int64_t stride = 1;
  for (size_t d = axis + 1; d < dims.size(); ++d) stride *= dims[d];
  std::vector<Complex> roots;
  for (int64_t k = 0; k < length; ++k) {
    roots.push_back(std::polar(
        1.0L, sign * 2 * kPi * static_cast<long double>(k) / static_cast<long double>(length)));
  }
  return forEachIndex(lines, [&](const Index& index, int64_t) -> Status {
    ISTHMUS_RETURN_IF_ERROR(call.charge(length * length));
    int64_t first = positionOf(dims, index);
    auto at = [&](int64_t i) -> Complex& {
      return values[static_cast<size_t>(first + i * stride)];
    };
    std::vector<Complex> sums(static_cast<size_t>(length));
    for (int64_t k = 0; k < length; ++k) {
      for (int64_t n = 0; n < length; ++n) {
        sums[static_cast<size_t>(k)] += at(n) * roots[static_cast<size_t>(k * n % length)];
      }
    }
    for (int64_t k = 0; k < length; ++k) {
      at(k) = sign > 0 ? sums[static_cast<size_t>(k)] / static_cast<long double>(length)
                       : sums[static_cast<size_t>(k)];
    }
    return {};
  });
}

Status setAll(Call& call, const std::vector<Complex>& values, Dims dims) {
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(call.resultElementType(), std::move(dims)));
  for (int64_t i = 0; i < result.size(); ++i) {
    setNumber(result, i, values[static_cast<size_t>(i)]);
  }
  call.results.push_back(std::move(result));
  return {};
}

// Statistics over all dimensions but one.
class Features {
 public:
  Features(const Tensor& operand, int64_t index) : dims_(operand.dims()) {
    count_ = operand.dim(index);
    for (size_t d = static_cast<size_t>(index) + 1; d < dims_.size(); ++d) inner_ *= dims_[d];
    perFeature_ = count_ == 0 ? 0 : operand.size() / count_;
  }
  int64_t count() const { return count_; }
  long double perFeature() const { return static_cast<long double>(perFeature_); }
  int64_t of(int64_t position) const { return position / inner_ % count_; }

  template <typename Term>
  std::vector<long double> sum(int64_t size, Term term) const {
    std::vector<long double> sums(static_cast<size_t>(count_), 0);
    for (int64_t i = 0; i < size; ++i) sums[static_cast<size_t>(of(i))] += term(i);
    return sums;
  }

 private:
  Dims dims_;
  int64_t count_ = 0;
  int64_t inner_ = 1;
  int64_t perFeature_ = 0;
};

Status giveVector(Call& call, const std::vector<long double>& values, ElementType type) {
  ISTHMUS_ASSIGN_OR_RETURN(Tensor tensor, call.make(type, {static_cast<int64_t>(values.size())}));
  for (size_t i = 0; i < values.size(); ++i) {
    tensor.set(static_cast<int64_t>(i), scalars::makeFloat(static_cast<double>(values[i])));
  }
  call.results.push_back(std::move(tensor));
  return {};
}

}  // namespace

Status evaluateFft(Call& call) {
  auto op = llvm::cast<shlo::FftOp>(call.op);
  const Tensor& x = call.tensor(0);
  llvm::ArrayRef<int64_t> lengths = op.getFftLength();
  Dims dims = x.dims();
  size_t first = dims.size() - lengths.size();
  size_t last = dims.size() - 1;
  std::vector<Complex> values;
  for (int64_t i = 0; i < x.size(); ++i) values.push_back(numberAt(x, i));
  bool isForward = op.getFftType() == shlo::FftType::FFT || op.getFftType() == shlo::FftType::RFFT;
  bool isReal = op.getFftType() == shlo::FftType::RFFT || op.getFftType() == shlo::FftType::IRFFT;
  if (isForward) {
    for (size_t axis = first; axis <= last; ++axis) {
      ISTHMUS_RETURN_IF_ERROR(transform(call, values, dims, axis, -1));
    }
    if (!isReal) return setAll(call, values, dims);
    // The second half of each line says nothing new.
    Dims kept = dims;
    kept[last] = dims[last] == 0 ? 0 : dims[last] / 2 + 1;
    std::vector<Complex> half;
    ISTHMUS_RETURN_IF_ERROR(forEachIndex(kept, [&](const Index& index, int64_t) -> Status {
      half.push_back(values[static_cast<size_t>(positionOf(dims, index))]);
      return {};
    }));
    return setAll(call, half, kept);
  }
  for (size_t axis = first; axis < last; ++axis) {
    ISTHMUS_RETURN_IF_ERROR(transform(call, values, dims, axis, 1));
  }
  if (isReal) {
    // The other half of each line is the conjugate, from the end.
    Dims full = dims;
    full[last] = lengths.back();
    ISTHMUS_RETURN_IF_ERROR(call.make(ElementType::kC128, full).status());
    std::vector<Complex> restored;
    ISTHMUS_RETURN_IF_ERROR(forEachIndex(full, [&](const Index& index, int64_t) -> Status {
      bool isMirrored = index[last] > full[last] / 2;
      Index from = index;
      if (isMirrored) from[last] = full[last] - index[last];
      if (from[last] >= dims[last]) return invalidArgument("fft_length does not fit the operand");
      Complex value = values[static_cast<size_t>(positionOf(dims, from))];
      bool isSelfConjugate = index[last] == 0 || 2 * index[last] == full[last];
      if (isSelfConjugate) value = value.real();
      restored.push_back(isMirrored ? std::conj(value) : value);
      return {};
    }));
    values = std::move(restored);
    dims = full;
  }
  ISTHMUS_RETURN_IF_ERROR(transform(call, values, dims, last, 1));
  return setAll(call, values, dims);
}

Status evaluateCholesky(Call& call) {
  auto op = llvm::cast<shlo::CholeskyOp>(call.op);
  const Tensor& a = call.tensor(0);
  int64_t n = a.dims().back();
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(a.elementType(), a.dims()));
  for (int64_t base = 0; base < a.size(); base += n * n) {
    ISTHMUS_RETURN_IF_ERROR(call.charge(n * n * n));
    // lower(i, j) of A = L L^H; only the chosen triangle of A is read.
    auto element = [&](int64_t i, int64_t j) {
      return op.getLower() ? numberAt(a, base + i * n + j)
                           : std::conj(numberAt(a, base + j * n + i));
    };
    std::vector<Complex> lower(static_cast<size_t>(n * n));
    auto at = [&](int64_t i, int64_t j) -> Complex& {
      return lower[static_cast<size_t>(i * n + j)];
    };
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = j; i < n; ++i) {
        Complex sum = element(i, j);
        for (int64_t k = 0; k < j; ++k) sum -= at(i, k) * std::conj(at(j, k));
        at(i, j) = i == j ? Complex(std::sqrt(sum.real())) : sum / at(j, j).real();
      }
    }
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        if (op.getLower()) setNumber(result, base + i * n + j, at(i, j));
        if (!op.getLower()) setNumber(result, base + j * n + i, std::conj(at(i, j)));
      }
    }
  }
  call.results.push_back(std::move(result));
  return {};
}

Status evaluateTriangularSolve(Call& call) {
  auto op = llvm::cast<shlo::TriangularSolveOp>(call.op);
  const Tensor& a = call.tensor(0);
  const Tensor& b = call.tensor(1);
  int64_t n = a.dims().back();
  int64_t rows = b.dims()[b.dims().size() - 2], columns = b.dims().back();
  bool isTransposed = op.getTransposeA() != shlo::Transpose::NO_TRANSPOSE;
  bool isConjugated = op.getTransposeA() == shlo::Transpose::ADJOINT;
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(b.elementType(), b.dims()));
  int64_t batches = rows * columns == 0 ? 0 : b.size() / (rows * columns);
  for (int64_t batch = 0; batch < batches; ++batch) {
    ISTHMUS_RETURN_IF_ERROR(call.charge(n * rows * columns));
    // X op(A) = B is op(A)^T X^T = B^T.
    bool swaps = isTransposed == op.getLeftSide();
    auto matrix = [&](int64_t i, int64_t j) {
      if (swaps) std::swap(i, j);
      Complex value = numberAt(a, batch * n * n + i * n + j);
      return isConjugated ? std::conj(value) : value;
    };
    bool isLower = op.getLower() != swaps;
    int64_t lines = op.getLeftSide() ? columns : rows;
    for (int64_t line = 0; line < lines; ++line) {
      auto position = [&](int64_t i) {
        return batch * rows * columns +
               (op.getLeftSide() ? i * columns + line : line * columns + i);
      };
      std::vector<Complex> x(static_cast<size_t>(n));
      for (int64_t step = 0; step < n; ++step) {
        int64_t i = isLower ? step : n - 1 - step;
        Complex sum = numberAt(b, position(i));
        for (int64_t k = isLower ? 0 : i + 1; k < (isLower ? i : n); ++k) {
          sum -= matrix(i, k) * x[static_cast<size_t>(k)];
        }
        x[static_cast<size_t>(i)] = op.getUnitDiagonal() ? sum : sum / matrix(i, i);
        setNumber(result, position(i), x[static_cast<size_t>(i)]);
      }
    }
  }
  call.results.push_back(std::move(result));
  return {};
}

Status evaluateBatchNormInference(Call& call) {
  auto op = llvm::cast<shlo::BatchNormInferenceOp>(call.op);
  const Tensor& x = call.tensor(0);
  Features features(x, static_cast<int64_t>(op.getFeatureIndex()));
  auto parameter = [&](size_t i, int64_t feature) -> long double {
    return call.tensor(i).get(feature).re;
  };
  long double epsilon = op.getEpsilon().convertToFloat();
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(x.elementType(), x.dims()));
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t f = features.of(i);
    long double normal = (x.get(i).re - parameter(3, f)) / std::sqrt(parameter(4, f) + epsilon);
    result.set(i,
               scalars::makeFloat(static_cast<double>(normal * parameter(1, f) + parameter(2, f))));
  }
  call.results.push_back(std::move(result));
  return {};
}

Status evaluateBatchNormTraining(Call& call) {
  auto op = llvm::cast<shlo::BatchNormTrainingOp>(call.op);
  const Tensor& x = call.tensor(0);
  Features features(x, static_cast<int64_t>(op.getFeatureIndex()));
  long double epsilon = op.getEpsilon().convertToFloat();
  auto mean = features.sum(x.size(), [&](int64_t i) -> long double { return x.get(i).re; });
  for (long double& value : mean) value /= features.perFeature();
  auto variance = features.sum(x.size(), [&](int64_t i) {
    long double centered = x.get(i).re - mean[static_cast<size_t>(features.of(i))];
    return centered * centered;
  });
  for (long double& value : variance) value /= features.perFeature();
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(x.elementType(), x.dims()));
  for (int64_t i = 0; i < x.size(); ++i) {
    auto f = static_cast<size_t>(features.of(i));
    long double normal = (x.get(i).re - mean[f]) / std::sqrt(variance[f] + epsilon);
    long double value =
        normal * call.tensor(1).get(features.of(i)).re + call.tensor(2).get(features.of(i)).re;
    result.set(i, scalars::makeFloat(static_cast<double>(value)));
  }
  call.results.push_back(std::move(result));
  ISTHMUS_RETURN_IF_ERROR(giveVector(call, mean, x.elementType()));
  return giveVector(call, variance, x.elementType());
}

Status evaluateBatchNormGrad(Call& call) {
  auto op = llvm::cast<shlo::BatchNormGradOp>(call.op);
  const Tensor& x = call.tensor(0);
  const Tensor& gradient = call.tensor(4);
  Features features(x, static_cast<int64_t>(op.getFeatureIndex()));
  long double epsilon = op.getEpsilon().convertToFloat();
  auto parameter = [&](size_t i, int64_t feature) -> long double {
    return call.tensor(i).get(feature).re;
  };
  auto centered = [&](int64_t i) { return x.get(i).re - parameter(2, features.of(i)); };
  auto deviation = [&](int64_t f) { return std::sqrt(parameter(3, f) + epsilon); };
  auto sum = features.sum(x.size(), [&](int64_t i) -> long double { return gradient.get(i).re; });
  auto weighted =
      features.sum(x.size(), [&](int64_t i) { return gradient.get(i).re * centered(i); });
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(x.elementType(), x.dims()));
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t f = features.of(i);
    auto at = static_cast<size_t>(f);
    long double inner = gradient.get(i).re * features.perFeature() - sum[at] -
                        weighted[at] * centered(i) / (parameter(3, f) + epsilon);
    long double value = parameter(1, f) / deviation(f) / features.perFeature() * inner;
    result.set(i, scalars::makeFloat(static_cast<double>(value)));
  }
  call.results.push_back(std::move(result));
  for (int64_t f = 0; f < features.count(); ++f) weighted[static_cast<size_t>(f)] /= deviation(f);
  ISTHMUS_RETURN_IF_ERROR(giveVector(call, weighted, x.elementType()));
  return giveVector(call, sum, x.elementType());
}

}  // namespace isthmus::reference
