// Who gets which context.
#include "compiler/pipeline/context_pool.h"

#include <gtest/gtest.h>

namespace isthmus {
namespace {

// A mark by which to know a context again: addresses of destroyed ones may come back.
void mark(const ContextPool::Lease& lease) { (*lease).allowUnregisteredDialects(true); }
bool isMarked(const ContextPool::Lease& lease) { return (*lease).allowsUnregisteredDialects(); }

TEST(ContextPool, a_context_is_used_again_but_not_by_two) {
  ContextPool pool;
  {
    ContextPool::Lease lease = pool.take(100);
    EXPECT_NE((*lease).getLoadedDialect("stablehlo"), nullptr);
    mark(lease);
    EXPECT_FALSE(isMarked(pool.take(100)));
  }
  ContextPool::Lease lease = pool.take(100);
  EXPECT_TRUE(isMarked(lease));
  EXPECT_FALSE(isMarked(pool.take(100)));
}

TEST(ContextPool, the_context_of_a_large_program_goes_with_it) {
  ContextPool pool;
  mark(pool.take(ContextPool::kMaxProgramBytes + 1));
  EXPECT_FALSE(isMarked(pool.take(100)));
}

// What programs leave in a context does not add up for ever.
TEST(ContextPool, a_context_serves_so_many_programs) {
  ContextPool pool;
  mark(pool.take(1));
  for (int i = 1; i < ContextPool::kMaxPrograms; ++i) ASSERT_TRUE(isMarked(pool.take(1))) << i;
  EXPECT_FALSE(isMarked(pool.take(1)));
}

}  // namespace
}  // namespace isthmus
