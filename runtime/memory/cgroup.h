// What the process's control group (version 1 or 2) lets it use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace isthmus {

struct CgroupLimits {
  std::optional<double> cpus;  // CPU time per wall time, from the quota
  std::optional<int64_t> memoryBytes;
};

// The tightest limits of the group named in the file `selfCgroup` and of its ancestors, below the
// mount point `root`. What cannot be read is no limit.
CgroupLimits readCgroupLimits(const std::string& selfCgroup = "/proc/self/cgroup",
                              const std::string& root = "/sys/fs/cgroup");

}  // namespace isthmus
