// The flag table is well formed, and values are parsed by type.
#include "isthmus/flags.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace isthmus {
namespace {

// Before the first use of a flag, since values are read once.
[[maybe_unused]] const bool kEnvironmentSet = [] {
  setenv("ISTHMUS_NUM_DEVICES", "3", 1);
  setenv("ISTHMUS_COLLECTIVE_WARN_SECONDS", "soon", 1);
  unsetenv("ISTHMUS_NUM_THREADS");
  return true;
}();

TEST(Flags, NamesAreUniqueAndDocumented) {
  std::set<std::string_view> names;
  for (const FlagInfo& flag : allFlags()) {
    EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
    EXPECT_TRUE(flag.doc.ends_with('.')) << flag.name;
  }
  EXPECT_GE(names.size(), 5u);
}

TEST(Flags, EnvironmentOverridesDefault) {
  EXPECT_TRUE(flagIsSet("ISTHMUS_NUM_DEVICES"));
  EXPECT_EQ(flagInt("ISTHMUS_NUM_DEVICES"), 3);
  EXPECT_FALSE(flagIsSet("ISTHMUS_NUM_THREADS"));
}

TEST(Flags, MalformedValueKeepsTheDefault) {
  EXPECT_FALSE(flagIsSet("ISTHMUS_COLLECTIVE_WARN_SECONDS"));
  EXPECT_EQ(flagInt("ISTHMUS_COLLECTIVE_WARN_SECONDS"), 20);
}

TEST(Flags, UnknownNameIsZero) {
  EXPECT_EQ(flagInt("ISTHMUS_NO_SUCH_FLAG"), 0);
  EXPECT_EQ(flagString("ISTHMUS_NO_SUCH_FLAG"), "");
}

}  // namespace
}  // namespace isthmus
