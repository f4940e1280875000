#include "runtime/ffi/attributes.h"

#include <algorithm>
#include <cstring>

namespace isthmus::ffi {

XLA_FFI_DataType toDataType(ElementType type) {
  switch (type) {
    case ElementType::kPred:
      return XLA_FFI_DataType_PRED;
    case ElementType::kS1:
      return XLA_FFI_DataType_S1;
    case ElementType::kS2:
      return XLA_FFI_DataType_S2;
    case ElementType::kS4:
      return XLA_FFI_DataType_S4;
    case ElementType::kS8:
      return XLA_FFI_DataType_S8;
    case ElementType::kS16:
      return XLA_FFI_DataType_S16;
    case ElementType::kS32:
      return XLA_FFI_DataType_S32;
    case ElementType::kS64:
      return XLA_FFI_DataType_S64;
    case ElementType::kU1:
      return XLA_FFI_DataType_U1;
    case ElementType::kU2:
      return XLA_FFI_DataType_U2;
    case ElementType::kU4:
      return XLA_FFI_DataType_U4;
    case ElementType::kU8:
      return XLA_FFI_DataType_U8;
    case ElementType::kU16:
      return XLA_FFI_DataType_U16;
    case ElementType::kU32:
      return XLA_FFI_DataType_U32;
    case ElementType::kU64:
      return XLA_FFI_DataType_U64;
    case ElementType::kF16:
      return XLA_FFI_DataType_F16;
    case ElementType::kF32:
      return XLA_FFI_DataType_F32;
    case ElementType::kF64:
      return XLA_FFI_DataType_F64;
    case ElementType::kBF16:
      return XLA_FFI_DataType_BF16;
    case ElementType::kC64:
      return XLA_FFI_DataType_C64;
    case ElementType::kC128:
      return XLA_FFI_DataType_C128;
    case ElementType::kToken:
      return XLA_FFI_DataType_TOKEN;
    case ElementType::kF8E5M2:
      return XLA_FFI_DataType_F8E5M2;
    case ElementType::kF8E4M3:
      return XLA_FFI_DataType_F8E4M3;
    case ElementType::kF8E4M3FN:
      return XLA_FFI_DataType_F8E4M3FN;
    case ElementType::kF8E4M3B11FNUZ:
      return XLA_FFI_DataType_F8E4M3B11FNUZ;
    case ElementType::kF8E5M2FNUZ:
      return XLA_FFI_DataType_F8E5M2FNUZ;
    case ElementType::kF8E4M3FNUZ:
      return XLA_FFI_DataType_F8E4M3FNUZ;
    case ElementType::kF8E3M4:
      return XLA_FFI_DataType_F8E3M4;
    case ElementType::kF8E8M0FNU:
      return XLA_FFI_DataType_F8E8M0FNU;
    case ElementType::kF4E2M1FN:
      return XLA_FFI_DataType_F4E2M1FN;
    default:
      return XLA_FFI_DataType_INVALID;
  }
}

AttributeFrame::AttributeFrame(const std::vector<Attribute>& attributes) : root_(add(attributes)) {}

XLA_FFI_Attrs* AttributeFrame::add(const std::vector<Attribute>& attributes) {
  // Handlers look names up by bisection.
  std::vector<const Attribute*> sorted;
  for (const Attribute& attribute : attributes) sorted.push_back(&attribute);
  std::sort(sorted.begin(), sorted.end(),
            [](const Attribute* a, const Attribute* b) { return a->name < b->name; });
  auto& types = types_.emplace_back();
  auto& names = names_.emplace_back();
  auto& values = values_.emplace_back();
  for (const Attribute* attribute : sorted) {
    const std::string& name = strings_.emplace_back(attribute->name);
    names.push_back(&spans_.emplace_back(XLA_FFI_ByteSpan{name.data(), name.size()}));
    values.push_back(addValue(*attribute));
    switch (attribute->kind) {
      case Attribute::Kind::kScalar:
        types.push_back(XLA_FFI_AttrType_SCALAR);
        break;
      case Attribute::Kind::kArray:
        types.push_back(XLA_FFI_AttrType_ARRAY);
        break;
      case Attribute::Kind::kString:
        types.push_back(XLA_FFI_AttrType_STRING);
        break;
      case Attribute::Kind::kDictionary:
        types.push_back(XLA_FFI_AttrType_DICTIONARY);
        break;
    }
  }
  XLA_FFI_Attrs attrs{};
  attrs.struct_size = kXlaFfiStructSize<XLA_FFI_Attrs>;
  attrs.size = static_cast<int64_t>(sorted.size());
  attrs.types = types.data();
  attrs.names = names.data();
  attrs.attrs = values.data();
  return &dictionaries_.emplace_back(attrs);
}

void* AttributeFrame::addValue(const Attribute& attribute) {
  if (attribute.kind == Attribute::Kind::kDictionary) return add(attribute.entries);
  if (attribute.kind == Attribute::Kind::kString) {
    const std::string& text = strings_.emplace_back(attribute.bytes);
    return &spans_.emplace_back(XLA_FFI_ByteSpan{text.data(), text.size()});
  }
  constexpr size_t kUnit = sizeof(std::max_align_t);
  auto& copy = bytes_.emplace_back((attribute.bytes.size() + kUnit - 1) / kUnit + 1);
  std::memcpy(copy.data(), attribute.bytes.data(), attribute.bytes.size());
  XLA_FFI_DataType type = toDataType(attribute.type);
  if (attribute.kind == Attribute::Kind::kScalar) {
    return &scalars_.emplace_back(XLA_FFI_Scalar{type, copy.data()});
  }
  size_t width = std::max<size_t>(1, elementSizeBytes(attribute.type));
  return &arrays_.emplace_back(XLA_FFI_Array{type, attribute.bytes.size() / width, copy.data()});
}

}  // namespace isthmus::ffi
