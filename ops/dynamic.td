// Operations whose result shape is computed by the program.
include "ops/base.td"

class Shlo_DynamicOp<string mnemonic, list<Trait> traits = []>
    : Shlo_Op<mnemonic, !listconcat([Pure], traits)> {
  let isDynamic = 1;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Shlo_DynamicBroadcastInDimOp : Shlo_DynamicOp<"dynamic_broadcast_in_dim"> {
  let summary = "broadcast_in_dim to a computed shape";
  let evaluator = [{evaluateDynamicBroadcastInDim}];
  let lowering = "expand";
  let rules = [
    "c1: element types are the same",
    "c2: there is one broadcast dimension for each dimension of the operand",
    "c3: broadcast dimensions are those of the result",
    "c4: broadcast dimensions are unique",
    "c5: a dimension of the operand has size 1 or that of the result",
    "c6: the quantization dimension and its scales follow",
    "c7: output_dimensions has the result's sizes",
    "c8: no dimension is known to expand and not to",
    "c9: known_expanding_dimensions are dimensions of the operand",
    "c10: known_nonexpanding_dimensions are dimensions of the operand"];
  let arguments = (ins Shlo_TensorOrPerAxis:$operand,
      Shlo_StaticDimensionVector:$output_dimensions, DenseI64ArrayAttr:$broadcast_dimensions,
      OptionalAttr<DenseI64ArrayAttr>:$known_expanding_dimensions,
      OptionalAttr<DenseI64ArrayAttr>:$known_nonexpanding_dimensions);
  let results = (outs Shlo_TensorOrPerAxis:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $operand `,` $output_dimensions `,` `dims` `=` $broadcast_dimensions attr-dict
      `:` functional-type(operands, results)
  }];
}
def Shlo_DynamicConvOp : Shlo_DynamicOp<"dynamic_conv"> {
  let summary = "convolution with computed padding";
  let evaluator = [{evaluateDynamicConv}];
  let computesWithReals = 1;
  let lowering = "expand";
  let rules = [
    "c1: operands have the same rank of 2 or more",
    "c2: window_strides are as many as spatial dimensions",
    "c3: window_strides are positive",
    "c4: padding has two numbers for each spatial dimension",
    "c5: lhs_dilation are as many as spatial dimensions",
    "c6: lhs_dilation are positive",
    "c7: rhs_dilation are as many as spatial dimensions",
    "c8: rhs_dilation are positive",
    "c9: window_reversal are as many as spatial dimensions",
    "c10: batch_group_count divides the input batch",
    "c11: feature_group_count divides the input features",
    "c12: input spatial dimensions are all but two",
    "c13: input dimensions are each dimension once",
    "c14: the kernel has input features for one group",
    "c15: batch_group_count divides the output features",
    "c16: feature_group_count divides the output features",
    "c17: kernel spatial dimensions are all but two",
    "c18: kernel dimensions are each dimension once",
    "c19: output spatial dimensions are all but two",
    "c20: output dimensions are each dimension once",
    "c23: one of the group counts is 1",
    "c24: there are two precisions at most",
    "c25: the result has the numbers of windows",
    "c26: the result has the operands' rank",
    "c27: operands have the same element type unless quantized",
    "c28: lhs is quantized if the result is, and then rhs",
    "c29: rhs is quantized along its output features",
    "c30: the result is quantized along its features",
    "c31: quantized lhs and rhs have the same storage",
    "c32: quantized operands and result express the same type",
    "c33: the result is quantized per tensor if rhs is",
    "c34: a float lhs has the type that rhs expresses"];
  let arguments = (ins Shlo_Tensor:$lhs, Shlo_Tensor:$rhs, Shlo_StaticIntMatrix:$padding,
      OptionalAttr<DenseI64ArrayAttr>:$window_strides,
      OptionalAttr<DenseI64ArrayAttr>:$lhs_dilation, OptionalAttr<DenseI64ArrayAttr>:$rhs_dilation,
      OptionalAttr<DenseBoolArrayAttr>:$window_reversal,
      Shlo_ConvDimensionNumbers:$dimension_numbers,
      ConfinedAttr<I64Attr, [IntPositive]>:$feature_group_count,
      ConfinedAttr<I64Attr, [IntPositive]>:$batch_group_count,
      OptionalAttr<Shlo_PrecisionConfigAttr>:$precision_config);
  let results = (outs Shlo_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = ?;
}
def Shlo_DynamicGatherOp : Shlo_DynamicOp<"dynamic_gather", [Shlo_Infers]> {
  let summary = "gather of blocks of computed sizes";
  let evaluator = [{evaluateDynamicGather}];
  let lowering = "expand";
  let rules = [
    "c1: each dimension of the operand is offset or collapsed",
    "c2: index_vector_dim is a dimension of the indices or one more",
    "c3: an index has a number for each entry of start_index_map",
    "c4: offset_dims are unique and in order",
    "c5: offset_dims are dimensions of the result",
    "c6: collapsed_slice_dims are unique and in order",
    "c7: collapsed_slice_dims are dimensions of the operand",
    "c8: a collapsed slice has size 0 or 1",
    "c9: start_index_map is unique",
    "c10: start_index_map has dimensions of the operand",
    "c11: slice sizes are as many as dimensions",
    "c12: slice sizes fit the operand",
    "c13: the result combines batch and offset sizes",
    "c14: the result has the operand's element type"];
  let resultRules = ["c13", "c14"];
  let arguments = (ins Shlo_Tensor:$operand, Shlo_IntTensor:$start_indices,
      Shlo_StaticIntVector:$slice_sizes, Shlo_GatherDimensionNumbers:$dimension_numbers,
      DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs Shlo_Tensor:$result);
  let assemblyFormat = ?;
}
def Shlo_DynamicIotaOp : Shlo_DynamicOp<"dynamic_iota"> {
  let summary = "iota of a computed shape";
  let evaluator = [{evaluateDynamicIota}];
  let lowering = "expand";
  let rules = [
    "c1: iota_dimension is a dimension of the result",
    "c2: output_shape has the result's sizes"];
  let arguments = (ins Shlo_StaticDimensionVector:$output_shape,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$iota_dimension);
  let results = (outs Shlo_Tensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $output_shape `,` `dim` `=` $iota_dimension attr-dict `:` functional-type(operands, results)
  }];
}
def Shlo_DynamicPadOp : Shlo_DynamicOp<"dynamic_pad",
    [AllElementTypesMatch<["operand", "padding_value", "result"]>,
     AllTypesMatch<["edge_padding_low", "edge_padding_high", "interior_padding"]>,
     AllRanksMatch<["operand", "result"]>]> {
  let summary = "pad by computed amounts";
  let evaluator = [{evaluateDynamicPad}];
  let lowering = "expand";
  let rules = [
    "c2: padding is as long as there are dimensions",
    "c3: interior padding is not negative",
    "c4: sizes that are known agree"];
  let arguments = (ins Shlo_Tensor:$operand, Shlo_Scalar:$padding_value,
      Shlo_StaticDimensionVector:$edge_padding_low, Shlo_StaticDimensionVector:$edge_padding_high,
      Shlo_StaticDimensionVector:$interior_padding);
  let results = (outs Shlo_Tensor:$result);
  let hasVerifier = 1;
}
def Shlo_DynamicReshapeOp : Shlo_DynamicOp<"dynamic_reshape"> {
  let summary = "reshape to a computed shape";
  let evaluator = [{evaluateDynamicReshape}];
  let lowering = "expand";
  let rules = [
    "c1: element types are the same",
    "c2: there are as many elements",
    "c3: elements of one scale stay together when quantized per axis",
    "c4: output_shape has the result's sizes"];
  let arguments = (ins Shlo_TensorOrPerAxis:$operand, Shlo_StaticDimensionVector:$output_shape);
  let results = (outs Shlo_TensorOrPerAxis:$result);
  let hasVerifier = 1;
}
def Shlo_RealDynamicSliceOp : Shlo_DynamicOp<"real_dynamic_slice",
    [AllElementTypesMatch<["operand", "result"]>,
     AllTypesMatch<["start_indices", "limit_indices", "strides"]>]> {
  let summary = "slice between computed bounds";
  let evaluator = [{evaluateRealDynamicSlice}];
  let lowering = "expand";
  let rules = [
    "c2: starts, limits and strides are as many as dimensions"];
  let arguments = (ins Shlo_Tensor:$operand, Shlo_DimensionVector:$start_indices,
      Shlo_DimensionVector:$limit_indices, Shlo_DimensionVector:$strides);
  let results = (outs Shlo_Tensor:$result);
  let hasVerifier = 1;
}
def Shlo_GetDimensionSizeOp : Shlo_DynamicOp<"get_dimension_size", [Shlo_Infers]> {
  let summary = "the size of a dimension";
  let evaluator = [{evaluateGetDimensionSize}];
  let lowering = "expand";
  let rules = [
    "c1: dimension is one of the operand"];
  let arguments = (ins Shlo_TensorOrPerAxis:$operand,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$dimension);
  let results = (outs Shlo_I32Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `dim` `=` $dimension attr-dict `:` functional-type(operands, results)
  }];
}
def Shlo_SetDimensionSizeOp : Shlo_DynamicOp<"set_dimension_size", [Shlo_Infers]> {
  let summary = "the operand with a dimension of a computed size, up to the bound it had";
  let evaluator = [{evaluateSetDimensionSize}];
  let lowering = "expand";
  let rules = [
    "c1: dimension is one of the operand",
    "i2: size is a scalar"];
  let arguments = (ins Shlo_Tensor:$operand, Shlo_I32Tensor:$size,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$dimension);
  let results = (outs Shlo_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $size `,` `dim` `=` $dimension attr-dict `:` functional-type(operands, results)
  }];
}
