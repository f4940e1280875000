// The fastest of several ways to compute the same, found by running them (ADR 53).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "backends/cuda/driver/driver.h"
#include "isthmus/status.h"

namespace isthmus::cuda {

// Ways to compute one thing, the likeliest to be fast first.
struct Candidates {
  size_t count = 0;
  std::vector<size_t> bytes;  // of the buffers: operands, result, scratch memory
  // Enqueues one of them on Queue::kCompute.
  std::function<Status(size_t candidate, std::span<void* const> buffers)> run;
};

// How many ways of a library's are timed; 1: none, the library's first is taken.
size_t maxCandidates();
// Whether work of so many products of two numbers, over so many bytes, takes a GPU so long that
// times tell anything.
bool isWorthTiming(double products, double bytes);

// The number of the fastest. Where there is no memory to try them in, it is the first; and an
// earlier one is left for a later one only if that is clearly faster. An error if none runs.
StatusOr<size_t> fastestOf(Driver& driver, int device, const Candidates& candidates);

}  // namespace isthmus::cuda
