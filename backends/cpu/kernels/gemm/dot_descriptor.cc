// Turns dot_general's dimension numbers into groups of strided dimensions.
#include <algorithm>
#include <array>
#include <vector>

#include "backends/cpu/kernels/element_access.h"
#include "backends/cpu/kernels/gemm/dot.h"

namespace isthmus::cpu {
namespace {

std::vector<int64_t> stridesOf(const DotOperand& operand) {
  if (!operand.strides.empty()) return {operand.strides.begin(), operand.strides.end()};
  std::vector<int64_t> strides(operand.dims.size());
  int64_t stride = 1;
  for (size_t i = strides.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= operand.dims[i];
  }
  return strides;
}

// Marks the dimensions named by `numbers` as taken; fails if one is out of range or taken twice.
Status takeDimensions(const char* what, std::span<const int64_t> numbers,
                      std::vector<bool>& taken) {
  for (int64_t number : numbers) {
    if (number < 0 || number >= static_cast<int64_t>(taken.size()) || taken[number]) {
      return invalidArgument("dot_general: ", what, " dimension ", number,
                             " is out of range or given twice; the operand has rank ",
                             taken.size());
    }
    taken[number] = true;
  }
  return Status();
}

// Appends a dimension to the group that starts at `groupBegin`, merged with the one before it where
// both operands step through the two as through one.
void appendDimension(std::vector<DotDimension>& dims, size_t groupBegin, DotDimension dim) {
  if (dim.size == 1) return;
  if (dims.size() > groupBegin) {
    DotDimension& last = dims.back();
    if (last.lhsStride == dim.size * dim.lhsStride && last.rhsStride == dim.size * dim.rhsStride) {
      last = {last.size * dim.size, dim.lhsStride, dim.rhsStride};
      return;
    }
  }
  dims.push_back(dim);
}

}  // namespace

StatusOr<DotDescriptor> makeDotDescriptor(const DotOperand& lhs, const DotOperand& rhs,
                                          ElementType resultType,
                                          std::span<const int64_t> lhsBatching,
                                          std::span<const int64_t> rhsBatching,
                                          std::span<const int64_t> lhsContracting,
                                          std::span<const int64_t> rhsContracting) {
  for (ElementType type : {lhs.type, rhs.type, resultType}) {
    if (elementClass(type) == ElementClass::kNone) {
      return invalidArgument("dot_general: got an operand or result of element type ",
                             static_cast<int>(type), ", expected one with arithmetic");
    }
  }
  for (const DotOperand* operand : {&lhs, &rhs}) {
    if (!operand->strides.empty() && operand->strides.size() != operand->dims.size()) {
      return invalidArgument("dot_general: got ", operand->strides.size(), " strides for rank ",
                             operand->dims.size());
    }
  }
  if (lhsBatching.size() != rhsBatching.size() || lhsContracting.size() != rhsContracting.size()) {
    return invalidArgument("dot_general: got ", lhsBatching.size(), " lhs and ", rhsBatching.size(),
                           " rhs batching dimensions, ", lhsContracting.size(), " lhs and ",
                           rhsContracting.size(),
                           " rhs contracting dimensions, expected equal numbers");
  }
  std::vector<bool> lhsTaken(lhs.dims.size()), rhsTaken(rhs.dims.size());
  ISTHMUS_RETURN_IF_ERROR(takeDimensions("lhs batching", lhsBatching, lhsTaken));
  ISTHMUS_RETURN_IF_ERROR(takeDimensions("lhs contracting", lhsContracting, lhsTaken));
  ISTHMUS_RETURN_IF_ERROR(takeDimensions("rhs batching", rhsBatching, rhsTaken));
  ISTHMUS_RETURN_IF_ERROR(takeDimensions("rhs contracting", rhsContracting, rhsTaken));

  std::vector<int64_t> lhsStrides = stridesOf(lhs), rhsStrides = stridesOf(rhs);
  auto checkSizes = [&](const char* what, int64_t l, int64_t r) {
    if (lhs.dims[l] == rhs.dims[r]) return Status();
    return invalidArgument("dot_general: ", what, " dimensions ", l, " and ", r, " have sizes ",
                           lhs.dims[l], " and ", rhs.dims[r]);
  };
  std::vector<DotDimension> dims;
  std::array<size_t, 5> begins{};
  for (size_t i = 0; i < lhsBatching.size(); ++i) {
    int64_t l = lhsBatching[i], r = rhsBatching[i];
    ISTHMUS_RETURN_IF_ERROR(checkSizes("batching", l, r));
    appendDimension(dims, begins[0], {lhs.dims[l], lhsStrides[l], rhsStrides[r]});
  }
  begins[1] = dims.size();
  for (size_t i = 0; i < lhs.dims.size(); ++i) {
    if (!lhsTaken[i]) appendDimension(dims, begins[1], {lhs.dims[i], lhsStrides[i], 0});
  }
  begins[2] = dims.size();
  for (size_t i = 0; i < rhs.dims.size(); ++i) {
    if (!rhsTaken[i]) appendDimension(dims, begins[2], {rhs.dims[i], 0, rhsStrides[i]});
  }
  begins[3] = dims.size();
  // The order of contracting dimensions is free: the lhs in memory order makes long runs.
  std::vector<size_t> order(lhsContracting.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(-lhsStrides[lhsContracting[a]], a) <
           std::pair(-lhsStrides[lhsContracting[b]], b);
  });
  for (size_t i : order) {
    int64_t l = lhsContracting[i], r = rhsContracting[i];
    ISTHMUS_RETURN_IF_ERROR(checkSizes("contracting", l, r));
    appendDimension(dims, begins[3], {lhs.dims[l], lhsStrides[l], rhsStrides[r]});
  }
  begins[4] = dims.size();
  if (dims.size() > kMaxDotDimensions) {
    return unimplemented("dot_general: ", dims.size(),
                         " dimensions that cannot be merged, at most ", kMaxDotDimensions,
                         " are supported");
  }
  DotDescriptor descriptor{};
  descriptor.lhsType = lhs.type;
  descriptor.rhsType = rhs.type;
  descriptor.resultType = resultType;
  descriptor.batchRank = static_cast<int32_t>(begins[1]);
  descriptor.mRank = static_cast<int32_t>(begins[2] - begins[1]);
  descriptor.nRank = static_cast<int32_t>(begins[3] - begins[2]);
  descriptor.kRank = static_cast<int32_t>(begins[4] - begins[3]);
  std::copy(dims.begin(), dims.end(), descriptor.dims);
  descriptor.lhsBuffer = 0;
  descriptor.rhsBuffer = 1;
  descriptor.sumsBuffer = 2;
  descriptor.epilogueBuffer = 3;
  return descriptor;
}

}  // namespace isthmus::cpu
