// The custom call @ragged_all_to_all of lax.ragged_all_to_all: an all_to_all of equal parts, with a
// gather before it and one after it.
#include <algorithm>
#include <limits>
#include <optional>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/legalize/patterns.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::RankedTensorType;
using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;

struct RaggedExchange {
  shlo::CustomCallOp op;
  Value operand, output;
  // One number for each slice, those of one peer side by side.
  Value inputOffsets, outputOffsets, receiveSizes;
  int64_t slices, peers;
  mlir::Attribute replicaGroups;
  shlo::ChannelHandleAttr channel;

  RankedTensorType operandType() const { return tensorTypeOf(operand); }
  RankedTensorType outputType() const { return tensorTypeOf(output); }
  // A slice with more rows than this fits into one of the arrays no longer.
  int64_t sliceRows() const {
    return std::min(operandType().getDimSize(0), outputType().getDimSize(0));
  }
};

std::optional<RaggedExchange> raggedExchange(shlo::CustomCallOp op) {
  if (op.getCallTargetName() != "ragged_all_to_all" || op.getNumOperands() != 6 ||
      op.getNumResults() != 1) {
    return std::nullopt;
  }
  auto config = op->getAttrOfType<mlir::DictionaryAttr>("backend_config");
  if (!config) return std::nullopt;
  auto groups = config.getAs<mlir::DenseIntElementsAttr>("replica_groups");
  if (!groups || groups.getType().getRank() != 2 || groups.empty()) return std::nullopt;
  for (Value operand : op->getOperands()) {
    auto type = llvm::dyn_cast<RankedTensorType>(operand.getType());
    if (!type || !type.hasStaticShape() || type.getRank() == 0) return std::nullopt;
  }
  RaggedExchange exchange{
      .op = op,
      .operand = op->getOperand(0),
      .output = op->getOperand(1),
      .inputOffsets = op->getOperand(2),
      .outputOffsets = op->getOperand(4),
      .receiveSizes = op->getOperand(5),
      .slices = tensorTypeOf(op->getOperand(2)).getDimSize(0),
      .peers = groups.getType().getDimSize(1),
      .replicaGroups = groups,
      .channel = {},
  };
  for (Value numbers : op->getOperands().drop_front(2)) {
    RankedTensorType type = tensorTypeOf(numbers);
    if (!type.getElementType().isInteger() || type.getRank() != 1 ||
        type.getDimSize(0) != exchange.slices) {
      return std::nullopt;
    }
  }
  RankedTensorType from = exchange.operandType(), to = exchange.outputType();
  if (to != op->getResult(0).getType() || from.getElementType() != to.getElementType() ||
      from.getShape().drop_front() != to.getShape().drop_front() || exchange.slices == 0 ||
      exchange.slices % exchange.peers != 0) {
    return std::nullopt;
  }
  if (auto channel = config.getAs<mlir::IntegerAttr>("channel_id")) {
    constexpr int64_t kDeviceToDevice = 1;
    exchange.channel =
        shlo::ChannelHandleAttr::get(op.getContext(), channel.getInt(), kDeviceToDevice);
  }
  return exchange;
}

// The rows of `array` that `rows` names, in the shape of `rows`; each is moved into the array.
Value takeRows(ArrayBuilder& b, Value array, Value rows) {
  RankedTensorType type = tensorTypeOf(array), rowsType = tensorTypeOf(rows);
  Dims shape(rowsType.getShape()), offsets, sizes(type.getShape());
  for (int64_t d = 1; d < type.getRank(); ++d) {
    offsets.push_back(static_cast<int64_t>(shape.size()));
    shape.push_back(type.getDimSize(d));
  }
  sizes[0] = 1;
  auto numbers = shlo::GatherDimensionNumbersAttr::get(b.builder().getContext(), offsets, Dims{0},
                                                       Dims{}, Dims{}, Dims{0}, rowsType.getRank());
  return shlo::GatherOp::create(b.builder(), b.location(), type.clone(shape), array, rows, numbers,
                                sizes, /*indices_are_sorted=*/false);
}

// Part i of the result comes from peer i, and was part `this device` there.
Value exchangeParts(ArrayBuilder& b, const RaggedExchange& exchange, Value parts) {
  auto exchanged = shlo::AllToAllOp::create(
      b.builder(), b.location(), mlir::TypeRange{parts.getType()}, mlir::ValueRange{parts},
      /*split_dimension=*/0, /*concat_dimension=*/0, static_cast<uint64_t>(exchange.peers),
      exchange.replicaGroups, exchange.channel);
  return exchanged->getResult(0);
}

// Every slice travels in a part of as many rows as a slice may have. Each row of the output then
// looks for the last slice that covers it.
LogicalResult legalizeRaggedAllToAll(shlo::CustomCallOp op, PatternRewriter& rewriter) {
  std::optional<RaggedExchange> exchange = raggedExchange(op);
  if (!exchange) return mlir::failure();
  const int64_t slices = exchange->slices, rows = exchange->sliceRows();
  const int64_t results = exchange->outputType().getDimSize(0);
  if (rows == 0 || exchange->outputType().getNumElements() == 0) {
    rewriter.replaceOp(op, exchange->output);
    return mlir::success();
  }
  constexpr auto kMost = std::numeric_limits<int64_t>::max();
  if (slices > kMost / rows / 2) return mlir::failure();
  ArrayBuilder b(op, rewriter);
  // Sums of two numbers that are in bounds have to fit.
  int64_t most = 2 * std::max({slices * rows, results, exchange->operandType().getDimSize(0)});
  bool isNarrow = most <= std::numeric_limits<int32_t>::max();
  mlir::Type index = isNarrow ? rewriter.getI32Type() : rewriter.getI64Type();
  Dims shape{slices, rows};
  Value sent = b.add(b.broadcast(b.convert(exchange->inputOffsets, index), shape, {0}),
                     b.iota(RankedTensorType::get(shape, index), 1));
  Value received = exchangeParts(b, *exchange, takeRows(b, exchange->operand, sent));
  Value offsets = exchangeParts(b, *exchange, b.convert(exchange->outputOffsets, index));

  auto covers = RankedTensorType::get({slices, results}, index);
  auto perSlice = [&](Value numbers) { return b.broadcast(numbers, covers.getShape(), {0}); };
  Value sizes = b.make<shlo::MinOp>(
      b.convert(exchange->receiveSizes, index),
      b.splat(static_cast<double>(rows), RankedTensorType::get({slices}, index)));
  Value within = b.sub(b.iota(covers, 1), perSlice(offsets));
  Value isCovered =
      b.make<shlo::AndOp>(b.compare(within, b.like(0, within), shlo::ComparisonDirection::GE),
                          b.compare(within, perSlice(sizes), shlo::ComparisonDirection::LT));
  // The row among all that were received; a later slice has larger ones.
  Value place = b.add(b.mul(b.iota(covers, 0), b.like(static_cast<double>(rows), within)), within);
  Value last = b.largest(b.select(isCovered, place, b.like(-1, place)), -1, {0});

  Dims flat(exchange->outputType().getShape());
  flat[0] = slices * rows;
  Value taken = takeRows(b, b.reshape(received, flat), last);
  Value isReceived = b.compare(last, b.like(0, last), shlo::ComparisonDirection::GE);
  Value everywhere = b.broadcast(isReceived, exchange->outputType().getShape(), {0});
  rewriter.replaceOp(op, b.select(everywhere, taken, exchange->output));
  return mlir::success();
}

}  // namespace

void addRaggedAllToAllPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(legalizeRaggedAllToAll);
}

}  // namespace isthmus
