#include "compiler/codegen/simt/products/vector_contraction.h"

#include <algorithm>

#include "compiler/codegen/access/shuffles.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::codegen {
namespace {

// Sums that a work-item packs.
constexpr int64_t kPackedSums = 64;
constexpr int64_t kConvertedElements = 1 << 14;

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
llvm::Value* scratchAt(ProductWriter& w, int64_t bytes) {
  return w.b().CreateConstGEP1_64(w.b().getInt8Ty(), w.scratch(), static_cast<uint64_t>(bytes));
}

llvm::Value* operandOf(ProductWriter& w, unsigned number) { return number ? w.rhs() : w.lhs(); }

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
  TileKernel(const VectorPlan& plan, ProductWriter& writer)
      : plan_(plan), p_(plan.problem), w_(writer) {}

  void emit();

 private:
  using Values = KernelWriter::Values;

  void emitTile(llvm::Value* tile, llvm::Value* panel, const Offsets& batch);
  Values sumOver(size_t dim, llvm::Value* lhs, llvm::Value* rhs, const Values& sums);
  Values sumOfWholeNumbers(llvm::Value* lhs, llvm::Value* rhs, const Values& zeros);
  Values addProducts(llvm::Value* lhs, llvm::Value* rhs, const Values& sums, int64_t last = 0);
  void storeTile(const Values& sums, llvm::Value* firstColumn, llvm::Value* batch);
  // Of a place in the result of a dot_general, which is dense: rows of all batches.
  ProductWriter::Site siteOf(llvm::Value* place) {
    auto [row, column] = w_.divide(place, p_.resultColumns);
    return {row, column, place};
  }
  int64_t columnsPerTile() const {
    return plan_.sumsAreLanes ? plan_.vectors : plan_.vectors * plan_.lanes;
  }

  const VectorPlan& plan_;
  const VectorContraction& p_;
  ProductWriter& w_;
  llvm::Value* lhsBase_ = nullptr;
  llvm::Value* rhsBase_ = nullptr;
  ElementKind lhsKind_, rhsKind_;
  TileDims sums_;
  // Of each row of the tile: what to add to an index into the lhs, and to one into the result.
  llvm::SmallVector<llvm::Value*, 16> lhsRows_, resultRows_;
  llvm::SmallVector<int64_t, 8> columnOffsets_;  // in the rhs, of each vector (or column)
};

// Of all lanes, or if `last` is not 0 of so many last ones.
TileKernel::Values TileKernel::addProducts(llvm::Value* lhs, llvm::Value* rhs, const Values& sums,
                                           int64_t last) {
  Values next = sums;
  auto load = [&](llvm::Value* base, llvm::Value* index, const ElementKind& kind, unsigned lanes) {
    llvm::Value* loaded = w_.convert(w_.load(base, index, kind, lanes), kind, p_.sum).re;
    if (last == 0) return loaded;
    // Zeros of both operands, since no number is 0 times another that may be infinite.
    llvm::SmallVector<int, 16> mask;
    for (int lane = 0; lane < static_cast<int>(lanes); ++lane) {
      mask.push_back(lane < static_cast<int>(lanes - last) ? static_cast<int>(lanes) : lane);
    }
    llvm::Value* zeros = llvm::Constant::getNullValue(loaded->getType());
    return w_.b().CreateShuffleVector(loaded, zeros, mask);
  };
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
  Values all = w_.loop(d.size / step, sums, [&](llvm::Value* k, const Values& carried) {
    llvm::Value* nextLhs = w_.plus(lhs, w_.times(k, d.lhs * step));
    llvm::Value* nextRhs = w_.b().CreateAdd(rhs, w_.b().CreateMul(k, w_.i64(d.rhs * step)));
    return sumOver(dim + 1, nextLhs, nextRhs, carried);
  });
  if (d.size % step == 0) return all;
  // The last vector ends with the terms, and begins with some that are in the sums.
  llvm::Value* start = w_.i64(d.size - step);
  return addProducts(w_.plus(lhs, w_.times(start, d.lhs)), w_.plus(rhs, w_.times(start, d.rhs)),
                     all, d.size % step);
}

// As integers, of blocks of terms whose sums are exact as floats.
TileKernel::Values TileKernel::sumOfWholeNumbers(llvm::Value* lhs, llvm::Value* rhs,
                                                 const Values& zeros) {
  llvm::Type* whole = llvm::FixedVectorType::get(w_.b().getInt32Ty(), plan_.lanes);
  auto toIntegers = [&](Values sums) {
    for (llvm::Value*& sum : sums) sum = w_.b().CreateFPToSI(sum, whole);
    return sums;
  };
  const int64_t terms = sizeOf(sums_), exact = plan_.exactTerms;
  if (terms <= exact) return toIntegers(sumOver(0, lhs, rhs, zeros));
  const TileDim all = sums_[0];
  auto sumOfBlock = [&](llvm::Value* number, int64_t size, const Values& before) {
    sums_[0].size = size;
    llvm::Value* first = w_.times(number, exact);
    Values block = toIntegers(sumOver(0, w_.plus(lhs, w_.times(first, all.lhs)),
                                      w_.plus(rhs, w_.times(first, all.rhs)), zeros));
    for (auto [sum, earlier] : llvm::zip(block, before)) sum = w_.b().CreateAdd(sum, earlier);
    return block;
  };
  Values sums(zeros.size(), llvm::Constant::getNullValue(whole));
  sums = w_.loop(terms / exact, sums, [&](llvm::Value* number, const Values& before) {
    return sumOfBlock(number, exact, before);
  });
  if (terms % exact) sums = sumOfBlock(w_.i64(terms / exact), terms % exact, sums);
  sums_[0] = all;
  return sums;
}

void TileKernel::storeTile(const Values& sums, llvm::Value* firstColumn, llvm::Value* batch) {
  int64_t stride = p_.columns.empty() ? 1 : p_.columns.back().result;
  llvm::Value* base = w_.plus(batch, w_.times(firstColumn, stride));
  const int64_t lanes = plan_.sumsAreLanes ? 1 : plan_.lanes;
  KernelWriter::Elements all;
  const llvm::ArrayRef<llvm::Value*> rows = resultRows_;
  // The lanes of a result of one column are rows, which an epilogue is told one by one.
  const bool areRows = w_.hasEpilogue() && p_.resultColumns == 1;
  const bool storesVectors = lanes == 1 || (stride == 1 && !areRows);
  for (llvm::Value* sum : sums) {
    if (plan_.sumsAreLanes) sum = w_.sumOfLanes(sum, p_.sum);
    if (storesVectors) {
      all.push_back({sum});
      continue;
    }
    for (int64_t lane = 0; lane < lanes; ++lane) {
      all.push_back({w_.b().CreateExtractElement(sum, static_cast<uint64_t>(lane))});
    }
  }
  // Where each sum of a row begins, and how many a row has.
  const int64_t perRow = static_cast<int64_t>(all.size() / rows.size());
  const int64_t distance = perRow == plan_.vectors ? lanes * stride : stride;
  llvm::Value* kept = w_.hasEpilogue() ? w_.keep(rows) : nullptr;
  w_.storeSums(all, [&](llvm::Value* number) {
    auto [row, at] = w_.divide(number, perRow);
    llvm::Value* start = nullptr;
    if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(row)) {
      start = rows[known->getZExtValue()];
    } else {
      start = w_.kept(kept, row);
    }
    return siteOf(w_.plus(w_.plus(base, start), w_.times(at, distance)));
  });
}

void TileKernel::emitTile(llvm::Value* tile, llvm::Value* panel, const Offsets& batch) {
  int64_t columns = sizeOf(p_.columns), numSums = sizeOf(p_.sums);
  // Rows.
  Offsets outer{w_.i64(0), w_.i64(0), w_.i64(0)};
  lhsRows_.clear();
  resultRows_.clear();
  if (plan_.flattensRows) {
    llvm::Value* first = blockStart(w_, tile, plan_.rowsPerTile, sizeOf(p_.rows));
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
  Values zeros(static_cast<size_t>(plan_.rowsPerTile * plan_.vectors),
               llvm::Constant::getNullValue(type));
  llvm::Value* lhs = w_.plus(batch.lhs, outer.lhs);
  if (isByColumn(p_)) lhs = w_.plus(lhs, firstColumn);
  Values sums =
      plan_.exactTerms > 0 ? sumOfWholeNumbers(lhs, rhs, zeros) : sumOver(0, lhs, rhs, zeros);
  storeTile(sums, firstColumn, w_.plus(batch.result, outer.result));
}

void TileKernel::emit() {
  bool isElsewhere = plan_.convertsLhs || p_.lhsAt >= 0;
  lhsKind_ = isElsewhere ? p_.sum : p_.lhs;
  lhsBase_ = isElsewhere ? scratchAt(w_, p_.lhsAt) : operandOf(w_, p_.lhsBuffer);
  rhsKind_ = plan_.packsRhs ? p_.sum : p_.rhs;
  rhsBase_ = plan_.packsRhs ? scratchAt(w_, plan_.packedAt) : operandOf(w_, p_.rhsBuffer);
  Offsets batch = offsetsOf(w_, w_.item(2), p_.batch);
  const int64_t tiles = tilesOf(plan_);
  int64_t perItem = std::min(plan_.tilesPerItem, tiles);
  llvm::Value* first = blockStart(w_, w_.item(0), perItem, tiles);
  w_.loop(perItem, Values(), [&](llvm::Value* i, const Values&) {
    emitTile(w_.plus(first, i), w_.item(1), batch);
    return Values();
  });
}

// Elements of the lhs in the type of the sum, each at its place.
void emitConversion(const VectorPlan& plan, ProductWriter& w, int64_t perItem, unsigned lanes) {
  const VectorContraction& p = plan.problem;
  llvm::Value* first = blockStart(w, w.item(0), perItem, p.lhsElements);
  llvm::Value* to = scratchAt(w, p.lhsAt);
  w.loop(perItem / lanes, KernelWriter::Values(), [&](llvm::Value* i, const auto&) {
    llvm::Value* at = w.plus(first, w.times(i, lanes));
    Val value = w.convert(w.load(operandOf(w, p.lhsBuffer), at, p.lhs, lanes), p.lhs, p.sum);
    w.store(to, at, p.sum, value);
    return KernelWriter::Values();
  });
}

// The columns of one panel at some consecutive sums.
class PackingKernel {
 public:
  PackingKernel(const VectorPlan& plan, ProductWriter& writer)
      : plan_(plan), p_(plan.problem), w_(writer), width_(plan.vectors * plan.lanes) {}

  void emit() {
    int64_t columns = sizeOf(p_.columns), sums = sizeOf(p_.sums);
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
    return w_.convert(w_.load(operandOf(w_, p_.rhsBuffer), index, p_.rhs, lanes), p_.rhs, p_.sum);
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
  ProductWriter& w_;
  int64_t width_;
  llvm::Value* to_ = nullptr;
  llvm::Value* batch_ = nullptr;
  llvm::Value* firstColumn_ = nullptr;
};

}  // namespace

Status emitVectorContraction(const VectorPlan& plan, const ProductTask& task, llvm::Module& module,
                             const WorkItemForm& form, const std::string& symbol,
                             OpKernels& kernels) {
  const VectorContraction& p = plan.problem;
  kernels.scratchBytes = plan.scratchBytes;
  Status status;
  auto add = [&](const std::string& name, const Items& items, auto emit) {
    ProductWriter writer(module, form, name, task, items, 1, plan.scratchBytes > 0);
    emit(writer);
    if (status.ok()) status = writer.finish();
    kernels.stages.push_back({name, items, 1, true});
  };
  if (plan.convertsLhs) {
    auto lanes = static_cast<unsigned>(
        std::min<int64_t>(form.target.vectorLanes(p.sum.computeBits()), p.lhsElements));
    lanes = llvm::bit_floor(lanes);
    int64_t perItem = std::min(kConvertedElements, p.lhsElements / lanes * lanes);
    add(symbol + "_convert", {llvm::divideCeilSigned(p.lhsElements, perItem), 1, 1},
        [&](ProductWriter& w) { emitConversion(plan, w, perItem, lanes); });
  }
  if (plan.packsRhs) {
    int64_t sums = sizeOf(p.sums);
    add(symbol + "_pack",
        {panelsOf(plan), llvm::divideCeilSigned(sums, std::min(kPackedSums, sums)),
         sizeOf(p.batch)},
        [&](ProductWriter& w) { PackingKernel(plan, w).emit(); });
  }
  add(symbol,
      {llvm::divideCeilSigned(tilesOf(plan), plan.tilesPerItem), panelsOf(plan), sizeOf(p.batch)},
      [&](ProductWriter& w) { TileKernel(plan, w).emit(); });
  return status;
}

}  // namespace isthmus::codegen
