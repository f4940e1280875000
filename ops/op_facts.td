// The table of facts that compiler/dialect/facts/op_facts.cc looks up, and the operations by number.
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

// An operation by the name of its record: Shlo_AddOp.
def OpCode : GenericEnum {
  let FilterClass = "OpFacts";
}

class FactsTable<string dialect> : GenericTable {
  let FilterClass = dialect # "_Op";
  let CppTypeName = "OpFacts";
  let Fields = ["opName", "opCode", "fusionClass", "memoryRole", "workClass", "inPlaceOperand",
                "cost", "integerCost", "isLibrary", "isCollective", "neutralValue", "isIdempotent",
                "isContraction", "readsPart", "isDynamic", "kernelDevices", "indexing"];
  string TypeOf_neutralValue = "code";
  string TypeOf_kernelDevices = "code";
  string TypeOf_indexing = "code";
  string TypeOf_opCode = "code";
  string TypeOf_fusionClass = "code";
  string TypeOf_memoryRole = "code";
  string TypeOf_workClass = "code";
  string TypeOf_inPlaceOperand = "code";
}

def StablehloFacts : FactsTable<"Shlo">;
def ChloFacts : FactsTable<"Chlo">;
