// The multiply-convolutions pass: convolutions that are products of matrices become products, which
// have forms for few rows or columns, and kernels with epilogues.
#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/passes.h"
#include "compiler/schedule/products/conv_product.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"

namespace isthmus {

#define GEN_PASS_DEF_MULTIPLYCONVOLUTIONSPASS
#include "compiler/schedule/passes.h.inc"

namespace {

using Dims = llvm::SmallVector<int64_t>;

// Dimensions of the product's operands, whose order is that of the convolution's.
struct Contracted {
  Dims lhs, rhs;
};

// The kernel's spatial dimensions of one element are left out of `rhsShape` and not counted.
Contracted contractedOf(shlo::ConvolutionOp conv, Dims& rhsShape) {
  const shlo::ConvDimensionNumbersAttr numbers = conv.getDimensionNumbers();
  const llvm::ArrayRef<int64_t> kernel = shapeOf(conv.getRhs());
  Dims places(kernel.size(), 0);
  const llvm::ArrayRef<int64_t> windows = numbers.getKernelSpatialDimensions();
  for (int64_t d = 0; d < static_cast<int64_t>(kernel.size()); ++d) {
    places[static_cast<size_t>(d)] = static_cast<int64_t>(rhsShape.size());
    if (!llvm::is_contained(windows, d) || kernel[d] != 1) rhsShape.push_back(kernel[d]);
  }
  Contracted contracted{{numbers.getInputFeatureDimension()},
                        {places[static_cast<size_t>(numbers.getKernelInputFeatureDimension())]}};
  for (const auto& [from, window] : llvm::zip(numbers.getInputSpatialDimensions(), windows)) {
    if (kernel[window] == 1) continue;
    contracted.lhs.push_back(from);
    contracted.rhs.push_back(places[static_cast<size_t>(window)]);
  }
  return contracted;
}

Dims shapeWithout(llvm::ArrayRef<int64_t> shape, const Dims& dims) {
  Dims rest;
  for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
    if (!llvm::is_contained(dims, d)) rest.push_back(shape[static_cast<size_t>(d)]);
  }
  return rest;
}

void multiply(shlo::ConvolutionOp conv, mlir::IRRewriter& rewriter) {
  rewriter.setInsertionPoint(conv);
  const auto lhs = tensorTypeOf(conv.getLhs()), rhs = tensorTypeOf(conv.getRhs());
  Dims rhsShape;
  const Contracted contracted = contractedOf(conv, rhsShape);
  mlir::Value kernel = conv.getRhs();
  if (llvm::ArrayRef<int64_t>(rhsShape) != rhs.getShape()) {
    kernel = shlo::ReshapeOp::create(rewriter, conv.getLoc(),
                                     mlir::RankedTensorType::get(rhsShape, rhs.getElementType()),
                                     kernel);
  }
  Dims shape = shapeWithout(lhs.getShape(), contracted.lhs);
  shape.append(shapeWithout(rhsShape, contracted.rhs));
  const auto numbers =
      shlo::DotDimensionNumbersAttr::get(conv.getContext(), {}, {}, contracted.lhs, contracted.rhs);
  mlir::Value product = shlo::DotGeneralOp::create(
      rewriter, conv.getLoc(),
      mlir::RankedTensorType::get(shape, tensorTypeOf(conv.getResult()).getElementType()),
      conv.getLhs(), kernel, numbers, conv.getPrecisionConfigAttr(), shlo::DotAlgorithmAttr());
  if (product.getType() != conv.getType()) {
    product = shlo::ReshapeOp::create(rewriter, conv.getLoc(), conv.getType(), product);
  }
  rewriter.replaceOp(conv, product);
}

struct MultiplyConvolutionsPass
    : public impl::MultiplyConvolutionsPassBase<MultiplyConvolutionsPass> {
  void runOnOperation() override {
    mlir::IRRewriter rewriter(&getContext());
    getOperation().walk([&](shlo::ConvolutionOp conv) {
      if (convProductOf(conv)) multiply(conv, rewriter);
    });
  }
};

}  // namespace
}  // namespace isthmus
