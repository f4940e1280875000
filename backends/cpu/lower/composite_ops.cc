// Composites that have a library function of their own.

#include "backends/cpu/kernels/sort/sort.h"
#include "backends/cpu/lower/library_ops.h"
#include "compiler/cost/library_time.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/type_conversion.h"

namespace isthmus::cpu {
namespace {

// (operand) -> (values, indices): the k largest of the last dimension.
StatusOr<OperationCode> lowerTopK(shlo::CompositeOp op, LibraryContext& context) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 2) {
    return invalidArgument("chlo.top_k has one operand and two results");
  }
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType operand, toArrayType(op->getOperand(0).getType()));
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType values, toArrayType(op->getResult(0).getType()));
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType indices, toArrayType(op->getResult(1).getType()));
  if (operand.dims.empty() || indices.elementType != ElementType::kS32 ||
      indices.dims != values.dims || values.elementType != operand.elementType ||
      values.dims.size() != operand.dims.size()) {
    return unimplemented("chlo.top_k of these types");
  }
  TopKDescriptor descriptor{};
  descriptor.rows = 1;
  for (size_t d = 0; d + 1 < operand.dims.size(); ++d) descriptor.rows *= operand.dims[d];
  descriptor.length = operand.dims.back();
  descriptor.k = values.dims.back();
  descriptor.type = operand.elementType;
  if (descriptor.k > descriptor.length) {
    return invalidArgument("chlo.top_k: k is ", descriptor.k, ", more than ", descriptor.length);
  }
  OperationCode code;
  code.libraryFunction = "isthmus_rt_top_k";
  code.descriptor = descriptorBytes(descriptor);
  code.estimatedNs = libraryNs(context.target, op);
  return code;
}

}  // namespace

StatusOr<OperationCode> lowerComposite(mlir::Operation* op, LibraryContext& context) {
  auto composite = llvm::cast<shlo::CompositeOp>(op);
  if (composite.getName() == "chlo.top_k") return lowerTopK(composite, context);
  return unimplemented("no library function for composite " + composite.getName().str());
}

}  // namespace isthmus::cpu
