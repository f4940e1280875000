// A convolution as cuDNN's descriptors say it, for both interfaces.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cuda/driver/api.h"
#include "backends/cuda/driver/fake/fake_numbers.h"

namespace fake_dnn {

// Of cudnnStatus_t.
constexpr int kOk = 0, kBadParameter = 2000, kNotSupported = 3000, kExecutionFailed = 5000;
constexpr size_t kWorkspaceBytes = 4096;

using Ints = std::vector<int>;

// Of a tensor or of a kernel: batch or results' features, features, space.
struct Array {
  int type = -1;
  Ints dims, strides;
};

struct Convolution {
  Ints padding, strides, dilation;
  int mode = -1, computeType = -1, math = 0, groups = 1;
};

struct Handle {
  isthmus::cuda::CUstream stream = nullptr;
};

// All of one convolution, in the words of the forward pass.
struct Problem {
  Array x, w, y;
  Convolution c;

  size_t axes() const { return c.padding.size(); }
  bool isConsistent() const {
    size_t rank = axes() + 2;
    if (x.dims.size() != rank || w.dims.size() != rank || y.dims.size() != rank) return false;
    // Sums are in f32; 16-bit elements or f32.
    if (c.computeType != 0 || (x.type != 0 && x.type != 2 && x.type != 9)) return false;
    if (x.type != w.type || x.type != y.type) return false;
    if (x.dims[0] != y.dims[0] || w.dims[0] != y.dims[1] || x.dims[1] != w.dims[1] * c.groups ||
        y.dims[1] % c.groups != 0) {
      return false;
    }
    for (size_t i = 0; i < axes(); ++i) {
      int room = x.dims[i + 2] + 2 * c.padding[i] - ((w.dims[i + 2] - 1) * c.dilation[i] + 1);
      if (room < 0 || y.dims[i + 2] != room / c.strides[i] + 1) return false;
    }
    return true;
  }
  // Images are both channels last or not, and kernels like them.
  bool hasOneLayout() const {
    auto isLast = [](const Array& array) { return array.strides[1] == 1 && array.dims[1] > 1; };
    auto isFirst = [](const Array& array) { return array.strides.back() == 1; };
    return (isLast(x) || isFirst(x)) && (!isLast(x) || isLast(y) || y.dims[1] == 1);
  }
};

// By the numbers of cudnnDataType_t.
inline FakeType typeOf(int type) {
  return type == 0 ? FakeType::kF32 : type == 2 ? FakeType::kF16 : FakeType::kBf16;
}

inline float read(int type, const void* data, int64_t i) { return readFake(typeOf(type), data, i); }

inline void write(int type, void* data, int64_t i, float value) {
  writeFake(typeOf(type), data, i, value);
}

inline int64_t elementsOf(const Array& array) {
  int64_t product = 1;
  for (int dim : array.dims) product *= dim;
  return product;
}

// Calls `body(positions in x, w, y)` for each product that the convolution sums.
template <typename Body>
void forEachProduct(const Problem& p, const Body& body) {
  const size_t axes = p.axes();
  const int64_t results = elementsOf(p.y);
  int64_t taps = p.w.dims[1];
  for (size_t i = 0; i < axes; ++i) taps *= p.w.dims[i + 2];
  for (int64_t r = 0; r < results; ++r) {
    Ints y(axes + 2);
    int64_t rest = r;
    for (size_t d = axes + 2; d-- > 0;) {
      y[d] = static_cast<int>(rest % p.y.dims[d]);
      rest /= p.y.dims[d];
    }
    int64_t atY = 0;
    for (size_t d = 0; d < axes + 2; ++d) atY += int64_t{y[d]} * p.y.strides[d];
    int group = y[1] / (p.y.dims[1] / p.c.groups);
    for (int64_t t = 0; t < taps; ++t) {
      rest = t;
      int64_t atX = int64_t{y[0]} * p.x.strides[0], atW = int64_t{y[1]} * p.w.strides[0];
      bool isInside = true;
      for (size_t i = axes; i-- > 0;) {
        int window = p.w.dims[i + 2];
        int tap = static_cast<int>(rest % window);
        rest /= window;
        int at = y[i + 2] * p.c.strides[i] + tap * p.c.dilation[i] - p.c.padding[i];
        isInside &= at >= 0 && at < p.x.dims[i + 2];
        atX += int64_t{at} * p.x.strides[i + 2];
        // Mode 0 is a convolution, 1 a cross-correlation.
        atW += int64_t{p.c.mode == 0 ? window - 1 - tap : tap} * p.w.strides[i + 2];
      }
      atX += (group * p.w.dims[1] + rest) * p.x.strides[1];
      atW += rest * p.w.strides[1];
      if (isInside) body(atX, atW, atY);
    }
  }
}

}  // namespace fake_dnn
