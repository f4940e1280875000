// What an operation means to the memory plan and to the program function, and the size of a value.
#pragma once

#include <cstdint>

#include "isthmus/status.h"
#include "mlir/IR/Operation.h"

namespace isthmus {

enum class OpRole {
  kCompute,   // reads its operands, writes all of its results
  kConstant,  // its result is read-only data of the program
  kView,      // result i is operand i's memory, seen with another type
  kWhile,     // regions: condition, body
  kBranch,    // case and if: one region runs
  kNothing,   // computes no array: tokens, and calls that only use their operands
  kTerminator,
};

OpRole roleOf(mlir::Operation* op);

// Bytes of a value of this type: 0 for tokens and empty arrays. Elements narrower than a byte take
// one byte each. kUnimplemented for tuples, dynamic shapes and unknown element types.
StatusOr<int64_t> byteSize(mlir::Type type);

}  // namespace isthmus
