// Every process publishes its devices; process 0 joins them and publishes the result, or the error.
#include "runtime/bootstrap/topology_exchange.h"

#include <algorithm>

namespace isthmus {
namespace {

using Clock = std::chrono::steady_clock;

// What precedes a published result.
constexpr char kGood = '+';
constexpr char kBad = '-';

std::string localKey(const ExchangeOptions& options, int process) {
  return options.prefix + "topology/" + std::to_string(process);
}

std::string globalKey(const ExchangeOptions& options) { return options.prefix + "topology/all"; }

Status checkLocal(const ExchangeOptions& options, const Topology& topology) {
  if (options.processIndex < 0 || options.processIndex >= options.numProcesses) {
    return invalidArgument("process ", options.processIndex, " of ", options.numProcesses);
  }
  if (topology.devices.empty() ||
      topology.devices.size() > static_cast<size_t>(kMaxDevicesPerProcess)) {
    return invalidArgument("process ", options.processIndex, " has ", topology.devices.size(),
                           " devices, expected 1 to ", kMaxDevicesPerProcess);
  }
  return {};
}

// "1, 3 and 4 more" for lists that are too long to read.
std::string describeMissing(const std::vector<int>& missing) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < std::min(missing.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(missing[i]);
  }
  if (missing.size() > kShown) {
    text += " and " + std::to_string(missing.size() - kShown) + " more";
  }
  return text;
}

// What all processes have published. After the deadline, looks once for each that is missing.
StatusOr<std::vector<Topology>> collect(KeyValueStore& store, const ExchangeOptions& options) {
  Clock::time_point deadline = Clock::now() + options.timeout;
  std::vector<Topology> topologies;
  std::vector<int> missing;
  Status why;
  for (int process = 0; process < options.numProcesses; ++process) {
    std::string key = localKey(options, process);
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    StatusOr<std::string> text =
        left.count() > 0 && missing.empty() ? store.get(key, left) : store.tryGet(key);
    if (!text.ok()) {
      missing.push_back(process);
      why = text.status();
      continue;
    }
    ISTHMUS_ASSIGN_OR_RETURN(Topology topology, Topology::deserialize(*text));
    topologies.push_back(std::move(topology));
  }
  if (missing.empty()) return topologies;
  return Status(StatusCode::kDeadlineExceeded,
                internal::concatenate("process ", describeMissing(missing), " of ",
                                      options.numProcesses, " did not join within ",
                                      options.timeout.count() / 1000, " s (", why.message(), ")"));
}

StatusOr<Topology> join(std::vector<Topology> topologies) {
  Topology all = std::move(topologies[0]);
  std::vector<DeviceDescription> devices;
  for (size_t process = 0; process < topologies.size(); ++process) {
    const Topology& topology = process == 0 ? all : topologies[process];
    if (topology.platformVersion != all.platformVersion) {
      return failedPrecondition("process 0 runs ", all.platformVersion, ", but process ", process,
                                " runs ", topology.platformVersion,
                                "; all processes of a job must run the same version");
    }
    devices.insert(devices.end(), topology.devices.begin(), topology.devices.end());
  }
  all.devices = std::move(devices);
  return all;
}

// Gives the devices of this process their global ids.
void globalize(const ExchangeOptions& options, Topology& topology) {
  int first = options.processIndex * kMaxDevicesPerProcess;
  for (size_t i = 0; i < topology.devices.size(); ++i) {
    DeviceDescription& device = topology.devices[i];
    std::string localId = "(id=" + std::to_string(device.id) + ")";
    device.processIndex = options.processIndex;
    device.id = first + static_cast<int>(i);
    if (size_t at = device.debugString.find(localId); at != std::string::npos) {
      device.debugString.replace(at, localId.size(), "(id=" + std::to_string(device.id) + ")");
    }
  }
}

}  // namespace

Status exchangeTopologies(KeyValueStore& store, const ExchangeOptions& options,
                          Topology& topology) {
  ISTHMUS_RETURN_IF_ERROR(checkLocal(options, topology));
  globalize(options, topology);
  if (options.numProcesses == 1) return {};
  Status status = store.put(localKey(options, options.processIndex), topology.serialize());
  if (status.code() == StatusCode::kAlreadyExists) {
    return Status(
        StatusCode::kAlreadyExists,
        internal::concatenate("process ", options.processIndex, " of ", options.numProcesses,
                              " has joined this job already: a second process has its "
                              "index, or this one was started again"));
  }
  ISTHMUS_RETURN_IF_ERROR(status.withContext("publishing the devices of this process"));

  if (options.processIndex == 0) {
    StatusOr<std::vector<Topology>> topologies = collect(store, options);
    StatusOr<Topology> all = topologies.ok() ? join(std::move(*topologies)) : topologies.status();
    std::string published =
        all.ok() ? kGood + all->serialize() : kBad + std::string(all.status().message());
    Status told = store.put(globalKey(options), published);
    ISTHMUS_RETURN_IF_ERROR(all.status());
    ISTHMUS_RETURN_IF_ERROR(told.withContext("publishing the devices of all processes"));
    topology = std::move(*all);
    return {};
  }
  // Longer than process 0 waits, to learn from it who is missing.
  StatusOr<std::string> all =
      store.get(globalKey(options), options.timeout + std::chrono::seconds(10));
  if (!all.ok()) {
    return all.status().withContext(
        "waiting for process 0 to publish the devices of all processes");
  }
  if (all->empty() || (*all)[0] != kGood) {
    return failedPrecondition(all->empty() ? "process 0 published nothing" : all->substr(1));
  }
  ISTHMUS_ASSIGN_OR_RETURN(topology, Topology::deserialize(std::string_view(*all).substr(1)));
  return {};
}

}  // namespace isthmus
