// The largest of what is split: sorts along a split dimension of which only the first rows are
// used.
#pragma once

#include <optional>

#include "compiler/dialect/dialect.h"
#include "compiler/partition/sharding/mesh_sharding.h"
#include "compiler/partition/spmd_builder.h"

namespace isthmus {

// How many of the first rows along its dimension the users of a sort take, if they are slices that
// take nothing else and `operandShardings` makes it cheaper to gather those of
// each block than to have the dimension whole: the first of them that splits it counts.
struct FirstRows {
  int64_t count = 0;
  MeshSharding sharding;
};
std::optional<FirstRows> firstRowsOf(shlo::SortOp op,
                                     llvm::ArrayRef<MeshSharding> operandShardings);

// `op`, a copy on this device's blocks, sorts them; a copy of it sorts the first rows of all
// blocks. The results begin with the first rows of the whole and are not split along the dimension.
mlir::ResultRange sortFirstRows(shlo::SortOp op, const FirstRows& rows, mlir::OpBuilder& builder,
                                SpmdBuilder& spmd);

}  // namespace isthmus
