// Reading of memory layouts.
#include "pjrt/layout.h"

#include <span>

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
  return stridesOfMinorToMajor(type, std::span(tiled.minor_to_major, tiled.minor_to_major_size));
}

Status checkDeviceLayout(const PJRT_Buffer_MemoryLayout* layout, const ArrayType& type) {
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<int64_t> strides, toByteStrides(layout, type));
  if (strides.empty() || isRowMajor(type, strides)) return {};
  return unimplemented("a device layout of ", type.toString(), " that is not row-major");
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

std::string rowMajorLayoutText(size_t rank) {
  std::string text = "{";
  for (size_t i = rank; i-- > 0;) {
    text += std::to_string(i);
    if (i != 0) text += ',';
  }
  return text + '}';
}

}  // namespace isthmus::pjrt
