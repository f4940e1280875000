// Sums of products as tiles of vectors: what is computed by loops over which dimensions, and how.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/schedule/products/product_shape.h"
#include "compiler/schedule/products/roles.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/target_model.h"

namespace isthmus {

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
  int64_t lhsElements = 0;    // of the whole array
  int64_t resultColumns = 1;  // of a dot_general: its result is dense rows of so many
  // Where in scratch memory the lhs is, of the type of the sum; -1: it is parameter lhsBuffer.
  int64_t lhsAt = -1;
};

// What a schedule comes to, with places in scratch memory: all kernels of an operation have the
// same parameters.
struct VectorPlan {
  VectorContraction problem;
  unsigned lanes = 1;
  int64_t vectors = 1;        // of columns, in a tile
  int64_t rowsPerTile = 1;    // along the last dimension of rows, or of all
  bool flattensRows = false;  // of all
  bool sumsAreLanes = false;  // lanes along the last dimension of sums; `vectors` single columns
  int64_t tilesPerItem = 1;   // of rows, one after the other
  bool convertsLhs = false;   // to the type of the sum, before
  // If not 0: of integers, which are multiplied and summed as f32 for so many terms at a time, of
  // which sums are exact; these sums are added up as integers.
  int64_t exactTerms = 0;
  bool packsRhs = false;     // to (batch, panels, sums, columns of a panel), of that type too
  int64_t packedAt = 0;      // in the scratch memory
  int64_t scratchBytes = 0;  // the lhs's included
};

// A dimension of the input, and of its padded copy.
struct PaddedDim {
  int64_t size = 1;    // in the copy
  int64_t input = 1;   // of the input
  int64_t stride = 0;  // of the input
  int64_t padLow = 0;
  int64_t dilation = 1;
  int64_t copyStride = 0;
};

// The input with zeros around it and between its elements, its dimensions in their order in memory.
struct PaddedInput {
  PaddedDim batch, feature;
  llvm::SmallVector<PaddedDim, 3> spatial;
  llvm::SmallVector<PaddedDim, 5> inOrder;
  int64_t elements = 1;
  bool isCopied = false;
};

VectorContraction contractionOf(const DotRoles& roles, const ProductKinds& kinds);
// The rows as columns: lhs and rhs change places.
VectorContraction swapped(VectorContraction all);
// Nothing if the padding is most of the input, or there is nothing to sum.
std::optional<PaddedInput> paddedInputOf(const ConvRoles& roles, const ProductKinds& kinds);
VectorContraction contractionOf(const ConvRoles& roles, const ProductKinds& kinds,
                                const PaddedInput& input);

// Fills in the product of `stage`, its lanes and its grain. False where another form does better:
// complex numbers, or hardly any columns and sums.
bool chooseVectors(const VectorContraction& problem, const TargetModel& target, DotStage* stage);
// Why `stage`, which differs from `chosen` for the problem, cannot be; null if it can. A part of a
// sentence.
const char* vectorsRefusal(const VectorContraction& problem, const DotStage& stage,
                           const DotStage& chosen);
// `scratchBytes` are taken already.
VectorPlan planOf(VectorContraction problem, const DotStage& stage, int64_t scratchBytes);

// Tiles of rows, and panels of columns.
int64_t tilesOf(const VectorPlan& plan);
int64_t panelsOf(const VectorPlan& plan);
int64_t sizeOf(llvm::ArrayRef<TileDim> dims);
// Whether each column has a lhs of its own.
bool isByColumn(const VectorContraction& problem);
// Whether columns lie side by side in the rhs.
bool isContiguous(const TileDims& columns);

}  // namespace isthmus
