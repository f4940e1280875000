// The operations of one block and who uses whom, seen through rematerialized operations.
#pragma once

#include <vector>

#include "compiler/fusion/fusion_options.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Block.h"

namespace isthmus {

// Built once per block; does not follow changes of the block.
class BlockGraph {
 public:
  struct Node {
    mlir::Operation* op = nullptr;
    bool isRematerialized = false;
    bool kernel = false;  // computed by kernels that fusion makes
    // The result must exist in memory whatever is fused: something that is no kernel reads it.
    bool escapes = false;
    // Of a rematerialized operation: it is copied into a kernel of another rematerialized operation
    // that escapes.
    bool feedsMemory = false;
    // Operations of the block that use a result, in regions below them too.
    llvm::SmallVector<int, 4> directUsers;
    // What must come after: direct users, and the next operation whose effects keep it in order.
    llvm::SmallVector<int, 4> successors;
    // Kernels that use a result directly or through rematerialized operations copied into them.
    llvm::SmallVector<int, 4> users;
  };

  BlockGraph(mlir::Block& block, const FusionOptions& options);

  int size() const { return static_cast<int>(nodes_.size()); }
  const Node& node(int index) const { return nodes_[index]; }
  mlir::Block::BlockArgListType arguments() const { return arguments_; }
  // Of each argument of the block, what a node's `users` are of a result.
  llvm::ArrayRef<llvm::SmallVector<int, 4>> usersOfArguments() const { return usersOfArguments_; }
  // -1 for operations of other blocks and for null.
  int indexOf(mlir::Operation* op) const;

  // Whether `op` keeps its place among all others that do, though no value says so: what
  // communicates or calls back. Devices must meet in the order in which they set out.
  static bool isOrdered(mlir::Operation* op);

  // Whether a use of `value` as operand `operand` of `user` needs the value in memory even if
  // `user` becomes a kernel (it is updated in place).
  static bool needsMemory(mlir::Operation* user, unsigned operand);

 private:
  llvm::SmallVector<int, 4> kernelsThatRead(mlir::BlockArgument argument) const;

  std::vector<Node> nodes_;
  mlir::Block::BlockArgListType arguments_;
  std::vector<llvm::SmallVector<int, 4>> usersOfArguments_;
  llvm::DenseMap<mlir::Operation*, int> index_;
};

}  // namespace isthmus
