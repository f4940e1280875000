// exp, log and what is made of them.
#include <cmath>
#include <limits>

#include "compiler/codegen/math/math_coefficients.h"
#include "compiler/codegen/math/math_internal.h"
#include "compiler/codegen/math/vector_math.h"
#include "compiler/codegen/target/target_instructions.h"

namespace isthmus::codegen {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLog2E = 1.4426950408889634074;
// The high parts have few bits, so that small integers times them are exact.
constexpr double kLn2HighF32 = 0.693359375;
constexpr double kLn2LowF32 = -2.12194440054690583e-4;
constexpr double kLn2HighF64 = 6.93147180369123816490e-01;
constexpr double kLn2LowF64 = 1.90821492927058770002e-10;

int64_t exponentBias(V x) { return x.isF64() ? 1023 : 127; }

int mantissaBits(V x) { return x.isF64() ? 52 : 23; }

struct Exponent {
  V n;  // as a float
  // n + a bias in the lowest bits of an integer: as many as a float has beside its mantissa. There
  // are others above, which a shift by the mantissa's bits drops.
  V biased;
};

// n next to x / ln 2, or to x times another factor.
Exponent nearestExponent(V x, int64_t bias, double factor = kLog2E) {
  // The bias comes along in the magic number.
  double magic = magicNumber(x) + static_cast<double>(bias);
  V shifted = fma(x, factor, x.k(magic));
  return {shifted - magic, shifted.asInt()};
}

// With the bias that scaled() takes.
Exponent nearestExponentToScale(V x) { return nearestExponent(x, 2 * exponentBias(x)); }

// r with |r| <= ln 2 / 2, where x = n ln 2 + r.
V reduceExp(V x, const Exponent& exponent) {
  double high = x.isF64() ? kLn2HighF64 : kLn2HighF32;
  double low = x.isF64() ? kLn2LowF64 : kLn2LowF32;
  V r = fma(exponent.n, -high, x);
  return fma(exponent.n, -low, r);
}

// Whether the target has an instruction for scaleByPowerOfTwo.
bool canScaleByPowerOfTwo(V x) {
  return instructionsOf(x.c->target).computesInType(x.v->getType());
}

// x times 2^n, rounded once, whatever n is.
V scaleByPowerOfTwo(V x, V n) {
  return V{x.c, instructionsOf(x.c->target).scaleByPowerOfTwo(x.c->b, x.v, n.v)};
}

bool hasFewBits(V x) { return x.c->resultBits <= kFewBits; }

// a / b; of a result in bf16 within 2^-14 of it, where b and its reciprocal are normal numbers.
V quotient(V a, V b) {
  const TargetInstructions& instructions = instructionsOf(a.c->target);
  if (a.c->resultBits > 8 || !instructions.approximatesReciprocal(b.v->getType())) return a / b;
  return a * V{b.c, instructions.reciprocal(b.c->b, b.v)};
}

// e^r - 1 for small r.
V expm1Core(V r) {
  V square = r * r;
  V tail = r.isF64() ? polynomialEstrin(r, kExpF64) : polynomialEstrin(r, kExpF32);
  return fma(square, tail, r);
}

// e^x as a power of two times what is near 1.
struct PowerParts {
  Exponent exponent;
  V power;
};

PowerParts splitExp(V x, const Exponent& exponent) {
  if (!hasFewBits(x)) return {exponent, expm1Core(reduceExp(x, exponent)) + 1.0};
  // Log2 e that is rounded to f32 takes less than 2^-17 from f.
  V f = fma(x, kLog2E, -exponent.n);
  return {exponent, x.c->resultBits <= 8 ? polynomial(f, kExp2Bits8) : polynomial(f, kExp2Bits11)};
}

// The product, but zero where it does not stay.
V scaled(const PowerParts& parts, V stays) {
  V x = parts.power;
  // Written like this, the choice becomes the instruction's mask: what is masked does not
  // underflow.
  if (canScaleByPowerOfTwo(x)) {
    return select(stays, scaleByPowerOfTwo(x, parts.exponent.n), x.k(0.0));
  }
  // In two factors, since 2^n itself may be out of range.
  V half = shiftRight(parts.exponent.biased, 1);
  V rest = parts.exponent.biased - half;
  // A product that underflows takes a hundred cycles, and masked attention is full of them: what
  // vanishes is multiplied by zero.
  V factor = select(stays, (rest << mantissaBits(x)).asFloat(), 0.0);
  return x * (half << mantissaBits(x)).asFloat() * factor;
}

// e^(-a²), where splitExp of the square would have its rounding error, times a² / 2.
PowerParts splitExpOfMinusSquare(V a) {
  V square = a * a;
  Exponent exponent = nearestExponentToScale(-square);
  if (hasFewBits(a)) return splitExp(-square, exponent);
  V r = fma(-a, a, exponent.n * -kLn2HighF32);
  r = fma(exponent.n, -kLn2LowF32, r);
  V one = r.k(1.0);
  return {exponent, fma(fma(polynomial(r, kShortExpF32), r, one), r, one)};
}

struct LogParts {
  V exponent;  // as a float
  V f;         // mantissa - 1, in [sqrt(1/2) - 1, sqrt(2) - 1)
};

// Of positive normal numbers.
LogParts reduceLog(V x) {
  V bits = x.asInt();
  V anchor = x.k(std::sqrt(0.5)).asInt();
  // A bias keeps the exponent positive, since AVX2 lacks an arithmetic shift of 64-bit lanes.
  int64_t bias = x.isF64() ? 1024 : 128;
  V exponent =
      shiftRight(bits - anchor + bits.ki(bias << mantissaBits(x)), mantissaBits(x)) - bits.ki(bias);
  V mantissa = (bits - (exponent << mantissaBits(x))).asFloat();
  return {smallIntToFloat(exponent), mantissa - x.k(1.0)};
}

// exponent * ln 2 + log(1 + f).
V logCore(V exponent, V f) {
  if (!f.isF64()) {
    V square = f * f;
    V y = square * f * polynomialEstrin(f, kLogF32);
    y = fma(exponent, kLn2LowF32, y);
    y = fma(square, -0.5, y);
    return fma(exponent, kLn2HighF32, f + y);
  }
  V s = f / (f + 2.0);
  V z = s * s;
  V r = z * polynomialEstrin(z, kLogRatioF64);
  V halfSquare = f * f * 0.5;
  V tail = fma(s, halfSquare + r, exponent * kLn2LowF64);
  return fma(exponent, kLn2HighF64, f - (halfSquare - tail));
}

V logSpecials(V x, V result) {
  result = select(x == 0.0, -kInf, result);
  result = select(x == kInf, kInf, result);
  return select(x >= 0.0, result, kNan);
}

V logOfPositive(V x) {
  // Subnormals are scaled up first.
  double smallest = x.isF64() ? 0x1p-1022 : 0x1p-126;
  double up = x.isF64() ? 0x1p54 : 0x1p25;
  V isSubnormal = x < smallest;
  LogParts parts = reduceLog(select(isSubnormal, x * up, x));
  V exponent = select(isSubnormal, parts.exponent - (x.isF64() ? 54.0 : 25.0), parts.exponent);
  return logCore(exponent, parts.f);
}

}  // namespace

V powerOfTwo(V n, bool isF64) {
  int64_t bias = isF64 ? 1023 : 127;
  return ((n + n.ki(bias)) << (isF64 ? 52 : 23)).asFloat();
}

// By an instruction for powers of two: 2^n 2^f, where n is next to x / ln 2. Beyond what n may be,
// f makes the power infinite or vanish.
static V expByInstruction(V x) {
  auto powerOfTwo = [&](V y) {
    return V{x.c, instructionsOf(x.c->target).powerOfTwo(x.c->b, y.v)};
  };
  // A rounding error of the product is 2^-17 at most.
  if (hasFewBits(x)) return powerOfTwo(x * kLog2E);
  constexpr double kLog2ELow = 1.925963033500e-8;  // what rounding to f32 takes from log2 e
  llvm::IRBuilder<>& b = x.c->b;
  V product = x * kLog2E;
  product = {x.c, b.CreateMaxNum(product.v, x.k(-126).v)};
  product = {x.c, b.CreateMinNum(product.v, x.k(126).v)};
  // The exponent's bias comes along in the magic number.
  const double magic = magicNumber(x) + 127;
  V shifted = product + magic;
  V n = shifted - magic;
  V f = fma(x, kLog2ELow, fma(x, kLog2E, -n));
  return powerOfTwo(f) * (shifted.asInt() << 23).asFloat();
}

// By adding n to the exponent of a power that is near 1. Subnormal results are zero, as they are to
// whatever reads them.
static V expByExponent(V x) {
  // The least normal number, and the largest: n may be one more than its exponent, with a power
  // below 1.
  const double low = x.isF64() ? -0x1.6232bdd7abcd2p+9 : -0x1.5d589ep+6;
  double high = x.isF64() ? 0x1.62e42fefa39efp+9 : 0x1.62e42ep+6;
  // Within 2^-13 of 1 a power may be on either side. Beyond this, a result of few bits is infinite.
  if (hasFewBits(x)) high = 0x1.62e22ep+6;
  PowerParts parts = splitExp(x, nearestExponent(x, /*bias=*/0));
  V result = (parts.power.asInt() + (parts.exponent.biased << mantissaBits(x))).asFloat();
  V stays{x.c, x.c->b.CreateFCmpUGE(x.v, x.k(low).v)};
  result = select(stays, result, 0.0);
  return select(x <= high, result, x + kInf);  // of NaN, NaN
}

V exp(V given) {
  if (instructionsOf(given.c->target).raisesTwo(given.v->getType())) return expByInstruction(given);
  if (!canScaleByPowerOfTwo(given)) return expByExponent(given);
  // Beyond these, the result is infinity or zero; NaN passes.
  double high = given.isF64() ? 710.0 : 89.0;
  double low = given.isF64() ? -746.0 : -104.0;
  V x = select(given > high, high, given);
  V stays{x.c, x.c->b.CreateFCmpUGE(given.v, x.k(low).v)};
  return scaled(splitExp(x, nearestExponentToScale(x)), stays);
}

// e^x - 1 by the exponent of e^x, or half of that where its bias is less by one.
static V expm1InRange(V x, const Exponent& exponent, bool isHalved) {
  V p = expm1Core(reduceExp(x, exponent));
  // 2^n p + 2^n - 1.
  V scale = (exponent.biased << mantissaBits(x)).asFloat();
  return fma(scale, p, scale - (isHalved ? 0.5 : 1.0));
}

V expm1(V given) {
  double high = given.isF64() ? 710.0 : 89.0;
  double low = given.isF64() ? -40.0 : -20.0;
  V x = select(given > high, high, given);
  x = select(x < low, low, x);
  // Halved, since n may be one more than the exponent of the largest number.
  V half = expm1InRange(x, nearestExponent(x, exponentBias(x) - 1), /*isHalved=*/true);
  V result = half * 2.0;
  return select(abs(given) < (given.isF64() ? 0x1p-60 : 0x1p-30), given, result);
}

V log(V x) { return logSpecials(x, logOfPositive(x)); }

V log1p(V x) {
  V one = x.k(1.0);
  V u = x + one;
  // What rounding u lost.
  V b = u - one;
  V lost = (one - (u - b)) + (x - b);
  LogParts parts = reduceLog(u);
  V limit = x.k(x.isF64() ? 1000.0 : 120.0);
  V capped = select(parts.exponent > limit, limit, parts.exponent);
  V scale = powerOfTwo(floatToSmallInt(-capped), x.isF64());
  V result = logCore(parts.exponent, fma(lost, scale, parts.f));
  result = select(abs(x) < (x.isF64() ? 0x1p-60 : 0x1p-30), x, result);
  result = select(x == -1.0, -kInf, result);
  result = select(x == kInf, kInf, result);
  return select(x >= -1.0, result, kNan);
}

V logistic(V x) {
  V e = exp(-abs(x));
  return quotient(select(x >= 0.0, x.k(1.0), e), e + 1.0);
}

V tanh(V x) {
  // Beyond this it is 1.
  const double limit = hasFewBits(x) ? 4.6 : x.isF64() ? 20.0 : 9.5;
  V a = abs(x);
  a = select(a > limit, limit, a);
  if (hasFewBits(x)) {
    V square = a * a;
    V ratio = quotient(polynomial(square, kTanhBits11), polynomial(square, kTanhDivisorBits11));
    // Near zero it is x: a ratio below 1 would make the smallest normal number a subnormal one.
    return select(abs(x) < 0x1p-7, x, copySign(a * ratio, x));
  }
  // The chain to the power does not wait for the doubling, nor that to the result for a copied
  // sign: the quotient has none.
  const Exponent exponent = nearestExponent(a, exponentBias(a), 2 * kLog2E);
  V e = expm1InRange(a + a, exponent, /*isHalved=*/false);
  V sign = x.asInt() & x.k(-0.0).asInt();
  return ((e / (e + 2.0)).asInt() | sign).asFloat();
}

// Within 2^-15.
static V erfOfFewBits(V x) {
  V a = abs(x);
  a = select(a > 4.0, 4.0, a);
  V square = x * x;
  V large = 1.0 - exp(polynomial(a, kLogErfcBits11));
  return select(abs(x) < 0.5, x * polynomial(square, kErfBits11), copySign(large, x));
}

// Where |x| < 0.92: x + x (P(x²) - 1), whose last addition rounds and little else.
static V erfNearZero(V x) {
  V square = x * x;
  V tail = polynomial(square, llvm::ArrayRef(kErfF32).drop_front());
  return fma(x, fma(tail, square, x.k(kErfF32[0] - 1)), x);
}

V erf(V x) {
  if (x.isF64()) return callPerLane("erf", {x});
  if (hasFewBits(x)) return erfOfFewBits(x);
  V a = abs(x);
  a = select(a > 4.0, 4.0, a);
  V large = 1.0 - exp(polynomialEstrin(a, kLogErfcF32));
  return select(abs(x) < 0.92, erfNearZero(x), copySign(large, x));
}

V erfc(V x) {
  if (x.isF64()) return callPerLane("erfc", {x});
  // erfc a = exp(-a²) erfcx a, which is zero from 10.06 on. All coefficients of the quotient are
  // positive: nothing cancels.
  V a = abs(x);
  V stays{x.c, x.c->b.CreateFCmpULE(a.v, x.k(10.06).v)};
  if (!canScaleByPowerOfTwo(x)) a = select(stays, a, 10.06);
  V erfcx = hasFewBits(x)
                ? quotient(polynomial(a, kErfcxBits11), polynomial(a, kErfcxDivisorBits11))
                : polynomial(a, kErfcxF32) / polynomial(a, kErfcxDivisorF32);
  PowerParts parts = splitExpOfMinusSquare(a);
  parts.power = parts.power * erfcx;
  V result = scaled(parts, stays);
  return select(x < 0.0, 2.0 - result, result);
}

V cbrt(V x) {
  V a = abs(x);
  double smallest = x.isF64() ? 0x1p-1022 : 0x1p-126;
  V isSubnormal = a < smallest;
  a = select(isSubnormal, a * (x.isF64() ? 0x1p54 : 0x1p24), a);
  // a = m 2^(3k), m in [1, 8).
  int mantissaBits = x.isF64() ? 52 : 23;
  double bias = x.isF64() ? 1023 : 127;
  V exponent = smallIntToFloat(shiftRight(a.asInt(), mantissaBits)) - bias;
  V k = floor(exponent * (1.0 / 3.0) + 0.1);
  V kInt = floatToSmallInt(k);
  V m = (a.asInt() - ((kInt + kInt + kInt) << mantissaBits)).asFloat();
  V y = (m - 1.0) * fma(m - 3.375, -0.0146312, x.k(0.210526)) + 1.0;
  // Halley's iteration triples the number of right digits.
  for (int i = 0; i < (x.isF64() ? 3 : 2); ++i) {
    V square = y * y;
    y = y - y * fma(square, y, -m) / fma(square * 2.0, y, m);
  }
  V shift = select(isSubnormal, kInt - kInt.ki(x.isF64() ? 18 : 8), kInt);
  y = copySign(y * powerOfTwo(shift, x.isF64()), x);
  return select((x == 0.0) | ~(abs(x) < kInf), x, y);
}

// The sum of two numbers, of which the second is below half an ulp of the first.
struct Sum {
  V high, low;
};

static Sum product(V a, V b) {
  V high = a * b;
  return {high, fma(a, b, -high)};
}

// Of positive numbers of f64, with 10 bits more than they have: a power is the exponential of its
// multiple. As in logCore, with the first terms in two parts: log (1 + f) = 2s + s³ (2/3 + s²
// Q(s²)).
static Sum logInParts(V x) {
  V isSubnormal = x < 0x1p-1022;
  LogParts parts = reduceLog(select(isSubnormal, x * 0x1p54, x));
  V exponent = select(isSubnormal, parts.exponent - 54.0, parts.exponent), f = parts.f;

  V divisor = f + 2.0, lost = f - (divisor - 2.0), inverse = 1.0 / divisor;
  V s = f * inverse;
  V sLow = fma(-s, lost, fma(-s, divisor, f)) * inverse;
  Sum z = product(s, s);
  z.low = fma(s * 2.0, sLow, z.low);

  constexpr double kTwoThirdsLow = 0x1.5555555555555p-55;  // what 2.0 / 3 has lost
  V q = polynomial(z.high, kLogRatioTailF64);
  Sum t = product(z.high, q);
  V p = t.high + 2.0 / 3;
  V pLow = ((2.0 / 3 - p) + t.high) + (fma(z.low, q, t.low) + kTwoThirdsLow);
  Sum u = product(z.high, p);
  u.low = fma(z.high, pLow, fma(z.low, p, u.low));
  Sum cubic = product(s, u.high);
  cubic.low = fma(s, u.low, fma(sLow, u.high, cubic.low));

  V twice = s * 2.0;
  V sum = twice + cubic.high;
  V sumLow = ((twice - sum) + cubic.high) + fma(sLow, 2.0, cubic.low);
  V whole = exponent * kLn2HighF64;  // exact
  V high = whole + sum;
  return {high, ((whole - high) + sum) + fma(exponent, kLn2LowF64, sumLow)};
}

// |x|^y of f64 where the target multiplies and adds in one rounding.
static V powerOfMagnitude(V x, V y) {
  Sum logarithm = logInParts(x);
  Sum whole = product(y, logarithm.high);
  // Beyond these the result is infinity or zero, and there may be no low part.
  V high = select(whole.high > 710.0, 710.0, whole.high);
  high = select(high < -746.0, -746.0, high);
  V low = select(high == whole.high, fma(y, logarithm.low, whole.low), 0.0);
  Exponent exponent = nearestExponentToScale(high);
  // As in reduceExp and expm1Core, with what the reduction loses: nearly the nearest number.
  V reduced = fma(exponent.n, -kLn2HighF64, high);
  V rest = fma(exponent.n, kLn2LowF64, -low);
  V r = reduced - rest;
  V lost = (reduced - r) - rest;
  V power = r + 1.0;
  power = power + (((1.0 - power) + r) + fma(r * r, polynomialEstrin(r, kExpF64), lost));
  V result = scaled({exponent, power}, high > -746.0);
  // Of zero and infinity, and by infinity: nothing or infinity.
  V isOrdinary = (x > 0.0) & (x < kInf) & (abs(y) < kInf);
  V end = select((x > 1.0) ^ (y > 0.0), x.k(0.0), x.k(kInf));
  end = select(isNan(x) | isNan(y), x + y, end);
  return select(isOrdinary, result, end);
}

// In f64, which leaves nothing to be desired in f32 and less: x to the power of 1 is x.
static V powerByDouble(V x, V y) {
  llvm::IRBuilder<>& b = x.c->b;
  MathContext full{b, x.c->target};
  llvm::Type* wide = b.getDoubleTy();
  if (x.lanes() > 1) wide = llvm::FixedVectorType::get(wide, x.lanes());
  V base(&full, b.CreateFPExt(abs(x).v, wide));
  V exponent(&full, b.CreateFPExt(y.v, wide));
  LogParts parts = reduceLog(base);
  V logarithm = logCore(parts.exponent, parts.f);
  logarithm = select(base == 0.0, -kInf, logarithm);
  logarithm = select(base < kInf, logarithm, base);  // infinity and NaN
  return {x.c, b.CreateFPTrunc(exp(exponent * logarithm).v, x.v->getType())};
}

V pow(V x, V y) {
  if (x.isF64() && !x.c->target.fma) return callPerLane("pow", {x, y});
  V power = x.isF64() ? powerOfMagnitude(abs(x), y) : powerByDouble(x, y);
  V isWhole = trunc(y) == y;
  V half = y * 0.5;
  V isOdd = isWhole & (trunc(half) != half);
  V isNegative = x.asInt() < x.asInt().ki(0);
  power = select(isNegative & isOdd, -power, power);
  // A negative finite number to a fraction is no real number.
  V undefined = (x < 0.0) & (abs(x) < kInf) & ~isWhole & (abs(y) < kInf);
  power = select(undefined, kNan, power);
  V isOne = (y == 0.0) | (x == 1.0) | ((x == -1.0) & (abs(y) == x.k(kInf)));
  return select(isOne, 1.0, power);
}

}  // namespace isthmus::codegen
