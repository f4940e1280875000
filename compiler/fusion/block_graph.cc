#include "compiler/fusion/block_graph.h"

#include <optional>

#include "compiler/dialect/dialect.h"
#include "compiler/fusion/op_traits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace isthmus {

namespace {

void sortUnique(llvm::SmallVectorImpl<int>& list) {
  llvm::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

// Whether `op` is a part of an array that updates another part of it, or of which what updates that
// is rematerialized. Read by the kernel that updates the array, it would keep that from being
// updated in place.
bool updatesItsOperand(mlir::Operation* op) {
  constexpr size_t kMaxChain = 8;
  auto slice = llvm::dyn_cast<shlo::SliceOp>(op);
  if (!slice) return false;
  llvm::SmallSetVector<mlir::Operation*, kMaxChain> chain;
  chain.insert(op);
  for (size_t i = 0; i < chain.size() && i < kMaxChain; ++i) {
    for (mlir::Operation* user : chain[i]->getUsers()) {
      auto update = llvm::dyn_cast<shlo::DynamicUpdateSliceOp>(user);
      if (update && update.getOperand() == slice.getOperand()) return true;
      if (isRematerializable(user)) chain.insert(user);
    }
  }
  return false;
}

}  // namespace

bool BlockGraph::needsMemory(mlir::Operation* user, unsigned operand) {
  return isthmus::needsMemory(user, operand);
}

bool BlockGraph::isOrdered(mlir::Operation* op) { return !mlir::isMemoryEffectFree(op); }

BlockGraph::BlockGraph(mlir::Block& block, const FusionOptions& options)
    : arguments_(block.getArguments()) {
  std::optional<RecomputedOps> recomputed;
  if (options.merge) recomputed.emplace(block, options.target);
  for (mlir::Operation& op : block) {
    index_[&op] = size();
    Node node;
    node.op = &op;
    node.isRematerialized = (isRematerializable(&op) && !updatesItsOperand(&op)) ||
                            isRematerializableExpansion(&op, options.target) ||
                            (recomputed && recomputed->contains(&op));
    node.kernel = isKernel(&op) && !isLeftToCopies(&op, options);
    nodes_.push_back(std::move(node));
  }
  // Users come after producers, so a reverse walk sees each user finished.
  int nextOrdered = -1;
  for (int i = size() - 1; i >= 0; --i) {
    Node& node = nodes_[i];
    for (mlir::OpOperand& use : node.op->getUses()) {
      mlir::Operation* ancestor = block.findAncestorOpInBlock(*use.getOwner());
      int userIndex = indexOf(ancestor);
      const Node& user = nodes_[userIndex];
      node.directUsers.push_back(userIndex);
      bool nested = ancestor != use.getOwner();
      if (user.isRematerialized && !nested) {
        // A rematerialized user that must exist itself is a kernel, which computes this value again
        // or reads it.
        if (node.isRematerialized) {
          node.feedsMemory |= user.escapes || user.feedsMemory;
          node.escapes |= user.escapes && !user.kernel;
        } else {
          node.escapes |= user.escapes || user.feedsMemory;
        }
        node.users.append(user.users.begin(), user.users.end());
      } else if (nested || !user.kernel || needsMemory(user.op, use.getOperandNumber())) {
        node.escapes = true;
      } else {
        node.users.push_back(userIndex);
      }
    }
    sortUnique(node.directUsers);
    sortUnique(node.users);
    node.successors = node.directUsers;
    if (!isOrdered(node.op)) continue;
    if (nextOrdered >= 0) node.successors.push_back(nextOrdered);
    nextOrdered = i;
  }
  for (mlir::BlockArgument argument : block.getArguments()) {
    usersOfArguments_.push_back(kernelsThatRead(argument));
  }
}

llvm::SmallVector<int, 4> BlockGraph::kernelsThatRead(mlir::BlockArgument argument) const {
  llvm::SmallVector<int, 4> kernels;
  for (mlir::OpOperand& use : argument.getUses()) {
    const int index = indexOf(use.getOwner());
    if (index < 0) continue;
    const Node& user = nodes_[index];
    if (user.isRematerialized) {
      kernels.append(user.users.begin(), user.users.end());
    } else if (user.kernel && !needsMemory(user.op, use.getOperandNumber())) {
      kernels.push_back(index);
    }
  }
  sortUnique(kernels);
  return kernels;
}

int BlockGraph::indexOf(mlir::Operation* op) const {
  auto found = index_.find(op);
  return found == index_.end() ? -1 : found->second;
}

}  // namespace isthmus
