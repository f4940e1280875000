// A function of a test as a program by itself, whose constants are arguments and whose assertions
// are results, so that a backend computes everything and nothing is folded away.
#pragma once

#include <vector>

#include "compiler/dialect/dialect.h"
#include "compiler/reference/tensor.h"
#include "isthmus/status.h"
#include "mlir/IR/OwningOpRef.h"

namespace isthmus {

// An assertion of the original program, and how many results of the prepared one it is about.
struct Check {
  mlir::Operation* op;
  size_t operands;
};

struct Prepared {
  mlir::OwningOpRef<mlir::ModuleOp> module;  // its function is @main
  std::vector<reference::Tensor> arguments;
  std::vector<Check> checks;
  size_t results = 0;  // of the function itself; those of the checks follow
};

// `arguments` are the function's own; those that were constants follow them.
StatusOr<Prepared> prepareProgram(mlir::ModuleOp module, mlir::func::FuncOp function,
                                  std::vector<reference::Tensor> arguments);

}  // namespace isthmus
