// A 128-bit digest for fingerprints and for noticing damaged files. Not for security.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace isthmus {

class Digest {
 public:
  // Each piece counts with its length, so that moving bytes between pieces changes the digest.
  Digest& add(std::string_view bytes);
  Digest& add(int64_t number);
  // 32 hexadecimal digits.
  std::string hex() const;

 private:
  uint64_t first_ = 0x9e3779b97f4a7c15;
  uint64_t second_ = 0xc2b2ae3d27d4eb4f;
};

}  // namespace isthmus
