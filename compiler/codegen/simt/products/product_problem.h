// dot_general and convolution as one: sums of products of lines of two operands.
#pragma once

#include <functional>
#include <optional>

#include "compiler/codegen/simt/products/product_writer.h"
#include "compiler/schedule/products/product_shape.h"
#include "compiler/schedule/products/roles.h"

namespace isthmus::codegen {

// Where the elements of a product are; the roles that it was made from outlive it.
struct ProductProblem : ProductShape {
  using Window = llvm::ArrayRef<llvm::Value*>;
  // The first of a line's terms for one element of the window, which count if they are inside.
  struct Line {
    llvm::Value* place;
    llvm::Value* isInside = nullptr;  // null: always
  };
  using LineOf = std::function<Line(KernelWriter&, llvm::Value* batch, llvm::Value* line, Window)>;

  LineOf lhs, rhs;
  std::function<llvm::Value*(KernelWriter&, llvm::Value* batch, llvm::Value* row,
                             llvm::Value* column)>
      result;

  // The same for a kernel's store.
  ProductWriter::Site site(ProductWriter& w, llvm::Value* batch, llvm::Value* row,
                           llvm::Value* column, llvm::Value* isInside) const {
    return {w.plus(w.times(batch, rows), row), column, result(w, batch, row, column), isInside};
  }
};

// Where an index into dimensions leads in one of the operands.
llvm::Value* offsetOf(KernelWriter& w, llvm::Value* index, const DotDimensions& dims, bool isLhs);

// Of those that have a ProductShape.
std::optional<ProductProblem> problemOf(const DotRoles& roles);
std::optional<ProductProblem> problemOf(const ConvRoles& roles);

}  // namespace isthmus::codegen
