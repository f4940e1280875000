// What the fusion pass may build; a backend that lacks a kernel kind switches it off.
#pragma once

#include <cstdint>

namespace isthmus {

struct FusionOptions {
  // Off: each operation becomes a kernel of its own, to tell what fusion breaks.
  bool merge = true;
  // Several passes over a row in one kernel (softmax, layer norm).
  bool rows = true;
  // Blocked transposes as kernels of their own kind.
  bool transposes = true;
  // Several results of one iteration space in one kernel.
  bool multipleOutputs = true;
  // Elementwise work around dot_general and convolution.
  bool contractions = true;
  // A row's intermediate values stay in cache: the most bytes that one value's row may take.
  int64_t maxRowBytes = 256 << 10;
  // Groups stop growing here: code size and register pressure grow faster than what they save.
  int maxOps = 300;
  int maxBuffers = 48;
};

}  // namespace isthmus
