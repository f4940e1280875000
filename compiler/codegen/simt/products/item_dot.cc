// Each work-item computes some rows of some columns of the result.
#include "compiler/codegen/simt/products/item_products.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::codegen {
namespace {

using Dims = llvm::ArrayRef<DotDimension>;
using DimList = DotDimensions;

// Sums that a work-item packs of its column: a line of the cache.
constexpr int64_t kPackedSums = 16;

struct Offsets {
  llvm::Value* lhs;
  llvm::Value* rhs;
};

// The roles with the lanes' side on the right.
struct Problem {
  DimList batch, rows, columns, sums;
  bool isSwapped = false;  // columns are the lhs's
  bool isPacked = false;   // the columns' operand is in scratch memory

  llvm::Value* columnsOperand(ProductWriter& w) const {
    return isPacked ? w.scratch() : isSwapped ? w.lhs() : w.rhs();
  }
  llvm::Value* rowsOperand(ProductWriter& w) const { return isSwapped ? w.rhs() : w.lhs(); }
};

// Where an index into a group of dimensions leads in both operands.
Offsets offsetsOf(KernelWriter& w, llvm::Value* index, Dims dims) {
  Offsets at{w.i64(0), w.i64(0)};
  for (size_t d = dims.size(); d-- > 0;) {
    llvm::Value* here = index;
    if (d > 0) std::tie(index, here) = w.divide(index, dims[d].size);
    if (dims[d].lhsStride) at.lhs = w.plus(at.lhs, w.times(here, dims[d].lhsStride));
    if (dims[d].rhsStride) at.rhs = w.plus(at.rhs, w.times(here, dims[d].rhsStride));
  }
  return at;
}

class DotKernel {
 public:
  DotKernel(const Problem& problem, const ProductKinds& kinds, ProductWriter& writer)
      : p_(problem), lhs_(kinds.lhs), rhs_(kinds.rhs), sum_(kinds.sum), w_(writer) {}

  void emit(int64_t rowsPerItem, int64_t columnsPerItem);

 private:
  using Sums = KernelWriter::Elements;
  // Of a row or a column: its number, and where it begins in its operand.
  struct Line {
    llvm::Value* number;
    llvm::Value* offset;
  };

  llvm::SmallVector<Line, 8> lines(llvm::Value* first, int64_t distance, int64_t count, Dims dims,
                                   bool isLhs);
  Sums sumOver(Dims dims, Offsets at, Sums sums);
  Sums addProducts(Offsets at, Sums sums);

  const Problem& p_;
  const ElementKind &lhs_, &rhs_, &sum_;
  ProductWriter& w_;
  llvm::SmallVector<Line, 8> rows_;
  llvm::SmallVector<Line, 8> columns_;
};

llvm::SmallVector<DotKernel::Line, 8> DotKernel::lines(llvm::Value* first, int64_t distance,
                                                       int64_t count, Dims dims, bool isLhs) {
  llvm::SmallVector<Line, 8> all;
  int64_t size = sizeOf(dims);
  for (int64_t i = 0; i < count; ++i) {
    Line line;
    line.number = w_.plus(first, w_.i64(i * distance));
    llvm::Value* inside = line.number;
    // Beyond the last: computed once more, and not stored.
    if (size % count) {
      inside =
          w_.b().CreateSelect(w_.b().CreateICmpULT(inside, w_.i64(size)), inside, w_.i64(size - 1));
    }
    Offsets at = offsetsOf(w_, inside, dims);
    line.offset = isLhs ? at.lhs : at.rhs;
    all.push_back(line);
  }
  return all;
}

DotKernel::Sums DotKernel::addProducts(Offsets at, Sums sums) {
  auto load = [&](bool isLhs, llvm::Value* buffer, const Line& line) {
    const ElementKind& kind = isLhs ? lhs_ : rhs_;
    llvm::Value* place = w_.plus(isLhs ? at.lhs : at.rhs, line.offset);
    return w_.convert(w_.load(buffer, place, kind), kind, sum_);
  };
  llvm::SmallVector<Val, 2> columns;
  for (const Line& line : columns_)
    columns.push_back(load(p_.isSwapped, p_.columnsOperand(w_), line));
  size_t next = 0;
  for (const Line& line : rows_) {
    Val row = load(!p_.isSwapped, p_.rowsOperand(w_), line);
    for (const Val& column : columns) {
      sums[next] = p_.isSwapped ? w_.multiplyAdd(column, row, sums[next], sum_)
                                : w_.multiplyAdd(row, column, sums[next], sum_);
      ++next;
    }
  }
  return sums;
}

DotKernel::Sums DotKernel::sumOver(Dims dims, Offsets at, Sums sums) {
  if (dims.empty()) return addProducts(at, std::move(sums));
  const DotDimension& dim = dims.front();
  return w_.loop(dim.size, sums, [&](llvm::Value* k, const Sums& carried) {
    Offsets inner{w_.plus(at.lhs, w_.times(k, dim.lhsStride)),
                  w_.plus(at.rhs, w_.times(k, dim.rhsStride))};
    return sumOver(dims.drop_front(), inner, carried);
  });
}

void DotKernel::emit(int64_t rowsPerItem, int64_t columnsPerItem) {
  int64_t numRows = sizeOf(p_.rows);
  int64_t numColumns = sizeOf(p_.columns);
  int64_t distance = (numColumns + columnsPerItem - 1) / columnsPerItem;
  llvm::Value* batch = w_.item(2);
  rows_ = lines(w_.times(w_.item(1), rowsPerItem), 1, rowsPerItem, p_.rows, !p_.isSwapped);
  columns_ = lines(w_.item(0), distance, columnsPerItem, p_.columns, p_.isSwapped);
  Sums sums(rows_.size() * columns_.size(), w_.zero(sum_));
  sums = sumOver(p_.sums, offsetsOf(w_, batch, p_.batch), sums);
  const int64_t lhsRows = p_.isSwapped ? numColumns : numRows;
  const int64_t rhsColumns = p_.isSwapped ? numRows : numColumns;
  size_t next = 0;
  for (const Line& row : rows_) {
    for (const Line& column : columns_) {
      llvm::Value* line = (p_.isSwapped ? column : row).number;
      ProductWriter::Site site{w_.plus(w_.times(batch, lhsRows), line),
                               (p_.isSwapped ? row : column).number, nullptr};
      site.place = w_.plus(w_.times(site.row, rhsColumns), site.column);
      llvm::Value* isInside = nullptr;
      auto require = [&](llvm::Value* number, int64_t size) {
        llvm::Value* is = w_.b().CreateICmpULT(number, w_.i64(size));
        isInside = isInside ? w_.b().CreateAnd(isInside, is) : is;
      };
      if (numRows % rowsPerItem) require(row.number, numRows);
      if (numColumns % columnsPerItem) require(column.number, numColumns);
      site.isInside = isInside;
      w_.storeSum(site, sums[next++]);
    }
  }
}

// Copies the columns' operand to (batch, sums, columns), and changes the problem to read that.
OpKernel emitPacking(Problem& problem, const ProductTask& task, llvm::Module& module,
                     const WorkItemForm& form, const std::string& symbol) {
  const ElementKind& kind = problem.isSwapped ? task.kinds.lhs : task.kinds.rhs;
  int64_t numColumns = sizeOf(problem.columns);
  int64_t numSums = sizeOf(problem.sums);
  int64_t blocks = (numSums + kPackedSums - 1) / kPackedSums;
  Items items{numColumns, blocks, sizeOf(problem.batch)};
  ProductWriter w(module, form, symbol, task, items, 1, true);
  auto side = [&](Offsets at) { return problem.isSwapped ? at.lhs : at.rhs; };
  llvm::Value* base = w.plus(side(offsetsOf(w, w.item(2), problem.batch)),
                             side(offsetsOf(w, w.item(0), problem.columns)));
  llvm::Value* first = w.times(w.item(1), kPackedSums);
  w.loop(kPackedSums, {}, [&](llvm::Value* i, const KernelWriter::Values&) {
    llvm::Value* k = w.plus(first, i);
    w.branch(w.b().CreateICmpULT(k, w.i64(numSums)), [&] {
      llvm::Value* from = w.plus(base, side(offsetsOf(w, k, problem.sums)));
      llvm::Value* row = w.plus(w.times(w.item(2), numSums), k);
      llvm::Value* to = w.plus(w.times(row, numColumns), w.item(0));
      w.store(w.scratch(), to, kind, w.load(problem.columnsOperand(w), from, kind));
    });
    return KernelWriter::Values();
  });
  w.KernelWriter::finish();
  problem.columns = {{numColumns, problem.isSwapped ? 1 : 0, problem.isSwapped ? 0 : 1}};
  auto setStrides = [&](DimList& dims, int64_t stride) {
    for (size_t d = dims.size(); d-- > 0;) {
      (problem.isSwapped ? dims[d].lhsStride : dims[d].rhsStride) = stride;
      stride *= dims[d].size;
    }
  };
  setStrides(problem.sums, numColumns);
  setStrides(problem.batch, numSums * numColumns);
  problem.isPacked = true;
  return {symbol, items};
}

}  // namespace

StatusOr<OpKernels> emitItemDot(const DotRoles& roles, const ProductTask& task,
                                llvm::Module& module, const WorkItemForm& form,
                                const std::string& symbol) {
  const ProductSchedule& product = task.product();
  Problem problem{roles.batch, roles.rows, roles.columns, roles.contracting};
  if (product.isSwapped) {
    std::swap(problem.rows, problem.columns);
    problem.isSwapped = true;
  }
  OpKernels kernels;
  const int64_t rows = sizeOf(problem.rows), columns = sizeOf(problem.columns);
  if (product.copiesColumns) {
    const ElementKind& kind = problem.isSwapped ? task.kinds.lhs : task.kinds.rhs;
    kernels.scratchBytes =
        columns * sizeOf(problem.sums) * sizeOf(problem.batch) * kind.storageBytes;
    kernels.stages.push_back(emitPacking(problem, task, module, form, symbol + "_pack"));
  }
  Items items{llvm::divideCeilSigned(columns, product.columns),
              llvm::divideCeilSigned(rows, product.rows), sizeOf(problem.batch)};
  ProductWriter writer(module, form, symbol, task, items, 1, kernels.scratchBytes > 0);
  DotKernel(problem, task.kinds, writer).emit(product.rows, product.columns);
  ISTHMUS_RETURN_IF_ERROR(writer.finish());
  kernels.stages.push_back({symbol, items});
  return kernels;
}

}  // namespace isthmus::codegen
