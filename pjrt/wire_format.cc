// Reading and writing of the protobuf wire format.
#include "pjrt/wire_format.h"

#include <bit>
#include <cstring>

namespace isthmus::wire {

double Field::asDouble() const { return std::bit_cast<double>(bits); }

bool Reader::readVarint(uint64_t& value) {
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

bool Reader::nextVarint(uint64_t& value) {
  if (!ok_ || input_.empty()) return false;
  return ok_ = readVarint(value);
}

bool Reader::next(Field& field) {
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

void Writer::rawVarint(uint64_t value) {
  while (value >= 0x80) {
    out_.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out_.push_back(static_cast<char>(value));
}

void Writer::varint(uint32_t number, uint64_t value) {
  rawVarint(uint64_t{number} << 3 | static_cast<uint64_t>(WireType::kVarint));
  rawVarint(value);
}

void Writer::bytes(uint32_t number, std::string_view value) {
  rawVarint(uint64_t{number} << 3 | static_cast<uint64_t>(WireType::kBytes));
  rawVarint(value.size());
  out_.append(value);
}

}  // namespace isthmus::wire
