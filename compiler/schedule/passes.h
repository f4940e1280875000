// The passes of this folder (see passes.td for what each does), for the default target where a
// command line names them.
#pragma once

#include <memory>

#include "mlir/Pass/Pass.h"

namespace isthmus {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/schedule/passes.h.inc"

}  // namespace isthmus
