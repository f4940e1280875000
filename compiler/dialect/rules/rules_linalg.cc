// Rules and types of batch normalisation, factorisations and Fourier transforms.
#include "compiler/dialect/rules/rules.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus::shlo {

using mlir::failed;
using mlir::failure;
using mlir::LogicalResult;
using mlir::success;

namespace {

// Checks the feature dimension and the vectors along it; `feature` becomes their type.
LogicalResult verifyFeatures(const Rules& rules, mlir::RankedTensorType operand, int64_t index,
                             mlir::ValueRange vectors, llvm::StringRef sizeRule,
                             mlir::RankedTensorType& feature) {
  if (failed(rules.inRange("c1", "feature_index", index, 0, operand.getRank()))) return failure();
  int64_t size = operand.getDimSize(index);
  for (mlir::Value vector : vectors) {
    if (!agree(size, tensorType(vector).getDimSize(0))) {
      return rules.violates(sizeRule, vector.getType(), " goes along dimension ", index, " of ",
                            operand, ", expected the same size");
    }
  }
  Dims bounds = boundsOf(operand);
  feature =
      boundedType(size, operand.getElementType(), bounds.empty() ? bounds : bounds.slice(index, 1));
  return success();
}

}  // namespace

ISTHMUS_INFER(BatchNormTrainingOp, "batch_norm_training") {
  mlir::RankedTensorType operand = tensorType(op.getOperand()), feature;
  if (failed(verifyFeatures(rules, operand, op.getFeatureIndex(), {op.getScale(), op.getOffset()},
                            "c3", feature))) {
    return failure();
  }
  types.append({operand, feature, feature});
  return success();
}

ISTHMUS_INFER(BatchNormInferenceOp, "batch_norm_inference") {
  mlir::RankedTensorType operand = tensorType(op.getOperand()), feature;
  if (failed(verifyFeatures(rules, operand, op.getFeatureIndex(),
                            {op.getScale(), op.getOffset(), op.getMean(), op.getVariance()}, "c3",
                            feature))) {
    return failure();
  }
  types.push_back(operand);
  return success();
}

ISTHMUS_INFER(BatchNormGradOp, "batch_norm_grad") {
  mlir::RankedTensorType operand = tensorType(op.getOperand()), feature;
  if (!agree(operand.getShape(), tensorType(op.getGradOutput()).getShape())) {
    return rules.violates("c3", "the operand is ", operand, " and grad_output ",
                          op.getGradOutput().getType(), ", expected the same shape");
  }
  if (failed(verifyFeatures(rules, operand, op.getFeatureIndex(),
                            {op.getScale(), op.getMean(), op.getVariance()}, "c5", feature))) {
    return failure();
  }
  types.append({operand, feature, feature});
  return success();
}

ISTHMUS_INFER(CholeskyOp, "cholesky") {
  mlir::RankedTensorType a = tensorType(op.getA());
  if (a.getRank() < 2) return rules.violates("c2", "a is ", a, ", expected rank 2 or more");
  if (!agree(a.getShape().back(), a.getDimSize(a.getRank() - 2))) {
    return rules.violates("c3", "a is ", a, ", expected square matrices");
  }
  types.push_back(a);
  return success();
}

ISTHMUS_INFER(TriangularSolveOp, "triangular_solve") {
  mlir::RankedTensorType a = tensorType(op.getA()), b = tensorType(op.getB());
  int64_t rank = a.getRank();
  if (rank < 2 || b.getRank() != rank) {
    return rules.violates("c2", "operands are ", a, " and ", b,
                          ", expected the same rank of 2 or more");
  }
  int64_t size = a.getDimSize(rank - 1);
  if (!agree(size, a.getDimSize(rank - 2))) {
    return rules.violates("c3", "a is ", a, ", expected square matrices");
  }
  if (!agree(size, b.getDimSize(op.getLeftSide() ? rank - 2 : rank - 1)) ||
      !agree(a.getShape().drop_back(2), b.getShape().drop_back(2))) {
    return rules.violates("c3", "a is ", a, " and b ", b, ", expected sizes that fit");
  }
  if (op.getTransposeA() == Transpose::TRANSPOSE_INVALID) {
    return rules.violates("i6", "transpose_a is TRANSPOSE_INVALID, expected a transposition");
  }
  types.push_back(b);
  return success();
}

ISTHMUS_INFER(FftOp, "fft") {
  mlir::RankedTensorType operand = tensorType(op.getOperand());
  Dims length = op.getFftLength();
  int64_t count = length.size();
  if (count < 1 || count > 3) {
    return rules.violates("c3", "fft_length is ", text(length), ", expected 1 to 3 numbers");
  }
  if (count > operand.getRank()) {
    return rules.violates("c1", "fft_length is ", text(length), " for ", operand,
                          ", expected no more numbers than dimensions");
  }
  mlir::Type element = operand.getElementType();
  auto complex = llvm::dyn_cast<mlir::ComplexType>(element);
  bool isReal = op.getFftType() == FftType::RFFT, toReal = op.getFftType() == FftType::IRFFT;
  if (isReal ? !element.isF32() && !element.isF64() : !complex) {
    return rules.violates("c2", "the operand is ", operand, ", expected ",
                          isReal ? "f32 or f64" : "complex", " values");
  }
  Dims tail = operand.getShape().take_back(count);
  llvm::SmallVector<int64_t> shape(operand.getShape());
  llvm::SmallVector<int64_t> bounds(boundsOf(operand));
  if (!bounds.empty() && (isReal || toReal)) bounds.back() = mlir::ShapedType::kDynamic;
  int64_t half = length.back() == 0 ? 0 : length.back() / 2 + 1;
  if (isReal) {
    if (!agree(tail, length)) {
      return rules.violates("c4", "the operand is ", operand, ", expected it to end in ",
                            text(length));
    }
    shape.back() = half;
    element = mlir::ComplexType::get(element);
  } else if (toReal) {
    if (!agree(tail.drop_back(), length.drop_back())) {
      return rules.violates("c4", "the operand is ", operand, ", expected it to end in ",
                            text(length));
    }
    // Of no real values, both counts are in use: none, and the formula's one (irfft of one value).
    if (!agree(tail.back(), half) && !(length.back() == 0 && tail.back() == 1)) {
      return rules.violates("c5", "the last dimension of ", operand, " is ", tail.back(),
                            ", expected ", half);
    }
    shape.back() = length.back();
    element = complex.getElementType();
  }
  types.push_back(boundedType(shape, element, bounds));
  return success();
}

}  // namespace isthmus::shlo
