// Roles of a convolution's dimensions, worked out by hand.
#include "base/program/conv_roles.h"

#include <gtest/gtest.h>

namespace isthmus {
namespace {

// Input [batch 2, height 5, width 7, features 3], kernel [height 2, width 3, 3, 4], output
// [features 4, batch 2, height, width].
TEST(ConvRoles, SizesAndStridesByRole) {
  const int64_t input[] = {2, 5, 7, 3}, kernel[] = {2, 3, 3, 4}, output[] = {4, 2, 4, 6};
  int64_t inputStrides[4], kernelStrides[4], outputStrides[4];
  setRowMajorStrides(input, inputStrides);
  setRowMajorStrides(kernel, kernelStrides);
  setRowMajorStrides(output, outputStrides);
  EXPECT_EQ(std::vector<int64_t>(inputStrides, inputStrides + 4),
            (std::vector<int64_t>{105, 21, 3, 1}));

  const int64_t inner[] = {1, 2}, outer[] = {0, 1}, last[] = {2, 3}, strides[] = {1, 2};
  const bool reversal[] = {false, true};
  ConvNumbers numbers{0, 3, inner, 2, 3, outer, 1, 0, last, strides, {0, 0, 4, 5}, {}, {}, {}};
  numbers.windowReversal = reversal;
  const ConvRoles roles =
      convRolesOf({input, inputStrides}, {kernel, kernelStrides}, {output, outputStrides}, numbers);
  EXPECT_EQ(roles.batch, 2);
  EXPECT_EQ(roles.inputFeatures, 3);
  EXPECT_EQ(roles.outputFeatures, 4);
  EXPECT_EQ(roles.inputBatchStride, 105);
  EXPECT_EQ(roles.inputFeatureStride, 1);
  EXPECT_EQ(roles.kernelInputStride, 4);
  EXPECT_EQ(roles.kernelOutputStride, 1);
  EXPECT_EQ(roles.outputBatchStride, 24);
  EXPECT_EQ(roles.outputFeatureStride, 48);
  ASSERT_EQ(roles.spatial.size(), 2u);
  const ConvSpatialRole& width = roles.spatial[1];
  EXPECT_EQ(width.inputSize, 7);
  EXPECT_EQ(width.kernelSize, 3);
  EXPECT_EQ(width.outputSize, 6);
  EXPECT_EQ(width.inputStride, 3);
  EXPECT_EQ(width.kernelStride, 12);
  EXPECT_EQ(width.outputStride, 1);
  EXPECT_EQ(width.windowStride, 2);
  EXPECT_EQ(width.padLow, 4);
  EXPECT_EQ(width.padHigh, 5);
  EXPECT_EQ(width.lhsDilation, 1);
  EXPECT_EQ(width.isReversed, 1);
  EXPECT_EQ(roles.spatial[0].windowStride, 1);
  EXPECT_EQ(roles.spatial[0].isReversed, 0);
}

}  // namespace
}  // namespace isthmus
