// Reads cpu.max and memory.max, or their version 1 counterparts.
#include "runtime/memory/cgroup.h"

#include <fstream>
#include <sstream>
#include <vector>

namespace isthmus {
namespace {

// The group's folders from itself up to the mount point. Inside a container the path of the host
// may not exist below the mount point, which itself is then the group.
std::vector<std::string> foldersUpwards(const std::string& mount, std::string path) {
  std::vector<std::string> folders;
  while (!path.empty() && path != "/") {
    folders.push_back(mount + path);
    path.erase(path.find_last_of('/'));
  }
  folders.push_back(mount);
  return folders;
}

template <typename T>
void tighten(std::optional<T>& limit, T value) {
  if (value > 0 && (!limit || value < *limit)) limit = value;
}

std::optional<int64_t> readNumber(const std::string& file) {
  std::ifstream in(file);
  int64_t value;
  if (in >> value) return value;
  return std::nullopt;
}

void readVersion2(const std::string& folder, CgroupLimits& limits) {
  std::ifstream cpu(folder + "/cpu.max");
  double quota, period;
  // An unlimited quota is the word "max", which does not parse.
  if (cpu >> quota >> period && period > 0) tighten(limits.cpus, quota / period);
  if (auto bytes = readNumber(folder + "/memory.max")) tighten(limits.memoryBytes, *bytes);
}

void readVersion1(const std::string& folder, bool isCpu, CgroupLimits& limits) {
  if (isCpu) {
    auto quota = readNumber(folder + "/cpu.cfs_quota_us");
    auto period = readNumber(folder + "/cpu.cfs_period_us");
    if (quota && period && *quota > 0 && *period > 0) {
      tighten(limits.cpus, static_cast<double>(*quota) / static_cast<double>(*period));
    }
  } else if (auto bytes = readNumber(folder + "/memory.limit_in_bytes")) {
    tighten(limits.memoryBytes, *bytes);
  }
}

}  // namespace

CgroupLimits readCgroupLimits(const std::string& selfCgroup, const std::string& root) {
  CgroupLimits limits;
  std::ifstream in(selfCgroup);
  // Lines are "hierarchy:controllers:path"; version 2 has hierarchy 0 and no controllers.
  for (std::string line; std::getline(in, line);) {
    size_t first = line.find(':');
    size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      for (const std::string& folder : foldersUpwards(root, path)) readVersion2(folder, limits);
      continue;
    }
    std::istringstream names(controllers);
    for (std::string name; std::getline(names, name, ',');) {
      if (name != "cpu" && name != "memory") continue;
      for (const std::string& mount : {root + "/" + name, root + "/" + controllers}) {
        for (const std::string& folder : foldersUpwards(mount, path)) {
          readVersion1(folder, name == "cpu", limits);
        }
      }
    }
  }
  return limits;
}

}  // namespace isthmus
