// What programs say of the precision of products.
#pragma once

#include "compiler/dialect/dialect.h"

namespace isthmus::cuda {

// Of a dot_general or a convolution: nothing that is said of its precision rules out fewer bits.
inline bool hasDefaultPrecision(mlir::Operation* op) {
  auto dot = llvm::dyn_cast<shlo::DotGeneralOp>(op);
  if (dot && dot.getAlgorithm()) return false;
  auto precision =
      dot ? dot.getPrecisionConfig() : llvm::cast<shlo::ConvolutionOp>(op).getPrecisionConfig();
  return !precision || llvm::all_of(*precision, [](mlir::Attribute value) {
    return llvm::cast<shlo::PrecisionAttr>(value).getValue() == shlo::Precision::DEFAULT;
  });
}

}  // namespace isthmus::cuda
