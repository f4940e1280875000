// Writing and reading of the flat binary form of executables.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "isthmus/status.h"

namespace isthmus {

// Numbers in the machine's own byte order (code does not move between kinds of machines), strings
// and lists after their length in 64 bits.
class ByteWriter {
 public:
  template <typename T>
    requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
  void write(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void write(std::string_view text) {
    write<uint64_t>(text.size());
    bytes_.append(text);
  }
  void write(const std::string& text) { write(std::string_view(text)); }
  template <typename List, typename WriteElement>
  void writeList(const List& list, WriteElement&& writeElement) {
    write<uint64_t>(list.size());
    for (const auto& element : list) writeElement(element);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads what ByteWriter wrote. After the first read past the end everything reads as zero or empty
// and `ok()` is false.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
    requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
  T read() {
    T value{};
    if (rest_.size() < sizeof(T)) {
      fail();
    } else {
      std::memcpy(&value, rest_.data(), sizeof(T));
      rest_.remove_prefix(sizeof(T));
    }
    return value;
  }
  std::string_view readBytes() {
    uint64_t size = read<uint64_t>();
    if (size > rest_.size()) {
      fail();
      return {};
    }
    std::string_view result = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return result;
  }
  std::string readString() { return std::string(readBytes()); }
  // `readElement` reads one element; it takes at least one byte.
  template <typename ReadElement>
  auto readList(ReadElement&& readElement) {
    std::vector<std::decay_t<decltype(readElement())>> list;
    uint64_t size = read<uint64_t>();
    if (size > rest_.size()) {
      fail();
      return list;
    }
    for (uint64_t i = 0; i < size && ok_; ++i) list.push_back(readElement());
    return list;
  }

  bool ok() const { return ok_; }
  std::string_view rest() const { return rest_; }
  // Says that what was read makes no sense.
  void fail() {
    ok_ = false;
    rest_ = {};
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace isthmus
