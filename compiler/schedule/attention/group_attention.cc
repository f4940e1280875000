#include "compiler/schedule/attention/group_attention.h"

#include <algorithm>

#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/attention/online_softmax.h"
#include "compiler/target/element_kind.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus {
namespace {

// Most of the smallest tile would be empty of fewer rows.
constexpr int64_t kMinRows = kAttentionSide;
// Loops over these are unrolled: bounds on code, whatever the device.
constexpr int64_t kMaxFeatures = 256;
constexpr int64_t kMaxTile = 128;

struct Tile {
  int64_t rows, keys;
};
// The first that fits the device's groups: products of squares read least.
constexpr Tile kTiles[] = {{64, 32}, {32, 32}, {64, 16}, {32, 16}, {16, 16}};

int64_t bytesOf(const AttentionShape& shape, const AttentionStage& stage) {
  const int64_t rows = stage.rows, keys = stage.keys;
  auto line = [](int64_t size) {
    return static_cast<int64_t>(llvm::alignTo(size, kAttentionVector)) + kAttentionVector;
  };
  const int64_t features = static_cast<int64_t>(llvm::alignTo(shape.numFeatures(), kAttentionSide));
  const int64_t block = std::max(line(shape.numSums()), features + kAttentionVector);
  // Where threads do not read each other's registers, maxima and sums meet in memory.
  return 4 * (rows * (line(shape.numSums()) + line(keys) + kAttentionSide) + keys * block);
}

int64_t sumsOfThread(const AttentionShape& shape, int64_t rows) {
  return rows / kAttentionSide * llvm::divideCeilSigned(shape.numFeatures(), kAttentionSide);
}

void cut(AttentionStage* stage, Tile tile) {
  stage->rows = tile.rows;
  stage->keys = tile.keys;
  stage->groupThreads = static_cast<unsigned>(kAttentionSide * kAttentionSide);
}

const char* cutRefusal(const AttentionShape& shape, const AttentionStage& stage,
                       const TargetModel& target) {
  if (bytesOf(shape, stage) > target.localBytes) return "a block does not fit a group's memory";
  if (stage.groupThreads > target.groupSize) return "a group has too few threads";
  // Elements of the result, beside its scores.
  if (sumsOfThread(shape, stage.rows) > target.products.maxThreadSums) {
    return "results do not fit a thread's registers";
  }
  return nullptr;
}

// Whether what multiplies matrices on the device takes both operands of a product: it is faster
// than the threads of this kernel, and than storing scores costs.
bool isOfProductUnit(shlo::DotGeneralOp dot, const TargetModel& target) {
  const bool hasUnit = target.products.unit == ProductUnit::kSubgroups ||
                       target.products.unit == ProductUnit::kWarps;
  auto isNarrow = [](mlir::Value value) {
    auto kind = kindOf(value);
    return kind && (kind->isBf16 || kind->isF16);
  };
  return hasUnit && isNarrow(dot.getLhs()) && isNarrow(dot.getRhs());
}

// False if nothing fits.
bool chooseCut(const AttentionShape& shape, const TargetModel& target, AttentionStage* stage) {
  for (Tile tile : kTiles) {
    cut(stage, tile);
    const bool isEmpty = tile.rows > kAttentionSide && tile.rows >= 2 * shape.numRows();
    if (!isEmpty && !cutRefusal(shape, *stage, target)) return true;
  }
  return false;
}

}  // namespace

const char* groupAttentionRefusal(Attention attention, const TargetModel& target) {
  if (!target.hasGroups()) return "the device's threads share no memory";
  if (attention.scores.size() != 1 || attention.products.size() != 1 ||
      attention.products[0].sumsRows) {
    return "the device has no kernel of several products of one array of scores";
  }
  if (isOfProductUnit(attention.scores[0], target)) {
    return "the device's instruction for matrices multiplies faster than the kernel's threads";
  }
  std::optional<OnlineSoftmax> softmax = onlineSoftmaxOf(attention.rows);
  if (!softmax) return "the device's kernel wants whole rows at once, which is no softmax";
  mlir::Value product = attention.products[0].dot.getResult();
  for (mlir::Value value : {softmax->logits, softmax->exponentials, softmax->sum, product}) {
    auto kind = elementKind(tensorTypeOf(value).getElementType());
    if (!kind || kind->computeBits() != 32) return "it is not computed in f32";
  }
  const AttentionShape shape = attentionShapeOf(attention);
  if (shape.numRows() < kMinRows) return "there are few rows for each batch item";
  if (shape.numFeatures() > kMaxFeatures || shape.numSums() > kMaxFeatures) {
    return "rows of queries or of results are too long for a group";
  }
  AttentionStage stage;
  return chooseCut(shape, target, &stage) ? nullptr : "a block does not fit a group's memory";
}

const char* tileRefusal(ir::FusionOp fusion, const AttentionStage& stage,
                        const TargetModel& target) {
  const bool isCut = stage.rows >= kAttentionSide && stage.rows % kAttentionSide == 0 &&
                     stage.keys >= kAttentionSide && stage.keys % kAttentionSide == 0;
  if (!isCut) return "rows and keys of a tile must be multiples of 16";
  if (stage.groupThreads != kAttentionSide * kAttentionSide) return "a tile has 256 threads";
  // Bounds on code size as well.
  if (stage.rows > kMaxTile || stage.keys > kMaxTile) return "a tile has too many rows or keys";
  return cutRefusal(attentionShapeOf(*attentionOf(fusion)), stage, target);
}

void scheduleGroupAttention(ir::FusionOp fusion, const TargetModel& target, AttentionStage* stage) {
  Attention attention = *attentionOf(fusion);
  const AttentionShape shape = attentionShapeOf(attention);
  const auto batchRank = static_cast<int64_t>(shape.batch.size());
  const auto rank = batchRank + static_cast<int64_t>(shape.rows.size());
  if (batchRank > 0) stage->dims.push_back({0, batchRank - 1, shape.batches()});
  stage->tiledDims = static_cast<int64_t>(stage->dims.size());
  stage->dims.push_back({batchRank, rank - 1, shape.numRows()});
  chooseCut(shape, target, stage);
}

}  // namespace isthmus
