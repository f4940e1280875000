// The arithmetic that elementwise operations share.
#pragma once

#include "compiler/codegen/loop/level.h"
#include "compiler/codegen/math/vector_math.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/target/element_kind.h"

namespace isthmus::codegen {

struct ComplexV {
  V re;
  V im;
};

// False if the op is not defined for complex numbers. For abs, only `re` of the result is set.
bool complexOp(OpCode op, llvm::ArrayRef<ComplexV> operands, ComplexV* result);

// What is rounded to a narrower float. What arithmetic has made may be taken for zero if it is
// subnormal, as arithmetic itself does; kWideArithmetic: of wider floats, whose NaN may have any
// payload; kOperand: and is for more arithmetic, not for memory; kInteger: neither NaN nor
// subnormal.
enum class Rounded : uint8_t { kAnything, kWideArithmetic, kArithmetic, kOperand, kInteger };

// stablehlo.convert of one register; the result has the operand's level.
Val convertValue(llvm::IRBuilder<>& b, const TargetModel& target, Val operand,
                 const ElementKind& from, const ElementKind& to, Rounded what = Rounded::kAnything);

}  // namespace isthmus::codegen
