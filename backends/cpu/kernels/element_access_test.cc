// Conversions against values worked out by hand and against exhaustive round trips.
#include "backends/cpu/kernels/element_access.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/types/float_format_testing.h"

namespace isthmus::cpu {
namespace {

using E = ElementType;

TEST(ElementAccessTest, SmallFloatsDecode) {
  EXPECT_EQ(smallFloatTable(E::kF8E4M3FN)[0x7E], 448.0f);
  EXPECT_TRUE(std::isnan(smallFloatTable(E::kF8E4M3FN)[0x7F]));
  EXPECT_EQ(smallFloatTable(E::kF8E4M3FN)[0x01], std::ldexp(1.0f, -9));
  EXPECT_EQ(smallFloatTable(E::kF8E5M2)[0x7B], 57344.0f);
  EXPECT_TRUE(std::isinf(smallFloatTable(E::kF8E5M2)[0x7C]));
  EXPECT_EQ(smallFloatTable(E::kF8E4M3FNUZ)[0x7F], 240.0f);
  EXPECT_TRUE(std::isnan(smallFloatTable(E::kF8E4M3FNUZ)[0x80]));
  EXPECT_EQ(smallFloatTable(E::kF8E5M2FNUZ)[0x7F], 57344.0f);
  EXPECT_EQ(smallFloatTable(E::kF8E4M3B11FNUZ)[0x7F], 30.0f);
  EXPECT_EQ(smallFloatTable(E::kF8E4M3)[0x77], 240.0f);
  EXPECT_EQ(smallFloatTable(E::kF8E3M4)[0x6F], 15.5f);
  EXPECT_EQ(smallFloatTable(E::kF4E2M1FN)[0x7], 6.0f);
  EXPECT_EQ(smallFloatTable(E::kF6E2M3FN)[0x1F], 7.5f);
  EXPECT_EQ(smallFloatTable(E::kF6E3M2FN)[0x1F], 28.0f);
  EXPECT_EQ(smallFloatTable(E::kF8E8M0FNU)[127], 1.0f);
}

TEST(ElementAccessTest, SmallFloatsRoundTripAndRoundToNearestEven) {
  for (E type : {E::kF8E5M2, E::kF8E4M3FN, E::kF8E4M3B11FNUZ, E::kF8E5M2FNUZ, E::kF8E4M3FNUZ,
                 E::kF8E4M3, E::kF8E3M4, E::kF8E8M0FNU}) {
    const float* table = smallFloatTable(type);
    for (int code = 0; code < 256; ++code) {
      if (std::isnan(table[code])) {
        EXPECT_TRUE(std::isnan(table[encodeSmallFloat(type, table[code])]));
        continue;
      }
      EXPECT_EQ(encodeSmallFloat(type, table[code]), code) << int(type);
      if (code + 1 < 128 && std::isfinite(table[code + 1]) && type != E::kF8E8M0FNU) {
        float middle = (table[code] + table[code + 1]) / 2;
        EXPECT_EQ(encodeSmallFloat(type, middle), code + (code & 1)) << int(type) << " " << code;
        float above = std::nextafter(middle, INFINITY);
        EXPECT_EQ(encodeSmallFloat(type, above), code + 1) << int(type) << " " << code;
      }
    }
  }
  EXPECT_EQ(encodeSmallFloat(E::kF8E5M2, 1e9f), 0x7C);
  EXPECT_EQ(encodeSmallFloat(E::kF8E4M3FN, 1e9f), 0x7F);
  EXPECT_EQ(encodeSmallFloat(E::kF8E4M3FNUZ, 1e9f), 0x80);
  EXPECT_EQ(encodeSmallFloat(E::kF8E4M3FNUZ, -0.0f), 0x00);
  EXPECT_EQ(encodeSmallFloat(E::kF4E2M1FN, 100.0f), 0x7);
}

TEST(ElementAccessTest, StoresKnownCodes) {
  for (const EncodedFloat& known : encodedFloats()) {
    for (size_t i = 0; i < std::size(kOneByteFloats); ++i) {
      const E type = kOneByteFloats[i];
      uint8_t single = 0x5a, wide = 0x5a;
      storeElement<float>(&single, type, 0, known.value);
      storeElement<double>(&wide, type, 0, known.value);
      EXPECT_EQ(single, known.codes[i]) << elementTypeName(type) << " " << known.value;
      EXPECT_EQ(wide, known.codes[i]) << elementTypeName(type) << " " << known.value;
    }
  }
}

// By way of f32 it would become a tie between 16 and 18.
TEST(ElementAccessTest, NumbersOfF64RoundOnce) {
  uint8_t code = 0;
  storeElement<double>(&code, E::kF8E4M3FN, 0, 17 + 0x1p-40);
  EXPECT_EQ(code, 0x59);
}

TEST(ElementAccessTest, HalfMatchesHardware) {
  for (uint32_t code = 0; code < 65536; ++code) {
    _Float16 half;
    uint16_t bits = static_cast<uint16_t>(code);
    __builtin_memcpy(&half, &bits, 2);
    float expected = static_cast<float>(half), got = halfToFloat(bits);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(got));
      continue;
    }
    ASSERT_EQ(got, expected) << code;
    ASSERT_EQ(floatToHalf(got), bits) << code;
    float between = std::nextafter(expected, 1e9f) + std::ldexp(std::fabs(expected), -11);
    _Float16 rounded = static_cast<_Float16>(between);
    uint16_t roundedBits;
    __builtin_memcpy(&roundedBits, &rounded, 2);
    ASSERT_EQ(floatToHalf(between), roundedBits) << between;
  }
  EXPECT_EQ(floatToHalf(65519.996f), 0x7BFF);
  EXPECT_EQ(floatToHalf(65520.0f), 0x7C00);
}

TEST(ElementAccessTest, Bfloat16RoundsToNearestEven) {
  EXPECT_EQ(floatToBfloat16(1.0f), 0x3F80);
  EXPECT_EQ(floatToBfloat16(1.00390625f), 0x3F80);  // tie
  EXPECT_EQ(floatToBfloat16(1.01171875f), 0x3F82);  // tie
  EXPECT_EQ(floatToBfloat16(INFINITY), 0x7F80);
  EXPECT_TRUE(std::isnan(bfloat16ToFloat(floatToBfloat16(NAN))));
}

TEST(ElementAccessTest, NarrowIntegersWrap) {
  int8_t value;
  storeElement<uint64_t>(&value, E::kS4, 0, 9);
  EXPECT_EQ(value, -7);
  storeElement<uint64_t>(&value, E::kU2, 0, 7);
  EXPECT_EQ(value, 3);
  EXPECT_EQ(loadElement<double>(&value, E::kS8, 0), 3.0);
}

}  // namespace
}  // namespace isthmus::cpu
