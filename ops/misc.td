// Constants, random numbers, tuples and calls of code that is not ours.
include "ops/base.td"

def Shlo_ConstantOp : Shlo_Op<"constant", [ConstantLike, Pure,
    DeclareOpInterfaceMethods<InferTypeOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a tensor known when the program is compiled";
  let evaluator = [{evaluateConstant}];
  let lowering = "constant";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Shlo_StaticTensor:$output);
  let builders = [OpBuilder<(ins "::mlir::Attribute":$value)>];
  let hasFolder = 1;
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    // A quantized constant holds values of its storage type.
    static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange stated);
  }];
}
def Shlo_IotaOp : Shlo_Op<"iota", [Pure]> {
  let summary = "the index along a dimension, at each index";
  let evaluator = [{evaluateIota}];
  let cost = 0;
  let lowering = "indexed";
  let indexing = [{indexElementwise}];
  let sharding = [{rule<spreadRule>}];
  let rules = [
    "c1: iota_dimension is a dimension of the result"];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$iota_dimension);
  let results = (outs Shlo_StaticNumberTensor:$output);
  let hasVerifier = 1;
  let assemblyFormat = "`dim` `=` $iota_dimension attr-dict `:` type($output)";
}
def Shlo_RngOp : Shlo_Op<"rng", [AllElementTypesMatch<["a", "b", "result"]>, Shlo_Infers]> {
  let summary = "random numbers without a state of their own (legacy)";
  let evaluator = [{evaluateRng}];
  let lowering = "expand";
  let rules = [
    "c2: a NORMAL distribution is of floats",
    "c3: the result has the given shape"];
  let resultRules = ["c3"];
  let arguments = (ins Shlo_BoolIntOrFloatScalar:$a, Shlo_BoolIntOrFloatScalar:$b,
      Shlo_StaticDimensionVector:$shape, Shlo_RngDistributionAttr:$rng_distribution);
  let results = (outs Shlo_BoolIntOrFloatTensor:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $shape `,` `distribution` `=` $rng_distribution attr-dict
      `:` functional-type(operands, results)
  }];
}
def Shlo_RngBitGeneratorOp : Shlo_Op<"rng_bit_generator", [Pure]> {
  let summary = "random bits and the next state of their generator";
  let evaluator = [{evaluateRngBitGenerator}];
  let inPlace = "first";
  let lowering = "library";
  let kernels = "all";
  let rules = [
    "c1: the state keeps its type"];
  let arguments = (ins Shlo_RngAlgorithmAttr:$rng_algorithm,
      Shlo_IntOrFloatTensor:$initial_state);
  let results = (outs Shlo_IntOrFloatTensor:$output_state, Shlo_StaticIntOrFloatTensor:$output);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $initial_state `,` `algorithm` `=` $rng_algorithm attr-dict
      `:` functional-type(operands, results)
  }];
}
def Shlo_TupleOp : Shlo_Op<"tuple", [Pure, Shlo_Infers]> {
  let summary = "values packed into one";
  let evaluator = [{evaluateTuple}];
  let lowering = "expand";
  let rules = [
    "c1: the result has the operands' types"];
  let resultRules = ["c1"];
  let arguments = (ins Variadic<Shlo_AnyValue>:$val);
  let results = (outs Shlo_TupleValue:$result);
  let assemblyFormat = "$val attr-dict `:` custom<TupleOpType>(type($val), type($result))";
}
def Shlo_GetTupleElementOp : Shlo_Op<"get_tuple_element", [Pure, Shlo_Infers]> {
  let summary = "one value of a tuple";
  let evaluator = [{evaluateGetTupleElement}];
  let lowering = "expand";
  let rules = [
    "c1: index is an element of the tuple",
    "c2: the result has its type"];
  let resultRules = ["c2"];
  let arguments = (ins Shlo_TupleValue:$operand,
      ConfinedAttr<I32Attr, [IntNonNegative]>:$index);
  let results = (outs Shlo_AnyValue:$result);
  let assemblyFormat = [{
    $operand `[` $index `]` attr-dict `:` functional-type(operands, results)
  }];
}
def Shlo_CustomCallOp : Shlo_Op<"custom_call",
    [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a call of a function that is registered with the runtime";
  let evaluator = [{evaluateCustomCall}];
  let lowering = "library";
  let sharding = [{rule<customCallRule>}];
  let rules = [
    "i4: backend_config is a dictionary for typed FFI and else a string",
    "i7: layouts have each dimension once",
    "i9: aliased outputs and operands have the same type"];
  let arguments = (ins Variadic<Shlo_CustomCallValue>:$inputs, StrAttr:$call_target_name,
      DefaultValuedOptionalAttr<BoolAttr, "false">:$has_side_effect,
      OptionalAttr<AnyAttrOf<[StrAttr, DictionaryAttr]>>:$backend_config,
      DefaultValuedOptionalAttr<Shlo_CustomCallApiVersionAttr,
          "::isthmus::shlo::CustomCallApiVersion::API_VERSION_ORIGINAL">:$api_version,
      DefaultValuedOptionalAttr<Shlo_SymbolArrayAttr, "{}">:$called_computations,
      OptionalAttr<Shlo_ArrayOfLayoutAttr>:$operand_layouts,
      OptionalAttr<Shlo_ArrayOfLayoutAttr>:$result_layouts,
      DefaultValuedOptionalAttr<Shlo_AliasArrayAttr, "{}">:$output_operand_aliases,
      OptionalAttr<Shlo_ArrayOfTilingAttr>:$result_tilings);
  let results = (outs Variadic<Shlo_CustomCallValue>);
  let hasVerifier = 1;
  let assemblyFormat = [{
    custom<CustomCallTarget>($call_target_name) `(` $inputs `)` attr-dict
      `:` functional-type(operands, results)
  }];
}
