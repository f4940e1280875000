// Loops over the results of a stage, as its schedule says.
#pragma once

#include <functional>

#include "compiler/codegen/kernel_builder.h"
#include "compiler/schedule/choose_schedule.h"

namespace isthmus::codegen {

// Emits the body of one stage that is a loop, a copy or a fill.
class LoopKernel {
 public:
  LoopKernel(KernelBuilder& kernel, ir::FusionOp fusion, const LoopStage& stage);

  void emit();

 private:
  using Position = llvm::SmallVector<IndexExpr, 4>;  // an index for each loop
  using Values = LoopBuilder::Values;

  // A tile's block of the rows along a loop.
  struct RowBlock {
    Position at;  // of the loops that tiles run over
    llvm::Value *lo, *hi;
    llvm::Value* middle;  // where less than a vector of rows is left
  };
  // A stretch between two cuts, and where its whole vectors end.
  struct Stretch {
    int64_t from, to;
    llvm::Value *start, *middle, *stop;
    bool hasTail;
  };

  llvm::ArrayRef<LoopDim> dims() const { return stage_.dims; }
  int64_t lanes() const { return stage_.lanes; }
  MultiIndex multiIndexOf(size_t root, llvm::ArrayRef<IndexExpr> at) {
    return multiIndexOf(roots_[root], spaces_[root], at);
  }
  MultiIndex multiIndexOf(const Root& root, llvm::ArrayRef<int64_t> space,
                          llvm::ArrayRef<IndexExpr> at);
  void allocateAccumulators();
  void allocateRows();
  // The first piece of the tiles at hand, and the one after the last.
  std::pair<llvm::Value*, llvm::Value*> piecesOfTiles();

  // Lanes along the last loop (loop_kernel.cc).
  void emitRows();
  void emitTile(const IndexExpr& piece);
  // Calls body for each stretch of an outer loop.
  void forStretches(size_t loop, llvm::function_ref<void(int64_t from, int64_t to)> body);
  // Branches to body for the stretches in which the indices `at` lie, those of tiled loops, from
  // `loop` on; there `at` says so.
  void withinStretches(size_t loop, Position& at, llvm::function_ref<void()> body);
  void emitLoops(size_t loop, const Position& at, llvm::Value* lo, llvm::Value* hi);
  void emitLastLoop(llvm::ArrayRef<IndexExpr> outer, llvm::Value* lo, llvm::Value* hi);
  void emitAccumulation(
      Position& at, llvm::Value* lo,
      const std::function<void(const std::function<void(const IndexExpr&)>&)>& forColumns);
  void computeKeptRows(llvm::ArrayRef<IndexExpr> at);
  void forColumns(llvm::Value* lo, llvm::Value* hi,
                  const std::function<void(const IndexExpr&)>& body);
  void forGroupColumns(llvm::Value* lo, llvm::Value* hi,
                       const std::function<void(const IndexExpr&)>& body);
  Stretch stretchOf(size_t piece, llvm::Value* lo, llvm::Value* hi);
  void emitTail(const Stretch& stretch, const std::function<void(const IndexExpr&)>& body);
  void waitForReaders();
  void emitElement(llvm::ArrayRef<IndexExpr> at);
  void emitRowResults(llvm::ArrayRef<IndexExpr> outer);
  void addStoredRows(llvm::ArrayRef<IndexExpr> outer);

  // Reductions of some rows first (loop_row_blocks.cc).
  void emitRowBlocks();
  void emitRowBlock(const RowBlock& block, const IndexExpr& first);
  void forRowsOfCall(size_t loop, llvm::function_ref<void(RowBlock&)> body);
  void reduceRows(Position& at, llvm::Value* start, llvm::Value* stop);
  IndexExpr rowAt(llvm::ArrayRef<IndexExpr> at);

  // Blocks of rows (loop_blocks.cc).
  void forRowBlocks(size_t loop, size_t end, llvm::function_ref<void(RowBlock&)> body);
  void emitTransposed();
  void emitTransposedBlock(Position& at, const IndexExpr& row, const IndexExpr& column);
  void emitRowByRow(Position& at, llvm::Value* from, llvm::Value* to, int64_t first, int64_t last,
                    int64_t step);
  void emitInterleaved();
  void emitInterleavedRows(Position at);
  void forRowElements(size_t loop, Position& at, const std::function<void()>& body);
  void emitRowElements(size_t loop, Position at);

  // Squares of a group (loop_transposed_tile.cc).
  class TransposedTile;
  void emitTransposedTiles();

  KernelBuilder& kernel_;
  LoopBuilder& loops_;
  Evaluator& evaluator_;
  ir::FusionOp fusion_;
  const LoopStage& stage_;
  llvm::SmallVector<Root, 4> roots_;
  llvm::SmallVector<llvm::SmallVector<int64_t, 6>, 4> spaces_;  // of each root
  llvm::SmallVector<llvm::Value*, 4> results_;
  llvm::SmallVector<mlir::Operation*, 2> accumulated_;
  llvm::SmallVector<mlir::Operation*, 2> blocked_;
  llvm::SmallVector<mlir::Operation*, 2> rowWriters_;
};

}  // namespace isthmus::codegen
