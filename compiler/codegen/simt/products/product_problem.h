// dot_general and convolution as one: sums of products of lines of two operands.
#pragma once

#include <functional>
#include <optional>

#include "compiler/codegen/simt/kernel_writer.h"
#include "compiler/codegen/simt/products/contraction.h"

namespace isthmus::codegen {

// result[batch, row, column] is a sum over all elements of a window, and so many terms for each.
// The roles that it was made from outlive it.
struct ProductProblem {
  using Window = llvm::ArrayRef<llvm::Value*>;
  // The first of a line's terms for one element of the window, which count if they are inside.
  struct Line {
    llvm::Value* place;
    llvm::Value* isInside = nullptr;  // null: always
  };
  using LineOf = std::function<Line(KernelWriter&, llvm::Value* batch, llvm::Value* line, Window)>;

  int64_t batches = 1, rows = 1, columns = 1;
  llvm::SmallVector<int64_t, 3> window;
  int64_t terms = 1, lhsStride = 0, rhsStride = 0;  // from term to term
  LineOf lhs, rhs;
  std::function<llvm::Value*(KernelWriter&, llvm::Value* batch, llvm::Value* row,
                             llvm::Value* column)>
      result;
  // Of neighbouring rows of the lhs, and columns of the rhs; 0 where that differs.
  int64_t rowStride = 0, columnStride = 0;
};

// Where an index into dimensions leads in one of the operands.
llvm::Value* offsetOf(KernelWriter& w, llvm::Value* index, const DotDimensions& dims, bool isLhs);

// Of a product that is summed over one dimension; nothing for others.
std::optional<ProductProblem> problemOf(const DotRoles& roles);
// Rows are positions of the result, columns its features. Of one group of features and batches, and
// of inputs that are not dilated; nothing for others.
std::optional<ProductProblem> problemOf(const ConvRoles& roles);

}  // namespace isthmus::codegen
