// The flag table is well formed, and values are parsed by type.
#include "isthmus/flags.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

namespace isthmus {
namespace {

// Before the first use of a flag, since values are read once.
[[maybe_unused]] const bool kEnvironmentSet = [] {
  setenv("ISTHMUS_NUM_DEVICES", "3", 1);
  setenv("ISTHMUS_COLLECTIVE_WARN_SECONDS", "soon", 1);
  setenv("ISTHMUS_CUDA_BLAS", "", 1);
  setenv("ISTHMUS_CUDA_LIBRARY", "", 1);
  unsetenv("ISTHMUS_CUDA_DNN");
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

TEST(Flags, NothingIsNoLibraryAndTheDefaultOfOthers) {
  EXPECT_EQ(flagString("ISTHMUS_CUDA_BLAS"), "");
  EXPECT_EQ(flagString("ISTHMUS_CUDA_DNN"), "libcudnn.so");
  EXPECT_EQ(flagString("ISTHMUS_CUDA_LIBRARY"), "libcuda.so.1");
}

// What a process that the other test starts says of a flag of its environment.
constexpr int kSeen = 42, kNotSeen = 43;
TEST(FlagsOfAChild, DISABLED_AreToldByTheExitCode) {
  _exit(flagInt("ISTHMUS_NUM_DEVICES") == 3 ? kSeen : kNotSeen);
}

// As in a setuid program: the user's variables would act with the rights of the file's owner.
TEST(Flags, HaveNoEffectInProcessesWithOtherRightsThanTheUsers) {
  if (getuid() != 0 || geteuid() != 0) GTEST_SKIP() << "needs to be root, to run as somebody else";
  for (bool isPrivileged : {false, true}) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      constexpr uid_t kNobody = 65534;
      if (isPrivileged && setresuid(kNobody, 0, 0) != 0) _exit(1);
      execl("/proc/self/exe", "flags_test", "--gtest_also_run_disabled_tests",
            "--gtest_filter=FlagsOfAChild.*", nullptr);
      _exit(1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), isPrivileged ? kNotSeen : kSeen);
  }
}

TEST(Flags, UnknownNameIsZero) {
  EXPECT_EQ(flagInt("ISTHMUS_NO_SUCH_FLAG"), 0);
  EXPECT_EQ(flagString("ISTHMUS_NO_SUCH_FLAG"), "");
}

}  // namespace
}  // namespace isthmus
