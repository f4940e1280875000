// cuDNN's convolutions over the fake driver, from what the descriptors say, as its manual has it.
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cuda/driver/api.h"
#include "backends/cuda/driver/fake/fake_convolution.h"
#include "backends/cuda/driver/fake/fake_dnn.h"
#include "backends/cuda/driver/fake/fake_streams.h"

using isthmus::cuda::CUstream;

namespace {

using namespace fake_dnn;

std::atomic<int> questions;

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
  fake_dnn_asked();
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

void fake_dnn_asked() { ++questions; }

extern "C" {

int fake_dnn_questions() { return questions; }

size_t cudnnGetVersion() { return 91900; }
static std::atomic<int> failure, failingHandles;
void fake_dnn_fail(int status, int handles) {
  failure = status;
  failingHandles = handles;
}
int cudnnCreate(void** handle) {
  if (failingHandles > 0) return --failingHandles, failure;
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
