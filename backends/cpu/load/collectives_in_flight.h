// The collectives of a run that have set out, and whose results nobody has needed yet.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "backends/cpu/abi.h"

namespace isthmus::cpu {

// One of them. Its steps are carried out in order when its results are needed.
class CollectiveInFlight {
 public:
  explicit CollectiveInFlight(RunServices& services) : services_(services) {}
  ~CollectiveInFlight();
  CollectiveInFlight(const CollectiveInFlight&) = delete;
  CollectiveInFlight& operator=(const CollectiveInFlight&) = delete;

  // All of them, even after an error: the other devices count on each. The first error.
  Status finish();

  // Memory until the end; null if there is none.
  char* allocate(size_t bytes);

  std::vector<int64_t> group;
  std::vector<std::function<Status()>> steps;

 private:
  struct Block {
    char* data;
    size_t bytes;
  };
  RunServices& services_;
  std::vector<Block> blocks_;
};

// Of one run, used by its thread.
struct CollectivesInFlight {
 public:
  explicit CollectivesInFlight(const RunRequest& request) : request_(request) {}
  ~CollectivesInFlight();
  CollectivesInFlight(const CollectivesInFlight&) = delete;
  CollectivesInFlight& operator=(const CollectivesInFlight&) = delete;

  // The program may have failed between a start and its end: then the launch ends with `status`,
  // and nobody is left waiting, or writing to memory of this run.
  void abandon(const Status& status);

  std::map<int64_t, std::unique_ptr<CollectiveInFlight>> all;  // by the number in the descriptor

 private:
  const RunRequest& request_;
};

}  // namespace isthmus::cpu
