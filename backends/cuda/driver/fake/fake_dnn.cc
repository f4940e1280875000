// cuDNN's convolutions over the fake driver, from what the descriptors say, as its manual has it.
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cuda/driver/api.h"
#include "backends/cuda/driver/fake/fake_dnn.h"
#include "backends/cuda/driver/fake/fake_numbers.h"
#include "backends/cuda/driver/fake/fake_streams.h"

using isthmus::cuda::CUstream;

namespace {

constexpr int kOk = 0, kBadParameter = 2000, kNotSupported = 3000, kExecutionFailed = 5000;
constexpr size_t kWorkspaceBytes = 4096;
std::atomic<int> questions;

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
  CUstream stream = nullptr;
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
FakeType typeOf(int type) {
  return type == 0 ? FakeType::kF32 : type == 2 ? FakeType::kF16 : FakeType::kBf16;
}

float read(int type, const void* data, int64_t i) { return readFake(typeOf(type), data, i); }

void write(int type, void* data, int64_t i, float value) {
  writeFake(typeOf(type), data, i, value);
}

int64_t elementsOf(const Array& array) {
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

// cudnnConvolution*AlgoPerf_t.
struct Choice {
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, math, reserved[3];
};

Problem problemOf(const void* x, const void* w, const void* convolution, const void* y) {
  return {*static_cast<const Array*>(x), *static_cast<const Array*>(w),
          *static_cast<const Array*>(y), *static_cast<const Convolution*>(convolution)};
}

// The fastest ones are of no use: they spread infinities, need what is not there or add in any
// order. 1 is the one that is to be taken.
int choicesOf(const Problem& p, bool isForward, int wanted, int* found, Choice* choices) {
  ++questions;
  if (!p.isConsistent()) return kBadParameter;
  if (!p.hasOneLayout() || wanted < 4) return kNotSupported;
  // For tests of refusals: of everything, of features last, of features first.
  bool isChannelsLast = p.x.strides[1] == 1;
  if (p.x.dims[1] == 13 || p.x.dims[1] == (isChannelsLast ? 26 : 39)) return kNotSupported;
  choices[0] = {isForward ? 6 : 4, 0, 1, 0, 1, p.c.math, {}};
  choices[1] = {1, kNotSupported, -1, 0, 1, p.c.math, {}};
  choices[2] = {isForward ? 7 : 0, 0, 2, 0, isForward ? 1 : 0, p.c.math, {}};
  choices[3] = {1, 0, 3, kWorkspaceBytes, 1, p.c.math, {}};
  *found = 4;
  return kOk;
}

int workspaceOf(const Problem& p, int algorithm, size_t* bytes) {
  if (!p.isConsistent() || algorithm != 1) return kBadParameter;
  *bytes = kWorkspaceBytes;
  return kOk;
}

// Puts sums on the handle's stream; `positions` says which of three is the result's.
enum class Result { kX, kW, kY };
int convolve(void* handle, const Problem& p, Result which, const void* alpha, const void* beta,
             const void* first, const void* second, void* result, int algorithm,
             const void* workspace, size_t workspaceBytes) {
  float one, zero;
  std::memcpy(&one, alpha, 4);
  std::memcpy(&zero, beta, 4);
  if (one != 1 || zero != 0 || algorithm != 1 || !p.isConsistent()) return kBadParameter;
  if (!workspace || workspaceBytes < kWorkspaceBytes ||
      reinterpret_cast<uintptr_t>(workspace) % 256 != 0) {
    return kBadParameter;
  }
  // For a test of a failure.
  if (p.x.dims[0] == 11) return kExecutionFailed;
  std::string what = which == Result::kY   ? "convolution forward"
                     : which == Result::kX ? "convolution backward data"
                                           : "convolution backward filter";
  // Of f32 only where the program allows it: 3 is FMA alone.
  if (p.x.type == 0 && p.c.math != 3) what += " of tf32";
  what += p.x.strides[1] == 1 ? " NHWC" : " NCHW";
  fake_cuda_enqueue(static_cast<Handle*>(handle)->stream, what, [=] {
    const Array& made = which == Result::kX ? p.x : which == Result::kW ? p.w : p.y;
    const int type = made.type;
    std::vector<float> sums(static_cast<size_t>(elementsOf(made)));
    forEachProduct(p, [&](int64_t x, int64_t w, int64_t y) {
      switch (which) {
        case Result::kY:
          sums[static_cast<size_t>(y)] += read(type, first, x) * read(type, second, w);
          break;
        case Result::kX:
          sums[static_cast<size_t>(x)] += read(type, first, w) * read(type, second, y);
          break;
        case Result::kW:
          sums[static_cast<size_t>(w)] += read(type, first, x) * read(type, second, y);
          break;
      }
    });
    for (size_t i = 0; i < sums.size(); ++i) write(type, result, static_cast<int64_t>(i), sums[i]);
  });
  return kOk;
}

}  // namespace

extern "C" {

int fake_dnn_questions() { return questions; }

int cudnnCreate(void** handle) {
  static Handle one;
  *handle = &one;
  return kOk;
}
int cudnnSetStream(void* handle, CUstream stream) {
  static_cast<Handle*>(handle)->stream = stream;
  return kOk;
}
const char* cudnnGetErrorString(int code) {
  return code == kNotSupported      ? "CUDNN_STATUS_NOT_SUPPORTED"
         : code == kExecutionFailed ? "CUDNN_STATUS_EXECUTION_FAILED"
                                    : "CUDNN_STATUS_BAD_PARAM";
}
int cudnnCreateTensorDescriptor(void** made) {
  *made = new Array;
  return kOk;
}
int cudnnSetTensorNdDescriptor(void* made, int type, int rank, const int* dims,
                               const int* strides) {
  // Images have two spatial dimensions or three.
  if (rank < 4 || rank > 5) return kBadParameter;
  *static_cast<Array*>(made) = {type, Ints(dims, dims + rank), Ints(strides, strides + rank)};
  return kOk;
}
int cudnnDestroyTensorDescriptor(void* made) {
  delete static_cast<Array*>(made);
  return kOk;
}
int cudnnCreateFilterDescriptor(void** made) { return cudnnCreateTensorDescriptor(made); }
int cudnnSetFilterNdDescriptor(void* made, int type, int format, int rank, const int* dims) {
  if (rank < 4 || rank > 5 || (format != 0 && format != 1)) return kBadParameter;
  Array array{type, Ints(dims, dims + rank), Ints(static_cast<size_t>(rank))};
  // KCRS, or KRSC; the sizes come in the same order for both.
  Ints order{0, 1};
  for (int d = 2; d < rank; ++d) order.insert(format == 1 ? order.end() - 1 : order.end(), d);
  int stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    auto d = static_cast<size_t>(order[i]);
    array.strides[d] = stride;
    stride *= array.dims[d];
  }
  *static_cast<Array*>(made) = array;
  return kOk;
}
int cudnnDestroyFilterDescriptor(void* made) { return cudnnDestroyTensorDescriptor(made); }
int cudnnCreateConvolutionDescriptor(void** made) {
  *made = new Convolution;
  return kOk;
}
int cudnnSetConvolutionNdDescriptor(void* made, int axes, const int* padding, const int* strides,
                                    const int* dilation, int mode, int computeType) {
  for (int i = 0; i < axes; ++i) {
    if (padding[i] < 0 || strides[i] < 1 || dilation[i] < 1) return kBadParameter;
  }
  *static_cast<Convolution*>(made) = {Ints(padding, padding + axes), Ints(strides, strides + axes),
                                      Ints(dilation, dilation + axes), mode, computeType};
  return kOk;
}
int cudnnSetConvolutionGroupCount(void* made, int groups) {
  static_cast<Convolution*>(made)->groups = groups;
  return kOk;
}
int cudnnSetConvolutionMathType(void* made, int math) {
  static_cast<Convolution*>(made)->math = math;
  return kOk;
}
int cudnnDestroyConvolutionDescriptor(void* made) {
  delete static_cast<Convolution*>(made);
  return kOk;
}

int cudnnGetConvolutionForwardAlgorithm_v7(void*, void* x, void* w, void* c, void* y, int wanted,
                                           int* found, Choice* choices) {
  return choicesOf(problemOf(x, w, c, y), true, wanted, found, choices);
}
int cudnnGetConvolutionForwardWorkspaceSize(void*, void* x, void* w, void* c, void* y,
                                            int algorithm, size_t* bytes) {
  return workspaceOf(problemOf(x, w, c, y), algorithm, bytes);
}
int cudnnConvolutionForward(void* handle, const void* alpha, void* x, const void* xData, void* w,
                            const void* wData, void* c, int algorithm, void* workspace,
                            size_t bytes, const void* beta, void* y, void* yData) {
  return convolve(handle, problemOf(x, w, c, y), Result::kY, alpha, beta, xData, wData, yData,
                  algorithm, workspace, bytes);
}
int cudnnGetConvolutionBackwardDataAlgorithm_v7(void*, void* w, void* y, void* c, void* x,
                                                int wanted, int* found, Choice* choices) {
  return choicesOf(problemOf(x, w, c, y), false, wanted, found, choices);
}
int cudnnGetConvolutionBackwardDataWorkspaceSize(void*, void* w, void* y, void* c, void* x,
                                                 int algorithm, size_t* bytes) {
  return workspaceOf(problemOf(x, w, c, y), algorithm, bytes);
}
int cudnnConvolutionBackwardData(void* handle, const void* alpha, void* w, const void* wData,
                                 void* y, const void* yData, void* c, int algorithm,
                                 void* workspace, size_t bytes, const void* beta, void* x,
                                 void* xData) {
  return convolve(handle, problemOf(x, w, c, y), Result::kX, alpha, beta, wData, yData, xData,
                  algorithm, workspace, bytes);
}
int cudnnGetConvolutionBackwardFilterAlgorithm_v7(void*, void* x, void* y, void* c, void* w,
                                                  int wanted, int* found, Choice* choices) {
  return choicesOf(problemOf(x, w, c, y), false, wanted, found, choices);
}
int cudnnGetConvolutionBackwardFilterWorkspaceSize(void*, void* x, void* y, void* c, void* w,
                                                   int algorithm, size_t* bytes) {
  return workspaceOf(problemOf(x, w, c, y), algorithm, bytes);
}
int cudnnConvolutionBackwardFilter(void* handle, const void* alpha, void* x, const void* xData,
                                   void* y, const void* yData, void* c, int algorithm,
                                   void* workspace, size_t bytes, const void* beta, void* w,
                                   void* wData) {
  return convolve(handle, problemOf(x, w, c, y), Result::kW, alpha, beta, xData, yData, wData,
                  algorithm, workspace, bytes);
}

}  // extern "C"
