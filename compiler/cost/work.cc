#include "compiler/cost/work.h"

#include <algorithm>

#include "compiler/cost/op_cost.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

// What `use` reads of the array: a part, where the operation takes rows or a block out of it.
double readBytes(mlir::OpOperand& use) {
  mlir::Operation* user = use.getOwner();
  double whole = bytesOf(use.get().getType());
  if (use.getOperandNumber() > 0) return whole;
  const OpFacts* facts = findOpFacts(user);
  if (facts && facts->readsPart) {
    return std::min(whole, bytesOf(user->getResult(0).getType()));
  }
  // Updated where it is: what is kept is not touched.
  if (llvm::isa<shlo::DynamicUpdateSliceOp>(user)) return 0;
  return whole;
}

double writtenBytes(mlir::Value value) {
  if (auto update = value.getDefiningOp<shlo::DynamicUpdateSliceOp>()) {
    return bytesOf(update.getUpdate().getType());
  }
  return bytesOf(value.getType());
}

double bytesRead(ir::FusionOp fusion) {
  double bytes = 0;
  for (mlir::BlockArgument argument : fusion.getBody().getArguments()) {
    double read = 0;
    for (mlir::OpOperand& use : argument.getUses()) read += readBytes(use);
    bytes += std::min(read, bytesOf(argument.getType()));
  }
  return bytes;
}

void addArithmetic(mlir::Operation& op, Work& work) {
  if (double products = productsOf(&op); products > 0) {
    work.products += products;
    return;
  }
  // Computed where its operand is, from an update that counts for itself.
  if (llvm::isa<shlo::DynamicUpdateSliceOp>(op)) return;
  double elements = 0;
  for (mlir::Type type : op.getResultTypes()) elements = std::max(elements, elementsOf(type));
  double cost = elementCost(&op);
  if (op.getNumRegions() > 0) {
    // Reductions and the like touch all their operands.
    for (mlir::Type type : op.getOperandTypes()) elements = std::max(elements, elementsOf(type));
    cost += bodyCost(&op) * windowElements(&op);
  }
  work.additions += cost * elements;
}

Work arithmeticOf(mlir::Operation* op) {
  Work work;
  auto fusion = llvm::dyn_cast<ir::FusionOp>(op);
  if (!fusion) {
    addArithmetic(*op, work);
  } else {
    for (mlir::Operation& inner : fusion.getBody().front()) addArithmetic(inner, work);
  }
  return work;
}

}  // namespace

double elementsOf(mlir::Type type) { return static_cast<double>(elementCount(type)); }

double bytesOf(mlir::Type type) {
  double elements = elementsOf(type);
  return elements > 0 ? elements * static_cast<double>(elementBytes(type)) : 0;
}

double productsOf(mlir::Operation* op) {
  if (auto dot = llvm::dyn_cast<shlo::DotGeneralOp>(op)) {
    double products = elementsOf(dot.getType());
    auto lhs = llvm::cast<mlir::ShapedType>(dot.getLhs().getType());
    for (int64_t dim : dot.getDotDimensionNumbers().getLhsContractingDimensions()) {
      products *= static_cast<double>(lhs.getDimSize(dim));
    }
    return products;
  }
  if (auto conv = llvm::dyn_cast<shlo::ConvolutionOp>(op)) {
    auto kernel = llvm::cast<mlir::ShapedType>(conv.getRhs().getType());
    auto features = static_cast<double>(
        kernel.getDimSize(conv.getDimensionNumbers().getKernelOutputFeatureDimension()));
    return features == 0 ? 0 : elementsOf(conv.getType()) * elementsOf(kernel) / features;
  }
  return 0;
}

double accessedBytes(mlir::Operation* op) {
  double bytes = 0;
  if (auto fusion = llvm::dyn_cast<ir::FusionOp>(op)) {
    bytes = bytesRead(fusion);
    mlir::Operation* yield = fusion.getBody().front().getTerminator();
    for (mlir::Value result : yield->getOperands()) bytes += writtenBytes(result);
    return bytes;
  }
  for (mlir::OpOperand& operand : op->getOpOperands()) bytes += readBytes(operand);
  for (mlir::Value result : op->getResults()) bytes += writtenBytes(result);
  return bytes;
}

Work workOf(mlir::Operation* op) {
  Work work = arithmeticOf(op);
  work.bytes = accessedBytes(op);
  return work;
}

Work workOf(ir::FusionOp fusion, llvm::ArrayRef<mlir::Value> written) {
  Work work = arithmeticOf(fusion);
  work.bytes = bytesRead(fusion);
  for (mlir::Value value : written) work.bytes += bytesOf(value.getType());
  return work;
}

}  // namespace isthmus
