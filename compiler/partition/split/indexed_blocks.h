// Gathers, scatters and dynamic slices whose indices address a dimension that is split.
#pragma once

#include <algorithm>

#include "compiler/partition/spmd_builder.h"

namespace isthmus {

// Makes indices of the whole array's dimension `d` indices of this device's block of it.
class IndexedBlocks {
 public:
  // `op` is a gather, scatter, dynamic_slice or dynamic_update_slice of the whole array, `sharding`
  // how its first operand is split.
  IndexedBlocks(mlir::Operation* op, int64_t d, const MeshSharding& sharding,
                mlir::OpBuilder& builder, SpmdBuilder& spmd);

  // Replaces the indices (and what is written, by its rows for this block) among `operands`, the
  // op's operands on this device. Then, when that is done for all dimensions, what is written
  // elsewhere leaves this block as it is.
  void localize(llvm::SmallVectorImpl<mlir::Value>& operands);
  void keepOthers(llvm::SmallVectorImpl<mlir::Value>& operands);

  // How many rows of the block the op looks at, if it takes or writes `rows`.
  int64_t window(int64_t rows) const { return std::min(rows, block_); }

  // What the op gave, but zeros where another device has what was asked for: a partial sum.
  mlir::Value masked(mlir::Value result);

 private:
  mlir::Value converted(mlir::Value index);
  mlir::Value filled(int64_t number, mlir::Value like);
  mlir::Value clamped(mlir::Value index, int64_t last);
  mlir::Value nearest(mlir::Value index, int64_t rows = 1);
  mlir::Value moved(mlir::Value rows, mlir::Value by, int64_t count);
  mlir::Value component(mlir::Value indices, int64_t vectorDim, int64_t k, int64_t count);
  mlir::Value withComponent(mlir::Value indices, mlir::Value value, int64_t vectorDim, int64_t k);
  void localizeGather(llvm::SmallVectorImpl<mlir::Value>& operands);
  void localizeScatter(llvm::SmallVectorImpl<mlir::Value>& operands);
  void localizeSlice(llvm::SmallVectorImpl<mlir::Value>& operands, size_t firstIndex);

  mlir::Operation* op_;
  int64_t d_, size_, block_;
  mlir::OpBuilder& builder_;
  SpmdBuilder& spmd_;
  mlir::Location location_;
  mlir::Value start_;
  mlir::Value isHere_;
  // Of several rows: how many they are, and how many of them lie before those of the block that are
  // looked at.
  int64_t rows_ = 1;
  mlir::Value before_;
};

}  // namespace isthmus
