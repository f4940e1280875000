#include "compiler/schedule/products/product_shape.h"

#include "mlir/IR/BuiltinTypes.h"

namespace isthmus {

ElementKind accumulationKind(const ElementKind& lhs, const ElementKind& rhs,
                             const ElementKind& result, mlir::MLIRContext* context) {
  if (!result.isFloat() && !result.isComplex()) return result;
  bool isWide = false;
  for (const ElementKind* kind : {&lhs, &rhs, &result}) {
    isWide |= (kind->isFloat() || kind->isComplex()) && kind->bits == 64;
  }
  mlir::Type part = isWide ? mlir::Type(mlir::Float64Type::get(context))
                           : mlir::Type(mlir::Float32Type::get(context));
  return *elementKind(result.isComplex() ? mlir::ComplexType::get(part) : part);
}

std::optional<ProductKinds> productKindsOf(mlir::Operation* op) {
  std::optional<ElementKind> lhs = kindOf(op->getOperand(0)), rhs = kindOf(op->getOperand(1)),
                             result = kindOf(op->getResult(0));
  if (!lhs || !rhs || !result) return std::nullopt;
  return ProductKinds{*lhs, *rhs, *result, accumulationKind(*lhs, *rhs, *result, op->getContext())};
}

std::optional<ProductShape> shapeOf(const DotRoles& roles) {
  if (roles.contracting.size() != 1) return std::nullopt;
  ProductShape shape;
  shape.batches = sizeOf(roles.batch);
  shape.rows = sizeOf(roles.rows);
  shape.columns = sizeOf(roles.columns);
  shape.contracting = roles.contracting[0].size;
  shape.lhsStride = roles.contracting[0].lhsStride;
  shape.rhsStride = roles.contracting[0].rhsStride;
  return shape;
}

std::optional<ProductShape> shapeOf(const ConvRoles& roles) {
  if (roles.featureGroups != 1 || roles.batchGroups != 1) return std::nullopt;
  ProductShape shape;
  shape.rows = roles.batch;
  shape.columns = roles.outputFeatures;
  shape.contracting = roles.inputFeatures;
  shape.lhsStride = roles.inputFeatureStride;
  shape.rhsStride = roles.kernelInputStride;
  for (const ConvSpatialRole& s : roles.spatial) {
    if (s.lhsDilation != 1 || s.inputSize == 0 || s.kernelSize == 0) return std::nullopt;
    shape.rows *= s.outputSize;
    shape.window.push_back(s.kernelSize);
  }
  return shape;
}

}  // namespace isthmus
