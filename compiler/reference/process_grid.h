// Several devices that run one program each, in turn, and meet at collectives.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "compiler/reference/interpreter.h"
#include "isthmus/status.h"

namespace isthmus::reference {

// A grid of replicas by partitions. Each process has a thread, but only one runs at a time, until
// it waits for another: evaluation is deterministic and shares no state unguarded. When all that
// are left wait, each fails with kFailedPrecondition instead of waiting for ever.
class ProcessGrid {
 public:
  struct Program {
    mlir::func::FuncOp function;
    std::vector<Value> arguments;
  };

  ProcessGrid(uint32_t numReplicas, uint32_t numPartitions)
      : numReplicas_(numReplicas), numPartitions_(numPartitions) {}

  // Runs programs[replica * numPartitions + partition] on each process; blocks until all are done.
  // The results in the same order, or the first error.
  StatusOr<std::vector<std::vector<Value>>> run(mlir::ModuleOp module,
                                                const InterpreterOptions& options,
                                                std::vector<Program> programs);

  // Functions without arguments whose results infeed gives, one after the other.
  void setInfeed(std::deque<std::string> functions) { infeed_ = std::move(functions); }

  uint32_t numReplicas() const { return numReplicas_; }
  uint32_t numPartitions() const { return numPartitions_; }

  // ---- For evaluators, on the thread of a process ----

  // Waits until every process of `group` (of numbers replica * numPartitions + partition) has come
  // with the same `key`, and gives what each brought, in the order of the group.
  StatusOr<std::vector<std::vector<Value>>> exchange(const std::string& key,
                                                     const std::vector<uint32_t>& group,
                                                     uint32_t process, std::vector<Value> brought);
  void send(const std::string& channel, std::vector<Value> values);
  StatusOr<std::vector<Value>> receive(const std::string& channel);
  StatusOr<std::string> nextInfeed();

 private:
  struct Rendezvous {
    std::map<uint32_t, std::vector<Value>> brought;
    size_t left = 0;  // how many have taken the values
  };

  // Waits until `condition` holds; fails if it never will.
  template <typename Condition>
  Status waitFor(Condition condition);
  void advance();

  uint32_t numReplicas_;
  uint32_t numPartitions_;
  std::mutex baton_;  // held by the process that runs
  std::condition_variable progress_;
  uint64_t generation_ = 0;
  size_t waiting_ = 0;  // since the last progress
  size_t running_ = 0;  // not finished
  bool isStuck_ = false;
  std::map<std::string, Rendezvous> rendezvous_;
  std::map<std::string, std::deque<std::vector<Value>>> channels_;
  std::deque<std::string> infeed_;
};

}  // namespace isthmus::reference
