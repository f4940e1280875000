// What the elementwise operations do with one element.
//
// `type` is the element type of the operands. Results are exact, or computed in long double and
// rounded once; storing them (Tensor::set, normalized) rounds and wraps to the result's type. What
// the specification leaves open is as in XLA: integer division by zero gives -1, its remainder the
// dividend; shifts past the width give 0 or copies of the sign; conversions to integers saturate.
#pragma once

#include "compiler/reference/tensor.h"

namespace isthmus::reference::scalars {

using Unary = Scalar (*)(ElementType type, const Scalar& x);
using Binary = Scalar (*)(ElementType type, const Scalar& x, const Scalar& y);

Scalar makeFloat(double value);
Scalar makeInteger(int64_t value);
Scalar makeBool(bool value);

// scalar_arithmetic.cc
Scalar abs(ElementType type, const Scalar& x);
Scalar ceil(ElementType type, const Scalar& x);
Scalar floor(ElementType type, const Scalar& x);
Scalar roundAwayFromZero(ElementType type, const Scalar& x);
Scalar roundToEven(ElementType type, const Scalar& x);
Scalar countLeadingZeros(ElementType type, const Scalar& x);
Scalar populationCount(ElementType type, const Scalar& x);
Scalar negate(ElementType type, const Scalar& x);
Scalar bitNot(ElementType type, const Scalar& x);
Scalar real(ElementType type, const Scalar& x);
Scalar imaginary(ElementType type, const Scalar& x);
Scalar conjugate(ElementType type, const Scalar& x);
Scalar isFinite(ElementType type, const Scalar& x);
Scalar isInfinite(ElementType type, const Scalar& x);
Scalar isMinusInfinity(ElementType type, const Scalar& x);
Scalar isPlusInfinity(ElementType type, const Scalar& x);
Scalar sign(ElementType type, const Scalar& x);
Scalar square(ElementType type, const Scalar& x);

Scalar add(ElementType type, const Scalar& x, const Scalar& y);
Scalar subtract(ElementType type, const Scalar& x, const Scalar& y);
Scalar multiply(ElementType type, const Scalar& x, const Scalar& y);
Scalar divide(ElementType type, const Scalar& x, const Scalar& y);
Scalar remainder(ElementType type, const Scalar& x, const Scalar& y);
Scalar maximum(ElementType type, const Scalar& x, const Scalar& y);
Scalar minimum(ElementType type, const Scalar& x, const Scalar& y);
Scalar bitAnd(ElementType type, const Scalar& x, const Scalar& y);
Scalar bitOr(ElementType type, const Scalar& x, const Scalar& y);
Scalar bitXor(ElementType type, const Scalar& x, const Scalar& y);
Scalar shiftLeft(ElementType type, const Scalar& x, const Scalar& y);
Scalar shiftRightArithmetic(ElementType type, const Scalar& x, const Scalar& y);
Scalar shiftRightLogical(ElementType type, const Scalar& x, const Scalar& y);
Scalar makeComplex(ElementType type, const Scalar& re, const Scalar& im);
Scalar multiplyHigh(ElementType type, const Scalar& x, const Scalar& y);
Scalar nextAfter(ElementType type, const Scalar& x, const Scalar& y);

Scalar convert(ElementType from, const Scalar& x, ElementType to);

// -1, 0, 1, or 2 for unordered. Complex numbers by their real parts, then by the imaginary ones.
int compare(ElementType type, const Scalar& x, const Scalar& y);
// The order in which -NaN < -infinity < -0 < 0 < infinity < NaN.
int compareTotally(ElementType type, const Scalar& x, const Scalar& y);

// scalar_math.cc: real and complex
Scalar cbrt(ElementType type, const Scalar& x);
Scalar sqrt(ElementType type, const Scalar& x);
Scalar rsqrt(ElementType type, const Scalar& x);
Scalar exponential(ElementType type, const Scalar& x);
Scalar exponentialMinusOne(ElementType type, const Scalar& x);
Scalar log(ElementType type, const Scalar& x);
Scalar logPlusOne(ElementType type, const Scalar& x);
Scalar logistic(ElementType type, const Scalar& x);
Scalar sine(ElementType type, const Scalar& x);
Scalar cosine(ElementType type, const Scalar& x);
Scalar tangent(ElementType type, const Scalar& x);
Scalar tanh(ElementType type, const Scalar& x);
Scalar sinh(ElementType type, const Scalar& x);
Scalar cosh(ElementType type, const Scalar& x);
Scalar asin(ElementType type, const Scalar& x);
Scalar asinAcosKernel(ElementType type, const Scalar& x);
Scalar acos(ElementType type, const Scalar& x);
Scalar atan(ElementType type, const Scalar& x);
Scalar asinh(ElementType type, const Scalar& x);
Scalar acosh(ElementType type, const Scalar& x);
Scalar atanh(ElementType type, const Scalar& x);
Scalar power(ElementType type, const Scalar& x, const Scalar& y);
Scalar atan2(ElementType type, const Scalar& y, const Scalar& x);

// special_functions.cc: real
Scalar erf(ElementType type, const Scalar& x);
Scalar erfc(ElementType type, const Scalar& x);
Scalar inverseErf(ElementType type, const Scalar& x);
Scalar logGamma(ElementType type, const Scalar& x);
Scalar digamma(ElementType type, const Scalar& x);
Scalar besselI1e(ElementType type, const Scalar& x);
Scalar zeta(ElementType type, const Scalar& x, const Scalar& q);
Scalar polygamma(ElementType type, const Scalar& n, const Scalar& x);

}  // namespace isthmus::reference::scalars
