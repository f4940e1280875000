// Dense attributes to bytes.
#include "compiler/program/constant_bytes.h"

#include "compiler/dialect/facts/byte_size.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

namespace isthmus {
namespace {

// Signed types are kept sign-extended, the others zero-extended.
void extendNarrowElements(mlir::Type element, std::string& bytes) {
  if (!element.isIntOrFloat()) return;
  unsigned bits = element.getIntOrFloatBitWidth();
  if (bits >= 8 || bits == 1) return;
  unsigned char mask = static_cast<unsigned char>((1u << bits) - 1);
  bool isSigned = element.isSignlessInteger() || element.isSignedInteger();
  for (char& byte : bytes) {
    unsigned char value = static_cast<unsigned char>(byte) & mask;
    if (isSigned && (value >> (bits - 1)) != 0) value |= static_cast<unsigned char>(~mask);
    byte = static_cast<char>(value);
  }
}

}  // namespace

StatusOr<std::string> constantBytes(mlir::Attribute value) {
  auto elements = llvm::dyn_cast<mlir::ElementsAttr>(value);
  if (!elements) return internalError("a constant without elements");
  mlir::Type element = elements.getElementType();
  ISTHMUS_ASSIGN_OR_RETURN(int64_t bytes, byteSize(elements.getShapedType()));
  if (bytes == 0) return std::string();
  int64_t count = elements.getNumElements();
  size_t width = static_cast<size_t>(bytes / count);

  if (auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(value)) {
    mlir::AsmResourceBlob* blob = resource.getRawHandle().getBlob();
    if (!blob || static_cast<int64_t>(blob->getData().size()) != bytes) {
      return internalError("a constant's resource has ", blob ? blob->getData().size() : 0,
                           " bytes, expected ", bytes);
    }
    std::string result(blob->getData().data(), blob->getData().size());
    extendNarrowElements(element, result);
    return result;
  }
  auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(value);
  if (!dense) {
    std::string text;
    llvm::raw_string_ostream(text) << elements.getShapedType();
    return unimplemented("a constant of type ", text, " that is not dense");
  }
  std::string result;
  if (element.isInteger(1)) {
    // MLIR packs these eight to a byte.
    if (dense.isSplat()) return std::string(bytes, dense.getSplatValue<bool>() ? 1 : 0);
    result.reserve(bytes);
    for (bool bit : dense.getValues<bool>()) result.push_back(bit ? 1 : 0);
    return result;
  }
  llvm::ArrayRef<char> raw = dense.getRawData();
  if (dense.isSplat()) {
    if (raw.size() != width) {
      return internalError("a splat has ", raw.size(), " bytes, expected ", width);
    }
    result.resize(bytes);
    for (int64_t i = 0; i < bytes; i += width) std::copy(raw.begin(), raw.end(), &result[i]);
  } else {
    if (static_cast<int64_t>(raw.size()) != bytes) {
      return internalError("a constant has ", raw.size(), " bytes, expected ", bytes);
    }
    result.assign(raw.begin(), raw.end());
  }
  extendNarrowElements(element, result);
  return result;
}

}  // namespace isthmus
