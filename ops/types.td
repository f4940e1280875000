// The kinds of values that operations take and give, each checked by one C++ predicate.
#ifndef ISTHMUS_OPS_TYPES_TD
#define ISTHMUS_OPS_TYPES_TD

include "mlir/IR/OpBase.td"

// A tensor with a known rank whose element type is one of `kinds`: a C++ expression over the
// constants of compiler/dialect/types/type_predicates.h.
class Shlo_TensorOf<string kinds, string summary>
    : Type<CPred<"::isthmus::shlo::isTensor($_self, " # kinds # ")">, summary,
           "::mlir::RankedTensorType">;

// The same with a static shape of one of the given ranks (all ranks if the list is empty).
class Shlo_StaticTensorOf<string kinds, list<int> ranks, string summary>
    : Type<CPred<"::isthmus::shlo::isStaticTensor($_self, " # kinds # ", {" #
                 !interleave(ranks, ", ") # "})">,
           summary, "::mlir::RankedTensorType">;

// The same with a rank out of a list and a shape that may be dynamic.
class Shlo_RankedTensorOf<string kinds, list<int> ranks, string summary>
    : Type<CPred<"::isthmus::shlo::isRankedTensor($_self, " # kinds # ", {" #
                 !interleave(ranks, ", ") # "})">,
           summary, "::mlir::RankedTensorType">;

def Shlo_Tensor : Shlo_TensorOf<"kAnyElement", "ranked tensor of any element type">;
def Shlo_TensorOrPerAxis
    : Shlo_TensorOf<"kAnyElement | kQuantizedPerAxis",
                    "ranked tensor of any element type, also quantized per axis">;
def Shlo_PlainTensor
    : Shlo_TensorOf<"kPlainElement", "ranked tensor of bool, integer, float or complex values">;
def Shlo_BoolTensor : Shlo_TensorOf<"kBool", "ranked tensor of bool values">;
def Shlo_IntTensor : Shlo_TensorOf<"kInteger", "ranked tensor of integer values">;
def Shlo_FloatTensor : Shlo_TensorOf<"kFloat", "ranked tensor of float values">;
def Shlo_Float32Or64Tensor
    : Shlo_TensorOf<"kFloat32Or64", "ranked tensor of f32 or f64 values">;
def Shlo_ComplexTensor : Shlo_TensorOf<"kComplex", "ranked tensor of complex values">;
def Shlo_FloatOrComplexTensor
    : Shlo_TensorOf<"kFloat | kComplex", "ranked tensor of float or complex values">;
def Shlo_FloatOrQuantizedTensor
    : Shlo_TensorOf<"kFloat | kQuantized", "ranked tensor of float or quantized values">;
def Shlo_FloatComplexOrQuantizedTensor
    : Shlo_TensorOf<"kFloat | kComplex | kQuantized",
                    "ranked tensor of float, complex or quantized values">;
def Shlo_SignedFloatComplexOrQuantizedTensor
    : Shlo_TensorOf<"kSigned | kFloat | kComplex | kQuantized",
                    "ranked tensor of signed integer, float, complex or quantized values">;
def Shlo_SignedFloatOrQuantizedTensor
    : Shlo_TensorOf<"kSigned | kFloat | kQuantized",
                    "ranked tensor of signed integer, float or quantized values">;
def Shlo_NumberTensor
    : Shlo_TensorOf<"kInteger | kFloat | kComplex | kQuantized",
                    "ranked tensor of integer, float, complex or quantized values">;
def Shlo_BoolOrIntTensor
    : Shlo_TensorOf<"kBool | kInteger", "ranked tensor of bool or integer values">;
def Shlo_BoolIntOrFloatTensor
    : Shlo_TensorOf<"kBool | kInteger | kFloat", "ranked tensor of bool, integer or float values">;
def Shlo_IntOrFloatTensor
    : Shlo_TensorOf<"kInteger | kFloat", "ranked tensor of integer or float values">;
def Shlo_QuantizedTensor
    : Shlo_TensorOf<"kQuantized | kQuantizedPerAxis", "ranked tensor of quantized values">;
def Shlo_FloatOrAnyQuantizedTensor
    : Shlo_TensorOf<"kFloat | kQuantized | kQuantizedPerAxis",
                    "ranked tensor of float or quantized values, also per axis">;
def Shlo_IndexTensor
    : Shlo_TensorOf<"kSigned | kUnsigned | kIndex | kBool", "ranked tensor of integer or index values">;

def Shlo_I32Tensor : Shlo_TensorOf<"kInt32", "ranked tensor of 32-bit integer values">;
def Shlo_UI32Tensor : Shlo_TensorOf<"kUint32", "ranked tensor of unsigned 32-bit integer values">;

def Shlo_Scalar : Shlo_RankedTensorOf<"kAnyElement", [0], "0-dimensional tensor">;
def Shlo_IntScalar : Shlo_RankedTensorOf<"kInteger", [0], "0-dimensional tensor of integers">;
def Shlo_BoolIntOrFloatScalar
    : Shlo_RankedTensorOf<"kBool | kInteger | kFloat", [0],
                          "0-dimensional tensor of bool, integer or float values">;
def Shlo_FloatOrQuantizedVector
    : Shlo_RankedTensorOf<"kFloat | kQuantized", [1],
                          "1-dimensional tensor of float or quantized values">;
// Sizes, starts or limits of dimensions, as dynamic operations take them.
def Shlo_DimensionVector
    : Shlo_RankedTensorOf<"kInteger | kIndex", [1],
                          "1-dimensional tensor of integer or index values">;
def Shlo_StaticDimensionVector
    : Shlo_StaticTensorOf<"kInteger | kIndex", [1],
                          "statically shaped 1-dimensional tensor of integer or index values">;
def Shlo_StaticIntVector
    : Shlo_StaticTensorOf<"kInteger", [1], "statically shaped 1-dimensional tensor of integers">;
def Shlo_StaticIntMatrix
    : Shlo_StaticTensorOf<"kInteger", [2], "statically shaped 2-dimensional tensor of integers">;
def Shlo_StaticTensor
    : Shlo_StaticTensorOf<"kAnyElement | kQuantizedPerAxis", [], "statically shaped tensor">;
def Shlo_StaticNumberTensor
    : Shlo_StaticTensorOf<"kInteger | kFloat | kComplex | kQuantized", [],
                          "statically shaped tensor of integer, float, complex or quantized values">;
def Shlo_StaticIntOrFloatTensor
    : Shlo_StaticTensorOf<"kInteger | kFloat", [],
                          "statically shaped tensor of integer or float values">;
def Shlo_StaticOrBoundedTensor
    : Type<CPred<"::isthmus::shlo::isStaticOrBoundedTensor($_self, "
                 "kAnyElement | kQuantizedPerAxis)">,
           "ranked tensor with a static shape or a single bounded dimension",
           "::mlir::RankedTensorType">;

def Shlo_TokenValue : Type<CPred<"::llvm::isa<::isthmus::shlo::TokenType>($_self)">, "token",
                           "::isthmus::shlo::TokenType">;
def Shlo_FutureValue : Type<CPred<"::llvm::isa<::isthmus::shlo::FutureType>($_self)">, "future",
                            "::isthmus::shlo::FutureType">;
def Shlo_TupleValue : Type<CPred<"::isthmus::shlo::isTuple($_self)">,
                           "nested tuple of tensors, tokens and memrefs", "::mlir::TupleType">;

// Mixed kinds. No C++ type in common, so accessors give a plain Value.
class Shlo_AnyOf<string predicate, string summary>
    : Type<CPred<"::isthmus::shlo::" # predicate # "($_self)">, summary>;
def Shlo_TensorOrToken : Shlo_AnyOf<"isTensorOrToken", "tensor or token">;
def Shlo_PerTensorOrToken
    : Shlo_AnyOf<"isPerTensorOrToken", "ranked tensor of any element type, or token">;
def Shlo_TensorTokenOrBuffer : Shlo_AnyOf<"isTensorTokenOrBuffer", "tensor, token or memref">;
def Shlo_TensorTokenOrTuple : Shlo_AnyOf<"isTensorTokenOrTuple", "tensor, token or tuple">;
def Shlo_AnyValue : Shlo_AnyOf<"isAnyValue", "tensor, token, tuple or memref">;
def Shlo_StaticTensorOrToken : Shlo_AnyOf<"isStaticTensorOrToken", "static tensor or token">;
def Shlo_CustomCallValue
    : Shlo_AnyOf<"isCustomCallValue", "tensor (also unranked), memref, token, tuple or future">;

#endif
