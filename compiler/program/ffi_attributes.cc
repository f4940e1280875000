#include "compiler/program/ffi_attributes.h"

#include <string>

#include "compiler/dialect/types/type_conversion.h"
#include "compiler/program/constant_bytes.h"
#include "llvm/ADT/APInt.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus {
namespace {

using Kind = ffi::Attribute::Kind;

// The value in as many bytes as its type has in memory.
std::string littleEndian(const llvm::APInt& value) {
  unsigned bytes = (value.getBitWidth() + 7) / 8;
  llvm::APInt wide = value.zextOrTrunc(bytes * 8);
  return std::string(reinterpret_cast<const char*>(wide.getRawData()), bytes);
}

StatusOr<ffi::Attribute> scalar(mlir::Type type, const llvm::APInt& value) {
  ffi::Attribute result;
  result.kind = Kind::kScalar;
  result.type = type.isIndex() ? ElementType::kS64 : toElementType(type);
  result.bytes = littleEndian(value);
  return result;
}

StatusOr<ffi::Attribute> convert(mlir::Attribute attribute);

// A list of numbers of one type.
StatusOr<ffi::Attribute> convertList(mlir::ArrayAttr list) {
  ffi::Attribute result;
  result.kind = Kind::kArray;
  result.type = ElementType::kS64;
  for (auto [i, element] : llvm::enumerate(list)) {
    ISTHMUS_ASSIGN_OR_RETURN(ffi::Attribute value, convert(element));
    if (value.kind != Kind::kScalar || (i != 0 && value.type != result.type)) {
      return unimplemented("a list attribute that is not of numbers of one type");
    }
    result.type = value.type;
    result.bytes += value.bytes;
  }
  return result;
}

StatusOr<ffi::Attribute> convert(mlir::Attribute attribute) {
  ffi::Attribute result;
  if (auto integer = llvm::dyn_cast<mlir::IntegerAttr>(attribute)) {
    ISTHMUS_ASSIGN_OR_RETURN(result, scalar(integer.getType(), integer.getValue()));
  } else if (auto number = llvm::dyn_cast<mlir::FloatAttr>(attribute)) {
    ISTHMUS_ASSIGN_OR_RETURN(result, scalar(number.getType(), number.getValue().bitcastToAPInt()));
  } else if (auto text = llvm::dyn_cast<mlir::StringAttr>(attribute)) {
    result.kind = Kind::kString;
    result.bytes = text.getValue().str();
    return result;
  } else if (auto dictionary = llvm::dyn_cast<mlir::DictionaryAttr>(attribute)) {
    result.kind = Kind::kDictionary;
    ISTHMUS_ASSIGN_OR_RETURN(result.entries, ffiAttributes(dictionary));
    return result;
  } else if (auto array = llvm::dyn_cast<mlir::DenseArrayAttr>(attribute)) {
    result.kind = Kind::kArray;
    result.type = toElementType(array.getElementType());
    result.bytes = std::string(array.getRawData().data(), array.getRawData().size());
  } else if (auto elements = llvm::dyn_cast<mlir::ElementsAttr>(attribute)) {
    result.kind = Kind::kArray;
    result.type = toElementType(elements.getElementType());
    ISTHMUS_ASSIGN_OR_RETURN(result.bytes, constantBytes(attribute));
  } else if (auto list = llvm::dyn_cast<mlir::ArrayAttr>(attribute)) {
    return convertList(list);
  }
  if (ffi::toDataType(result.type) == XLA_FFI_DataType_INVALID) {
    std::string shown;
    llvm::raw_string_ostream(shown) << attribute;
    return unimplemented("the attribute value ", shown);
  }
  return result;
}

}  // namespace

StatusOr<std::vector<ffi::Attribute>> ffiAttributes(mlir::DictionaryAttr dictionary) {
  std::vector<ffi::Attribute> result;
  for (mlir::NamedAttribute named : dictionary) {
    StatusOr<ffi::Attribute> value = convert(named.getValue());
    if (!value.ok()) {
      return value.status().withContext("attribute " + named.getName().str());
    }
    value->name = named.getName().str();
    result.push_back(*std::move(value));
  }
  return result;
}

}  // namespace isthmus
