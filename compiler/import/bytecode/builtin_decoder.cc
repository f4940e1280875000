// The builtin dialect's encoding of attributes and types.
#include <bit>

#include "compiler/import/bytecode/attribute_decoder.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus::importer {
namespace {

// The codes are part of MLIR's bytecode format.
enum AttributeCode : uint64_t {
  kArray = 0,
  kDictionary = 1,
  kString = 2,
  kStringWithType = 3,
  kFlatSymbolRef = 4,
  kSymbolRef = 5,
  kType = 6,
  kUnit = 7,
  kInteger = 8,
  kFloat = 9,
  kCallSiteLoc = 10,
  kFileLineColLoc = 11,
  kFusedLoc = 12,
  kFusedLocWithMetadata = 13,
  kNameLoc = 14,
  kUnknownLoc = 15,
  kDenseArray = 17,
  kDenseElements = 18,
  kFileLineColRange = 22,
};

enum TypeCode : uint64_t {
  kIntegerType = 0,
  kIndexType = 1,
  kFunctionType = 2,
  kBF16Type = 3,
  kF16Type = 4,
  kF32Type = 5,
  kF64Type = 6,
  kComplexType = 9,
  kNoneType = 12,
  kRankedTensorType = 13,
  kRankedTensorTypeWithEncoding = 14,
  kTupleType = 15,
  kUnrankedTensorType = 18,
  kFloat8E5M2Type = 22,
  kFloat8E4M3Type = 23,
  kFloat8E4M3FNType = 24,
  kFloat8E5M2FNUZType = 25,
  kFloat8E4M3FNUZType = 26,
  kFloat8E4M3B11FNUZType = 27,
  kFloat8E3M4Type = 28,
  kFloat4E2M1FNType = 29,
  kFloat6E2M3FNType = 30,
  kFloat6E3M2FNType = 31,
  kFloat8E8M0FNUType = 32,
};

mlir::Attribute decodeSymbolRef(DecodeStream& in, bool isFlat) {
  mlir::StringAttr root;
  if (!in.attribute(root)) return {};
  if (isFlat) return mlir::FlatSymbolRefAttr::get(root);
  llvm::SmallVector<mlir::FlatSymbolRefAttr> nested;
  if (!in.attributes(nested)) return {};
  return mlir::SymbolRefAttr::get(root, nested);
}

mlir::Attribute decodeFusedLoc(DecodeStream& in, bool hasMetadata) {
  llvm::SmallVector<mlir::LocationAttr> parts;
  mlir::Attribute metadata;
  if (!in.attributes(parts) || (hasMetadata && !in.attribute(metadata))) return {};
  llvm::SmallVector<mlir::Location> locations(parts.begin(), parts.end());
  return mlir::FusedLoc::get(locations, metadata, in.getContext());
}

mlir::Attribute decodeFileLineColRange(DecodeStream& in) {
  mlir::StringAttr file;
  llvm::SmallVector<uint64_t> at;
  if (!in.attribute(file) ||
      !in.list(at, [&](uint64_t& value) { return in.cursor().varInt(value); })) {
    return {};
  }
  switch (at.size()) {
    case 0:
      return mlir::FileLineColRange::get(file);
    case 1:
      return mlir::FileLineColRange::get(file, at[0]);
    case 2:
      return mlir::FileLineColRange::get(file, at[0], at[1]);
    case 3:
      return mlir::FileLineColRange::get(file, at[0], at[1], at[2]);
    case 4:
      return mlir::FileLineColRange::get(file, at[0], at[1], at[2], at[3]);
    default:
      return in.cursor().fail("has a location of more than four numbers"), nullptr;
  }
}

mlir::Attribute decodeDenseArray(DecodeStream& in) {
  mlir::Type type;
  uint64_t size;
  llvm::ArrayRef<char> bytes;
  if (!in.type(type) || !in.cursor().varInt(size) || !in.blob(bytes)) return {};
  if (!type.isIntOrFloat()) return in.cursor().fail("has an array of a wrong type"), nullptr;
  const uint64_t elementBytes = type.isInteger(1) ? 1 : (type.getIntOrFloatBitWidth() + 7) / 8;
  if (bytes.size() % elementBytes != 0 || bytes.size() / elementBytes != size) {
    return in.cursor().fail("has an array of a wrong size"), nullptr;
  }
  return mlir::DenseArrayAttr::getChecked(reportAt(in), type, size, bytes);
}

mlir::Type decodeIntegerType(DecodeStream& in) {
  uint64_t widthAndSign;
  if (!in.cursor().varInt(widthAndSign)) return {};
  const uint64_t width = widthAndSign >> 2;
  const uint64_t sign = widthAndSign & 3;
  if (width > 64 || !std::has_single_bit(width) || sign > mlir::IntegerType::Unsigned) {
    return in.cursor().fail("has an integer type of an unsupported width"), nullptr;
  }
  return mlir::IntegerType::get(in.getContext(), width,
                                static_cast<mlir::IntegerType::SignednessSemantics>(sign));
}

}  // namespace

bool isReasonableShape(llvm::ArrayRef<int64_t> shape) {
  // 16 bytes is the widest element, complex<f64>.
  constexpr int64_t kMaxElements = int64_t{1} << 58;
  // The verifier's rules and the passes take time that grows with a power of the rank.
  constexpr size_t kMaxRank = 1024;
  if (shape.size() > kMaxRank) return false;
  int64_t elements = 1;
  for (int64_t dim : shape) {
    if (mlir::ShapedType::isDynamic(dim) || dim == 0) continue;
    // Counted as if there were no zero: products of some of the dimensions must fit too.
    if (dim < 0 || __builtin_mul_overflow(elements, dim, &elements) || elements > kMaxElements) {
      return false;
    }
  }
  return true;
}

mlir::Type makeTensorType(DecodeStream& in, llvm::ArrayRef<int64_t> shape, mlir::Type elementType,
                          mlir::Attribute encoding) {
  if (!isReasonableShape(shape)) {
    return in.cursor().fail("has a tensor that is too large or has a negative dimension"), nullptr;
  }
  return mlir::RankedTensorType::getChecked(reportAt(in), shape, elementType, encoding);
}

bool failUnknownCode(DecodeStream& in, std::string_view what, uint64_t code) {
  return in.decoder().sink().fail(
      StatusCode::kUnimplemented,
      internal::concatenate("program bytecode has ", what, " of code ", code));
}

mlir::Attribute decodeArray(DecodeStream& in) {
  llvm::SmallVector<mlir::Attribute> elements;
  if (!in.attributes(elements)) return {};
  return mlir::ArrayAttr::get(in.getContext(), elements);
}

mlir::Attribute decodeTypeAttribute(DecodeStream& in) {
  mlir::Type type;
  if (!in.type(type)) return {};
  return mlir::TypeAttr::get(type);
}

mlir::Attribute decodeDictionary(DecodeStream& in) {
  llvm::SmallVector<mlir::NamedAttribute> entries;
  uint64_t count;
  if (!in.cursor().count(count)) return {};
  entries.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    mlir::StringAttr name;
    mlir::Attribute value;
    if (!in.attribute(name) || !in.attribute(value)) return {};
    if (name.empty()) return in.cursor().fail("has an attribute without a name"), nullptr;
    entries.emplace_back(name, value);
  }
  if (mlir::DictionaryAttr::findDuplicate(entries, /*isSorted=*/false)) {
    return in.cursor().fail("has the same attribute twice in a dictionary"), nullptr;
  }
  return mlir::DictionaryAttr::get(in.getContext(), entries);
}

mlir::Attribute decodeInteger(DecodeStream& in) {
  mlir::Type type;
  if (!in.type(type)) return {};
  if (!type.isIntOrIndex()) {
    return in.cursor().fail("has an integer of a type that is not one"), nullptr;
  }
  const unsigned width =
      type.isIndex() ? mlir::IndexType::kInternalStorageBitWidth : type.getIntOrFloatBitWidth();
  llvm::APInt value;
  if (!in.apInt(width, value)) return {};
  return mlir::IntegerAttr::get(type, value);
}

mlir::Attribute decodeFloat(DecodeStream& in) {
  mlir::Type type;
  if (!in.type(type)) return {};
  auto floatType = mlir::dyn_cast<mlir::FloatType>(type);
  if (!floatType) return in.cursor().fail("has a float of a type that is not one"), nullptr;
  llvm::APFloat value(floatType.getFloatSemantics());
  if (!in.apFloat(floatType.getFloatSemantics(), value)) return {};
  return mlir::FloatAttr::get(type, value);
}

mlir::Type decodeFunctionType(DecodeStream& in) {
  llvm::SmallVector<mlir::Type> inputs, results;
  if (!in.types(inputs) || !in.types(results)) return {};
  return mlir::FunctionType::get(in.getContext(), inputs, results);
}

mlir::Type decodeComplexType(DecodeStream& in) {
  mlir::Type element;
  if (!in.type(element)) return {};
  return mlir::ComplexType::getChecked(reportAt(in), element);
}

mlir::Type decodeTensorType(DecodeStream& in, bool hasEncoding) {
  mlir::Attribute encoding;
  llvm::SmallVector<int64_t> shape;
  mlir::Type elementType;
  if ((hasEncoding && !in.attribute(encoding)) || !in.signedVarInts(shape) ||
      !in.type(elementType)) {
    return {};
  }
  return makeTensorType(in, shape, elementType, encoding);
}

mlir::Type decodeTupleType(DecodeStream& in) {
  llvm::SmallVector<mlir::Type> elements;
  if (!in.types(elements)) return {};
  return mlir::TupleType::get(in.getContext(), elements);
}

mlir::Type decodeUnrankedTensorType(DecodeStream& in) {
  mlir::Type element;
  if (!in.type(element)) return {};
  return mlir::UnrankedTensorType::getChecked(reportAt(in), element);
}

mlir::Attribute decodeDenseElements(DecodeStream& in) {
  mlir::Type type;
  llvm::ArrayRef<char> bytes;
  if (!in.type(type) || !in.blob(bytes)) return {};
  auto shaped = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (!shaped || !shaped.hasStaticShape()) {
    return in.cursor().fail("has a constant without a static shape"), nullptr;
  }
  mlir::Type element = shaped.getElementType();
  if (auto complex = mlir::dyn_cast<mlir::ComplexType>(element)) element = complex.getElementType();
  if (!element.isIntOrIndexOrFloat()) {
    return in.cursor().fail("has a constant of an unsupported element type"), nullptr;
  }
  bool isSplat = false;
  llvm::SmallVector<char> packed;
  if (!mlir::DenseElementsAttr::isValidRawBuffer(shaped, bytes, isSplat)) {
    // Some early artifacts store a byte per boolean and not a bit.
    const bool isByteBooleans = shaped.getElementType().isInteger(1) &&
                                static_cast<uint64_t>(shaped.getNumElements()) == bytes.size();
    if (!isByteBooleans) return in.cursor().fail("has a constant of a wrong size"), nullptr;
    packed.resize((bytes.size() + 7) / 8);
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i]) packed[i / 8] |= 1 << (i % 8);
    }
    bytes = packed;
  }
  return mlir::DenseElementsAttr::getFromRawBuffer(shaped, bytes);
}

mlir::Attribute decodeBuiltinAttribute(DecodeStream& in) {
  mlir::MLIRContext* context = in.getContext();
  uint64_t code;
  if (!in.cursor().varInt(code)) return {};
  switch (code) {
    case kArray:
      return decodeArray(in);
    case kDictionary:
      return decodeDictionary(in);
    case kString:
    case kStringWithType: {
      llvm::StringRef value;
      mlir::Type type = mlir::NoneType::get(context);
      if (!in.string(value) || (code == kStringWithType && !in.type(type))) return {};
      return mlir::StringAttr::get(value, type);
    }
    case kFlatSymbolRef:
    case kSymbolRef:
      return decodeSymbolRef(in, code == kFlatSymbolRef);
    case kType:
      return decodeTypeAttribute(in);
    case kUnit:
      return mlir::UnitAttr::get(context);
    case kInteger:
      return decodeInteger(in);
    case kFloat:
      return decodeFloat(in);
    case kCallSiteLoc: {
      mlir::LocationAttr callee, caller;
      if (!in.attribute(callee) || !in.attribute(caller)) return {};
      return mlir::CallSiteLoc::get(callee, caller);
    }
    case kFileLineColLoc: {
      mlir::StringAttr file;
      uint64_t line, column;
      if (!in.attribute(file) || !in.cursor().varInt(line) || !in.cursor().varInt(column)) {
        return {};
      }
      return mlir::FileLineColLoc::get(file, line, column);
    }
    case kFusedLoc:
    case kFusedLocWithMetadata:
      return decodeFusedLoc(in, code == kFusedLocWithMetadata);
    case kNameLoc: {
      mlir::StringAttr name;
      mlir::LocationAttr child;
      if (!in.attribute(name) || !in.attribute(child)) return {};
      return mlir::NameLoc::get(name, child);
    }
    case kUnknownLoc:
      return mlir::UnknownLoc::get(context);
    case kDenseArray:
      return decodeDenseArray(in);
    case kDenseElements:
      return decodeDenseElements(in);
    case kFileLineColRange:
      return decodeFileLineColRange(in);
    default:
      return failUnknownCode(in, "a builtin attribute", code), nullptr;
  }
}

mlir::Type decodeBuiltinType(DecodeStream& in) {
  mlir::MLIRContext* context = in.getContext();
  uint64_t code;
  if (!in.cursor().varInt(code)) return {};
  switch (code) {
    case kIntegerType:
      return decodeIntegerType(in);
    case kIndexType:
      return mlir::IndexType::get(context);
    case kFunctionType:
      return decodeFunctionType(in);
    case kBF16Type:
      return mlir::BFloat16Type::get(context);
    case kF16Type:
      return mlir::Float16Type::get(context);
    case kF32Type:
      return mlir::Float32Type::get(context);
    case kF64Type:
      return mlir::Float64Type::get(context);
    case kFloat8E5M2Type:
      return mlir::Float8E5M2Type::get(context);
    case kFloat8E4M3Type:
      return mlir::Float8E4M3Type::get(context);
    case kFloat8E4M3FNType:
      return mlir::Float8E4M3FNType::get(context);
    case kFloat8E5M2FNUZType:
      return mlir::Float8E5M2FNUZType::get(context);
    case kFloat8E4M3FNUZType:
      return mlir::Float8E4M3FNUZType::get(context);
    case kFloat8E4M3B11FNUZType:
      return mlir::Float8E4M3B11FNUZType::get(context);
    case kFloat8E3M4Type:
      return mlir::Float8E3M4Type::get(context);
    case kFloat4E2M1FNType:
      return mlir::Float4E2M1FNType::get(context);
    case kFloat6E2M3FNType:
      return mlir::Float6E2M3FNType::get(context);
    case kFloat6E3M2FNType:
      return mlir::Float6E3M2FNType::get(context);
    case kFloat8E8M0FNUType:
      return mlir::Float8E8M0FNUType::get(context);
    case kComplexType:
      return decodeComplexType(in);
    case kNoneType:
      return mlir::NoneType::get(context);
    case kRankedTensorType:
    case kRankedTensorTypeWithEncoding:
      return decodeTensorType(in, code == kRankedTensorTypeWithEncoding);
    case kTupleType:
      return decodeTupleType(in);
    case kUnrankedTensorType:
      return decodeUnrankedTensorType(in);
    default:
      return failUnknownCode(in, "a builtin type", code), nullptr;
  }
}

}  // namespace isthmus::importer
