// Ops that compute one element from the elements at the same index: what kind of arithmetic, and
// how operands of different levels and lanes come together.
#include "compiler/codegen/elementwise/elementwise.h"

#include "compiler/codegen/evaluator.h"
#include "compiler/codegen/math/vector_math.h"
#include "compiler/codegen/target/target_instructions.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus::codegen {

bool Evaluator::isElementwise(mlir::Operation* op) {
  const OpFacts* facts = findOpFacts(op);
  return facts && facts->fusionClass == FusionClass::kElementwise;
}

namespace {

V selectV(V condition, V a, V b) { return select(condition, a, b); }

llvm::CmpInst::Predicate predicateOf(shlo::ComparisonDirection direction, bool isFloat,
                                     bool isSigned) {
  using P = llvm::CmpInst::Predicate;
  switch (direction) {
    case shlo::ComparisonDirection::EQ:
      return isFloat ? P::FCMP_OEQ : P::ICMP_EQ;
    case shlo::ComparisonDirection::NE:
      return isFloat ? P::FCMP_UNE : P::ICMP_NE;
    case shlo::ComparisonDirection::GE:
      return isFloat ? P::FCMP_OGE : isSigned ? P::ICMP_SGE : P::ICMP_UGE;
    case shlo::ComparisonDirection::GT:
      return isFloat ? P::FCMP_OGT : isSigned ? P::ICMP_SGT : P::ICMP_UGT;
    case shlo::ComparisonDirection::LE:
      return isFloat ? P::FCMP_OLE : isSigned ? P::ICMP_SLE : P::ICMP_ULE;
    case shlo::ComparisonDirection::LT:
      return isFloat ? P::FCMP_OLT : isSigned ? P::ICMP_SLT : P::ICMP_ULT;
  }
  return P::ICMP_EQ;
}

// Floats as integers in the order -NaN < -inf < … < -0 < +0 < … < +inf < +NaN.
V totalOrderKey(V x) {
  V bits = x.asInt();
  return bits ^
         (shiftRightSigned(bits, bits.bits() - 1) & bits.ki(x.isF64() ? INT64_MAX : INT32_MAX));
}

V compare(mlir::Operation* op, V a, V b, const ElementKind& kind) {
  auto compare = mlir::cast<shlo::CompareOp>(op);
  bool isSigned = kind.isSigned && !kind.isBool();
  bool isFloat = kind.isFloat();
  if (isFloat && compare.getCompareType() == shlo::ComparisonType::TOTALORDER) {
    a = totalOrderKey(a);
    b = totalOrderKey(b);
    isFloat = false;
    isSigned = true;
  }
  auto predicate = predicateOf(compare.getComparisonDirection(), isFloat, isSigned);
  return {a.c, a.c->b.CreateCmp(predicate, a.v, b.v)};
}

// Rounds to a format with fewer exponent and mantissa bits, in the format of `x`.
V reducePrecision(V x, int exponentBits, int mantissaBits, int ownExponentBits) {
  int width = x.isF64() ? 52 : 23;
  int bias = x.isF64() ? 1023 : 127;
  V bits = x.asInt();
  V sign = bits & bits.ki(x.isF64() ? INT64_MIN : INT32_MIN);
  V magnitude = bits & bits.ki(x.isF64() ? INT64_MAX : INT32_MAX);
  V infinity = bits.ki(x.isF64() ? 0x7ff0000000000000 : 0x7f800000);
  V rounded = magnitude;
  if (mantissaBits < width) {
    int drop = width - mantissaBits;
    V odd = shiftRight(magnitude, drop) & bits.ki(1);
    rounded = magnitude + bits.ki((int64_t{1} << (drop - 1)) - 1) + odd;
    rounded = rounded & bits.ki(-(int64_t{1} << drop));
  }
  int smallerBias = (1 << (exponentBits - 1)) - 1;
  if (exponentBits < ownExponentBits && smallerBias < bias) {
    // Above the largest finite exponent: infinity. Below the smallest normal one: zero.
    V largest =
        bits.ki((static_cast<int64_t>(bias + smallerBias) << width) | ((int64_t{1} << width) - 1));
    V smallest = bits.ki(static_cast<int64_t>(bias - smallerBias + 1) << width);
    rounded = selectV(rounded > largest, infinity, rounded);
    rounded = selectV(rounded < smallest, bits.ki(0), rounded);
  }
  V result = (rounded | sign).asFloat();
  // Without a mantissa there is no NaN beside infinity.
  return selectV(isNan(x), mantissaBits > 0 ? x : (infinity | sign).asFloat(), result);
}

V integerPower(V base, V exponent, const ElementKind& kind) {
  // Square and multiply over the bits of the exponent; negative exponents give 0 but for 1 and -1.
  V result = base.ki(1);
  V square = base;
  V e = exponent;
  int bits = kind.bits;
  for (int i = 0; i < bits; ++i) {
    V odd = (e & e.ki(1)) != e.ki(0);
    result = selectV(odd, result * square, result);
    e = shiftRight(e, 1);
    if (i + 1 < bits) square = square * square;
  }
  if (!kind.isSigned) return result;
  V odd = (exponent & exponent.ki(1)) != exponent.ki(0);
  V inverse =
      selectV(base == base.ki(1), base.ki(1),
              selectV(base == base.ki(-1), selectV(odd, base.ki(-1), base.ki(1)), base.ki(0)));
  return selectV(exponent < exponent.ki(0), inverse, result);
}

// Floats that whole numbers of so many bits, 32 at most, and their quotients are exact in.
llvm::Type* floatsOf(V a) {
  llvm::Type* one = a.bits() <= 16 ? a.c->b.getFloatTy() : a.c->b.getDoubleTy();
  return llvm::FixedVectorType::get(one, a.lanes());
}

// By a number that is neither 0 nor a power of two. No quotient of a and a half is nearer to a
// whole number than what its two roundings may change.
V divideByKnown(V a, const llvm::APInt& divisor, const ElementKind& kind) {
  llvm::IRBuilder<>& b = a.c->b;
  llvm::Type* floats = floatsOf(a);
  V x{a.c, kind.isSigned ? b.CreateSIToFP(a.v, floats) : b.CreateUIToFP(a.v, floats)};
  V half = kind.isSigned ? copySign(x.k(0.5), x) : x.k(0.5);
  V ratio = (x + half) * x.k(1 / divisor.roundToDouble(kind.isSigned));
  llvm::Type* type = a.v->getType();
  return {a.c, kind.isSigned ? b.CreateFPToSI(ratio.v, type) : b.CreateFPToUI(ratio.v, type)};
}

// Division never traps: x / 0 is -1 (all ones) and MIN / -1 is MIN; x % 0 is x and MIN % -1 is 0.
V integerDivide(V a, V b, const ElementKind& kind, bool wantRemainder) {
  llvm::IRBuilder<>& builder = a.c->b;
  auto* divisor = llvm::dyn_cast<llvm::Constant>(b.v);
  if (divisor && divisor->getType()->isVectorTy()) divisor = divisor->getSplatValue();
  if (auto* known = llvm::dyn_cast_or_null<llvm::ConstantInt>(divisor);
      known && !known->isZero() && !(kind.isSigned && known->isMinusOne())) {
    const llvm::APInt& number = known->getValue();
    // LLVM's code generators multiply instead; drivers of OpenCL call a function for each vector.
    const bool isMultiplied = a.lanes() > 1 && a.bits() <= 32 &&
                              a.c->target.intrinsics == Intrinsics::kNone && !number.isPowerOf2() &&
                              !number.isNegatedPowerOf2();
    V quotient = isMultiplied ? divideByKnown(a, number, kind)
                              : V{a.c, kind.isSigned ? builder.CreateSDiv(a.v, b.v)
                                                     : builder.CreateUDiv(a.v, b.v)};
    return wantRemainder ? a - quotient * b : quotient;
  }
  V zero = b == b.ki(0);
  V bad = zero;
  V overflow;
  if (kind.isSigned) {
    V lowest = a.ki(a.bits() == 64 ? INT64_MIN : -(int64_t{1} << (a.bits() - 1)));
    overflow = (a == lowest) & (b == b.ki(-1));
    bad = bad | overflow;
  }
  V safe = selectV(bad, b.ki(1), b);
  V quotient;
  unsigned lanes = a.lanes();
  if (lanes > 1 && a.bits() <= 32) {
    // There is no vector division of integers; doubles divide 32-bit ones exactly.
    llvm::Type* wide = floatsOf(a);
    llvm::Value* x =
        kind.isSigned ? builder.CreateSIToFP(a.v, wide) : builder.CreateUIToFP(a.v, wide);
    llvm::Value* y =
        kind.isSigned ? builder.CreateSIToFP(safe.v, wide) : builder.CreateUIToFP(safe.v, wide);
    llvm::Value* ratio = builder.CreateFDiv(x, y);
    quotient = {a.c, kind.isSigned ? builder.CreateFPToSI(ratio, a.v->getType())
                                   : builder.CreateFPToUI(ratio, a.v->getType())};
  } else {
    quotient = {a.c,
                kind.isSigned ? builder.CreateSDiv(a.v, safe.v) : builder.CreateUDiv(a.v, safe.v)};
  }
  if (wantRemainder) {
    V remainder = a - quotient * safe;
    remainder = selectV(zero, a, remainder);
    return kind.isSigned ? selectV(overflow, a.ki(0), remainder) : remainder;
  }
  V result = selectV(zero, a.ki(-1), quotient);
  return kind.isSigned ? selectV(overflow, a, result) : result;
}

V shift(OpCode op, V a, V amount, const ElementKind& kind) {
  llvm::IRBuilder<>& b = a.c->b;
  unsigned width = kind.bits;
  V inRange = {a.c, b.CreateICmpULT(amount.v, amount.ki(width).v)};
  V safe = selectV(inRange, amount, amount.ki(width - 1));
  if (width == 64 && instructionsOf(a.c->target).losesShiftAmounts()) {
    // 1 << 2^32 would be 1.
    safe = op == OpCode::Shlo_ShiftRightArithmeticOp ? safe : amount & amount.ki(width - 1);
  }
  switch (op) {
    case OpCode::Shlo_ShiftLeftOp:
      return selectV(inRange, {a.c, b.CreateShl(a.v, safe.v)}, a.ki(0));
    case OpCode::Shlo_ShiftRightLogicalOp: {
      V bits = a;
      if (kind.isSubByte()) bits = a & a.ki((1 << width) - 1);
      return selectV(inRange, {a.c, b.CreateLShr(bits.v, safe.v)}, a.ki(0));
    }
    default: {
      V bits = a;
      if (kind.isSubByte() && !kind.isSigned) {
        // The top bit of the narrow type is the sign.
        bits = {a.c, b.CreateAShr(b.CreateShl(a.v, 8 - width), 8 - width)};
      }
      return {a.c, b.CreateAShr(bits.v, safe.v)};
    }
  }
}

V integerOp(mlir::Operation* op, OpCode which, llvm::ArrayRef<V> x, const ElementKind& kind,
            bool* known) {
  V a = x[0];
  V b = x.size() > 1 ? x[1] : V();
  llvm::IRBuilder<>& builder = a.c->b;
  auto binary = [&](llvm::Intrinsic::ID id) {
    return V(a.c, builder.CreateBinaryIntrinsic(id, a.v, b.v));
  };
  bool isSigned = kind.isSigned && !kind.isBool();
  switch (which) {
    case OpCode::Shlo_AddOp:
      return kind.isBool() ? a | b : a + b;
    case OpCode::Shlo_SubtractOp:
      return kind.isBool() ? a ^ b : a - b;
    case OpCode::Shlo_MulOp:
      return kind.isBool() ? a & b : a * b;
    case OpCode::Shlo_DivOp:
      if (kind.isBool()) return a | ~b;
      return integerDivide(a, b, kind, false);
    case OpCode::Shlo_RemOp:
      if (kind.isBool()) return a & ~b;
      return integerDivide(a, b, kind, true);
    case OpCode::Shlo_MaxOp:
      return kind.isBool() ? a | b
                           : binary(isSigned ? llvm::Intrinsic::smax : llvm::Intrinsic::umax);
    case OpCode::Shlo_MinOp:
      return kind.isBool() ? a & b
                           : binary(isSigned ? llvm::Intrinsic::smin : llvm::Intrinsic::umin);
    case OpCode::Shlo_AndOp:
      return a & b;
    case OpCode::Shlo_OrOp:
      return a | b;
    case OpCode::Shlo_XorOp:
      return a ^ b;
    case OpCode::Shlo_NotOp:
      return ~a;
    case OpCode::Shlo_NegOp:
      return kind.isBool() ? a : a.ki(0) - a;
    case OpCode::Shlo_AbsOp:
      return isSigned ? selectV(a < a.ki(0), a.ki(0) - a, a) : a;
    case OpCode::Shlo_SignOp:
      if (!isSigned) return selectV(a == a.ki(0), a, a.ki(1));
      return shiftRightSigned(a, a.bits() - 1) | selectV(a > a.ki(0), a.ki(1), a.ki(0));
    case OpCode::Shlo_PopulationCountOp: {
      V bits = kind.isSubByte() ? a & a.ki((1 << kind.bits) - 1) : a;
      return {a.c, builder.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits.v)};
    }
    case OpCode::Shlo_ClzOp: {
      V bits = kind.isSubByte() ? a & a.ki((1 << kind.bits) - 1) : a;
      V zeros = {a.c, builder.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, bits.v,
                                                    builder.getInt1(false))};
      return kind.isSubByte() ? zeros - zeros.ki(8 - kind.bits) : zeros;
    }
    case OpCode::Shlo_PowOp:
      if (kind.isBool()) return a | ~b;
      return integerPower(a, b, kind);
    case OpCode::Shlo_ShiftLeftOp:
    case OpCode::Shlo_ShiftRightArithmeticOp:
    case OpCode::Shlo_ShiftRightLogicalOp:
      if (kind.isBool()) {
        return which == OpCode::Shlo_ShiftRightArithmeticOp ? a : a & ~b;
      }
      return shift(which, a, b, kind);
    case OpCode::Shlo_IsFiniteOp:
    default:
      *known = false;
      return a;
  }
}

// A sum, a difference or a product of the program.
V arithmetic(OpCode which, V a, V b) {
  llvm::IRBuilderBase::FastMathFlagGuard guard(a.c->b);
  if (instructionsOf(a.c->target).contractsProducts()) {
    llvm::FastMathFlags flags;
    flags.setAllowContract();
    a.c->b.setFastMathFlags(flags);
  }
  if (which == OpCode::Shlo_MulOp) return a * b;
  return which == OpCode::Shlo_AddOp ? a + b : a - b;
}

// `exact`: the result needs no rounding to a narrower type.
V floatOp(mlir::Operation* op, OpCode which, llvm::ArrayRef<V> x, bool* known, bool* exact) {
  V a = x[0];
  V b = x.size() > 1 ? x[1] : V();
  switch (which) {
    case OpCode::Shlo_AddOp:
    case OpCode::Shlo_SubtractOp:
    case OpCode::Shlo_MulOp:
      return arithmetic(which, a, b);
    case OpCode::Shlo_DivOp:
      return divide(a, b);
    case OpCode::Shlo_RemOp:
      return remainder(a, b);
    case OpCode::Shlo_MaxOp:
      *exact = true;
      return maximum(a, b);
    case OpCode::Shlo_MinOp:
      *exact = true;
      return minimum(a, b);
    case OpCode::Shlo_NegOp:
      *exact = true;
      return -a;
    case OpCode::Shlo_AbsOp:
      *exact = true;
      return abs(a);
    case OpCode::Shlo_SignOp:
      *exact = true;
      return sign(a);
    case OpCode::Shlo_FloorOp:
      return floor(a);
    case OpCode::Shlo_CeilOp:
      return ceil(a);
    case OpCode::Shlo_RoundNearestEvenOp:
      return roundEven(a);
    case OpCode::Shlo_RoundOp:
      return roundAway(a);
    case OpCode::Shlo_SqrtOp:
      return sqrt(a);
    case OpCode::Shlo_RsqrtOp:
      return rsqrt(a);
    case OpCode::Shlo_CbrtOp:
      return cbrt(a);
    case OpCode::Shlo_ExpOp:
      return exp(a);
    case OpCode::Shlo_Expm1Op:
      return expm1(a);
    case OpCode::Shlo_LogOp:
      return log(a);
    case OpCode::Shlo_Log1pOp:
      return log1p(a);
    case OpCode::Shlo_LogisticOp:
      return logistic(a);
    case OpCode::Shlo_TanhOp:
      return tanh(a);
    case OpCode::Shlo_SineOp:
      return sin(a);
    case OpCode::Shlo_CosineOp:
      return cos(a);
    case OpCode::Shlo_TanOp:
      return tan(a);
    case OpCode::Shlo_Atan2Op:
      return atan2(a, b);
    case OpCode::Shlo_PowOp:
      return pow(a, b);
    case OpCode::Chlo_ErfOp:
      return erf(a);
    case OpCode::Chlo_ErfcOp:
      return erfc(a);
    case OpCode::Shlo_ReducePrecisionOp: {
      auto reduce = mlir::cast<shlo::ReducePrecisionOp>(op);
      auto element = mlir::cast<mlir::FloatType>(mlir::getElementTypeOrSelf(op->getResult(0)));
      const llvm::fltSemantics& own = element.getFloatSemantics();
      int exponentBits =
          llvm::APFloat::semanticsSizeInBits(own) - llvm::APFloat::semanticsPrecision(own);
      return reducePrecision(a, reduce.getExponentBits(), reduce.getMantissaBits(), exponentBits);
    }
    default:
      *known = false;
      return a;
  }
}

Rounded roundedOf(mlir::Operation* op, OpCode which) {
  // reduce_precision works on bits, and keeps subnormals.
  if (which == OpCode::Shlo_ReducePrecisionOp) return Rounded::kAnything;
  const bool isOperand = llvm::all_of(op->getUsers(), [](mlir::Operation* user) {
    return fusionClass(user) == FusionClass::kElementwise;
  });
  return isOperand ? Rounded::kOperand : Rounded::kArithmetic;
}

// Whether the product of bf16s is one: that with a power of two, but for subnormals, which storing
// takes for zero.
bool isExactProduct(OpCode which, llvm::ArrayRef<V> operands, const ElementKind& kind) {
  return which == OpCode::Shlo_MulOp && kind.isBf16 && llvm::any_of(operands, [](const V& operand) {
           auto* constant = llvm::dyn_cast<llvm::Constant>(operand.v);
           if (constant && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
           auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
           return number && number->getValueAPF().getExactLog2Abs() != INT_MIN;
         });
}

// Of the significand of what an op of this kind gives.
int resultBitsOf(const ElementKind& kind) {
  if (!kind.isFloat() || !kind.small) return MathContext::kAllBits;
  return kind.isBf16 ? 8 : kFewBits;  // no format that is rounded to has more
}

// Whether the value was computed from others in a way that takes subnormal numbers for zero, and is
// not what memory had.
bool isArithmeticResult(mlir::Value value) {
  mlir::Operation* op = value.getDefiningOp();
  const OpFacts* facts = op ? findOpFacts(op) : nullptr;
  if (!facts) return false;
  switch (facts->code) {
    case OpCode::Shlo_AddOp:
    case OpCode::Shlo_SubtractOp:
    case OpCode::Shlo_MulOp:
    case OpCode::Shlo_DivOp:
    case OpCode::Shlo_ExpOp:
    case OpCode::Shlo_LogisticOp:
    case OpCode::Shlo_TanhOp:
      return true;
    default:
      return false;
  }
}

// Whether lanes and enough rounds of a loop are divided by one number, which is known before it:
// its reciprocal takes as long as some divisions.
bool isSharedDivisor(const Val& divisor, unsigned lanes, const Level* level,
                     const TargetModel& target) {
  return lanes > 1 && divisor.lanes() == 1 && divisor.level &&
         divisor.level->depth < level->depth && level->rounds >= 8 && target.fma &&
         !llvm::isa<llvm::Constant>(divisor.re);
}

// min(max(x, low), high)
V clamp(V low, V x, V high, const ElementKind& kind) {
  if (kind.isFloat()) return minimum(maximum(x, low), high);
  if (kind.isBool()) return (x | low) & high;
  llvm::IRBuilder<>& b = x.c->b;
  const auto max = kind.isSigned ? llvm::Intrinsic::smax : llvm::Intrinsic::umax;
  const auto min = kind.isSigned ? llvm::Intrinsic::smin : llvm::Intrinsic::umin;
  return {x.c, b.CreateBinaryIntrinsic(min, b.CreateBinaryIntrinsic(max, x.v, low.v), high.v)};
}

V divideByShared(LoopBuilder& loops, const Val& divisor, V a) {
  const auto inside = a.c->b.saveIP();
  llvm::IRBuilder<>& b = loops.at(divisor.level);
  Divisor parts = divisorOf({a.c, divisor.re});
  for (V* part : {&parts.scale, &parts.high, &parts.low}) {
    part->v = b.CreateVectorSplat(a.lanes(), part->v);
  }
  b.restoreIP(inside);
  return divide(a, parts);
}

}  // namespace

Val Evaluator::elementwise(mlir::Operation* op, llvm::ArrayRef<Val> given) {
  const OpCode which = findOpFacts(op)->code;
  ElementKind kind = kindOf(op->getResult(0));
  ElementKind from =
      kindOf(op->getOperand(op->getNumOperands() > 1 && which == OpCode::Shlo_SelectOp ? 1 : 0));
  if (!status_.ok()) return fail(op, "an earlier error");
  unsigned lanes = 1;
  Level* level = loops_.entry();
  for (const Val& value : given) {
    lanes = std::max(lanes, value.lanes());
    level = LoopBuilder::deeper(level, value.level);
  }
  llvm::SmallVector<Val, 3> operands;
  for (const Val& value : given) operands.push_back(splat(value, lanes));
  llvm::IRBuilder<>& b = loops_.at(level);
  MathContext math{b, loops_.target(), resultBitsOf(kind)};
  auto re = [&](size_t i) { return V(&math, operands[i].re); };
  auto im = [&](size_t i) { return V(&math, operands[i].im); };

  // Ops whose operands and result are of different kinds.
  switch (which) {
    case OpCode::Shlo_SelectOp: {
      Val result{b.CreateSelect(operands[0].re, operands[1].re, operands[2].re), nullptr, level};
      if (kind.isComplex()) {
        result.im = b.CreateSelect(operands[0].re, operands[1].im, operands[2].im);
      }
      return result;
    }
    case OpCode::Shlo_CompareOp: {
      if (!from.isComplex()) return {compare(op, re(0), re(1), from).v, nullptr, level};
      bool equal =
          mlir::cast<shlo::CompareOp>(op).getComparisonDirection() == shlo::ComparisonDirection::EQ;
      V same = (re(0) == re(1)) & (im(0) == im(1));
      return {(equal ? same : ~same).v, nullptr, level};
    }
    case OpCode::Shlo_ConvertOp: {
      Val result = operands[0];
      result.level = level;
      return convertValue(
          b, loops_.target(), result, from, kind,
          isArithmeticResult(op->getOperand(0)) ? Rounded::kWideArithmetic : Rounded::kAnything);
    }
    case OpCode::Shlo_RealOp:
      return {operands[0].re, nullptr, level};
    case OpCode::Shlo_ImagOp:
      return {from.isComplex() ? operands[0].im
                               : llvm::Constant::getNullValue(operands[0].re->getType()),
              nullptr, level};
    case OpCode::Shlo_ComplexOp:
      return {operands[0].re, operands[1].re, level};
    case OpCode::Shlo_IsFiniteOp:
      return {(abs(re(0)) < re(0).k(std::numeric_limits<double>::infinity())).v, nullptr, level};
    case OpCode::Shlo_ClampOp:
      if (kind.isComplex()) break;
      return {clamp(re(0), re(1), re(2), kind).v, nullptr, level};
    default:
      break;
  }

  if (from.isComplex()) {
    llvm::SmallVector<ComplexV, 2> values;
    for (size_t i = 0; i < operands.size(); ++i) values.push_back({re(i), im(i)});
    ComplexV result;
    if (!complexOp(which, values, &result)) return fail(op, "not defined for complex numbers");
    // Functions with a slow path go on in another block than they began in.
    level->block = b.GetInsertBlock();
    return {result.re.v, kind.isComplex() ? result.im.v : nullptr, level};
  }
  llvm::SmallVector<V, 3> values;
  for (size_t i = 0; i < operands.size(); ++i) values.push_back(re(i));
  bool known = true;
  if (kind.isFloat()) {
    bool exact = false;
    const bool sharesDivisor =
        which == OpCode::Shlo_DivOp && isSharedDivisor(given[1], lanes, level, loops_.target());
    V result = sharesDivisor ? divideByShared(loops_, given[1], values[0])
                             : floatOp(op, which, values, &known, &exact);
    if (!known) return fail(op, "not defined for floating-point numbers");
    level->block = b.GetInsertBlock();
    // The sign alone makes NaN of a zero in formats without a negative one.
    if (which == OpCode::Shlo_NegOp && kind.format && !kind.format->hasNegativeZero()) {
      exact = false;
    }
    const Rounded rounded = roundedOf(op, which);
    if (rounded == Rounded::kOperand && loops_.target().roundsToBf16 &&
        isExactProduct(which, values, kind)) {
      exact = true;
    }
    if (!exact) result.v = roundToKind(b, loops_.target(), result.v, kind, rounded);
    return {result.v, nullptr, level};
  }
  V result = integerOp(op, which, values, kind, &known);
  if (!known) return fail(op, "not defined for integers");
  return {wrapInteger(b, result.v, kind), nullptr, level};
}

}  // namespace isthmus::codegen
