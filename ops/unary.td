// Elementwise operations of one operand.
include "ops/base.td"

let lowering = "elementwise" in {

class Shlo_UnaryOp<string mnemonic, Type operandType, Type resultType = operandType,
                   list<Trait> traits = [Shlo_SameType]>
    : Shlo_Op<mnemonic, !listconcat([Pure, SameOperandsAndResultShape], traits)> {
  let arguments = (ins operandType:$operand);
  let results = (outs resultType:$result);
  let assemblyFormat = [{
    $operand attr-dict `:` custom<SameOperandsAndResultType>(type($operand), type($result))
  }];
}

// A function that cannot be computed exactly, so that the caller may ask for an accuracy.
class Shlo_TranscendentalOp<string mnemonic>
    : Shlo_UnaryOp<mnemonic, Shlo_FloatComplexOrQuantizedTensor> {
  let arguments = (ins Shlo_FloatComplexOrQuantizedTensor:$operand,
      DefaultValuedOptionalAttr<Shlo_ResultAccuracyAttr,
          "::isthmus::shlo::ResultAccuracyMode::DEFAULT">:$result_accuracy);
  let hasVerifier = 1;
  // Verified by the attribute itself; here for an attribute that was made unchecked.
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() {
      return ::isthmus::shlo::verifyAccuracy(getOperation(), getResultAccuracyAttr());
    }
  }];
  let work = "transcendental";
}

// The operand's type but for the elements, whose type a function of compiler/dialect/rules/rules.h
// makes of the operand's.
class Shlo_OtherElementOp<string mnemonic, Type operandType, Type resultType, code element>
    : Shlo_UnaryOp<mnemonic, operandType, resultType, [Elementwise, Shlo_Infers]> {
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext*, std::optional<::mlir::Location>, ::mlir::ValueRange operands,
        ::mlir::DictionaryAttr, ::mlir::OpaqueProperties, ::mlir::RegionRange,
        ::llvm::SmallVectorImpl<::mlir::Type>& types) {
      ::mlir::RankedTensorType type = ::isthmus::shlo::tensorType(operands[0]);
      types.push_back(type.clone(::isthmus::shlo::}] # element # [{(type.getElementType())));
      return ::mlir::success();
    }
  }];
}

def Shlo_AbsOp : Shlo_OtherElementOp<"abs", Shlo_SignedFloatComplexOrQuantizedTensor,
    Shlo_SignedFloatOrQuantizedTensor, [{realPart}]> {
  let summary = "absolute value; of a complex number, its modulus";
  let evaluator = [{unary<abs>}];
  let work = "flop";
}
def Shlo_CbrtOp : Shlo_TranscendentalOp<"cbrt"> {
  let summary = "cubic root";
  let evaluator = [{unary<cbrt>}];
  let cost = 50;
}
def Shlo_CeilOp : Shlo_UnaryOp<"ceil", Shlo_FloatOrQuantizedTensor> {
  let summary = "smallest integral value that is not less";
  let evaluator = [{unary<ceil>}];
}
def Shlo_ConvertOp : Shlo_UnaryOp<"convert", Shlo_PlainTensor, Shlo_PlainTensor, [Elementwise]> {
  let summary = "value of another element type";
  let evaluator = [{evaluateConvert}];
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Type":$result_element_type)>];
}
def Shlo_ClzOp : Shlo_UnaryOp<"count_leading_zeros", Shlo_IntTensor> {
  let summary = "number of zero bits above the highest one bit";
  let evaluator = [{unary<countLeadingZeros>}];
}
def Shlo_CosineOp : Shlo_TranscendentalOp<"cosine"> {
  let summary = "cosine";
  let evaluator = [{unary<cosine>}];
  let cost = 35;
}
def Shlo_ExpOp : Shlo_TranscendentalOp<"exponential"> {
  let summary = "e to the operand's power";
  let evaluator = [{unary<exponential>}];
  let cost = 20;
}
def Shlo_Expm1Op : Shlo_TranscendentalOp<"exponential_minus_one"> {
  let summary = "e to the operand's power, minus one, exact near zero";
  let evaluator = [{unary<exponentialMinusOne>}];
  let cost = 20;
}
def Shlo_FloorOp : Shlo_UnaryOp<"floor", Shlo_FloatOrQuantizedTensor> {
  let summary = "largest integral value that is not greater";
  let evaluator = [{unary<floor>}];
}
def Shlo_ImagOp : Shlo_OtherElementOp<"imag", Shlo_FloatOrComplexTensor, Shlo_FloatTensor,
    [{realPart}]> {
  let summary = "imaginary part";
  let evaluator = [{unary<imaginary>}];
}
def Shlo_IsFiniteOp : Shlo_OtherElementOp<"is_finite", Shlo_FloatOrQuantizedTensor,
    Shlo_BoolTensor, [{truthValue}]> {
  let summary = "whether a value is neither infinite nor NaN";
  let evaluator = [{unary<isFinite>}];
  let arguments = (ins Shlo_FloatOrQuantizedTensor:$x);
  let results = (outs Shlo_BoolTensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}
def Shlo_LogOp : Shlo_TranscendentalOp<"log"> {
  let summary = "natural logarithm";
  let evaluator = [{unary<log>}];
  let cost = 20;
}
def Shlo_Log1pOp : Shlo_TranscendentalOp<"log_plus_one"> {
  let summary = "natural logarithm of one plus the operand, exact near zero";
  let evaluator = [{unary<logPlusOne>}];
  let cost = 20;
}
def Shlo_LogisticOp : Shlo_TranscendentalOp<"logistic"> {
  let summary = "1 / (1 + e to the power of minus the operand)";
  let evaluator = [{unary<logistic>}];
  let cost = 20;
}
def Shlo_NegOp : Shlo_UnaryOp<"negate", Shlo_NumberTensor> {
  let summary = "negation";
  let evaluator = [{unary<negate>}];
  let work = "flop";
}
def Shlo_NotOp : Shlo_UnaryOp<"not", Shlo_BoolOrIntTensor> {
  let summary = "logical negation of bools, bitwise negation of integers";
  let evaluator = [{unary<bitNot>}];
}
def Shlo_PopulationCountOp : Shlo_UnaryOp<"popcnt", Shlo_IntTensor> {
  let summary = "number of one bits";
  let evaluator = [{unary<populationCount>}];
}
def Shlo_RealOp : Shlo_OtherElementOp<"real", Shlo_FloatOrComplexTensor, Shlo_FloatTensor,
    [{realPart}]> {
  let summary = "real part";
  let evaluator = [{unary<real>}];
}
def Shlo_RoundOp : Shlo_UnaryOp<"round_nearest_afz", Shlo_FloatOrQuantizedTensor> {
  let summary = "nearest integral value, a half away from zero";
  let evaluator = [{unary<roundAwayFromZero>}];
}
def Shlo_RoundNearestEvenOp : Shlo_UnaryOp<"round_nearest_even", Shlo_FloatOrQuantizedTensor> {
  let summary = "nearest integral value, a half to the even one";
  let evaluator = [{unary<roundToEven>}];
}
def Shlo_RsqrtOp : Shlo_TranscendentalOp<"rsqrt"> {
  let summary = "one over the square root";
  let evaluator = [{unary<rsqrt>}];
  let cost = 5;
}
def Shlo_SignOp : Shlo_UnaryOp<"sign", Shlo_SignedFloatComplexOrQuantizedTensor> {
  let summary = "minus one, zero or one; of a complex number, its direction";
  let evaluator = [{unary<sign>}];
}
def Shlo_SineOp : Shlo_TranscendentalOp<"sine"> {
  let summary = "sine";
  let evaluator = [{unary<sine>}];
  let cost = 35;
}
def Shlo_SqrtOp : Shlo_TranscendentalOp<"sqrt"> {
  let summary = "square root";
  let evaluator = [{unary<sqrt>}];
  let cost = 5;
}
def Shlo_TanOp : Shlo_TranscendentalOp<"tan"> {
  let summary = "tangent";
  let evaluator = [{unary<tangent>}];
  let cost = 50;
  let since = "1.4.0";
}
def Shlo_TanhOp : Shlo_TranscendentalOp<"tanh"> {
  let summary = "hyperbolic tangent";
  let evaluator = [{unary<tanh>}];
  let cost = 35;
}

def Shlo_ReducePrecisionOp : Shlo_Op<"reduce_precision", [Pure, Shlo_SameType]> {
  let summary = "value rounded to a format of fewer bits and back";
  let evaluator = [{evaluateReducePrecision}];
  let arguments = (ins Shlo_FloatOrQuantizedTensor:$operand,
      ConfinedAttr<I32Attr, [IntPositive]>:$exponent_bits,
      ConfinedAttr<I32Attr, [IntNonNegative]>:$mantissa_bits);
  let results = (outs Shlo_FloatOrQuantizedTensor:$output);
  let assemblyFormat = [{
    $operand `,` `format` `=` custom<ExponentMantissa>($exponent_bits, $mantissa_bits)
      attr-dict `:` custom<SameOperandsAndResultType>(type($operand), type($output))
  }];
}
def Shlo_UniformQuantizeOp : Shlo_UnaryOp<"uniform_quantize", Shlo_FloatOrAnyQuantizedTensor,
    Shlo_QuantizedTensor, [Elementwise]> {
  let summary = "value in a quantized type";
  let evaluator = [{evaluateUniformQuantize}];
  let lowering = "expand";
  let computesWithReals = 0;
  let rules = [
    "c2: the result expresses what the operand does"];
  let hasVerifier = 1;
}
def Shlo_UniformDequantizeOp : Shlo_OtherElementOp<"uniform_dequantize", Shlo_QuantizedTensor,
    Shlo_FloatTensor, [{expressedType}]> {
  let summary = "value that a quantized one stands for";
  let evaluator = [{evaluateUniformDequantize}];
  let lowering = "expand";
  let computesWithReals = 0;
}

}  // elementwise
