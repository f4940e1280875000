// rng_bit_generator: isthmus_rt_rng and its descriptor. The bits are those of XLA.
//
// THREE_FRY: threefry2x32 with 20 rounds; the state is {key, counter}. Results of 32 bits or fewer
// are made in two halves along the first dimension of even size (else the largest): element 2 i + j
// of that dimension is word j of the i-th counter of the half; the counter grows by the size of a
// half. Results of 64 bits take a counter each.
// PHILOX (and DEFAULT): philox4x32 with 10 rounds; the state is {key, low and high counter}, or
// {key, low counter} with the key as the high counter. Each counter gives four words in a row.
// Narrower results are the low bits of 32-bit ones.
#pragma once

#include <cstdint>
#include <span>

#include "backends/cpu/abi.h"
#include "isthmus/status.h"
#include "isthmus/types.h"

namespace isthmus::cpu {

// The values are those of StableHLO's RngAlgorithm.
enum class RngAlgorithm : int32_t { kDefault = 0, kThreeFry = 1, kPhilox = 2 };

// buffers: state, new state (may be the same memory), result. States are 64-bit words.
struct RngDescriptor {
  RngAlgorithm algorithm;
  int32_t stateWords;  // 2 or 3
  int32_t elementBytes;
  int32_t narrow;  // bits of an element of less than a byte, negative if it is signed; else 0
  int64_t elements;
  // For threefry: the result as [splitOuter, splitSize, splitInner], halved along splitSize.
  int64_t splitOuter;
  int64_t splitSize;
  int64_t splitInner;
};

// Fails on complex and boolean result types, and on states of other lengths.
StatusOr<RngDescriptor> makeRngDescriptor(RngAlgorithm algorithm, int64_t stateWords,
                                          ElementType resultType,
                                          std::span<const int64_t> resultDims);

extern "C" int32_t isthmus_rt_rng(IsthmusRun* run, const void* descriptor, void* const* buffers);

}  // namespace isthmus::cpu
