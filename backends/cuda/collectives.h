// Collectives that are enqueued on the devices, by NCCL, instead of being the host's.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "backends/cuda/driver/nccl.h"
#include "backends/shared/staging/host_functions.h"
#include "isthmus/backend.h"
#include "isthmus/status.h"

namespace isthmus::cuda {

// Those of one run of a program on one device.
class RunCollectives {
 public:
  // All outlive this. Without `nccl` the host carries out everything.
  RunCollectives(Nccl* nccl, Driver& driver, const RunRequest& request)
      : nccl_(nccl), driver_(driver), request_(request) {}

  // Whether the function is a collective at all.
  static bool isCollective(const HostFunction& function);
  // False if the host must carry it out: reductions that NCCL does otherwise than StableHLO says
  // or not at all, and devices that share a GPU. All devices of a group come to the same answer.
  StatusOr<bool> enqueue(const HostFunction& function, const std::vector<void*>& inputs,
                         const std::vector<void*>& outputs);
  // What fails later of that which was enqueued; null if nothing was.
  const std::shared_ptr<NcclRun>& run() const { return run_; }

 private:
  StatusOr<NcclPart> join(const std::vector<int64_t>& devices, const char* description);

  Nccl* nccl_;
  Driver& driver_;
  const RunRequest& request_;
  std::function<Status()> abortedBy_;
  std::shared_ptr<NcclRun> run_;
};

}  // namespace isthmus::cuda
