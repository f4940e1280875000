// What the evaluator of an operation is given.
#pragma once

#include <utility>
#include <vector>

#include "compiler/dialect/dialect.h"
#include "compiler/reference/interpreter.h"
#include "compiler/reference/scalar/number_format.h"
#include "compiler/reference/tensor.h"

namespace isthmus::reference {

// One evaluation of one operation: evaluators read operands and append results.
struct Call {
  mlir::Operation* op;
  llvm::ArrayRef<Value> operands;
  // The types to compute in: those of the results, or what quantized ones express.
  llvm::SmallVector<mlir::Type, 2> resultTypes;
  Interpreter& interpreter;
  Interpreter::Frame& frame;
  std::vector<Value> results = {};

  const Tensor& tensor(size_t i) const { return operands[i].tensor; }
  size_t numOperands() const { return operands.size(); }
  ElementType resultElementType(size_t i = 0) const;

  // A new tensor of zeros.
  StatusOr<Tensor> make(ElementType type, Dims dims) const {
    return Tensor::make({type, std::move(dims)}, interpreter.memory());
  }
  Status charge(int64_t steps) const { return interpreter.charge(steps); }

  // The results of a region of the operation.
  StatusOr<std::vector<Value>> run(mlir::Region& region, std::vector<Value> arguments) {
    return interpreter.runRegion(region, std::move(arguments), frame);
  }
  // A region of scalars to scalars, by their types.
  StatusOr<std::vector<Tensor>> runScalars(mlir::Region& region, std::vector<Tensor> arguments);
  // One element as a tensor of rank 0.
  StatusOr<Tensor> scalar(const Scalar& value, ElementType type) const;
  StatusOr<Tensor> element(const Tensor& source, int64_t position) const;
  // The same, converted to the type that argument `i` of the region's block has.
  StatusOr<Tensor> elementFor(mlir::Region& region, unsigned i, const Tensor& source,
                              int64_t position) const;
};

// Makes the tensor the next result, or returns its error.
Status addResult(Call& call, StatusOr<Tensor> result);

inline Dims toDims(llvm::ArrayRef<int64_t> dims) { return Dims(dims.begin(), dims.end()); }

// The operand as numbers, for shapes and indices. kInvalidArgument if it is no integer array.
StatusOr<Dims> integersOf(const Tensor& tensor);

// attr[d], or `otherwise` where the attribute is absent.
int64_t valueOr(std::optional<llvm::ArrayRef<int64_t>> values, size_t d, int64_t otherwise);

}  // namespace isthmus::reference
