// Control flow, composites and the end of regions.
include "ops/base.td"

def Shlo_ReturnOp : Shlo_Op<"return", [Pure, Terminator]> {
  let summary = "gives the results of a region";
  let evaluator = [{evaluateReturn}];
  let lowering = "terminator";
  let arguments = (ins Variadic<Shlo_AnyValue>:$results);
  let assemblyFormat = "$results attr-dict (`:` type($results)^)?";
}
def Shlo_IfOp : Shlo_Op<"if", [Shlo_Body, Shlo_Infers]> {
  let summary = "the results of one of two regions";
  let evaluator = [{evaluateIf}];
  let lowering = "branch";
  let rules = [
    "c1: branches take no values",
    "c2: branches give the same types",
    "c3: results have the branches' types",
    "i1: pred is a scalar"];
  let resultRules = ["c3"];
  let arguments = (ins Shlo_BoolTensor:$pred);
  let regions = (region SizedRegion<1>:$true_branch, SizedRegion<1>:$false_branch);
  let results = (outs Variadic<Shlo_TensorOrToken>);
}
def Shlo_CaseOp : Shlo_Op<"case", [Shlo_Body, Shlo_Infers]> {
  let summary = "the results of the region with the given number, or of the last one";
  let evaluator = [{evaluateCase}];
  let lowering = "branch";
  let rules = [
    "c1: there is a branch",
    "c2: branches take no values",
    "c3: branches give the same types",
    "c4: results have the branches' types",
    "i1: index is a scalar"];
  let resultRules = ["c4"];
  let arguments = (ins Shlo_I32Tensor:$index);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
  let results = (outs Variadic<Shlo_TensorOrToken>);
}
def Shlo_WhileOp : Shlo_Op<"while", [Shlo_Body, Shlo_Infers,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "values passed through a region as long as a condition holds";
  let evaluator = [{evaluateWhile}];
  let lowering = "loop";
  let rules = [
    "c1: cond takes the operands' types and gives a bool",
    "c2: body takes and gives the operands' types",
    "c3: results have the operands' types"];
  let resultRules = ["c3"];
  let arguments = (ins Variadic<Shlo_TensorTokenOrBuffer>:$operand);
  let regions = (region SizedRegion<1>:$cond, SizedRegion<1>:$body);
  let results = (outs Variadic<Shlo_TensorTokenOrBuffer>);
  let hasVerifier = 1;
  let hasCustomAssemblyFormat = 1;
}
def Shlo_OptimizationBarrierOp : Shlo_Op<"optimization_barrier",
    [Pure, Shlo_PairwiseType, Shlo_Infers]> {
  let summary = "the operands, not to be moved or merged across";
  let evaluator = [{evaluateIdentity}];
  let lowering = "view";
  let indexing = [{indexBarrier}];
  let arguments = (ins Variadic<Shlo_PerTensorOrToken>:$operand);
  let results = (outs Variadic<Shlo_PerTensorOrToken>:$result);
  let assemblyFormat = [{
    attr-dict ($operand^ `:` custom<PairwiseOpType>(type($operand), type($result))):(`(` `)`)?
  }];
}
def Shlo_CompositeOp : Shlo_Op<"composite",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a named operation that a function defines in terms of others";
  let evaluator = [{evaluateComposite}];
  let lowering = "library";
  let since = "0.19.0";
  let rules = [
    "c1: the name has a namespace",
    "c2: decomposition is a function of the module",
    "c3: inputs have the types that the function takes",
    "c4: results have the types that the function gives"];
  let arguments = (ins Variadic<Shlo_TensorTokenOrTuple>:$inputs, StrAttr:$name,
      DefaultValuedOptionalAttr<DictionaryAttr, "{}">:$composite_attributes,
      FlatSymbolRefAttr:$decomposition, DefaultValuedOptionalAttr<I32Attr, "0">:$version);
  let regions = (region VariadicRegion<AnyRegion>:$composite_regions);
  let results = (outs Variadic<Shlo_TensorTokenOrTuple>);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $name operands (` ` `(` $composite_regions^ `)`)? attr-dict
      `:` functional-type(operands, results)
  }];
}
def Shlo_AsyncStartOp : Shlo_Op<"async_start",
    [SingleBlockImplicitTerminator<"ReturnOp">, IsolatedFromAbove, RecursiveMemoryEffects,
     Shlo_Infers]> {
  let summary = "begins a region whose results async_done waits for";
  let evaluator = [{evaluateAsyncStart}];
  let lowering = "expand";
  let since = "1.15.0";
  let rules = [
    "c1: the body is one operation and a return",
    "c2: it is a collective or a slice",
    "c3: the body takes the operands' types",
    "c4: the future has the operation's types"];
  let resultRules = ["c4"];
  let arguments = (ins Variadic<Shlo_Tensor>:$operands);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Shlo_FutureValue:$result);
}
def Shlo_AsyncDoneOp : Shlo_Op<"async_done", [Shlo_Infers]> {
  let summary = "the result of an async_start";
  let evaluator = [{evaluateAsyncDone}];
  let lowering = "expand";
  let since = "1.15.0";
  let rules = [
    "c1: the result is what the future holds"];
  let resultRules = ["c1"];
  let arguments = (ins Shlo_FutureValue:$operand);
  let results = (outs Shlo_Tensor:$result);
}
