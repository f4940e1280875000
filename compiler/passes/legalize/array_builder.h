// Builds expressions over arrays.
#pragma once

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/array_shape.h"
#include "mlir/IR/Builders.h"

namespace isthmus {

// Every operation is built where the builder stands, at the source location of `op`.
class ArrayBuilder {
 public:
  using Value = mlir::Value;
  using Type = mlir::RankedTensorType;

  ArrayBuilder(mlir::Operation* op, mlir::OpBuilder& builder)
      : builder_(builder), location_(op->getLoc()) {}

  // An array of one number, of the real or integer type `type`.
  Value splat(double number, Type type);
  Value like(double number, Value model) { return splat(number, tensorTypeOf(model)); }
  // Zeros of any element type.
  Value zeros(Type type);
  // The index along `dim` at each place.
  Value iota(Type type, int64_t dim) {
    return shlo::IotaOp::create(builder_, location_, type, dim);
  }

  // An operation whose result has its first operand's type.
  template <typename Op, typename... Operands>
  Value make(Value first, Operands... rest) {
    return Op::create(builder_, location_, first.getType(), first, rest...);
  }
  Value add(Value a, Value b) { return make<shlo::AddOp>(a, b); }
  Value sub(Value a, Value b) { return make<shlo::SubtractOp>(a, b); }
  Value mul(Value a, Value b) { return make<shlo::MulOp>(a, b); }
  Value div(Value a, Value b) { return make<shlo::DivOp>(a, b); }

  Value compare(Value a, Value b, shlo::ComparisonDirection direction) {
    return shlo::CompareOp::create(builder_, location_, a, b, direction,
                                   shlo::ComparisonType::NOTYPE);
  }
  Value select(Value condition, Value onTrue, Value onFalse) {
    return shlo::SelectOp::create(builder_, location_, onTrue.getType(), condition, onTrue,
                                  onFalse);
  }
  Value convert(Value value, mlir::Type elementType);
  Value broadcast(Value value, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dimensions);
  Value reshape(Value value, llvm::ArrayRef<int64_t> shape);
  // The elements from `starts` to before `limits`.
  Value slice(Value value, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> limits);
  // The sum over these dimensions.
  Value sum(Value value, llvm::ArrayRef<int64_t> dimensions);
  // The largest over these dimensions, or `least` if none is larger.
  Value largest(Value value, double least, llvm::ArrayRef<int64_t> dimensions);

  // Whether a region's block does nothing to its scalars that cannot be done to whole arrays.
  static bool isElementwise(mlir::Block& body);
  // What such a block returns (its first result) for arrays of one shape.
  Value apply(mlir::Block& body, mlir::ValueRange arrays);

  mlir::OpBuilder& builder() { return builder_; }
  mlir::Location location() const { return location_; }

 private:
  // What `Combiner` makes of all elements over these dimensions, from `init` on.
  template <typename Combiner>
  Value reduce(Value value, Value init, llvm::ArrayRef<int64_t> dimensions);

  mlir::OpBuilder& builder_;
  mlir::Location location_;
};

}  // namespace isthmus
