// The elementwise operations by number, and the arithmetic they share.
#pragma once

#include "compiler/codegen/level.h"
#include "compiler/codegen/types.h"
#include "compiler/codegen/vector_math.h"
#include "llvm/ADT/StringRef.h"

namespace isthmus::codegen {

enum class ElementwiseOp {
  kNone,
  kAbs,
  kAdd,
  kAnd,
  kAtan2,
  kCbrt,
  kCeil,
  kClamp,
  kCompare,
  kComplex,
  kConvert,
  kCosine,
  kCountLeadingZeros,
  kDivide,
  kErf,
  kExponential,
  kExponentialMinusOne,
  kFloor,
  kImag,
  kIsFinite,
  kLog,
  kLogPlusOne,
  kLogistic,
  kMap,
  kMaximum,
  kMinimum,
  kMultiply,
  kNegate,
  kNot,
  kOr,
  kPopcnt,
  kPower,
  kReal,
  kReducePrecision,
  kRemainder,
  kRoundNearestAfz,
  kRoundNearestEven,
  kRsqrt,
  kSelect,
  kShiftLeft,
  kShiftRightArithmetic,
  kShiftRightLogical,
  kSign,
  kSine,
  kSqrt,
  kSubtract,
  kTan,
  kTanh,
  kXor,
};

// kNone if the op of that name is not elementwise.
ElementwiseOp elementwiseOp(llvm::StringRef name);

struct ComplexV {
  V re;
  V im;
};

// False if the op is not defined for complex numbers. For abs, only `re` of the result is set.
bool complexOp(ElementwiseOp op, llvm::ArrayRef<ComplexV> operands, ComplexV* result);

// stablehlo.convert of one register; the result has the operand's level.
Val convertValue(llvm::IRBuilder<>& b, const KernelTarget& target, Val operand,
                 const ElementKind& from, const ElementKind& to);

}  // namespace isthmus::codegen
