// Which lines are printed, and how they look.
#include "isthmus/log.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace isthmus {
namespace {

[[maybe_unused]] const bool kEnvironmentSet = setenv("ISTHMUS_LOG", "info", 1) == 0;

TEST(Log, PrintsFromTheLevelOfTheFlagOn) {
  testing::internal::CaptureStderr();
  log(LogLevel::kDebug, "not this");
  log(LogLevel::kInfo, "compiled ", 3, " kernels");
  log(LogLevel::kError, "no");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "isthmus info: compiled 3 kernels\nisthmus error: no\n");
  EXPECT_FALSE(logs(LogLevel::kDebug));
  EXPECT_TRUE(logs(LogLevel::kWarning));
}

}  // namespace
}  // namespace isthmus
