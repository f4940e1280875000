// Operations that place elements elsewhere and compute nothing.
include "ops/base.td"

class Shlo_MoveOp<string mnemonic, list<Trait> traits = []>
    : Shlo_Op<mnemonic, !listconcat([Pure], traits)> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Shlo_BitcastConvertOp : Shlo_MoveOp<"bitcast_convert"> {
  let summary = "the same bits as another element type";
  let evaluator = [{evaluateBitcastConvert}];
  let lowering = "indexed";
  let indexing = [{indexBitcast}];
  let sharding = [{rule<mappedRule>}];
  let rules = [
    "c1: shapes agree, up to a last dimension that the ratio of widths adds or takes",
    "c2: both are complex or neither is"];
  let arguments = (ins Shlo_TensorOrPerAxis:$operand);
  let results = (outs Shlo_TensorOrPerAxis:$result);
  let hasVerifier = 1;
}
def Shlo_BroadcastOp : Shlo_MoveOp<"broadcast", [SameOperandsAndResultElementType, Shlo_Infers]> {
  let summary = "copies along new leading dimensions (legacy)";
  let evaluator = [{evaluateBroadcast}];
  let lowering = "expand";
  let rules = [
    "c1: sizes are not negative"];
  let arguments = (ins Shlo_Tensor:$operand, DenseI64ArrayAttr:$broadcast_sizes);
  let results = (outs Shlo_TensorOrPerAxis:$result);
  let assemblyFormat = [{
    $operand `,` `sizes` `=` $broadcast_sizes attr-dict `:` functional-type(operands, results)
  }];
}
def Shlo_BroadcastInDimOp : Shlo_MoveOp<"broadcast_in_dim", [Shlo_SameElementType]> {
  let summary = "copies along dimensions that the operand lacks or has with size one";
  let evaluator = [{evaluateBroadcastInDim}];
  let cost = 0;
  let lowering = "indexed";
  let indexing = [{indexBroadcast}];
  let sharding = [{rule<spreadRule>}];
  let rules = [
    "c1: a quantized operand and the result have the same scales",
    "c2: there is one broadcast dimension for each dimension of the operand",
    "c3: broadcast dimensions are those of the result",
    "c4: broadcast dimensions are unique",
    "c5: a dimension of the operand has size 1 or that of the result",
    "c6: the quantization dimension and its scales follow"];
  let arguments = (ins Shlo_TensorOrPerAxis:$operand, DenseI64ArrayAttr:$broadcast_dimensions);
  let results = (outs Shlo_StaticOrBoundedTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $operand `,` `dims` `=` $broadcast_dimensions attr-dict `:` functional-type(operands, results)
  }];
}
def Shlo_ConcatenateOp : Shlo_MoveOp<"concatenate",
    [SameOperandsAndResultElementType, Shlo_Infers]> {
  let summary = "operands one after the other along a dimension";
  let evaluator = [{evaluateConcatenate}];
  let cost = 2;
  let lowering = "indexed";
  let indexing = [{indexConcatenate}];
  let sharding = [{rule<concatenateRule>}];
  let rules = [
    "c2: inputs have the same sizes but along dimension",
    "c3: there is an input",
    "c4: dimension is one of the inputs",
    "c6: the size along dimension is the sum"];
  let resultRules = ["c6"];
  let arguments = (ins Variadic<Shlo_Tensor>:$inputs,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$dimension);
  let results = (outs Shlo_Tensor:$result);
  let assemblyFormat = [{
    custom<VariadicOperandWithAttribute>($inputs) `dim` `=` $dimension attr-dict
      `:` functional-type(operands, results)
  }];
}
def Shlo_DynamicSliceOp : Shlo_MoveOp<"dynamic_slice",
    [AllElementTypesMatch<["operand", "result"]>, Shlo_Infers]> {
  let summary = "a block that starts at computed indices, kept inside the operand";
  let evaluator = [{evaluateDynamicSlice}];
  let readsPart = 1;
  let lowering = "indexed";
  let indexing = [{indexDynamicSlice}];
  let sharding = [{rule<dynamicSliceRule>}];
  let rules = [
    "c2: starts and sizes are as many as dimensions",
    "c3: starts have the same type",
    "c4: slice sizes fit the operand",
    "c5: the result has the slice sizes"];
  let resultRules = ["c5"];
  let arguments = (ins Shlo_Tensor:$operand, Variadic<Shlo_IntScalar>:$start_indices,
      DenseI64ArrayAttr:$slice_sizes);
  let results = (outs Shlo_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` custom<VariadicOperandWithAttribute>($start_indices) `sizes` `=` $slice_sizes
      attr-dict `:` functional-type(operands, results)
  }];
}
def Shlo_DynamicUpdateSliceOp : Shlo_MoveOp<"dynamic_update_slice",
    [AllElementTypesMatch<["operand", "update", "result"]>, Shlo_Infers]> {
  let summary = "the operand with a block at computed indices replaced";
  let evaluator = [{evaluateDynamicUpdateSlice}];
  let inPlace = "first";
  let lowering = "update_slice";
  let indexing = [{indexDynamicUpdateSlice}];
  let sharding = [{rule<dynamicUpdateSliceRule>}];
  let rules = [
    "c1: the result has the operand's type",
    "c3: the update has the rank of the operand",
    "c4: starts are as many as dimensions",
    "c5: starts have the same type",
    "c6: the update fits the operand"];
  let resultRules = ["c1"];
  let arguments = (ins Shlo_Tensor:$operand, Shlo_Tensor:$update,
      Variadic<Shlo_IntScalar>:$start_indices);
  let results = (outs Shlo_Tensor:$result);
}
def Shlo_GatherOp : Shlo_MoveOp<"gather",
    [AllElementTypesMatch<["operand", "result"]>, Shlo_Infers]> {
  let summary = "blocks that start at indices read from a tensor";
  let evaluator = [{evaluateGather}];
  let readsPart = 1;
  let cost = 10;
  let lowering = "indexed";
  let indexing = [{indexGather}];
  let sharding = [{rule<gatherRule>}];
  let rules = [
    "c1: each dimension of the operand is offset, collapsed or batching",
    "c2: index_vector_dim is a dimension of the indices or one more",
    "c3: an index has a number for each entry of start_index_map",
    "c4: offset_dims are unique and in order",
    "c5: offset_dims are dimensions of the result",
    "c6: collapsed and batching dimensions are unique",
    "c7: collapsed_slice_dims are in order",
    "c8: collapsed_slice_dims are dimensions of the operand",
    "c9: a collapsed slice has size 0 or 1",
    "c10: operand_batching_dims are in order",
    "c11: operand_batching_dims are dimensions of the operand",
    "c12: a batching slice has size 0 or 1",
    "c13: start_indices_batching_dims are unique",
    "c14: start_indices_batching_dims are dimensions of the indices",
    "c15: index_vector_dim is not batching",
    "c16: batching dimensions of operand and indices are as many",
    "c17: batching dimensions have the same sizes",
    "c18: indexed and batching dimensions are unique",
    "c19: start_index_map has dimensions of the operand",
    "c20: slice sizes are as many as dimensions",
    "c21: slice sizes fit the operand",
    "c22: the result combines batch and offset sizes"];
  let resultRules = ["c22"];
  let arguments = (ins Shlo_Tensor:$operand, Shlo_IntTensor:$start_indices,
      Shlo_GatherDimensionNumbers:$dimension_numbers, DenseI64ArrayAttr:$slice_sizes,
      DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs Shlo_Tensor:$result);
  let assemblyFormat = ?;
}
def Shlo_PadOp : Shlo_MoveOp<"pad", [SameOperandsAndResultElementType,
    AllMatchSameOperatorTrait<["edge_padding_low", "edge_padding_high", "interior_padding"],
                              "$_self.size()", "size">,
    Shlo_Infers]> {
  let summary = "the operand with a value around and between its elements";
  let evaluator = [{evaluatePad}];
  let cost = 2;
  let lowering = "indexed";
  let indexing = [{indexPad}];
  let sharding = [{rule<movedRule>}];
  let rules = [
    "c2: low, high and interior padding are as many as dimensions",
    "c3: interior padding is not negative",
    "c4: a size is low + high + size + (size - 1) * interior, and not negative"];
  let resultRules = ["c4"];
  let arguments = (ins Shlo_Tensor:$operand, Shlo_Scalar:$padding_value,
      DenseI64ArrayAttr:$edge_padding_low, DenseI64ArrayAttr:$edge_padding_high,
      DenseI64ArrayAttr:$interior_padding);
  let results = (outs Shlo_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $padding_value `,` `low` `=` $edge_padding_low `,` `high` `=` $edge_padding_high
      `,` `interior` `=` $interior_padding attr-dict `:` functional-type(operands, results)
  }];
}
def Shlo_ReshapeOp : Shlo_MoveOp<"reshape", [Shlo_SameElementType]> {
  let summary = "the same elements in the same order under another shape";
  let evaluator = [{evaluateReshape}];
  let lowering = "view";
  let indexing = [{indexReshape}];
  let sharding = [{rule<reshapeRule>}];
  let rules = [
    "c1: a quantized operand and the result have the same scales",
    "c2: operand and result have as many elements",
    "c3: elements of one scale stay together when quantized per axis"];
  let arguments = (ins Shlo_TensorOrPerAxis:$operand);
  let results = (outs Shlo_StaticOrBoundedTensor:$result);
  let hasVerifier = 1;
}
def Shlo_ReverseOp : Shlo_MoveOp<"reverse", [SameOperandsAndResultElementType, Shlo_Infers]> {
  let summary = "elements in reverse order along some dimensions";
  let evaluator = [{evaluateReverse}];
  let lowering = "indexed";
  let indexing = [{indexReverse}];
  let sharding = [{rule<mappedRule>}];
  let rules = [
    "c2: dimensions are unique",
    "c3: dimensions are those of the operand"];
  let arguments = (ins Shlo_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs Shlo_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $operand `,` `dims` `=` $dimensions attr-dict
      `:` custom<SameOperandsAndResultType>(type($operand), type($result))
  }];
}
def Shlo_SliceOp : Shlo_MoveOp<"slice", [SameOperandsAndResultElementType,
    AllMatchSameOperatorTrait<["start_indices", "limit_indices", "strides"],
                              "$_self.size()", "size">,
    Shlo_Infers]> {
  let summary = "every stride-th element between fixed bounds";
  let evaluator = [{evaluateSlice}];
  let readsPart = 1;
  let cost = 0;
  let lowering = "indexed";
  let indexing = [{indexSlice}];
  let sharding = [{rule<movedRule>}];
  let rules = [
    "c2: starts, limits and strides are as many as dimensions",
    "c3: 0 <= start <= limit <= size",
    "c4: strides are positive",
    "c5: a size is that of the range over the stride, rounded up"];
  let resultRules = ["c5"];
  let arguments = (ins Shlo_Tensor:$operand, DenseI64ArrayAttr:$start_indices,
      DenseI64ArrayAttr:$limit_indices, DenseI64ArrayAttr:$strides);
  let results = (outs Shlo_Tensor:$result);
  let assemblyFormat = [{
    $operand custom<SliceRanges>($start_indices, $limit_indices, $strides)
      attr-dict `:` functional-type(operands, results)
  }];
}
def Shlo_TorchIndexSelectOp : Shlo_MoveOp<"torch_index_select"> {
  let summary = "slices along a dimension, chosen by indices (legacy)";
  let evaluator = [{evaluateTorchIndexSelect}];
  let lowering = "expand";
  let arguments = (ins Shlo_Tensor:$operand, Shlo_Tensor:$index, I64Attr:$dim,
      I64Attr:$batch_dims);
  let results = (outs Shlo_Tensor:$result);
  let assemblyFormat = ?;
}
def Shlo_TransposeOp : Shlo_MoveOp<"transpose", [Shlo_SameElementType, Shlo_Infers]> {
  let summary = "the operand with its dimensions in another order";
  let evaluator = [{evaluateTranspose}];
  let cost = 4;
  let lowering = "indexed";
  let indexing = [{indexTranspose}];
  let sharding = [{rule<mappedRule>}];
  let rules = [
    "c1: a quantized operand and the result have the same scales",
    "c2: permutation has each dimension of the operand once",
    "c3: dimension i of the result is dimension permutation[i] of the operand",
    "c4: the quantization dimension goes where the permutation takes it"];
  let resultRules = ["c3", "c1"];
  let arguments = (ins Shlo_TensorOrPerAxis:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Shlo_TensorOrPerAxis:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $operand `,` `dims` `=` $permutation attr-dict `:` functional-type(operands, results)
  }];
}
