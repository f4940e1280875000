// Strided copies: equal dimensions are merged, rows become memcpy, transposes go tile by tile.
#include "runtime/memory/host_layout.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/threads/thread_pool.h"

namespace isthmus {
namespace {

// Copies smaller than this are done before another thread would have woken up.
constexpr int64_t kBytesPerChunk = 256 << 10;
// Elements on each side of the squares in which a transpose goes through the cache.
constexpr int64_t kTile = 32;

struct Dim {
  int64_t size;
  int64_t source;  // strides in bytes
  int64_t destination;
};

struct Bytes16 {
  unsigned char bytes[16];
};

// Copies `count` elements; memcpy of a constant size is one unaligned load and store.
template <typename T>
void copyElements(const char* source, int64_t sourceStride, char* destination,
                  int64_t destinationStride, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(destination + i * destinationStride, source + i * sourceStride, sizeof(T));
  }
}

using CopyElements = void (*)(const char*, int64_t, char*, int64_t, int64_t);

CopyElements copyElementsOf(size_t elementBytes) {
  switch (elementBytes) {
    case 1:
      return copyElements<uint8_t>;
    case 2:
      return copyElements<uint16_t>;
    case 4:
      return copyElements<uint32_t>;
    case 8:
      return copyElements<uint64_t>;
    default:
      return copyElements<Bytes16>;
  }
}

// The dimensions that matter, major to minor, with neighbours merged where both sides allow it.
std::vector<Dim> mergedDims(const ArrayType& type, std::span<const int64_t> source,
                            std::span<const int64_t> destination) {
  std::vector<Dim> dims;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    Dim dim{type.dims[i], source[i], destination[i]};
    if (dim.size == 1) continue;
    if (!dims.empty() && dims.back().source == dim.source * dim.size &&
        dims.back().destination == dim.destination * dim.size) {
      dims.back() = {dims.back().size * dim.size, dim.source, dim.destination};
    } else {
      dims.push_back(dim);
    }
  }
  return dims;
}

// Calls `body(sourceOffset, destinationOffset)` for the indices [begin, end) of the row-major space
// spanned by `dims`.
template <typename Body>
void forEachOffset(std::span<const Dim> dims, int64_t begin, int64_t end, Body&& body) {
  std::vector<int64_t> index(dims.size());
  int64_t source = 0, destination = 0, rest = begin;
  for (size_t i = dims.size(); i-- > 0;) {
    index[i] = rest % dims[i].size;
    rest /= dims[i].size;
    source += index[i] * dims[i].source;
    destination += index[i] * dims[i].destination;
  }
  for (int64_t n = begin; n < end; ++n) {
    body(source, destination);
    for (size_t i = dims.size(); i-- > 0;) {
      source += dims[i].source;
      destination += dims[i].destination;
      if (++index[i] < dims[i].size) break;
      source -= dims[i].source * dims[i].size;
      destination -= dims[i].destination * dims[i].size;
      index[i] = 0;
    }
  }
}

// The dimension that is the `i`-th fastest to vary in memory.
size_t minorDim(const ArrayType& type, size_t i) {
  return type.minorToMajor.empty() ? type.dims.size() - 1 - i
                                   : static_cast<size_t>(type.minorToMajor[i]);
}

int64_t product(std::span<const Dim> dims) {
  int64_t count = 1;
  for (const Dim& dim : dims) count *= dim.size;
  return count;
}

}  // namespace

std::vector<int64_t> denseStrides(const ArrayType& type) {
  std::vector<int64_t> strides(type.dims.size());
  auto stride = static_cast<int64_t>(elementSizeBytes(type.elementType));
  for (size_t i = 0; i < strides.size(); ++i) {
    size_t dim = minorDim(type, i);
    strides[dim] = stride;
    stride *= std::max<int64_t>(type.dims[dim], 1);
  }
  return strides;
}

bool isDense(const ArrayType& type, std::span<const int64_t> byteStrides) {
  if (type.numElements() == 0) return true;
  auto expected = static_cast<int64_t>(elementSizeBytes(type.elementType));
  for (size_t i = 0; i < type.dims.size(); ++i) {
    size_t dim = minorDim(type, i);
    if (type.dims[dim] == 1) continue;
    if (byteStrides[dim] != expected) return false;
    expected *= type.dims[dim];
  }
  return true;
}

void copyBytes(void* destination, const void* source, size_t bytes) {
  auto size = static_cast<int64_t>(bytes);
  if (size == 0) return;
  parallelFor(size, kBytesPerChunk, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char*>(destination) + begin, static_cast<const char*>(source) + begin,
                static_cast<size_t>(end - begin));
  });
}

void copyStrided(const ArrayType& type, const void* source, std::span<const int64_t> sourceStrides,
                 void* destination, std::span<const int64_t> destinationStrides) {
  if (type.sizeBytes() == 0) return;
  std::vector<int64_t> dense;
  if (sourceStrides.empty() || destinationStrides.empty()) dense = denseStrides(type);
  if (sourceStrides.empty()) sourceStrides = dense;
  if (destinationStrides.empty()) destinationStrides = dense;

  const auto* from = static_cast<const char*>(source);
  auto* to = static_cast<char*>(destination);
  auto elementBytes = static_cast<int64_t>(elementSizeBytes(type.elementType));
  std::vector<Dim> dims = mergedDims(type, sourceStrides, destinationStrides);
  if (dims.empty()) dims.push_back({1, elementBytes, elementBytes});
  CopyElements copy = copyElementsOf(static_cast<size_t>(elementBytes));

  // The destination is walked in the order in which it lies in memory.
  std::sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) {
    return std::abs(a.destination) > std::abs(b.destination);
  });
  Dim row = dims.back();
  dims.pop_back();
  bool isDenseRow = row.source == elementBytes && row.destination == elementBytes;
  auto nearest = std::min_element(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) {
    return std::abs(a.source) < std::abs(b.source);
  });
  bool isTranspose =
      !isDenseRow && nearest != dims.end() && std::abs(nearest->source) < std::abs(row.source);
  if (!isTranspose) {
    int64_t rowBytes = row.size * elementBytes;
    if (dims.empty() && isDenseRow) {
      copyBytes(to, from, static_cast<size_t>(rowBytes));
      return;
    }
    parallelFor(product(dims), std::max<int64_t>(1, kBytesPerChunk / rowBytes),
                [&](int64_t begin, int64_t end) {
                  forEachOffset(dims, begin, end, [&](int64_t s, int64_t d) {
                    if (isDenseRow) {
                      std::memcpy(to + d, from + s, static_cast<size_t>(rowBytes));
                    } else {
                      copy(from + s, row.source, to + d, row.destination, row.size);
                    }
                  });
                });
    return;
  }

  // Square tiles of `row` and of the dimension that lies densest in the source.
  Dim column = *nearest;
  dims.erase(nearest);
  dims.push_back(
      {(column.size - 1) / kTile + 1, column.source * kTile, column.destination * kTile});
  int64_t bandBytes = kTile * row.size * elementBytes;
  int64_t bands = dims.back().size;
  parallelFor(product(dims), std::max<int64_t>(1, kBytesPerChunk / bandBytes),
              [&](int64_t begin, int64_t end) {
                int64_t band = begin % bands;
                forEachOffset(dims, begin, end, [&](int64_t s, int64_t d) {
                  int64_t columns = std::min(kTile, column.size - band * kTile);
                  for (int64_t r = 0; r < row.size; r += kTile) {
                    int64_t count = std::min(kTile, row.size - r);
                    for (int64_t c = 0; c < columns; ++c) {
                      copy(from + s + c * column.source + r * row.source, row.source,
                           to + d + c * column.destination + r * row.destination, row.destination,
                           count);
                    }
                  }
                  if (++band == bands) band = 0;
                });
              });
}

}  // namespace isthmus
