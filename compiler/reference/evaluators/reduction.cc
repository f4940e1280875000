// Operations that combine many elements by a region: reductions, windows, sorting.
#include <algorithm>
#include <optional>

#include "compiler/reference/evaluators/evaluators.h"

namespace isthmus::reference {
namespace {

std::vector<Tensor> tensorsOf(Call& call, size_t first, size_t count) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < count; ++i) tensors.push_back(call.tensor(first + i));
  return tensors;
}

// Accumulators that start from the initial values and take in elements one by one.
class Accumulation {
 public:
  // `inputs` and `inits` are as many; the region takes 2N scalars.
  static StatusOr<Accumulation> start(Call& call, mlir::Region& region,
                                      const std::vector<Tensor>& inits) {
    Accumulation result(call, region);
    for (unsigned k = 0; k < inits.size(); ++k) {
      ISTHMUS_ASSIGN_OR_RETURN(Tensor value, call.elementFor(region, k, inits[k], 0));
      result.values_.push_back(std::move(value));
    }
    return result;
  }

  Status take(const std::vector<Tensor>& inputs, int64_t position) {
    std::vector<Tensor> arguments = values_;
    for (unsigned k = 0; k < inputs.size(); ++k) {
      unsigned argument = static_cast<unsigned>(inputs.size()) + k;
      ISTHMUS_ASSIGN_OR_RETURN(Tensor element,
                               call_.elementFor(region_, argument, inputs[k], position));
      arguments.push_back(std::move(element));
    }
    ISTHMUS_ASSIGN_OR_RETURN(values_, call_.runScalars(region_, std::move(arguments)));
    return {};
  }

  const std::vector<Tensor>& values() const { return values_; }

 private:
  Accumulation(Call& call, mlir::Region& region) : call_(call), region_(region) {}
  Call& call_;
  mlir::Region& region_;
  std::vector<Tensor> values_;
};

Status makeResults(Call& call, const Dims& dims, std::vector<Tensor>& results) {
  for (size_t k = 0; k < call.resultTypes.size(); ++k) {
    ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(call.resultElementType(k), dims));
    results.push_back(std::move(result));
  }
  return {};
}

void giveAll(Call& call, std::vector<Tensor> results) {
  for (Tensor& result : results) call.results.push_back(std::move(result));
}

// A window over an array, by dimension.
struct Windows {
  Dims sizes, strides, baseDilations, windowDilations, low, high;

  // How many places the windows have, for each dimension of an array.
  Dims places(const Dims& dims) const {
    Dims result;
    for (size_t d = 0; d < dims.size(); ++d) {
      int64_t dilated = dims[d] == 0 ? 0 : (dims[d] - 1) * baseDilations[d] + 1;
      int64_t padded = low[d] + dilated + high[d];
      int64_t reach = sizes[d] == 0 ? 0 : (sizes[d] - 1) * windowDilations[d] + 1;
      bool isEmpty = padded <= 0 || reach > padded;
      result.push_back(isEmpty ? 0 : (padded - reach) / strides[d] + 1);
    }
    return result;
  }

  // The element that `inner` of the window at `place` looks at; none if that is padding.
  std::optional<Index> element(const Dims& dims, const Index& place, const Index& inner) const {
    Index index(dims.size());
    for (size_t d = 0; d < dims.size(); ++d) {
      int64_t at = place[d] * strides[d] + inner[d] * windowDilations[d] - low[d];
      if (at < 0 || at % baseDilations[d] != 0) return std::nullopt;
      index[d] = at / baseDilations[d];
      if (index[d] >= dims[d]) return std::nullopt;
    }
    return index;
  }
};

template <typename Op>
Windows windowsOf(Op op, size_t rank, llvm::ArrayRef<int64_t> sizes,
                  std::optional<llvm::ArrayRef<int64_t>> base,
                  std::optional<llvm::ArrayRef<int64_t>> window) {
  Windows result;
  result.sizes = sizes.empty() ? Dims(rank, 1) : toDims(sizes);
  llvm::SmallVector<int64_t> padding(2 * rank, 0);
  if (op.getPadding())
    padding.assign(op.getPadding()->template getValues<int64_t>().begin(),
                   op.getPadding()->template getValues<int64_t>().end());
  for (size_t d = 0; d < rank; ++d) {
    result.strides.push_back(valueOr(op.getWindowStrides(), d, 1));
    result.baseDilations.push_back(valueOr(base, d, 1));
    result.windowDilations.push_back(valueOr(window, d, 1));
    result.low.push_back(padding[2 * d]);
    result.high.push_back(padding[2 * d + 1]);
  }
  return result;
}

}  // namespace

Status evaluateReduce(Call& call) {
  auto op = llvm::cast<shlo::ReduceOp>(call.op);
  size_t count = op.getInputs().size();
  std::vector<Tensor> inputs = tensorsOf(call, 0, count);
  std::vector<Tensor> inits = tensorsOf(call, count, count);
  const Dims& dims = inputs[0].dims();
  // Kept dimensions, and the space of the reduced ones.
  Dims kept, reduced(dims.size(), 1);
  for (size_t d = 0; d < dims.size(); ++d) {
    if (llvm::is_contained(op.getDimensions(), static_cast<int64_t>(d))) {
      reduced[d] = dims[d];
    } else {
      kept.push_back(dims[d]);
    }
  }
  std::vector<Tensor> results;
  ISTHMUS_RETURN_IF_ERROR(makeResults(call, kept, results));
  ISTHMUS_RETURN_IF_ERROR(forEachIndex(kept, [&](const Index& index, int64_t position) -> Status {
    ISTHMUS_ASSIGN_OR_RETURN(Accumulation accumulation,
                             Accumulation::start(call, op.getBody(), inits));
    ISTHMUS_RETURN_IF_ERROR(forEachIndex(reduced, [&](const Index& inner, int64_t) -> Status {
      Index at = inner;
      size_t next = 0;
      for (size_t d = 0; d < dims.size(); ++d) {
        if (!llvm::is_contained(op.getDimensions(), static_cast<int64_t>(d))) {
          at[d] = index[next++];
        }
      }
      return accumulation.take(inputs, positionOf(dims, at));
    }));
    for (size_t k = 0; k < count; ++k) {
      results[k].set(position, accumulation.values()[k].get(0));
    }
    return {};
  }));
  giveAll(call, std::move(results));
  return {};
}

Status evaluateReduceWindow(Call& call) {
  auto op = llvm::cast<shlo::ReduceWindowOp>(call.op);
  size_t count = op.getInputs().size();
  std::vector<Tensor> inputs = tensorsOf(call, 0, count);
  std::vector<Tensor> inits = tensorsOf(call, count, count);
  const Dims& dims = inputs[0].dims();
  Windows windows = windowsOf(op, dims.size(), op.getWindowDimensions(), op.getBaseDilations(),
                              op.getWindowDilations());
  Dims places = windows.places(dims);
  std::vector<Tensor> results;
  ISTHMUS_RETURN_IF_ERROR(makeResults(call, places, results));
  ISTHMUS_RETURN_IF_ERROR(forEachIndex(places, [&](const Index& place, int64_t position) -> Status {
    ISTHMUS_ASSIGN_OR_RETURN(Accumulation accumulation,
                             Accumulation::start(call, op.getBody(), inits));
    ISTHMUS_RETURN_IF_ERROR(forEachIndex(windows.sizes, [&](const Index& inner, int64_t) -> Status {
      ISTHMUS_RETURN_IF_ERROR(call.charge(1));
      std::optional<Index> at = windows.element(dims, place, inner);
      // Padding is the initial value.
      return at ? accumulation.take(inputs, positionOf(dims, *at)) : accumulation.take(inits, 0);
    }));
    for (size_t k = 0; k < count; ++k) {
      results[k].set(position, accumulation.values()[k].get(0));
    }
    return {};
  }));
  giveAll(call, std::move(results));
  return {};
}

Status evaluateSelectAndScatter(Call& call) {
  auto op = llvm::cast<shlo::SelectAndScatterOp>(call.op);
  const Tensor& x = call.tensor(0);
  const Tensor& source = call.tensor(1);
  const Tensor& init = call.tensor(2);
  Windows windows =
      windowsOf(op, x.dims().size(), op.getWindowDimensions().value_or(llvm::ArrayRef<int64_t>()),
                std::nullopt, std::nullopt);
  ElementType type = call.resultElementType();
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(type, x.dims()));
  for (int64_t i = 0; i < x.size(); ++i) {
    result.set(i, scalars::convert(init.elementType(), init.get(0), type));
  }
  ISTHMUS_RETURN_IF_ERROR(
      forEachIndex(source.dims(), [&](const Index& place, int64_t position) -> Status {
        int64_t selected = -1;
        ISTHMUS_RETURN_IF_ERROR(
            forEachIndex(windows.sizes, [&](const Index& inner, int64_t) -> Status {
              ISTHMUS_RETURN_IF_ERROR(call.charge(1));
              std::optional<Index> index = windows.element(x.dims(), place, inner);
              if (!index) return {};
              int64_t at = positionOf(x.dims(), *index);
              if (selected < 0) {
                selected = at;
                return {};
              }
              ISTHMUS_ASSIGN_OR_RETURN(Tensor kept, call.element(x, selected));
              ISTHMUS_ASSIGN_OR_RETURN(Tensor other, call.element(x, at));
              ISTHMUS_ASSIGN_OR_RETURN(std::vector<Tensor> keeps,
                                       call.runScalars(op.getSelect(), {kept, other}));
              if (keeps[0].integer(0) == 0) selected = at;
              return {};
            }));
        if (selected < 0) return {};
        mlir::Region& scatter = op.getScatter();
        ISTHMUS_ASSIGN_OR_RETURN(Tensor old, call.elementFor(scatter, 0, result, selected));
        ISTHMUS_ASSIGN_OR_RETURN(Tensor value, call.elementFor(scatter, 1, source, position));
        ISTHMUS_ASSIGN_OR_RETURN(std::vector<Tensor> given, call.runScalars(scatter, {old, value}));
        result.set(selected, given[0].get(0));
        return {};
      }));
  call.results.push_back(std::move(result));
  return {};
}

Status evaluateSort(Call& call) {
  auto op = llvm::cast<shlo::SortOp>(call.op);
  std::vector<Tensor> inputs = tensorsOf(call, 0, call.numOperands());
  const Dims& dims = inputs[0].dims();
  std::vector<Tensor> results;
  ISTHMUS_RETURN_IF_ERROR(makeResults(call, dims, results));
  auto signedDimension = static_cast<int64_t>(op.getDimension());
  auto axis = static_cast<size_t>(
      signedDimension < 0 ? signedDimension + static_cast<int64_t>(dims.size()) : signedDimension);
  if (dims.empty()) {
    giveAll(call, std::move(inputs));
    return {};
  }
  Dims lines = dims;
  lines[axis] = 1;
  int64_t stride = 1;
  for (size_t d = axis + 1; d < dims.size(); ++d) stride *= dims[d];
  ISTHMUS_RETURN_IF_ERROR(forEachIndex(lines, [&](const Index& index, int64_t) -> Status {
    int64_t first = positionOf(dims, index);
    std::vector<int64_t> order;
    for (int64_t i = 0; i < dims[axis]; ++i) order.push_back(first + i * stride);
    auto isLess = [&](int64_t a, int64_t b) -> StatusOr<bool> {
      std::vector<Tensor> arguments;
      for (const Tensor& input : inputs) {
        ISTHMUS_ASSIGN_OR_RETURN(Tensor left, call.element(input, a));
        ISTHMUS_ASSIGN_OR_RETURN(Tensor right, call.element(input, b));
        arguments.push_back(std::move(left));
        arguments.push_back(std::move(right));
      }
      ISTHMUS_ASSIGN_OR_RETURN(std::vector<Tensor> given,
                               call.runScalars(op.getComparator(), std::move(arguments)));
      return given[0].integer(0) != 0;
    };
    // Merging from the bottom up: stable, and defined for comparators that are no orders.
    std::vector<int64_t> merged(order.size());
    for (size_t width = 1; width < order.size(); width *= 2) {
      for (size_t begin = 0; begin < order.size(); begin += 2 * width) {
        size_t middle = std::min(begin + width, order.size());
        size_t end = std::min(begin + 2 * width, order.size());
        size_t left = begin, right = middle;
        for (size_t to = begin; to < end; ++to) {
          bool takesRight = left == middle;
          if (left < middle && right < end) {
            ISTHMUS_ASSIGN_OR_RETURN(takesRight, isLess(order[right], order[left]));
          }
          merged[to] = takesRight ? order[right++] : order[left++];
        }
      }
      order.swap(merged);
    }
    for (size_t i = 0; i < order.size(); ++i) {
      for (size_t k = 0; k < inputs.size(); ++k) {
        results[k].copyElement(first + static_cast<int64_t>(i) * stride, inputs[k], order[i]);
      }
    }
    return {};
  }));
  giveAll(call, std::move(results));
  return {};
}

}  // namespace isthmus::reference
