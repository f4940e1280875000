// A small language for writing numerical code as LLVM IR, and the mathematical functions in it.
//
// `V` is a register of floats, integers or bools, scalar or vector; operators append instructions.
// Every function works for f32 and f64 and for any number of lanes. Unless said otherwise results
// are within 2 ulp (f32) or 2 ulp (f64), and infinities, NaNs, signed zeros and subnormals come out
// as IEEE 754 and C's <math.h> want; vector_math_test.cc measures it.
#pragma once

#include <cstdint>

#include "compiler/target/target_model.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/IRBuilder.h"

namespace isthmus::codegen {

// Where instructions go, for which target, and how exact results have to be. Outlives its
// registers.
struct MathContext {
  llvm::IRBuilder<>& b;
  const TargetModel& target;
  // Of the significand that results are rounded to. Where these are few (kFewBits), shorter
  // polynomials do, and quotients that are approximated: exp, erf, erfc, tanh and logistic of f32
  // are then within 2^-12.7 (bf16) or 2^-15 (f16) of it.
  static constexpr int kAllBits = 53;
  int resultBits = kAllBits;
};

// What f16 has; bf16 has 8.
constexpr int kFewBits = 11;

// One register, by value; null by default. Both operands of an operator are of the same type.
class V {
 public:
  V() = default;
  V(MathContext* context, llvm::Value* value) : c(context), v(value) {}

  bool isFloat() const { return v->getType()->isFPOrFPVectorTy(); }
  bool isF64() const { return v->getType()->getScalarType()->isDoubleTy(); }
  unsigned bits() const { return v->getType()->getScalarSizeInBits(); }
  unsigned lanes() const {
    auto* type = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
    return type ? type->getNumElements() : 1;
  }
  // A constant of this register's type.
  V k(double value) const { return {c, llvm::ConstantFP::get(v->getType(), value)}; }
  V ki(int64_t value) const { return {c, llvm::ConstantInt::getSigned(v->getType(), value)}; }
  // The bits of a float as an integer, and back.
  V asInt() const;
  V asFloat() const;

  MathContext* c = nullptr;
  llvm::Value* v = nullptr;
};

V operator+(V a, V b);
V operator-(V a, V b);
V operator*(V a, V b);
V operator/(V a, V b);  // floats
V operator-(V a);
V operator&(V a, V b);
V operator|(V a, V b);
V operator^(V a, V b);
V operator~(V a);
V operator<<(V a, int bits);
inline V operator+(V a, double b) { return a + (a.isFloat() ? a.k(b) : a.ki(int64_t(b))); }
inline V operator-(V a, double b) { return a - (a.isFloat() ? a.k(b) : a.ki(int64_t(b))); }
inline V operator*(V a, double b) { return a * (a.isFloat() ? a.k(b) : a.ki(int64_t(b))); }
inline V operator-(double a, V b) { return (b.isFloat() ? b.k(a) : b.ki(int64_t(a))) - b; }
inline V operator*(double a, V b) { return b * a; }
inline V operator/(double a, V b) { return b.k(a) / b; }
inline V operator/(V a, double b) { return a / a.k(b); }
// Ordered comparisons of floats, signed ones of integers.
V operator<(V a, V b);
V operator>(V a, V b);
V operator<=(V a, V b);
V operator>=(V a, V b);
V operator==(V a, V b);
V operator!=(V a, V b);  // true if either is NaN
inline V operator<(V a, double b) { return a < (a.isFloat() ? a.k(b) : a.ki(int64_t(b))); }
inline V operator>(V a, double b) { return a > (a.isFloat() ? a.k(b) : a.ki(int64_t(b))); }
inline V operator<=(V a, double b) { return a <= (a.isFloat() ? a.k(b) : a.ki(int64_t(b))); }
inline V operator>=(V a, double b) { return a >= (a.isFloat() ? a.k(b) : a.ki(int64_t(b))); }
inline V operator==(V a, double b) { return a == (a.isFloat() ? a.k(b) : a.ki(int64_t(b))); }
V isNan(V a);
V select(V condition, V a, V b);
inline V select(V condition, double a, V b) { return select(condition, b.k(a), b); }
inline V select(V condition, V a, double b) { return select(condition, a, a.k(b)); }
// a * b + c in one rounding where the target can, else in two.
V fma(V a, V b, V c);
inline V fma(V a, V b, double c) { return fma(a, b, a.k(c)); }
inline V fma(V a, double b, V c) { return fma(a, a.k(b), c); }
// a / b. By a constant without a division: two roundings more than one are rarely seen (in about
// one of 2^22 quotients, by an ulp), and quotients below 2^-80 (f64: 2^-970) are within 1.5 ulp.
V divide(V a, V b);
// A number that many are divided by, which is known at run time only: its reciprocal as the product
// of a power of two and the sum of two numbers. All are of the type of the number.
struct Divisor {
  V scale, high, low;
};
Divisor divisorOf(V value);
// a / b, rounded as by a constant: the parts of b as often as a has lanes.
V divide(V a, const Divisor& b);
V abs(V a);
V sqrt(V a);
V floor(V a);
V ceil(V a);
V roundEven(V a);
V roundAway(V a);
V trunc(V a);
V copySign(V magnitude, V sign);
V shiftRight(V a, int bits);  // logical
V shiftRightSigned(V a, int bits);
V toInt(V a);    // float to the integer of its width; the value must fit
V toFloat(V a);  // signed integer to the float of its width
// c[0] + c[1] x + c[2] x^2 + …
V polynomial(V x, llvm::ArrayRef<double> coefficients);

V exp(V x);
V expm1(V x);
V log(V x);
V log1p(V x);
V logistic(V x);  // within 2.5 ulp
V tanh(V x);      // within 2.5 ulp
V sin(V x);
V cos(V x);
V tan(V x);
V atan2(V y, V x);
V rsqrt(V x);
V cbrt(V x);
V pow(V x, V y);
V erf(V x);
V erfc(V x);  // f32: within 7 ulp
V sign(V x);
V remainder(V x, V y);  // C's fmod
V maximum(V x, V y);    // NaN if either is; +0 above -0
V minimum(V x, V y);

// Calls the C library's function of this name (with an f at the end for f32) for each lane.
V callPerLane(const char* name, llvm::ArrayRef<V> operands);

}  // namespace isthmus::codegen
