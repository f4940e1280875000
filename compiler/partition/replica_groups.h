// Replica groups that are said by the axes of a mesh, turned into tables of ids.
#pragma once

#include "isthmus/status.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus {

// Replaces every #stablehlo.replica_group_mesh_axes in `module` by its table: one row for each
// group, whose members differ in their coordinates along the named axes alone, ordered by these
// coordinates, the first axis being the major one. Meshes are inline or sdy.mesh symbols, so this
// comes before those are gone. Errors: an unknown mesh or axis, a sub-axis that does not divide its
// axis, sizes that overflow.
Status resolveReplicaGroups(mlir::ModuleOp module);

}  // namespace isthmus
