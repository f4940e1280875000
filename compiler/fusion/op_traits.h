// What the fusion pass knows of one operation: how its result's elements depend on its operands'.
#pragma once

#include <cstdint>

#include "mlir/IR/Operation.h"

namespace isthmus {

enum class FusionClass {
  // Element i of the result depends on element i of each operand (scalar operands of clamp and
  // select count as such).
  kElementwise,
  // Elements of the result are elements of the operands, found by index arithmetic: broadcast,
  // transpose, slice, pad, gather, ….
  kIndexed,
  // Same elements in the same row-major order: no work outside a kernel.
  kView,
  kReduce,
  // A window or a search per element of the result; consumers may join it, producers rarely.
  kWindow,
  kUpdateSlice,
  kScatter,
  kConstant,
  // Everything else: library functions, control flow, communication.
  kOpaque,
};

FusionClass fusionClass(mlir::Operation* op);

// Whether the operation is computed by kernels that fusion makes: neither a library's, nor a view,
// nor a constant.
bool isKernel(mlir::Operation* op);

// Whether recomputing the operation in each of its consumers costs nothing worth storing: splat and
// small constants, iota, broadcasts, slices, and cheap elementwise work on such. It is copied into
// the kernels that use it instead of being one of a kernel's operands.
bool isFree(mlir::Operation* op);

// Rough time to compute one element of the result from its operands, in units of one vector
// add's share (about 0.1 ns). Loads are not counted.
double elementCost(mlir::Operation* op);

// How many elements of operand `index` are computed for one evaluation of the whole result.
double operandEvaluations(mlir::Operation* op, unsigned index);

// Elements of a ranked, static tensor; 0 for anything else.
int64_t elementCount(mlir::Type type);

// The dimensions other than 1: two arrays of equal squeezed shapes have the same row-major order.
llvm::SmallVector<int64_t> squeezedShape(mlir::Type type);

// Bytes of one element in memory; 0 for types that are not stored.
int64_t elementBytes(mlir::Type type);

}  // namespace isthmus
