// Convolutions with epilogues and attention, as graphs of cuDNN's (ADRs 49 and 52 say why those).
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "backends/cuda/libraries/dnn_convolution.h"
#include "base/shared_library.h"
#include "isthmus/status.h"

namespace isthmus::cuda {

struct DnnGraphFunctions {
  int (*CreateDescriptor)(int, void**) = nullptr;
  int (*DestroyDescriptor)(void*) = nullptr;
  int (*Finalize)(void*) = nullptr;
  int (*SetAttribute)(void*, int, int, int64_t, const void*) = nullptr;
  int (*GetAttribute)(void*, int, int, int64_t, int64_t*, void*) = nullptr;
  int (*Execute)(void*, void*, void*) = nullptr;
  size_t (*GetVersion)() = nullptr;  // 91002 is 9.10.2
  // Why the last call of this thread failed; null before cuDNN 9.
  void (*GetLastErrorString)(char*, size_t) = nullptr;
};

// Null if the library does not have all of them.
std::unique_ptr<DnnGraphFunctions> findDnnGraphs(const SharedLibrary& library);

// What DnnGraph::run calls, for errors.
inline constexpr const char* kGraphRunName = "cudnnBackendExecute";

// A convolution and its epilogue, or a part of attention (dnn_attention_graphs.h), with the engine
// that cuDNN's heuristics chose for a device. The handle is for one thread at a time.
class DnnGraph {
 public:
  // With at most so many plans, of the fastest engines whose notes say that it sums products as
  // they are, always in the same order, keeps NaNs where there is a ReLU, and needs at most so much
  // memory: the first plan is chosen, and others are not compiled merely to be compared.
  // kUnimplemented, saying why, if there is none.
  static StatusOr<std::unique_ptr<DnnGraph>> make(const DnnGraphFunctions& functions, void* handle,
                                                  const DnnConvolution& convolution,
                                                  int64_t workspaceBytes, size_t maxPlans = 1);
  ~DnnGraph();
  DnnGraph(const DnnGraph&) = delete;
  DnnGraph& operator=(const DnnGraph&) = delete;

  size_t numPlans() const { return plans_.size(); }
  // Which plan runs.
  void choose(size_t plan) { chosen_ = plan; }
  // Destroys the others.
  void dropOthers();
  // Of the plan that runs, or the largest of any.
  int64_t workspaceBytes() const { return plans_[chosen_].workspaceBytes; }
  int64_t largestWorkspaceBytes() const;
  // Enqueued on the handle's stream: the buffers of DnnConvolution::bufferElements, or those that a
  // part of attention has. Returns cuDNN's status.
  int run(void* handle, std::span<void* const> buffers, void* workspace) const;

 private:
  friend class DnnGraphBuilder;
  struct Plan {
    void* descriptor = nullptr;
    int64_t workspaceBytes = 0;
  };
  explicit DnnGraph(const DnnGraphFunctions& functions) : functions_(functions) {}

  const DnnGraphFunctions& functions_;
  std::vector<void*> descriptors_;     // all that were made but plans, in this order
  std::vector<int64_t> ids_;           // of the arrays that the buffers are, then of the numbers
  mutable std::deque<float> numbers_;  // which the host has
  std::vector<Plan> plans_;
  size_t chosen_ = 0;
};

}  // namespace isthmus::cuda
