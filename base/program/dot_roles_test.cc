#include "base/program/dot_roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace isthmus {

bool operator==(const DotDimension& a, const DotDimension& b) {
  return a.size == b.size && a.lhsStride == b.lhsStride && a.rhsStride == b.rhsStride;
}

namespace {

using ::testing::ElementsAre;
using Numbers = std::vector<int64_t>;

TEST(DotRoles, neighbours_of_a_role_are_one_dimension) {
  // lhs[2, 3, 4, 5] and rhs[2, 4, 5, 6] by the first of both and the sums over 4 and 5.
  const DotRoles roles = dotRolesOf({Numbers{2, 3, 4, 5}, Numbers{60, 20, 5, 1}},
                                    {Numbers{2, 4, 5, 6}, Numbers{120, 30, 6, 1}},
                                    {Numbers{0}, Numbers{0}, Numbers{3, 2}, Numbers{2, 1}});
  EXPECT_THAT(roles.batch, ElementsAre(DotDimension{2, 60, 120}));
  EXPECT_THAT(roles.rows, ElementsAre(DotDimension{3, 20, 0}));
  EXPECT_THAT(roles.columns, ElementsAre(DotDimension{6, 0, 1}));
  // In the order in which the lhs has them, whatever theirs is.
  EXPECT_THAT(roles.contracting, ElementsAre(DotDimension{20, 1, 6}));
}

TEST(DotRoles, dimensions_that_one_operand_has_apart_stay_two) {
  // The rhs has the sums the other way round.
  const DotRoles roles = dotRolesOf({Numbers{4, 5}, Numbers{5, 1}}, {Numbers{5, 4}, Numbers{4, 1}},
                                    {Numbers{}, Numbers{}, Numbers{0, 1}, Numbers{1, 0}});
  EXPECT_THAT(roles.contracting, ElementsAre(DotDimension{4, 5, 1}, DotDimension{5, 1, 4}));
  EXPECT_TRUE(roles.batch.empty() && roles.rows.empty() && roles.columns.empty());
}

TEST(DotRoles, dimensions_of_one_element_are_left_out) {
  DotDimensions dims;
  appendDimension(dims, {1, 7, 7});
  EXPECT_TRUE(dims.empty());
  appendDimension(dims, {3, 8, 0});
  appendDimension(dims, {1, 5, 5});
  appendDimension(dims, {8, 1, 0});
  EXPECT_THAT(dims, ElementsAre(DotDimension{24, 1, 0}));
}

}  // namespace
}  // namespace isthmus
