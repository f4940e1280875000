// Operations that newer ones have taken the place of, or that hardly anybody uses: einsum,
// unary_einsum, cross-replica-sum, collective_reduce, rng.
#include "compiler/dialect/diagnostics/diagnostics.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/legalize/patterns.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::RankedTensorType;
using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;

// ---- Einstein's summation -----------------------------------------------------------------------

// The operand summed over the dimensions whose letters are in none of `kept`, and its letters then.
Value sumOver(ArrayBuilder& b, Value operand, std::string& letters, llvm::StringRef kept) {
  Dims summed;
  std::string rest;
  for (auto [d, letter] : llvm::enumerate(letters)) {
    if (kept.contains(letter)) {
      rest += letter;
    } else {
      summed.push_back(static_cast<int64_t>(d));
    }
  }
  if (summed.empty()) return operand;
  letters = rest;
  return b.sum(operand, summed);
}

// The operand with its dimensions in the order of `wanted`.
Value inOrder(ArrayBuilder& b, Value operand, llvm::StringRef letters, llvm::StringRef wanted) {
  if (letters == wanted) return operand;
  Dims permutation, shape;
  RankedTensorType type = tensorTypeOf(operand);
  for (char letter : wanted) {
    permutation.push_back(static_cast<int64_t>(letters.find(letter)));
    shape.push_back(type.getDimSize(static_cast<unsigned>(permutation.back())));
  }
  return shlo::TransposeOp::create(b.builder(), b.location(),
                                   RankedTensorType::get(shape, type.getElementType()), operand,
                                   permutation);
}

// Whether the letters are those of an array of this type, each once: diagonals are not rewritten,
// nor are dimensions that an ellipsis stands for.
bool fits(Value operand, llvm::StringRef letters) {
  auto type = llvm::dyn_cast<RankedTensorType>(operand.getType());
  if (!type || !type.hasStaticShape() || type.getRank() != static_cast<int64_t>(letters.size())) {
    return false;
  }
  for (size_t i = 0; i < letters.size(); ++i) {
    if (!llvm::isAlpha(letters[i]) || letters.drop_front(i + 1).contains(letters[i])) return false;
  }
  return true;
}

// Whether each letter stands for one size, and all are of one element type; else reports it.
bool agree(mlir::Operation* op, llvm::ArrayRef<std::pair<Value, llvm::StringRef>> arrays) {
  llvm::DenseMap<char, int64_t> sizes;
  for (auto [array, letters] : arrays) {
    RankedTensorType type = tensorTypeOf(array);
    if (type.getElementType() != tensorTypeOf(arrays.front().first).getElementType()) {
      emitInvalid(op, "has arrays of different element types");
      return false;
    }
    for (auto [letter, size] : llvm::zip(letters, type.getShape())) {
      auto [known, isNew] = sizes.try_emplace(letter, size);
      if (known->second == size) continue;
      emitInvalid(op, "has dimensions '")
          << llvm::StringRef(&letter, 1) << "' of sizes " << known->second << " and " << size;
      return false;
    }
  }
  return true;
}

LogicalResult legalizeUnaryEinsum(shlo::UnaryEinsumOp op, PatternRewriter& rewriter) {
  auto [left, right] = op.getEinsumConfig().split("->");
  std::string letters = left.trim().str(), out = right.trim().str();
  if (!fits(op.getOperand(), letters) || !fits(op.getResult(), out)) return mlir::failure();
  if (!llvm::all_of(out, [&](char c) { return llvm::StringRef(letters).contains(c); })) {
    return emitInvalid(op, "has a result with letters that the operand has not");
  }
  if (!agree(op, {{op.getOperand(), letters}, {op.getResult(), out}})) return mlir::failure();
  ArrayBuilder b(op, rewriter);
  Value sum = sumOver(b, op.getOperand(), letters, out);
  rewriter.replaceOp(op, inOrder(b, sum, letters, out));
  return mlir::success();
}

LogicalResult legalizeEinsum(shlo::EinsumOp op, PatternRewriter& rewriter) {
  auto [operands, result] = op.getEinsumConfig().split("->");
  auto [first, second] = operands.split(",");
  std::string left = first.trim().str(), right = second.trim().str(), out = result.trim().str();
  if (!fits(op.getLhs(), left) || !fits(op.getRhs(), right) || !fits(op.getResult(), out)) {
    return mlir::failure();
  }
  if (!agree(op, {{op.getLhs(), left}, {op.getRhs(), right}, {op.getResult(), out}})) {
    return mlir::failure();
  }
  ArrayBuilder b(op, rewriter);
  Value lhs = sumOver(b, op.getLhs(), left, right + out);
  Value rhs = sumOver(b, op.getRhs(), right, left + out);
  Dims leftBatch, rightBatch, leftSum, rightSum, shape;
  std::string given, free;
  RankedTensorType lhsType = tensorTypeOf(lhs), rhsType = tensorTypeOf(rhs);
  for (auto [d, letter] : llvm::enumerate(left)) {
    auto place = static_cast<int64_t>(d);
    size_t other = right.find(letter);
    if (other == std::string::npos) {
      free += letter;
      continue;
    }
    bool isBatch = llvm::StringRef(out).contains(letter);
    (isBatch ? leftBatch : leftSum).push_back(place);
    (isBatch ? rightBatch : rightSum).push_back(static_cast<int64_t>(other));
    if (isBatch) given += letter;
  }
  given += free;
  for (char letter : right) {
    if (left.find(letter) == std::string::npos) given += letter;
  }
  if (!llvm::all_of(out, [&](char c) { return llvm::StringRef(given).contains(c); }) ||
      given.size() != out.size()) {
    return emitInvalid(op, "has a result with letters that no operand has");
  }
  for (char letter : given) {
    size_t at = left.find(letter);
    shape.push_back(at != std::string::npos
                        ? lhsType.getDimSize(static_cast<unsigned>(at))
                        : rhsType.getDimSize(static_cast<unsigned>(right.find(letter))));
  }
  auto numbers =
      shlo::DotDimensionNumbersAttr::get(op.getContext(), leftBatch, rightBatch, leftSum, rightSum);
  auto type = llvm::cast<RankedTensorType>(op.getType());
  Value product = shlo::DotGeneralOp::create(
      rewriter, op.getLoc(), RankedTensorType::get(shape, type.getElementType()), lhs, rhs, numbers,
      mlir::ArrayAttr(), shlo::DotAlgorithmAttr());
  rewriter.replaceOp(op, inOrder(b, product, given, out));
  return mlir::success();
}

// ---- Collectives --------------------------------------------------------------------------------

LogicalResult legalizeCrossReplicaSum(shlo::CrossReplicaSumOp op, PatternRewriter& rewriter) {
  auto type = llvm::cast<RankedTensorType>(op.getType());
  auto reduce = shlo::AllReduceOp::create(
      rewriter, op.getLoc(), mlir::TypeRange{type}, mlir::ValueRange{op.getOperand()},
      op.getReplicaGroups(), shlo::ChannelHandleAttr(), /*use_global_device_ids=*/false);
  fillWith<shlo::AddOp>(rewriter, reduce.getComputation(), type.getElementType(), op.getLoc());
  rewriter.replaceOp(op, reduce->getResults());
  return mlir::success();
}

// All members of a group get the result, and all but the first then drop it.
LogicalResult legalizeCollectiveReduce(shlo::CollectiveReduceOp op, PatternRewriter& rewriter) {
  auto groups = llvm::dyn_cast<mlir::DenseIntElementsAttr>(op.getReplicaGroups());
  if (!groups || op.getHasDynamicRoot() || op.getUseGlobalDeviceIds()) return mlir::failure();
  ArrayBuilder b(op, rewriter);
  shlo::ChannelHandleAttr channel = op.getChannelHandleAttr();
  auto reduce = shlo::AllReduceOp::create(rewriter, op.getLoc(), op->getResultTypes(),
                                          op.getOperands(), op.getReplicaGroups(), channel,
                                          /*use_global_device_ids=*/false);
  rewriter.inlineRegionBefore(op.getComputation(), reduce.getComputation(),
                              reduce.getComputation().end());
  bool isByPartition = channel && channel.getHandle() > 0;
  Value self = isByPartition ? shlo::PartitionIdOp::create(rewriter, op.getLoc()).getResult()
                             : shlo::ReplicaIdOp::create(rewriter, op.getLoc()).getResult();
  auto ids = groups.getValues<int64_t>();
  int64_t width = groups.getType().getDimSize(1);
  Value isRoot;
  for (int64_t at = 0; at < static_cast<int64_t>(ids.size()); at += width) {
    Value root = b.like(static_cast<double>(ids[at]), self);
    Value isThis = b.compare(self, root, shlo::ComparisonDirection::EQ);
    isRoot = isRoot ? b.make<shlo::OrOp>(isRoot, isThis) : isThis;
  }
  llvm::SmallVector<Value> results;
  for (Value all : reduce->getResults()) {
    Value zeros = b.zeros(tensorTypeOf(all));
    results.push_back(isRoot ? b.select(isRoot, all, zeros) : zeros);
  }
  rewriter.replaceOp(op, results);
  return mlir::success();
}

// ---- Random numbers -----------------------------------------------------------------------------

// Numbers in [0, 1) of a float type of 32 or 64 bits, from bits of as many.
Value uniform(ArrayBuilder& b, Value bits, mlir::Type element) {
  RankedTensorType type = tensorTypeOf(bits);
  bool isWide = element.isF64();
  // The mantissa at random and the exponent of 1 give [1, 2).
  Value mantissa = b.make<shlo::ShiftRightLogicalOp>(bits, b.splat(isWide ? 12 : 9, type));
  Value exponent = b.splat(isWide ? 0x1p62 - 0x1p52 : 0x3F800000, type);
  Value ones = shlo::BitcastConvertOp::create(b.builder(), b.location(), type.clone(element),
                                              b.make<shlo::OrOp>(mantissa, exponent));
  return b.sub(ones, b.like(1, ones));
}

// The numbers of each rng operation of a program are others; each run of the program has the same.
struct LegalizeRng : mlir::OpRewritePattern<shlo::RngOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(shlo::RngOp op, PatternRewriter& rewriter) const override {
    auto type = llvm::dyn_cast<RankedTensorType>(op.getType());
    if (!type || !type.hasStaticShape()) return mlir::failure();
    mlir::Type element = type.getElementType();
    bool isFloat = llvm::isa<mlir::FloatType>(element);
    bool isNormal = op.getRngDistribution() == shlo::RngDistribution::NORMAL;
    if (element.isInteger(1) || (isNormal && !isFloat)) return mlir::failure();
    ArrayBuilder b(op, rewriter);
    bool isWide = element.getIntOrFloatBitWidth() > 32;
    Value low = b.broadcast(op.getA(), type.getShape(), {});
    Value high = b.broadcast(op.getB(), type.getShape(), {});
    Value result;
    if (!isFloat) {
      result = integers(b, low, high, draw(b, type, isWide));
    } else {
      mlir::Type wide = isWide ? rewriter.getF64Type() : rewriter.getF32Type();
      Value first = uniform(b, draw(b, type, isWide), wide);
      Value from = b.convert(low, wide), to = b.convert(high, wide);
      if (isNormal) {
        Value second = uniform(b, draw(b, type, isWide), wide);
        result = b.convert(b.add(from, b.mul(to, normal(b, first, second))), element);
      } else {
        result = b.convert(b.add(from, b.mul(first, b.sub(to, from))), element);
        // Rounding may reach the excluded end.
        Value isBelow = b.compare(result, high, shlo::ComparisonDirection::LT);
        result = b.select(isBelow, result, low);
      }
    }
    rewriter.replaceOp(op, result);
    return mlir::success();
  }

 private:
  Value draw(ArrayBuilder& b, RankedTensorType type, bool isWide) const {
    mlir::OpBuilder& builder = b.builder();
    auto stateType = RankedTensorType::get({2}, builder.getIntegerType(64, /*isSigned=*/false));
    uint64_t state[2] = {0x9e3779b97f4a7c15, ++draws_ << 32};
    Value seed = shlo::ConstantOp::create(
        builder, b.location(),
        mlir::DenseElementsAttr::get(stateType, llvm::ArrayRef<uint64_t>(state)));
    auto bits = type.clone(builder.getIntegerType(isWide ? 64 : 32, /*isSigned=*/false));
    auto generator = shlo::RngBitGeneratorOp::create(builder, b.location(), stateType, bits,
                                                     shlo::RngAlgorithm::THREE_FRY, seed);
    return generator.getOutput();
  }

  // low + bits modulo (high - low); low itself if the range is empty.
  static Value integers(ArrayBuilder& b, Value low, Value high, Value bits) {
    mlir::Type unsignedType = tensorTypeOf(bits).getElementType();
    Value from = b.convert(low, unsignedType);
    Value range = b.sub(b.convert(high, unsignedType), from);
    Value zero = b.like(0, range);
    Value isEmpty = b.compare(range, zero, shlo::ComparisonDirection::EQ);
    Value divisor = b.select(isEmpty, b.like(1, range), range);
    Value offset = b.make<shlo::RemOp>(bits, divisor);
    return b.convert(b.add(from, offset), tensorTypeOf(low).getElementType());
  }

  // Box and Muller.
  static Value normal(ArrayBuilder& b, Value first, Value second) {
    Value logarithm = b.make<shlo::Log1pOp>(b.make<shlo::NegOp>(first));
    Value radius = b.make<shlo::SqrtOp>(b.mul(logarithm, b.like(-2, logarithm)));
    constexpr double kTwoPi = 6.283185307179586;
    return b.mul(radius, b.make<shlo::CosineOp>(b.mul(second, b.like(kTwoPi, second))));
  }

  // A set of patterns is made for one run of the pass, which is on one thread.
  mutable uint64_t draws_ = 0;
};

}  // namespace

void addLegacyPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(legalizeEinsum);
  patterns.add(legalizeUnaryEinsum);
  patterns.add(legalizeCrossReplicaSum);
  patterns.add(legalizeCollectiveReduce);
  patterns.add<LegalizeRng>(patterns.getContext());
}

}  // namespace isthmus
