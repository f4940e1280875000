// The options of a client of devices that a driver has.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "isthmus/backend.h"
#include "isthmus/status.h"

namespace isthmus {

// An option that one backend has beside those of all.
struct OwnOption {
  std::string_view name;
  // kInvalidArgument, by the option's name, for a value that it cannot have.
  std::function<Status(const std::string& name, const AttributeValue& value)> set;
};
// Sets `text`, which outlives the option and keeps its value without it.
OwnOption textInto(std::string_view name, std::string& text);

struct DeviceOptions {
  int64_t count = 0;         // num_devices, else ISTHMUS_NUM_DEVICES; 0: as many as there are
  std::string platformName;  // platform_name; empty if it is not given
};

// kInvalidArgument, with the options that there are, for one that is neither in `own` nor
// num_devices, node_id, num_nodes or platform_name, and for a value that an option cannot have;
// kUnimplemented for several processes. `platform` is whose client it is, for messages.
StatusOr<DeviceOptions> readDeviceOptions(const AttributeMap& options, std::string_view platform,
                                          std::span<const OwnOption> own);

}  // namespace isthmus
