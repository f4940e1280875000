// Which results of a kernel may take the memory of an operand.
#pragma once

#include "compiler/dialect/isthmus.h"

namespace isthmus {

// What a product's kernel does with sums that would lie in a result which has an operand's memory.
enum class SumsPlace {
  kResult,  // leaves them there: such a result must not share
  kApart,   // keeps them elsewhere until its epilogue has read them and the operand
};

// True if `result` may be written to the very memory of `operand`, which then dies.
bool canShareBuffer(ir::FusionOp fusion, unsigned operand, unsigned result,
                    SumsPlace sums = SumsPlace::kResult);

}  // namespace isthmus
