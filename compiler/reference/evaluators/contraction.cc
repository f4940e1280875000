// Sums of products, in index order, each product and sum rounded to the result's type (to f32 where
// that is narrower, which the specification leaves open).
#include <map>

#include "compiler/reference/evaluators/evaluators.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace isthmus::reference {
namespace {

// A sum of products in a type's arithmetic.
class ProductSum {
 public:
  explicit ProductSum(ElementType type)
      : sumType_(isFloat(type) && bitWidth(type) < 32 ? ElementType::kF32 : type) {}

  void add(const Tensor& x, int64_t at, const Tensor& y, int64_t yAt) {
    Scalar a = scalars::convert(x.elementType(), x.get(at), sumType_);
    Scalar b = scalars::convert(y.elementType(), y.get(yAt), sumType_);
    Scalar product = normalized(scalars::multiply(sumType_, a, b), sumType_);
    sum_ = normalized(scalars::add(sumType_, sum_, product), sumType_);
  }

  Scalar value() const { return sum_; }

 private:
  ElementType sumType_;
  Scalar sum_;
};

using Letters = std::vector<int>;

// result[…] = sum over what is not in `out` of lhs[…] * rhs[…]; each dimension has a letter.
StatusOr<Tensor> einsum(Call& call, const Tensor& lhs, const Letters& left, const Tensor& rhs,
                        const Letters& right, const Letters& out) {
  std::map<int, int64_t> sizes;
  auto note = [&](const Tensor& tensor, const Letters& letters) -> Status {
    if (letters.size() != tensor.dims().size()) {
      return invalidArgument("letters do not fit ", tensor.type().toString());
    }
    for (size_t d = 0; d < letters.size(); ++d) {
      auto [it, isNew] = sizes.try_emplace(letters[d], tensor.dims()[d]);
      if (!isNew && it->second != tensor.dims()[d]) {
        return invalidArgument("dimensions that go together have sizes ", it->second, " and ",
                               tensor.dims()[d]);
      }
    }
    return {};
  };
  ISTHMUS_RETURN_IF_ERROR(note(lhs, left));
  ISTHMUS_RETURN_IF_ERROR(note(rhs, right));
  Dims dims, summed;
  Letters sumLetters;
  for (int letter : out) {
    if (!sizes.count(letter)) return invalidArgument("a result dimension that no operand has");
    dims.push_back(sizes[letter]);
  }
  for (auto [letter, size] : sizes) {
    if (llvm::is_contained(out, letter)) continue;
    sumLetters.push_back(letter);
    summed.push_back(size);
  }
  // The position in an operand grows by so much for each letter's index.
  auto stridesOf = [](const Tensor& tensor, const Letters& letters, const Letters& wanted) {
    Dims strides(wanted.size(), 0);
    int64_t stride = 1;
    for (size_t d = letters.size(); d-- > 0;) {
      for (size_t w = 0; w < wanted.size(); ++w) {
        if (wanted[w] == letters[d]) strides[w] += stride;
      }
      stride *= tensor.dims()[d];
    }
    return strides;
  };
  auto dot = [](const Dims& strides, const Index& index) {
    int64_t position = 0;
    for (size_t d = 0; d < index.size(); ++d) position += strides[d] * index[d];
    return position;
  };
  Dims leftOut = stridesOf(lhs, left, out), rightOut = stridesOf(rhs, right, out);
  Dims leftSum = stridesOf(lhs, left, sumLetters), rightSum = stridesOf(rhs, right, sumLetters);
  ElementType type = call.resultElementType();
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(type, dims));
  int64_t products = ArrayType{type, summed}.numElements();
  ISTHMUS_RETURN_IF_ERROR(forEachIndex(dims, [&](const Index& index, int64_t position) -> Status {
    ISTHMUS_RETURN_IF_ERROR(call.charge(products));
    ProductSum sum(type);
    int64_t leftBase = dot(leftOut, index), rightBase = dot(rightOut, index);
    ISTHMUS_RETURN_IF_ERROR(forEachIndex(summed, [&](const Index& inner, int64_t) -> Status {
      sum.add(lhs, leftBase + dot(leftSum, inner), rhs, rightBase + dot(rightSum, inner));
      return {};
    }));
    result.set(position, sum.value());
    return {};
  }));
  return result;
}

Letters lettersOf(llvm::StringRef text) { return Letters(text.begin(), text.end()); }

// A tensor of rank 0 that is one.
StatusOr<Tensor> one(Call& call, ElementType type) {
  ISTHMUS_ASSIGN_OR_RETURN(Tensor tensor, call.make(type, {}));
  tensor.set(0, scalars::convert(ElementType::kS32, scalars::makeInteger(1), type));
  return tensor;
}

struct Convolution {
  shlo::ConvDimensionNumbersAttr numbers;
  Dims strides, low, high, lhsDilation, rhsDilation;
  std::vector<bool> reversed;
  int64_t featureGroups, batchGroups;
};

template <typename Op>
Convolution convolutionOf(Op op, llvm::ArrayRef<int64_t> padding) {
  Convolution c{op.getDimensionNumbers(),
                {},
                {},
                {},
                {},
                {},
                {},
                static_cast<int64_t>(op.getFeatureGroupCount()),
                static_cast<int64_t>(op.getBatchGroupCount())};
  for (size_t d = 0; d < c.numbers.getInputSpatialDimensions().size(); ++d) {
    c.strides.push_back(valueOr(op.getWindowStrides(), d, 1));
    c.low.push_back(padding.empty() ? 0 : padding[2 * d]);
    c.high.push_back(padding.empty() ? 0 : padding[2 * d + 1]);
    c.lhsDilation.push_back(valueOr(op.getLhsDilation(), d, 1));
    c.rhsDilation.push_back(valueOr(op.getRhsDilation(), d, 1));
    c.reversed.push_back(op.getWindowReversal() && (*op.getWindowReversal())[d]);
  }
  return c;
}

StatusOr<Tensor> convolve(Call& call, const Convolution& c) {
  const Tensor& lhs = call.tensor(0);
  const Tensor& rhs = call.tensor(1);
  size_t spatialRank = c.strides.size();
  Dims spatial, window;
  for (size_t d = 0; d < spatialRank; ++d) {
    int64_t size = lhs.dim(c.numbers.getInputSpatialDimensions()[d]);
    int64_t kernel = rhs.dim(c.numbers.getKernelSpatialDimensions()[d]);
    int64_t padded = c.low[d] + (size == 0 ? 0 : (size - 1) * c.lhsDilation[d] + 1) + c.high[d];
    int64_t reach = kernel == 0 ? 0 : (kernel - 1) * c.rhsDilation[d] + 1;
    spatial.push_back(padded <= 0 || reach > padded ? 0 : (padded - reach) / c.strides[d] + 1);
    window.push_back(kernel);
  }
  int64_t batch = lhs.dim(c.numbers.getInputBatchDimension()) / c.batchGroups;
  int64_t features = rhs.dim(c.numbers.getKernelOutputFeatureDimension());
  int64_t channels = rhs.dim(c.numbers.getKernelInputFeatureDimension());
  Dims dims(spatialRank + 2);
  auto at = [](auto& index, int64_t d) -> int64_t& { return index[static_cast<size_t>(d)]; };
  at(dims, c.numbers.getOutputBatchDimension()) = batch;
  at(dims, c.numbers.getOutputFeatureDimension()) = features;
  for (size_t d = 0; d < spatialRank; ++d) {
    at(dims, c.numbers.getOutputSpatialDimensions()[d]) = spatial[d];
  }
  ElementType type = call.resultElementType();
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(type, dims));
  int64_t products = channels * ArrayType{type, window}.numElements();
  ISTHMUS_RETURN_IF_ERROR(forEachIndex(dims, [&](const Index& index, int64_t position) -> Status {
    ISTHMUS_RETURN_IF_ERROR(call.charge(products));
    Index to = index;
    int64_t feature = at(to, c.numbers.getOutputFeatureDimension());
    int64_t featureGroup = feature / (features / c.featureGroups);
    int64_t batchGroup = feature / (features / c.batchGroups);
    Index x(dims.size()), w(dims.size());
    at(x, c.numbers.getInputBatchDimension()) =
        batchGroup * batch + at(to, c.numbers.getOutputBatchDimension());
    at(w, c.numbers.getKernelOutputFeatureDimension()) = feature;
    ProductSum sum(type);
    ISTHMUS_RETURN_IF_ERROR(forEachIndex(window, [&](const Index& inner, int64_t) -> Status {
      for (size_t d = 0; d < spatialRank; ++d) {
        int64_t place = at(to, c.numbers.getOutputSpatialDimensions()[d]);
        int64_t from = place * c.strides[d] + inner[d] * c.rhsDilation[d] - c.low[d];
        if (from < 0 || from % c.lhsDilation[d] != 0) return {};
        from /= c.lhsDilation[d];
        int64_t inputDim = c.numbers.getInputSpatialDimensions()[d];
        if (from >= lhs.dim(inputDim)) return {};
        at(x, inputDim) = from;
        // The window is reversed, so the kernel meets its elements from the other end.
        at(w, c.numbers.getKernelSpatialDimensions()[d]) =
            c.reversed[d] ? window[d] - 1 - inner[d] : inner[d];
      }
      for (int64_t channel = 0; channel < channels; ++channel) {
        at(x, c.numbers.getInputFeatureDimension()) = featureGroup * channels + channel;
        at(w, c.numbers.getKernelInputFeatureDimension()) = channel;
        sum.add(lhs, positionOf(lhs.dims(), x), rhs, positionOf(rhs.dims(), w));
      }
      return {};
    }));
    result.set(position, sum.value());
    return {};
  }));
  return result;
}

}  // namespace

Status evaluateDotGeneral(Call& call) {
  auto op = llvm::cast<shlo::DotGeneralOp>(call.op);
  shlo::DotDimensionNumbersAttr numbers = op.getDotDimensionNumbers();
  const Tensor& lhs = call.tensor(0);
  const Tensor& rhs = call.tensor(1);
  // Letters: lhs dimensions have their number, rhs ones that of their partner or one past lhs.
  Letters left, right, out;
  for (int64_t d = 0; d < lhs.rank(); ++d) left.push_back(static_cast<int>(d));
  for (int64_t d = 0; d < rhs.rank(); ++d) right.push_back(static_cast<int>(lhs.rank() + d));
  auto join = [&](llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b) {
    for (auto [i, j] : llvm::zip(a, b)) right[static_cast<size_t>(j)] = static_cast<int>(i);
  };
  join(numbers.getLhsBatchingDimensions(), numbers.getRhsBatchingDimensions());
  join(numbers.getLhsContractingDimensions(), numbers.getRhsContractingDimensions());
  for (int64_t d : numbers.getLhsBatchingDimensions()) out.push_back(static_cast<int>(d));
  for (int letter : left) {
    if (!llvm::is_contained(numbers.getLhsBatchingDimensions(), letter) &&
        !llvm::is_contained(numbers.getLhsContractingDimensions(), letter)) {
      out.push_back(letter);
    }
  }
  for (int letter : right) {
    if (letter >= lhs.rank()) out.push_back(letter);
  }
  return addResult(call, einsum(call, lhs, left, rhs, right, out));
}

Status evaluateDot(Call& call) {
  const Tensor& lhs = call.tensor(0);
  const Tensor& rhs = call.tensor(1);
  if (lhs.rank() < 1 || lhs.rank() > 2 || rhs.rank() < 1 || rhs.rank() > 2) {
    return unimplemented("operands of ranks ", lhs.rank(), " and ", rhs.rank());
  }
  Letters left = lhs.rank() == 1 ? lettersOf("k") : lettersOf("mk");
  Letters right = rhs.rank() == 1 ? lettersOf("k") : lettersOf("kn");
  Letters out;
  if (lhs.rank() == 2) out.push_back('m');
  if (rhs.rank() == 2) out.push_back('n');
  return addResult(call, einsum(call, lhs, left, rhs, right, out));
}

Status evaluateEinsum(Call& call) {
  llvm::StringRef config = llvm::cast<shlo::EinsumOp>(call.op).getEinsumConfig();
  if (config.contains("...")) return unimplemented("an ellipsis in '", config.str(), "'");
  auto [inputs, out] = config.split("->");
  auto [left, right] = inputs.split(",");
  return addResult(call, einsum(call, call.tensor(0), lettersOf(left.trim()), call.tensor(1),
                                lettersOf(right.trim()), lettersOf(out.trim())));
}

Status evaluateUnaryEinsum(Call& call) {
  llvm::StringRef config = llvm::cast<shlo::UnaryEinsumOp>(call.op).getEinsumConfig();
  if (config.contains("...")) return unimplemented("an ellipsis in '", config.str(), "'");
  auto [input, out] = config.split("->");
  ISTHMUS_ASSIGN_OR_RETURN(Tensor unit, one(call, call.tensor(0).elementType()));
  return addResult(
      call, einsum(call, call.tensor(0), lettersOf(input.trim()), unit, {}, lettersOf(out.trim())));
}

Status evaluateConvolution(Call& call) {
  auto op = llvm::cast<shlo::ConvolutionOp>(call.op);
  llvm::SmallVector<int64_t> padding;
  if (op.getPadding()) {
    padding.assign(op.getPadding()->getValues<int64_t>().begin(),
                   op.getPadding()->getValues<int64_t>().end());
  }
  return addResult(call, convolve(call, convolutionOf(op, padding)));
}

Status evaluateDynamicConv(Call& call) {
  auto op = llvm::cast<shlo::DynamicConvOp>(call.op);
  ISTHMUS_ASSIGN_OR_RETURN(Dims padding, integersOf(call.tensor(2)));
  return addResult(call, convolve(call, convolutionOf(op, padding)));
}

}  // namespace isthmus::reference
