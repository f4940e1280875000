// Compatibility of types, and the traits that are made of it.
#include "compiler/dialect/traits.h"

#include <algorithm>

#include "compiler/dialect/dialect.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus::shlo {
namespace {

using mlir::ShapedType;

bool areElementsCompatible(mlir::Type a, mlir::Type b) {
  auto qa = llvm::dyn_cast<mlir::quant::QuantizedType>(a);
  auto qb = llvm::dyn_cast<mlir::quant::QuantizedType>(b);
  if (!qa || !qb) return a == b;
  return qa.getStorageType() == qb.getStorageType() &&
         qa.getStorageTypeMin() == qb.getStorageTypeMin() &&
         qa.getStorageTypeMax() == qb.getStorageTypeMax() &&
         qa.getExpressedType() == qb.getExpressedType() &&
         llvm::isa<mlir::quant::UniformQuantizedPerAxisType>(qa) ==
             llvm::isa<mlir::quant::UniformQuantizedPerAxisType>(qb);
}

llvm::ArrayRef<int64_t> boundsOf(mlir::RankedTensorType type) {
  auto extensions = llvm::dyn_cast_or_null<TypeExtensionsAttr>(type.getEncoding());
  return extensions ? extensions.getBounds() : llvm::ArrayRef<int64_t>();
}

// A size, and for a dynamic one its bound; each may be kDynamic.
struct Extent {
  int64_t size = ShapedType::kDynamic;
  int64_t bound = ShapedType::kDynamic;
  bool isStatic() const { return !ShapedType::isDynamic(size); }
  bool isBounded() const { return !ShapedType::isDynamic(bound); }
};

Extent extentOf(mlir::RankedTensorType type, unsigned dim) {
  llvm::ArrayRef<int64_t> bounds = boundsOf(type);
  return {type.getDimSize(dim), bounds.empty() ? ShapedType::kDynamic : bounds[dim]};
}

bool areCompatible(Extent a, Extent b) {
  if (a.isStatic() && b.isStatic()) return a.size == b.size;
  if (a.isStatic() && b.isBounded()) return a.size <= b.bound;
  if (b.isStatic() && a.isBounded()) return b.size <= a.bound;
  return true;
}

Extent mostSpecific(Extent a, Extent b) {
  if (a.isStatic()) return {a.size};
  if (b.isStatic()) return {b.size};
  if (a.isBounded() && b.isBounded()) return {ShapedType::kDynamic, std::min(a.bound, b.bound)};
  return a.isBounded() ? a : b;
}

Extent leastSpecific(Extent a, Extent b) {
  if (a.isStatic() && b.isStatic()) return a;
  int64_t most[2] = {a.isStatic() ? a.size : a.bound, b.isStatic() ? b.size : b.bound};
  if (ShapedType::isDynamic(most[0]) || ShapedType::isDynamic(most[1])) return {};
  return {ShapedType::kDynamic, std::max(most[0], most[1])};
}

mlir::FailureOr<mlir::Type> mergeTensors(std::optional<mlir::Location> location,
                                         llvm::ArrayRef<mlir::RankedTensorType> types,
                                         bool wantsMostSpecific) {
  mlir::RankedTensorType first = types.front();
  llvm::SmallVector<Extent> extents;
  for (int64_t dim = 0; dim < first.getRank(); ++dim) extents.push_back(extentOf(first, dim));
  bool hasBounds = !boundsOf(first).empty();
  for (mlir::RankedTensorType type : types.drop_front()) {
    if (type.getRank() != first.getRank()) {
      return mlir::emitOptionalError(location, "types differ in rank: ", first, " and ", type);
    }
    hasBounds |= !boundsOf(type).empty();
    for (auto [dim, extent] : llvm::enumerate(extents)) {
      Extent other = extentOf(type, dim);
      bool agree = wantsMostSpecific
                       ? areCompatible(extent, other)
                       : !extent.isStatic() || !other.isStatic() || extent.size == other.size;
      if (!agree) {
        return mlir::emitOptionalError(location, "types differ in dimension ", dim, ": ", first,
                                       " and ", type);
      }
      extent = wantsMostSpecific ? mostSpecific(extent, other) : leastSpecific(extent, other);
    }
  }
  llvm::SmallVector<int64_t> sizes, bounds;
  for (Extent extent : extents) {
    sizes.push_back(extent.size);
    bounds.push_back(extent.bound);
  }
  mlir::Attribute encoding = first.getEncoding();
  if (hasBounds) {
    encoding = llvm::all_of(bounds, ShapedType::isDynamic)
                   ? mlir::Attribute()
                   : TypeExtensionsAttr::get(first.getContext(), bounds);
  }
  return mlir::Type(mlir::RankedTensorType::get(sizes, first.getElementType(), encoding));
}

mlir::FailureOr<mlir::Type> mergeTypes(std::optional<mlir::Location> location,
                                       mlir::TypeRange types, bool wantsMostSpecific) {
  if (types.empty()) return mlir::emitOptionalError(location, "expected at least one operand");
  if (auto tuple = llvm::dyn_cast<mlir::TupleType>(types.front())) {
    llvm::SmallVector<mlir::Type> elements;
    for (size_t i = 0; i < tuple.size(); ++i) {
      llvm::SmallVector<mlir::Type> column;
      for (mlir::Type type : types) {
        auto other = llvm::dyn_cast<mlir::TupleType>(type);
        if (!other || other.size() != tuple.size()) {
          return mlir::emitOptionalError(location, "tuples differ: ", tuple, " and ", type);
        }
        column.push_back(other.getType(i));
      }
      mlir::FailureOr<mlir::Type> merged = mergeTypes(location, column, wantsMostSpecific);
      if (mlir::failed(merged)) return mlir::failure();
      elements.push_back(*merged);
    }
    return mlir::Type(mlir::TupleType::get(tuple.getContext(), elements));
  }
  llvm::SmallVector<mlir::RankedTensorType> tensors;
  for (mlir::Type type : types) {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    if (!tensor) return type;
    tensors.push_back(tensor);
  }
  return mergeTensors(location, tensors, wantsMostSpecific);
}

}  // namespace

bool areCompatible(mlir::Type a, mlir::Type b) {
  auto ta = llvm::dyn_cast<mlir::RankedTensorType>(a);
  auto tb = llvm::dyn_cast<mlir::RankedTensorType>(b);
  if (!ta || !tb) {
    auto sa = llvm::dyn_cast<ShapedType>(a), sb = llvm::dyn_cast<ShapedType>(b);
    if (!sa || !sb) return a == b;
    return areElementsCompatible(sa.getElementType(), sb.getElementType()) &&
           (llvm::isa<mlir::UnrankedTensorType>(a) || llvm::isa<mlir::UnrankedTensorType>(b) ||
            a == b);
  }
  if (ta.getRank() != tb.getRank()) return false;
  for (int64_t dim = 0; dim < ta.getRank(); ++dim) {
    if (!areCompatible(extentOf(ta, dim), extentOf(tb, dim))) return false;
  }
  return areElementsCompatible(ta.getElementType(), tb.getElementType());
}

bool areCompatible(mlir::TypeRange a, mlir::TypeRange b) {
  return a.size() == b.size() && llvm::all_of(llvm::zip(a, b), [](auto pair) {
           return areCompatible(std::get<0>(pair), std::get<1>(pair));
         });
}

mlir::FailureOr<mlir::Type> mostSpecificType(std::optional<mlir::Location> location,
                                             mlir::TypeRange types) {
  return mergeTypes(location, types, /*wantsMostSpecific=*/true);
}

mlir::FailureOr<mlir::Type> leastSpecificType(std::optional<mlir::Location> location,
                                              mlir::TypeRange types) {
  return mergeTypes(location, types, /*wantsMostSpecific=*/false);
}

mlir::LogicalResult verifyResults(std::optional<mlir::Location> location, llvm::StringRef op,
                                  llvm::ArrayRef<llvm::StringRef> rules, mlir::TypeRange inferred,
                                  mlir::TypeRange stated) {
  if (areCompatible(inferred, stated)) return mlir::success();
  bool sameShapes =
      inferred.size() == stated.size() && llvm::all_of(llvm::zip(inferred, stated), [](auto pair) {
        auto a = llvm::dyn_cast<mlir::RankedTensorType>(std::get<0>(pair));
        auto b = llvm::dyn_cast<mlir::RankedTensorType>(std::get<1>(pair));
        return a && b && areCompatible(a, b.clone(a.getElementType()));
      });
  return mlir::emitOptionalError(location, "'", op, "' op ", op.split('.').second, "_",
                                 sameShapes ? rules.back() : rules.front(), ": the result is ",
                                 stated, ", expected ", inferred);
}

namespace internal {

mlir::LogicalResult verifyCompatibleTypes(mlir::Operation* op) {
  mlir::Type expected =
      op->getNumOperands() ? op->getOperand(0).getType() : op->getResult(0).getType();
  for (auto types :
       {mlir::TypeRange(op->getOperandTypes()), mlir::TypeRange(op->getResultTypes())}) {
    for (mlir::Type type : types) {
      if (!areCompatible(expected, type)) {
        return op->emitOpError("requires compatible types for all operands and results, got ")
               << expected << " and " << type;
      }
    }
  }
  return mlir::success();
}

mlir::LogicalResult verifyCompatibleElementTypes(mlir::Operation* op, bool withResults) {
  mlir::Type expected = mlir::getElementTypeOrSelf(op->getOperand(0).getType());
  auto check = [&](mlir::TypeRange types) -> mlir::LogicalResult {
    for (mlir::Type type : types) {
      if (!areElementsCompatible(expected, mlir::getElementTypeOrSelf(type))) {
        return op->emitOpError("requires compatible element types for all operands")
               << (withResults ? " and results" : "") << ", got " << expected << " and "
               << mlir::getElementTypeOrSelf(type);
      }
    }
    return mlir::success();
  };
  if (mlir::failed(check(op->getOperandTypes()))) return mlir::failure();
  return withResults ? check(op->getResultTypes()) : mlir::success();
}

mlir::LogicalResult verifyPairwise(mlir::Operation* op, bool elementTypesOnly) {
  if (op->getNumOperands() != op->getNumResults()) {
    return op->emitOpError("requires as many results as operands, got ")
           << op->getNumResults() << " and " << op->getNumOperands();
  }
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    mlir::Type operand = op->getOperand(i).getType(), result = op->getResult(i).getType();
    if (elementTypesOnly) {
      operand = mlir::getElementTypeOrSelf(operand);
      result = mlir::getElementTypeOrSelf(result);
    }
    if (operand != result) {
      return op->emitOpError("requires the same ")
             << (elementTypesOnly ? "element type" : "type") << " for operand and result " << i
             << ", got " << operand << " and " << result;
    }
  }
  return mlir::success();
}

}  // namespace internal
}  // namespace isthmus::shlo
