// Operations that combine many elements by a function given as a region.
include "ops/base.td"

def Shlo_MapOp : Shlo_Op<"map", [Shlo_Body, SameOperandsAndResultShape, Shlo_Infers]> {
  let summary = "a scalar function at each index";
  let evaluator = [{evaluateMap}];
  let computesWithReals = 1;
  let lowering = "expand";
  let indexing = [{indexElementwise}];
  let computesWithReals = 0;  // its region does
  let rules = [
    "c2: there is an input",
    "c3: dimensions are all of them, in order",
    "c4: the region takes a scalar of each input and gives one"];
  let arguments = (ins Variadic<Shlo_Tensor>:$inputs, DenseI64ArrayAttr:$dimensions);
  let regions = (region SizedRegion<1>:$computation);
  let results = (outs Shlo_Tensor:$result);
}
def Shlo_ReduceOp : Shlo_Op<"reduce", [Shlo_Body, SameVariadicOperandSize, Shlo_Infers]> {
  let summary = "all elements along some dimensions combined into one";
  let evaluator = [{evaluateReduce}];
  let lowering = "reduce";
  let indexing = [{indexReduce}];
  let sharding = [{rule<reduceRule>}];
  let rules = [
    "c1: inputs have the same shape",
    "c3: there are inputs, and as many initial values",
    "c4: dimensions are those of the inputs",
    "c5: dimensions are unique",
    "c6: the region takes 2N scalars and gives N, to which the inputs promote",
    "c7: results lack the dimensions",
    "c8: results have the region's element types",
    "i2: initial values are scalars"];
  let resultRules = ["c7", "c8"];
  let arguments = (ins Variadic<Shlo_Tensor>:$inputs, Variadic<Shlo_Tensor>:$init_values,
      DenseI64ArrayAttr:$dimensions);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Shlo_Tensor>);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs, "::mlir::ValueRange":$init_values,
      "::mlir::DenseI64ArrayAttr":$dimensions, "::mlir::TypeRange":$element_types)>];
  let hasVerifier = 1;
  let hasCustomAssemblyFormat = 1;
}
def Shlo_ReduceWindowOp : Shlo_Op<"reduce_window",
    [Shlo_Body, SameVariadicOperandSize, Shlo_Infers]> {
  let summary = "the elements of each window combined into one";
  let evaluator = [{evaluateReduceWindow}];
  let lowering = "window";
  let indexing = [{indexReduceWindow}];
  let sharding = [{rule<reduceWindowRule>}];
  let rules = [
    "c1: there are inputs, and as many initial values",
    "c2: inputs have the same shape",
    "c4: window_dimensions are as many as dimensions",
    "c5: window_dimensions are positive",
    "c6: window_strides are as many as dimensions",
    "c7: window_strides are positive",
    "c8: base_dilations are as many as dimensions",
    "c9: base_dilations are positive",
    "c10: window_dilations are as many as dimensions",
    "c11: window_dilations are positive",
    "c12: padding has two numbers for each dimension",
    "c13: the region takes 2N scalars and gives N, to which the inputs promote",
    "c15: sizes are the numbers of windows",
    "c16: results have the region's element types",
    "i2: initial values are scalars"];
  let resultRules = ["c15", "c16"];
  let arguments = (ins Variadic<Shlo_Tensor>:$inputs, Variadic<Shlo_Tensor>:$init_values,
      DenseI64ArrayAttr:$window_dimensions, OptionalAttr<DenseI64ArrayAttr>:$window_strides,
      OptionalAttr<DenseI64ArrayAttr>:$base_dilations,
      OptionalAttr<DenseI64ArrayAttr>:$window_dilations, OptionalAttr<I64ElementsAttr>:$padding);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<Shlo_Tensor>);
  let hasVerifier = 1;
}
def Shlo_ScatterOp : Shlo_Op<"scatter", [RecursiveMemoryEffects, RecursivelySpeculatable,
    SameVariadicOperandSize, Shlo_Infers]> {
  let summary = "blocks combined into the operands at indices read from a tensor";
  let evaluator = [{evaluateScatter}];
  let cost = 10;
  let inPlace = "pairwise";
  let lowering = "scatter";
  let indexing = [{indexScatter}];
  let sharding = [{rule<scatterRule>}];
  let rules = [
    "c1: inputs have the same shape",
    "c2: each dimension of the inputs is of the window, inserted or batching",
    "c3: updates have the same shape",
    "c4: updates combine scatter and window sizes",
    "c5: there are inputs, and as many updates",
    "c6: updates have the element types of the inputs",
    "c7: update_window_dims are unique and in order",
    "c8: update_window_dims are dimensions of the updates",
    "c9: inserted and batching dimensions are unique",
    "c10: inserted_window_dims are in order",
    "c11: inserted_window_dims are dimensions of the inputs",
    "c12: input_batching_dims are in order",
    "c13: input_batching_dims are dimensions of the inputs",
    "c14: scatter_indices_batching_dims are unique",
    "c15: scatter_indices_batching_dims are dimensions of the indices",
    "c16: index_vector_dim is not batching",
    "c17: batching dimensions of inputs and indices are as many",
    "c18: batching dimensions have the same sizes",
    "c19: an index has a number for each entry of scatter_dims_to_operand_dims",
    "c20: indexed and batching dimensions are unique",
    "c21: scatter_dims_to_operand_dims has dimensions of the inputs",
    "c22: index_vector_dim is a dimension of the indices or one more",
    "c23: the region takes 2N scalars and gives N",
    "c24: results have the inputs' shapes",
    "c25: results have the region's element types"];
  let resultRules = ["c24", "c25"];
  let arguments = (ins Variadic<Shlo_Tensor>:$inputs, Shlo_IndexTensor:$scatter_indices,
      Variadic<Shlo_Tensor>:$updates, Shlo_ScatterDimensionNumbers:$scatter_dimension_numbers,
      DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted,
      DefaultValuedOptionalAttr<BoolAttr, "false">:$unique_indices);
  let regions = (region SizedRegion<1>:$update_computation);
  let results = (outs Variadic<Shlo_Tensor>);
  let hasVerifier = 1;
}
def Shlo_SelectAndScatterOp : Shlo_Op<"select_and_scatter",
    [RecursiveMemoryEffects, RecursivelySpeculatable, Shlo_Infers]> {
  let summary = "values combined where the element selected from each window lies";
  let evaluator = [{evaluateSelectAndScatter}];
  let lowering = "scatter";
  let indexing = [{indexSelectAndScatter}];
  let sharding = [{rule<selectAndScatterRule>}];
  let rules = [
    "c1: operand and source have the same element type",
    "c2: the source has the shape of the windows",
    "c3: init_value is a scalar of the operand's element type",
    "c4: window_dimensions are as many as dimensions",
    "c5: window_dimensions are positive",
    "c6: window_strides are as many as dimensions",
    "c7: window_strides are positive",
    "c8: padding has two numbers for each dimension",
    "c9: select takes two scalars and gives a bool",
    "c10: scatter takes two scalars and gives one",
    "c11: the result has the operand's shape",
    "c12: the result has scatter's element type"];
  let resultRules = ["c11", "c12"];
  let arguments = (ins Shlo_Tensor:$operand, Shlo_Tensor:$source, Shlo_Tensor:$init_value,
      OptionalAttr<DenseI64ArrayAttr>:$window_dimensions,
      OptionalAttr<DenseI64ArrayAttr>:$window_strides, OptionalAttr<I64ElementsAttr>:$padding);
  let regions = (region SizedRegion<1>:$select, SizedRegion<1>:$scatter);
  let results = (outs Shlo_Tensor:$result);
  let hasVerifier = 1;
}
def Shlo_SortOp : Shlo_Op<"sort", [RecursiveMemoryEffects, RecursivelySpeculatable,
    SameOperandsAndResultShape, Shlo_Infers]> {
  let summary = "all operands reordered together along a dimension by a comparator";
  let evaluator = [{evaluateSort}];
  let inPlace = "pairwise";
  let lowering = "library";
  let kernels = "gpu";
  let indexing = [{indexSort}];
  let sharding = [{rule<mappedRule>}];
  let rules = [
    "c1: there is an input",
    "c2: results have the inputs' types",
    "c3: all have the same shape",
    "c4: dimension is one of the inputs, counted from the end if negative",
    "c5: the comparator takes two scalars of each input and gives a bool"];
  let resultRules = ["c2"];
  let arguments = (ins Variadic<Shlo_Tensor>:$inputs,
      DefaultValuedOptionalAttr<I64Attr, "-1">:$dimension,
      DefaultValuedOptionalAttr<BoolAttr, "false">:$is_stable);
  let regions = (region SizedRegion<1>:$comparator);
  let results = (outs Variadic<Shlo_Tensor>);
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs, CArg<"int64_t", "-1">:$dimension,
      CArg<"bool", "false">:$is_stable)>];
  let hasVerifier = 1;
}
