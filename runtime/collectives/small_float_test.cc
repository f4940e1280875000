// Small floats: known values, and the encoder against a search for the nearest value.
#include "runtime/collectives/small_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace isthmus {
namespace {

const ElementType kSmall[] = {
    ElementType::kF8E5M2,     ElementType::kF8E4M3,        ElementType::kF8E3M4,
    ElementType::kF8E4M3FN,   ElementType::kF8E4M3B11FNUZ, ElementType::kF8E5M2FNUZ,
    ElementType::kF8E4M3FNUZ, ElementType::kF8E8M0FNU,     ElementType::kF6E2M3FN,
    ElementType::kF6E3M2FN,   ElementType::kF4E2M1FN};

// Largest and smallest positive numbers as published with each format.
TEST(SmallFloat, PublishedExtremes) {
  auto decode = [](ElementType type, int bits) {
    return decodeSmallFloat(*smallFloatFormat(type), static_cast<uint8_t>(bits));
  };
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

TEST(SmallFloat, EveryValueSurvives) {
  for (ElementType type : kSmall) {
    const SmallFloatFormat& format = *smallFloatFormat(type);
    for (int bits = 0; bits < 1 << elementBits(type); ++bits) {
      float value = decodeSmallFloat(format, static_cast<uint8_t>(bits));
      uint8_t back = encodeSmallFloat(format, value);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(decodeSmallFloat(format, back))) << elementTypeName(type);
      } else {
        EXPECT_EQ(back, bits) << elementTypeName(type) << " " << value;
      }
    }
  }
}

TEST(SmallFloat, RoundsToTheNearest) {
  std::mt19937 random(3);
  for (ElementType type : kSmall) {
    const SmallFloatFormat& format = *smallFloatFormat(type);
    for (int round = 0; round < 3000; ++round) {
      bool isUnsigned = format.special == SpecialValues::kExponentOnly;
      float value = std::ldexp(static_cast<float>(1 + random() % 4096), int(random() % 40) - 28);
      if (!isUnsigned && random() % 2 == 0) value = -value;
      float got = decodeSmallFloat(format, encodeSmallFloat(format, value));
      double best = std::numeric_limits<double>::infinity();
      float largest = 0;
      for (int bits = 0; bits < 1 << elementBits(type); ++bits) {
        float candidate = decodeSmallFloat(format, static_cast<uint8_t>(bits));
        if (!std::isfinite(candidate)) continue;
        best = std::min(best, std::fabs(double{candidate} - value));
        largest = std::max(largest, candidate);
      }
      if (std::fabs(value) > largest) continue;
      EXPECT_EQ(std::fabs(double{got} - value), best) << elementTypeName(type) << " " << value;
    }
  }
}

TEST(SmallFloat, TiesAndOverflow) {
  auto encode = [](ElementType type, float value) {
    return encodeSmallFloat(*smallFloatFormat(type), value);
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
