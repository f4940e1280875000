// Arrays and elements.
#include "compiler/reference/tensor.h"

#include <cmath>
#include <cstdio>
#include <cstring>

#include "compiler/reference/scalar/number_format.h"

namespace isthmus::reference {

StatusOr<Tensor> Tensor::make(ArrayType type, std::shared_ptr<MemoryAccount> account) {
  if (!type.isValid()) return invalidArgument("array is too large: ", type.toString());
  Tensor tensor;
  tensor.numElements_ = type.numElements();
  tensor.width_ = elementSizeBytes(type.elementType);
  size_t bytes = type.sizeBytes();
  if (account && static_cast<int64_t>(bytes) > account->maxBytes - account->liveBytes) {
    return resourceExhausted("evaluation needs more than ", account->maxBytes, " bytes, for ",
                             type.toString());
  }
  tensor.type_ = std::move(type);
  tensor.storage_ = std::make_shared<Storage>();
  tensor.storage_->bytes.resize(bytes);
  if (account) account->liveBytes += static_cast<int64_t>(bytes);
  tensor.storage_->account = std::move(account);
  return tensor;
}

Scalar Tensor::get(int64_t position) const {
  const char* source = storage_->bytes.data() + static_cast<size_t>(position) * width_;
  Scalar value;
  ElementType type = type_.elementType;
  if (isComplex(type)) {
    ElementType part = partType(type);
    uint64_t parts[2] = {};
    size_t half = width_ / 2;
    std::memcpy(&parts[0], source, half);
    std::memcpy(&parts[1], source + half, half);
    value.re = decodeFloat(parts[0], part);
    value.im = decodeFloat(parts[1], part);
    return value;
  }
  uint64_t bits = 0;
  std::memcpy(&bits, source, width_);
  if (isFloat(type)) {
    // Types narrower than their byte may come with anything above their own bits.
    if (int width = bitWidth(type); width < 8) bits &= (uint64_t{1} << width) - 1;
    value.re = decodeFloat(bits, type);
  } else {
    value.bits = wrapInteger(bits, type);
  }
  return value;
}

void Tensor::set(int64_t position, const Scalar& value) {
  char* target = storage_->bytes.data() + static_cast<size_t>(position) * width_;
  ElementType type = type_.elementType;
  if (isComplex(type)) {
    ElementType part = partType(type);
    uint64_t parts[2] = {encodeFloat(value.re, part), encodeFloat(value.im, part)};
    size_t half = width_ / 2;
    std::memcpy(target, &parts[0], half);
    std::memcpy(target + half, &parts[1], half);
    return;
  }
  uint64_t bits = isFloat(type) ? encodeFloat(value.re, type) : wrapInteger(value.bits, type);
  std::memcpy(target, &bits, width_);
}

void Tensor::copyElement(int64_t position, const Tensor& source, int64_t sourcePosition) {
  std::memcpy(storage_->bytes.data() + static_cast<size_t>(position) * width_,
              source.storage_->bytes.data() + static_cast<size_t>(sourcePosition) * width_, width_);
}

Tensor Tensor::withType(ArrayType type) const {
  Tensor result = *this;
  result.type_ = std::move(type);
  result.numElements_ = result.type_.numElements();
  result.width_ = elementSizeBytes(result.type_.elementType);
  return result;
}

namespace {

void print(const Tensor& tensor, size_t dimension, int64_t& position, std::string& out) {
  if (dimension == tensor.dims().size()) {
    out += toString(tensor.get(position++), tensor.elementType());
    return;
  }
  out += '[';
  for (int64_t i = 0; i < tensor.dims()[dimension]; ++i) {
    if (i != 0) out += ", ";
    print(tensor, dimension + 1, position, out);
  }
  out += ']';
}

std::string floatText(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

}  // namespace

std::string Tensor::toString() const {
  std::string out = "dense<";
  int64_t position = 0;
  if (numElements_ != 0) print(*this, 0, position, out);
  return out + "> : " + type_.toString();
}

Scalar normalized(const Scalar& value, ElementType type) {
  Scalar result;
  if (isComplex(type)) {
    ElementType part = partType(type);
    result.re = decodeFloat(encodeFloat(value.re, part), part);
    result.im = decodeFloat(encodeFloat(value.im, part), part);
  } else if (isFloat(type)) {
    result.re = decodeFloat(encodeFloat(value.re, type), type);
  } else {
    result.bits = wrapInteger(value.bits, type);
  }
  return result;
}

std::string toString(const Scalar& value, ElementType type) {
  if (isBool(type)) return value.bits != 0 ? "true" : "false";
  if (isSignedInteger(type)) return std::to_string(static_cast<int64_t>(value.bits));
  if (isInteger(type)) return std::to_string(value.bits);
  if (isComplex(type)) return "(" + floatText(value.re) + ", " + floatText(value.im) + ")";
  return floatText(value.re);
}

int64_t positionOf(const Dims& dims, const Index& index) {
  int64_t position = 0;
  for (size_t d = 0; d < dims.size(); ++d) position = position * dims[d] + index[d];
  return position;
}

Status forEachIndex(const Dims& dims,
                    const std::function<Status(const Index& index, int64_t position)>& body) {
  for (int64_t size : dims) {
    if (size == 0) return {};
  }
  Index index(dims.size(), 0);
  for (int64_t position = 0;; ++position) {
    ISTHMUS_RETURN_IF_ERROR(body(index, position));
    size_t d = dims.size();
    while (d > 0 && ++index[d - 1] == dims[d - 1]) index[--d] = 0;
    if (d == 0) return {};
  }
}

bool isInside(const Dims& dims, const Index& index) {
  for (size_t d = 0; d < dims.size(); ++d) {
    if (index[d] < 0 || index[d] >= dims[d]) return false;
  }
  return true;
}

}  // namespace isthmus::reference
