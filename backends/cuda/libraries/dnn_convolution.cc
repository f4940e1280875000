#include "backends/cuda/libraries/dnn_convolution.h"

#include <algorithm>

namespace isthmus::cuda {
namespace {

int64_t volume(const DnnConvolution& c, int64_t DnnAxis::* size) {
  int64_t product = 1;
  for (const DnnAxis& axis : c.axes) product *= axis.*size;
  return product;
}

// Whether the product is at most kMaxDnnElements; sizes are positive.
bool isSmall(std::initializer_list<int64_t> sizes, const DnnConvolution& c,
             int64_t DnnAxis::* size) {
  int64_t left = kMaxDnnElements;
  for (int64_t one : sizes) left /= one;
  for (const DnnAxis& axis : c.axes) left /= axis.*size;
  return left > 0;
}

std::string dimsText(int64_t first, int64_t second, const DnnConvolution& c,
                     int64_t DnnAxis::* size) {
  std::string text = "[" + std::to_string(first) + "," + std::to_string(second);
  for (const DnnAxis& axis : c.axes) text += "," + std::to_string(axis.*size);
  return text + "]";
}

DnnArray arrayOf(int64_t first, int64_t second, std::vector<int64_t> space, bool isChannelsLast) {
  DnnArray array;
  array.dims = {first, second};
  array.dims.insert(array.dims.end(), space.begin(), space.end());
  array.strides.resize(array.dims.size());
  int64_t stride = 1;
  auto give = [&](size_t d) {
    array.strides[d] = stride;
    stride *= array.dims[d];
  };
  if (isChannelsLast) give(1);
  for (size_t d = array.dims.size(); d-- > 2;) give(d);
  if (!isChannelsLast) give(1);
  give(0);
  return array;
}

}  // namespace

DnnArrays::DnnArrays(const DnnConvolution& c) : axes(c.axes) {
  if (axes.size() == 1) axes.insert(axes.begin(), DnnAxis());
  const bool isLast = c.isChannelsLast;
  image = arrayOf(c.batch, c.inputs, numbers(&DnnAxis::image), isLast);
  kernel = arrayOf(c.outputs, c.inputs / c.groups, numbers(&DnnAxis::window), isLast);
  result = arrayOf(c.batch, c.outputs, numbers(&DnnAxis::result), isLast);
  bias = arrayOf(1, c.outputs, std::vector<int64_t>(axes.size(), 1), isLast);
}

std::vector<int64_t> DnnArrays::numbers(int64_t DnnAxis::* number) const {
  std::vector<int64_t> numbers;
  for (const DnnAxis& axis : axes) numbers.push_back(axis.*number);
  return numbers;
}

std::string DnnEpilogue::toString() const {
  std::string text;
  auto add = [&](bool isThere, const char* name) {
    if (isThere) text += (text.empty() ? "" : " and ") + std::string(name);
  };
  add(hasResidual, "residual");
  add(hasBias, "bias");
  add(hasRelu, "ReLU");
  return text;
}

int64_t bytesOf(DnnType type) { return type == DnnType::kF32 ? 4 : 2; }

int64_t DnnConvolution::imageElements() const {
  return batch * inputs * volume(*this, &DnnAxis::image);
}
int64_t DnnConvolution::kernelElements() const {
  return outputs * (inputs / groups) * volume(*this, &DnnAxis::window);
}
int64_t DnnConvolution::resultElements() const {
  return batch * outputs * volume(*this, &DnnAxis::result);
}

double DnnConvolution::products() const {
  double products = static_cast<double>(batch) * static_cast<double>(kernelElements());
  for (const DnnAxis& axis : axes) products *= static_cast<double>(axis.result);
  return products;
}

std::vector<int64_t> DnnConvolution::bufferElements() const {
  switch (kind) {
    case DnnKind::kForward: {
      std::vector<int64_t> elements = {imageElements(), kernelElements()};
      if (epilogue.hasResidual) elements.push_back(resultElements());
      if (epilogue.hasBias) elements.push_back(outputs);
      elements.push_back(resultElements());
      return elements;
    }
    case DnnKind::kBackwardData:
      return {resultElements(), kernelElements(), imageElements()};
    case DnnKind::kBackwardFilter:
      return {imageElements(), resultElements(), kernelElements()};
  }
  return {};
}

std::string DnnConvolution::toString() const {
  std::string text = kind == DnnKind::kForward        ? "a convolution of "
                     : kind == DnnKind::kBackwardData ? "a backward-data convolution of "
                                                      : "a backward-filter convolution of ";
  text += type == DnnType::kF32 ? "f32" : type == DnnType::kF16 ? "f16" : "bf16";
  return text + dimsText(batch, inputs, *this, &DnnAxis::image) + " by " +
         dimsText(outputs, inputs / groups, *this, &DnnAxis::window) + " to " +
         dimsText(batch, outputs, *this, &DnnAxis::result) +
         (epilogue.isNone() ? "" : " with " + epilogue.toString());
}

bool isValid(const DnnConvolution& c) {
  if (c.kind < DnnKind::kForward || c.kind > DnnKind::kBackwardFilter) return false;
  if (c.type != DnnType::kF32 && c.type != DnnType::kF16 && c.type != DnnType::kBf16) return false;
  if (c.isTf32 && c.type != DnnType::kF32) return false;
  if (!c.epilogue.isNone() && c.kind != DnnKind::kForward) return false;
  if (c.axes.empty() || c.axes.size() > kMaxDnnAxes) return false;
  auto isSize = [](int64_t size) { return size >= 1 && size <= kMaxDnnElements; };
  if (!isSize(c.batch) || !isSize(c.inputs) || !isSize(c.outputs) || !isSize(c.groups) ||
      c.inputs % c.groups != 0 || c.outputs % c.groups != 0) {
    return false;
  }
  for (const DnnAxis& axis : c.axes) {
    // Below 2^31 each: no sum or product of two of them overflows.
    if (!isSize(axis.image) || !isSize(axis.window) || !isSize(axis.result) ||
        !isSize(axis.stride) || !isSize(axis.dilation) || axis.padding < 0 ||
        axis.padding > kMaxDnnElements || !axis.isConsistent()) {
      return false;
    }
  }
  return isSmall({c.batch, c.inputs}, c, &DnnAxis::image) &&
         isSmall({c.outputs, c.inputs / c.groups}, c, &DnnAxis::window) &&
         isSmall({c.batch, c.outputs}, c, &DnnAxis::result);
}

}  // namespace isthmus::cuda
