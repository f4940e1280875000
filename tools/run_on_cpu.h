// Functions of a program on the linked backend, through the runtime, with the assertions in them.
#pragma once

#include <vector>

#include "compiler/reference/tensor.h"
#include "isthmus/status.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus {

// Compiles `function` as a program's main function and runs it on the first device. Constants of
// its block become arguments, so that the backend and not the constant folder computes; those that
// say the shape of a result stay. Assertions in its block become results, and are made here.
StatusOr<std::vector<reference::Tensor>> runOnCpu(mlir::ModuleOp module,
                                                  mlir::func::FuncOp function,
                                                  std::vector<reference::Tensor> arguments);

// Compiles and runs a program's text with these arguments, on the first device.
StatusOr<std::vector<reference::Tensor>> runText(const std::string& text,
                                                 const std::vector<reference::Tensor>& arguments);

}  // namespace isthmus
