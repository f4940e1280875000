// Products together with what is done to their elements, as cuBLASLt computes both.
#pragma once

#include <optional>
#include <string>

#include "backends/cuda/libraries/matrix_product.h"
#include "compiler/dialect/isthmus.h"
#include "llvm/ADT/SmallVector.h"

namespace isthmus::cuda {

// A fusion as one product, and which operands of the fusion are its buffers: lhs, rhs, and the bias
// if there is one.
struct BlasFusion {
  BlasProduct product;
  llvm::SmallVector<unsigned, 3> operands;
};

// A product with an epilogue, if cuBLASLt has this one: a bias for each column, then nothing, ReLU,
// or GELU by tanh where the result has 16 bits. Sums may be rounded to the result's type once, at
// the end, where the fusion rounds after each step. Whether a device computes it, cuBLASLt says.
std::optional<BlasFusion> blasFusionOf(ir::FusionOp fusion, bool allowsTf32);

// "bias and ReLU"; empty for kNone.
std::string nameOf(BlasEpilogue epilogue);

}  // namespace isthmus::cuda
