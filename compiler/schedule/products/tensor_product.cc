#include "compiler/schedule/products/tensor_product.h"

#include "compiler/schedule/products/conv_product.h"
#include "compiler/schedule/products/roles.h"

namespace isthmus {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 30;

// The one dimension of a role; of none, one of size 1.
std::optional<DotDimension> only(const DotDimensions& dims) {
  if (dims.empty()) return DotDimension{1, 0, 0};
  return dims.size() == 1 ? std::optional(dims[0]) : std::nullopt;
}

std::optional<MatrixProduct> dotProductOf(shlo::DotGeneralOp op) {
  DotRoles roles = dotRolesOf(op);
  std::optional<DotDimension> outer = DotDimension{1, 0, 0};
  if (roles.batch.size() == 2) {
    outer = roles.batch[0];
    roles.batch.erase(roles.batch.begin());
  }
  auto batch = only(roles.batch), rows = only(roles.rows), columns = only(roles.columns),
       contracting = only(roles.contracting);
  if (!batch || !rows || !columns || !contracting) return std::nullopt;
  for (const auto& dim : {*outer, *batch, *rows, *columns, *contracting}) {
    if (dim.size < 1 || dim.size > kMaxSize) return std::nullopt;
  }
  auto lhs =
      matrixOperandOf(rows->lhsStride, contracting->lhsStride, batch->lhsStride, outer->lhsStride);
  auto rhs = matrixOperandOf(columns->rhsStride, contracting->rhsStride, batch->rhsStride,
                             outer->rhsStride);
  if (!lhs || !rhs) return std::nullopt;
  if (outer->size > kMaxSize / batch->size) return std::nullopt;
  return MatrixProduct{batch->size, rows->size, columns->size, contracting->size,
                       *lhs,        *rhs,       outer->size};
}

// Whether an operand can be read in chunks of `vector` elements.
bool isInChunks(const MatrixOperand& operand, int64_t lines, int64_t contracting, TensorType type,
                int64_t vector) {
  if (operand.stride % vector != 0 || operand.batchStride % vector != 0 ||
      operand.outerStride % vector != 0) {
    return false;
  }
  if (operand.alongContracting) return contracting % vector == 0;
  // Transposed loads are of 16-bit elements.
  return lines % vector == 0 && type != TensorType::kS8;
}

}  // namespace

std::optional<MatrixOperand> matrixOperandOf(int64_t lineStride, int64_t contractingStride,
                                             int64_t batchStride, int64_t outerStride) {
  if (contractingStride == 1) return MatrixOperand{true, lineStride, batchStride, outerStride};
  // The only line lies as one of a matrix across it does.
  if (lineStride == 1 || lineStride == 0) {
    return MatrixOperand{false, contractingStride, batchStride, outerStride};
  }
  return std::nullopt;
}

std::optional<MatrixProduct> matrixProductOf(mlir::Operation* op) {
  if (auto dot = llvm::dyn_cast<shlo::DotGeneralOp>(op)) return dotProductOf(dot);
  if (auto conv = llvm::dyn_cast<shlo::ConvolutionOp>(op)) return convProductOf(conv);
  return std::nullopt;
}

std::optional<TensorType> tensorTypeOf(const ProductKinds& kinds) {
  const ElementKind &lhs = kinds.lhs, &rhs = kinds.rhs, &result = kinds.result;
  auto isSigned = [](const ElementKind& kind, unsigned bits) {
    return kind.isInteger() && kind.isSigned && kind.bits == bits;
  };
  if (isSigned(lhs, 8) && isSigned(rhs, 8) && isSigned(result, 32)) return TensorType::kS8;
  // Products of these are exact in f32.
  bool hasFloatResult =
      result.isFloat() && (result.isF16 || result.isBf16 || result.bits == 32) && !result.format;
  if (!hasFloatResult) return std::nullopt;
  if (lhs.isBf16 && rhs.isBf16) return TensorType::kBf16;
  if (lhs.isF16 && rhs.isF16) return TensorType::kF16;
  return std::nullopt;
}

bool isInChunks(const MatrixProduct& product, TensorType type, int64_t chunkBytes) {
  const int64_t vector = chunkBytes / bytesOf(type);
  return isInChunks(product.lhs, product.rows, product.contracting, type, vector) &&
         isInChunks(product.rhs, product.columns, product.contracting, type, vector);
}

}  // namespace isthmus
