// Divisions that C++'s operators do not do. The compiler has LLVM's (llvm/Support/MathExtras.h).
#pragma once

#include <cstdint>

namespace isthmus {

// Of a >= 0 and b > 0, whose sum fits.
constexpr int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The smallest multiple of b that is at least a, as above.
constexpr int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

// Towards minus infinity; b > 0.
constexpr int64_t floorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace isthmus
