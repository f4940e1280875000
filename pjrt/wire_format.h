// The protobuf wire format: a reader that trusts nothing, and a writer.
//
// The few messages that cross the C API are small, so reading their fields directly costs less than
// a protobuf library inside the plugin, which would be one more thing to clash with the host's
// (and Debian's static protobuf is not position-independent, so it cannot go into a plugin).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace isthmus::wire {

enum class WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

// One field as it stands in the input.
struct Field {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t bits = 0;       // varint, fixed32 and fixed64
  std::string_view bytes;  // strings, messages and packed lists; points into the input

  int64_t asInt64() const { return static_cast<int64_t>(bits); }
  int32_t asInt32() const { return static_cast<int32_t>(bits); }
  bool asBool() const { return bits != 0; }
  double asDouble() const;
};

// Walks the fields of one message:  while (reader.next(field)) …;  if (!reader.ok()) error.
// Groups, which no message here uses, are malformed input.
class Reader {
 public:
  explicit Reader(std::string_view input) : input_(input) {}

  // False at the end and on malformed input.
  bool next(Field& field);
  // False once malformed input was met, or `fail` was called.
  bool ok() const { return ok_; }
  void fail() { ok_ = false; }

  // Reads one varint of a packed list. False at the end and on malformed input.
  bool nextVarint(uint64_t& value);

 private:
  bool readVarint(uint64_t& value);
  std::string_view input_;
  bool ok_ = true;
};

// Calls `each(uint64_t)` for the values of a repeated integer field, packed or not. False if the
// field is malformed.
template <typename F>
bool forEachVarint(const Field& field, F each) {
  if (field.type == WireType::kVarint) {
    each(field.bits);
    return true;
  }
  if (field.type != WireType::kBytes) return false;
  Reader packed(field.bytes);
  for (uint64_t value; packed.nextVarint(value);) each(value);
  return packed.ok();
}

// Appends fields to a message. Fields with default values are the caller's to leave out.
class Writer {
 public:
  void varint(uint32_t number, uint64_t value);
  void bytes(uint32_t number, std::string_view value);
  // A packed list of integers; nothing if it is empty.
  template <typename Range>
  void packed(uint32_t number, const Range& values) {
    Writer inner;
    for (auto value : values) inner.rawVarint(static_cast<uint64_t>(static_cast<int64_t>(value)));
    if (!inner.out_.empty()) bytes(number, inner.out_);
  }

  const std::string& str() const { return out_; }
  std::string take() { return std::move(out_); }

 private:
  void rawVarint(uint64_t value);
  std::string out_;
};

}  // namespace isthmus::wire
