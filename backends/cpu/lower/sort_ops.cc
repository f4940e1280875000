// sort as a call of isthmus_rt_sort, by keys where the comparator allows.

#include "backends/cpu/kernels/sort/sort.h"
#include "backends/cpu/lower/comparator.h"
#include "backends/cpu/lower/library_ops.h"
#include "compiler/cost/library_time.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/type_conversion.h"
#include "compiler/program/comparator.h"

namespace isthmus::cpu {

StatusOr<OperationCode> lowerSort(mlir::Operation* op, LibraryContext& context) {
  auto sort = llvm::cast<shlo::SortOp>(op);
  SortDescriptor descriptor{};
  std::vector<int32_t> elementBytes;
  ArrayType type;
  for (mlir::Value operand : op->getOperands()) {
    ISTHMUS_ASSIGN_OR_RETURN(type, toArrayType(operand.getType()));
    elementBytes.push_back(static_cast<int32_t>(elementSizeBytes(type.elementType)));
  }
  int64_t rank = static_cast<int64_t>(type.dims.size());
  int64_t dimension = sort.getDimension() < 0 ? sort.getDimension() + rank : sort.getDimension();
  descriptor.outer = descriptor.length = descriptor.inner = 1;
  for (int64_t d = 0; d < rank; ++d) {
    int64_t& part = d < dimension    ? descriptor.outer
                    : d == dimension ? descriptor.length
                                     : descriptor.inner;
    part *= type.dims[d];
  }

  OperationCode code;
  code.libraryFunction = "isthmus_rt_sort";
  if (std::optional<std::vector<SortKey>> keys = recognizeKeys(sort.getComparator())) {
    descriptor.numKeys = static_cast<int32_t>(keys->size());
    std::copy(keys->begin(), keys->end(), descriptor.keys);
    code.estimatedNs = libraryNs(context.target, op);
  } else {
    ISTHMUS_ASSIGN_OR_RETURN(std::string comparator,
                             emitComparator(sort.getComparator(), elementBytes, context));
    code.callbacks.push_back(std::move(comparator));
    code.estimatedNs = sortByCallsNs(context.target, op);
  }
  code.descriptor = sortBytes(descriptor, elementBytes);
  return code;
}

}  // namespace isthmus::cpu
