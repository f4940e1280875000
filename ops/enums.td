// Enumerations that attributes of StableHLO operations hold. Numbers are those of the wire format.
#ifndef ISTHMUS_OPS_ENUMS_TD
#define ISTHMUS_OPS_ENUMS_TD

include "mlir/IR/EnumAttr.td"
include "ops/dialect.td"

class Shlo_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::isthmus::shlo";
}

class Shlo_Case<string name, int value> : I32EnumAttrCase<name, value>;

def Shlo_Precision : Shlo_Enum<"Precision", "how precisely an operand of a contraction is read",
    [Shlo_Case<"DEFAULT", 0>, Shlo_Case<"HIGH", 1>, Shlo_Case<"HIGHEST", 2>]>;
def Shlo_PrecisionAttr : EnumAttr<Shlo_Dialect, Shlo_Precision, "precision">;
def Shlo_PrecisionConfigAttr
    : TypedArrayAttrBase<Shlo_PrecisionAttr, "one precision for each operand">;

def Shlo_ResultAccuracyMode : Shlo_Enum<"ResultAccuracyMode", "what accuracy a result must have",
    [Shlo_Case<"DEFAULT", 0>, Shlo_Case<"HIGHEST", 1>, Shlo_Case<"TOLERANCE", 2>]>;
def Shlo_ResultAccuracyModeAttr
    : EnumAttr<Shlo_Dialect, Shlo_ResultAccuracyMode, "result_accuracy_mode"> {
  let assemblyFormat = "`<` $value `>`";
}

def Shlo_FftType : Shlo_Enum<"FftType", "which Fourier transform",
    [Shlo_Case<"FFT", 0>, Shlo_Case<"IFFT", 1>, Shlo_Case<"RFFT", 2>, Shlo_Case<"IRFFT", 3>]>;
def Shlo_FftTypeAttr : EnumAttr<Shlo_Dialect, Shlo_FftType, "fft_type">;

// Stored as a plain i32, unlike the others.
def Shlo_CustomCallApiVersionAttr
    : I32EnumAttr<"CustomCallApiVersion", "calling convention of a custom call",
        [Shlo_Case<"API_VERSION_UNSPECIFIED", 0>, Shlo_Case<"API_VERSION_ORIGINAL", 1>,
         Shlo_Case<"API_VERSION_STATUS_RETURNING", 2>,
         Shlo_Case<"API_VERSION_STATUS_RETURNING_UNIFIED", 3>,
         Shlo_Case<"API_VERSION_TYPED_FFI", 4>]> {
  let cppNamespace = "::isthmus::shlo";
}

def Shlo_ComparisonDirection : Shlo_Enum<"ComparisonDirection", "which relation is tested",
    [Shlo_Case<"EQ", 0>, Shlo_Case<"NE", 1>, Shlo_Case<"GE", 2>, Shlo_Case<"GT", 3>,
     Shlo_Case<"LE", 4>, Shlo_Case<"LT", 5>]>;
def Shlo_ComparisonDirectionAttr
    : EnumAttr<Shlo_Dialect, Shlo_ComparisonDirection, "comparison_direction">;

def Shlo_ComparisonType : Shlo_Enum<"ComparisonType", "as what the operands are compared",
    [Shlo_Case<"NOTYPE", 0>, Shlo_Case<"FLOAT", 1>, Shlo_Case<"TOTALORDER", 2>,
     Shlo_Case<"SIGNED", 3>, Shlo_Case<"UNSIGNED", 4>]>;
def Shlo_ComparisonTypeAttr : EnumAttr<Shlo_Dialect, Shlo_ComparisonType, "comparison_type">;

def Shlo_Transpose : Shlo_Enum<"Transpose", "what is done to a matrix before it is used",
    [Shlo_Case<"TRANSPOSE_INVALID", 0>, Shlo_Case<"NO_TRANSPOSE", 1>, Shlo_Case<"TRANSPOSE", 2>,
     Shlo_Case<"ADJOINT", 3>]>;
def Shlo_TransposeAttr : EnumAttr<Shlo_Dialect, Shlo_Transpose, "transpose">;

def Shlo_RngDistribution : Shlo_Enum<"RngDistribution", "distribution of random numbers",
    [Shlo_Case<"UNIFORM", 1>, Shlo_Case<"NORMAL", 2>]>;
def Shlo_RngDistributionAttr : EnumAttr<Shlo_Dialect, Shlo_RngDistribution, "rng_distribution">;

def Shlo_RngAlgorithm : Shlo_Enum<"RngAlgorithm", "algorithm that generates random bits",
    [Shlo_Case<"DEFAULT", 0>, Shlo_Case<"THREE_FRY", 1>, Shlo_Case<"PHILOX", 2>]>;
def Shlo_RngAlgorithmAttr : EnumAttr<Shlo_Dialect, Shlo_RngAlgorithm, "rng_algorithm">;

#endif
