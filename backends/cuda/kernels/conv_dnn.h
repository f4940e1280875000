// Convolutions that cuDNN computes: what they are in its words, and how their arrays must lie.
#pragma once

#include <functional>
#include <optional>

#include "backends/cuda/libraries/dnn_convolution.h"
#include "compiler/dialect/dialect.h"
#include "isthmus/status.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus::cuda {

// `op` as cuDNN takes it, if all its arrays lie as cuDNN wants them. TF32 for f32 whose precision
// is DEFAULT, if that is allowed.
std::optional<DnnConvolution> dnnConvolutionOf(shlo::ConvolutionOp op, bool allowsTf32);

// Whether cuDNN computes it here; why not, if it does not.
using AcceptsConvolution = std::function<Status(const DnnConvolution&)>;

// Rewrites the convolutions of a module so that dnnConvolutionOf takes them, where `accepts` does:
// a transpose around what lies otherwise, a pad before what is not padded equally on both sides, a
// slice behind gradients of such. What it does not take with features as they lie may have them at
// the other end. Others stay as they are, and the log of compilations says why.
// Those that `isLeftOut` names stay too.
void arrangeConvolutions(mlir::ModuleOp module, bool allowsTf32, const AcceptsConvolution& accepts,
                         const std::function<bool(shlo::ConvolutionOp)>& isLeftOut);

}  // namespace isthmus::cuda
