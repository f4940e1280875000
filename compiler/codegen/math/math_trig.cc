// Trigonometric functions, and the remainder of a division.
#include <cmath>
#include <limits>

#include "compiler/codegen/math/math_coefficients.h"
#include "compiler/codegen/math/math_internal.h"
#include "compiler/codegen/math/vector_math.h"

namespace isthmus::codegen {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.14159265358979323846;

// x = q pi/2 + r with |r| <= pi/4, for |x| up to limit().
struct TrigParts {
  V q;  // as an integer
  V r;
};

// Above it, the C library reduces the argument.
double limit(V x) {
  if (x.c->target.fma) return x.isF64() ? 1e9 : 1e5;
  return x.isF64() ? 1e6 : 8000.0;
}

TrigParts reduceTrig(V x) {
  V shifted = fma(x, 2 / kPi, x.k(magicNumber(x)));
  V q = shifted - magicNumber(x);
  V qInt = shifted.asInt() - x.k(magicNumber(x)).asInt();
  // pi/2 in parts. With fused operations each has full width; without, few enough bits that
  // the products are exact.
  V r = x;
  if (x.c->target.fma) {
    if (x.isF64()) {
      for (double part :
           {1.5707963267948966192, 6.123233995736766036e-17, -1.497384904859169777e-33}) {
        r = fma(q, -part, r);
      }
    } else {
      for (double part : {0x1.921fb6p+0, -0x1.777a5cp-25, -0x1.ee59dap-50}) {
        r = fma(q, -part, r);
      }
    }
  } else if (x.isF64()) {
    for (double part : {1.57079632673412561417e+00, 6.07710050630396597660e-11,
                        2.02226624871116645580e-21, 8.47842766036889956997e-32}) {
      r = r - q * part;
    }
  } else {
    for (double part :
         {1.5703125, 4.837512969970703125e-4, 7.549789948768648e-8, 5.6390300136e-15}) {
      r = r - q * part;
    }
  }
  return {qInt, r};
}

V sinCore(V r) {
  V z = r * r;
  return fma(z * r, r.isF64() ? polynomial(z, kSinF64) : polynomial(z, kSinF32), r);
}

V cosCore(V r) {
  V z = r * r;
  V tail = z * z * (r.isF64() ? polynomial(z, kCosF64) : polynomial(z, kCosF32));
  V half = z * 0.5;
  V w = 1.0 - half;
  return w + (((1.0 - w) - half) + tail);
}

V flipIf(V condition, V x) { return select(condition, -x, x); }

V bitSet(V n, int bit) { return (n & n.ki(bit)) != n.ki(0); }

V sinOrCos(V x, bool cosine) {
  TrigParts parts = reduceTrig(x);
  V q = cosine ? parts.q + 1 : parts.q;
  V result = select(bitSet(q, 1), cosCore(parts.r), sinCore(parts.r));
  result = flipIf(bitSet(q, 2), result);
  return unlessAny(abs(x) > limit(x), result,
                   [&] { return callSeldom(cosine ? "cos" : "sin", {x}); });
}

}  // namespace

V unlessAny(V condition, V fast, const std::function<V()>& slow) {
  llvm::IRBuilder<>& b = fast.c->b;
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::Value* any = condition.v;
  if (condition.lanes() > 1) any = b.CreateOrReduce(any);
  llvm::BasicBlock* before = b.GetInsertBlock();
  auto* taken = llvm::BasicBlock::Create(b.getContext(), "slow", function);
  auto* after = llvm::BasicBlock::Create(b.getContext(), "joined", function);
  b.CreateCondBr(any, taken, after);
  b.SetInsertPoint(taken);
  V value = slow();
  llvm::BasicBlock* last = b.GetInsertBlock();
  b.CreateBr(after);
  b.SetInsertPoint(after);
  llvm::PHINode* result = b.CreatePHI(fast.v->getType(), 2);
  result->addIncoming(fast.v, before);
  result->addIncoming(value.v, last);
  return {fast.c, result};
}

V sin(V x) {
  V result = sinOrCos(x, false);
  return select(x == 0.0, x, result);  // keeps -0
}
V cos(V x) { return sinOrCos(x, true); }

V tan(V x) {
  TrigParts parts = reduceTrig(x);
  V s = sinCore(parts.r);
  V c = cosCore(parts.r);
  V swap = bitSet(parts.q, 1);
  V result = select(swap, -c, s) / select(swap, s, c);
  result = select(x == 0.0, x, result);
  return unlessAny(abs(x) > limit(x), result, [&] { return callSeldom("tan", {x}); });
}

V atan2(V y, V x) {
  V ax = abs(x);
  V ay = abs(y);
  V swap = ay > ax;
  V larger = select(swap, ay, ax);
  V smaller = select(swap, ax, ay);
  // Sums must not overflow.
  V huge = larger > (x.isF64() ? 1e307 : 1e37);
  V bothInfinite = smaller == kInf;
  larger = select(huge, larger * 0.25, larger);
  smaller = select(huge, smaller * 0.25, smaller);
  // atan(t) = pi/4 + atan((t - 1) / (t + 1)) where t > tan(pi/8).
  V middle = smaller > larger * 0.41421356237309503;
  V t = select(middle, smaller - larger, smaller) / select(middle, smaller + larger, larger);
  t = select(bothInfinite | (larger == 0.0), 0.0, t);
  V z = t * t;
  V angle = fma(z * t, x.isF64() ? polynomial(z, kAtanF64) : polynomial(z, kAtanF32), t);
  bool wide = x.isF64();
  double quarterLow = wide ? 3.061616997868383018e-17 : -2.18556941e-8;
  V middleOrInfinite = middle | bothInfinite;
  angle = select(middleOrInfinite, (angle + quarterLow) + kPi / 4, angle);
  double halfLow = wide ? 6.123233995736766036e-17 : -4.37113883e-8;
  angle = select(swap, x.k(kPi / 2) - (angle - halfLow), angle);
  V negative = x.asInt() < x.asInt().ki(0);
  double piLow = wide ? 1.2246467991473532072e-16 : -8.74227766e-8;
  angle = select(negative, x.k(kPi) - (angle - piLow), angle);
  angle = copySign(angle, y);
  return select(isNan(x) | isNan(y), kNan, angle);
}

V remainder(V x, V y) {
  V quotient = trunc(x / y);
  V magnitude = abs(y);
  V r = fma(-quotient, y, x);
  // The quotient may be off by one, since x / y was rounded.
  V ax = abs(x);
  V ar = select(x.asInt() < x.asInt().ki(0), -r, r);
  ar = select(ar < 0.0, ar + magnitude, ar);
  ar = select(ar >= magnitude, ar - magnitude, ar);
  V result = copySign(ar, x);
  if (!x.c->target.fma) return callPerLane("fmod", {x, y});
  double most = x.isF64() ? 0x1p51 : 0x1p22;
  // Small divisors make the product inexact; everything unusual goes the slow way too.
  double tiny = x.isF64() ? 0x1p-900 : 0x1p-80;
  V usual = (abs(quotient) < most) & (magnitude > tiny) & (magnitude < kInf) & (ax < kInf);
  return unlessAny(~usual, result, [&] { return callSeldom("fmod", {x, y}); });
}

}  // namespace isthmus::codegen
