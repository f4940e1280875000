// Traits of several operations: agreement of operand and result types up to what is dynamic.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/OpDefinition.h"

namespace isthmus::shlo {

// The most specific type that all of `types` agree with: static sizes win over dynamic ones, and
// smaller bounds over larger ones. Fails, with a message if there is a location, where they differ.
mlir::FailureOr<mlir::Type> mostSpecificType(std::optional<mlir::Location> location,
                                             mlir::TypeRange types);

// The least specific one: what a value may be that has one of `types`.
mlir::FailureOr<mlir::Type> leastSpecificType(std::optional<mlir::Location> location,
                                              mlir::TypeRange types);

// Checks the stated result types of an operation against the inferred ones. The message has the
// label of the first rule, or of the last one where only element types differ.
mlir::LogicalResult verifyResults(std::optional<mlir::Location> location, llvm::StringRef op,
                                  llvm::ArrayRef<llvm::StringRef> rules, mlir::TypeRange inferred,
                                  mlir::TypeRange stated);

namespace internal {
mlir::LogicalResult verifyCompatibleTypes(mlir::Operation* op);
mlir::LogicalResult verifyCompatibleElementTypes(mlir::Operation* op, bool withResults);
mlir::LogicalResult verifyPairwise(mlir::Operation* op, bool elementTypesOnly);
}  // namespace internal

// All operands and results have compatible types, and the result is the most specific of them.
template <typename Op>
struct CompatibleOperandsAndResultType
    : mlir::OpTrait::TraitBase<Op, CompatibleOperandsAndResultType> {
  static mlir::LogicalResult verifyTrait(mlir::Operation* op) {
    return internal::verifyCompatibleTypes(op);
  }
  static mlir::LogicalResult inferReturnTypes(mlir::MLIRContext*,
                                              std::optional<mlir::Location> location,
                                              mlir::ValueRange operands, mlir::DictionaryAttr,
                                              mlir::OpaqueProperties, mlir::RegionRange,
                                              llvm::SmallVectorImpl<mlir::Type>& types) {
    mlir::FailureOr<mlir::Type> type = mostSpecificType(location, operands.getTypes());
    if (mlir::failed(type)) return mlir::failure();
    types.push_back(*type);
    return mlir::success();
  }
};

// All operands and results have compatible element types.
template <typename Op>
struct CompatibleOperandsAndResultElementType
    : mlir::OpTrait::TraitBase<Op, CompatibleOperandsAndResultElementType> {
  static mlir::LogicalResult verifyTrait(mlir::Operation* op) {
    return internal::verifyCompatibleElementTypes(op, /*withResults=*/true);
  }
};

// All operands have compatible element types.
template <typename Op>
struct CompatibleOperandsElementType : mlir::OpTrait::TraitBase<Op, CompatibleOperandsElementType> {
  static mlir::LogicalResult verifyTrait(mlir::Operation* op) {
    return internal::verifyCompatibleElementTypes(op, /*withResults=*/false);
  }
};

// There are as many results as operands, of the same types.
template <typename Op>
struct PairwiseSameOperandAndResultType
    : mlir::OpTrait::TraitBase<Op, PairwiseSameOperandAndResultType> {
  static mlir::LogicalResult verifyTrait(mlir::Operation* op) {
    return internal::verifyPairwise(op, /*elementTypesOnly=*/false);
  }
};

// There are as many results as operands, of the same element types.
template <typename Op>
struct PairwiseSameOperandAndResultElementType
    : mlir::OpTrait::TraitBase<Op, PairwiseSameOperandAndResultElementType> {
  static mlir::LogicalResult verifyTrait(mlir::Operation* op) {
    return internal::verifyPairwise(op, /*elementTypesOnly=*/true);
  }
};

}  // namespace isthmus::shlo
