// Turns dot_general's dimension numbers into groups of strided dimensions.
#include <algorithm>
#include <vector>

#include "backends/cpu/kernels/element_access.h"
#include "backends/cpu/kernels/gemm/dot.h"

namespace isthmus::cpu {
namespace {

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

}  // namespace

std::vector<int64_t> stridesOf(const DotOperand& operand) {
  if (!operand.strides.empty()) return {operand.strides.begin(), operand.strides.end()};
  std::vector<int64_t> strides(operand.dims.size());
  setRowMajorStrides(operand.dims, strides);
  return strides;
}

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
  for (size_t i = 0; i < lhsBatching.size(); ++i) {
    ISTHMUS_RETURN_IF_ERROR(checkSizes("batching", lhsBatching[i], rhsBatching[i]));
  }
  for (size_t i = 0; i < lhsContracting.size(); ++i) {
    ISTHMUS_RETURN_IF_ERROR(checkSizes("contracting", lhsContracting[i], rhsContracting[i]));
  }
  const DotRoles roles = dotRolesOf({lhs.dims, lhsStrides}, {rhs.dims, rhsStrides},
                                    {lhsBatching, rhsBatching, lhsContracting, rhsContracting});
  std::vector<DotDimension> dims;
  for (const DotDimensions* group :
       {&roles.batch, &roles.rows, &roles.columns, &roles.contracting}) {
    dims.insert(dims.end(), group->begin(), group->end());
  }
  if (dims.size() > kMaxDotDimensions) {
    return unimplemented("dot_general: ", dims.size(),
                         " dimensions that cannot be merged, at most ", kMaxDotDimensions,
                         " are supported");
  }
  DotDescriptor descriptor{};
  descriptor.lhsType = lhs.type;
  descriptor.rhsType = rhs.type;
  descriptor.resultType = resultType;
  descriptor.batchRank = static_cast<int32_t>(roles.batch.size());
  descriptor.mRank = static_cast<int32_t>(roles.rows.size());
  descriptor.nRank = static_cast<int32_t>(roles.columns.size());
  descriptor.kRank = static_cast<int32_t>(roles.contracting.size());
  std::copy(dims.begin(), dims.end(), descriptor.dims);
  descriptor.lhsBuffer = 0;
  descriptor.rhsBuffer = 1;
  descriptor.sumsBuffer = 2;
  descriptor.epilogueBuffer = 3;
  return descriptor;
}

}  // namespace isthmus::cpu
