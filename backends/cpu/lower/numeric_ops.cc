// Random bits, Fourier transforms, special functions and dense linear algebra as library calls.

#include "backends/cpu/kernels/fft/fft.h"
#include "backends/cpu/kernels/linalg/linalg.h"
#include "backends/cpu/kernels/rng/rng.h"
#include "backends/cpu/kernels/special_functions.h"
#include "backends/cpu/lower/library_ops.h"
#include "compiler/cost/library_time.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/type_conversion.h"

namespace isthmus::cpu {
namespace {

bool isLinalgType(ElementType type) {
  return type == ElementType::kF32 || type == ElementType::kF64 || type == ElementType::kC64 ||
         type == ElementType::kC128;
}

int64_t batchOf(const ArrayType& type, size_t inner) {
  int64_t batch = 1;
  for (size_t d = 0; d + inner < type.dims.size(); ++d) batch *= type.dims[d];
  return batch;
}

}  // namespace

StatusOr<OperationCode> lowerRng(mlir::Operation* op, LibraryContext& context) {
  auto rng = llvm::cast<shlo::RngBitGeneratorOp>(op);
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType state, toArrayType(rng.getInitialState().getType()));
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType result, toArrayType(rng.getOutput().getType()));
  if (state.elementType != ElementType::kU64) return unimplemented("a state that is not of ui64");
  RngAlgorithm algorithm = RngAlgorithm::kDefault;
  switch (rng.getRngAlgorithm()) {
    case shlo::RngAlgorithm::DEFAULT:
      break;
    case shlo::RngAlgorithm::THREE_FRY:
      algorithm = RngAlgorithm::kThreeFry;
      break;
    case shlo::RngAlgorithm::PHILOX:
      algorithm = RngAlgorithm::kPhilox;
      break;
  }
  ISTHMUS_ASSIGN_OR_RETURN(
      RngDescriptor descriptor,
      makeRngDescriptor(algorithm, state.numElements(), result.elementType, result.dims));
  OperationCode code;
  code.libraryFunction = "isthmus_rt_rng";
  code.descriptor = descriptorBytes(descriptor);
  code.estimatedNs = libraryNs(context.target, op);
  return code;
}

StatusOr<OperationCode> lowerSpecialFunction(mlir::Operation* op, LibraryContext& context) {
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType type, toArrayType(op->getResult(0).getType()));
  const SpecialFunction function = *specialFunctionOf(op->getName().stripDialect());
  if (!hasSpecialFunction(function, type.elementType)) return unimplemented("this element type");
  for (mlir::Type operand : op->getOperandTypes()) {
    if (operand != op->getResult(0).getType()) return unimplemented("operands of other types");
  }
  OperationCode code;
  code.libraryFunction = "isthmus_rt_special";
  code.descriptor =
      descriptorBytes(SpecialDescriptor{function, type.elementType, type.numElements()});
  code.estimatedNs = libraryNs(context.target, op);
  return code;
}

StatusOr<OperationCode> lowerFft(mlir::Operation* op, LibraryContext& context) {
  auto fft = llvm::cast<shlo::FftOp>(op);
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType operand, toArrayType(fft.getOperand().getType()));
  FftType type = FftType::kFft;
  switch (fft.getFftType()) {
    case shlo::FftType::FFT:
      break;
    case shlo::FftType::IFFT:
      type = FftType::kIfft;
      break;
    case shlo::FftType::RFFT:
      type = FftType::kRfft;
      break;
    case shlo::FftType::IRFFT:
      type = FftType::kIrfft;
      break;
  }
  llvm::ArrayRef<int64_t> lengths = fft.getFftLength();
  ISTHMUS_ASSIGN_OR_RETURN(
      FftDescriptor descriptor,
      makeFftDescriptor(type, operand.elementType, operand.dims, {lengths.data(), lengths.size()}));
  OperationCode code;
  code.libraryFunction = "isthmus_rt_fft";
  code.descriptor = descriptorBytes(descriptor);
  code.estimatedNs = libraryNs(context.target, op);
  return code;
}

StatusOr<OperationCode> lowerCholesky(mlir::Operation* op, LibraryContext& context) {
  auto cholesky = llvm::cast<shlo::CholeskyOp>(op);
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType type, toArrayType(cholesky.getA().getType()));
  if (!isLinalgType(type.elementType)) return unimplemented("another element type");
  CholeskyDescriptor descriptor{};
  descriptor.type = type.elementType;
  descriptor.lower = cholesky.getLower();
  descriptor.batch = batchOf(type, 2);
  descriptor.n = type.dims.back();
  OperationCode code;
  code.libraryFunction = "isthmus_rt_cholesky";
  code.descriptor = descriptorBytes(descriptor);
  code.estimatedNs = libraryNs(context.target, op);
  return code;
}

StatusOr<OperationCode> lowerTriangularSolve(mlir::Operation* op, LibraryContext& context) {
  auto solve = llvm::cast<shlo::TriangularSolveOp>(op);
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType type, toArrayType(solve.getB().getType()));
  if (!isLinalgType(type.elementType)) return unimplemented("another element type");
  TriangularSolveDescriptor descriptor{};
  descriptor.type = type.elementType;
  descriptor.leftSide = solve.getLeftSide();
  descriptor.lower = solve.getLower();
  descriptor.unitDiagonal = solve.getUnitDiagonal();
  switch (solve.getTransposeA()) {
    case shlo::Transpose::TRANSPOSE:
      descriptor.transpose = TriangularTranspose::kTranspose;
      break;
    case shlo::Transpose::ADJOINT:
      descriptor.transpose = TriangularTranspose::kAdjoint;
      break;
    default:
      descriptor.transpose = TriangularTranspose::kNone;
  }
  descriptor.batch = batchOf(type, 2);
  descriptor.rows = type.dims[type.dims.size() - 2];
  descriptor.cols = type.dims.back();
  OperationCode code;
  code.libraryFunction = "isthmus_rt_triangular_solve";
  code.descriptor = descriptorBytes(descriptor);
  code.estimatedNs = libraryNs(context.target, op);
  return code;
}

}  // namespace isthmus::cpu
