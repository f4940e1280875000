// Custom calls of a program as plain data.
#pragma once

#include "base/program/custom_call.h"
#include "isthmus/status.h"
#include "mlir/IR/Operation.h"

namespace isthmus {

// What an executable keeps of a stablehlo.custom_call; whether somebody handles it is not asked.
// kUnimplemented, kInvalidArgument for what no handler could get.
StatusOr<ffi::CallSpec> describeCustomCall(mlir::Operation* op);

// Whether the call says that its output `result` is its operand `operand`.
bool customCallCanShare(mlir::Operation* op, unsigned operand, unsigned result);

}  // namespace isthmus
