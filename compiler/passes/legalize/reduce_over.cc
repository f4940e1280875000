// A copy of the combiner, and results of the shapes that are left.
#include "compiler/passes/legalize/reduce_over.h"

#include "compiler/dialect/types/array_shape.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/IRMapping.h"

namespace isthmus {

shlo::ReduceOp reduceOver(mlir::OpBuilder& builder, shlo::ReduceOp like, mlir::ValueRange inputs,
                          llvm::ArrayRef<int64_t> dimensions) {
  llvm::SmallVector<mlir::Type> results;
  for (mlir::Value input : inputs) {
    mlir::RankedTensorType type = tensorTypeOf(input);
    llvm::SmallVector<int64_t> kept;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (!llvm::is_contained(dimensions, d)) kept.push_back(type.getDimSize(d));
    }
    results.push_back(mlir::RankedTensorType::get(kept, type.getElementType()));
  }
  auto reduce = shlo::ReduceOp::create(builder, like.getLoc(), results, inputs,
                                       like.getInitValues(), dimensions);
  mlir::IRMapping mapping;
  like.getBody().cloneInto(&reduce.getBody(), mapping);
  return reduce;
}

int64_t keptDimension(llvm::ArrayRef<int64_t> reduced, int64_t dim) {
  return dim - llvm::count_if(reduced, [&](int64_t other) { return other < dim; });
}

}  // namespace isthmus
