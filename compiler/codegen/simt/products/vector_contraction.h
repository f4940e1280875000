// Sums of products by work-items that compute in vectors: tiles of the result in registers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/codegen/simt/op_kernels.h"
#include "compiler/codegen/simt/products/contraction.h"

namespace isthmus::codegen {

// Strides are in elements; 0 where an array does not have the dimension.
struct TileDim {
  int64_t size;
  int64_t lhs;
  int64_t rhs;
  int64_t result;
};
using TileDims = llvm::SmallVector<TileDim, 6>;

// result[batch, rows, columns] = sum over sums of lhs[batch, rows, sums] * rhs[batch, sums,
// columns]. Columns that the lhs has as well are those of a convolution of each feature with itself
// alone: there is one dimension of them, and both operands have it contiguous. Rows may overlap in
// the lhs, as a convolution's do. No dimension has the size 0. The result's columns lie
// `columns.back().result` elements apart.
struct VectorContraction {
  TileDims batch, rows, columns, sums;
  int64_t rhsOffset = 0;  // of the element at all indices 0
  unsigned lhsBuffer = 0, rhsBuffer = 1;
  ElementKind lhs, rhs, result, sum;
  int64_t lhsElements = 0;  // of the whole array
  // Where in scratch memory the lhs is, of the type of the sum; -1: it is parameter lhsBuffer.
  int64_t lhsAt = -1;
};

// How it is done. Chosen first, since all kernels of an operation have the same parameters: its
// operands, its result, and scratch memory if there is any.
struct VectorPlan {
  VectorContraction problem;
  unsigned lanes = 1;
  int64_t vectors = 1;        // of columns, in a tile
  int64_t rowsPerTile = 1;    // along the last dimension of rows, or of all
  bool flattensRows = false;  // of all
  bool sumsAreLanes = false;  // lanes along the last dimension of sums; `vectors` single columns
  int64_t tilesPerItem = 1;   // of rows, one after the other
  bool convertsLhs = false;   // to the type of the sum, before
  bool packsRhs = false;      // to (batch, panels, sums, columns of a panel), of that type too
  int64_t packedAt = 0;       // in the scratch memory
  int64_t scratchBytes = 0;   // the lhs's included
};

// Nothing where another form does better: complex numbers, or hardly any columns and sums.
// `scratchBytes` are taken already.
std::optional<VectorPlan> planVectorContraction(VectorContraction problem, int64_t scratchBytes,
                                                const TargetModel& target);

// Appends the stages of `plan` to `kernels`; their names begin with `symbol`.
void emitVectorContraction(const VectorPlan& plan, llvm::Module& module, const WorkItemForm& form,
                           const std::string& symbol, OpKernels& kernels);

}  // namespace isthmus::codegen
