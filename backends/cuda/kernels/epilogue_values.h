// What the epilogues of both libraries are read by.
#pragma once

#include "compiler/dialect/dialect.h"
#include "compiler/passes/simplify/match.h"

namespace isthmus::cuda {

inline mlir::Value withoutReshapes(mlir::Value value) {
  while (auto reshape = value.getDefiningOp<shlo::ReshapeOp>()) value = reshape.getOperand();
  return value;
}

// The other summand of a sum with what `is` true of; null if it is no such sum.
template <typename Is>
mlir::Value plus(mlir::Value value, const Is& is) {
  auto sum = value.getDefiningOp<shlo::AddOp>();
  if (!sum) return nullptr;
  if (is(sum.getLhs())) return sum.getRhs();
  return is(sum.getRhs()) ? sum.getLhs() : mlir::Value();
}

// x, if `value` is the larger of x and zero.
inline mlir::Value argumentOfRelu(mlir::Value value) {
  auto larger = value.getDefiningOp<shlo::MaxOp>();
  if (!larger) return nullptr;
  if (isSplatOf(larger.getRhs(), 0)) return larger.getLhs();
  return isSplatOf(larger.getLhs(), 0) ? larger.getRhs() : mlir::Value();
}

}  // namespace isthmus::cuda
