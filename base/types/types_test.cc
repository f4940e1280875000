// Element sizes and names, and the bounds of array types.
#include "isthmus/types.h"

#include <gtest/gtest.h>

namespace isthmus {
namespace {

TEST(Types, SizesAreThoseOfTheInMemoryForm) {
  EXPECT_EQ(elementSizeBytes(ElementType::kPred), 1u);
  EXPECT_EQ(elementSizeBytes(ElementType::kS4), 1u);
  EXPECT_EQ(elementSizeBytes(ElementType::kBF16), 2u);
  EXPECT_EQ(elementSizeBytes(ElementType::kF32), 4u);
  EXPECT_EQ(elementSizeBytes(ElementType::kC64), 8u);
  EXPECT_EQ(elementSizeBytes(ElementType::kC128), 16u);
  EXPECT_EQ(elementSizeBytes(ElementType::kToken), 0u);
  EXPECT_EQ(elementSizeBytes(static_cast<ElementType>(77)), 0u);
}

TEST(Types, BitsAreThoseThatTellValuesApart) {
  EXPECT_EQ(elementBits(ElementType::kPred), 1);
  EXPECT_EQ(elementBits(ElementType::kS1), 1);
  EXPECT_EQ(elementBits(ElementType::kU2), 2);
  EXPECT_EQ(elementBits(ElementType::kS4), 4);
  EXPECT_EQ(elementBits(ElementType::kF4E2M1FN), 4);
  EXPECT_EQ(elementBits(ElementType::kF6E3M2FN), 6);
  EXPECT_EQ(elementBits(ElementType::kF8E8M0FNU), 8);
  EXPECT_EQ(elementBits(ElementType::kBF16), 16);
  EXPECT_EQ(elementBits(ElementType::kC128), 128);
  EXPECT_EQ(elementBits(ElementType::kToken), 0);
  EXPECT_EQ(elementBits(static_cast<ElementType>(77)), 0);
}

// A type of a byte may use a part of it; larger ones use all of theirs.
TEST(Types, BitsFillTheBytes) {
  for (int i = 0; i <= static_cast<int>(ElementType::kF6E3M2FN); ++i) {
    const auto type = static_cast<ElementType>(i);
    const int bytes = static_cast<int>(elementSizeBytes(type)), bits = elementBits(type);
    if (bytes == 1) {
      EXPECT_TRUE(bits >= 1 && bits <= 8) << elementTypeName(type);
    } else {
      EXPECT_EQ(bits, 8 * bytes) << elementTypeName(type);
    }
  }
}

TEST(Types, NamesAreStableHlos) {
  EXPECT_EQ(elementTypeName(ElementType::kPred), "i1");
  EXPECT_EQ(elementTypeName(ElementType::kS8), "i8");
  EXPECT_EQ(elementTypeName(ElementType::kU64), "ui64");
  EXPECT_EQ(elementTypeName(ElementType::kC128), "complex<f64>");
  EXPECT_EQ(elementTypeName(ElementType::kF8E8M0FNU), "f8E8M0FNU");
  EXPECT_EQ(elementTypeName(ElementType::kU1), "ui1");
  EXPECT_EQ(elementTypeName(ElementType::kF6E3M2FN), "f6E3M2FN");
}

TEST(Types, ArrayTypePrintsAndCounts) {
  ArrayType type{ElementType::kF32, {2, 3}};
  EXPECT_EQ(type.toString(), "tensor<2x3xf32>");
  EXPECT_EQ(type.numElements(), 6);
  EXPECT_EQ(type.sizeBytes(), 24u);
  EXPECT_EQ((ArrayType{ElementType::kS64, {}}).sizeBytes(), 8u);
  EXPECT_EQ((ArrayType{ElementType::kS64, {}}).toString(), "tensor<i64>");
}

TEST(Types, ValidityIsCheckedWithoutOverflow) {
  EXPECT_TRUE((ArrayType{ElementType::kF32, {0, int64_t{1} << 62, 8}}).isValid());
  EXPECT_FALSE((ArrayType{ElementType::kF32, {int64_t{1} << 62, 8}}).isValid());
  EXPECT_FALSE((ArrayType{ElementType::kF32, {int64_t{1} << 32, int64_t{1} << 32}}).isValid());
  EXPECT_FALSE((ArrayType{ElementType::kF32, {-1}}).isValid());
  EXPECT_TRUE((ArrayType{ElementType::kS8, {int64_t{1} << 61}}).isValid());
  // An invalid element type has no size, but its element count is bounded all the same.
  EXPECT_FALSE((ArrayType{ElementType::kToken, {int64_t{1} << 62, 4}}).isValid());
}

TEST(Types, ZeroSizedArrayWithHugeDimensionsHasNoBytes) {
  ArrayType type{ElementType::kF32, {int64_t{1} << 62, 8, 0}};
  ASSERT_TRUE(type.isValid());
  EXPECT_EQ(type.numElements(), 0);
  EXPECT_EQ(type.sizeBytes(), 0u);
}

TEST(ArrayType, LayoutsAreCheckedAndCanonical) {
  ArrayType type{ElementType::kF32, {2, 3, 5}};
  for (std::vector<int64_t> bad : {std::vector<int64_t>{0, 1}, {0, 0, 1}, {0, 1, 3}, {-1, 0, 1}}) {
    EXPECT_FALSE(type.setMinorToMajor(bad));
  }
  ASSERT_TRUE(type.setMinorToMajor({2, 1, 0}));
  EXPECT_EQ(type, (ArrayType{ElementType::kF32, {2, 3, 5}}));
  ASSERT_TRUE(type.setMinorToMajor({1, 2, 0}));
  EXPECT_NE(type, (ArrayType{ElementType::kF32, {2, 3, 5}}));
  EXPECT_EQ(type.toString(), "tensor<2x3x5xf32, {1,2,0}>");
  EXPECT_EQ(type.rowMajorOfMemory(), (ArrayType{ElementType::kF32, {2, 5, 3}}));
}

}  // namespace
}  // namespace isthmus
