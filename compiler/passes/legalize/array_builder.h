// Builds expressions over arrays for rewrite rules.
#pragma once

#include "compiler/dialect/dialect.h"
#include "mlir/IR/PatternMatch.h"

namespace isthmus {

// Every operation is built at `op`'s place in the program, before it.
class ArrayBuilder {
 public:
  using Value = mlir::Value;
  using Type = mlir::RankedTensorType;

  ArrayBuilder(mlir::Operation* op, mlir::PatternRewriter& rewriter)
      : rewriter_(rewriter), location_(op->getLoc()) {}

  static Type typeOf(Value value) { return llvm::cast<Type>(value.getType()); }

  // An array of one number, of the real or integer type `type`.
  Value splat(double number, Type type);
  Value like(double number, Value model) { return splat(number, typeOf(model)); }
  // Zeros of any element type.
  Value zeros(Type type);
  // The index along `dim` at each place.
  Value iota(Type type, int64_t dim) {
    return shlo::IotaOp::create(rewriter_, location_, type, dim);
  }

  // An operation whose result has its first operand's type.
  template <typename Op, typename... Operands>
  Value make(Value first, Operands... rest) {
    return Op::create(rewriter_, location_, first.getType(), first, rest...);
  }
  Value add(Value a, Value b) { return make<shlo::AddOp>(a, b); }
  Value sub(Value a, Value b) { return make<shlo::SubtractOp>(a, b); }
  Value mul(Value a, Value b) { return make<shlo::MulOp>(a, b); }
  Value div(Value a, Value b) { return make<shlo::DivOp>(a, b); }

  Value compare(Value a, Value b, shlo::ComparisonDirection direction) {
    return shlo::CompareOp::create(rewriter_, location_, a, b, direction,
                                   shlo::ComparisonType::NOTYPE);
  }
  Value select(Value condition, Value onTrue, Value onFalse) {
    return shlo::SelectOp::create(rewriter_, location_, onTrue.getType(), condition, onTrue,
                                  onFalse);
  }
  Value convert(Value value, mlir::Type elementType);
  Value broadcast(Value value, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dimensions);
  Value reshape(Value value, llvm::ArrayRef<int64_t> shape);

  mlir::PatternRewriter& rewriter() { return rewriter_; }
  mlir::Location location() const { return location_; }

 private:
  mlir::PatternRewriter& rewriter_;
  mlir::Location location_;
};

}  // namespace isthmus
