// What the processes of one client have in common: the way between them, and the first error.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/status.h"
#include "runtime/bootstrap/key_value_store.h"
#include "runtime/collectives/transport.h"
#include "runtime/device/topology.h"

namespace isthmus {

struct JobOptions {
  int processIndex = 0;
  int numProcesses = 1;
  std::shared_ptr<KeyValueStore> store;  // may be null if there is one process
  std::string coordinatorAddress;        // "host:port"; may be empty
};

// One per client of several processes. Safe from any thread.
//
// A job stops at its first error: when a process is lost, or a program over processes fails on one
// of them, the connections are closed, and every process learns of the error at its next exchange
// or from the one that it waits in. Programs of one process are not touched.
class Job {
 public:
  // Blocks until all processes have joined and are connected, and makes `topology` that of all
  // processes. kDeadlineExceeded after ISTHMUS_COLLECTIVE_TIMEOUT_SECONDS.
  // `prefix` of keys: the same in all processes, and another for each of their jobs.
  static StatusOr<std::unique_ptr<Job>> join(const JobOptions& options, Topology& topology,
                                             std::string prefix = nextPrefix());
  ~Job();

  int processIndex() const { return processIndex_; }
  int numProcesses() const { return numProcesses_; }

  // Carries out a part of a collective; `what` names it, with its source line, in errors.
  Status exchange(std::string_view what, std::span<const OutgoingMessage> outgoing,
                  std::span<const IncomingMessage> incoming);

  // A program that is about to run for the first time over some processes. These start new programs
  // in one order; `order` says in which.
  struct Introduction {
    std::vector<int> processes;  // ascending
    int64_t order = 0;
    std::string name;
    std::string digest;  // of what it exchanges
  };
  // The place of one more program over these processes in their order.
  int64_t nextOrder(const std::vector<int>& processes);
  // Blocks until the next of the processes has a program in this place too.
  // kFailedPrecondition if it is another one: the processes would wait for each other for ever.
  Status introduce(const Introduction& introduction);

  // Ends all communication, here and in the other processes, which are told why. The first error
  // counts. Returns it.
  Status fail(const Status& error);
  // The framework says that a process is gone; what waits for it fails.
  void processIsGone(int process, const Status& why);

 private:
  // By the number of jobs of this process so far. A framework that drops its client and makes
  // another does so in all processes, and the second one must not find the keys of the first.
  static std::string nextPrefix();
  Job(const JobOptions& options, std::string prefix);
  Status explain(const Status& error, int lost);
  std::string wordKey(int process) const;
  StatusOr<std::string> awaitWordOf(int process) const;
  Status failed() const;

  const int processIndex_;
  const int numProcesses_;
  const std::shared_ptr<KeyValueStore> store_;
  const std::string prefix_;
  std::unique_ptr<Transport> transport_;
  std::mutex ordersMutex_;
  std::map<std::vector<int>, int64_t> orders_;
  mutable std::mutex failureMutex_;
  Status failure_;
};

}  // namespace isthmus
