// Limits of control groups, read from made-up trees of files.
#include "runtime/memory/cgroup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace isthmus {
namespace {

class CgroupTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/cgroupXXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  CgroupLimits read() { return readCgroupLimits(root_ / "self", root_ / "fs"); }

  std::filesystem::path root_;
};

TEST_F(CgroupTest, Version2TakesTheTightestAncestor) {
  write("self", "0::/pod/box\n");
  write("fs/pod/box/cpu.max", "max 100000\n");
  write("fs/pod/cpu.max", "250000 100000\n");
  write("fs/pod/box/memory.max", "1000000\n");
  write("fs/pod/memory.max", "max\n");
  CgroupLimits limits = read();
  EXPECT_EQ(limits.cpus, 2.5);
  EXPECT_EQ(limits.memoryBytes, 1000000);
}

TEST_F(CgroupTest, Version2InAContainerReadsTheMountPoint) {
  write("self", "0::/not/there\n");
  write("fs/cpu.max", "50000 100000\n");
  EXPECT_EQ(read().cpus, 0.5);
  EXPECT_FALSE(read().memoryBytes.has_value());
}

TEST_F(CgroupTest, Version1) {
  write("self", "4:memory:/a\n3:cpu,cpuacct:/a\n1:name=systemd:/a\n");
  write("fs/cpu,cpuacct/a/cpu.cfs_quota_us", "300000\n");
  write("fs/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  write("fs/memory/a/memory.limit_in_bytes", "123456789\n");
  CgroupLimits limits = read();
  EXPECT_EQ(limits.cpus, 3.0);
  EXPECT_EQ(limits.memoryBytes, 123456789);
}

TEST_F(CgroupTest, UnlimitedAndMissingAreNoLimit) {
  write("self", "4:cpu:/a\ngarbage\n");
  write("fs/cpu/a/cpu.cfs_quota_us", "-1\n");
  write("fs/cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(read().cpus.has_value());
  std::filesystem::remove(root_ / "self");
  EXPECT_FALSE(read().cpus.has_value());
}

}  // namespace
}  // namespace isthmus
