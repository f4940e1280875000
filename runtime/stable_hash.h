// Hashes that are equal in all processes, on all machines and in all runs.
#pragma once

#include <cstdint>
#include <string_view>

namespace isthmus {

// FNV-1a.
inline constexpr uint64_t kStableHashSeed = 0xcbf29ce484222325u;
constexpr uint64_t stableHash(std::string_view bytes, uint64_t seed = kStableHashSeed) {
  for (char c : bytes) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return seed;
}

// The finalizer of splitmix64: spreads what tells numbers apart over all bits.
constexpr uint64_t mixBits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The order of the two counts.
constexpr uint64_t combineHashes(uint64_t a, uint64_t b) { return mixBits(mixBits(a) + b); }

}  // namespace isthmus
