// What is known of a product or a convolution by its types and the strides of its operands.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/dialect/dialect.h"
#include "compiler/schedule/products/roles.h"
#include "compiler/target/element_kind.h"

namespace isthmus {

// Of a product's operands and result, and what it is summed in.
struct ProductKinds {
  ElementKind lhs, rhs, result, sum;
};
// What sums of products of `lhs` and `rhs` with results of `result` are computed in: f64 where any
// is, f32 for other reals, else the result's own type.
ElementKind accumulationKind(const ElementKind& lhs, const ElementKind& rhs,
                             const ElementKind& result, mlir::MLIRContext* context);
// Of a dot_general or a convolution; nothing for types without arithmetic.
std::optional<ProductKinds> productKindsOf(mlir::Operation* op);

// result[batch, row, column] is a sum over all elements of a window, and for each over the
// contracting dimension.
struct ProductShape {
  int64_t batches = 1, rows = 1, columns = 1;
  llvm::SmallVector<int64_t, 3> window;
  int64_t contracting = 1, lhsStride = 0, rhsStride = 0;  // strides along it, in elements

  int64_t elements() const { return batches * rows * columns; }
};
// Of a product that is summed over one dimension; nothing for others.
std::optional<ProductShape> shapeOf(const DotRoles& roles);
// Rows are positions of the result, columns its features. Of one group of features and batches, and
// of inputs that are not dilated; nothing for others.
std::optional<ProductShape> shapeOf(const ConvRoles& roles);

}  // namespace isthmus
