// What there is to compile for, without a client: a platform and its devices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isthmus/backend.h"
#include "isthmus/status.h"

namespace isthmus {

struct Topology {
  std::string platformName;
  std::string platformVersion;
  std::vector<DeviceDescription> devices;
  AttributeMap attributes;

  // The devices that a client of this backend made with these options would have.
  static StatusOr<Topology> create(Backend& backend, AttributeMap options);

  // A compact text that `deserialize` reads back; equal topologies give equal text.
  std::string serialize() const;
  static StatusOr<Topology> deserialize(std::string_view text);
  // Stable over processes and runs.
  uint64_t fingerprint() const;
};

}  // namespace isthmus
