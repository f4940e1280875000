// A group's sub-groups lie side by side over a tile of the result. Each computes several of the
// instruction's results, so that what it reads of either operand serves more than one of them.
#include "compiler/codegen/simt/matrix_dot.h"

#include "compiler/codegen/simt/kernel_writer.h"
#include "compiler/codegen/simt/matrix_ops.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::codegen {
namespace {

using Type = MatrixOps::Type;

// Sub-groups of a group, down the rows and across the columns.
constexpr int64_t kDown = 4, kAcross = 2;
constexpr unsigned kGroupThreads = kDown * kAcross * MatrixOps::kThreads;
// Results of the instruction that a sub-group computes, where there are many, and where not.
struct Blocks {
  int64_t down, across;

  int64_t rows() const { return down * MatrixOps::kRows; }
  int64_t columns() const { return across * MatrixOps::kThreads; }
};
constexpr Blocks kLarge{4, 2}, kSmall{1, 1};
// Groups that keep a large device busy.
constexpr int64_t kEnoughGroups = 128;
// Of the result: below, most of a group's tile is empty.
constexpr int64_t kMinSize = 16;

class MatrixDotKernel {
 public:
  MatrixDotKernel(const DotRoles& roles, const DotKinds& kinds, Type type, Blocks blocks,
                  const MatrixOps& ops, KernelWriter& writer)
      : roles_(roles), kinds_(kinds), type_(type), blocks_(blocks), ops_(ops), w_(writer) {}

  void emit() {
    ops_.require(*w_.b().GetInsertBlock()->getParent());
    thread_ = ops_.threadInSubgroup(w_.b());
    auto [down, across] = w_.divide(ops_.subgroupInGroup(w_.b()), kAcross);
    firstRow_ = w_.times(w_.plus(w_.times(w_.item(1), kDown), down), blocks_.rows());
    firstColumn_ = w_.times(w_.plus(w_.times(w_.item(0), kAcross), across), blocks_.columns());
    findLines();
    llvm::Type* part = kinds_.sum.computeType(w_.b().getContext());
    llvm::Value* zeros =
        llvm::Constant::getNullValue(llvm::FixedVectorType::get(part, MatrixOps::kRows));
    Values none(static_cast<size_t>(blocks_.down * blocks_.across), zeros);
    const int64_t perStep = MatrixOps::kBytes / elementBytes();
    store(w_.loop(llvm::divideCeilSigned(sizeOf(roles_.sums), perStep), none,
                  [&](llvm::Value* step, const Values& sums) {
                    return addProducts(w_.times(step, perStep), sums);
                  }));
  }

 private:
  using Values = KernelWriter::Values;

  int64_t elementBytes() const { return type_ == Type::kI8 ? 1 : 2; }

  llvm::Value* offset(llvm::Value* index, const DotDimensions& dims, bool isLhs) {
    llvm::Value* at = w_.i64(0);
    for (size_t d = dims.size(); d-- > 0;) {
      llvm::Value* here = index;
      if (d > 0) std::tie(index, here) = w_.divide(index, dims[d].size);
      at = w_.plus(at, w_.times(here, isLhs ? dims[d].lhsStride : dims[d].rhsStride));
    }
    return at;
  }

  // Where the rows and the columns begin in their operands. Beyond the last it is read again, for
  // results that are not stored.
  void findLines() {
    auto inside = [&](llvm::Value* index, const DotDimensions& dims) {
      llvm::Value* last = w_.i64(sizeOf(dims) - 1);
      return w_.b().CreateSelect(w_.b().CreateICmpULT(index, last), index, last);
    };
    llvm::Value* lhs = offset(w_.item(2), roles_.batch, true);
    for (int64_t i = 0; i < blocks_.rows(); ++i) {
      llvm::Value* row = inside(w_.plus(firstRow_, w_.i64(i)), roles_.rows);
      rows_.push_back(w_.plus(lhs, offset(row, roles_.rows, true)));
    }
    llvm::Value* rhs = offset(w_.item(2), roles_.batch, false);
    for (int64_t j = 0; j < blocks_.across; ++j) {
      llvm::Value* column = inside(columnOf(j), roles_.columns);
      columns_.push_back(w_.plus(rhs, offset(column, roles_.columns, false)));
    }
  }

  llvm::Value* columnOf(int64_t block) {
    return w_.plus(firstColumn_, w_.plus(thread_, w_.i64(block * MatrixOps::kThreads)));
  }

  // `count` elements of a line from sum number `first` on, side by side in an integer.
  llvm::Value* pack(bool isLhs, llvm::Value* line, llvm::Value* first, int64_t count) {
    const int64_t sums = sizeOf(roles_.sums);
    const int64_t stride = isLhs ? roles_.sums[0].lhsStride : roles_.sums[0].rhsStride;
    const auto bits = static_cast<unsigned>(8 * elementBytes());
    llvm::IRBuilder<>& b = w_.b();
    llvm::Type* element = b.getIntNTy(bits);
    llvm::Type* packed = b.getIntNTy(bits * static_cast<unsigned>(count));
    llvm::Value* all = nullptr;
    for (int64_t e = 0; e < count; ++e) {
      llvm::Value* sum = w_.plus(first, w_.i64(e));
      llvm::Value* place = w_.plus(line, w_.times(sum, stride));
      const bool hasTail = sums % (MatrixOps::kBytes / elementBytes()) != 0;
      // Outside, an element that is there is read and not used: it could be infinite.
      llvm::Value* isInside = hasTail ? b.CreateICmpULT(sum, w_.i64(sums)) : nullptr;
      if (hasTail) place = b.CreateSelect(isInside, place, line);
      llvm::Value* address = b.CreateInBoundsGEP(element, w_.buffer(isLhs ? 0 : 1), place);
      llvm::Value* value = b.CreateLoad(element, address);
      if (hasTail) value = b.CreateSelect(isInside, value, llvm::ConstantInt::get(element, 0));
      value = b.CreateZExt(value, packed);
      if (e > 0) value = b.CreateShl(value, bits * static_cast<unsigned>(e));
      all = all ? b.CreateOr(all, value) : value;
    }
    return all;
  }

  Values addProducts(llvm::Value* firstSum, const Values& sums) {
    llvm::IRBuilder<>& b = w_.b();
    const int64_t perHalf = 2 / elementBytes(), perWord = 4 / elementBytes();
    Values lhs, rhs;
    for (int64_t i = 0; i < blocks_.down; ++i) {
      llvm::Value* a =
          llvm::PoisonValue::get(llvm::FixedVectorType::get(b.getInt16Ty(), MatrixOps::kRows));
      for (unsigned row = 0; row < MatrixOps::kRows; ++row) {
        llvm::Value* line = rows_[static_cast<size_t>(i) * MatrixOps::kRows + row];
        llvm::Value* first = w_.plus(firstSum, w_.times(thread_, perHalf));
        a = b.CreateInsertElement(a, pack(true, line, first, perHalf), row);
      }
      lhs.push_back(a);
    }
    for (llvm::Value* line : columns_) {
      constexpr unsigned kWords = MatrixOps::kBytes / 4;
      llvm::Value* column =
          llvm::PoisonValue::get(llvm::FixedVectorType::get(b.getInt32Ty(), kWords));
      for (unsigned word = 0; word < kWords; ++word) {
        llvm::Value* first = w_.plus(firstSum, w_.i64(word * perWord));
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
    const int64_t rows = sizeOf(roles_.rows), columns = sizeOf(roles_.columns);
    llvm::IRBuilder<>& b = w_.b();
    llvm::Value* batch = w_.times(w_.item(2), rows * columns);
    for (int64_t i = 0; i < blocks_.rows(); ++i) {
      llvm::Value* row = w_.plus(firstRow_, w_.i64(i));
      for (int64_t j = 0; j < blocks_.across; ++j) {
        llvm::Value* column = columnOf(j);
        llvm::Value* isInside = b.CreateAnd(b.CreateICmpULT(row, w_.i64(rows)),
                                            b.CreateICmpULT(column, w_.i64(columns)));
        w_.branch(isInside, [&] {
          llvm::Value* at = w_.plus(batch, w_.plus(w_.times(row, columns), column));
          llvm::Value* block = sums[static_cast<size_t>(i / MatrixOps::kRows * blocks_.across + j)];
          Val sum{b.CreateExtractElement(block, static_cast<uint64_t>(i) % MatrixOps::kRows)};
          w_.store(w_.buffer(2), at, kinds_.result, w_.convert(sum, kinds_.sum, kinds_.result));
        });
      }
    }
  }

  const DotRoles& roles_;
  const DotKinds& kinds_;
  Type type_;
  Blocks blocks_;
  const MatrixOps& ops_;
  KernelWriter& w_;
  llvm::Value* thread_ = nullptr;
  llvm::Value* firstRow_ = nullptr;
  llvm::Value* firstColumn_ = nullptr;
  llvm::SmallVector<llvm::Value*, 32> rows_;
  Values columns_;
};

std::optional<Type> typeOf(const DotKinds& kinds) {
  const ElementKind &lhs = kinds.lhs, &rhs = kinds.rhs, &sum = kinds.sum;
  if (sum.isFloat() && sum.bits == 32) {
    if (lhs.isBf16 && rhs.isBf16) return Type::kBf16;
    if (lhs.isF16 && rhs.isF16) return Type::kF16;
    return std::nullopt;
  }
  auto isByte = [](const ElementKind& kind) {
    return kind.isInteger() && kind.bits == 8 && kind.isSigned;
  };
  return isByte(lhs) && isByte(rhs) && sum.isInteger() && sum.bits == 32 ? std::optional(Type::kI8)
                                                                         : std::nullopt;
}

}  // namespace

std::optional<OpKernel> emitMatrixDot(const DotRoles& roles, const DotKinds& kinds,
                                      llvm::Module& module, const WorkItemForm& form,
                                      const std::string& symbol) {
  const int64_t rows = sizeOf(roles.rows), columns = sizeOf(roles.columns);
  std::optional<Type> type = typeOf(kinds);
  if (!form.matrixOps || !type || form.target.groupSize < kGroupThreads || roles.sums.size() != 1 ||
      rows < kMinSize || columns < kMinSize || roles.sums[0].size < kMinSize) {
    return std::nullopt;
  }
  auto groupsOf = [&](Blocks blocks) {
    return Items{llvm::divideCeilSigned(columns, kAcross * blocks.columns()),
                 llvm::divideCeilSigned(rows, kDown * blocks.rows()), sizeOf(roles.batch)};
  };
  Blocks blocks = kLarge;
  Items items = groupsOf(blocks);
  if (items[0] * items[1] * items[2] < kEnoughGroups) items = groupsOf(blocks = kSmall);
  KernelWriter writer(module, form, symbol, 3, items, kGroupThreads);
  MatrixDotKernel(roles, kinds, *type, blocks, *form.matrixOps, writer).emit();
  writer.finish();
  return OpKernel{symbol, items, kGroupThreads};
}

}  // namespace isthmus::codegen
