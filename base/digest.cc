// Two lanes of multiply-and-fold over 16-byte blocks.
#include "base/digest.h"

#include <cstring>

namespace isthmus {
namespace {

uint64_t fold(uint64_t a, uint64_t b) {
  unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

Digest& Digest::add(std::string_view bytes) {
  auto mix = [this](uint64_t a, uint64_t b) {
    first_ = fold(first_ ^ a ^ 0xa0761d6478bd642f, b ^ 0xe7037ed1a0b428db) + second_;
    second_ = fold(second_ ^ b ^ 0x8ebc6af09c88c6e3, a ^ 0x589965cc75374cc3) + first_;
  };
  mix(bytes.size(), 0x2545f4914f6cdd1d);
  size_t position = 0;
  for (; position + 16 <= bytes.size(); position += 16) {
    uint64_t words[2];
    std::memcpy(words, bytes.data() + position, 16);
    mix(words[0], words[1]);
  }
  uint64_t words[2] = {0, 0};
  std::memcpy(words, bytes.data() + position, bytes.size() - position);
  mix(words[0], words[1]);
  return *this;
}

Digest& Digest::add(int64_t number) {
  char bytes[sizeof(number)];
  std::memcpy(bytes, &number, sizeof(number));
  return add(std::string_view(bytes, sizeof(bytes)));
}

std::string Digest::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (uint64_t word : {first_, second_}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(word >> shift) & 15];
  }
  return text;
}

}  // namespace isthmus
