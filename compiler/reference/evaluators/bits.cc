// Constants, and the bits of elements.
#include <cstring>

#include "compiler/dialect/types/type_conversion.h"
#include "compiler/reference/evaluators/evaluators.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus::reference {

StatusOr<Tensor> tensorOf(mlir::Attribute value, std::shared_ptr<MemoryAccount> account) {
  auto elements = llvm::dyn_cast<mlir::ElementsAttr>(value);
  if (!elements) return invalidArgument("a constant without elements");
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType type, toArrayType(elements.getShapedType()));
  ISTHMUS_ASSIGN_OR_RETURN(Tensor tensor, Tensor::make(type, std::move(account)));
  if (tensor.size() == 0) return tensor;
  size_t width = tensor.sizeBytes() / static_cast<size_t>(tensor.size());
  llvm::ArrayRef<char> raw;
  bool isSplat = false;
  if (auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(value)) {
    if (mlir::AsmResourceBlob* blob = resource.getRawHandle().getBlob()) raw = blob->getData();
  } else if (auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(value)) {
    if (type.elementType == ElementType::kPred) {
      // MLIR may pack these eight to a byte.
      int64_t position = 0;
      for (bool bit : dense.getValues<bool>()) tensor.set(position++, scalars::makeBool(bit));
      return tensor;
    }
    raw = dense.getRawData();
    isSplat = dense.isSplat();
  }
  if (raw.size() != (isSplat ? width : tensor.sizeBytes())) {
    return invalidArgument("a constant of type ", type.toString(), " has ", raw.size(), " bytes");
  }
  for (int64_t i = 0; i < tensor.size(); ++i) {
    size_t at = static_cast<size_t>(i) * width;
    std::memcpy(tensor.data() + at, raw.data() + (isSplat ? 0 : at), width);
    // Narrow integers come with any bits above their own.
    if (bitWidth(type.elementType) < 8) tensor.set(i, tensor.get(i));
  }
  return tensor;
}

mlir::DenseElementsAttr attributeOf(const Tensor& tensor, mlir::Type elementType) {
  auto type = mlir::RankedTensorType::get(tensor.dims(), elementType);
  if (tensor.elementType() == ElementType::kPred) {
    llvm::SmallVector<bool> bits;
    for (int64_t i = 0; i < tensor.size(); ++i) bits.push_back(tensor.integer(i) != 0);
    return mlir::DenseElementsAttr::get(type, llvm::ArrayRef<bool>(bits));
  }
  if (tensor.size() == 0) {
    return mlir::DenseElementsAttr::get(type, llvm::ArrayRef<mlir::Attribute>());
  }
  return mlir::DenseElementsAttr::getFromRawBuffer(
      type, llvm::ArrayRef<char>(tensor.data(), tensor.sizeBytes()));
}

Status evaluateConstant(Call& call) {
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result,
                           tensorOf(call.op->getAttr("value"), call.interpreter.memory()));
  call.results.push_back(std::move(result));
  return {};
}

namespace {

// Copies `count` bits, each of any position, from one array of elements to another whose elements
// have other widths; the lowest bits come first.
class BitString {
 public:
  explicit BitString(const Tensor& tensor)
      : tensor_(tensor),
        width_(bitWidth(tensor.elementType())),
        bytes_(tensor.size() == 0 ? 0 : tensor.sizeBytes() / static_cast<size_t>(tensor.size())) {}

  int width() const { return width_; }
  bool get(int64_t bit) const {
    return ((tensor_.data()[byteOf(bit)] >> (bit % width_ % 8)) & 1) != 0;
  }
  void set(Tensor& tensor, int64_t bit) const {
    tensor.data()[byteOf(bit)] |= static_cast<char>(1 << (bit % width_ % 8));
  }

 private:
  size_t byteOf(int64_t bit) const {
    return static_cast<size_t>(bit / width_) * bytes_ + static_cast<size_t>(bit % width_ / 8);
  }
  const Tensor& tensor_;
  int width_;
  size_t bytes_;
};

}  // namespace

Status evaluateBitcastConvert(Call& call) {
  const Tensor& x = call.tensor(0);
  ElementType to = call.resultElementType();
  int from = bitWidth(x.elementType()), width = bitWidth(to);
  Dims dims = x.dims();
  if (width < from) dims.push_back(from / width);
  if (width > from) {
    if (dims.empty() || dims.back() * from != width) {
      return invalidArgument("the last dimension does not hold the bits of one element");
    }
    dims.pop_back();
  }
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(to, dims));
  BitString source(x), target(result);
  for (int64_t bit = 0; bit < x.size() * from; ++bit) {
    if (source.get(bit)) target.set(result, bit);
  }
  // Signed integers narrower than their byte are kept sign-extended.
  if (width < 8) {
    for (int64_t i = 0; i < result.size(); ++i) result.set(i, result.get(i));
  }
  call.results.push_back(std::move(result));
  return {};
}

}  // namespace isthmus::reference
