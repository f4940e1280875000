// Elementwise operations of two and three operands.
include "ops/base.td"

let lowering = "elementwise" in {

class Shlo_BinaryOp<string mnemonic, Type operandType, list<Trait> traits = []>
    : Shlo_Op<mnemonic, !listconcat([Pure, SameOperandsAndResultShape], traits, [Shlo_SameType])> {
  let arguments = (ins operandType:$lhs, operandType:$rhs);
  let results = (outs operandType:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict
      `:` custom<SameOperandsAndResultType>(type($lhs), type($rhs), type($result))
  }];
}

// Quantized operands may each have a scale of their own.
def Shlo_AddOp : Shlo_Op<"add", [Pure, SameOperandsAndResultShape, Elementwise, Commutative,
    Shlo_Infers]> {
  let summary = "sum; of bools, the logical or";
  let neutral = "zero";
  let evaluator = [{binary<add>}];
  let work = "flop";
  let rules = [
    "c1: types are the same unless quantized",
    "c2: all are quantized or none is",
    "c3: storage types are the same",
    "c4: expressed types are the same",
    "c5: the result is quantized per axis if an operand is",
    "c6: lhs has the result's quantization dimension",
    "c7: rhs has the result's quantization dimension"];
  let arguments = (ins Shlo_TensorOrPerAxis:$lhs, Shlo_TensorOrPerAxis:$rhs);
  let results = (outs Shlo_TensorOrPerAxis:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict
      `:` custom<SameOperandsAndResultType>(type($lhs), type($rhs), type($result))
  }];
}
def Shlo_Atan2Op : Shlo_BinaryOp<"atan2", Shlo_FloatComplexOrQuantizedTensor> {
  let summary = "angle of the point (rhs, lhs)";
  let evaluator = [{binary<atan2>}];
  let cost = 50;
  let work = "transcendental";
}
def Shlo_ComplexOp : Shlo_Op<"complex", [Pure, Elementwise, SameOperandsElementType,
    SameOperandsAndResultShape, Shlo_Infers]> {
  let summary = "complex number of a real and an imaginary part";
  let evaluator = [{binary<makeComplex>}];
  let arguments = (ins Shlo_Float32Or64Tensor:$lhs, Shlo_Float32Or64Tensor:$rhs);
  let results = (outs Shlo_ComplexTensor:$result);
  let assemblyFormat = [{
    operands attr-dict `:` custom<ComplexOpType>(type($lhs), type($rhs), type($result))
  }];
}
def Shlo_DivOp : Shlo_BinaryOp<"divide", Shlo_NumberTensor> {
  let summary = "quotient; of integers, rounded towards zero";
  let evaluator = [{binary<divide>}];
  let cost = 5;
  let integerCost = 10;
  let work = "flop";
}
def Shlo_MaxOp : Shlo_BinaryOp<"maximum", Shlo_Tensor, [Commutative]> {
  let summary = "greater value; of bools, the logical or";
  let neutral = "lowest";
  let isIdempotent = 1;
  let evaluator = [{binary<maximum>}];
  let work = "flop";
}
def Shlo_MinOp : Shlo_BinaryOp<"minimum", Shlo_Tensor, [Commutative]> {
  let summary = "lesser value; of bools, the logical and";
  let neutral = "highest";
  let isIdempotent = 1;
  let evaluator = [{binary<minimum>}];
  let work = "flop";
}
def Shlo_MulOp : Shlo_BinaryOp<"multiply", Shlo_Tensor, [Commutative]> {
  let summary = "product; of bools, the logical and";
  let neutral = "one";
  let evaluator = [{binary<multiply>}];
  let work = "flop";
}
def Shlo_PowOp : Shlo_BinaryOp<"power", Shlo_NumberTensor> {
  let summary = "lhs to the power of rhs";
  let evaluator = [{binary<power>}];
  let cost = 90;
  let work = "transcendental";
}
def Shlo_RemOp : Shlo_BinaryOp<"remainder", Shlo_NumberTensor> {
  let summary = "remainder of the division, with the sign of the dividend";
  let evaluator = [{binary<remainder>}];
  let cost = 90;
  let integerCost = 10;
  let work = "flop";
}
def Shlo_ShiftLeftOp : Shlo_BinaryOp<"shift_left", Shlo_IntTensor> {
  let summary = "bits moved up, zeros moved in";
  let evaluator = [{binary<shiftLeft>}];
}
def Shlo_ShiftRightArithmeticOp : Shlo_BinaryOp<"shift_right_arithmetic", Shlo_IntTensor> {
  let summary = "bits moved down, the sign bit moved in";
  let evaluator = [{binary<shiftRightArithmetic>}];
}
def Shlo_ShiftRightLogicalOp : Shlo_BinaryOp<"shift_right_logical", Shlo_IntTensor> {
  let summary = "bits moved down, zeros moved in";
  let evaluator = [{binary<shiftRightLogical>}];
}
def Shlo_SubtractOp : Shlo_BinaryOp<"subtract", Shlo_NumberTensor> {
  let summary = "difference";
  let evaluator = [{binary<subtract>}];
  let work = "flop";
}
def Shlo_AndOp : Shlo_BinaryOp<"and", Shlo_BoolOrIntTensor, [Commutative]> {
  let summary = "logical or bitwise and";
  let neutral = "all_ones";
  let isIdempotent = 1;
  let evaluator = [{binary<bitAnd>}];
}
def Shlo_OrOp : Shlo_BinaryOp<"or", Shlo_BoolOrIntTensor, [Commutative]> {
  let summary = "logical or bitwise or";
  let neutral = "zero";
  let isIdempotent = 1;
  let evaluator = [{binary<bitOr>}];
}
def Shlo_XorOp : Shlo_BinaryOp<"xor", Shlo_BoolOrIntTensor, [Commutative]> {
  let summary = "logical or bitwise exclusive or";
  let neutral = "zero";
  let evaluator = [{binary<bitXor>}];
}
def Shlo_CompareOp : Shlo_Op<"compare", [Pure, Elementwise, Shlo_SameOperandElementType,
    SameOperandsAndResultShape, Shlo_Infers]> {
  let summary = "whether a relation holds between two values";
  let evaluator = [{evaluateCompare}];
  let work = "flop";
  let arguments = (ins Shlo_Tensor:$lhs, Shlo_Tensor:$rhs,
      Shlo_ComparisonDirectionAttr:$comparison_direction,
      OptionalAttr<Shlo_ComparisonTypeAttr>:$compare_type);
  let results = (outs Shlo_BoolTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
      "::isthmus::shlo::ComparisonDirection":$comparison_direction,
      CArg<"::isthmus::shlo::ComparisonType",
           "::isthmus::shlo::ComparisonType::NOTYPE">:$compare_type)>];
  let assemblyFormat = [{
    $comparison_direction `,` $lhs `,` $rhs (`,` $compare_type^)?
      attr-dict `:` functional-type(operands, results)
  }];
}
def Shlo_ClampOp : Shlo_Op<"clamp", [Pure, Shlo_SameElementType, Shlo_Infers]> {
  let summary = "value brought into a range; the bounds may be scalars";
  let evaluator = [{evaluateClamp}];
  let work = "flop";
  let rules = [
    "c1: min is a scalar or has the operand's shape",
    "c2: max is a scalar or has the operand's shape"];
  let arguments = (ins Shlo_Tensor:$min, Shlo_Tensor:$operand, Shlo_Tensor:$max);
  let results = (outs Shlo_Tensor:$result);
  let assemblyFormat = [{
    $min `,` $operand `,` $max attr-dict
      `:` custom<SameOperandsAndResultType>(type($min), type($operand), type($max), type($result))
  }];
}
def Shlo_SelectOp : Shlo_Op<"select", [Pure, Shlo_Infers]> {
  let summary = "one value or the other; the choice may be a scalar";
  let evaluator = [{evaluateSelect}];
  let work = "flop";
  let rules = [
    "c1: pred is a scalar or has the shape of on_true",
    "c2: on_true, on_false and the result have compatible types"];
  let arguments = (ins Shlo_BoolTensor:$pred, Shlo_Tensor:$on_true, Shlo_Tensor:$on_false);
  let results = (outs Shlo_Tensor:$result);
  let assemblyFormat = [{
    operands attr-dict
      `:` custom<SelectOpType>(type($pred), type($on_true), type($on_false), type($result))
  }];
}

}  // elementwise
