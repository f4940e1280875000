// Operations of StableHLO's own interpreter, in its tests, which test tools alone register.
include "mlir/IR/OpBase.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Interpreter_Dialect : Dialect {
  let name = "interpreter";
  let cppNamespace = "::isthmus::interpreter";
  let summary = "Programs on several devices, and a look at values, for tests.";
}

class Interpreter_Op<string mnemonic, list<Trait> traits = []>
    : Op<Interpreter_Dialect, mnemonic, traits>;

def Interpreter_RunParallelOp : Interpreter_Op<"run_parallel"> {
  let summary = "runs a grid of functions, replicas by partitions";
  let description = "Inputs and results are those of all processes, one process after the other.";
  let arguments = (ins Variadic<AnyType>:$inputs, OptionalAttr<FlatSymbolRefArrayAttr>:$infeed,
      TypedArrayAttrBase<FlatSymbolRefArrayAttr, "functions, by replica and partition">:$programs);
  let results = (outs Variadic<AnyType>:$results);
}
def Interpreter_PrintOp : Interpreter_Op<"print"> {
  let summary = "prints a value";
  let arguments = (ins AnyTensor:$operand);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}
def Interpreter_ProbeOp : Interpreter_Op<"probe", [SameOperandsAndResultType]> {
  let summary = "gives its operand, and keeps it under a name";
  let arguments = (ins AnyTensor:$operand, StrAttr:$probe_id);
  let results = (outs AnyTensor:$result);
  let assemblyFormat = "$operand `,` `probe_id` `=` $probe_id attr-dict `:` type($result)";
}
