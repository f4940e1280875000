// Convolutions and their gradients as plain data, in the words of the convolution itself.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace isthmus::cuda {

// What is computed from the two others of image, kernel and result. Operands in their order: image
// and kernel; the result's gradient and the kernel; the image and the result's gradient.
enum class DnnKind : int8_t { kForward = 0, kBackwardData = 1, kBackwardFilter = 2 };

// cuDNN counts the elements of an array, and the steps between them, in 32 bits.
inline constexpr int64_t kMaxDnnElements = (int64_t{1} << 31) - 1;
// Spatial dimensions of its convolutions.
inline constexpr size_t kMaxDnnAxes = 3;

// Element types by the numbers of cudnnDataType_t.
enum class DnnType : int { kF32 = 0, kF16 = 2, kBf16 = 9 };

// A spatial dimension: result element r is the sum over w < window of kernel element w times image
// element r * stride + w * dilation - padding, which is zero outside of the image.
struct DnnAxis {
  int64_t image = 1, window = 1, result = 1;
  int64_t padding = 0, stride = 1, dilation = 1;

  auto operator<=>(const DnnAxis&) const = default;
  // Of the numbers of results that fit: as many as there are.
  bool isConsistent() const {
    int64_t room = image + 2 * padding - (window - 1) * dilation - 1;
    return padding >= 0 && room >= 0 && room / stride + 1 == result;
  }
};

// What is done with sums, in this order, before they are rounded to the result's type: a residual
// (an array like the result) and a bias (an element for each of the result's features) are added,
// both of that type; then what is less than zero becomes zero.
struct DnnEpilogue {
  bool hasResidual = false, hasBias = false, hasRelu = false;

  auto operator<=>(const DnnEpilogue&) const = default;
  bool isNone() const { return !hasResidual && !hasBias && !hasRelu; }
  // "bias and ReLU"; empty for none.
  std::string toString() const;
};

// Sums are in f32. Arrays are dense; dimensions in this order: images and results have batch,
// features, space, or with channels last batch, space, features; kernels have results' features,
// features of a group of the image, space, or with channels last results' features, space,
// features.
struct DnnConvolution {
  DnnKind kind = DnnKind::kForward;
  DnnType type = DnnType::kF32;
  bool isTf32 = false;     // elements of f32 may be rounded to 10 bits of fraction
  bool isFlipped = false;  // kernel element w stands for window - 1 - w, in all dimensions
  bool isChannelsLast = false;
  int64_t groups = 1;
  int64_t batch = 1, inputs = 1, outputs = 1;  // images, and features of image and result
  std::vector<DnnAxis> axes;                   // one to three
  DnnEpilogue epilogue;                        // of forward ones

  auto operator<=>(const DnnConvolution&) const = default;
  int64_t imageElements() const;
  int64_t kernelElements() const;
  int64_t resultElements() const;
  // How many are summed.
  double products() const;
  // Of the operands, the residual and the bias if there are such, and the result, in this order.
  std::vector<int64_t> bufferElements() const;
  // "a backward-data convolution of f16[8,64,56,56] by [64,64,3,3] to [8,64,56,56]".
  std::string toString() const;
};

int64_t bytesOf(DnnType type);

// An array as cuDNN describes it: batch, features and space, or results' features, features and
// space, in this order, whatever their order in memory.
struct DnnArray {
  std::vector<int64_t> dims, strides;
};

// A convolution as cuDNN describes it: of two spatial dimensions at least.
struct DnnArrays {
  explicit DnnArrays(const DnnConvolution& convolution);
  // Of the axes, in their order: its strides, for example.
  std::vector<int64_t> numbers(int64_t DnnAxis::* number) const;

  std::vector<DnnAxis> axes;
  DnnArray image, kernel, result, bias;
};

// Whether all numbers are possible and agree, and no array has 2^31 elements.
bool isValid(const DnnConvolution& convolution);

}  // namespace isthmus::cuda
