#include "backends/cuda/libraries/dnn_attention.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace isthmus::cuda {
namespace {

struct Extent {
  DnnStrides strides;
  int64_t heads, rows, columns;
  DnnType type;
};

std::vector<Extent> extentsOf(const DnnAttention& a) {
  const int64_t keyHeads = a.heads / a.group;
  std::vector<Extent> extents = {{a.query, a.heads, a.rows, a.sums, a.type},
                                 {a.key, keyHeads, a.keys, a.sums, a.type},
                                 {a.value, keyHeads, a.keys, a.features, a.type}};
  if (a.hasBias) extents.push_back({a.bias, a.heads, a.rows, a.keys, a.biasType});
  extents.push_back({a.result, a.heads, a.rows, a.features, a.type});
  if (!a.isGradient) return extents;
  const size_t first = extents.size();
  extents.resize(first + 3);
  auto add = [&](int8_t place, const Extent& extent) {
    extents[first + static_cast<size_t>(place)] = extent;
  };
  add(a.places.query, {a.queryGradient, a.heads, a.rows, a.sums, a.type});
  add(a.places.key, {a.keyGradient, keyHeads, a.keys, a.sums, a.type});
  add(a.places.value, {a.valueGradient, keyHeads, a.keys, a.features, a.type});
  return extents;
}

// Elements that an array reaches over; more than kMaxDnnElements for any such number.
int64_t reachOf(const Extent& extent, int64_t batch) {
  int64_t reach = extent.columns;
  const std::array<std::pair<int64_t, int64_t>, 3> dims = {{{batch, extent.strides.batch},
                                                            {extent.heads, extent.strides.head},
                                                            {extent.rows, extent.strides.row}}};
  for (auto [size, stride] : dims) {
    if (size > 1 && stride > (kMaxDnnElements - std::min(reach, kMaxDnnElements)) / (size - 1)) {
      return kMaxDnnElements + 1;
    }
    reach += (size - 1) * stride;
  }
  return reach;
}

bool isType(DnnType type) {
  return type == DnnType::kF32 || type == DnnType::kF16 || type == DnnType::kBf16;
}

}  // namespace

std::vector<int64_t> DnnAttention::bufferBytes() const {
  std::vector<int64_t> bytes;
  for (const Extent& extent : extentsOf(*this)) {
    bytes.push_back(reachOf(extent, batch) * bytesOf(extent.type));
  }
  return bytes;
}

std::string DnnAttention::toString() const {
  auto dims = [&](int64_t h, int64_t s, int64_t d) {
    return "[" + std::to_string(batch) + "," + std::to_string(h) + "," + std::to_string(s) + "," +
           std::to_string(d) + "]";
  };
  return std::string(isGradient ? "the gradient of " : "") +
         (isCausal ? "a causal attention of " : "an attention of ") +
         (type == DnnType::kBf16 ? "bf16" : "f16") + dims(heads, rows, sums) + " over " +
         dims(heads / group, keys, features) + (hasBias ? " with a bias" : "");
}

bool isValid(const DnnAttention& a) {
  for (int64_t size : {a.batch, a.heads, a.group, a.rows, a.keys, a.sums, a.features}) {
    if (size < 1 || size > kMaxDnnElements) return false;
  }
  if ((a.type != DnnType::kF16 && a.type != DnnType::kBf16) || a.heads % a.group != 0 ||
      !isType(a.biasType) || !std::isfinite(a.scale)) {
    return false;
  }
  for (const DnnStrides& strides : {a.query, a.key, a.value, a.bias, a.result, a.queryGradient,
                                    a.keyGradient, a.valueGradient}) {
    for (int64_t stride : {strides.batch, strides.head, strides.row}) {
      if (stride < 0 || stride > kMaxDnnElements) return false;
    }
  }
  // What is written is written once.
  auto isOnce = [&](const DnnStrides& strides, int64_t heads, int64_t rows) {
    return (a.batch == 1 || strides.batch > 0) && (heads == 1 || strides.head > 0) &&
           (rows == 1 || strides.row > 0);
  };
  if (a.isGradient) {
    const int64_t keyHeads = a.heads / a.group;
    if (!a.places.areAll() || !isOnce(a.queryGradient, a.heads, a.rows) ||
        !isOnce(a.keyGradient, keyHeads, a.keys) || !isOnce(a.valueGradient, keyHeads, a.keys)) {
      return false;
    }
  } else if (!isOnce(a.result, a.heads, a.rows)) {
    return false;
  }
  return std::ranges::all_of(extentsOf(a), [&](const Extent& extent) {
    return reachOf(extent, a.batch) <= kMaxDnnElements;
  });
}

}  // namespace isthmus::cuda
