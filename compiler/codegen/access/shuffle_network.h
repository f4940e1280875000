// Which shuffles of two vectors bring elements out of many vectors into others, as data.
#pragma once

#include <cstdint>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace isthmus::codegen {

// Each lane of the result is lane `mask` of `first`, or, from the number of lanes on, of `second`;
// any value where it is negative.
struct Shuffle {
  size_t first;
  size_t second;
  llvm::SmallVector<int, 16> mask;
};

// The sources are the first vectors; each shuffle adds one. `results` are vectors' numbers.
struct ShuffleNetwork {
  llvm::SmallVector<Shuffle, 0> shuffles;
  llvm::SmallVector<size_t, 16> results;
};

// Lane l of result r is element `wanted[r][l]` of what `sources` vectors of `lanes` lanes hold one
// after the other. Halves of the sources are merged up a tree, each node holding what the results
// want of its sources in as few vectors as they fill: about log2(lanes) shuffles a result where
// neighbours want neighbouring elements, where to collect one result after the other takes as many
// as there are sources.
ShuffleNetwork mergeLanes(size_t sources, size_t lanes,
                          llvm::ArrayRef<llvm::SmallVector<int64_t, 16>> wanted);

}  // namespace isthmus::codegen
