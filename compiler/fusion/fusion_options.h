// What the fusion pass may build.
#pragma once

#include "compiler/target/target_model.h"

namespace isthmus {

struct FusionOptions {
  // Off: each operation becomes a kernel of its own, to tell what fusion breaks.
  bool merge = true;
  // Abilities, speeds and limits of the device.
  TargetModel target;
};

}  // namespace isthmus
