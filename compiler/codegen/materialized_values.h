// Values of a fusion that are in registers or in memory already.
#pragma once

#include <optional>

#include "compiler/codegen/loop/level.h"
#include "compiler/target/element_kind.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Operation.h"

namespace isthmus::codegen {

// What the evaluator reads instead of computing it. Those who emit loops say what there is, and for
// which rows; the addresses are theirs, and stay valid until the kernel is emitted.
class MaterializedValues {
 public:
  // In a register, of whichever index is asked for.
  void setRegister(mlir::Value value, const Val& register_) { registers_[value] = register_; }
  const Val* registerOf(mlir::Value value) const;

  // The results of a reduction, each in an array: entry (linear index of the result) - origin.
  struct Accumulators {
    llvm::SmallVector<llvm::Value*, 2> bases;
    // The same of a block of rows, where rows are summed up in blocks; else empty.
    llvm::SmallVector<llvm::Value*, 2> blockBases;
    IndexExpr origin;
  };
  void addAccumulators(mlir::Operation* reduce, llvm::ArrayRef<llvm::Value*> bases,
                       llvm::ArrayRef<llvm::Value*> blockBases = {});
  void setOrigin(mlir::Operation* reduce, const IndexExpr& origin);
  // Null if the reduction has none.
  const Accumulators* accumulatorsOf(mlir::Operation* reduce) const;

  // A row of a value, which is written while the reduction `writer` runs over it, and read once
  // that has ended. Entry: the index in dimension `dim`.
  struct Row {
    llvm::Value* base = nullptr;
    int64_t dim = 0;
    mlir::Operation* writer = nullptr;
    int64_t stride = 0;      // from one row of a block to the next; 0: there is one row at a time
    Level* level = nullptr;  // of the row, once it is written
  };
  void addRow(mlir::Value value, const Row& row) { rows_[value] = row; }
  // Null if none is kept.
  const Row* rowOf(mlir::Value value) const;
  // The rows of `writer` are there from here on; all of them are out of date.
  void setRowsWritten(mlir::Operation* writer, Level* level);
  void setRowsStale();

  // What has been stored of one of the kernel's results: the elements whose first `outerDims`
  // dimensions are at `row`, a linear index of an array of those. They are read back from `base`,
  // where the array begins.
  struct StoredRow {
    llvm::Value* base = nullptr;
    size_t outerDims = 0;
    IndexExpr row;
    Level* level = nullptr;  // after they were stored
  };
  void addStoredRow(mlir::Value value, const StoredRow& row) { storedRows_[value] = row; }
  void dropStoredRows() { storedRows_.clear(); }
  // Null if none is there.
  const StoredRow* storedRowOf(mlir::Value value) const;

  // Where accumulators and rows of several rows are there at once: the first of these, and the one
  // that is being computed, as linear indices of an array of rows. What is asked for at another is
  // not there.
  struct RowBlock {
    IndexExpr origin;
    IndexExpr row;
    // Where the row is in the block.
    IndexExpr position() const { return add(row, scale(origin, -1)); }
  };
  void enterRowBlock(const IndexExpr& origin) { block_ = {origin, {}}; }
  void enterRow(const IndexExpr& row) { block_->row = row; }
  void leaveRowBlock() { block_.reset(); }
  const std::optional<RowBlock>& rowBlock() const { return block_; }

  // The sums of the fusion's product: what is asked for is the sum in column `column` of the row at
  // hand, which begins with column 0 at `row`, an address at `level`.
  struct ProductSums {
    mlir::Operation* op = nullptr;
    ElementKind kind;
    llvm::Value* row = nullptr;
    Level* level = nullptr;
    IndexExpr column;
  };
  void setProduct(mlir::Operation* op, const ElementKind& kind) {
    sums_ = {op, kind, nullptr, nullptr, {}};
  }
  void enterSumsRow(llvm::Value* row, Level* level) { sums_.row = row, sums_.level = level; }
  void enterSumsColumn(const IndexExpr& column) { sums_.column = column; }
  const ProductSums& productSums() const { return sums_; }

 private:
  llvm::DenseMap<mlir::Value, Val> registers_;
  llvm::DenseMap<mlir::Operation*, Accumulators> accumulators_;
  llvm::DenseMap<mlir::Value, Row> rows_;
  llvm::DenseMap<mlir::Value, StoredRow> storedRows_;
  std::optional<RowBlock> block_;
  ProductSums sums_;
};

}  // namespace isthmus::codegen
