#include "runtime/ffi/attributes.h"

#include <algorithm>
#include <cstring>

namespace isthmus::ffi {

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
