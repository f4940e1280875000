// What a simulated job runs on: devices of one kind, and the levels of the network between them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/status.h"

namespace isthmus::simulation {

// A level of the network: joins `size` units of the level below (or devices) to a larger unit.
struct Link {
  std::string name;
  int64_t size = 1;
  double bytesPerSecond = 0;  // of each device, in each direction
  double latencySeconds = 0;  // of one message
};

struct Machine {
  std::string name;
  // Rates of one device: of contractions by the element type of their operands ("f32", "bf16"), of
  // other arithmetic, of its memory.
  std::map<std::string, double> contractionFlops;  // per second
  double elementFlops = 0;                         // per second
  double memoryBytesPerSecond = 0;
  int64_t memoryBytes = 0;
  double launchSeconds = 0;   // of each kernel
  std::vector<Link> network;  // from the level nearest to the devices outwards

  // The product of the levels' sizes: devices 0 to size - 1 of the first level are neighbours.
  int64_t numDevices() const;
};

// Reads a machine from JSON; machines/h100-node.json has every member. kInvalidArgument for what is
// no JSON, and for members that are missing, unknown, of another type, or not positive.
StatusOr<Machine> parseMachine(std::string_view json);

}  // namespace isthmus::simulation
