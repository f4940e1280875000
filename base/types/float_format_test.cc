// Small floats: known codes, and the encoder against a search for the nearest value.
#include "base/types/float_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/types/float_format_testing.h"

namespace isthmus {
namespace {

// The codes of a format.
int codesOf(ElementType type) { return 1 << elementBits(type); }

// Largest and smallest positive numbers as published with each format.
TEST(FloatFormat, PublishedExtremes) {
  auto decode = [](ElementType type, int bits) { return decodeFloat(*floatFormatOf(type), bits); };
  EXPECT_EQ(decode(ElementType::kF8E5M2, 0x7b), 57344.0f);
  EXPECT_EQ(decode(ElementType::kF8E5M2, 0x01), std::ldexp(1.0f, -16));
  EXPECT_TRUE(std::isinf(decode(ElementType::kF8E5M2, 0x7c)));
  EXPECT_EQ(decode(ElementType::kF8E4M3FN, 0x7e), 448.0f);
  EXPECT_TRUE(std::isnan(decode(ElementType::kF8E4M3FN, 0x7f)));
  EXPECT_EQ(decode(ElementType::kF8E4M3, 0x77), 240.0f);
  EXPECT_EQ(decode(ElementType::kF8E3M4, 0x6f), 15.5f);
  EXPECT_EQ(decode(ElementType::kF8E4M3FNUZ, 0x7f), 240.0f);
  EXPECT_TRUE(std::isnan(decode(ElementType::kF8E4M3FNUZ, 0x80)));
  EXPECT_EQ(decode(ElementType::kF8E4M3B11FNUZ, 0x7f), 30.0f);
  EXPECT_EQ(decode(ElementType::kF8E5M2FNUZ, 0x7f), 57344.0f);
  EXPECT_EQ(decode(ElementType::kF8E8M0FNU, 127), 1.0f);
  EXPECT_EQ(decode(ElementType::kF8E8M0FNU, 0), std::ldexp(1.0f, -127));
  EXPECT_TRUE(std::isnan(decode(ElementType::kF8E8M0FNU, 255)));
  EXPECT_EQ(decode(ElementType::kF6E2M3FN, 0x1f), 7.5f);
  EXPECT_EQ(decode(ElementType::kF6E3M2FN, 0x1f), 28.0f);
  EXPECT_EQ(decode(ElementType::kF4E2M1FN, 0x7), 6.0f);
  EXPECT_EQ(decode(ElementType::kF4E2M1FN, 0x9), -0.5f);
}

TEST(FloatFormat, KnownCodes) {
  for (const EncodedFloat& known : encodedFloats()) {
    for (size_t i = 0; i < std::size(kOneByteFloats); ++i) {
      EXPECT_EQ(encodeFloat(*floatFormatOf(kOneByteFloats[i]), known.value), known.codes[i])
          << elementTypeName(kOneByteFloats[i]) << " " << known.value;
    }
  }
}

TEST(FloatFormat, OnlyThoseOfAtMostTwoBytes) {
  for (int i = -1; i <= 40; ++i) {
    const auto type = static_cast<ElementType>(i);
    const bool isFloat = elementTypeName(type).find('f') < 2 && elementSizeBytes(type) <= 2;
    EXPECT_EQ(floatFormatOf(type) != nullptr, isFloat) << elementTypeName(type);
    if (!isFloat) continue;
    const FloatFormat& format = *floatFormatOf(type);
    const int signBits = format.special == SpecialValues::kExponentOnly ? 0 : 1;
    EXPECT_EQ(signBits + format.exponentBits + format.mantissaBits, elementBits(type));
  }
}

// A number of f64 is rounded once: by way of f32 this one would become a tie, and then even.
TEST(FloatFormat, RoundsNumbersOfF64Once) {
  const FloatFormat& format = *floatFormatOf(ElementType::kF8E4M3FN);
  EXPECT_EQ(encodeFloat(format, 17 + 0x1p-40), 0x59);
  EXPECT_EQ(encodeFloat(format, 17 - 0x1p-40), 0x58);
  EXPECT_EQ(encodeFloat(format, 1e300), 0x7f);
}

TEST(FloatFormat, EveryValueSurvives) {
  std::vector<ElementType> all(std::begin(kOneByteFloats), std::end(kOneByteFloats));
  all.insert(all.end(), {ElementType::kF16, ElementType::kBF16});
  for (ElementType type : all) {
    const FloatFormat& format = *floatFormatOf(type);
    for (int bits = 0; bits < codesOf(type); ++bits) {
      float value = decodeFloat(format, bits);
      uint16_t back = encodeFloat(format, value);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(decodeFloat(format, back))) << elementTypeName(type);
      } else {
        EXPECT_EQ(back, bits) << elementTypeName(type) << " " << value;
      }
    }
  }
}

TEST(FloatFormat, RoundsToTheNearest) {
  std::mt19937 random(3);
  for (ElementType type : kOneByteFloats) {
    const FloatFormat& format = *floatFormatOf(type);
    for (int round = 0; round < 3000; ++round) {
      bool isUnsigned = format.special == SpecialValues::kExponentOnly;
      float value = std::ldexp(static_cast<float>(1 + random() % 4096), int(random() % 40) - 28);
      if (!isUnsigned && random() % 2 == 0) value = -value;
      float got = decodeFloat(format, encodeFloat(format, value));
      double best = std::numeric_limits<double>::infinity();
      float largest = 0;
      for (int bits = 0; bits < codesOf(type); ++bits) {
        float candidate = decodeFloat(format, bits);
        if (!std::isfinite(candidate)) continue;
        best = std::min(best, std::fabs(double{candidate} - value));
        largest = std::max(largest, candidate);
      }
      if (std::fabs(value) > largest) continue;
      EXPECT_EQ(std::fabs(double{got} - value), best) << elementTypeName(type) << " " << value;
    }
  }
}

TEST(FloatFormat, TiesAndOverflow) {
  auto encode = [](ElementType type, float value) {
    return encodeFloat(*floatFormatOf(type), value);
  };
  EXPECT_EQ(encode(ElementType::kF8E4M3FN, 17.0f), 0x58);  // between 16 and 18: to even, 16
  EXPECT_EQ(encode(ElementType::kF8E4M3FN, 19.0f), 0x5a);  // between 18 and 20: 20
  EXPECT_EQ(encode(ElementType::kF8E4M3FN, 1e6f), 0x7f);
  EXPECT_EQ(encode(ElementType::kF8E5M2, -1e6f), 0xfc);
  EXPECT_EQ(encode(ElementType::kF8E4M3FNUZ, 1e6f), 0x80);
  EXPECT_EQ(encode(ElementType::kF8E4M3FNUZ, -0.0f), 0x00);
  EXPECT_EQ(encode(ElementType::kF4E2M1FN, 1e6f), 0x7);
  EXPECT_EQ(encode(ElementType::kF4E2M1FN, -1e6f), 0xf);
  EXPECT_EQ(encode(ElementType::kF8E8M0FNU, 1.5f), 128);  // between 1 and 2: up, as of all powers
  EXPECT_EQ(encode(ElementType::kF8E8M0FNU, 3.0f), 129);
  EXPECT_EQ(encode(ElementType::kF8E8M0FNU, 2.9f), 128);
}

}  // namespace
}  // namespace isthmus
