// Reads the fields of one protobuf message into plain data, trusting nothing.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/wire_format.h"

namespace isthmus::hlo {

// while (in.next()) switch (in.field()) { case 1: in.check(in.integer(x)); … }  return in.ok();
class WireReader {
 public:
  static constexpr int kMaxDepth = 100;

  explicit WireReader(std::string_view bytes, int depth = 0)
      : reader_(bytes), size_(bytes.size()), depth_(depth) {
    check(depth < kMaxDepth);
  }

  // Goes to the next field. False at the end and on malformed input.
  bool next() { return reader_.next(field_); }
  uint32_t field() const { return field_.number; }
  bool ok() const { return reader_.ok(); }
  void check(bool isRight) {
    if (!isRight) reader_.fail();
  }

  // The value of the field. False if it is of another kind.
  template <typename T>
  bool integer(T& value) const {
    value = static_cast<T>(field_.bits);
    return field_.type == wire::WireType::kVarint;
  }
  bool number(float& value) const {
    value = std::bit_cast<float>(static_cast<uint32_t>(field_.bits));
    return field_.type == wire::WireType::kFixed32;
  }
  bool bytes(std::string& value) const {
    value.assign(field_.bytes);
    return message();
  }
  // Integers one by one, or many in one field.
  template <typename T>
  bool integers(std::vector<T>& values) const {
    return forEachVarint(field_, [&](uint64_t value) { values.push_back(static_cast<T>(value)); });
  }
  // Likewise; each is 0 or 1.
  bool booleans(std::vector<uint8_t>& values) const {
    return forEachVarint(field_, [&](uint64_t value) { values.push_back(value != 0); });
  }
  // Floating-point numbers of `size` bytes, likewise, as bytes.
  bool packed(std::string& values, size_t size) const {
    if (message()) {
      values.append(field_.bytes);
      return field_.bytes.size() % size == 0;
    }
    values.append(reinterpret_cast<const char*>(&field_.bits), size);
    return field_.type == (size == 4 ? wire::WireType::kFixed32 : wire::WireType::kFixed64);
  }
  bool message() const { return field_.type == wire::WireType::kBytes; }
  WireReader nested() const { return WireReader(field_.bytes, depth_ + 1); }
  // One more element. Elements take much more memory than an empty message takes bytes, so messages
  // that are too small to mean anything must not be many.
  template <typename T>
  T& append(std::vector<T>& values) {
    constexpr size_t kFreeElements = 4096, kBytesPerElement = 16;
    check(values.size() < kFreeElements + size_ / kBytesPerElement);
    return values.emplace_back();
  }

 private:
  wire::Reader reader_;
  wire::Field field_;
  size_t size_;
  int depth_;
};

}  // namespace isthmus::hlo
