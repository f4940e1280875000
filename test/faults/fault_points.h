// Calls of the C library that can be made to fail: this executable defines them before the library.
//
// A kind of call is counted between `arm` and `disarm`, on all threads; the one with the chosen
// number fails as it would if the system had nothing left, and with `isSticky` all after it too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isthmus::faults {

enum class Kind {
  kNone,
  kMemory,     // of any size
  kLarge,      // memory of kLargeBytes or more
  kExhausted,  // memory of any size; from then on there is only what is given back
  kMapping,
  kThread,
  kFile
};
inline constexpr size_t kLargeBytes = 4096;

// What was counted, in memory that a parent process shares.
struct Record {
  static constexpr size_t kMaxPlaces = 1 << 16;
  uint64_t calls;
  // One for each distinct chain of callers: the number of its first call.
  size_t numPlaces;
  uint64_t places[kMaxPlaces];
  uint64_t hashes[kMaxPlaces * 2];  // open addressing
};

// Makes the `number`-th call of the kind fail, from 0 on; none if it is negative. With `record`,
// notes what is called from where instead.
void arm(Kind kind, int64_t number, bool isSticky, Record* record);
void disarm();
// Whether a call has failed since `arm`.
bool hasFailed();

}  // namespace isthmus::faults
