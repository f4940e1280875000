#include "backends/shared/devices/device_options.h"

#include <algorithm>

#include "base/client_options.h"
#include "isthmus/flags.h"

namespace isthmus {

OwnOption textInto(std::string_view name, std::string& text) {
  return {name, [&text](const std::string& option, const AttributeValue& value) -> Status {
            ISTHMUS_ASSIGN_OR_RETURN(text, textOption(option, value));
            return {};
          }};
}

StatusOr<DeviceOptions> readDeviceOptions(const AttributeMap& options, std::string_view platform,
                                          std::span<const OwnOption> own) {
  DeviceOptions result{flagInt("ISTHMUS_NUM_DEVICES"), {}};
  bool hasCount = result.count != 0;
  int64_t node = 0;
  int64_t numNodes = 1;
  for (const auto& [name, value] : options) {
    if (name == "num_devices") {
      ISTHMUS_ASSIGN_OR_RETURN(result.count, integerOption(name, value));
      hasCount = true;
    } else if (name == "node_id") {
      ISTHMUS_ASSIGN_OR_RETURN(node, integerOption(name, value));
    } else if (name == "num_nodes") {
      ISTHMUS_ASSIGN_OR_RETURN(numNodes, integerOption(name, value));
    } else if (name == "platform_name") {
      ISTHMUS_ASSIGN_OR_RETURN(result.platformName, textOption(name, value));
    } else {
      auto option = std::ranges::find(own, std::string_view(name), &OwnOption::name);
      if (option == own.end()) {
        std::string names;
        for (const OwnOption& one : own) names += std::string(one.name) + ", ";
        return invalidArgument("unknown client option ", name, ", expected num_devices, ", names,
                               "platform_name, node_id or num_nodes");
      }
      ISTHMUS_RETURN_IF_ERROR(option->set(name, value));
    }
  }
  if (hasCount) ISTHMUS_RETURN_IF_ERROR(checkNumDevices(result.count));
  if (numNodes != 1 || node != 0) {
    return unimplemented("client option num_nodes is ", numNodes, ": ", platform,
                         " programs over several processes are not supported yet");
  }
  return result;
}

}  // namespace isthmus
