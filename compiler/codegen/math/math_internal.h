// What the files of the vector math library share.
#pragma once

#include <functional>

#include "compiler/codegen/math/vector_math.h"

namespace isthmus::codegen {

// 1.5 * 2^mantissa bits: adding it to a float leaves the nearest integer in the low bits.
inline double magicNumber(V x) { return x.isF64() ? 0x1.8p52 : 0x1.8p23; }

// Integers below 2^22 in magnitude, to and from floats, in two instructions for any width.
inline V smallIntToFloat(V n) {
  V magic(n.c,
          llvm::ConstantInt::get(n.v->getType(), n.bits() == 64 ? 0x4338000000000000 : 0x4b400000));
  return (n + magic).asFloat() - (n.bits() == 64 ? 0x1.8p52 : 0x1.8p23);
}
inline V floatToSmallInt(V x) { return (x + magicNumber(x)).asInt() - x.k(magicNumber(x)).asInt(); }

// 2^n as a float of the width of n; n must be in the range of normal numbers.
V powerOfTwo(V n, bool isF64);

// The same as polynomial(), in a tree: shorter to wait for, at the price of a little accuracy. For
// tails that are small beside what they are added to.
V polynomialEstrin(V x, llvm::ArrayRef<double> coefficients);

// `slow()` if `condition` holds for any lane, else `fast`: a branch.
V unlessAny(V condition, V fast, const std::function<V()>& slow);

// callPerLane by a function of vectors that the module has once: 16 calls for each sine of a chain,
// hardly ever made, are most of what compiling it takes.
V callSeldom(const char* name, llvm::ArrayRef<V> operands);

}  // namespace isthmus::codegen
