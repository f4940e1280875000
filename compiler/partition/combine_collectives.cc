#include "compiler/partition/combine_collectives.h"

#include <vector>

#include "compiler/dialect/array_shape.h"
#include "compiler/dialect/collective_groups.h"
#include "compiler/dialect/combiner.h"
#include "compiler/dialect/dialect.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace isthmus {
namespace {

// Larger ones cost more to move than to meet for, and memory until all are there.
constexpr int64_t kMaxBytes = int64_t{4} << 20;

int64_t bytesOf(shlo::AllReduceOp op) {
  int64_t bytes = 0;
  for (mlir::Value operand : op->getOperands()) {
    auto type = llvm::cast<mlir::RankedTensorType>(operand.getType());
    bytes += type.getNumElements() * elementBytes(type);
  }
  return bytes;
}

bool isCombinable(shlo::AllReduceOp op) {
  return soleOperation(op.getComputation()) != nullptr &&
         llvm::all_of(op->getOperandTypes(), [](mlir::Type type) {
           auto ranked = llvm::dyn_cast<mlir::RankedTensorType>(type);
           return ranked && ranked.hasStaticShape();
         });
}

bool isAlike(shlo::AllReduceOp a, shlo::AllReduceOp b) {
  mlir::Operation* reducer = soleOperation(a.getComputation());
  return a->getAttr("replica_groups") == b->getAttr("replica_groups") &&
         a.getUseGlobalDeviceIds() == b.getUseGlobalDeviceIds() && hasChannel(a) == hasChannel(b) &&
         reducer->getName() == soleOperation(b.getComputation())->getName() &&
         mlir::getElementTypeOrSelf(a->getOperand(0).getType()) ==
             mlir::getElementTypeOrSelf(b->getOperand(0).getType()) &&
         reducer->getResult(0).getType() ==
             soleOperation(b.getComputation())->getResult(0).getType();
}

struct Group {
  std::vector<shlo::AllReduceOp> ops;
  int64_t bytes = 0;
};

// One collective before `place` for all of a group.
void replace(const Group& group, mlir::Operation* place) {
  if (group.ops.size() == 1) return;
  shlo::AllReduceOp first = group.ops.front();
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<mlir::Type> types;
  for (shlo::AllReduceOp op : group.ops) {
    llvm::append_range(operands, op->getOperands());
    llvm::append_range(types, op->getResultTypes());
  }
  mlir::OpBuilder builder(place);
  mlir::OperationState state(first.getLoc(), first->getName(), operands, types);
  state.propertiesAttr = first->getPropertiesAsAttribute();
  mlir::IRMapping mapping;
  first.getComputation().cloneInto(state.addRegion(), mapping);
  mlir::Operation* all = builder.create(state);
  all->setDiscardableAttrs(first->getDiscardableAttrDictionary());
  size_t next = 0;
  for (shlo::AllReduceOp op : group.ops) {
    for (mlir::Value result : op->getResults()) result.replaceAllUsesWith(all->getResult(next++));
    op->erase();
  }
}

// Goes through a block and puts off all_reduces, and what is computed of them, until something that
// cannot be put off needs them.
class BlockCombiner {
 public:
  void run(mlir::Block& block) {
    for (mlir::Operation& op : llvm::make_early_inc_range(block)) {
      auto reduce = llvm::dyn_cast<shlo::AllReduceOp>(op);
      const bool isLate = needsLate(op);
      if (isLate && !reduce && &op != &block.back() && canPutOff(op) && late_.size() < kMaxLate) {
        putOff(op);
        continue;
      }
      if (isLate || &op == &block.back()) flush(&op);
      if (!reduce || !isCombinable(reduce) || bytesOf(reduce) > kMaxBytes) continue;
      auto group = llvm::find_if(groups_, [&](const Group& group) {
        return isAlike(group.ops.front(), reduce) && group.bytes + bytesOf(reduce) <= kMaxBytes;
      });
      if (group == groups_.end()) group = groups_.insert(groups_.end(), Group());
      group->ops.push_back(reduce);
      group->bytes += bytesOf(reduce);
      pending_.insert(&op);
    }
  }

 private:
  // What waits keeps its operands alive.
  static constexpr size_t kMaxLate = 4096;

  bool needsLate(mlir::Operation& op) {
    auto result = op.walk([&](mlir::Operation* nested) {
      bool isLate = llvm::any_of(nested->getOperands(), [&](mlir::Value operand) {
        return operand.getDefiningOp() && pending_.contains(operand.getDefiningOp());
      });
      return isLate ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
    });
    return result.wasInterrupted();
  }

  static bool canPutOff(mlir::Operation& op) {
    // Loops and branches may meet other devices.
    bool isPlain = op.getNumRegions() == 0 || llvm::isa<shlo::ReduceOp>(op);
    return isPlain && mlir::isMemoryEffectFree(&op);
  }

  void putOff(mlir::Operation& op) {
    late_.push_back(&op);
    pending_.insert(&op);
  }

  void flush(mlir::Operation* place) {
    for (const Group& group : groups_) replace(group, place);
    for (mlir::Operation* op : late_) op->moveBefore(place);
    groups_.clear();
    late_.clear();
    pending_.clear();
  }

  std::vector<Group> groups_;
  std::vector<mlir::Operation*> late_;
  llvm::DenseSet<mlir::Operation*> pending_;
};

}  // namespace

void combineAllReduces(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::Block*> blocks;
  module.walk([&](mlir::Block* block) {
    auto isReduce = [](mlir::Operation& op) { return llvm::isa<shlo::AllReduceOp>(op); };
    if (llvm::count_if(*block, isReduce) > 1) blocks.push_back(block);
  });
  for (mlir::Block* block : blocks) BlockCombiner().run(*block);
}

}  // namespace isthmus
