// Attention, and its gradient, as graphs of cuDNN's (ADR 52).
#pragma once

#include <memory>
#include <span>

#include "backends/cuda/driver/dnn/dnn_graph.h"
#include "backends/cuda/libraries/dnn_attention.h"

namespace isthmus::cuda {

// One graph of the forward pass. Of a gradient: one that stores the result and the logarithm of
// each row's sum in scratch memory, and one of the gradients by these.
class DnnAttentionGraphs {
 public:
  // kUnimplemented, saying why, if cuDNN has no kernels for it, or none that want at most so much
  // memory.
  static StatusOr<std::unique_ptr<DnnAttentionGraphs>> make(const DnnGraphFunctions& functions,
                                                            void* handle,
                                                            const DnnAttention& attention,
                                                            int64_t workspaceBytes);

  int64_t workspaceBytes() const { return workspaceOffset_ + workspaceBytes_; }
  // Enqueued on the handle's stream: the buffers of DnnAttention::bufferBytes. Returns cuDNN's
  // status.
  int run(void* handle, std::span<void* const> buffers, void* workspace) const;

 private:
  DnnAttentionGraphs() = default;

  std::unique_ptr<DnnGraph> forward_, gradient_;  // the second may be null
  bool hasBias_ = false;
  DnnGradientPlaces places_;
  // In scratch memory, of a gradient: the result, the logarithms, and a sum for each row.
  int64_t logarithmsOffset_ = 0, sumsOffset_ = 0, workspaceOffset_ = 0;
  int64_t workspaceBytes_ = 0;
};

}  // namespace isthmus::cuda
