// Ops that compute one element from the elements at the same index: what kind of arithmetic, and
// how operands of different levels and lanes come together.
#include "compiler/codegen/elementwise.h"

#include "compiler/codegen/evaluator.h"
#include "compiler/codegen/vector_math.h"
#include "compiler/dialect/dialect.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus::codegen {

ElementwiseOp elementwiseOp(llvm::StringRef name) {
  static const auto* table = new llvm::StringMap<ElementwiseOp>{
      {"stablehlo.abs", ElementwiseOp::kAbs},
      {"stablehlo.add", ElementwiseOp::kAdd},
      {"stablehlo.and", ElementwiseOp::kAnd},
      {"stablehlo.atan2", ElementwiseOp::kAtan2},
      {"stablehlo.cbrt", ElementwiseOp::kCbrt},
      {"stablehlo.ceil", ElementwiseOp::kCeil},
      {"stablehlo.clamp", ElementwiseOp::kClamp},
      {"stablehlo.compare", ElementwiseOp::kCompare},
      {"stablehlo.complex", ElementwiseOp::kComplex},
      {"stablehlo.convert", ElementwiseOp::kConvert},
      {"stablehlo.cosine", ElementwiseOp::kCosine},
      {"stablehlo.count_leading_zeros", ElementwiseOp::kCountLeadingZeros},
      {"stablehlo.divide", ElementwiseOp::kDivide},
      {"stablehlo.exponential", ElementwiseOp::kExponential},
      {"stablehlo.exponential_minus_one", ElementwiseOp::kExponentialMinusOne},
      {"stablehlo.floor", ElementwiseOp::kFloor},
      {"stablehlo.imag", ElementwiseOp::kImag},
      {"stablehlo.is_finite", ElementwiseOp::kIsFinite},
      {"stablehlo.log", ElementwiseOp::kLog},
      {"stablehlo.log_plus_one", ElementwiseOp::kLogPlusOne},
      {"stablehlo.logistic", ElementwiseOp::kLogistic},
      {"stablehlo.map", ElementwiseOp::kMap},
      {"stablehlo.maximum", ElementwiseOp::kMaximum},
      {"stablehlo.minimum", ElementwiseOp::kMinimum},
      {"stablehlo.multiply", ElementwiseOp::kMultiply},
      {"stablehlo.negate", ElementwiseOp::kNegate},
      {"stablehlo.not", ElementwiseOp::kNot},
      {"stablehlo.or", ElementwiseOp::kOr},
      {"stablehlo.popcnt", ElementwiseOp::kPopcnt},
      {"stablehlo.power", ElementwiseOp::kPower},
      {"stablehlo.real", ElementwiseOp::kReal},
      {"stablehlo.reduce_precision", ElementwiseOp::kReducePrecision},
      {"stablehlo.remainder", ElementwiseOp::kRemainder},
      {"stablehlo.round_nearest_afz", ElementwiseOp::kRoundNearestAfz},
      {"stablehlo.round_nearest_even", ElementwiseOp::kRoundNearestEven},
      {"stablehlo.rsqrt", ElementwiseOp::kRsqrt},
      {"stablehlo.select", ElementwiseOp::kSelect},
      {"stablehlo.shift_left", ElementwiseOp::kShiftLeft},
      {"stablehlo.shift_right_arithmetic", ElementwiseOp::kShiftRightArithmetic},
      {"stablehlo.shift_right_logical", ElementwiseOp::kShiftRightLogical},
      {"stablehlo.sign", ElementwiseOp::kSign},
      {"stablehlo.sine", ElementwiseOp::kSine},
      {"stablehlo.sqrt", ElementwiseOp::kSqrt},
      {"stablehlo.subtract", ElementwiseOp::kSubtract},
      {"stablehlo.tan", ElementwiseOp::kTan},
      {"stablehlo.tanh", ElementwiseOp::kTanh},
      {"stablehlo.xor", ElementwiseOp::kXor},
      {"chlo.erf", ElementwiseOp::kErf},
  };
  auto it = table->find(name);
  return it == table->end() ? ElementwiseOp::kNone : it->second;
}

bool Evaluator::isElementwise(mlir::Operation* op) {
  return elementwiseOp(op->getName().getStringRef()) != ElementwiseOp::kNone;
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

// Division never traps: x / 0 is -1 (all ones) and MIN / -1 is MIN; x % 0 is x and MIN % -1 is 0.
V integerDivide(V a, V b, const ElementKind& kind, bool wantRemainder) {
  llvm::IRBuilder<>& builder = a.c->b;
  auto* divisor = llvm::dyn_cast<llvm::Constant>(b.v);
  if (divisor && divisor->getType()->isVectorTy()) divisor = divisor->getSplatValue();
  if (auto* known = llvm::dyn_cast_or_null<llvm::ConstantInt>(divisor);
      known && !known->isZero() && !(kind.isSigned && known->isMinusOne())) {
    // The code generator multiplies instead.
    V quotient{a.c, kind.isSigned ? builder.CreateSDiv(a.v, b.v) : builder.CreateUDiv(a.v, b.v)};
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
    llvm::Type* wide = llvm::FixedVectorType::get(
        a.bits() <= 16 ? builder.getFloatTy() : builder.getDoubleTy(), lanes);
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

V shift(ElementwiseOp op, V a, V amount, const ElementKind& kind) {
  llvm::IRBuilder<>& b = a.c->b;
  unsigned width = kind.bits;
  V inRange = {a.c, b.CreateICmpULT(amount.v, amount.ki(width).v)};
  V safe = selectV(inRange, amount, amount.ki(width - 1));
  switch (op) {
    case ElementwiseOp::kShiftLeft:
      return selectV(inRange, {a.c, b.CreateShl(a.v, safe.v)}, a.ki(0));
    case ElementwiseOp::kShiftRightLogical: {
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

V integerOp(mlir::Operation* op, ElementwiseOp which, llvm::ArrayRef<V> x, const ElementKind& kind,
            bool* known) {
  V a = x[0];
  V b = x.size() > 1 ? x[1] : V();
  llvm::IRBuilder<>& builder = a.c->b;
  auto binary = [&](llvm::Intrinsic::ID id) {
    return V(a.c, builder.CreateBinaryIntrinsic(id, a.v, b.v));
  };
  bool isSigned = kind.isSigned && !kind.isBool();
  switch (which) {
    case ElementwiseOp::kAdd:
      return kind.isBool() ? a | b : a + b;
    case ElementwiseOp::kSubtract:
      return kind.isBool() ? a ^ b : a - b;
    case ElementwiseOp::kMultiply:
      return kind.isBool() ? a & b : a * b;
    case ElementwiseOp::kDivide:
      if (kind.isBool()) return a | ~b;
      return integerDivide(a, b, kind, false);
    case ElementwiseOp::kRemainder:
      if (kind.isBool()) return a & ~b;
      return integerDivide(a, b, kind, true);
    case ElementwiseOp::kMaximum:
      return kind.isBool() ? a | b
                           : binary(isSigned ? llvm::Intrinsic::smax : llvm::Intrinsic::umax);
    case ElementwiseOp::kMinimum:
      return kind.isBool() ? a & b
                           : binary(isSigned ? llvm::Intrinsic::smin : llvm::Intrinsic::umin);
    case ElementwiseOp::kAnd:
      return a & b;
    case ElementwiseOp::kOr:
      return a | b;
    case ElementwiseOp::kXor:
      return a ^ b;
    case ElementwiseOp::kNot:
      return ~a;
    case ElementwiseOp::kNegate:
      return kind.isBool() ? a : a.ki(0) - a;
    case ElementwiseOp::kAbs:
      return isSigned ? selectV(a < a.ki(0), a.ki(0) - a, a) : a;
    case ElementwiseOp::kSign:
      if (!isSigned) return selectV(a == a.ki(0), a, a.ki(1));
      return shiftRightSigned(a, a.bits() - 1) | selectV(a > a.ki(0), a.ki(1), a.ki(0));
    case ElementwiseOp::kPopcnt: {
      V bits = kind.isSubByte() ? a & a.ki((1 << kind.bits) - 1) : a;
      return {a.c, builder.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits.v)};
    }
    case ElementwiseOp::kCountLeadingZeros: {
      V bits = kind.isSubByte() ? a & a.ki((1 << kind.bits) - 1) : a;
      V zeros = {a.c, builder.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, bits.v,
                                                    builder.getInt1(false))};
      return kind.isSubByte() ? zeros - zeros.ki(8 - kind.bits) : zeros;
    }
    case ElementwiseOp::kPower:
      if (kind.isBool()) return a | ~b;
      return integerPower(a, b, kind);
    case ElementwiseOp::kShiftLeft:
    case ElementwiseOp::kShiftRightArithmetic:
    case ElementwiseOp::kShiftRightLogical:
      if (kind.isBool()) {
        return which == ElementwiseOp::kShiftRightArithmetic ? a : a & ~b;
      }
      return shift(which, a, b, kind);
    case ElementwiseOp::kIsFinite:
    default:
      *known = false;
      return a;
  }
}

// `exact`: the result needs no rounding to a narrower type.
V floatOp(mlir::Operation* op, ElementwiseOp which, llvm::ArrayRef<V> x, bool* known, bool* exact) {
  V a = x[0];
  V b = x.size() > 1 ? x[1] : V();
  switch (which) {
    case ElementwiseOp::kAdd:
      return a + b;
    case ElementwiseOp::kSubtract:
      return a - b;
    case ElementwiseOp::kMultiply:
      return a * b;
    case ElementwiseOp::kDivide:
      return a / b;
    case ElementwiseOp::kRemainder:
      return remainder(a, b);
    case ElementwiseOp::kMaximum:
      *exact = true;
      return maximum(a, b);
    case ElementwiseOp::kMinimum:
      *exact = true;
      return minimum(a, b);
    case ElementwiseOp::kNegate:
      *exact = true;
      return -a;
    case ElementwiseOp::kAbs:
      *exact = true;
      return abs(a);
    case ElementwiseOp::kSign:
      *exact = true;
      return sign(a);
    case ElementwiseOp::kFloor:
      return floor(a);
    case ElementwiseOp::kCeil:
      return ceil(a);
    case ElementwiseOp::kRoundNearestEven:
      return roundEven(a);
    case ElementwiseOp::kRoundNearestAfz:
      return roundAway(a);
    case ElementwiseOp::kSqrt:
      return sqrt(a);
    case ElementwiseOp::kRsqrt:
      return rsqrt(a);
    case ElementwiseOp::kCbrt:
      return cbrt(a);
    case ElementwiseOp::kExponential:
      return exp(a);
    case ElementwiseOp::kExponentialMinusOne:
      return expm1(a);
    case ElementwiseOp::kLog:
      return log(a);
    case ElementwiseOp::kLogPlusOne:
      return log1p(a);
    case ElementwiseOp::kLogistic:
      return logistic(a);
    case ElementwiseOp::kTanh:
      return tanh(a);
    case ElementwiseOp::kSine:
      return sin(a);
    case ElementwiseOp::kCosine:
      return cos(a);
    case ElementwiseOp::kTan:
      return tan(a);
    case ElementwiseOp::kAtan2:
      return atan2(a, b);
    case ElementwiseOp::kPower:
      return pow(a, b);
    case ElementwiseOp::kErf:
      return erf(a);
    case ElementwiseOp::kReducePrecision: {
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

}  // namespace

Val Evaluator::elementwise(mlir::Operation* op, llvm::ArrayRef<Val> given) {
  ElementwiseOp which = elementwiseOp(op->getName().getStringRef());
  ElementKind kind = kindOf(op->getResult(0));
  ElementKind from =
      kindOf(op->getOperand(op->getNumOperands() > 1 && which == ElementwiseOp::kSelect ? 1 : 0));
  if (!status_.ok()) return fail(op, "an earlier error");
  unsigned lanes = 1;
  Level* level = loops_.entry();
  for (const Val& value : given) {
    lanes = std::max(lanes, value.lanes());
    level = LoopBuilder::deeper(level, value.level);
  }
  llvm::SmallVector<Val, 3> operands;
  for (const Val& value : given) operands.push_back(splat(value, lanes));
  if (which == ElementwiseOp::kMap) {
    auto map = mlir::cast<shlo::MapOp>(op);
    llvm::SmallVector<Val, 2> results = evaluateRegion(map.getComputation(), operands);
    return results.empty() ? fail(op, "empty computation") : results[0];
  }
  llvm::IRBuilder<>& b = loops_.at(level);
  MathContext math{b, loops_.target()};
  auto re = [&](size_t i) { return V(&math, operands[i].re); };
  auto im = [&](size_t i) { return V(&math, operands[i].im); };

  // Ops whose operands and result are of different kinds.
  switch (which) {
    case ElementwiseOp::kSelect: {
      Val result{b.CreateSelect(operands[0].re, operands[1].re, operands[2].re), nullptr, level};
      if (kind.isComplex()) {
        result.im = b.CreateSelect(operands[0].re, operands[1].im, operands[2].im);
      }
      return result;
    }
    case ElementwiseOp::kCompare: {
      if (!from.isComplex()) return {compare(op, re(0), re(1), from).v, nullptr, level};
      bool equal =
          mlir::cast<shlo::CompareOp>(op).getComparisonDirection() == shlo::ComparisonDirection::EQ;
      V same = (re(0) == re(1)) & (im(0) == im(1));
      return {(equal ? same : ~same).v, nullptr, level};
    }
    case ElementwiseOp::kConvert: {
      Val result = operands[0];
      result.level = level;
      return convertValue(b, loops_.target(), result, from, kind);
    }
    case ElementwiseOp::kReal:
      return {operands[0].re, nullptr, level};
    case ElementwiseOp::kImag:
      return {from.isComplex() ? operands[0].im
                               : llvm::Constant::getNullValue(operands[0].re->getType()),
              nullptr, level};
    case ElementwiseOp::kComplex:
      return {operands[0].re, operands[1].re, level};
    case ElementwiseOp::kIsFinite:
      return {(abs(re(0)) < re(0).k(std::numeric_limits<double>::infinity())).v, nullptr, level};
    case ElementwiseOp::kClamp: {
      // min(max(x, lo), hi)
      if (kind.isFloat()) {
        return {minimum(maximum(re(1), re(0)), re(2)).v, nullptr, level};
      }
      if (kind.isComplex()) return fail(op, "complex numbers have no order");
      bool isSigned = kind.isSigned && !kind.isBool();
      if (kind.isBool()) return {((re(1) | re(0)) & re(2)).v, nullptr, level};
      llvm::Value* low = b.CreateBinaryIntrinsic(
          isSigned ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, operands[1].re, operands[0].re);
      return {b.CreateBinaryIntrinsic(isSigned ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, low,
                                      operands[2].re),
              nullptr, level};
    }
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
    V result = floatOp(op, which, values, &known, &exact);
    if (!known) return fail(op, "not defined for floating-point numbers");
    level->block = b.GetInsertBlock();
    // The sign alone makes NaN of a zero in formats without a negative one.
    if (which == ElementwiseOp::kNegate && kind.small && !kind.format->hasNegativeZero) {
      exact = false;
    }
    if (!exact) result.v = roundToKind(b, loops_.target(), result.v, kind);
    return {result.v, nullptr, level};
  }
  V result = integerOp(op, which, values, kind, &known);
  if (!known) return fail(op, "not defined for integers");
  return {wrapInteger(b, result.v, kind), nullptr, level};
}

}  // namespace isthmus::codegen
