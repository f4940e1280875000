#include "backends/cuda/kernels/integer_dot.h"

#include "compiler/dialect/types/array_shape.h"
#include "compiler/dialect/types/permutation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

namespace isthmus::cuda {
namespace {

using Dims = llvm::SmallVector<int64_t, 6>;

// Batches, then rows or columns in their order, then sums.
Dims orderOf(mlir::Value operand, llvm::ArrayRef<int64_t> batch, llvm::ArrayRef<int64_t> sums) {
  Dims order(batch);
  for (int64_t dim = 0; dim < tensorTypeOf(operand).getRank(); ++dim) {
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(sums, dim)) order.push_back(dim);
  }
  llvm::append_range(order, sums);
  return order;
}

mlir::Value ordered(mlir::OpBuilder& b, mlir::Location location, mlir::Value value,
                    const Dims& order) {
  if (isIdentity(order)) return value;
  return shlo::TransposeOp::create(b, location, permuted(value.getType(), order), value,
                                   b.getDenseI64ArrayAttr(order));
}

Dims countedFrom(size_t first, size_t count) {
  return llvm::to_vector<6>(llvm::seq<int64_t>(first, first + count));
}

bool isOfIntegers(shlo::DotGeneralOp dot) {
  auto isSigned = [](mlir::Value value, unsigned bits) {
    mlir::Type type = tensorTypeOf(value).getElementType();
    return type.isInteger(bits) && !type.isUnsignedInteger();
  };
  return isSigned(dot.getLhs(), 8) && isSigned(dot.getRhs(), 8) && isSigned(dot.getResult(), 32);
}

void arrange(shlo::DotGeneralOp dot, const std::function<bool(shlo::DotGeneralOp)>& accepts) {
  auto dims = dot.getDotDimensionNumbers();
  const Dims left =
      orderOf(dot.getLhs(), dims.getLhsBatchingDimensions(), dims.getLhsContractingDimensions());
  const Dims right =
      orderOf(dot.getRhs(), dims.getRhsBatchingDimensions(), dims.getRhsContractingDimensions());
  mlir::OpBuilder b(dot);
  mlir::Value lhs = ordered(b, dot.getLoc(), dot.getLhs(), left);
  mlir::Value rhs = ordered(b, dot.getLoc(), dot.getRhs(), right);
  if (lhs == dot.getLhs() && rhs == dot.getRhs()) return;
  const size_t batch = dims.getLhsBatchingDimensions().size();
  const size_t sums = dims.getLhsContractingDimensions().size();
  const Dims ofBatch = countedFrom(0, batch);
  auto made = shlo::DotGeneralOp::create(
      b, dot.getLoc(), dot.getType(), lhs, rhs,
      shlo::DotDimensionNumbersAttr::get(b.getContext(), ofBatch, ofBatch,
                                         countedFrom(left.size() - sums, sums),
                                         countedFrom(right.size() - sums, sums)),
      dot.getPrecisionConfigAttr(), dot.getAlgorithmAttr());
  if (accepts(made)) {
    dot.replaceAllUsesWith(made.getResult());
    dot.erase();
    return;
  }
  made.erase();
  for (mlir::Value operand : {rhs, lhs}) {
    mlir::Operation* transpose = operand.getDefiningOp();
    if (operand != dot.getLhs() && operand != dot.getRhs() && transpose->use_empty())
      transpose->erase();
  }
}

}  // namespace

void arrangeIntegerProducts(mlir::ModuleOp module,
                            const std::function<bool(shlo::DotGeneralOp)>& accepts) {
  llvm::SmallVector<shlo::DotGeneralOp> products;
  module.walk([&](shlo::DotGeneralOp dot) {
    if (isOfIntegers(dot)) products.push_back(dot);
  });
  for (shlo::DotGeneralOp dot : products) arrange(dot, accepts);
}

}  // namespace isthmus::cuda
