// Custom calls as library calls of registered handlers, or of functions that do the same.
#include <algorithm>

#include "backends/cpu/load/custom_call_functions.h"
#include "backends/cpu/lower/library_ops.h"
#include "compiler/cost/library_time.h"
#include "compiler/dialect/dialect.h"
#include "compiler/plan/op_error.h"
#include "compiler/program/custom_calls.h"
#include "runtime/ffi/registry.h"

namespace isthmus::cpu {
namespace {

// jaxlib's own kernels compute and return: they neither block nor call anybody back.
bool isJaxlibKernel(llvm::StringRef target) {
  return target.ends_with("_ffi") &&
         (target.starts_with("lapack_") || target.starts_with("tridiagonal_solve_") ||
          target.starts_with("cpu_csr_sparse_"));
}

// For each element and for the smaller dimension of its matrix.
double stepsOf(const ffi::CallSpec& call) {
  double steps = 0;
  for (const ArrayType& type : call.operands) {
    double depth = 1;
    if (type.dims.size() >= 2) {
      depth = static_cast<double>(
          std::max<int64_t>(1, std::min(type.dims.back(), type.dims[type.dims.size() - 2])));
    }
    steps += depth * static_cast<double>(type.numElements());
  }
  return steps;
}

}  // namespace

StatusOr<OperationCode> lowerCustomCall(mlir::Operation* op, LibraryContext& context) {
  std::string target = llvm::cast<shlo::CustomCallOp>(op).getCallTargetName().str();
  std::optional<ffi::Handler> handler = ffi::findHandler(target);
  if (!handler && isDecomposition(target)) return lowerDecomposition(op, context);
  if (!handler && isLapackCall(target)) return lowerLapackCall(op, context);
  if (handler && isSmallTriangularSolve(op)) {
    StatusOr<OperationCode> code = lowerLapackCall(op, context);
    if (code.ok()) return code;
  }
  if (!handler) {
    return unsupportedOp(op, "no handler is registered for @" + target + " on this platform");
  }
  ISTHMUS_ASSIGN_OR_RETURN(ffi::CallSpec call, describeCustomCall(op));
  if (handler->isTyped() != (call.version == ffi::CallVersion::kTyped)) {
    return unsupportedOp(op, "the call has API version " +
                                 std::to_string(static_cast<int>(call.version)) +
                                 ", its handler is " + (handler->isTyped() ? "typed" : "untyped"));
  }
  OperationCode code;
  code.libraryFunction = "isthmus_rt_custom_call";
  code.descriptor =
      descriptorBytes(CustomCallDescriptor{static_cast<int32_t>(context.calls.size())});
  code.estimatedNs = handlerNs(context.target, stepsOf(call));
  if (!isJaxlibKernel(call.target)) context.callsUserCode = true;
  context.calls.push_back(std::move(call));
  return code;
}

}  // namespace isthmus::cpu
