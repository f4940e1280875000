// The attributes of a call: as plain data that a program keeps, and as handlers see them.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "isthmus/types.h"
#include "isthmus/xla_ffi_c_api.h"

namespace isthmus::ffi {

struct Attribute {
  enum class Kind : int8_t { kScalar, kArray, kString, kDictionary };

  std::string name;
  Kind kind = Kind::kScalar;
  ElementType type = ElementType::kInvalid;  // of a scalar, or an array's elements
  std::string bytes;                         // of a scalar, an array or a string
  std::vector<Attribute> entries;            // of a dictionary
};

// The number that the interface gives to the type; XLA_FFI_DataType_INVALID if it has none.
XLA_FFI_DataType toDataType(ElementType type);

// Attributes in the interface's form. Immutable once made; `attrs()` lives as long as it.
class AttributeFrame {
 public:
  // Attributes may come in any order.
  explicit AttributeFrame(const std::vector<Attribute>& attributes);
  AttributeFrame(const AttributeFrame&) = delete;

  const XLA_FFI_Attrs& attrs() const { return *root_; }

 private:
  XLA_FFI_Attrs* add(const std::vector<Attribute>& attributes);
  void* addValue(const Attribute& attribute);

  // Deques, since handlers keep addresses of the elements.
  std::deque<XLA_FFI_Attrs> dictionaries_;
  std::deque<std::vector<XLA_FFI_AttrType>> types_;
  std::deque<std::vector<XLA_FFI_ByteSpan*>> names_;
  std::deque<std::vector<void*>> values_;
  std::deque<XLA_FFI_ByteSpan> spans_;
  std::deque<XLA_FFI_Scalar> scalars_;
  std::deque<XLA_FFI_Array> arrays_;
  std::deque<std::vector<std::max_align_t>> bytes_;  // aligned copies of scalars and arrays
  std::deque<std::string> strings_;
  XLA_FFI_Attrs* root_ = nullptr;
};

}  // namespace isthmus::ffi
