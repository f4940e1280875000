// Convolutions together with what is done to their elements, as cuDNN computes both.
#pragma once

#include <optional>

#include "backends/cuda/libraries/dnn_convolution.h"
#include "compiler/dialect/isthmus.h"
#include "llvm/ADT/SmallVector.h"

namespace isthmus::cuda {

// A fusion as one convolution, and which operands of the fusion are its buffers: image, kernel, the
// residual and the bias if there are such.
struct DnnFusion {
  DnnConvolution convolution;
  llvm::SmallVector<unsigned, 3> operands;
};

// A forward convolution with an epilogue that cuDNN may have: a residual, a bias for each feature,
// both or none, then ReLU or nothing. Sums are rounded to the result's type once, at the end, where
// the fusion rounds after each step. Whether a device computes it, cuDNN says.
std::optional<DnnFusion> dnnFusionOf(ir::FusionOp fusion, bool allowsTf32);

}  // namespace isthmus::cuda
