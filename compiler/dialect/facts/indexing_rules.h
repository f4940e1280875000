// The rules that records of the op table name in their field `indexing`.
#pragma once

#include "compiler/dialect/facts/indexing.h"

namespace isthmus {

// What a rule fills in: maps of `op`'s operands for one result.
class IndexingBuilder {
 public:
  IndexingBuilder(mlir::Operation* op, unsigned result);

  mlir::Operation* op() const { return op_; }
  unsigned result() const { return result_; }
  llvm::ArrayRef<int64_t> shapeOf(unsigned operand) const;
  llvm::ArrayRef<int64_t> resultShape() const { return resultShape_; }

  mlir::AffineExpr dim(int64_t d) const { return mlir::getAffineDimExpr(d, context_); }
  mlir::AffineExpr constant(int64_t value) const {
    return mlir::getAffineConstantExpr(value, context_);
  }
  mlir::AffineExpr symbol(SymbolKind kind, int64_t size);
  llvm::SmallVector<mlir::AffineExpr, 6> identity() const;

  // Sets an operand's map; without one, it is read whole.
  void set(unsigned operand, llvm::ArrayRef<mlir::AffineExpr> indices,
           llvm::ArrayRef<mlir::AffineExpr> zeros = {});
  // Without a map: the result does not depend on the operand.
  void setUnread(unsigned operand) { operands_[operand].state = State::kUnread; }

  IndexingMaps take() &&;

 private:
  void setWhole(unsigned operand);

  mlir::Operation* op_;
  unsigned result_;
  mlir::MLIRContext* context_;
  llvm::ArrayRef<int64_t> resultShape_;
  llvm::SmallVector<IndexSymbol, 2> symbols_;
  enum class State : uint8_t { kWhole, kUnread, kSet };
  struct Indices {
    State state = State::kWhole;
    llvm::SmallVector<mlir::AffineExpr, 6> exprs;
    llvm::SmallVector<mlir::AffineExpr, 1> zeros;
  };
  llvm::SmallVector<Indices, 3> operands_;
};

using IndexingRule = void (*)(IndexingBuilder& b);

// indexing.cc
void indexWhole(IndexingBuilder& b);

// indexing_movement.cc
void indexElementwise(IndexingBuilder& b);
void indexBarrier(IndexingBuilder& b);
void indexBitcast(IndexingBuilder& b);
void indexBroadcast(IndexingBuilder& b);
void indexConcatenate(IndexingBuilder& b);
void indexDynamicSlice(IndexingBuilder& b);
void indexDynamicUpdateSlice(IndexingBuilder& b);
void indexGather(IndexingBuilder& b);
void indexPad(IndexingBuilder& b);
void indexReshape(IndexingBuilder& b);
void indexReverse(IndexingBuilder& b);
void indexSlice(IndexingBuilder& b);
void indexTranspose(IndexingBuilder& b);

// indexing_reduction.cc
void indexConvolution(IndexingBuilder& b);
void indexDotGeneral(IndexingBuilder& b);
void indexReduce(IndexingBuilder& b);
void indexReduceWindow(IndexingBuilder& b);
void indexScatter(IndexingBuilder& b);
void indexSelectAndScatter(IndexingBuilder& b);
void indexSort(IndexingBuilder& b);
// Matrices in the last two dimensions, of cholesky and triangular_solve.
void indexMatrices(IndexingBuilder& b);
void indexFft(IndexingBuilder& b);

}  // namespace isthmus
