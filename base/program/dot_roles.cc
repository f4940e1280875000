#include "base/program/dot_roles.h"

#include <algorithm>
#include <utility>

namespace isthmus {

void appendDimension(DotDimensions& dims, DotDimension dim) {
  if (dim.size == 1) return;
  if (!dims.empty()) {
    DotDimension& last = dims.back();
    if (last.lhsStride == dim.size * dim.lhsStride && last.rhsStride == dim.size * dim.rhsStride) {
      last = {last.size * dim.size, dim.lhsStride, dim.rhsStride};
      return;
    }
  }
  dims.push_back(dim);
}

DotRoles dotRolesOf(const StridedArray& lhs, const StridedArray& rhs, const DotNumbers& numbers) {
  DotRoles roles;
  for (size_t i = 0; i < numbers.lhsBatch.size(); ++i) {
    const int64_t l = numbers.lhsBatch[i], r = numbers.rhsBatch[i];
    appendDimension(roles.batch, {lhs.sizes[l], lhs.strides[l], rhs.strides[r]});
  }
  auto isAmong = [](std::span<const int64_t> some, size_t d) {
    return std::find(some.begin(), some.end(), static_cast<int64_t>(d)) != some.end();
  };
  for (size_t d = 0; d < lhs.sizes.size(); ++d) {
    if (isAmong(numbers.lhsBatch, d) || isAmong(numbers.lhsContracting, d)) continue;
    appendDimension(roles.rows, {lhs.sizes[d], lhs.strides[d], 0});
  }
  for (size_t d = 0; d < rhs.sizes.size(); ++d) {
    if (isAmong(numbers.rhsBatch, d) || isAmong(numbers.rhsContracting, d)) continue;
    appendDimension(roles.columns, {rhs.sizes[d], 0, rhs.strides[d]});
  }
  // Their order is free: the lhs in memory order makes long runs.
  std::vector<size_t> order(numbers.lhsContracting.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(-lhs.strides[numbers.lhsContracting[a]], a) <
           std::pair(-lhs.strides[numbers.lhsContracting[b]], b);
  });
  for (size_t i : order) {
    const int64_t l = numbers.lhsContracting[i], r = numbers.rhsContracting[i];
    appendDimension(roles.contracting, {lhs.sizes[l], lhs.strides[l], rhs.strides[r]});
  }
  return roles;
}

}  // namespace isthmus
