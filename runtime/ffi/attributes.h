// The attributes of a call as handlers see them.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "base/program/custom_call.h"
#include "isthmus/xla_ffi_c_api.h"

namespace isthmus::ffi {

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
