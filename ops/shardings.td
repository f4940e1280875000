// Which C++ function of compiler/partition says how shardings of an operation's operands and results
// go together: the table that it looks up.
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

def StablehloShardings : GenericTable {
  let FilterClass = "Shlo_Op";
  let CppTypeName = "ShardingEntry";
  let Fields = ["opName", "sharding"];
  string TypeOf_sharding = "code";
}

def ChloShardings : GenericTable {
  let FilterClass = "Chlo_Op";
  let CppTypeName = "ShardingEntry";
  let Fields = ["opName", "sharding"];
  string TypeOf_sharding = "code";
}
