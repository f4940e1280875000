// The forms of attention's kernel: who multiplies.
#pragma once

#include "compiler/codegen/simt/attention/online_rows.h"

namespace isthmus::codegen {

// Each emits a tile at the current level, into which `rows` has entered.
// Threads, from the group's memory.
void emitThreadAttention(OnlineRows& rows);

}  // namespace isthmus::codegen
