// What a device is to frameworks, as plain data.
#pragma once

#include <string>
#include <vector>

#include "isthmus/program_info.h"

namespace isthmus {

// A kind of memory that a device can reach.
struct MemoryDescription {
  std::string kind;  // "device", "pinned_host", "unpinned_host"
  bool isDefault = false;
};

// A device as frameworks see it, in this process or another.
struct DeviceDescription {
  int id = 0;  // unique among all processes; 0 … n-1
  int processIndex = 0;
  int localHardwareId = 0;
  std::string kind;         // "cpu"
  std::string debugString;  // "IsthmusCpuDevice(id=0)"
  AttributeMap attributes;
  std::vector<MemoryDescription> memories;
};

}  // namespace isthmus
