// Gathers, scatters and dynamic slices whose indices address a dimension that is split.
#pragma once

#include "compiler/partition/spmd_builder.h"

namespace isthmus {

// Makes indices of the whole array's dimension `d` indices of this device's block of it.
class IndexedBlocks {
 public:
  // `op` is a gather, scatter, dynamic_slice or dynamic_update_slice of the whole array, `sharding`
  // how its first operand is split.
  IndexedBlocks(mlir::Operation* op, int64_t d, const MeshSharding& sharding,
                mlir::OpBuilder& builder, SpmdBuilder& spmd);

  // Replaces the indices (and what is written, if the place may be another device's) among
  // `operands`, the op's operands on this device.
  void localize(llvm::SmallVectorImpl<mlir::Value>& operands);

  // What the op gave, but zeros where another device has what was asked for: a summand.
  mlir::Value masked(mlir::Value result);

 private:
  mlir::Value converted(mlir::Value index);
  mlir::Value filled(int64_t number, mlir::Value like);
  mlir::Value clamped(mlir::Value index, int64_t last);
  mlir::Value nearest(mlir::Value index);
  mlir::Value component(mlir::Value indices, int64_t vectorDim, int64_t k, int64_t count);
  mlir::Value withComponent(mlir::Value indices, mlir::Value value, int64_t vectorDim, int64_t k);
  void localizeGather(llvm::SmallVectorImpl<mlir::Value>& operands);
  void localizeScatter(llvm::SmallVectorImpl<mlir::Value>& operands);
  void localizeSlice(llvm::SmallVectorImpl<mlir::Value>& operands, size_t firstIndex);

  mlir::Operation* op_;
  int64_t d_, size_, block_;
  mlir::OpBuilder& builder_;
  mlir::Location location_;
  mlir::Value start_;
  mlir::Value isHere_;
};

}  // namespace isthmus
