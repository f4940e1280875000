// 256 threads share a square tile of the result, each with elements that lie apart by 16, so that
// neighbours read and write neighbours. In the group's memory a tile's lines lie side by side,
// whichever way they lie in the operand.
#include "compiler/codegen/simt/products/group_dot.h"

#include <algorithm>

#include "compiler/codegen/group_threads.h"
#include "compiler/codegen/simt/kernel_writer.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::codegen {
namespace {

constexpr int64_t kSide = 16;  // threads along the rows, and along the columns
constexpr unsigned kThreads = kSide * kSide;
constexpr int64_t kTileSums = 16;
// Elements of a thread along each side: of large tiles, which read each operand less often, if
// there are enough of them to go round, and of small ones.
constexpr int64_t kLargeSide = 8, kSmallSide = 4;
constexpr int64_t kEnoughTiles = 128;
// Below, a tile is mostly empty.
constexpr int64_t kMinSize = 24;
// So many of memory's banks are passed over from line to line, for stores across the lines.
constexpr int64_t kPadding = 4;

class GroupDotKernel {
 public:
  GroupDotKernel(const DotRoles& roles, const ProductKinds& kinds, int64_t perSide,
                 llvm::Module& module, const WorkItemForm& form, KernelWriter& writer)
      : roles_(roles),
        kinds_(kinds),
        perSide_(perSide),
        module_(module),
        form_(form),
        w_(writer),
        tile_(perSide * kSide) {}

  void emit() {
    thread_ = form_.threadInGroup(w_.b());
    std::tie(threadRow_, threadColumn_) = w_.divide(thread_, kSide);
    Operand lhs = operand(true), rhs = operand(false);
    int64_t sums = sizeOf(roles_.sums);
    Elements zeros(static_cast<size_t>(perSide_ * perSide_), w_.zero(kinds_.sum));
    Elements all =
        w_.loop(llvm::divideCeilSigned(sums, kTileSums), zeros,
                [&](llvm::Value* number, const Elements& carried) {
                  llvm::Value* first = w_.times(number, kTileSums);
                  // What is in the group's memory is still read by others.
                  form_.barrier(w_.b());
                  copyTile(lhs, first);
                  copyTile(rhs, first);
                  form_.barrier(w_.b());
                  return w_.loop(kTileSums, carried, [&](llvm::Value* k, const Elements& partial) {
                    return addProducts(lhs, rhs, k, partial);
                  });
                });
    store(all);
  }

 private:
  using Elements = KernelWriter::Elements;

  struct Operand {
    bool isLhs = false;
    ElementKind kind;
    llvm::Value* buffer = nullptr;
    llvm::GlobalVariable* memory = nullptr;
    bool alongSums = false;  // threads side by side read along the sums, else along the lines
    // Of each element that this thread copies: its line and sum in the tile, and its place.
    llvm::SmallVector<llvm::Value*, 8> lines, sums, places, isInside;
  };

  // A place in the group's memory: lines are side by side.
  llvm::Value* slot(const Operand& o, llvm::Value* sum, llvm::Value* line) {
    llvm::Value* index = w_.plus(w_.times(sum, tile_ + kPadding), line);
    return w_.b().CreateInBoundsGEP(memoryType(), o.memory, index);
  }
  llvm::Type* memoryType() {
    llvm::Type* type = kinds_.sum.computeType(module_.getContext());
    return type->isIntegerTy(1) ? llvm::Type::getInt8Ty(module_.getContext()) : type;
  }
  llvm::Value* firstLine(bool isLhs) { return w_.times(w_.item(isLhs ? 1 : 0), tile_); }

  Operand operand(bool isLhs) {
    Operand o;
    o.isLhs = isLhs;
    o.kind = isLhs ? kinds_.lhs : kinds_.rhs;
    o.buffer = w_.buffer(isLhs ? 0 : 1);
    auto count = static_cast<uint64_t>(kTileSums * (tile_ + kPadding));
    auto* type = llvm::ArrayType::get(memoryType(), count);
    o.memory = new llvm::GlobalVariable(module_, type, false, llvm::GlobalValue::InternalLinkage,
                                        llvm::UndefValue::get(type), isLhs ? "lhs" : "rhs", nullptr,
                                        llvm::GlobalValue::NotThreadLocal, kGroupMemorySpace);
    const DotDimensions& dims = isLhs ? roles_.rows : roles_.columns;
    auto stride = [&](const DotDimension& d) { return isLhs ? d.lhsStride : d.rhsStride; };
    o.alongSums = !roles_.sums.empty() && stride(roles_.sums[0]) == 1;
    llvm::Value* batch = offset(w_.item(2), roles_.batch, isLhs);
    int64_t lines = sizeOf(dims);
    for (int64_t i = 0; i < tile_ * kTileSums / kThreads; ++i) {
      llvm::Value* index = w_.plus(thread_, w_.i64(i * kThreads));
      auto [quotient, remainder] = w_.divide(index, o.alongSums ? kTileSums : tile_);
      llvm::Value* line = o.alongSums ? quotient : remainder;
      llvm::Value* sum = o.alongSums ? remainder : quotient;
      llvm::Value* at = w_.plus(firstLine(isLhs), line);
      llvm::Value* inside = w_.b().CreateICmpULT(at, w_.i64(lines));
      at = w_.b().CreateSelect(inside, at, w_.i64(0));
      o.lines.push_back(line);
      o.sums.push_back(sum);
      o.isInside.push_back(inside);
      o.places.push_back(w_.plus(batch, offset(at, dims, isLhs)));
    }
    return o;
  }

  llvm::Value* offset(llvm::Value* index, const DotDimensions& dims, bool isLhs) {
    llvm::Value* at = w_.i64(0);
    for (size_t d = dims.size(); d-- > 0;) {
      llvm::Value* here = index;
      if (d > 0) std::tie(index, here) = w_.divide(index, dims[d].size);
      at = w_.plus(at, w_.times(here, isLhs ? dims[d].lhsStride : dims[d].rhsStride));
    }
    return at;
  }

  void copyTile(const Operand& o, llvm::Value* first) {
    int64_t sums = sizeOf(roles_.sums);
    int64_t stride = roles_.sums.empty() ? 0
                     : o.isLhs           ? roles_.sums[0].lhsStride
                                         : roles_.sums[0].rhsStride;
    llvm::SmallVector<llvm::Value*, 8> values;
    for (size_t i = 0; i < o.places.size(); ++i) {
      llvm::Value* sum = w_.plus(first, o.sums[i]);
      llvm::Value* inside = o.isInside[i];
      if (sums % kTileSums) {
        inside = w_.b().CreateAnd(inside, w_.b().CreateICmpULT(sum, w_.i64(sums)));
      }
      // Outside, an element that is there is read and not used.
      llvm::Value* place =
          w_.b().CreateSelect(inside, w_.plus(o.places[i], w_.times(sum, stride)), w_.i64(0));
      Val value = w_.convert(w_.load(o.buffer, place, o.kind), o.kind, kinds_.sum);
      value = w_.select(inside, value, w_.zero(kinds_.sum));
      values.push_back(w_.b().CreateZExtOrBitCast(value.re, memoryType()));
    }
    for (size_t i = 0; i < o.places.size(); ++i) {
      w_.b().CreateStore(values[i], slot(o, o.sums[i], o.lines[i]));
    }
  }

  Elements addProducts(const Operand& lhs, const Operand& rhs, llvm::Value* k,
                       const Elements& partial) {
    auto load = [&](const Operand& o, llvm::Value* thread, int64_t i) {
      llvm::Value* line = w_.plus(thread, w_.i64(i * kSide));
      llvm::Value* loaded = w_.b().CreateLoad(memoryType(), slot(o, k, line));
      return Val{w_.b().CreateTruncOrBitCast(loaded, kinds_.sum.computeType(module_.getContext()))};
    };
    Elements next = partial;
    llvm::SmallVector<Val, 8> columns;
    for (int64_t j = 0; j < perSide_; ++j) columns.push_back(load(rhs, threadColumn_, j));
    for (int64_t i = 0; i < perSide_; ++i) {
      Val row = load(lhs, threadRow_, i);
      for (int64_t j = 0; j < perSide_; ++j) {
        Val& sum = next[static_cast<size_t>(i * perSide_ + j)];
        sum = w_.multiplyAdd(row, columns[static_cast<size_t>(j)], sum, kinds_.sum);
      }
    }
    return next;
  }

  void store(const Elements& all) {
    int64_t rows = sizeOf(roles_.rows), columns = sizeOf(roles_.columns);
    llvm::Value* batch = w_.times(w_.item(2), rows * columns);
    for (int64_t i = 0; i < perSide_; ++i) {
      for (int64_t j = 0; j < perSide_; ++j) {
        llvm::Value* row = w_.plus(firstLine(true), w_.plus(threadRow_, w_.i64(i * kSide)));
        llvm::Value* column = w_.plus(firstLine(false), w_.plus(threadColumn_, w_.i64(j * kSide)));
        llvm::Value* isInside = w_.b().CreateAnd(w_.b().CreateICmpULT(row, w_.i64(rows)),
                                                 w_.b().CreateICmpULT(column, w_.i64(columns)));
        w_.branch(isInside, [&] {
          llvm::Value* at = w_.plus(batch, w_.plus(w_.times(row, columns), column));
          const Val& sum = all[static_cast<size_t>(i * perSide_ + j)];
          w_.store(w_.buffer(2), at, kinds_.result, w_.convert(sum, kinds_.sum, kinds_.result));
        });
      }
    }
  }

  const DotRoles& roles_;
  const ProductKinds& kinds_;
  int64_t perSide_;
  llvm::Module& module_;
  const WorkItemForm& form_;
  KernelWriter& w_;
  int64_t tile_;
  llvm::Value* thread_ = nullptr;
  llvm::Value* threadRow_ = nullptr;
  llvm::Value* threadColumn_ = nullptr;
};

}  // namespace

std::optional<OpKernel> emitGroupDot(const DotRoles& roles, const ProductKinds& kinds,
                                     llvm::Module& module, const WorkItemForm& form,
                                     const std::string& symbol) {
  const TargetModel& target = form.target;
  int64_t rows = sizeOf(roles.rows), columns = sizeOf(roles.columns);
  bool hasGroups =
      form.groupIndex && target.groupSize >= kThreads && target.subgroupSize <= target.groupSize;
  if (!hasGroups || kinds.sum.isComplex() || roles.sums.size() != 1 || rows < kMinSize ||
      columns < kMinSize || roles.sums[0].size < kTileSums) {
    return std::nullopt;
  }
  auto tilesOf = [&](int64_t perSide) {
    int64_t tile = perSide * kSide;
    return Items{llvm::divideCeilSigned(columns, tile), llvm::divideCeilSigned(rows, tile),
                 sizeOf(roles.batch)};
  };
  auto bytesOf = [&](int64_t perSide) {
    return 2 * kTileSums * (perSide * kSide + kPadding) *
           std::max<int64_t>(1, kinds.sum.computeBits() / 8);
  };
  Items large = tilesOf(kLargeSide);
  bool isLarge = large[0] * large[1] * large[2] >= kEnoughTiles && kinds.sum.computeBits() <= 32 &&
                 bytesOf(kLargeSide) <= target.localBytes;
  int64_t perSide = isLarge ? kLargeSide : kSmallSide;
  if (bytesOf(perSide) > target.localBytes) return std::nullopt;
  Items items = tilesOf(perSide);
  KernelWriter writer(module, form, symbol, 3, items, kThreads);
  GroupDotKernel(roles, kinds, perSide, module, form, writer).emit();
  writer.finish();
  return OpKernel{symbol, items, kThreads};
}

}  // namespace isthmus::codegen
