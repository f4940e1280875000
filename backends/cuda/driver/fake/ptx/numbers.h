// Floating-point types that the host does not have, and rounding as PTX names it.
#pragma once

#include <cstdint>

namespace isthmus::ptx {

// To nearest, even or away from zero; toward zero, down, up.
enum class Rounding : uint8_t { kNearest, kAway, kZero, kDown, kUp };

struct F16 {
  uint16_t bits;
};
struct Bf16 {
  uint16_t bits;
};

struct FloatFormat {
  int mantissaBits, exponentBits;
  bool hasInfinity;  // else the last number of all is NaN
};
constexpr FloatFormat kF16Format{10, 5, true}, kBf16Format{7, 8, true}, kTf32Format{10, 8, true},
    kE5m2Format{2, 5, true}, kE4m3Format{3, 4, false};

// With `saturates`, what is too large, infinity too, is the largest finite number. NaN is all ones
// without the sign.
uint32_t encode(double value, FloatFormat format, Rounding rounding, bool saturates = false);
double decode(uint32_t bits, FloatFormat format);

double toDouble(F16 value);
double toDouble(Bf16 value);
// To nearest even.
F16 toF16(double value);
Bf16 toBf16(double value);

// Rounded so that rounding once more to 50 bits or fewer gives what rounding the exact value would.
double oddSum(double a, double b);
double oddFma(double a, double b, double c);
double oddDouble(int64_t value);
double oddDouble(uint64_t value);

// Of a number to an integral one; NaN and infinities stay.
double toIntegral(double value, Rounding rounding);

}  // namespace isthmus::ptx
