// The protobuf wire format: a reader that trusts nothing, and a writer.
//
// The messages that cross the C API are few, so reading their fields directly costs less than a
// protobuf library inside the plugin, which would be one more thing to clash with the host's (and
// Debian's static protobuf is not position-independent, so it cannot go into a plugin).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace isthmus::wire {

// How a field is encoded: the lower three bits of its tag (protobuf.dev, "Encoding").
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
  void real(uint32_t number, double value);
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

inline double Field::asDouble() const { return std::bit_cast<double>(bits); }

inline bool Reader::readVarint(uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (input_.empty()) return false;
    auto byte = static_cast<uint8_t>(input_.front());
    input_.remove_prefix(1);
    // The tenth byte has room for one bit.
    if (shift == 63 && byte > 1) return false;
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

inline bool Reader::nextVarint(uint64_t& value) {
  if (!ok_ || input_.empty()) return false;
  return ok_ = readVarint(value);
}

inline bool Reader::next(Field& field) {
  if (!ok_ || input_.empty()) return false;
  ok_ = false;
  uint64_t tag;
  if (!readVarint(tag) || (tag >> 3) == 0 || (tag >> 3) > 0x1fffffff) return false;
  field = Field();
  field.number = static_cast<uint32_t>(tag >> 3);
  field.type = static_cast<WireType>(tag & 7);
  auto readFixed = [&](size_t size) {
    if (input_.size() < size) return false;
    // The wire is little-endian, as are all the machines that we run on.
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(&field.bits, input_.data(), size);
    input_.remove_prefix(size);
    return true;
  };
  switch (field.type) {
    case WireType::kVarint:
      ok_ = readVarint(field.bits);
      break;
    case WireType::kFixed64:
      ok_ = readFixed(8);
      break;
    case WireType::kFixed32:
      ok_ = readFixed(4);
      break;
    case WireType::kBytes: {
      uint64_t size;
      if (!readVarint(size) || size > input_.size()) return false;
      field.bytes = input_.substr(0, size);
      input_.remove_prefix(size);
      ok_ = true;
      break;
    }
    default:
      break;
  }
  return ok_;
}

inline void Writer::rawVarint(uint64_t value) {
  while (value >= 0x80) {
    out_.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out_.push_back(static_cast<char>(value));
}

inline void Writer::varint(uint32_t number, uint64_t value) {
  rawVarint(uint64_t{number} << 3 | static_cast<uint64_t>(WireType::kVarint));
  rawVarint(value);
}

inline void Writer::bytes(uint32_t number, std::string_view value) {
  rawVarint(uint64_t{number} << 3 | static_cast<uint64_t>(WireType::kBytes));
  rawVarint(value.size());
  out_.append(value);
}

inline void Writer::real(uint32_t number, double value) {
  rawVarint(uint64_t{number} << 3 | static_cast<uint64_t>(WireType::kFixed64));
  auto bits = std::bit_cast<uint64_t>(value);
  static_assert(std::endian::native == std::endian::little);
  out_.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
}

}  // namespace isthmus::wire
