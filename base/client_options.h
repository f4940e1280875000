// What backends have in common in reading a client's options and in describing their devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "isthmus/backend.h"
#include "isthmus/status.h"

namespace isthmus {

// The value of client option `name`; kInvalidArgument for one of another type, or an empty text.
StatusOr<int64_t> integerOption(const std::string& name, const AttributeValue& value);
StatusOr<std::string> textOption(const std::string& name, const AttributeValue& value);

// kInvalidArgument unless a client may have so many devices.
Status checkNumDevices(int64_t count);

// Gives `device` the memories that JAX knows: "device", which is the default, "pinned_host" and
// "unpinned_host".
void addMemories(DeviceDescription& device);
// kInvalidArgument for the name of any other.
Status checkMemoryKind(std::string_view kind);

}  // namespace isthmus
