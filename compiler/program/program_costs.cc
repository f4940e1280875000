// Counts the arithmetic and the memory traffic of a program.
#include <algorithm>

#include "compiler/dialect/array_shape.h"
#include "compiler/dialect/byte_size.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/isthmus.h"
#include "compiler/program/program_info.h"

namespace isthmus {
namespace {

OpWork workOf(mlir::Operation* op) {
  const OpFacts* facts = findOpFacts(op);
  return facts ? facts->work : OpWork::kNone;
}

double elementsOf(mlir::Value value) { return static_cast<double>(elementCount(value)); }

double bytesOf(mlir::Value value) {
  StatusOr<int64_t> bytes = byteSize(value.getType());
  return bytes.ok() ? static_cast<double>(*bytes) : 0;
}

double flopsOf(mlir::Operation* op) {
  double result = op->getNumResults() > 0 ? elementsOf(op->getResult(0)) : 0;
  if (auto dot = llvm::dyn_cast<shlo::DotGeneralOp>(op)) {
    auto lhs = llvm::cast<mlir::ShapedType>(dot.getLhs().getType());
    for (int64_t dim : dot.getDotDimensionNumbers().getLhsContractingDimensions()) {
      result *= static_cast<double>(lhs.getDimSize(dim));
    }
    return 2 * result;
  }
  if (auto conv = llvm::dyn_cast<shlo::ConvolutionOp>(op)) {
    auto kernel = llvm::cast<mlir::ShapedType>(conv.getRhs().getType());
    double features = static_cast<double>(
        kernel.getDimSize(conv.getDimensionNumbers().getKernelOutputFeatureDimension()));
    return features == 0 ? 0 : 2 * result * elementsOf(conv.getRhs()) / features;
  }
  if (llvm::isa<shlo::ReduceOp>(op)) return elementsOf(op->getOperand(0));
  return workOf(op) == OpWork::kFlop ? result : 0;
}

// What `use` reads of the array: a part, where the operation takes rows or a block out of it.
double readBytes(mlir::OpOperand& use) {
  mlir::Operation* user = use.getOwner();
  double whole = bytesOf(use.get());
  if (use.getOperandNumber() > 0) return whole;
  if (llvm::isa<shlo::SliceOp, shlo::DynamicSliceOp, shlo::GatherOp>(user)) {
    return std::min(whole, bytesOf(user->getResult(0)));
  }
  // Updated where it is: what is kept is not touched.
  if (llvm::isa<shlo::DynamicUpdateSliceOp>(user)) return 0;
  return whole;
}

double writtenBytes(mlir::Value value) {
  if (auto update = value.getDefiningOp<shlo::DynamicUpdateSliceOp>()) {
    return bytesOf(update.getUpdate());
  }
  return bytesOf(value);
}

double accessedBytes(mlir::Operation* op) {
  double bytes = 0;
  auto fusion = llvm::dyn_cast<ir::FusionOp>(op);
  if (!fusion) {
    for (mlir::OpOperand& operand : op->getOpOperands()) bytes += readBytes(operand);
    for (mlir::Value result : op->getResults()) bytes += writtenBytes(result);
    return bytes;
  }
  mlir::Block& body = fusion.getBody().front();
  for (mlir::BlockArgument argument : body.getArguments()) {
    double read = 0;
    for (mlir::OpOperand& use : argument.getUses()) read += readBytes(use);
    bytes += std::min(read, bytesOf(argument));
  }
  for (mlir::Value result : body.getTerminator()->getOperands()) bytes += writtenBytes(result);
  return bytes;
}

}  // namespace

OperationCosts costsOf(mlir::Operation* op) {
  OperationCosts costs;
  op->walk([&](mlir::Operation* inner) {
    costs.flops += flopsOf(inner);
    if (workOf(inner) == OpWork::kTranscendental) {
      costs.transcendentals += elementsOf(inner->getResult(0));
    }
  });
  costs.bytes = accessedBytes(op);
  return costs;
}

void countCosts(mlir::func::FuncOp main, std::map<std::string, double>& costs) {
  double flops = 0;
  double transcendentals = 0;
  double bytes = 0;
  main.walk([&](mlir::Operation* op) {
    flops += flopsOf(op);
    if (workOf(op) == OpWork::kTranscendental) {
      transcendentals += elementsOf(op->getResult(0));
    }
    // Memory is read and written at the edges of fusions and by what stands alone.
    mlir::Operation* parent = op->getParentOp();
    bool isTopLevel = parent == main.getOperation() || roleOf(parent) == OpRole::kWhile ||
                      roleOf(parent) == OpRole::kBranch;
    if (!isTopLevel || roleOf(op) != OpRole::kCompute) return;
    bytes += accessedBytes(op);
  });
  costs["flops"] = flops;
  costs["transcendentals"] = transcendentals;
  costs["bytes accessed"] = bytes;
}

}  // namespace isthmus
