// Replica groups as tables of ids, from lists and from the axes of a mesh.
#pragma once

#include <cstdint>
#include <vector>

#include "isthmus/status.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus {

// The table with a row for each group, of which there is at least one; all are of one size.
mlir::DenseIntElementsAttr replicaGroupTable(mlir::MLIRContext* context,
                                             llvm::ArrayRef<std::vector<int64_t>> groups);

// Replaces every #stablehlo.replica_group_mesh_axes in `module` by its table: one row for each
// group, whose members differ in their coordinates along the named axes alone, ordered by these
// coordinates, the first axis being the major one. Meshes are inline or sdy.mesh symbols, so this
// comes before those are gone. Errors: an unknown mesh or axis, a sub-axis that does not divide its
// axis, sizes that overflow.
Status resolveReplicaGroups(mlir::ModuleOp module);

}  // namespace isthmus
