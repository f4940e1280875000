// Sizes and names of element types, and arithmetic on array types.
#include "isthmus/types.h"

#include <array>

namespace isthmus {
namespace {

struct ElementInfo {
  std::string_view name;
  size_t bytes;
  int bits;
};

// Indexed by the value of the enumeration.
constexpr std::array<ElementInfo, 34> kElements = {{
    {"invalid", 0, 0},
    {"i1", 1, 1},
    {"i8", 1, 8},
    {"i16", 2, 16},
    {"i32", 4, 32},
    {"i64", 8, 64},
    {"ui8", 1, 8},
    {"ui16", 2, 16},
    {"ui32", 4, 32},
    {"ui64", 8, 64},
    {"f16", 2, 16},
    {"f32", 4, 32},
    {"f64", 8, 64},
    {"bf16", 2, 16},
    {"complex<f32>", 8, 64},
    {"complex<f64>", 16, 128},
    {"f8E5M2", 1, 8},
    {"f8E4M3FN", 1, 8},
    {"f8E4M3B11FNUZ", 1, 8},
    {"f8E5M2FNUZ", 1, 8},
    {"f8E4M3FNUZ", 1, 8},
    {"i4", 1, 4},
    {"ui4", 1, 4},
    {"token", 0, 0},
    {"i2", 1, 2},
    {"ui2", 1, 2},
    {"f8E4M3", 1, 8},
    {"f8E3M4", 1, 8},
    {"f8E8M0FNU", 1, 8},
    {"f4E2M1FN", 1, 4},
    {"i1", 1, 1},
    {"ui1", 1, 1},
    {"f6E2M3FN", 1, 6},
    {"f6E3M2FN", 1, 6},
}};

const ElementInfo& infoOf(ElementType type) {
  auto index = static_cast<size_t>(type);
  return kElements[index < kElements.size() ? index : 0];
}

}  // namespace

size_t elementSizeBytes(ElementType type) { return infoOf(type).bytes; }

int elementBits(ElementType type) { return infoOf(type).bits; }

std::string_view elementTypeName(ElementType type) { return infoOf(type).name; }

int64_t ArrayType::numElements() const {
  // Unsigned, since dimensions before a zero may be as large as they like.
  uint64_t count = 1;
  for (int64_t dim : dims) count *= static_cast<uint64_t>(dim);
  return static_cast<int64_t>(count);
}

size_t ArrayType::sizeBytes() const {
  return static_cast<size_t>(numElements()) * elementSizeBytes(elementType);
}

bool ArrayType::isValid() const {
  constexpr int64_t kMaxBytes = int64_t{1} << 62;
  bool isEmpty = false;
  for (int64_t dim : dims) {
    if (dim < 0) return false;
    if (dim == 0) isEmpty = true;
  }
  if (isEmpty) return true;
  auto bytes = static_cast<int64_t>(elementSizeBytes(elementType));
  if (bytes == 0) bytes = 1;
  for (int64_t dim : dims) {
    if (__builtin_mul_overflow(bytes, dim, &bytes) || bytes > kMaxBytes) return false;
  }
  return true;
}

bool ArrayType::setMinorToMajor(std::vector<int64_t> order) {
  size_t rank = dims.size();
  if (order.size() != rank) return false;
  std::vector<bool> seen(rank);
  bool isRowMajor = true;
  for (size_t i = 0; i < rank; ++i) {
    if (order[i] < 0 || order[i] >= static_cast<int64_t>(rank) || seen[order[i]]) return false;
    seen[order[i]] = true;
    isRowMajor = isRowMajor && order[i] == static_cast<int64_t>(rank - 1 - i);
  }
  if (isRowMajor) order.clear();
  minorToMajor = std::move(order);
  return true;
}

ArrayType ArrayType::rowMajorOfMemory() const {
  ArrayType type{elementType, dims};
  for (size_t i = 0; i < minorToMajor.size(); ++i) {
    type.dims[dims.size() - 1 - i] = dims[minorToMajor[i]];
  }
  return type;
}

std::string ArrayType::toString() const {
  std::string text = "tensor<";
  for (int64_t dim : dims) text += std::to_string(dim) + "x";
  text += elementTypeName(elementType);
  if (!minorToMajor.empty()) {
    text += ", {";
    for (size_t i = 0; i < minorToMajor.size(); ++i) {
      text += (i == 0 ? "" : ",") + std::to_string(minorToMajor[i]);
    }
    text += "}";
  }
  return text + ">";
}

}  // namespace isthmus
