// A group's sub-groups lie side by side over a tile of the result. Each computes several of the
// instruction's results, so that what it reads of either operand serves more than one of them.
#include "compiler/codegen/simt/products/matrix_product.h"

#include "compiler/codegen/simt/products/matrix_ops.h"
#include "compiler/schedule/products/product_scheduler.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::codegen {
namespace {

using Type = MatrixOps::Type;

class MatrixKernel {
 public:
  MatrixKernel(const ProductProblem& problem, const ProductTask& task, Type type,
               const ProductModel& model, const MatrixOps& ops, ProductWriter& writer)
      : problem_(problem),
        kinds_(task.kinds),
        type_(type),
        model_(model),
        rowsOfBlock_(static_cast<unsigned>(model.instructionRows)),
        blocks_{task.product().rows, task.product().columns,
                task.product().rows * model.instructionRows,
                task.product().columns * model.instructionColumns},
        ops_(ops),
        w_(writer) {}

  void emit() {
    ops_.require(*w_.b().GetInsertBlock()->getParent());
    thread_ = ops_.threadInSubgroup(w_.b());
    auto [down, across] = w_.divide(ops_.subgroupInGroup(w_.b()), model_.subgroupsAcross);
    firstRow_ = w_.times(w_.plus(w_.times(w_.item(1), model_.subgroupsDown), down), blocks_.rows);
    firstColumn_ =
        w_.times(w_.plus(w_.times(w_.item(0), model_.subgroupsAcross), across), blocks_.columns);
    llvm::Type* part = kinds_.sum.computeType(w_.b().getContext());
    llvm::Value* zeros =
        llvm::Constant::getNullValue(llvm::FixedVectorType::get(part, rowsOfBlock_));
    Values none(static_cast<size_t>(blocks_.down * blocks_.across), zeros);
    store(sumOverWindow({}, none));
  }

 private:
  using Values = KernelWriter::Values;
  using Line = ProductProblem::Line;

  int64_t elementBytes() const { return type_ == Type::kI8 ? 1 : 2; }

  Values sumOverWindow(const Values& at, const Values& sums) {
    if (at.size() < problem_.window.size()) {
      return w_.loop(problem_.window[at.size()], sums,
                     [&](llvm::Value* element, const Values& carried) {
                       Values inner = at;
                       inner.push_back(element);
                       return sumOverWindow(inner, carried);
                     });
    }
    findLines(at);
    const int64_t perStep = model_.instructionBytes / elementBytes();
    return w_.loop(llvm::divideCeilSigned(problem_.contracting, perStep), sums,
                   [&](llvm::Value* step, const Values& carried) {
                     return addProducts(w_.times(step, perStep), carried);
                   });
  }

  // Beyond the last, it is read again, for results that are not stored.
  void findLines(ProductProblem::Window window) {
    auto bounded = [&](llvm::Value* index, int64_t size) {
      llvm::Value* last = w_.i64(size - 1);
      return w_.b().CreateSelect(w_.b().CreateICmpULT(index, last), index, last);
    };
    rows_.clear();
    columns_.clear();
    for (int64_t i = 0; i < blocks_.rows; ++i) {
      llvm::Value* row = bounded(w_.plus(firstRow_, w_.i64(i)), problem_.rows);
      rows_.push_back(problem_.lhs(w_, w_.item(2), row, window));
    }
    for (int64_t j = 0; j < blocks_.across; ++j) {
      llvm::Value* column = bounded(columnOf(w_.i64(j)), problem_.columns);
      columns_.push_back(problem_.rhs(w_, w_.item(2), column, window));
    }
  }

  llvm::Value* columnOf(llvm::Value* block) {
    return w_.plus(firstColumn_, w_.plus(thread_, w_.times(block, model_.instructionColumns)));
  }

  // `count` terms of a line from number `first` on, side by side in an integer.
  llvm::Value* pack(bool isLhs, const Line& line, llvm::Value* first, int64_t count) {
    const int64_t stride = isLhs ? problem_.lhsStride : problem_.rhsStride;
    const bool hasTail = problem_.contracting % (model_.instructionBytes / elementBytes()) != 0;
    const auto bits = static_cast<unsigned>(8 * elementBytes());
    llvm::IRBuilder<>& b = w_.b();
    llvm::Type* element = b.getIntNTy(bits);
    llvm::Type* packed = b.getIntNTy(bits * static_cast<unsigned>(count));
    llvm::Value* all = nullptr;
    for (int64_t e = 0; e < count; ++e) {
      llvm::Value* term = w_.plus(first, w_.i64(e));
      llvm::Value* place = w_.plus(line.place, w_.times(term, stride));
      llvm::Value* isInside = line.isInside;
      if (hasTail) {
        llvm::Value* isTerm = b.CreateICmpULT(term, w_.i64(problem_.contracting));
        isInside = isInside ? b.CreateAnd(isInside, isTerm) : isTerm;
      }
      // Outside, an element that is there is read and not used: it could be infinite.
      if (isInside) place = b.CreateSelect(isInside, place, w_.i64(0));
      llvm::Value* address = b.CreateInBoundsGEP(element, isLhs ? w_.lhs() : w_.rhs(), place);
      llvm::Value* value = b.CreateLoad(element, address);
      if (isInside) value = b.CreateSelect(isInside, value, llvm::ConstantInt::get(element, 0));
      value = b.CreateZExt(value, packed);
      if (e > 0) value = b.CreateShl(value, bits * static_cast<unsigned>(e));
      all = all ? b.CreateOr(all, value) : value;
    }
    return all;
  }

  Values addProducts(llvm::Value* firstTerm, const Values& sums) {
    llvm::IRBuilder<>& b = w_.b();
    const int64_t perHalf = 2 / elementBytes(), perWord = 4 / elementBytes();
    Values lhs, rhs;
    for (int64_t i = 0; i < blocks_.down; ++i) {
      llvm::Value* a =
          llvm::PoisonValue::get(llvm::FixedVectorType::get(b.getInt16Ty(), rowsOfBlock_));
      for (unsigned row = 0; row < rowsOfBlock_; ++row) {
        const Line& line = rows_[static_cast<size_t>(i) * rowsOfBlock_ + row];
        llvm::Value* first = w_.plus(firstTerm, w_.times(thread_, perHalf));
        a = b.CreateInsertElement(a, pack(true, line, first, perHalf), row);
      }
      lhs.push_back(a);
    }
    for (const Line& line : columns_) {
      const auto words = static_cast<unsigned>(model_.instructionBytes / 4);
      llvm::Value* column =
          llvm::PoisonValue::get(llvm::FixedVectorType::get(b.getInt32Ty(), words));
      for (unsigned word = 0; word < words; ++word) {
        llvm::Value* first = w_.plus(firstTerm, w_.i64(word * perWord));
        column = b.CreateInsertElement(column, pack(false, line, first, perWord), word);
      }
      rhs.push_back(column);
    }
    Values next;
    for (llvm::Value* a : lhs) {
      for (llvm::Value* column : rhs) {
        next.push_back(ops_.multiplyAdd(b, type_, a, column, sums[next.size()]));
      }
    }
    return next;
  }

  void store(const Values& sums) {
    llvm::IRBuilder<>& b = w_.b();
    KernelWriter::Elements all;
    for (int64_t i = 0; i < blocks_.rows; ++i) {
      for (int64_t j = 0; j < blocks_.across; ++j) {
        llvm::Value* block = sums[static_cast<size_t>(i / rowsOfBlock_ * blocks_.across + j)];
        all.push_back({b.CreateExtractElement(block, static_cast<uint64_t>(i) % rowsOfBlock_)});
      }
    }
    w_.storeSums(all, [&](llvm::Value* number) {
      auto [i, j] = w_.divide(number, blocks_.across);
      llvm::Value* row = w_.plus(firstRow_, i);
      llvm::Value* column = columnOf(j);
      llvm::Value* isInside = b.CreateAnd(b.CreateICmpULT(row, w_.i64(problem_.rows)),
                                          b.CreateICmpULT(column, w_.i64(problem_.columns)));
      return problem_.site(w_, w_.item(2), row, column, isInside);
    });
  }

  const ProductProblem& problem_;
  const ProductKinds& kinds_;
  Type type_;
  // Results of the instruction that a sub-group computes.
  struct Blocks {
    int64_t down, across;
    int64_t rows, columns;  // of all of them
  };
  const ProductModel& model_;
  unsigned rowsOfBlock_;
  Blocks blocks_;
  const MatrixOps& ops_;
  ProductWriter& w_;
  llvm::Value* thread_ = nullptr;
  llvm::Value* firstRow_ = nullptr;
  llvm::Value* firstColumn_ = nullptr;
  llvm::SmallVector<Line, 32> rows_, columns_;  // of the element of the window
};

Type typeOf(const ProductKinds& kinds) {
  return kinds.lhs.isBf16 ? Type::kBf16 : kinds.lhs.isF16 ? Type::kF16 : Type::kI8;
}

}  // namespace

StatusOr<OpKernel> emitMatrixProduct(const ProductProblem& problem, const ProductTask& task,
                                     llvm::Module& module, const WorkItemForm& form,
                                     const std::string& symbol) {
  if (!form.matrixOps) return internalError("the device has no matrix instruction");
  const ProductSchedule& product = task.product();
  Items items{llvm::divideCeilSigned(problem.columns, product.tileColumns),
              llvm::divideCeilSigned(problem.rows, product.tileRows), problem.batches};
  const ProductModel& model = form.target.products;
  const auto threads =
      static_cast<unsigned>(model.subgroupsDown * model.subgroupsAcross * model.instructionColumns);
  ProductWriter writer(module, form, symbol, task, items, threads, false);
  MatrixKernel(problem, task, typeOf(task.kinds), model, *form.matrixOps, writer).emit();
  ISTHMUS_RETURN_IF_ERROR(writer.finish());
  return OpKernel{symbol, items, threads};
}

}  // namespace isthmus::codegen
