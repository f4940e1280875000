// Reading of memory layouts.
#include "pjrt/buffer/layout.h"

#include <algorithm>
#include <numeric>

#include "pjrt/entry.h"
#include "pjrt/handles.h"
#include "runtime/memory/host_layout.h"

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

// Whether an array of another rank, and of as many elements, lies as `type` does: one element after
// the other. Its dimensions are not said; byte strides must be possible for some.
bool isRowMajorOfOtherRank(const PJRT_Buffer_MemoryLayout& layout, const ArrayType& type) {
  if (layout.type == PJRT_Buffer_MemoryLayout_Type_Tiled) {
    const auto& tiled = layout.tiled;
    const size_t rank = tiled.minor_to_major_size;
    if (rank == type.dims.size() || tiled.num_tiles != 0) return false;
    if (rank != 0 && tiled.minor_to_major == nullptr) return false;
    for (size_t i = 0; i < rank; ++i) {
      if (tiled.minor_to_major[i] != static_cast<int64_t>(rank - 1 - i)) return false;
    }
    return rank != 0 || type.numElements() == 1;
  }
  if (layout.type != PJRT_Buffer_MemoryLayout_Type_Strides) return false;
  const auto& strides = layout.strides;
  const size_t rank = strides.num_byte_strides;
  if (rank == type.dims.size()) return false;
  if (rank == 0) return type.numElements() == 1;
  if (strides.byte_strides == nullptr) return false;
  // Each stride is a multiple of the next, the last one is an element, and they end with the array.
  auto inner = static_cast<int64_t>(elementSizeBytes(type.elementType));
  if (strides.byte_strides[rank - 1] != inner) return false;
  for (size_t i = rank; i-- > 0;) {
    const int64_t stride = strides.byte_strides[i];
    if (stride < inner || stride % inner != 0) return false;
    inner = stride;
  }
  return static_cast<int64_t>(type.sizeBytes()) % inner == 0;
}

// Gives `type` the layout; none changes nothing.
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

StatusOr<std::vector<int64_t>> toHostStrides(const PJRT_Buffer_MemoryLayout* layout,
                                             const ArrayType& type) {
  const ArrayType rowMajor{type.elementType, type.dims};
  if (layout != nullptr && isRowMajorOfOtherRank(*layout, rowMajor)) return denseStrides(rowMajor);
  return toByteStrides(layout, type);
}

StatusOr<ArrayType> toDeviceArrayType(PJRT_Buffer_Type elementType, const int64_t* dims,
                                      size_t rank, const PJRT_Buffer_MemoryLayout* layout) {
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType type, toArrayType(elementType, dims, rank));
  ISTHMUS_RETURN_IF_ERROR(setDeviceLayout(layout, type));
  return type;
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
