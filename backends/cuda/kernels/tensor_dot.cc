// Tiles of both operands go to the group's memory by asynchronous copies, three of each in turn, so
// that two are on their way while one is multiplied. In memory each line of a tile is a row of
// 16-byte chunks, whose order is changed from row to row (a "swizzle"): the eight rows that a
// matrix load reads at the same place are then in different banks.
#include "backends/cuda/kernels/tensor_dot.h"

#include <algorithm>

#include "backends/cuda/kernels/precision.h"
#include "backends/cuda/target/nvidia.h"
#include "compiler/codegen/elementwise/elementwise.h"
#include "compiler/codegen/evaluator.h"
#include "compiler/codegen/target/group_threads.h"
#include "llvm/IR/Module.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus::cuda {
namespace {

using Value = llvm::Value*;
using Four = std::array<Value, 4>;

// What cp.async copies at once, and a row of what ldmatrix loads; and how many rows that has.
constexpr int64_t kChunkBytes = 16, kMatrixRows = 8;
// Fragments of both operands are of four such matrices: of one block of the result's rows, of two
// of its columns.
static_assert(Mma::kRows == 2 * kMatrixRows && Mma::kColumns == kMatrixRows);
static_assert(Mma::kBytes == 2 * kChunkBytes);
constexpr int64_t kStepChunks = Mma::kBytes / kChunkBytes;
// Tiles of neighbouring rows that are computed at about the same time read the same columns.
constexpr int64_t kRowTilesTogether = 8;
// A call for each outer batch: so many at most, and each of so much work that calls do not count.
constexpr int64_t kMaxBlasCalls = 256;
constexpr double kMinBlasCallFlops = 2.5e8;
// A product with fewer multiplications and additions, of fewer bytes, takes a GPU less than a
// launch.
constexpr double kMinBlasFlops = 2.0 * 32 * 32 * 32, kMinBlasBytes = 256 << 10;

// Of one group: lines of both operands, and how warps share them.
struct Tile {
  Tile(const ProductSchedule& product, unsigned warpThreads)
      : warpThreads(warpThreads),
        rows(product.tileRows),
        columns(product.tileColumns),
        warpRows(static_cast<unsigned>(product.tileRows / product.rows)),
        warpColumns(static_cast<unsigned>(product.tileColumns / product.columns)) {}

  unsigned warpThreads;
  int64_t rows, columns;
  unsigned warpRows, warpColumns;
  unsigned threads() const { return warpRows * warpColumns * warpThreads; }
};

// A product that the kernel computes.
struct TensorDot : MatrixProduct {
  TensorType type;
  ElementKind result;
};

int64_t tilesOf(int64_t size, int64_t tile) { return (size + tile - 1) / tile; }

class TensorDotKernel {
 public:
  TensorDotKernel(const TensorDot& dot, const codegen::ProductTask& task, llvm::Module& module,
                  const codegen::WorkItemForm& form, const TensorOps& ops,
                  const std::string& symbol);
  void emit();
  Status finish() { return codegen::inlineEpilogue(*function_, task_.epilogue); }
  codegen::OpKernel kernel() const {
    return {function_->getName().str(),
            {tilesOf(dot_.columns, tile_.columns) * tilesOf(dot_.rows, tile_.rows) * dot_.batches(),
             1, 1},
            tile_.threads()};
  }

 private:
  // A tile of an operand in the group's memory: `lines` of it (rows or columns of the result) by
  // tileSumBytes_ along the sums, or the other way round.
  struct Shared {
    const MatrixOperand* operand;
    int64_t lines;       // of the tile
    int64_t allLines;    // of the operand
    int64_t rowBytes;    // of a row in memory
    int64_t memoryRows;  // of a tile
    llvm::GlobalVariable* memory;
    Value base = nullptr;  // in global memory: of the batch and of the tile's first line
    Value firstLine = nullptr;
  };

  Value i32(int64_t value) { return b_.getInt32(static_cast<uint32_t>(value)); }
  Value i64(int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); }
  Value wide(Value value) { return b_.CreateZExt(value, b_.getInt64Ty()); }
  Value add(Value x, Value y) { return b_.CreateAdd(x, y); }
  Value times(Value x, int64_t factor) {
    return b_.CreateMul(x, llvm::ConstantInt::get(x->getType(), static_cast<uint64_t>(factor)));
  }
  Value part(Value x, int64_t size) { return b_.CreateURem(x, i32(size)); }
  Value whole(Value x, int64_t size) { return b_.CreateUDiv(x, i32(size)); }

  Shared share(const MatrixOperand& operand, int64_t lines, int64_t allLines, const char* name);
  void locateTile();
  // Where chunk `chunk` of memory row `row` is, in bytes from the tile's beginning.
  Value chunkOffset(const Shared& shared, Value row, Value chunk);
  // Begins to copy the tile at the sums from `firstSum` (an i64) on.
  void copyTile(const Shared& shared, Value stage, Value firstSum);
  Four loadLhs(Value stage, unsigned block, unsigned step);
  Four loadRhs(Value stage, unsigned pair, unsigned step);
  Value addressIn(const Shared& shared, Value stage, Value row, Value chunk);
  void multiplyTile(Value stage, llvm::MutableArrayRef<Four> sums);
  void storeSums(llvm::ArrayRef<Four> sums);
  void whenInside(Value row, Value column, const std::function<void()>& then);
  void storeByEpilogue(llvm::ArrayRef<Four> sums, Value firstRow, Value firstColumn);
  void storePair(Value row, Value column, Value first, Value second);
  Value toResult(Value sum);

  const TensorDot& dot_;
  const codegen::ProductTask& task_;
  Tile tile_;
  const codegen::WorkItemForm& form_;
  const TensorOps& ops_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_;
  unsigned stages_;  // tiles in memory at once
  int64_t elementBytes_;
  int64_t tileSums_;  // elements
  int64_t tileSumBytes_;
  unsigned blocks_;        // of the instruction's rows, of a warp
  unsigned columnBlocks_;  // of its columns, of a warp
  Shared lhs_, rhs_;
  Value thread_ = nullptr, lane_ = nullptr, warpRow_ = nullptr, warpColumn_ = nullptr;
  Value batch_ = nullptr, rowTile_ = nullptr, columnTile_ = nullptr;
};

TensorDotKernel::TensorDotKernel(const TensorDot& dot, const codegen::ProductTask& task,
                                 llvm::Module& module, const codegen::WorkItemForm& form,
                                 const TensorOps& ops, const std::string& symbol)
    : dot_(dot),
      task_(task),
      tile_(task.product(), form.target.subgroupSize),
      form_(form),
      ops_(ops),
      b_(module.getContext()),
      stages_(static_cast<unsigned>(form.target.products.tilesAtOnce)),
      elementBytes_(bytesOf(dot.type)),
      tileSums_(task.product().tileTerms),
      tileSumBytes_(tileSums_ * elementBytes_),
      blocks_(static_cast<unsigned>(task.product().rows / Mma::kRows)),
      columnBlocks_(static_cast<unsigned>(task.product().columns / Mma::kColumns)) {
  llvm::LLVMContext& context = module.getContext();
  std::vector<llvm::Type*> types(task.parameters,
                                 llvm::PointerType::get(context, form.globalSpace));
  function_ =
      llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false),
                             llvm::Function::ExternalLinkage, symbol, &module);
  function_->setCallingConv(form.convention);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  b_.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function_));
  lhs_ = share(dot.lhs, tile_.rows, dot.rows, "lhs");
  rhs_ = share(dot.rhs, tile_.columns, dot.columns, "rhs");
}

TensorDotKernel::Shared TensorDotKernel::share(const MatrixOperand& operand, int64_t lines,
                                               int64_t allLines, const char* name) {
  Shared shared{&operand, lines, allLines, 0, 0, nullptr};
  shared.rowBytes = operand.alongContracting ? tileSumBytes_ : lines * elementBytes_;
  shared.memoryRows = operand.alongContracting ? lines : tileSums_;
  shared.memory = codegen::makeGroupMemory(*function_->getParent(), b_.getInt8Ty(),
                                           stages_ * shared.rowBytes * shared.memoryRows,
                                           function_->getName() + "_" + name, 128);
  return shared;
}

void TensorDotKernel::locateTile() {
  int64_t rowTiles = tilesOf(dot_.rows, tile_.rows);
  int64_t columnTiles = tilesOf(dot_.columns, tile_.columns);
  Value group = ops_.groupIndex(b_);
  batch_ = whole(group, rowTiles * columnTiles);
  Value rest = part(group, rowTiles * columnTiles);
  // Bands of a few rows of tiles, column by column; the last band may have fewer.
  Value band = whole(rest, kRowTilesTogether * columnTiles);
  Value inBand = part(rest, kRowTilesTogether * columnTiles);
  Value firstRow = times(band, kRowTilesTogether);
  Value height = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, i32(kRowTilesTogether),
                                          b_.CreateSub(i32(rowTiles), firstRow));
  rowTile_ = add(firstRow, b_.CreateURem(inBand, height));
  columnTile_ = b_.CreateUDiv(inBand, height);
  for (Shared* shared : {&lhs_, &rhs_}) {
    bool isLhs = shared == &lhs_;
    const MatrixOperand& operand = *shared->operand;
    shared->firstLine = wide(times(isLhs ? rowTile_ : columnTile_, shared->lines));
    shared->base = dot_.outer == 1
                       ? times(wide(batch_), operand.batchStride)
                       : add(times(wide(part(batch_, dot_.batch)), operand.batchStride),
                             times(wide(whole(batch_, dot_.batch)), operand.outerStride));
  }
}

Value TensorDotKernel::chunkOffset(const Shared& shared, Value row, Value chunk) {
  bool isShort = shared.rowBytes / kChunkBytes < 8;
  Value turn =
      isShort ? b_.CreateAnd(b_.CreateLShr(row, i32(1)), i32(3)) : b_.CreateAnd(row, i32(7));
  return add(times(row, shared.rowBytes), times(b_.CreateXor(chunk, turn), kChunkBytes));
}

Value TensorDotKernel::addressIn(const Shared& shared, Value stage, Value row, Value chunk) {
  Value offset =
      add(times(stage, shared.rowBytes * shared.memoryRows), chunkOffset(shared, row, chunk));
  return b_.CreateGEP(b_.getInt8Ty(), shared.memory, offset);
}

void TensorDotKernel::copyTile(const Shared& shared, Value stage, Value firstSum) {
  const MatrixOperand& operand = *shared.operand;
  int64_t chunksPerRow = shared.rowBytes / kChunkBytes;
  int64_t chunks = shared.memoryRows * chunksPerRow;
  int64_t perChunk = kChunkBytes / elementBytes_;
  for (int64_t first = 0; first < chunks; first += tile_.threads()) {
    Value index = add(thread_, i32(first));
    Value row = whole(index, chunksPerRow), chunk = part(index, chunksPerRow);
    Value along = wide(times(chunk, perChunk));
    Value line = add(shared.firstLine, operand.alongContracting ? wide(row) : along);
    Value sum = add(firstSum, operand.alongContracting ? along : wide(row));
    Value isInside = b_.CreateAnd(b_.CreateICmpULT(line, i64(shared.allLines)),
                                  b_.CreateICmpULT(sum, i64(dot_.contracting)));
    Value place = operand.alongContracting ? add(times(line, operand.stride), sum)
                                           : add(times(sum, operand.stride), line);
    // Outside nothing is read, from an address that is there.
    place = b_.CreateSelect(isInside, add(shared.base, place), i64(0));
    Value source = function_->getArg(&shared == &lhs_ ? task_.lhs : task_.rhs);
    Value from = b_.CreateGEP(b_.getInt8Ty(), source, times(place, elementBytes_));
    ops_.copyAsync(b_, addressIn(shared, stage, row, chunk), from,
                   b_.CreateSelect(isInside, i32(kChunkBytes), i32(0)));
  }
}

// A block of rows of the warp, a step of the instruction along the sums.
Four TensorDotKernel::loadLhs(Value stage, unsigned block, unsigned step) {
  Value first = add(times(warpRow_, blocks_ * Mma::kRows), i32(block * Mma::kRows));
  Value matrix = whole(lane_, kMatrixRows), row = part(lane_, kMatrixRows);
  // Matrices: both halves of the rows at the first sums, then at the others.
  Value lowHalf = b_.CreateAnd(matrix, i32(1)), later = b_.CreateLShr(matrix, i32(1));
  if (lhs_.operand->alongContracting) {
    Value line = add(first, add(times(lowHalf, kMatrixRows), row));
    return ops_.loadMatrices(b_, addressIn(lhs_, stage, line, add(i32(step * kStepChunks), later)),
                             false);
  }
  Value sum = add(i32(step * 2 * kMatrixRows), add(times(later, kMatrixRows), row));
  Value chunk = add(whole(first, kMatrixRows), lowHalf);
  return ops_.loadMatrices(b_, addressIn(lhs_, stage, sum, chunk), true);
}

// Two blocks of columns: the first has registers 0 and 1, the second 2 and 3.
Four TensorDotKernel::loadRhs(Value stage, unsigned pair, unsigned step) {
  Value first =
      add(times(warpColumn_, columnBlocks_ * Mma::kColumns), i32(pair * 2 * Mma::kColumns));
  Value matrix = whole(lane_, kMatrixRows), row = part(lane_, kMatrixRows);
  Value later = b_.CreateAnd(matrix, i32(1)), second = b_.CreateLShr(matrix, i32(1));
  if (rhs_.operand->alongContracting) {
    Value line = add(first, add(times(second, kMatrixRows), row));
    return ops_.loadMatrices(b_, addressIn(rhs_, stage, line, add(i32(step * kStepChunks), later)),
                             false);
  }
  Value sum = add(i32(step * 2 * kMatrixRows), add(times(later, kMatrixRows), row));
  Value chunk = add(whole(first, kMatrixRows), second);
  return ops_.loadMatrices(b_, addressIn(rhs_, stage, sum, chunk), true);
}

void TensorDotKernel::multiplyTile(Value stage, llvm::MutableArrayRef<Four> sums) {
  for (unsigned step = 0; step < tileSumBytes_ / Mma::kBytes; ++step) {
    llvm::SmallVector<Four, 4> rows;
    for (unsigned block = 0; block < blocks_; ++block) rows.push_back(loadLhs(stage, block, step));
    for (unsigned pair = 0; pair < columnBlocks_ / 2; ++pair) {
      Four columns = loadRhs(stage, pair, step);
      for (unsigned block = 0; block < blocks_; ++block) {
        for (unsigned half = 0; half < 2; ++half) {
          Four& sum = sums[block * columnBlocks_ + pair * 2 + half];
          sum = ops_.multiply(b_, dot_.type, rows[block],
                              {columns[half * 2], columns[half * 2 + 1]}, sum);
        }
      }
    }
  }
}

Value TensorDotKernel::toResult(Value sum) {
  const ElementKind& kind = dot_.result;
  if (!kind.isFloat() || !kind.small) return sum;
  Value rounded = codegen::roundToKind(b_, form_.target, sum, kind);
  return codegen::floatToBits(b_, form_.target, rounded, kind);
}

void TensorDotKernel::whenInside(Value row, Value column, const std::function<void()>& then) {
  auto* inside = llvm::BasicBlock::Create(b_.getContext(), "store", function_);
  auto* after = llvm::BasicBlock::Create(b_.getContext(), "stored", function_);
  Value isInside = b_.CreateAnd(b_.CreateICmpULT(row, i32(dot_.rows)),
                                b_.CreateICmpULT(column, i32(dot_.columns)));
  b_.CreateCondBr(isInside, inside, after);
  b_.SetInsertPoint(inside);
  then();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

void TensorDotKernel::storePair(Value row, Value column, Value first, Value second) {
  int64_t bytes = dot_.result.storageBytes;
  Value matrix = times(wide(batch_), dot_.rows * dot_.columns);
  Value place = add(matrix, add(times(wide(row), dot_.columns), wide(column)));
  Value to = b_.CreateGEP(b_.getInt8Ty(), function_->getArg(task_.result), times(place, bytes));
  Value x = toResult(first), y = toResult(second);
  if (dot_.columns % 2 == 0) {
    Value both = llvm::PoisonValue::get(llvm::FixedVectorType::get(x->getType(), 2));
    both = b_.CreateInsertElement(both, x, uint64_t{0});
    both = b_.CreateInsertElement(both, y, uint64_t{1});
    whenInside(row, column, [&] {
      b_.CreateAlignedStore(both, to, llvm::Align(static_cast<uint64_t>(2 * bytes)));
    });
    return;
  }
  llvm::Align alignment(static_cast<uint64_t>(bytes));
  whenInside(row, column, [&] { b_.CreateAlignedStore(x, to, alignment); });
  whenInside(row, add(column, i32(1)), [&] {
    b_.CreateAlignedStore(y, b_.CreateConstGEP1_64(b_.getInt8Ty(), to, bytes), alignment);
  });
}

void TensorDotKernel::storeSums(llvm::ArrayRef<Four> sums) {
  Value laneRow = b_.CreateLShr(lane_, i32(2));
  Value laneColumn = times(b_.CreateAnd(lane_, i32(3)), 2);
  Value firstRow =
      add(times(rowTile_, tile_.rows), add(times(warpRow_, blocks_ * Mma::kRows), laneRow));
  Value firstColumn = add(times(columnTile_, tile_.columns),
                          add(times(warpColumn_, columnBlocks_ * Mma::kColumns), laneColumn));
  if (task_.epilogue) return storeByEpilogue(sums, firstRow, firstColumn);
  for (unsigned block = 0; block < blocks_; ++block) {
    for (unsigned column = 0; column < columnBlocks_; ++column) {
      const Four& sum = sums[block * columnBlocks_ + column];
      Value row = add(firstRow, i32(block * Mma::kRows));
      Value at = add(firstColumn, i32(column * Mma::kColumns));
      storePair(row, at, sum[0], sum[1]);
      storePair(add(row, i32(kMatrixRows)), at, sum[2], sum[3]);
    }
  }
}

void TensorDotKernel::storeByEpilogue(llvm::ArrayRef<Four> sums, Value firstRow,
                                      Value firstColumn) {
  llvm::SmallVector<Value, 64> all;
  for (const Four& four : sums) all.append(four.begin(), four.end());
  Value table = codegen::makeParameterTable(*function_, task_.parameters);
  codegen::forEachSum(b_, *task_.epilogue, all, [&](Value sum, Value wideNumber) {
    Value number = b_.CreateTrunc(wideNumber, b_.getInt32Ty());
    // Of four, two neighbours are in the lower half of the rows.
    Value four = whole(number, 4), inFour = part(number, 4);
    Value block = whole(four, columnBlocks_), columnBlock = part(four, columnBlocks_);
    Value row = add(firstRow, add(times(block, Mma::kRows), times(whole(inFour, 2), kMatrixRows)));
    Value column = add(firstColumn, add(times(columnBlock, Mma::kColumns), part(inFour, 2)));
    whenInside(row, column, [&] {
      Value line = add(times(wide(batch_), dot_.rows), wide(row));
      b_.CreateCall(task_.epilogue, {table, line, line, wide(column), sum});
    });
  });
}

void TensorDotKernel::emit() {
  thread_ = ops_.threadInGroup(b_);
  lane_ = part(thread_, tile_.warpThreads);
  Value warp = whole(thread_, tile_.warpThreads);
  warpRow_ = whole(warp, tile_.warpColumns);
  warpColumn_ = part(warp, tile_.warpColumns);
  locateTile();
  auto copyBoth = [&](Value stage, Value firstSum) {
    copyTile(lhs_, stage, firstSum);
    copyTile(rhs_, stage, firstSum);
  };
  int64_t tiles = tilesOf(dot_.contracting, tileSums_);
  for (unsigned stage = 0; stage + 1 < stages_; ++stage) {
    if (static_cast<int64_t>(stage) < tiles) copyBoth(i32(stage), i64(stage * tileSums_));
    ops_.endBatch(b_);
  }

  bool isInteger = dot_.type == TensorType::kS8;
  llvm::Type* sumType = isInteger ? b_.getInt32Ty() : b_.getFloatTy();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(b_.getContext(), "tiles", function_);
  auto* done = llvm::BasicBlock::Create(b_.getContext(), "done", function_);
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  auto phi = [&](llvm::Type* type, Value initial) {
    llvm::PHINode* node = b_.CreatePHI(type, 2);
    node->addIncoming(initial, before);
    return node;
  };
  llvm::PHINode* number = phi(b_.getInt64Ty(), i64(0));
  llvm::PHINode* stage = phi(b_.getInt32Ty(), i32(0));
  llvm::PHINode* nextStage = phi(b_.getInt32Ty(), i32(stages_ - 1));
  llvm::SmallVector<Four, 16> carried(size_t{blocks_} * columnBlocks_);
  for (Four& sum : carried) {
    for (Value& value : sum) value = phi(sumType, llvm::Constant::getNullValue(sumType));
  }
  llvm::SmallVector<Four, 16> sums = carried;
  ops_.waitForBatches(b_, stages_ - 2);
  // All threads have their part of this tile, and none multiplies the one before any more.
  ops_.barrier(b_);
  // Beyond the last tile this copies zeros to where nothing is read.
  copyBoth(nextStage, times(add(number, i64(stages_ - 1)), tileSums_));
  ops_.endBatch(b_);
  multiplyTile(stage, sums);
  Value following = add(number, i64(1));
  auto turned = [&](Value value) {
    Value next = add(value, i32(1));
    return b_.CreateSelect(b_.CreateICmpEQ(next, i32(stages_)), i32(0), next);
  };
  Value stageAfter = turned(stage), nextStageAfter = turned(nextStage);
  llvm::BasicBlock* latch = b_.GetInsertBlock();
  b_.CreateCondBr(b_.CreateICmpULT(following, i64(tiles)), loop, done);
  number->addIncoming(following, latch);
  stage->addIncoming(stageAfter, latch);
  nextStage->addIncoming(nextStageAfter, latch);
  for (size_t i = 0; i < sums.size(); ++i) {
    for (size_t j = 0; j < 4; ++j) {
      llvm::cast<llvm::PHINode>(carried[i][j])->addIncoming(sums[i][j], latch);
    }
  }
  b_.SetInsertPoint(done);
  ops_.waitForBatches(b_, 0);
  storeSums(sums);
  b_.CreateRetVoid();
}

bool isWorthALibrary(const MatrixProduct& product, const ElementKind& lhs, const ElementKind& rhs) {
  const auto batches = static_cast<double>(product.batches()),
             rows = static_cast<double>(product.rows),
             columns = static_cast<double>(product.columns),
             sums = static_cast<double>(product.contracting);
  const double flops = 2 * batches * rows * columns * sums;
  if (product.outer > 1) {
    return product.outer <= kMaxBlasCalls &&
           flops / static_cast<double>(product.outer) >= kMinBlasCallFlops;
  }
  return flops >= kMinBlasFlops ||
         batches * sums * (rows * lhs.storageBytes + columns * rhs.storageBytes) >= kMinBlasBytes;
}

std::optional<BlasType> blasTypeOf(const ElementKind& kind) {
  if (kind.format) return std::nullopt;
  if (kind.isBf16) return BlasType::kBf16;
  if (kind.isF16) return BlasType::kF16;
  bool isWide = kind.bits == 64;
  if (kind.isFloat()) return isWide ? BlasType::kF64 : BlasType::kF32;
  if (kind.isComplex()) return isWide ? BlasType::kC128 : BlasType::kC64;
  if (kind.isBool() || !kind.isSigned) return std::nullopt;
  if (kind.bits == 8) return BlasType::kI8;
  return kind.bits == 32 ? std::optional(BlasType::kI32) : std::nullopt;
}

// Whether cuBLASLt has products of these types.
bool multiplies(BlasType operands, BlasType result) {
  switch (operands) {
    case BlasType::kI8:
      return result == BlasType::kI32;
    case BlasType::kI32:
      return false;
    case BlasType::kF16:
    case BlasType::kBf16:
      return result == operands || result == BlasType::kF32;
    default:
      return result == operands;
  }
}

}  // namespace

std::optional<BlasProduct> blasProductOf(mlir::Operation* op, bool allowsTf32) {
  std::optional<MatrixProduct> product = matrixProductOf(op);
  if (!product) return std::nullopt;
  std::optional<ElementKind> lhs = kindOf(op->getOperand(0)), rhs = kindOf(op->getOperand(1));
  std::optional<ElementKind> result = kindOf(op->getResult(0));
  if (!lhs || !rhs || !result) return std::nullopt;
  std::optional<BlasType> operands = blasTypeOf(*lhs), sum = blasTypeOf(*result);
  if (!operands || !sum || blasTypeOf(*rhs) != operands) return std::nullopt;
  if (!multiplies(*operands, *sum)) return std::nullopt;
  // Of integers it has no other.
  const bool isAlongContracting = product->lhs.alongContracting && product->rhs.alongContracting;
  if (operands == BlasType::kI8 && !isAlongContracting) return std::nullopt;
  if (!isWorthALibrary(*product, *lhs, *rhs)) return std::nullopt;
  BlasProduct described;
  static_cast<MatrixProduct&>(described) = *product;
  // What lies apart by nothing, being alone, is not told from its neighbours by cuBLASLt.
  auto separate = [&](MatrixOperand& operand, int64_t lines) {
    operand.stride =
        std::max(operand.stride, operand.alongContracting ? product->contracting : lines);
  };
  separate(described.lhs, product->rows);
  separate(described.rhs, product->columns);
  described.operands = *operands;
  described.result = *sum;
  described.isTf32 = allowsTf32 && *operands == BlasType::kF32 && hasDefaultPrecision(op);
  return described;
}

StatusOr<codegen::OpKernels> emitTensorDot(mlir::Operation* op, const codegen::ProductTask& task,
                                           llvm::Module& module, const codegen::WorkItemForm& form,
                                           const TensorOps& ops, const std::string& symbol) {
  std::optional<MatrixProduct> product = matrixProductOf(op);
  std::optional<TensorType> type = tensorTypeOf(task.kinds);
  if (!product || !type) return internalError("tensor cores do not compute this product");
  TensorDot dot{*product, *type, task.kinds.result};
  TensorDotKernel writer(dot, task, module, form, ops, symbol);
  writer.emit();
  ISTHMUS_RETURN_IF_ERROR(writer.finish());
  codegen::OpKernels kernels;
  kernels.stages.push_back(writer.kernel());
  return kernels;
}

}  // namespace isthmus::cuda
