// Symbolic index arithmetic against plain integers.
#include "compiler/codegen/access/index.h"

#include <gtest/gtest.h>

namespace isthmus::codegen {
namespace {

int64_t evaluate(const IndexExpr& expr, const Symbol* a, int64_t x, const Symbol* b, int64_t y,
                 int64_t lane) {
  int64_t sum = expr.constant + expr.laneStride * lane;
  for (const IndexExpr::Term& term : expr.terms) {
    sum += term.coefficient * (term.symbol == a ? x : y);
  }
  return sum;
}

TEST(Index, division_agrees_with_integers_wherever_it_succeeds) {
  Symbol i, j;
  i.id = 0, i.lo = 0, i.hi = 5;
  j.id = 1, j.lo = 0, j.hi = 24, j.multipleOf = 8;
  int succeeded = 0;
  for (int64_t ci : {1, 16, 32, 33, 64}) {
    for (int64_t cj : {1, 2, 32}) {
      for (int64_t constant : {0, 1, 7, 32, 40}) {
        for (int64_t divisor : {1, 2, 16, 32, 64}) {
          IndexExpr expr = add(add(scale(IndexExpr::of(&i), ci), scale(IndexExpr::of(&j), cj)),
                               IndexExpr(constant));
          expr.laneStride = cj;
          IndexExpr quotient, remainder;
          if (!divideSymbolically(expr, divisor, 8, &quotient, &remainder)) continue;
          ++succeeded;
          for (int64_t x = 0; x <= 5; ++x) {
            for (int64_t y = 0; y <= 24; y += 8) {
              for (int64_t lane = 0; lane < 8; ++lane) {
                int64_t value = evaluate(expr, &i, x, &j, y, lane);
                ASSERT_EQ(evaluate(quotient, &i, x, &j, y, lane), value / divisor);
                ASSERT_EQ(evaluate(remainder, &i, x, &j, y, lane), value % divisor);
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(succeeded, 50);
}

TEST(Index, terms_that_cancel_vanish) {
  Symbol i;
  IndexExpr expr = add(IndexExpr::of(&i), scale(IndexExpr::of(&i), -1));
  EXPECT_TRUE(expr.isConstant());
  EXPECT_EQ(expr.constant, 0);
}

TEST(Index, ranges_cover_lanes) {
  Symbol i;
  i.lo = 2, i.hi = 10;
  IndexExpr expr = scale(IndexExpr::of(&i), -3);
  expr.laneStride = 2;
  Range range = rangeOf(expr, 8);
  EXPECT_EQ(range.lo, -30);
  EXPECT_EQ(range.hi, -6 + 14);
}

}  // namespace
}  // namespace isthmus::codegen
