// Walks the fields of one protobuf message, trusting nothing.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace isthmus::hlo {

// while (in.next()) switch (in.field()) { case 1: in.check(in.integer(x)); … }  return in.ok();
class WireReader {
 public:
  static constexpr int kMaxDepth = 100;

  explicit WireReader(std::string_view bytes, int depth = 0)
      : bytes_(bytes), depth_(depth), isOk_(depth < kMaxDepth) {}

  // Goes to the next field. False at the end and on malformed input.
  bool next() {
    if (!isOk_ || bytes_.empty()) return false;
    uint64_t tag;
    if (!varint(bytes_, tag)) return fail();
    field_ = static_cast<uint32_t>(tag >> 3);
    kind_ = tag & 7;
    if (kind_ == kVarint) return varint(bytes_, number_) || fail();
    uint64_t size = kind_ == kFixed64 ? 8 : kind_ == kFixed32 ? 4 : 0;
    if (kind_ == kBytes) {
      if (!varint(bytes_, size)) return fail();
    } else if (size == 0) {
      return fail();
    }
    if (size > bytes_.size()) return fail();
    value_ = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return true;
  }
  uint32_t field() const { return field_; }
  bool ok() const { return isOk_; }
  void check(bool isRight) { isOk_ = isOk_ && isRight; }

  // The value of the field. False if it is of another kind.
  template <typename T>
  bool integer(T& value) const {
    value = static_cast<T>(number_);
    return kind_ == kVarint;
  }
  bool number(float& value) const {
    if (kind_ != kFixed32) return false;
    std::memcpy(&value, value_.data(), sizeof value);
    return true;
  }
  bool bytes(std::string& value) const {
    if (kind_ != kBytes) return false;
    value.assign(value_);
    return true;
  }
  // Integers one by one, or many in one field.
  template <typename T>
  bool integers(std::vector<T>& values) const {
    if (kind_ == kVarint) {
      values.push_back(static_cast<T>(number_));
      return true;
    }
    if (kind_ != kBytes) return false;
    std::string_view rest = value_;
    uint64_t value;
    while (!rest.empty()) {
      if (!varint(rest, value)) return false;
      values.push_back(static_cast<T>(value));
    }
    return true;
  }
  // Likewise; each is 0 or 1.
  bool booleans(std::vector<uint8_t>& values) const {
    if (!integers(values)) return false;
    for (uint8_t& value : values) value = value != 0;
    return true;
  }
  // Floating-point numbers of `size` bytes, likewise, as bytes.
  bool packed(std::string& values, size_t size) const {
    static_assert(std::endian::native == std::endian::little);
    if (kind_ == kVarint || value_.size() % size != 0) return false;
    values.append(value_);
    return true;
  }
  bool message() const { return kind_ == kBytes; }
  WireReader nested() const { return WireReader(value_, depth_ + 1); }
  // One more element. Elements take much more memory than an empty message takes bytes, so messages
  // that are too small to mean anything must not be many.
  template <typename T>
  T& append(std::vector<T>& values) {
    constexpr size_t kFreeElements = 4096, kBytesPerElement = 16;
    if (values.size() >= kFreeElements + bytes_.size() / kBytesPerElement) isOk_ = false;
    return values.emplace_back();
  }

 private:
  enum Kind { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  bool fail() { return isOk_ = false; }

  static bool varint(std::string_view& from, uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (from.empty()) return false;
      const uint8_t byte = from.front();
      from.remove_prefix(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  std::string_view bytes_;
  std::string_view value_;
  uint64_t number_ = 0;
  uint32_t field_ = 0;
  int kind_ = kVarint;
  int depth_;
  bool isOk_;
};

}  // namespace isthmus::hlo
