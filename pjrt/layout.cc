// Reading of memory layouts.
#include "pjrt/layout.h"

#include <algorithm>
#include <numeric>

#include "pjrt/entry.h"
#include "runtime/host_layout.h"

namespace isthmus::pjrt {
namespace {

// Callers do not set the sizes of the two structures inside a layout, so only the lists are
// checked.
Status checkList(const int64_t* list, size_t listSize, const ArrayType& type) {
  if (listSize != type.dims.size() || (list == nullptr && listSize != 0)) {
    return invalidArgument("a layout of rank ", listSize, " for ", type.toString());
  }
  return {};
}

Status setOrder(ArrayType& type, std::vector<int64_t> minorToMajor) {
  if (type.setMinorToMajor(std::move(minorToMajor))) return {};
  return invalidArgument("minor_to_major is not a permutation of the ", type.dims.size(),
                         " dimensions of ", type.toString());
}

}  // namespace

StatusOr<std::vector<int64_t>> toByteStrides(const PJRT_Buffer_MemoryLayout* layout,
                                             const ArrayType& type) {
  if (layout == nullptr) return std::vector<int64_t>();
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Strides) {
    const auto& strides = layout->strides;
    ISTHMUS_RETURN_IF_ERROR(checkList(strides.byte_strides, strides.num_byte_strides, type));
    return std::vector<int64_t>(strides.byte_strides,
                                strides.byte_strides + strides.num_byte_strides);
  }
  if (layout->type != PJRT_Buffer_MemoryLayout_Type_Tiled) {
    return invalidArgument("unknown memory layout type ", static_cast<int>(layout->type));
  }
  const auto& tiled = layout->tiled;
  ISTHMUS_RETURN_IF_ERROR(checkList(tiled.minor_to_major, tiled.minor_to_major_size, type));
  if (tiled.num_tiles != 0) return unimplemented("a memory layout with tiles");
  ArrayType laidOut{type.elementType, type.dims};
  ISTHMUS_RETURN_IF_ERROR(
      setOrder(laidOut, {tiled.minor_to_major, tiled.minor_to_major + tiled.minor_to_major_size}));
  return denseStrides(laidOut);
}

Status setDeviceLayout(const PJRT_Buffer_MemoryLayout* layout, ArrayType& type) {
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<int64_t> strides, toByteStrides(layout, type));
  if (strides.empty()) return {};
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Tiled) {
    const auto& tiled = layout->tiled;
    return setOrder(type, {tiled.minor_to_major, tiled.minor_to_major + tiled.minor_to_major_size});
  }
  if (isDense(type, strides)) return {};
  std::vector<int64_t> order(type.dims.size());
  std::iota(order.rbegin(), order.rend(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return strides[a] < strides[b]; });
  ISTHMUS_RETURN_IF_ERROR(setOrder(type, std::move(order)));
  if (isDense(type, strides)) return {};
  return unimplemented("a device layout of ", type.toString(), " that is not dense");
}

StatusOr<size_t> spanBytes(const ArrayType& type, const std::vector<int64_t>& byteStrides) {
  if (byteStrides.empty() || type.numElements() == 0) return type.sizeBytes();
  auto bytes = static_cast<int64_t>(elementSizeBytes(type.elementType));
  for (size_t i = 0; i < byteStrides.size(); ++i) {
    int64_t reach = 0;
    if (byteStrides[i] < 0 || __builtin_mul_overflow(byteStrides[i], type.dims[i] - 1, &reach) ||
        __builtin_add_overflow(bytes, reach, &bytes)) {
      return invalidArgument("host layout: stride ", byteStrides[i], " of dimension ", i, " of ",
                             type.toString(), " is negative or too large");
    }
  }
  return static_cast<size_t>(bytes);
}

std::vector<int64_t> minorToMajorOf(const ArrayType& type) {
  if (!type.minorToMajor.empty()) return type.minorToMajor;
  std::vector<int64_t> order(type.dims.size());
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

}  // namespace isthmus::pjrt
