// What the fusion pass may build; a backend that lacks a kernel kind switches it off.
#pragma once

#include "compiler/target/target_model.h"

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
  // Speeds and limits of the device.
  TargetModel target;
};

}  // namespace isthmus
