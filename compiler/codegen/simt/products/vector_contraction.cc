#include "compiler/codegen/simt/products/vector_contraction.h"

#include <algorithm>

#include "compiler/codegen/access/shuffles.h"
#include "compiler/codegen/simt/kernel_writer.h"
#include "compiler/target/portable_cpu.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::codegen {
namespace {

// Registers for sums, of 32 and of 16: what is left holds a row of columns and an element.
constexpr int64_t kManySums = 28;
constexpr int64_t kFewSums = 12;
constexpr int64_t kVectors = 2;
constexpr int64_t kMaxVectors = 8;
// Rows from which on reading the columns' operand in panels saves more than copying it costs: of
// one that lies in rows already, and of one that has to be transposed.
constexpr int64_t kMinRowsToPack = 96;
constexpr int64_t kMinRowsToTranspose = 4;
// Sums that a work-item packs.
constexpr int64_t kPackedSums = 64;
// Products that a work-item should compute, if there are enough of such work-items.
constexpr int64_t kItemProducts = 1 << 20;
constexpr int64_t kEnoughItems = 64;
// Of each matrix of a batch, fewer products than this cost less than a work-item.
constexpr int64_t kMinProducts = 1 << 13;
constexpr int64_t kConvertedElements = 1 << 14;
constexpr int64_t kScratchAlignment = 64;

int64_t product(llvm::ArrayRef<TileDim> dims) {
  int64_t size = 1;
  for (const TileDim& dim : dims) size *= dim.size;
  return size;
}

// Rows at a time, at most `most`, so that the last tile repeats few.
int64_t bestRows(int64_t rows, int64_t most) {
  if (rows <= most) return rows;
  int64_t best = most;
  for (int64_t size = most; size > most / 2; --size) {
    if (llvm::divideCeilSigned(rows, size) * size < llvm::divideCeilSigned(rows, best) * best)
      best = size;
  }
  return best;
}

// Whether each column has a lhs of its own.
bool isByColumn(const VectorContraction& p) {
  return p.columns.size() == 1 && p.columns[0].lhs != 0;
}

bool isContiguous(const TileDims& columns) { return columns.size() == 1 && columns[0].rhs == 1; }

struct Offsets {
  llvm::Value* lhs;
  llvm::Value* rhs;
  llvm::Value* result;
};

Offsets offsetsOf(KernelWriter& w, llvm::Value* index, llvm::ArrayRef<TileDim> dims) {
  Offsets at{w.i64(0), w.i64(0), w.i64(0)};
  for (size_t d = dims.size(); d-- > 0;) {
    llvm::Value* here = index;
    if (d > 0) std::tie(index, here) = w.divide(index, dims[d].size);
    auto add = [&](llvm::Value*& sum, int64_t stride) {
      if (stride) sum = w.b().CreateAdd(sum, w.b().CreateMul(here, w.i64(stride)));
    };
    add(at.lhs, dims[d].lhs);
    add(at.rhs, dims[d].rhs);
    add(at.result, dims[d].result);
  }
  return at;
}

llvm::Value* sumOf(KernelWriter& w, llvm::Value* a, llvm::Value* b) {
  return w.b().CreateAdd(a, b);
}

// The address of scratch memory from a byte on.
llvm::Value* scratchAt(KernelWriter& w, int64_t bytes) {
  return w.b().CreateConstGEP1_64(w.b().getInt8Ty(), w.buffer(3), static_cast<uint64_t>(bytes));
}

// The first of `count` places out of `size`, at which number `index` of blocks of `count` begins:
// the last block ends where the places do, and repeats some of the one before.
llvm::Value* blockStart(KernelWriter& w, llvm::Value* index, int64_t count, int64_t size) {
  llvm::Value* first = w.times(index, count);
  if (size % count == 0) return first;
  llvm::Value* last = w.i64(size - count);
  return w.b().CreateSelect(w.b().CreateICmpULT(first, last), first, last);
}

class TileKernel {
 public:
  TileKernel(const VectorPlan& plan, KernelWriter& writer)
      : plan_(plan), p_(plan.problem), w_(writer) {}

  void emit();

 private:
  using Values = KernelWriter::Values;

  void emitTile(llvm::Value* tile, llvm::Value* panel, const Offsets& batch);
  Values sumOver(size_t dim, llvm::Value* lhs, llvm::Value* rhs, const Values& sums);
  Values addProducts(llvm::Value* lhs, llvm::Value* rhs, const Values& sums);
  void storeTile(const Values& sums, llvm::Value* firstColumn, llvm::Value* batch);
  llvm::Value* load(llvm::Value* base, llvm::Value* index, const ElementKind& kind,
                    unsigned lanes) {
    return w_.convert(w_.load(base, index, kind, lanes), kind, p_.sum).re;
  }
  int64_t columnsPerTile() const {
    return plan_.sumsAreLanes ? plan_.vectors : plan_.vectors * plan_.lanes;
  }

  const VectorPlan& plan_;
  const VectorContraction& p_;
  KernelWriter& w_;
  llvm::Value* lhsBase_ = nullptr;
  llvm::Value* rhsBase_ = nullptr;
  ElementKind lhsKind_, rhsKind_;
  TileDims sums_;
  // Of each row of the tile: what to add to an index into the lhs, and to one into the result.
  llvm::SmallVector<llvm::Value*, 16> lhsRows_, resultRows_;
  llvm::SmallVector<int64_t, 8> columnOffsets_;  // in the rhs, of each vector (or column)
};

TileKernel::Values TileKernel::addProducts(llvm::Value* lhs, llvm::Value* rhs, const Values& sums) {
  Values next = sums;
  llvm::SmallVector<llvm::Value*, 8> columns;
  for (int64_t offset : columnOffsets_) {
    llvm::Value* at = offset == 0 ? rhs : w_.plus(rhs, w_.i64(offset));
    columns.push_back(load(rhsBase_, at, rhsKind_, plan_.lanes));
  }
  size_t number = 0;
  for (llvm::Value* row : lhsRows_) {
    llvm::Value* at = w_.plus(lhs, row);
    bool isVector = plan_.sumsAreLanes || isByColumn(p_);
    llvm::Value* element = load(lhsBase_, at, lhsKind_, isVector ? plan_.lanes : 1);
    if (!isVector) element = w_.b().CreateVectorSplat(plan_.lanes, element);
    for (auto [v, column] : llvm::enumerate(columns)) {
      if (v > 0 && isByColumn(p_)) {
        llvm::Value* later = w_.plus(at, w_.i64(columnOffsets_[v]));
        element = load(lhsBase_, later, lhsKind_, plan_.lanes);
      }
      next[number] = w_.multiplyAdd({element}, {column}, {next[number]}, p_.sum).re;
      ++number;
    }
  }
  return next;
}

TileKernel::Values TileKernel::sumOver(size_t dim, llvm::Value* lhs, llvm::Value* rhs,
                                       const Values& sums) {
  if (dim == sums_.size()) return addProducts(lhs, rhs, sums);
  const TileDim& d = sums_[dim];
  int64_t step = plan_.sumsAreLanes && dim + 1 == sums_.size() ? plan_.lanes : 1;
  return w_.loop(d.size / step, sums, [&](llvm::Value* k, const Values& carried) {
    llvm::Value* nextLhs = w_.plus(lhs, w_.times(k, d.lhs * step));
    llvm::Value* nextRhs = w_.b().CreateAdd(rhs, w_.b().CreateMul(k, w_.i64(d.rhs * step)));
    return sumOver(dim + 1, nextLhs, nextRhs, carried);
  });
}

void TileKernel::storeTile(const Values& sums, llvm::Value* firstColumn, llvm::Value* batch) {
  int64_t stride = p_.columns.empty() ? 1 : p_.columns.back().result;
  llvm::Value* base = w_.plus(batch, w_.times(firstColumn, stride));
  llvm::Value* to = w_.buffer(2);
  size_t number = 0;
  for (llvm::Value* row : resultRows_) {
    for (int64_t v = 0; v < plan_.vectors; ++v) {
      llvm::Value* sum = sums[number++];
      int64_t lanes = plan_.sumsAreLanes ? 1 : plan_.lanes;
      llvm::Value* at = w_.plus(w_.plus(base, row), w_.i64(v * lanes * stride));
      if (plan_.sumsAreLanes) sum = w_.sumOfLanes(sum, p_.sum);
      Val value = w_.convert({sum}, p_.sum, p_.result);
      if (lanes == 1 || stride == 1) {
        w_.store(to, at, p_.result, value);
        continue;
      }
      for (int64_t lane = 0; lane < lanes; ++lane) {
        w_.store(to, w_.plus(at, w_.i64(lane * stride)), p_.result,
                 {w_.b().CreateExtractElement(value.re, static_cast<uint64_t>(lane))});
      }
    }
  }
}

void TileKernel::emitTile(llvm::Value* tile, llvm::Value* panel, const Offsets& batch) {
  int64_t columns = product(p_.columns), numSums = product(p_.sums);
  // Rows.
  Offsets outer{w_.i64(0), w_.i64(0), w_.i64(0)};
  lhsRows_.clear();
  resultRows_.clear();
  if (plan_.flattensRows) {
    llvm::Value* first = blockStart(w_, tile, plan_.rowsPerTile, product(p_.rows));
    for (int64_t i = 0; i < plan_.rowsPerTile; ++i) {
      Offsets row = offsetsOf(w_, w_.plus(first, w_.i64(i)), p_.rows);
      lhsRows_.push_back(row.lhs);
      resultRows_.push_back(row.result);
    }
  } else {
    TileDim last = p_.rows.empty() ? TileDim{1, 0, 0, 0} : p_.rows.back();
    auto [rest, block] = w_.divide(tile, llvm::divideCeilSigned(last.size, plan_.rowsPerTile));
    if (p_.rows.size() > 1) {
      bool isOne = last.size == plan_.rowsPerTile;
      outer = offsetsOf(w_, isOne ? tile : rest, llvm::ArrayRef(p_.rows).drop_back());
      if (isOne) block = w_.i64(0);
    } else {
      block = tile;
    }
    llvm::Value* first = blockStart(w_, block, plan_.rowsPerTile, last.size);
    outer.lhs = w_.plus(outer.lhs, w_.times(first, last.lhs));
    outer.result = w_.plus(outer.result, w_.times(first, last.result));
    for (int64_t i = 0; i < plan_.rowsPerTile; ++i) {
      lhsRows_.push_back(w_.i64(i * last.lhs));
      resultRows_.push_back(w_.i64(i * last.result));
    }
  }
  // Columns.
  llvm::Value* firstColumn = blockStart(w_, panel, columnsPerTile(), columns);
  columnOffsets_.clear();
  int64_t columnStride =
      plan_.sumsAreLanes && !p_.columns.empty() ? p_.columns.back().rhs : plan_.lanes;
  for (int64_t v = 0; v < plan_.vectors; ++v) columnOffsets_.push_back(v * columnStride);
  llvm::Value* rhs = nullptr;
  sums_ = p_.sums;
  if (plan_.packsRhs) {
    int64_t stride = columnsPerTile();
    for (size_t d = sums_.size(); d-- > 0;) {
      sums_[d].rhs = stride;
      stride *= sums_[d].size;
    }
    int64_t panels = llvm::divideCeilSigned(columns, columnsPerTile());
    llvm::Value* number = w_.plus(w_.times(w_.item(2), panels), panel);
    rhs = w_.times(number, numSums * columnsPerTile());
  } else {
    int64_t stride = p_.columns.empty() ? 0 : p_.columns.back().rhs;
    rhs = w_.b().CreateAdd(sumOf(w_, batch.rhs, w_.b().CreateMul(firstColumn, w_.i64(stride))),
                           w_.i64(p_.rhsOffset));
  }
  llvm::Type* type =
      llvm::FixedVectorType::get(p_.sum.computeType(w_.b().getContext()), plan_.lanes);
  Values sums(static_cast<size_t>(plan_.rowsPerTile * plan_.vectors),
              llvm::Constant::getNullValue(type));
  llvm::Value* lhs = w_.plus(batch.lhs, outer.lhs);
  if (isByColumn(p_)) lhs = w_.plus(lhs, firstColumn);
  sums = sumOver(0, lhs, rhs, sums);
  storeTile(sums, firstColumn, w_.plus(batch.result, outer.result));
}

void TileKernel::emit() {
  bool isElsewhere = plan_.convertsLhs || p_.lhsAt >= 0;
  lhsKind_ = isElsewhere ? p_.sum : p_.lhs;
  lhsBase_ = isElsewhere ? scratchAt(w_, p_.lhsAt) : w_.buffer(p_.lhsBuffer);
  rhsKind_ = plan_.packsRhs ? p_.sum : p_.rhs;
  rhsBase_ = plan_.packsRhs ? scratchAt(w_, plan_.packedAt) : w_.buffer(p_.rhsBuffer);
  Offsets batch = offsetsOf(w_, w_.item(2), p_.batch);
  int64_t tiles = 1;
  if (plan_.flattensRows) {
    tiles = llvm::divideCeilSigned(product(p_.rows), plan_.rowsPerTile);
  } else if (!p_.rows.empty()) {
    int64_t last = p_.rows.back().size;
    tiles = product(p_.rows) / last * llvm::divideCeilSigned(last, plan_.rowsPerTile);
  }
  int64_t perItem = std::min(plan_.tilesPerItem, tiles);
  llvm::Value* first = blockStart(w_, w_.item(0), perItem, tiles);
  w_.loop(perItem, Values(), [&](llvm::Value* i, const Values&) {
    emitTile(w_.plus(first, i), w_.item(1), batch);
    return Values();
  });
}

int64_t tilesOf(const VectorPlan& plan) {
  const TileDims& rows = plan.problem.rows;
  if (plan.flattensRows) return llvm::divideCeilSigned(product(rows), plan.rowsPerTile);
  if (rows.empty()) return 1;
  return product(rows) / rows.back().size *
         llvm::divideCeilSigned(rows.back().size, plan.rowsPerTile);
}

int64_t panelsOf(const VectorPlan& plan) {
  int64_t width = plan.sumsAreLanes ? plan.vectors : plan.vectors * plan.lanes;
  return llvm::divideCeilSigned(product(plan.problem.columns), width);
}

// Elements of the lhs in the type of the sum, each at its place.
void emitConversion(const VectorPlan& plan, KernelWriter& w, int64_t perItem, unsigned lanes) {
  const VectorContraction& p = plan.problem;
  llvm::Value* first = blockStart(w, w.item(0), perItem, p.lhsElements);
  llvm::Value* to = scratchAt(w, p.lhsAt);
  w.loop(perItem / lanes, KernelWriter::Values(), [&](llvm::Value* i, const auto&) {
    llvm::Value* at = w.plus(first, w.times(i, lanes));
    Val value = w.convert(w.load(w.buffer(p.lhsBuffer), at, p.lhs, lanes), p.lhs, p.sum);
    w.store(to, at, p.sum, value);
    return KernelWriter::Values();
  });
}

// The columns of one panel at some consecutive sums.
class PackingKernel {
 public:
  PackingKernel(const VectorPlan& plan, KernelWriter& writer)
      : plan_(plan), p_(plan.problem), w_(writer), width_(plan.vectors * plan.lanes) {}

  void emit() {
    int64_t columns = product(p_.columns), sums = product(p_.sums);
    int64_t count = std::min(kPackedSums, sums);
    llvm::Value* first = blockStart(w_, w_.item(1), count, sums);
    llvm::Value* panels = w_.i64(llvm::divideCeilSigned(columns, width_));
    llvm::Value* panel = w_.plus(w_.b().CreateMul(w_.item(2), panels), w_.item(0));
    to_ = w_.times(panel, sums * width_);
    batch_ = sumOf(w_, offsetsOf(w_, w_.item(2), p_.batch).rhs, w_.i64(p_.rhsOffset));
    firstColumn_ = blockStart(w_, w_.item(0), width_, columns);
    unsigned lanes = plan_.lanes;
    bool isTransposed = !isContiguous(p_.columns) && p_.sums.size() == 1 && p_.sums[0].rhs == 1 &&
                        count % lanes == 0;
    w_.loop(isTransposed ? count / lanes : count, KernelWriter::Values(),
            [&](llvm::Value* i, const auto&) {
              llvm::Value* k = w_.plus(first, w_.times(i, isTransposed ? lanes : 1));
              isTransposed ? packSquares(k) : packRow(k);
              return KernelWriter::Values();
            });
  }

 private:
  llvm::Value* columnOffset(int64_t column) {
    return offsetsOf(w_, w_.plus(firstColumn_, w_.i64(column)), p_.columns).rhs;
  }
  Val loaded(llvm::Value* index, unsigned lanes) {
    return w_.convert(w_.load(w_.buffer(p_.rhsBuffer), index, p_.rhs, lanes), p_.rhs, p_.sum);
  }
  void stored(llvm::Value* k, int64_t column, llvm::Value* value) {
    llvm::Value* at = w_.plus(w_.plus(to_, w_.times(k, width_)), w_.i64(column));
    w_.store(scratchAt(w_, plan_.packedAt), at, p_.sum, {value});
  }

  void packRow(llvm::Value* k) {
    llvm::Value* row = sumOf(w_, batch_, offsetsOf(w_, k, p_.sums).rhs);
    for (int64_t v = 0; v < plan_.vectors; ++v) {
      if (isContiguous(p_.columns)) {
        llvm::Value* at = sumOf(w_, row, w_.plus(firstColumn_, w_.i64(v * plan_.lanes)));
        stored(k, v * plan_.lanes, loaded(at, plan_.lanes).re);
        continue;
      }
      for (unsigned lane = 0; lane < plan_.lanes; ++lane) {
        int64_t column = v * plan_.lanes + lane;
        stored(k, column, loaded(sumOf(w_, row, columnOffset(column)), 1).re);
      }
    }
  }

  // As many sums as lanes: vectors along the sums become vectors of columns.
  void packSquares(llvm::Value* k) {
    for (int64_t v = 0; v < plan_.vectors; ++v) {
      llvm::SmallVector<llvm::Value*, 16> square;
      for (unsigned lane = 0; lane < plan_.lanes; ++lane) {
        llvm::Value* column = sumOf(w_, batch_, columnOffset(v * plan_.lanes + lane));
        square.push_back(loaded(sumOf(w_, column, k), plan_.lanes).re);
      }
      transposeSquare(w_.b(), square);
      for (unsigned i = 0; i < plan_.lanes; ++i) {
        stored(w_.plus(k, w_.i64(i)), v * plan_.lanes, square[i]);
      }
    }
  }

  const VectorPlan& plan_;
  const VectorContraction& p_;
  KernelWriter& w_;
  int64_t width_;
  llvm::Value* to_ = nullptr;
  llvm::Value* batch_ = nullptr;
  llvm::Value* firstColumn_ = nullptr;
};

// Lanes along columns if there are enough of them, or along sums that are read in their order.
bool chooseLanes(VectorPlan& plan, const TargetModel& target) {
  const VectorContraction& p = plan.problem;
  int64_t rows = product(p.rows), columns = product(p.columns);
  unsigned lanes = vectorLanes(target, p.sum.computeBits());
  bool areSmall = rows * columns * product(p.sums) < kMinProducts;
  if (lanes < 4 || (areSmall && product(p.batch) > kEnoughItems)) return false;
  bool isRead = isContiguous(p.columns);
  if (isByColumn(p) && (p.columns[0].lhs != 1 || !isRead)) return false;
  bool sumsLieTogether = !p.sums.empty() && p.sums.back().lhs == 1 && p.sums.back().rhs == 1 &&
                         p.sums.back().size % lanes == 0 && p.columns.size() <= 1 &&
                         p.lhs.storageBytes == p.sum.storageBytes;
  if (sumsLieTogether && !isRead && (rows < kMinRowsToTranspose || columns < 4)) {
    plan.sumsAreLanes = true;
    plan.lanes = lanes;
    return true;
  }
  if (columns < 4 || (!isRead && rows < kMinRowsToTranspose)) return false;
  while (lanes > columns) lanes /= 2;
  plan.lanes = lanes;
  plan.packsRhs = !isRead || (rows >= kMinRowsToPack && !isByColumn(p));
  return true;
}

}  // namespace

std::optional<VectorPlan> planVectorContraction(VectorContraction problem, int64_t scratchBytes,
                                                const TargetModel& target) {
  if (problem.sum.isComplex() || problem.sum.isBool()) return std::nullopt;
  VectorPlan plan;
  plan.problem = std::move(problem);
  plan.scratchBytes = scratchBytes;
  if (!chooseLanes(plan, target)) return std::nullopt;
  VectorContraction& p = plan.problem;
  int64_t rows = product(p.rows), columns = product(p.columns), sums = product(p.sums);
  int64_t most = target.vectorBits >= 512 ? kManySums : kFewSums;

  int64_t last = p.rows.empty() ? 1 : p.rows.back().size;
  int64_t rowsInRegisters = most / kVectors;
  plan.flattensRows = p.rows.size() > 1 && last < rowsInRegisters / 2;
  plan.rowsPerTile = bestRows(plan.flattensRows ? rows : last, rowsInRegisters);
  int64_t columnVectors = plan.sumsAreLanes ? columns : columns / plan.lanes;
  plan.vectors = 1;
  int64_t wanted = std::clamp(most / plan.rowsPerTile, kVectors, kMaxVectors);
  if (plan.sumsAreLanes) {
    plan.rowsPerTile = std::min<int64_t>(plan.rowsPerTile, columns > 1 ? 4 : 8);
    wanted = std::min<int64_t>(wanted, 4);
  }
  while (plan.vectors * 2 <= std::min(wanted, columnVectors)) plan.vectors *= 2;

  auto take = [&](int64_t elements) {
    int64_t at = llvm::alignTo(plan.scratchBytes, kScratchAlignment);
    plan.scratchBytes = at + elements * p.sum.storageBytes;
    return at;
  };
  // A narrow float takes several instructions to become a wide one, for each panel again.
  plan.convertsLhs = p.lhsAt < 0 && (p.lhs.small || p.lhs.isSubByte()) && panelsOf(plan) > 2;
  if (plan.convertsLhs) p.lhsAt = take(p.lhsElements);
  if (plan.packsRhs) {
    int64_t width = plan.vectors * plan.lanes;
    plan.packedAt = take(product(p.batch) * panelsOf(plan) * sums * width);
  }

  int64_t tileProducts =
      plan.rowsPerTile * sums * plan.vectors * (plan.sumsAreLanes ? 1 : plan.lanes);
  int64_t tiles = tilesOf(plan);
  int64_t items = tiles * panelsOf(plan) * product(p.batch);
  plan.tilesPerItem = std::clamp<int64_t>(
      std::min(kItemProducts / std::max<int64_t>(1, tileProducts), items / kEnoughItems), 1, tiles);
  return plan;
}

void emitVectorContraction(const VectorPlan& plan, llvm::Module& module, const WorkItemForm& form,
                           const std::string& symbol, OpKernels& kernels) {
  const VectorContraction& p = plan.problem;
  unsigned buffers = plan.scratchBytes > 0 ? 4 : 3;
  kernels.scratchBytes = plan.scratchBytes;
  auto add = [&](const std::string& name, const Items& items, auto emit) {
    KernelWriter writer(module, form, name, buffers, items);
    emit(writer);
    writer.finish();
    kernels.stages.push_back({name, items, 1, true});
  };
  if (plan.convertsLhs) {
    auto lanes = static_cast<unsigned>(
        std::min<int64_t>(vectorLanes(form.target, p.sum.computeBits()), p.lhsElements));
    lanes = llvm::bit_floor(lanes);
    int64_t perItem = std::min(kConvertedElements, p.lhsElements / lanes * lanes);
    add(symbol + "_convert", {llvm::divideCeilSigned(p.lhsElements, perItem), 1, 1},
        [&](KernelWriter& w) { emitConversion(plan, w, perItem, lanes); });
  }
  if (plan.packsRhs) {
    int64_t sums = product(p.sums);
    add(symbol + "_pack",
        {panelsOf(plan), llvm::divideCeilSigned(sums, std::min(kPackedSums, sums)),
         product(p.batch)},
        [&](KernelWriter& w) { PackingKernel(plan, w).emit(); });
  }
  add(symbol,
      {llvm::divideCeilSigned(tilesOf(plan), plan.tilesPerItem), panelsOf(plan), product(p.batch)},
      [&](KernelWriter& w) { TileKernel(plan, w).emit(); });
}

}  // namespace isthmus::codegen
