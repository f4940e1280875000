// Contractions, convolutions and what else a numerical library would do.
include "ops/base.td"

def Shlo_BatchNormGradOp : Shlo_Op<"batch_norm_grad",
    [Pure, Shlo_SameElementType, Shlo_Infers]> {
  let summary = "gradients of batch_norm_training";
  let evaluator = [{evaluateBatchNormGrad}];
  let computesWithReals = 1;
  let lowering = "expand";
  let rules = [
    "c1: feature_index is a dimension of the operand",
    "c3: operand and grad_output have the same shape",
    "c5: scale, mean and variance have the features' size"];
  let arguments = (ins Shlo_FloatOrQuantizedTensor:$operand, Shlo_FloatOrQuantizedVector:$scale,
      Shlo_FloatOrQuantizedVector:$mean, Shlo_FloatOrQuantizedVector:$variance,
      Shlo_FloatOrQuantizedTensor:$grad_output, F32Attr:$epsilon,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$feature_index);
  let results = (outs Shlo_FloatOrQuantizedTensor:$grad_operand,
      Shlo_FloatOrQuantizedVector:$grad_scale, Shlo_FloatOrQuantizedVector:$grad_offset);
}
def Shlo_BatchNormInferenceOp : Shlo_Op<"batch_norm_inference",
    [Pure, Shlo_SameElementType, Shlo_Infers]> {
  let summary = "normalisation over all dimensions but one by given statistics";
  let evaluator = [{evaluateBatchNormInference}];
  let computesWithReals = 1;
  let lowering = "expand";
  let rules = [
    "c1: feature_index is a dimension of the operand",
    "c3: scale, offset, mean and variance have the features' size"];
  let arguments = (ins Shlo_FloatOrQuantizedTensor:$operand, Shlo_FloatOrQuantizedVector:$scale,
      Shlo_FloatOrQuantizedVector:$offset, Shlo_FloatOrQuantizedVector:$mean,
      Shlo_FloatOrQuantizedVector:$variance, F32Attr:$epsilon,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$feature_index);
  let results = (outs Shlo_FloatOrQuantizedTensor:$result);
}
def Shlo_BatchNormTrainingOp : Shlo_Op<"batch_norm_training",
    [Pure, Shlo_SameElementType, Shlo_Infers]> {
  let summary = "normalisation over all dimensions but one by the operand's own statistics";
  let evaluator = [{evaluateBatchNormTraining}];
  let computesWithReals = 1;
  let lowering = "expand";
  let rules = [
    "c1: feature_index is a dimension of the operand",
    "c3: scale and offset have the features' size"];
  let arguments = (ins Shlo_FloatOrQuantizedTensor:$operand, Shlo_FloatOrQuantizedVector:$scale,
      Shlo_FloatOrQuantizedVector:$offset, F32Attr:$epsilon,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$feature_index);
  let results = (outs Shlo_FloatOrQuantizedTensor:$output,
      Shlo_FloatOrQuantizedVector:$batch_mean, Shlo_FloatOrQuantizedVector:$batch_var);
}
def Shlo_CholeskyOp : Shlo_Op<"cholesky", [Pure, Shlo_SameElementType, Shlo_Infers]> {
  let summary = "triangular factor of positive definite matrices";
  let evaluator = [{evaluateCholesky}];
  let inPlace = "first";
  let computesWithReals = 1;
  let lowering = "library";
  let indexing = [{indexMatrices}];
  let sharding = [{rule<mappedRule>}];
  let rules = [
    "c2: a has rank 2 or more",
    "c3: a has square matrices"];
  let arguments = (ins Shlo_FloatComplexOrQuantizedTensor:$a,
      DefaultValuedOptionalAttr<BoolAttr, "false">:$lower);
  let results = (outs Shlo_FloatComplexOrQuantizedTensor:$result);
  let assemblyFormat = [{
    $a (`,` `lower` `=` $lower^)? attr-dict
      `:` custom<SameOperandsAndResultType>(type($a), type($result))
  }];
}
def Shlo_ConvolutionOp : Shlo_Op<"convolution", [Pure]> {
  let summary = "products of windows of lhs with the kernel rhs, summed";
  let evaluator = [{evaluateConvolution}];
  let isContraction = 1;
  let computesWithReals = 1;
  let lowering = "library";
  let kernels = "all";
  let indexing = [{indexConvolution}];
  let sharding = [{rule<convolutionRule>}];
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
  let arguments = (ins Shlo_Tensor:$lhs, Shlo_TensorOrPerAxis:$rhs,
      OptionalAttr<DenseI64ArrayAttr>:$window_strides, OptionalAttr<I64ElementsAttr>:$padding,
      OptionalAttr<DenseI64ArrayAttr>:$lhs_dilation, OptionalAttr<DenseI64ArrayAttr>:$rhs_dilation,
      OptionalAttr<DenseBoolArrayAttr>:$window_reversal,
      Shlo_ConvDimensionNumbers:$dimension_numbers,
      ConfinedAttr<I64Attr, [IntPositive]>:$feature_group_count,
      ConfinedAttr<I64Attr, [IntPositive]>:$batch_group_count,
      OptionalAttr<Shlo_PrecisionConfigAttr>:$precision_config);
  let results = (outs Shlo_TensorOrPerAxis:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    `(` operands `)` `dim_numbers` `=` custom<ConvolutionDimensions>($dimension_numbers) `,`
      `window` `=` `{` custom<WindowAttributes>($window_strides, $padding, $lhs_dilation,
                                                $rhs_dilation, $window_reversal) `}`
      attr-dict `:` functional-type(operands, results)
  }];
}
def Shlo_DotOp : Shlo_Op<"dot", [Pure]> {
  let summary = "product of vectors and matrices (legacy)";
  let evaluator = [{evaluateDot}];
  let computesWithReals = 1;
  let lowering = "expand";
  let rules = [
    "c1: operands have rank 1 or 2",
    "c2: the summed dimensions have the same size",
    "c3: the result has the other dimensions",
    "c4: there are two precisions at most"];
  let arguments = (ins Shlo_Tensor:$lhs, Shlo_TensorOrPerAxis:$rhs,
      OptionalAttr<Shlo_PrecisionConfigAttr>:$precision_config);
  let results = (outs Shlo_TensorOrPerAxis:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $lhs `,` $rhs `` custom<PrecisionConfig>($precision_config) attr-dict
      `:` functional-type(operands, results)
  }];
}
def Shlo_DotGeneralOp : Shlo_Op<"dot_general", [Pure]> {
  let summary = "products summed over contracting dimensions, for each batch index";
  let evaluator = [{evaluateDotGeneral}];
  let isContraction = 1;
  let computesWithReals = 1;
  let lowering = "library";
  let kernels = "all";
  let indexing = [{indexDotGeneral}];
  let sharding = [{rule<dotRule>}];
  let rules = [
    "c1: batching dimensions are as many on both sides",
    "c2: contracting dimensions are as many on both sides",
    "c3: dimensions of lhs are unique",
    "c4: dimensions of rhs are unique",
    "c5: lhs_batching_dimensions are dimensions of lhs",
    "c6: lhs_contracting_dimensions are dimensions of lhs",
    "c7: rhs_batching_dimensions are dimensions of rhs",
    "c8: rhs_contracting_dimensions are dimensions of rhs",
    "c9: batching dimensions have the same sizes",
    "c10: contracting dimensions have the same sizes",
    "c11: there are two precisions at most",
    "c12: the result has batching sizes, then the rest of lhs, then of rhs",
    "c14: lhs is quantized if the result is, and then rhs",
    "c15: zero points of rhs are 0",
    "c16: rhs is not quantized along a contracting dimension",
    "c17: quantized lhs and rhs have the same storage",
    "c18: quantized operands and result express the same type",
    "c19: the result is quantized per tensor if rhs is",
    "c20: a float lhs has the type that rhs expresses",
    "c21: an algorithm goes with DEFAULT precision",
    "c22: an algorithm's component count of lhs is positive",
    "c23: an algorithm's component count of rhs is positive",
    "c24: an algorithm's number of operations is positive",
    "i8: an algorithm computes in float types"];
  let arguments = (ins Shlo_Tensor:$lhs, Shlo_TensorOrPerAxis:$rhs,
      Shlo_DotDimensionNumbers:$dot_dimension_numbers,
      OptionalAttr<Shlo_PrecisionConfigAttr>:$precision_config,
      OptionalAttr<Shlo_DotAlgorithm>:$algorithm);
  let results = (outs Shlo_TensorOrPerAxis:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $lhs `,` $rhs `,` custom<DotDimensionNumbers>($dot_dimension_numbers) ``
      custom<PrecisionConfigAndAlgorithm>($precision_config, $algorithm) attr-dict
      `:` functional-type(operands, results)
  }];
}
def Shlo_EinsumOp : Shlo_Op<"einsum", [Pure]> {
  let summary = "contraction said by letters (legacy)";
  let evaluator = [{evaluateEinsum}];
  let computesWithReals = 1;
  let lowering = "expand";
  let arguments = (ins Shlo_Tensor:$lhs, Shlo_Tensor:$rhs, StrAttr:$einsum_config);
  let results = (outs Shlo_Tensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` `config` `=` $einsum_config attr-dict `:` functional-type(operands, results)
  }];
}
def Shlo_UnaryEinsumOp : Shlo_Op<"unary_einsum", [Pure]> {
  let summary = "sum and permutation said by letters (legacy)";
  let evaluator = [{evaluateUnaryEinsum}];
  let computesWithReals = 1;
  let lowering = "expand";
  let arguments = (ins Shlo_Tensor:$operand, StrAttr:$einsum_config);
  let results = (outs Shlo_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `config` `=` $einsum_config attr-dict `:` functional-type(operands, results)
  }];
}
def Shlo_FftOp : Shlo_Op<"fft", [Pure, Shlo_Infers]> {
  let summary = "discrete Fourier transform of the last dimensions";
  let evaluator = [{evaluateFft}];
  let computesWithReals = 1;
  let lowering = "library";
  let kernels = "gpu";
  let indexing = [{indexFft}];
  let sharding = [{rule<mappedRule>}];
  let rules = [
    "c1: fft_length is no longer than the rank",
    "c2: the operand is real for RFFT and else complex",
    "c3: fft_length has 1 to 3 numbers",
    "c4: the real side ends in fft_length",
    "c5: the complex side of a real transform has half its last size plus 1; of size 0, 0 or 1"];
  let arguments = (ins Shlo_FloatOrComplexTensor:$operand, Shlo_FftTypeAttr:$fft_type,
      DenseI64ArrayAttr:$fft_length);
  let results = (outs Shlo_FloatOrComplexTensor:$result);
  let assemblyFormat = [{
    $operand `,` `type` `=` $fft_type `,` `length` `=` $fft_length
      attr-dict `:` functional-type(operands, results)
  }];
}
def Shlo_TriangularSolveOp : Shlo_Op<"triangular_solve",
    [Pure, Shlo_SameElementType, Shlo_Infers]> {
  let summary = "solution of linear systems with triangular matrices";
  let evaluator = [{evaluateTriangularSolve}];
  let inPlace = "second";
  let computesWithReals = 1;
  let lowering = "library";
  let indexing = [{indexMatrices}];
  let sharding = [{rule<mappedRule>}];
  let rules = [
    "c2: a and b have the same rank of 2 or more",
    "c3: a has square matrices that fit b",
    "i6: transpose_a is a transposition"];
  let arguments = (ins Shlo_FloatOrComplexTensor:$a, Shlo_FloatOrComplexTensor:$b,
      BoolAttr:$left_side, BoolAttr:$lower, BoolAttr:$unit_diagonal,
      Shlo_TransposeAttr:$transpose_a);
  let results = (outs Shlo_FloatOrComplexTensor:$result);
}
