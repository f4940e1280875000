// dot_general: each work-item computes some rows of one column of the result.
#include "compiler/codegen/simt/kernel_writer.h"
#include "compiler/codegen/simt/op_kernels.h"
#include "compiler/codegen/simt/products/contraction.h"
#include "compiler/codegen/simt/products/group_dot.h"
#include "compiler/codegen/simt/products/matrix_product.h"
#include "compiler/codegen/simt/products/skinny_dot.h"
#include "compiler/codegen/simt/products/vector_contraction.h"
#include "llvm/IR/Module.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus::codegen {
namespace {

using Dims = llvm::ArrayRef<DotDimension>;
using DimList = DotDimensions;

// Rows and columns of the result that a work-item keeps in registers. Its columns are apart, so
// that neighbouring work-items read neighbouring elements.
constexpr int64_t kRowsPerItem = 8;
constexpr int64_t kColumnsPerItem = 2;
// With fewer columns, neighbouring work-items take rows instead.
constexpr int64_t kMinColumns = 8;
// From so many columns on, an item takes several.
constexpr int64_t kManyColumns = 64;
// An operand whose columns lie apart is packed first if so many rows use it.
constexpr int64_t kMinRowsToPack = 4;
// Sums that a work-item packs of its column: a line of the cache.
constexpr int64_t kPackedSums = 16;

struct Offsets {
  llvm::Value* lhs;
  llvm::Value* rhs;
};

// The roles with the lanes' side on the right.
struct Problem {
  DimList batch, rows, columns, sums;
  bool isSwapped = false;   // columns are the lhs's
  unsigned laneBuffer = 1;  // where the columns' operand is
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
  DotKernel(const Problem& problem, const ElementKind& lhs, const ElementKind& rhs,
            const ElementKind& result, const ElementKind& sum, KernelWriter& writer)
      : p_(problem), lhs_(lhs), rhs_(rhs), result_(result), sum_(sum), w_(writer) {}

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
  const ElementKind &lhs_, &rhs_, &result_, &sum_;
  KernelWriter& w_;
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
  auto load = [&](bool isLhs, unsigned buffer, const Line& line) {
    const ElementKind& kind = isLhs ? lhs_ : rhs_;
    llvm::Value* place = w_.plus(isLhs ? at.lhs : at.rhs, line.offset);
    return w_.convert(w_.load(w_.buffer(buffer), place, kind), kind, sum_);
  };
  llvm::SmallVector<Val, 2> columns;
  for (const Line& line : columns_) columns.push_back(load(p_.isSwapped, p_.laneBuffer, line));
  size_t next = 0;
  for (const Line& line : rows_) {
    Val row = load(!p_.isSwapped, p_.isSwapped ? 1 : 0, line);
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
  size_t next = 0;
  for (const Line& row : rows_) {
    for (const Line& column : columns_) {
      Val sum = sums[next++];
      llvm::Value* inMatrix = p_.isSwapped
                                  ? w_.plus(w_.times(column.number, numRows), row.number)
                                  : w_.plus(w_.times(row.number, numColumns), column.number);
      llvm::Value* index = w_.plus(w_.times(batch, numRows * numColumns), inMatrix);
      llvm::Value* isInside = w_.b().getTrue();
      if (numRows % rowsPerItem) isInside = w_.b().CreateICmpULT(row.number, w_.i64(numRows));
      if (numColumns % columnsPerItem) {
        isInside =
            w_.b().CreateAnd(isInside, w_.b().CreateICmpULT(column.number, w_.i64(numColumns)));
      }
      w_.branch(isInside,
                [&] { w_.store(w_.buffer(2), index, result_, w_.convert(sum, sum_, result_)); });
    }
  }
}

// Copies the columns' operand to (batch, sums, columns), and changes the problem to read that.
OpKernel emitPacking(Problem& problem, const ElementKind& kind, llvm::Module& module,
                     const WorkItemForm& form, const std::string& symbol) {
  int64_t numColumns = sizeOf(problem.columns);
  int64_t numSums = sizeOf(problem.sums);
  int64_t blocks = (numSums + kPackedSums - 1) / kPackedSums;
  Items items{numColumns, blocks, sizeOf(problem.batch)};
  KernelWriter w(module, form, symbol, 4, items);
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
      w.store(w.buffer(3), to, kind, w.load(w.buffer(problem.laneBuffer), from, kind));
    });
    return KernelWriter::Values();
  });
  w.finish();
  problem.columns = {{numColumns, problem.isSwapped ? 1 : 0, problem.isSwapped ? 0 : 1}};
  auto setStrides = [&](DimList& dims, int64_t stride) {
    for (size_t d = dims.size(); d-- > 0;) {
      (problem.isSwapped ? dims[d].lhsStride : dims[d].rhsStride) = stride;
      stride *= dims[d].size;
    }
  };
  setStrides(problem.sums, numColumns);
  setStrides(problem.batch, numSums * numColumns);
  problem.laneBuffer = 3;
  return {symbol, items};
}

bool isWorthPacking(const Problem& problem) {
  if (problem.columns.empty() || problem.sums.empty()) return false;
  const DotDimension& last = problem.columns.back();
  int64_t stride = problem.isSwapped ? last.lhsStride : last.rhsStride;
  return stride != 1 && sizeOf(problem.rows) >= kMinRowsToPack &&
         sizeOf(problem.columns) >= kMinColumns && sizeOf(problem.sums) > 1;
}

// With the strides of the result, which is dense: batch, rows, columns.
VectorContraction contractionOf(const DotRoles& roles) {
  VectorContraction all;
  int64_t stride = 1;
  auto convert = [&](const DimList& dims, bool isInResult) {
    TileDims converted;
    for (size_t d = dims.size(); d-- > 0;) {
      converted.push_back(
          {dims[d].size, dims[d].lhsStride, dims[d].rhsStride, isInResult ? stride : 0});
      if (isInResult) stride *= dims[d].size;
    }
    std::reverse(converted.begin(), converted.end());
    return converted;
  };
  all.sums = convert(roles.sums, false);
  all.columns = convert(roles.columns, true);
  all.rows = convert(roles.rows, true);
  all.batch = convert(roles.batch, true);
  all.lhsElements = sizeOf(roles.batch) * sizeOf(roles.rows) * sizeOf(roles.sums);
  return all;
}

// The rows as columns: lhs and rhs change places.
VectorContraction swapped(VectorContraction all) {
  std::swap(all.rows, all.columns);
  std::swap(all.lhs, all.rhs);
  std::swap(all.lhsBuffer, all.rhsBuffer);
  all.lhsElements = 1;
  for (TileDims* dims : {&all.batch, &all.rows, &all.columns, &all.sums}) {
    for (TileDim& dim : *dims) {
      std::swap(dim.lhs, dim.rhs);
      if (dims != &all.columns) all.lhsElements *= dim.size;
    }
  }
  return all;
}

std::optional<VectorPlan> vectorPlanOf(VectorContraction all, const TargetModel& target) {
  if (target.device != DeviceKind::kCpu) return std::nullopt;
  if (std::optional<VectorPlan> plan = planVectorContraction(all, 0, target)) return plan;
  return planVectorContraction(swapped(all), 0, target);
}

}  // namespace

ElementKind accumulationKind(const ElementKind& lhs, const ElementKind& rhs,
                             const ElementKind& result, mlir::MLIRContext* context) {
  if (!result.isFloat() && !result.isComplex()) return result;
  bool isWide = false;
  for (const ElementKind* kind : {&lhs, &rhs, &result}) {
    isWide |= (kind->isFloat() || kind->isComplex()) && kind->bits == 64;
  }
  mlir::Type part = isWide ? mlir::Type(mlir::Float64Type::get(context))
                           : mlir::Type(mlir::Float32Type::get(context));
  return *elementKind(result.isComplex() ? mlir::ComplexType::get(part) : part);
}

StatusOr<OpKernels> emitDot(shlo::DotGeneralOp op, llvm::Module& module, const WorkItemForm& form,
                            const std::string& symbol) {
  std::optional<ElementKind> lhsKind = kindOf(op.getLhs()), rhsKind = kindOf(op.getRhs()),
                             resultKind = kindOf(op.getResult());
  if (!lhsKind || !rhsKind || !resultKind) {
    return unimplemented("no arithmetic of this element type");
  }
  const ElementKind &lhs = *lhsKind, &rhs = *rhsKind, &result = *resultKind;
  ElementKind sum = accumulationKind(lhs, rhs, result, op.getContext());
  DotRoles roles = dotRolesOf(op);
  Problem problem{roles.batch, roles.rows, roles.columns, roles.sums};
  if (sizeOf(problem.columns) < kMinColumns && sizeOf(problem.rows) > sizeOf(problem.columns)) {
    std::swap(problem.rows, problem.columns);
    problem.isSwapped = true;
    problem.laneBuffer = 0;
  }
  OpKernels kernels;
  int64_t rows = sizeOf(problem.rows);
  int64_t columns = sizeOf(problem.columns);
  if (rows * columns * sizeOf(problem.batch) == 0) return kernels;
  const ProductKinds kinds{lhs, rhs, result, sum};
  for (auto* emit : {emitMatrixDot, emitGroupDot}) {
    if (std::optional<OpKernel> kernel = emit(roles, kinds, module, form, symbol)) {
      kernels.stages.push_back(std::move(*kernel));
      return kernels;
    }
  }
  if (auto skinny = emitSkinnyDot(roles, kinds, module, form, symbol)) return *std::move(skinny);
  VectorContraction contraction = contractionOf(roles);
  contraction.lhs = lhs;
  contraction.rhs = rhs;
  contraction.result = result;
  contraction.sum = sum;
  if (sizeOf(problem.sums) > 0) {
    if (auto plan = vectorPlanOf(std::move(contraction), form.target)) {
      emitVectorContraction(*plan, module, form, symbol, kernels);
      return kernels;
    }
  }
  if (isWorthPacking(problem)) {
    const ElementKind& kind = problem.isSwapped ? lhs : rhs;
    kernels.scratchBytes =
        columns * sizeOf(problem.sums) * sizeOf(problem.batch) * kind.storageBytes;
    if (kernels.scratchBytes > 0) {
      kernels.stages.push_back(emitPacking(problem, kind, module, form, symbol + "_pack"));
    }
  }
  int64_t rowsPerItem = std::min(rows, kRowsPerItem);
  int64_t columnsPerItem = columns >= kManyColumns ? kColumnsPerItem : 1;
  Items items{(columns + columnsPerItem - 1) / columnsPerItem,
              (rows + rowsPerItem - 1) / rowsPerItem, sizeOf(problem.batch)};
  KernelWriter writer(module, form, symbol, kernels.scratchBytes > 0 ? 4 : 3, items);
  DotKernel(problem, lhs, rhs, result, sum, writer).emit(rowsPerItem, columnsPerItem);
  writer.finish();
  kernels.stages.push_back({symbol, items});
  return kernels;
}

}  // namespace isthmus::codegen
