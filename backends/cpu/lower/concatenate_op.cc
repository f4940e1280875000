// Concatenations that fusion leaves to copies, as calls of isthmus_rt_concatenate.
#include "backends/cpu/kernels/concatenate.h"
#include "backends/cpu/lower/library_ops.h"
#include "compiler/cost/library_time.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/type_conversion.h"

namespace isthmus::cpu {

StatusOr<OperationCode> lowerConcatenate(mlir::Operation* op, LibraryContext& context) {
  auto concatenate = llvm::cast<shlo::ConcatenateOp>(op);
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType result, toArrayType(concatenate.getType()));
  int64_t rows = 1;
  const auto dimension = static_cast<size_t>(concatenate.getDimension());
  for (size_t d = 0; d < dimension; ++d) rows *= result.dims[d];
  std::vector<int64_t> rowBytes;
  for (mlir::Value input : concatenate.getInputs()) {
    ISTHMUS_ASSIGN_OR_RETURN(ArrayType type, toArrayType(input.getType()));
    rowBytes.push_back(rows == 0 ? 0 : static_cast<int64_t>(type.sizeBytes()) / rows);
  }
  OperationCode code;
  code.libraryFunction = "isthmus_rt_concatenate";
  code.descriptor = concatenateDescriptor(rows, rowBytes, context.target.minParallelBytes);
  code.estimatedNs =
      copiesNs(context.target, static_cast<double>(rowBytes.size() * static_cast<size_t>(rows)),
               static_cast<double>(result.sizeBytes()));
  return code;
}

}  // namespace isthmus::cpu
