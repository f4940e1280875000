#include "backends/cuda/dnn_attention.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace isthmus::cuda {
namespace {

constexpr int64_t kMaxElements = (int64_t{1} << 31) - 1;

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
  return extents;
}

// Elements that an array reaches over; more than kMaxElements for any such number.
int64_t reachOf(const Extent& extent, int64_t batch) {
  int64_t reach = extent.columns;
  const std::array<std::pair<int64_t, int64_t>, 3> dims = {{{batch, extent.strides.batch},
                                                            {extent.heads, extent.strides.head},
                                                            {extent.rows, extent.strides.row}}};
  for (auto [size, stride] : dims) {
    if (size > 1 && stride > (kMaxElements - std::min(reach, kMaxElements)) / (size - 1)) {
      return kMaxElements + 1;
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
  return std::string(isCausal ? "a causal attention of " : "an attention of ") +
         (type == DnnType::kBf16 ? "bf16" : "f16") + dims(heads, rows, sums) + " over " +
         dims(heads / group, keys, features) + (hasBias ? " with a bias" : "");
}

bool isValid(const DnnAttention& a) {
  for (int64_t size : {a.batch, a.heads, a.group, a.rows, a.keys, a.sums, a.features}) {
    if (size < 1 || size > kMaxElements) return false;
  }
  if ((a.type != DnnType::kF16 && a.type != DnnType::kBf16) || a.heads % a.group != 0 ||
      !isType(a.biasType) || !std::isfinite(a.scale)) {
    return false;
  }
  for (const DnnStrides& strides : {a.query, a.key, a.value, a.bias, a.result}) {
    for (int64_t stride : {strides.batch, strides.head, strides.row}) {
      if (stride < 0 || stride > kMaxElements) return false;
    }
  }
  // What is written is written once.
  if ((a.batch > 1 && a.result.batch == 0) || (a.heads > 1 && a.result.head == 0) ||
      (a.rows > 1 && a.result.row == 0)) {
    return false;
  }
  return std::ranges::all_of(
      extentsOf(a), [&](const Extent& extent) { return reachOf(extent, a.batch) <= kMaxElements; });
}

}  // namespace isthmus::cuda
