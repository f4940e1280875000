// Convolutions that are products of matrices.
#pragma once

#include <optional>

#include "compiler/dialect/dialect.h"
#include "compiler/schedule/products/matrix_product.h"

namespace isthmus {

// `op` as one product: windows of one element (a layer that mixes features, or what its gradient by
// the input is), or of the whole input in some dimensions (its gradient by the kernel, which sums
// over the images), without strides, padding, dilation or groups. None if dimensions that become
// one do not follow each other in memory.
std::optional<MatrixProduct> convProductOf(shlo::ConvolutionOp op);

}  // namespace isthmus
