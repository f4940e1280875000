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

// The functions that the op table names, of one operand or two: scalar_arithmetic.cc,
// scalar_math.cc (real and complex) and special_functions.cc (real) define them.
#include "ops/scalar_functions.inc"

Scalar convert(ElementType from, const Scalar& x, ElementType to);

// -1, 0, 1, or 2 for unordered. Complex numbers by their real parts, then by the imaginary ones.
int compare(ElementType type, const Scalar& x, const Scalar& y);
// The order in which -NaN < -infinity < -0 < 0 < infinity < NaN.
int compareTotally(ElementType type, const Scalar& x, const Scalar& y);

}  // namespace isthmus::reference::scalars
