// How the processes of a job learn of each other's devices.
#pragma once

#include <chrono>
#include <string>

#include "isthmus/status.h"
#include "runtime/bootstrap/key_value_store.h"
#include "runtime/device/topology.h"

namespace isthmus {

// Device `d` of process `p` has the global id p * kMaxDevicesPerProcess + d, as on XLA's CPU
// client, whose ids programs may have been written for.
inline constexpr int kMaxDevicesPerProcess = 2048;
inline int processOfDevice(int64_t deviceId) {
  return static_cast<int>(deviceId / kMaxDevicesPerProcess);
}

struct ExchangeOptions {
  int processIndex = 0;
  int numProcesses = 1;
  std::string prefix;  // of keys; equal on all processes, another for each exchange
  std::chrono::milliseconds timeout;
};

// Makes the topology of this process, whose devices have local ids, the topology of all: the same
// devices in the same order on all processes. Blocks until every process has joined; after the
// timeout, the error names those that are missing. kAlreadyExists if this process is a second one
// with its index; kFailedPrecondition if the processes run different versions of Isthmus, or if a
// process comes after the others have given up.
Status exchangeTopologies(KeyValueStore& store, const ExchangeOptions& options, Topology& topology);

}  // namespace isthmus
