// Attention as cuDNN computes it.
#pragma once

#include <optional>

#include "backends/cuda/libraries/dnn_attention.h"
#include "compiler/dialect/isthmus.h"
#include "llvm/ADT/SmallVector.h"

namespace isthmus::cuda {

// A fusion as one attention or its gradient, and which operands of the fusion are its buffers:
// queries, keys, values, the bias if there is one, and of a gradient that of the result.
struct DnnAttentionFusion {
  DnnAttention attention;
  llvm::SmallVector<unsigned, 5> operands;
};

// Of a fusion that is an attention of 16-bit types, or its gradient; nothing, and why as a part of
// a sentence, for one that cuDNN has no words for or that is too little work for a call. Whether a
// device computes it, cuDNN says.
std::optional<DnnAttentionFusion> dnnAttentionOf(ir::FusionOp fusion, const char** why);

}  // namespace isthmus::cuda
