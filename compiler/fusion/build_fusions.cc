#include "compiler/fusion/build_fusions.h"

#include "compiler/dialect/dead_code.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/isthmus.h"
#include "compiler/fusion/sort_block.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace isthmus {
namespace {

// The group's operations and the rematerialized ones that it copies, in block order.
llvm::SmallVector<int> withFreeOperands(const BlockGraph& graph, const FusionGroup& group) {
  llvm::SmallSetVector<int, 32> seen;
  llvm::SmallVector<int> work(group.members.begin(), group.members.end());
  while (!work.empty()) {
    int index = work.pop_back_val();
    if (!seen.insert(index)) continue;
    for (mlir::OpOperand& operand : graph.node(index).op->getOpOperands()) {
      int producer = graph.indexOf(operand.get().getDefiningOp());
      if (producer < 0 || !graph.node(producer).isRematerialized) continue;
      // An array that is updated in place is a buffer, however cheap its elements are.
      if (BlockGraph::needsMemory(graph.node(index).op, operand.getOperandNumber())) continue;
      work.push_back(producer);
    }
  }
  llvm::SmallVector<int> order(seen.begin(), seen.end());
  llvm::sort(order);
  return order;
}

mlir::Location fusedLocation(mlir::MLIRContext* context, const BlockGraph& graph,
                             const FusionGroup& group) {
  llvm::SmallVector<mlir::Location> locations;
  // The outputs' places first: they name what the kernel is for.
  for (int output : group.shape.outputs) locations.push_back(graph.node(output).op->getLoc());
  return mlir::FusedLoc::get(context, locations);
}

void buildFusion(mlir::Block& block, const BlockGraph& graph, const FusionGroup& group) {
  llvm::SmallVector<int> order = withFreeOperands(graph, group);
  llvm::SmallPtrSet<mlir::Operation*, 32> inside;
  for (int index : order) inside.insert(graph.node(index).op);

  // A rematerialized operation may be both copied inside and a buffer of the kernel (see
  // needsMemory).
  auto computedInside = [&](mlir::OpOperand& operand) {
    mlir::Operation* producer = operand.get().getDefiningOp();
    return producer && inside.contains(producer) &&
           !(graph.node(graph.indexOf(producer)).isRematerialized &&
             BlockGraph::needsMemory(operand.getOwner(), operand.getOperandNumber()));
  };
  llvm::SmallSetVector<mlir::Value, 8> inputs;
  for (int index : order) {
    mlir::Operation* op = graph.node(index).op;
    for (mlir::OpOperand& operand : op->getOpOperands()) {
      if (!computedInside(operand)) inputs.insert(operand.get());
    }
    // Reduction bodies and comparators may use values from around them.
    for (mlir::Region& region : op->getRegions()) {
      region.walk([&](mlir::Operation* nested) {
        for (mlir::Value value : nested->getOperands()) {
          mlir::Operation* producer = value.getDefiningOp();
          bool local = region.isAncestor(value.getParentRegion());
          if (!local && !(producer && inside.contains(producer))) inputs.insert(value);
        }
      });
    }
  }
  llvm::SmallVector<mlir::Value> outputs;
  for (int output : group.shape.outputs) {
    mlir::Operation* op = graph.node(output).op;
    for (mlir::Value result : op->getResults()) {
      // The largest elements that an argmax finds are often nobody's.
      if (llvm::isa<shlo::ReduceOp>(op) && result.use_empty() && !op->use_empty()) continue;
      outputs.push_back(result);
    }
  }

  mlir::OpBuilder builder(graph.node(group.members.back()).op);
  builder.setInsertionPointAfter(graph.node(group.members.back()).op);
  mlir::Location location = fusedLocation(builder.getContext(), graph, group);
  auto fusion = ir::FusionOp::create(builder, location, mlir::ValueRange(outputs).getTypes(),
                                     inputs.getArrayRef());
  mlir::Block* body = builder.createBlock(&fusion.getBody());
  mlir::IRMapping mapping;
  for (mlir::Value input : inputs) {
    mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
  }
  for (int index : order) {
    mlir::Operation* op = graph.node(index).op;
    mlir::Operation* copy = builder.clone(*op, mapping);
    for (mlir::OpOperand& operand : op->getOpOperands()) {
      if (computedInside(operand)) continue;
      // The copy of a rematerialized producer shadows the buffer of the same value.
      int position = static_cast<int>(llvm::find(inputs, operand.get()) - inputs.begin());
      copy->setOperand(operand.getOperandNumber(), body->getArgument(position));
    }
  }
  llvm::SmallVector<mlir::Value> yielded;
  for (mlir::Value output : outputs) yielded.push_back(mapping.lookup(output));
  ir::YieldOp::create(builder, location, yielded);

  for (auto [output, result] : llvm::zip(outputs, fusion.getResults())) {
    output.replaceUsesWithIf(
        result, [&](mlir::OpOperand& use) { return !fusion->isProperAncestor(use.getOwner()); });
  }
}

}  // namespace

Status buildFusions(mlir::Block& block, const BlockGraph& graph,
                    const std::vector<FusionGroup>& groups) {
  for (const FusionGroup& group : groups) buildFusion(block, graph, group);
  // A block may be out of order here; erasing from the back once could miss what dies in turn.
  ISTHMUS_RETURN_IF_ERROR(sortBlock(block));
  eraseDead(block);
  return {};
}

}  // namespace isthmus
