// cuDNN's convolutions and attention, in a library that is loaded where it is there.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "backends/cuda/driver/driver.h"
#include "backends/cuda/driver/plan_cache.h"
#include "backends/cuda/libraries/dnn_attention.h"
#include "backends/cuda/libraries/dnn_convolution.h"
#include "isthmus/status.h"

namespace isthmus::cuda {

// Workspaces begin at a multiple of this, which places of an arena need not.
inline constexpr int64_t kDnnWorkspaceAlignment = 256;

struct DnnFunctions;
struct DnnGraphFunctions;
class DnnAttentionGraphs;
class DnnGraph;

using DnnWork = std::variant<DnnConvolution, DnnAttention>;

// Work with the algorithm that cuDNN's heuristics chose for a device.
class DnnPlan;

class Dnn {
 public:
  // Loads `path`; for "libcudnn.so" also its version 9. kNotFound if there is none.
  static StatusOr<std::unique_ptr<Dnn>> load(const std::string& path, Driver& driver);
  ~Dnn();

  // Chooses the fastest algorithm that sums products as they are, always in the same order, in at
  // most so much scratch memory, with the epilogue in the same kernel. kUnimplemented, saying why,
  // if cuDNN has none. It is asked once for each of these. What is the fastest cuDNN's heuristics
  // say, and of large convolutions the times of the few that they think best.
  StatusOr<std::shared_ptr<const DnnPlan>> plan(int device, const DnnWork& work,
                                                int64_t scratchBytes);
  // What run() wants of scratch memory, wherever that begins.
  static int64_t scratchBytes(const DnnPlan& plan);
  // Whether its run may be recorded as part of a CUDA graph: graphs of cuDNN may, as XLA:GPU
  // records them (its CuDnnCmd), the older functions are promised nowhere.
  static bool mayBeRecorded(const DnnPlan& plan);
  // Enqueued on `queue`. The buffers are those of DnnConvolution::bufferElements or
  // DnnAttention::bufferBytes. Nothing may overlap the result, which is the last of them.
  Status run(int device, Queue queue, const DnnPlan& plan, std::span<void* const> buffers,
             void* scratch);

 private:
  // For one thread at a time.
  struct Handle {
    std::mutex mutex;
    void* handle = nullptr;  // lives as long as the process
    Status failure;          // to make it, which is not tried again
  };

  Dnn(std::unique_ptr<DnnFunctions> functions, Driver& driver);
  Status check(int code, const char* call) const;
  // Makes the device's context current, and its handle if there is none. Its mutex must be held.
  Status open(int device, Handle& handle);
  Status describe(const DnnConvolution& convolution, DnnPlan& plan) const;
  Status choose(void* handle, DnnPlan& plan, int64_t workspaceBytes) const;
  StatusOr<std::unique_ptr<DnnGraph>> makeGraph(int device, void* handle,
                                                const DnnConvolution& convolution,
                                                int64_t workspaceBytes) const;
  // Times the plans of a large convolution, and chooses the fastest.
  Status tune(int device, void* handle, const DnnConvolution& convolution, DnnGraph& graph) const;
  StatusOr<std::unique_ptr<DnnAttentionGraphs>> makeAttention(void* handle,
                                                              const DnnAttention& attention,
                                                              int64_t workspaceBytes) const;
  StatusOr<std::shared_ptr<const DnnPlan>> makePlan(int device, const DnnWork& work,
                                                    int64_t scratchBytes);

  std::unique_ptr<DnnFunctions> functions_;
  std::unique_ptr<DnnGraphFunctions> graphs_;  // null: cuDNN has none
  Driver& driver_;
  std::vector<std::unique_ptr<Handle>> handles_;  // by device
  PlanCache<std::tuple<int, DnnWork, int64_t>, DnnPlan> plans_;
};

}  // namespace isthmus::cuda
