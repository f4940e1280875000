// Wraps operations one by one.
#include "backends/cpu/testing/one_op_fusions.h"

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/isthmus.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace isthmus::cpu::testing {
namespace {

bool staysApart(mlir::Operation* op) {
  const OpFacts* facts = findOpFacts(op);
  return !facts || facts->isLibrary;
}

void wrap(mlir::Operation* op) {
  mlir::OpBuilder builder(op);
  llvm::SmallVector<mlir::Value> operands(op->getOperands());
  auto fusion = ir::FusionOp::create(builder, op->getLoc(), op->getResultTypes(), operands);
  mlir::Block& block = fusion.getBody().emplaceBlock();
  mlir::IRMapping mapping;
  for (unsigned i = 0; i < operands.size(); ++i) {
    mapping.map(op->getOperand(i), block.addArgument(operands[i].getType(), op->getLoc()));
  }
  builder.setInsertionPointToEnd(&block);
  mlir::Operation* copy = builder.clone(*op, mapping);
  for (unsigned i = 0; i < operands.size(); ++i) copy->setOperand(i, block.getArgument(i));
  ir::YieldOp::create(builder, op->getLoc(), copy->getResults());
  op->replaceAllUsesWith(fusion->getResults());
  op->erase();
}

void fuseBlock(mlir::Block& block) {
  for (mlir::Operation& op : llvm::make_early_inc_range(block)) {
    OpRole role = roleOf(&op);
    if (role == OpRole::kWhile || role == OpRole::kBranch) {
      for (mlir::Region& region : op.getRegions()) fuseBlock(region.front());
    } else if (role == OpRole::kCompute && !staysApart(&op)) {
      wrap(&op);
    }
  }
}

}  // namespace

void fuseOneByOne(mlir::ModuleOp module) {
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    if (!function.isExternal()) fuseBlock(function.getBody().front());
  }
}

}  // namespace isthmus::cpu::testing
