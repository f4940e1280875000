// A custom call as plain data: what an executable keeps of it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/types.h"
#include "isthmus/xla_ffi_c_api.h"

namespace isthmus::ffi {

// An attribute of a typed call.
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

// The signatures of custom calls; the values are those of StableHLO's CustomCallApiVersion.
enum class CallVersion : int32_t {
  kOriginal = 1,         // void (void* out, const void** in)
  kStatusReturning = 2,  // void (void* out, const void** in, status)
  kUnified = 3,          // void (void* out, const void** in, const char*, size_t, status)
  kTyped = 4,            // an XLA_FFI_Handler
};

// Plain data: what an executable keeps of a call, and serializes.
struct CallSpec {
  std::string target;
  CallVersion version = CallVersion::kTyped;
  std::vector<ArrayType> operands;  // as the handler sees them; tokens are kToken, of rank 0
  std::vector<ArrayType> results;
  std::vector<Attribute> attributes;  // of a typed call
  std::string opaque;                 // the configuration of others
  // (operand, result) pairs that are one buffer for the handler.
  std::vector<std::pair<int32_t, int32_t>> aliases;
  std::string description;  // for messages: the target and its source position
};

}  // namespace isthmus::ffi
