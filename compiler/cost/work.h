// What operations and kernels compute, read and write in all.
#pragma once

#include "compiler/dialect/isthmus.h"
#include "llvm/ADT/ArrayRef.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace isthmus {

struct Work {
  double additions = 0;  // elementCost times elements; what is in `products` left out
  double products = 0;   // multiplications, each with an addition, of dot_general and convolution
  double bytes = 0;      // of operands that are read and of results that are written
};

// Of one operation, or of a fusion with all that is in it. What is updated in place costs what the
// update has; of operands that are sliced, only the slices are read. Regions count once.
Work workOf(mlir::Operation* op);
// Of a fusion, with the bytes of these of its values instead of its results.
Work workOf(ir::FusionOp fusion, llvm::ArrayRef<mlir::Value> written);

// Multiplications of a dot_general or a convolution; 0 for other operations.
double productsOf(mlir::Operation* op);

// elementCount() and arrayBytes() of array_shape.h as what is reckoned with, which does not
// overflow.
double elementsOf(mlir::Type type);
double bytesOf(mlir::Type type);

// What `op` reads of its operands and writes of its results; of a fusion, at its edges.
double accessedBytes(mlir::Operation* op);

}  // namespace isthmus
