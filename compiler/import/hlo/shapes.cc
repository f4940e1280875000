// Shapes and literals of HLO as types and constants of MLIR.
#include "compiler/import/hlo/shapes.h"

#include <string>

#include "compiler/dialect/dialect.h"
#include "compiler/import/bytecode/attribute_decoder.h"
#include "isthmus/wire_format.h"

namespace isthmus::importer {
namespace {

// PrimitiveType's numbers.
enum PrimitiveType {
  kPred = 1,
  kS8 = 2,
  kS16 = 3,
  kS32 = 4,
  kS64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF16 = 10,
  kF32 = 11,
  kF64 = 12,
  kTuple = 13,
  kC64 = 15,
  kBF16 = 16,
  kToken = 17,
  kC128 = 18,
  kF8E5M2 = 19,
  kF8E4M3FN = 20,
  kS4 = 21,
  kU4 = 22,
  kF8E4M3B11FNUZ = 23,
  kF8E5M2FNUZ = 24,
  kF8E4M3FNUZ = 25,
  kS2 = 26,
  kU2 = 27,
  kF8E4M3 = 28,
  kF8E3M4 = 29,
  kF4E2M1FN = 32,
  kF8E8M0FNU = 33,
};

mlir::Type elementType(int32_t type, mlir::MLIRContext* context) {
  auto integer = [&](unsigned width) { return mlir::IntegerType::get(context, width); };
  auto unsignedInteger = [&](unsigned width) {
    return mlir::IntegerType::get(context, width, mlir::IntegerType::Unsigned);
  };
  switch (type) {
    case kPred:
      return integer(1);
    case kS2:
      return integer(2);
    case kS4:
      return integer(4);
    case kS8:
      return integer(8);
    case kS16:
      return integer(16);
    case kS32:
      return integer(32);
    case kS64:
      return integer(64);
    case kU2:
      return unsignedInteger(2);
    case kU4:
      return unsignedInteger(4);
    case kU8:
      return unsignedInteger(8);
    case kU16:
      return unsignedInteger(16);
    case kU32:
      return unsignedInteger(32);
    case kU64:
      return unsignedInteger(64);
    case kF16:
      return mlir::Float16Type::get(context);
    case kBF16:
      return mlir::BFloat16Type::get(context);
    case kF32:
      return mlir::Float32Type::get(context);
    case kF64:
      return mlir::Float64Type::get(context);
    case kC64:
      return mlir::ComplexType::get(mlir::Float32Type::get(context));
    case kC128:
      return mlir::ComplexType::get(mlir::Float64Type::get(context));
    case kF8E5M2:
      return mlir::Float8E5M2Type::get(context);
    case kF8E4M3:
      return mlir::Float8E4M3Type::get(context);
    case kF8E4M3FN:
      return mlir::Float8E4M3FNType::get(context);
    case kF8E4M3B11FNUZ:
      return mlir::Float8E4M3B11FNUZType::get(context);
    case kF8E5M2FNUZ:
      return mlir::Float8E5M2FNUZType::get(context);
    case kF8E4M3FNUZ:
      return mlir::Float8E4M3FNUZType::get(context);
    case kF8E3M4:
      return mlir::Float8E3M4Type::get(context);
    case kF4E2M1FN:
      return mlir::Float4E2M1FNType::get(context);
    case kF8E8M0FNU:
      return mlir::Float8E8M0FNUType::get(context);
    default:
      return {};
  }
}

template <typename T>
llvm::ArrayRef<char> bytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

llvm::ArrayRef<char> bytesOf(const std::string& bytes) { return {bytes.data(), bytes.size()}; }

// The elements' bytes, but for booleans, which MLIR packs.
llvm::ArrayRef<char> rawBytes(const hlo::Literal& literal) {
  switch (literal.shape.element_type) {
    case kS2:
      return bytesOf(literal.s2s);
    case kS4:
      return bytesOf(literal.s4s);
    case kS8:
      return bytesOf(literal.s8s);
    case kS16:
      return bytesOf(literal.s16s);
    case kS32:
      return bytesOf(literal.s32s);
    case kS64:
      return bytesOf(literal.s64s);
    case kU2:
      return bytesOf(literal.u2s);
    case kU4:
      return bytesOf(literal.u4s);
    case kU8:
      return bytesOf(literal.u8s);
    case kU16:
      return bytesOf(literal.u16s);
    case kU32:
      return bytesOf(literal.u32s);
    case kU64:
      return bytesOf(literal.u64s);
    case kF16:
      return bytesOf(literal.f16s);
    case kBF16:
      return bytesOf(literal.bf16s);
    case kF32:
      return bytesOf(literal.f32s);
    case kF64:
      return bytesOf(literal.f64s);
    case kC64:
      return bytesOf(literal.c64s);
    case kC128:
      return bytesOf(literal.c128s);
    case kF8E5M2:
      return bytesOf(literal.f8e5m2s);
    case kF8E4M3:
      return bytesOf(literal.f8e4m3s);
    case kF8E4M3FN:
      return bytesOf(literal.f8e4m3fns);
    case kF8E4M3B11FNUZ:
      return bytesOf(literal.f8e4m3b11fnuzs);
    case kF8E5M2FNUZ:
      return bytesOf(literal.f8e5m2fnuzs);
    case kF8E4M3FNUZ:
      return bytesOf(literal.f8e4m3fnuzs);
    case kF8E3M4:
      return bytesOf(literal.f8e3m4s);
    case kF8E8M0FNU:
      return bytesOf(literal.f8e8m0fnus);
    default:
      return {};
  }
}

// Narrow integers come two or four to a byte, the first in the low bits.
std::string unpack(llvm::ArrayRef<char> packed, unsigned bits, size_t count) {
  std::string result(count, 0);
  const unsigned perByte = 8 / bits;
  for (size_t i = 0; i < count && i / perByte < packed.size(); ++i) {
    result[i] =
        (static_cast<uint8_t>(packed[i / perByte]) >> (i % perByte * bits)) & ((1 << bits) - 1);
  }
  return result;
}

bool isRowMajor(const hlo::Shape& shape) {
  const auto& order = shape.layout.minor_to_major;
  for (int64_t i = 0; i < std::ssize(order); ++i) {
    if (order[i] != std::ssize(order) - 1 - i) return false;
  }
  return true;
}

}  // namespace

bool isTuple(const hlo::Shape& shape) { return shape.element_type == kTuple; }

bool appendLeafTypes(const hlo::Shape& shape, mlir::MLIRContext* context, ErrorSink& sink,
                     llvm::SmallVectorImpl<mlir::Type>& types) {
  if (isTuple(shape)) {
    for (const hlo::Shape& part : shape.tuple_shapes) {
      if (!appendLeafTypes(part, context, sink, types)) return false;
    }
    return true;
  }
  if (shape.element_type == kToken) {
    types.push_back(shlo::TokenType::get(context));
    return true;
  }
  mlir::Type element = elementType(shape.element_type, context);
  if (!element) {
    return sink.fail(
        StatusCode::kUnimplemented,
        internal::concatenate("hlo program has a shape of element type ", shape.element_type));
  }
  const llvm::ArrayRef<int64_t> dimensions(shape.dimensions.data(), shape.dimensions.size());
  const bool isStatic = llvm::all_of(dimensions, [](int64_t dim) { return dim >= 0; });
  if (!isStatic || !isReasonableShape(dimensions)) {
    return sink.fail(StatusCode::kInvalidArgument, "hlo program has a shape that is too large");
  }
  // The dimensions of a dynamic shape are bounds.
  llvm::SmallVector<int64_t> sizes(dimensions),
      bounds(dimensions.size(), mlir::ShapedType::kDynamic);
  bool isDynamic = false;
  for (size_t d = 0; d < std::min(sizes.size(), shape.is_dynamic_dimension.size()); ++d) {
    if (shape.is_dynamic_dimension[d] == 0) continue;
    std::swap(sizes[d], bounds[d]);
    isDynamic = true;
  }
  mlir::Attribute encoding;
  if (isDynamic) encoding = shlo::TypeExtensionsAttr::get(context, bounds);
  types.push_back(mlir::RankedTensorType::get(sizes, element, encoding));
  return true;
}

mlir::Attribute toElements(const hlo::Literal& literal, mlir::MLIRContext* context,
                           ErrorSink& sink) {
  llvm::SmallVector<mlir::Type> types;
  if (isTuple(literal.shape) || !appendLeafTypes(literal.shape, context, sink, types)) {
    sink.fail(StatusCode::kUnimplemented, "hlo program has a constant that is a tuple");
    return {};
  }
  auto type = mlir::dyn_cast<mlir::RankedTensorType>(types.front());
  auto malformed = [&]() -> mlir::Attribute {
    sink.fail(StatusCode::kInvalidArgument, "hlo program has a constant of a wrong size");
    return {};
  };
  if (!type) return malformed();
  if (!type.hasStaticShape()) {
    sink.fail(StatusCode::kInvalidArgument, "hlo program has a constant of a dynamic shape");
    return {};
  }
  if (!isRowMajor(literal.shape)) {
    sink.fail(StatusCode::kUnimplemented, "hlo program has a constant that is not row-major");
    return {};
  }
  const uint64_t count = type.getNumElements();
  if (type.getElementType().isInteger(1)) {
    if (static_cast<uint64_t>(literal.preds.size()) != count) return malformed();
    return mlir::DenseElementsAttr::get(
        type, llvm::ArrayRef<bool>(reinterpret_cast<const bool*>(literal.preds.data()),
                                   literal.preds.size()));
  }
  llvm::ArrayRef<char> bytes = rawBytes(literal);
  std::string unpacked;
  const int32_t kind = literal.shape.element_type;
  const unsigned bits = kind == kS2 || kind == kU2 ? 2 : kind == kS4 || kind == kU4 ? 4 : 8;
  if (bits < 8) {
    const uint64_t packedSize = (count + 8 / bits - 1) / (8 / bits);
    if (bytes.size() == packedSize && bytes.size() != count) {
      unpacked = unpack(bytes, bits, count);
      bytes = bytesOf(unpacked);
    }
  }
  bool isSplat = false;
  if (!mlir::DenseElementsAttr::isValidRawBuffer(type, bytes, isSplat) || (isSplat && count != 1)) {
    return malformed();
  }
  return mlir::DenseElementsAttr::getFromRawBuffer(type, bytes);
}

std::string shapeMessage(mlir::TypeRange types, ErrorSink& sink) {
  wire::Writer message;
  if (types.size() != 1) {
    message.varint(2, kTuple);
    for (mlir::Type type : types) message.bytes(4, shapeMessage(type, sink));
    return message.take();
  }
  auto array = llvm::dyn_cast<mlir::RankedTensorType>(types[0]);
  int32_t number = 0;
  for (int32_t i = kPred; array && i <= kF8E8M0FNU && number == 0; ++i) {
    if (elementType(i, array.getContext()) == array.getElementType()) number = i;
  }
  if (number == 0) {
    sink.fail(StatusCode::kUnimplemented, "a type that XLA has no number for");
    return {};
  }
  message.varint(2, static_cast<uint64_t>(number));
  message.packed(3, array.getShape());
  message.packed(6, std::vector<int64_t>(static_cast<size_t>(array.getRank()), 0));
  return message.take();
}

}  // namespace isthmus::importer
