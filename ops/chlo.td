// CHLO: functions that JAX has and StableHLO has not.
//
// They reach us in text; in serialized programs each is a composite with a decomposition.
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "ops/facts.td"
include "ops/types.td"

def Chlo_Dialect : Dialect {
  let name = "chlo";
  let cppNamespace = "::isthmus::chlo";
  let summary = "Functions beyond StableHLO.";
  let useDefaultAttributePrinterParser = 1;
}

class Chlo_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::isthmus::chlo";
}
def Chlo_ComparisonDirection : Chlo_Enum<"ComparisonDirection", "which relation is tested", [
    I32EnumAttrCase<"EQ", 0>, I32EnumAttrCase<"NE", 1>, I32EnumAttrCase<"GE", 2>,
    I32EnumAttrCase<"GT", 3>, I32EnumAttrCase<"LE", 4>, I32EnumAttrCase<"LT", 5>]>;
def Chlo_ComparisonDirectionAttr
    : EnumAttr<Chlo_Dialect, Chlo_ComparisonDirection, "comparison_direction">;
def Chlo_ComparisonType : Chlo_Enum<"ComparisonType", "as what the operands are compared", [
    I32EnumAttrCase<"NOTYPE", 0>, I32EnumAttrCase<"FLOAT", 1>, I32EnumAttrCase<"TOTALORDER", 2>,
    I32EnumAttrCase<"SIGNED", 3>, I32EnumAttrCase<"UNSIGNED", 4>]>;
def Chlo_ComparisonTypeAttr : EnumAttr<Chlo_Dialect, Chlo_ComparisonType, "comparison_type">;
def Chlo_Precision : Chlo_Enum<"Precision", "how precisely an operand is read", [
    I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"HIGH", 1>, I32EnumAttrCase<"HIGHEST", 2>]>;
def Chlo_PrecisionAttr : EnumAttr<Chlo_Dialect, Chlo_Precision, "precision">;

def Chlo_Dims : ArrayRefParameter<"int64_t", "dimensions">;
def Chlo_RaggedDotDimensionNumbers
    : AttrDef<Chlo_Dialect, "RaggedDotDimensionNumbers"> {
  let mnemonic = "ragged_dot";
  let summary = "which dimensions a ragged contraction batches, sums and groups over";
  let parameters = (ins Chlo_Dims:$lhsBatchingDimensions, Chlo_Dims:$rhsBatchingDimensions,
      Chlo_Dims:$lhsContractingDimensions, Chlo_Dims:$rhsContractingDimensions,
      Chlo_Dims:$lhsRaggedDimensions, Chlo_Dims:$rhsGroupDimensions);
  let hasCustomAssemblyFormat = 1;
}

class Chlo_Op<string mnemonic, list<Trait> traits = []>
    : Op<Chlo_Dialect, mnemonic, traits>, OpFacts {
  // As in Shlo_Op.
  code evaluator = [{nullptr}];
  bit computesWithReals = 0;
}

// ---- Elementwise --------------------------------------------------------------------------------

class Chlo_UnaryOp<string mnemonic, Type type = Shlo_FloatOrComplexTensor, Type resultType = type,
                   list<Trait> traits = [SameOperandsAndResultType]>
    : Chlo_Op<mnemonic, !listconcat([Pure, SameOperandsAndResultShape, Elementwise], traits)> {
  let arguments = (ins type:$operand);
  let results = (outs resultType:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}
def Chlo_AsinAcosKernelOp : Chlo_UnaryOp<"_asin_acos_kernel", Shlo_ComplexTensor> {
  let summary = "what the complex inverse sine and its kin are made of";
  let evaluator = [{unary<asinAcosKernel>}];
}
def Chlo_AcosOp : Chlo_UnaryOp<"acos"> {
  let summary = "inverse cosine";
  let evaluator = [{unary<acos>}];
}
def Chlo_AcoshOp : Chlo_UnaryOp<"acosh"> {
  let summary = "inverse hyperbolic cosine";
  let evaluator = [{unary<acosh>}];
}
def Chlo_AsinOp : Chlo_UnaryOp<"asin"> {
  let summary = "inverse sine";
  let evaluator = [{unary<asin>}];
}
def Chlo_AsinhOp : Chlo_UnaryOp<"asinh"> {
  let summary = "inverse hyperbolic sine";
  let evaluator = [{unary<asinh>}];
}
def Chlo_AtanOp : Chlo_UnaryOp<"atan"> {
  let summary = "inverse tangent";
  let evaluator = [{unary<atan>}];
}
def Chlo_AtanhOp : Chlo_UnaryOp<"atanh"> {
  let summary = "inverse hyperbolic tangent";
  let evaluator = [{unary<atanh>}];
}
def Chlo_BesselI1eOp : Chlo_UnaryOp<"bessel_i1e", Shlo_FloatTensor> {
  let summary = "exponentially scaled modified Bessel function of order 1";
  let evaluator = [{unary<besselI1e>}];
}
def Chlo_ConjOp : Chlo_UnaryOp<"conj"> {
  let summary = "complex conjugate";
  let evaluator = [{unary<conjugate>}];
}
def Chlo_CoshOp : Chlo_UnaryOp<"cosh"> {
  let summary = "hyperbolic cosine";
  let evaluator = [{unary<cosh>}];
}
def Chlo_SinhOp : Chlo_UnaryOp<"sinh"> {
  let summary = "hyperbolic sine";
  let evaluator = [{unary<sinh>}];
}
def Chlo_TanOp : Chlo_UnaryOp<"tan"> {
  let summary = "tangent";
  let evaluator = [{unary<tangent>}];
}
def Chlo_DigammaOp : Chlo_UnaryOp<"digamma", Shlo_FloatTensor> {
  let summary = "derivative of lgamma";
  let evaluator = [{unary<digamma>}];
}
def Chlo_ErfOp : Chlo_UnaryOp<"erf", Shlo_FloatTensor> {
  let summary = "error function";
  let evaluator = [{unary<erf>}];
  let lowering = "elementwise";
  let cost = 35;
  let work = "transcendental";
}
def Chlo_ErfInvOp : Chlo_UnaryOp<"erf_inv", Shlo_FloatTensor> {
  let summary = "inverse of the error function";
  let evaluator = [{unary<inverseErf>}];
}
def Chlo_ErfcOp : Chlo_UnaryOp<"erfc", Shlo_FloatTensor> {
  let summary = "one minus the error function";
  let evaluator = [{unary<erfc>}];
  let lowering = "elementwise";
  let cost = 50;
  let work = "transcendental";
}
def Chlo_LgammaOp : Chlo_UnaryOp<"lgamma", Shlo_FloatTensor> {
  let summary = "logarithm of the gamma function";
  let evaluator = [{unary<logGamma>}];
}
def Chlo_SquareOp : Chlo_UnaryOp<"square", Shlo_NumberTensor> {
  let summary = "square";
  let evaluator = [{unary<square>}];
}
def Chlo_IsInfOp : Chlo_UnaryOp<"is_inf", Shlo_FloatTensor, Shlo_BoolTensor, []> {
  let summary = "is infinite";
  let evaluator = [{unary<isInfinite>}];
}
def Chlo_IsNegInfOp : Chlo_UnaryOp<"is_neg_inf", Shlo_FloatTensor, Shlo_BoolTensor, []> {
  let summary = "is minus infinity";
  let evaluator = [{unary<isMinusInfinity>}];
}
def Chlo_IsPosInfOp : Chlo_UnaryOp<"is_pos_inf", Shlo_FloatTensor, Shlo_BoolTensor, []> {
  let summary = "is plus infinity";
  let evaluator = [{unary<isPlusInfinity>}];
}

class Chlo_BinaryOp<string mnemonic, string first, string second, Type type = Shlo_FloatTensor>
    : Chlo_Op<mnemonic, [Pure, Elementwise, SameOperandsAndResultType]> {
  let results = (outs type:$result);
  let assemblyFormat = "$" # first # " `,` $" # second # " attr-dict `:` type($" # first #
                       ") `,` type($" # second # ") `->` type($result)";
}
def Chlo_NextAfterOp : Chlo_BinaryOp<"next_after", "x", "y"> {
  let summary = "next number after x towards y";
  let evaluator = [{binary<nextAfter>}];
  let arguments = (ins Shlo_FloatTensor:$x, Shlo_FloatTensor:$y);
}
def Chlo_PolygammaOp : Chlo_BinaryOp<"polygamma", "n", "x"> {
  let summary = "n-th derivative of digamma";
  let evaluator = [{binary<polygamma>}];
  let arguments = (ins Shlo_FloatTensor:$n, Shlo_FloatTensor:$x);
}
def Chlo_ZetaOp : Chlo_BinaryOp<"zeta", "x", "q"> {
  let summary = "Hurwitz zeta function";
  let evaluator = [{binary<zeta>}];
  let arguments = (ins Shlo_FloatTensor:$x, Shlo_FloatTensor:$q);
}
def Chlo_MulhiOp : Chlo_BinaryOp<"mulhi", "lhs", "rhs", Shlo_IntTensor> {
  let summary = "upper half of the product";
  let evaluator = [{binary<multiplyHigh>}];
  let arguments = (ins Shlo_IntTensor:$lhs, Shlo_IntTensor:$rhs);
}

// ---- With broadcasting --------------------------------------------------------------------------

def Chlo_Broadcasts : PredOpTrait<"operands broadcast to the result's shape",
                                  CPred<"::isthmus::chlo::broadcasts(&$_op)">>;

class Chlo_BroadcastOp<string mnemonic, string function, Type type = Shlo_PlainTensor,
                       Type resultType = type,
                       list<Trait> traits = [AllElementTypesMatch<["lhs", "rhs", "result"]>]>
    : Chlo_Op<mnemonic, !listconcat([Pure, Chlo_Broadcasts], traits)> {
  let evaluator = [{broadcasting<}] # function # [{>}];
  let arguments = (ins type:$lhs, type:$rhs,
      OptionalAttr<DenseI64ArrayAttr>:$broadcast_dimensions);
  let results = (outs resultType:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs attr-dict `:` `(` type($lhs) `,` type($rhs) `)` `->` type(results)
  }];
}
def Chlo_BroadcastAddOp : Chlo_BroadcastOp<"broadcast_add", "add">;
def Chlo_BroadcastAndOp : Chlo_BroadcastOp<"broadcast_and", "bitAnd", Shlo_BoolOrIntTensor>;
def Chlo_BroadcastAtan2Op : Chlo_BroadcastOp<"broadcast_atan2", "atan2", Shlo_FloatOrComplexTensor>;
def Chlo_BroadcastComplexOp
    : Chlo_BroadcastOp<"broadcast_complex", "makeComplex", Shlo_Float32Or64Tensor, Shlo_ComplexTensor,
                       [AllElementTypesMatch<["lhs", "rhs"]>,
                        PredOpTrait<"the result's parts are of the operands' element type",
                                    CPred<"::isthmus::chlo::hasPartsOf(&$_op)">>]>;
def Chlo_BroadcastDivOp : Chlo_BroadcastOp<"broadcast_divide", "divide">;
def Chlo_BroadcastMaxOp : Chlo_BroadcastOp<"broadcast_maximum", "maximum">;
def Chlo_BroadcastMinOp : Chlo_BroadcastOp<"broadcast_minimum", "minimum">;
def Chlo_BroadcastMulOp : Chlo_BroadcastOp<"broadcast_multiply", "multiply">;
def Chlo_BroadcastNextAfterOp : Chlo_BroadcastOp<"broadcast_next_after", "nextAfter", Shlo_FloatTensor>;
def Chlo_BroadcastOrOp : Chlo_BroadcastOp<"broadcast_or", "bitOr", Shlo_BoolOrIntTensor>;
def Chlo_BroadcastPolygammaOp : Chlo_BroadcastOp<"broadcast_polygamma", "polygamma", Shlo_FloatTensor>;
def Chlo_BroadcastPowOp : Chlo_BroadcastOp<"broadcast_power", "power">;
def Chlo_BroadcastRemOp : Chlo_BroadcastOp<"broadcast_remainder", "remainder">;
def Chlo_BroadcastShiftLeftOp : Chlo_BroadcastOp<"broadcast_shift_left", "shiftLeft", Shlo_IntTensor>;
def Chlo_BroadcastShiftRightArithmeticOp
    : Chlo_BroadcastOp<"broadcast_shift_right_arithmetic", "shiftRightArithmetic", Shlo_IntTensor>;
def Chlo_BroadcastShiftRightLogicalOp : Chlo_BroadcastOp<"broadcast_shift_right_logical", "shiftRightLogical", Shlo_IntTensor>;
def Chlo_BroadcastSubOp : Chlo_BroadcastOp<"broadcast_subtract", "subtract">;
def Chlo_BroadcastXorOp : Chlo_BroadcastOp<"broadcast_xor", "bitXor", Shlo_BoolOrIntTensor>;
def Chlo_BroadcastZetaOp : Chlo_BroadcastOp<"broadcast_zeta", "zeta", Shlo_FloatTensor>;
def Chlo_BroadcastCompareOp
    : Chlo_BroadcastOp<"broadcast_compare", "", Shlo_PlainTensor, Shlo_BoolTensor,
                       [AllElementTypesMatch<["lhs", "rhs"]>]> {
  let evaluator = [{evaluateBroadcastCompare}];
  let arguments = (ins Shlo_PlainTensor:$lhs, Shlo_PlainTensor:$rhs,
      OptionalAttr<DenseI64ArrayAttr>:$broadcast_dimensions,
      Chlo_ComparisonDirectionAttr:$comparison_direction,
      OptionalAttr<Chlo_ComparisonTypeAttr>:$compare_type);
}
def Chlo_BroadcastSelectOp
    : Chlo_Op<"broadcast_select", [Pure, Chlo_Broadcasts,
                                   AllElementTypesMatch<["on_true", "on_false", "result"]>]> {
  let evaluator = [{evaluateBroadcastSelect}];
  let arguments = (ins Shlo_BoolTensor:$pred, Shlo_PlainTensor:$on_true, Shlo_PlainTensor:$on_false);
  let results = (outs Shlo_PlainTensor:$result);
  let assemblyFormat = [{
    $pred `,` $on_true `,` $on_false attr-dict
      `:` `(` type($pred) `,` type($on_true) `,` type($on_false) `)` `->` type(results)
  }];
}

// ---- Others -------------------------------------------------------------------------------------

def Chlo_ConstantOp : Chlo_Op<"constant", [Pure, AllTypesMatch<["value", "output"]>]> {
  let summary = "a constant";
  let evaluator = [{evaluateConstant}];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyStaticShapeTensor:$output);
  let assemblyFormat = "attr-dict $value";
}
def Chlo_ConstantLikeOp
    : Chlo_Op<"constant_like",
              [Pure, SameOperandsAndResultShape,
               TypesMatchWith<"the value is of the result's element type", "result", "value",
                              "::mlir::getElementTypeOrSelf($_self)">]> {
  let summary = "a number at each index of the operand";
  let evaluator = [{evaluateConstantLike}];
  let arguments = (ins TypedAttrInterface:$value, AnyTensor:$operand);
  let results = (outs AnyTensor:$result);
}
def Chlo_RaggedDotOp : Chlo_Op<"ragged_dot", [Pure]> {
  let summary = "contraction whose groups have sizes read from a tensor";
  let evaluator = [{evaluateRaggedDot}];
  let arguments = (ins AnyTensor:$lhs, AnyTensor:$rhs, AnyTensor:$group_sizes,
      Chlo_RaggedDotDimensionNumbers:$ragged_dot_dimension_numbers,
      OptionalAttr<TypedArrayAttrBase<Chlo_PrecisionAttr, "precisions">>:$precision_config);
  let results = (outs AnyTensor:$result);
}
def Chlo_TopKOp : Chlo_Op<"top_k", [Pure, AllElementTypesMatch<["operand", "values"]>]> {
  let summary = "the k largest elements along the last dimension, and where they are";
  let evaluator = [{evaluateTopK}];
  let arguments = (ins Shlo_BoolIntOrFloatTensor:$operand, I64Attr:$k,
      DefaultValuedOptionalAttr<BoolAttr, "true">:$is_stable);
  let results = (outs Shlo_BoolIntOrFloatTensor:$values, Shlo_IntTensor:$indices);
  let hasVerifier = 1;
  let assemblyFormat = [{
    `(` $operand `,` `k` `=` $k (`,` `is_stable` `=` $is_stable^)? `)` attr-dict
      `:` type($operand) `->` `(` type($values) `,` type($indices) `)`
  }];
}
def Chlo_ScanOp : Chlo_Op<"scan", [AttrSizedOperandSegments, AttrSizedResultSegments,
    IsolatedFromAbove, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "prefixes along a dimension, combined by a region";
  let evaluator = [{evaluateScan}];
  let arguments = (ins Variadic<AnyTensor>:$inputs, Variadic<AnyTensor>:$inits,
      ConfinedAttr<I64Attr, [IntNonNegative]>:$dimension,
      OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$scan_dim_size,
      DefaultValuedOptionalAttr<BoolAttr, "false">:$is_reverse,
      OptionalAttr<BoolAttr>:$is_associative);
  let results = (outs Variadic<AnyTensor>:$outputs, Variadic<AnyTensor>:$carries);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
}
