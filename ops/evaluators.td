// Which C++ function of compiler/reference evaluates an operation: the table that it looks up.
include "llvm/TableGen/SearchableTable.td"
include "ops/binary.td"
include "ops/collective.td"
include "ops/contraction.td"
include "ops/control_flow.td"
include "ops/data_movement.td"
include "ops/dynamic.td"
include "ops/misc.td"
include "ops/reduction.td"
include "ops/unary.td"
include "ops/chlo.td"

def StablehloEvaluators : GenericTable {
  let FilterClass = "Shlo_Op";
  let CppTypeName = "EvaluatorEntry";
  let Fields = ["opName", "evaluator", "computesWithReals"];
}

def ChloEvaluators : GenericTable {
  let FilterClass = "Chlo_Op";
  let CppTypeName = "EvaluatorEntry";
  let Fields = ["opName", "evaluator", "computesWithReals"];
}
