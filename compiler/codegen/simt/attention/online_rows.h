// The scores that a thread has in registers become weights; of each row, the running maximum and
// the sum of exponentials go from block to block of keys.
#pragma once

#include <functional>

#include "compiler/codegen/kernel_builder.h"
#include "compiler/schedule/attention/attention_shape.h"
#include "compiler/schedule/attention/online_softmax.h"

namespace isthmus::codegen {

using Registers = LoopBuilder::Values;

// What kernels of either form have in common: where a tile is, and its rows.
class OnlineRows {
 public:
  OnlineRows(KernelBuilder& kernel, Attention attention, const AttentionStage& stage);

  KernelBuilder& kernel;
  LoopBuilder& loops;
  Evaluator& evaluator;  // of the whole fusion
  Attention attention;
  AttentionShape shape;
  const AttentionStage& stage;

  // An operand of the scores, or the values.
  llvm::Value* bufferOf(mlir::Value operand) {
    return kernel.buffer(mlir::cast<mlir::BlockArgument>(operand).getArgNumber());
  }
  mlir::Value query() { return attention.scores[0].getLhs(); }
  mlir::Value key() { return attention.scores[0].getRhs(); }
  mlir::Value values() {
    RowProduct& product = attention.products[0];
    return attention.weightsAreLeft(product) ? product.dot.getRhs() : product.dot.getLhs();
  }

  // Says which tile is computed at the current level: `firstRow` is its first.
  void enterTile(const IndexExpr& tile);
  IndexExpr firstRow;
  int64_t blocks() const;  // of keys
  // Where the batch item begins in an array, by its strides.
  llvm::Value* batchOffset(int64_t AttentionDim::* stride);
  // Where index `index` of several dimensions leads in it.
  llvm::Value* offset(llvm::Value* index, const AttentionDims& dims,
                      int64_t AttentionDim::* stride);

  // The rows of the tile that the thread has elements of, from the tile's first on.
  void setRows(llvm::ArrayRef<IndexExpr> inTile);

  // Of each row.
  struct State {
    Registers maxima, sums;
  };
  State initial();
  struct Weights {
    Registers elements;  // row by row, as the scores
    Registers scales;    // by which what was summed before shrinks, of each row
    State state;         // sums are of the thread's elements
  };
  // Combines values of each row, of all threads that have elements of it.
  using Combine = std::function<llvm::Value*(llvm::Value*, llvm::Value*)>;
  using AcrossThreads = std::function<Registers(const Registers&, const Combine&)>;
  // Of the scores at all rows and at `columns`, keys of the array.
  Weights weightsOf(const Registers& scores, llvm::ArrayRef<IndexExpr> columns, const State& before,
                    const AcrossThreads& across);
  // What sums of products are multiplied by at the end, of each row.
  Registers finalScales(const State& state, const AcrossThreads& across);

  // Stores neighbouring features of a row from number `feature` on, if `isFeature` (null: always).
  void store(size_t row, llvm::Value* feature, const Registers& values, llvm::Value* isFeature);

  llvm::IRBuilder<>& b() { return loops.here(); }
  llvm::Value* f32(double value) { return llvm::ConstantFP::get(b().getFloatTy(), value); }
  llvm::Value* number(const IndexExpr& index) { return loops.uniformPart(index); }
  // Whether index < size: null if that is known.
  llvm::Value* isBelow(llvm::Value* index, int64_t size, int64_t most);

  Status status() const { return rowsEvaluator_.status(); }

 private:
  llvm::Value* resultOffset(size_t row);
  // `value` as an element of the result.
  llvm::Value* toResult(llvm::Value* value);
  bool hasPairs() const;

  struct Row {
    llvm::SmallVector<IndexExpr, 2> index;  // of each dimension of the rows
    llvm::Value* isInside = nullptr;
  };
  struct Column {
    IndexExpr index;
    llvm::Value* isInside = nullptr;
  };

  llvm::SmallVector<IndexExpr, 2> apart(IndexExpr index, const AttentionDims& dims);
  Column columnOf(const IndexExpr& key);
  llvm::Value* at(mlir::Value value, const Row& row, const Column& column);
  llvm::Value* select(llvm::Value* condition, llvm::Value* value, double otherwise);
  llvm::Value* exp(llvm::Value* value);

  OnlineSoftmax softmax_;
  mlir::Value scores_;  // as the region knows them
  Evaluator rowsEvaluator_;
  llvm::SmallVector<IndexExpr, 2> batch_;
  llvm::SmallVector<Row, 8> rows_;
};

}  // namespace isthmus::codegen
