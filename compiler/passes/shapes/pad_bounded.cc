// The pad-bounded pass: arrays of bounded size become arrays of their bounds, with the sizes beside
// them as values.
//
// What lies beyond a size is unspecified between operations; those that would see it (reductions,
// contractions, padding, the program's results) put in its place what changes nothing.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/indexing.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/rules/rules.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace isthmus {

#define GEN_PASS_DEF_PADBOUNDEDPASS
#include "compiler/passes/passes.h.inc"

namespace {

using mlir::LogicalResult;
using mlir::RankedTensorType;
using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;
// One for each dimension, of type tensor<i32>; null where the size is the padded one.
using Sizes = llvm::SmallVector<Value>;

// A tensor type that has dynamic dimensions, each with a bound.
RankedTensorType boundedType(mlir::Type type) {
  auto array = llvm::dyn_cast<RankedTensorType>(type);
  if (!array || array.hasStaticShape()) return {};
  llvm::SmallVector<int64_t> bounds(shlo::boundsOf(array));
  if (bounds.empty()) return {};
  for (int64_t d = 0; d < array.getRank(); ++d) {
    if (array.isDynamicDim(d) && mlir::ShapedType::isDynamic(bounds[d])) return {};
  }
  return array;
}

bool isBounded(mlir::Type type) { return boundedType(type) != nullptr; }

mlir::Type paddedType(mlir::Type type) {
  RankedTensorType array = boundedType(type);
  if (!array) return type;
  llvm::SmallVector<int64_t> bounds(shlo::boundsOf(array));
  Dims shape(array.getShape());
  for (int64_t d = 0; d < array.getRank(); ++d) {
    if (array.isDynamicDim(d)) shape[d] = bounds[d];
  }
  return RankedTensorType::get(shape, array.getElementType());
}

bool hasAny(const Sizes& sizes) {
  return llvm::any_of(sizes, [](Value size) { return size != nullptr; });
}

class Padder {
 public:
  explicit Padder(mlir::MLIRContext* context) : builder_(context) {}

  LogicalResult run(mlir::Block& block) {
    for (mlir::Operation& op : llvm::make_early_inc_range(block)) {
      bool concerns = llvm::any_of(op.getResultTypes(), isBounded) ||
                      llvm::any_of(op.getOperands(), [&](Value v) { return sizes_.contains(v); });
      bool hasBlocks = isControlFlow(&op);
      if ((concerns || hasBlocks) && mlir::failed(rewrite(&op))) return mlir::failure();
    }
    return mlir::success();
  }

 private:
  LogicalResult unsupported(mlir::Operation* op, const char* what) {
    return op->emitError(op->getName().getStringRef()) << " of arrays of bounded size: " << what;
  }

  Sizes sizesOf(Value value) const {
    auto it = sizes_.find(value);
    if (it != sizes_.end()) return it->second;
    auto type = llvm::dyn_cast<RankedTensorType>(value.getType());
    return Sizes(type ? type.getRank() : 0);
  }

  void setSizes(Value value, Sizes sizes) {
    if (hasAny(sizes)) sizes_[value] = std::move(sizes);
  }

  RankedTensorType scalarType() { return RankedTensorType::get({}, builder_.getI32Type()); }

  Value number(ArrayBuilder& b, int64_t value) {
    return b.splat(static_cast<double>(value), scalarType());
  }

  // `array` with `fill`, a scalar, in its padding: beyond its size in these dimensions.
  Value maskPadding(ArrayBuilder& b, Value array, const Sizes& sizes, llvm::ArrayRef<int64_t> dims,
                    Value fill) {
    RankedTensorType type = tensorTypeOf(array);
    Value inside;
    for (int64_t d : dims) {
      if (!sizes[d]) continue;
      Value place = b.iota(type.clone(builder_.getI32Type()), d);
      Value limit = b.broadcast(sizes[d], type.getShape(), {});
      Value here = b.compare(place, limit, shlo::ComparisonDirection::LT);
      inside = inside ? b.make<shlo::AndOp>(inside, here) : here;
    }
    if (!inside) return array;
    return b.select(inside, array, b.broadcast(fill, type.getShape(), {}));
  }

  Value zeroLike(ArrayBuilder& b, Value array) {
    return b.zeros(RankedTensorType::get({}, tensorTypeOf(array).getElementType()));
  }

  static Dims allDims(Value array) {
    return llvm::to_vector(llvm::seq<int64_t>(0, tensorTypeOf(array).getRank()));
  }

  LogicalResult rewrite(mlir::Operation* op) {
    builder_.setInsertionPoint(op);
    ArrayBuilder b(op, builder_);
    if (auto loop = llvm::dyn_cast<shlo::WhileOp>(op)) return rewriteWhile(loop);
    if (llvm::isa<shlo::IfOp, shlo::CaseOp>(op)) return rewriteBranches(op);
    if (llvm::isa<mlir::func::ReturnOp>(op)) {
      for (mlir::OpOperand& use : op->getOpOperands()) {
        Value value = use.get();
        if (!sizes_.contains(value)) continue;
        use.set(maskPadding(b, value, sizesOf(value), allDims(value), zeroLike(b, value)));
      }
      return mlir::success();
    }
    if (llvm::isa<shlo::ReturnOp>(op)) return mlir::success();  // its parent appends the sizes
    if (auto size = llvm::dyn_cast<shlo::GetDimensionSizeOp>(op)) {
      auto dim = static_cast<int64_t>(size.getDimension());
      Value known = sizesOf(size.getOperand())[dim];
      if (!known) known = number(b, tensorTypeOf(size.getOperand()).getDimSize(dim));
      op->getResult(0).replaceAllUsesWith(known);
      op->erase();
      return mlir::success();
    }
    if (auto resize = llvm::dyn_cast<shlo::SetDimensionSizeOp>(op)) return rewriteResize(resize, b);
    for (Value result : op->getResults()) result.setType(paddedType(result.getType()));
    return llvm::TypeSwitch<mlir::Operation*, LogicalResult>(op)
        .Case<shlo::ConstantOp>([&](auto constant) { return rewriteConstant(constant); })
        .Case<shlo::IotaOp>([&](auto) { return mlir::success(); })
        .Case<shlo::BroadcastInDimOp, shlo::TransposeOp>([&](auto moved) {
          setSizes(moved->getResult(0), followedSizes(moved));
          return mlir::success();
        })
        .Case<shlo::DynamicBroadcastInDimOp>(
            [&](auto broadcast) { return rewriteDynamicBroadcast(broadcast, b); })
        .Case<shlo::ReshapeOp>([&](auto reshape) { return rewriteReshape(reshape); })
        .Case<shlo::SliceOp>([&](auto slice) { return rewriteSlice(slice); })
        .Case<shlo::PadOp>([&](auto pad) { return rewritePad(pad, b); })
        .Case<shlo::ConcatenateOp>([&](auto join) { return rewriteConcatenate(join, b); })
        .Case<shlo::ReduceOp>([&](auto reduce) { return rewriteReduce(reduce, b); })
        .Case<shlo::DotGeneralOp>([&](auto dot) { return rewriteDot(dot, b); })
        .Case<shlo::ConvolutionOp>(
            [&](auto convolution) { return rewriteConvolution(convolution, b); })
        .Case<shlo::ReduceWindowOp>([&](auto windows) { return rewriteReduceWindow(windows, b); })
        .Case<shlo::ReverseOp>([&](auto reverse) { return rewriteReverse(reverse, b); })
        .Case<shlo::SortOp>([&](auto sort) { return rewriteSort(sort, b); })
        .Case<shlo::DynamicSliceOp>([&](auto slice) { return rewriteDynamicSlice(slice, b); })
        .Case<shlo::DynamicUpdateSliceOp>([&](auto update) { return rewriteUpdate(update, b); })
        .Case<shlo::GatherOp>([&](auto gather) { return rewriteGather(gather, b); })
        .Case<shlo::ScatterOp>([&](auto scatter) { return rewriteScatter(scatter, b); })
        .Default([&](mlir::Operation* other) -> LogicalResult {
          if (fusionClass(other) != FusionClass::kElementwise) {
            return unsupported(other, "the compiler has no code for this operation yet");
          }
          setSizes(other->getResult(0), followedSizes(other));
          return mlir::success();
        });
  }

  // The sizes of a result's dimensions that are dimensions of operands.
  Sizes followedSizes(mlir::Operation* op) {
    Sizes sizes(tensorTypeOf(op->getResult(0)).getRank());
    IndexingMaps maps = indexingMaps(op);
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      Sizes own = sizesOf(operand);
      if (!hasAny(own) || !maps.operands[i].map) continue;
      for (auto [d, size] : llvm::enumerate(own)) {
        std::optional<DimIndex> index = maps.index(i, static_cast<int64_t>(d));
        if (index && index->isDim() && !sizes[*index->dim]) sizes[*index->dim] = size;
      }
    }
    return sizes;
  }

  // Gives the operand another size in one dimension: the same memory, but a value of its own.
  LogicalResult rewriteResize(shlo::SetDimensionSizeOp op, ArrayBuilder& b) {
    auto dim = static_cast<int64_t>(op.getDimension());
    Value operand = op.getOperand();
    Sizes sizes = sizesOf(operand);
    bool isDynamic = op.getType().isDynamicDim(dim);
    sizes[dim] = isDynamic ? op.getSize() : Value();
    mlir::Type type = paddedType(op.getType());
    if (type != operand.getType()) return unsupported(op, "the bound is not the operand's size");
    Value renamed = shlo::ReshapeOp::create(builder_, b.location(), type, operand);
    setSizes(renamed, std::move(sizes));
    op.getResult().replaceAllUsesWith(renamed);
    op->erase();
    return mlir::success();
  }

  LogicalResult rewriteConstant(shlo::ConstantOp op) {
    auto value = llvm::dyn_cast<mlir::DenseElementsAttr>(op.getValue());
    if (!value || !value.isSplat()) return unsupported(op, "a constant that is no splat");
    op.setValueAttr(value.resizeSplat(llvm::cast<mlir::ShapedType>(op.getResult().getType())));
    return mlir::success();
  }

  // New dimensions have the sizes that are given as values.
  LogicalResult rewriteDynamicBroadcast(shlo::DynamicBroadcastInDimOp op, ArrayBuilder& b) {
    RankedTensorType type = tensorTypeOf(op->getResult(0));
    Value shape = op.getOutputDimensions();
    mlir::Type element = tensorTypeOf(shape).getElementType();
    auto result = shlo::BroadcastInDimOp::create(builder_, b.location(), type, op.getOperand(),
                                                 op.getBroadcastDimensions());
    Sizes sizes = followedSizes(result);
    builder_.setInsertionPoint(result);
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (sizes[d]) continue;
      Value size =
          shlo::SliceOp::create(builder_, b.location(), RankedTensorType::get({1}, element), shape,
                                Dims{d}, Dims{d + 1}, Dims{1});
      sizes[d] = b.convert(b.reshape(size, {}), builder_.getI32Type());
    }
    setSizes(result.getResult(), std::move(sizes));
    op->getResult(0).replaceAllUsesWith(result.getResult());
    op->erase();
    return mlir::success();
  }

  // A dimension stays what it is if all others of its group are of size 1.
  LogicalResult rewriteReshape(shlo::ReshapeOp op) {
    auto from = tensorTypeOf(op.getOperand()), to = tensorTypeOf(op.getResult());
    Sizes own = sizesOf(op.getOperand()), sizes(to.getRank());
    ReshapeGroups groups = reshapeGroups(from.getShape(), to.getShape());
    for (int64_t d = 0; d < from.getRank(); ++d) {
      if (!own[d]) continue;
      std::optional<int64_t> same;
      if (!groups.from.empty()) same = sameDimension(from, d, to, groups);
      if (!same) {
        return unsupported(op, "a dimension of bounded size is split or joined with another");
      }
      sizes[*same] = own[d];
    }
    setSizes(op.getResult(), std::move(sizes));
    return mlir::success();
  }

  // The dimension of `to` that dimension `d` of `from` is: of the same size, with as many elements
  // before it.
  static std::optional<int64_t> sameDimension(RankedTensorType from, int64_t d, RankedTensorType to,
                                              const ReshapeGroups& groups) {
    auto elementsBefore = [](RankedTensorType type, int64_t begin, int64_t end) {
      int64_t elements = 1;
      for (int64_t k = begin; k < end; ++k) elements *= type.getDimSize(k);
      return elements;
    };
    const int64_t group = groups.fromGroup[d];
    const auto [begin, end] = groups.to[group];
    const int64_t before = elementsBefore(from, groups.from[group].first, d);
    for (int64_t e = begin; e < end; ++e) {
      if (to.getDimSize(e) == from.getDimSize(d) && elementsBefore(to, begin, e) == before) {
        return e;
      }
    }
    return std::nullopt;
  }

  // A part ends where the operand ends; programs with results of static shape promise that it does
  // not end earlier.
  LogicalResult rewriteSlice(shlo::SliceOp op) {
    ArrayBuilder b(op, builder_);
    Sizes sizes = sizesOf(op.getOperand());
    RankedTensorType type = tensorTypeOf(op.getOperand());
    for (auto [d, size] : llvm::enumerate(sizes)) {
      const int64_t start = op.getStartIndices()[d], stride = op.getStrides()[d];
      bool isWhole = start == 0 && stride == 1 && op.getLimitIndices()[d] == type.getDimSize(d);
      if (!size || isWhole) continue;
      Value end = b.make<shlo::MinOp>(size, number(b, op.getLimitIndices()[d]));
      Value length = b.make<shlo::MaxOp>(b.sub(end, number(b, start)), number(b, 0));
      size = b.div(b.add(length, number(b, stride - 1)), number(b, stride));
    }
    setSizes(op.getResult(), std::move(sizes));
    return mlir::success();
  }

  LogicalResult rewritePad(shlo::PadOp op, ArrayBuilder& b) {
    Sizes sizes = sizesOf(op.getOperand());
    op.getOperandMutable().assign(
        maskPadding(b, op.getOperand(), sizes, allDims(op.getOperand()), op.getPaddingValue()));
    for (auto [d, size] : llvm::enumerate(sizes)) {
      if (!size) continue;
      if (op.getInteriorPadding()[d] != 0) {
        return unsupported(op, "padding between elements of a dimension of bounded size");
      }
      size = b.add(size, number(b, op.getEdgePaddingLow()[d] + op.getEdgePaddingHigh()[d]));
    }
    setSizes(op.getResult(), std::move(sizes));
    return mlir::success();
  }

  // Along a dimension of bounded size each operand begins where the one before really ends, and is
  // written over what that one has beyond its size.
  LogicalResult rewriteConcatenate(shlo::ConcatenateOp op, ArrayBuilder& b) {
    auto dim = static_cast<int64_t>(op.getDimension());
    RankedTensorType type = tensorTypeOf(op.getResult());
    Sizes sizes(type.getRank());
    bool moves = false;
    for (Value operand : op->getOperands()) {
      Sizes own = sizesOf(operand);
      moves |= own[dim] != nullptr;
      for (int64_t d = 0; d < type.getRank(); ++d) {
        if (d != dim && !sizes[d]) sizes[d] = own[d];
      }
    }
    if (!moves) {
      setSizes(op.getResult(), std::move(sizes));
      return mlir::success();
    }
    Value result = b.zeros(type), end = number(b, 0);
    for (Value operand : op->getOperands()) {
      llvm::SmallVector<Value> starts(type.getRank(), number(b, 0));
      starts[dim] = end;
      result =
          shlo::DynamicUpdateSliceOp::create(builder_, b.location(), type, result, operand, starts);
      Value size = sizesOf(operand)[dim];
      if (!size) size = number(b, tensorTypeOf(operand).getDimSize(dim));
      end = b.add(end, size);
    }
    sizes[dim] = end;
    setSizes(result, std::move(sizes));
    op.getResult().replaceAllUsesWith(result);
    op->erase();
    return mlir::success();
  }

  LogicalResult rewriteReduce(shlo::ReduceOp op, ArrayBuilder& b) {
    size_t inputs = op.getInputs().size();
    llvm::ArrayRef<int64_t> reduced = op.getDimensions();
    Sizes kept = followedSizes(op);
    for (size_t i = 0; i < inputs; ++i) {
      Value input = op->getOperand(i);
      op->setOperand(i, maskPadding(b, input, sizesOf(input), reduced, op->getOperand(inputs + i)));
    }
    for (Value result : op.getResults()) setSizes(result, kept);
    return mlir::success();
  }

  LogicalResult rewriteDot(shlo::DotGeneralOp op, ArrayBuilder& b) {
    shlo::DotDimensionNumbersAttr numbers = op.getDotDimensionNumbers();
    Sizes left = sizesOf(op.getLhs()), right = sizesOf(op.getRhs());
    Sizes sizes = followedSizes(op);
    // Both: a zero times what lies beyond the other's size may be NaN.
    llvm::ArrayRef<int64_t> leftSum = numbers.getLhsContractingDimensions();
    llvm::ArrayRef<int64_t> rightSum = numbers.getRhsContractingDimensions();
    Sizes leftAll = left, rightAll = right;
    for (auto [l, r] : llvm::zip(leftSum, rightSum)) {
      if (!leftAll[l]) leftAll[l] = right[r];
      if (!rightAll[r]) rightAll[r] = left[l];
    }
    op.getLhsMutable().assign(
        maskPadding(b, op.getLhs(), leftAll, leftSum, zeroLike(b, op.getLhs())));
    op.getRhsMutable().assign(
        maskPadding(b, op.getRhs(), rightAll, rightSum, zeroLike(b, op.getRhs())));
    setSizes(op.getResult(), std::move(sizes));
    return mlir::success();
  }

  // ---- Windows ---------------------------------------------------------------------------------

  // How many windows fit in a padded dimension of this size.
  Value windowsIn(ArrayBuilder& b, Value size, int64_t padding, int64_t window, int64_t stride) {
    Value room = b.add(size, number(b, padding - window + stride));
    return b.div(b.make<shlo::MaxOp>(room, number(b, 0)), number(b, stride));
  }

  static Dims paddingOf(std::optional<mlir::DenseIntElementsAttr> attribute, int64_t dims) {
    if (!attribute) return Dims(2 * dims, 0);
    return llvm::to_vector(attribute->getValues<int64_t>());
  }
  static int64_t valueOr(std::optional<llvm::ArrayRef<int64_t>> values, int64_t d) {
    return values && !values->empty() ? (*values)[d] : 1;
  }

  LogicalResult rewriteReduceWindow(shlo::ReduceWindowOp op, ArrayBuilder& b) {
    size_t inputs = op.getInputs().size();
    RankedTensorType type = tensorTypeOf(op->getOperand(0));
    Dims padding = paddingOf(op.getPadding(), type.getRank());
    Sizes sizes(type.getRank());
    for (size_t i = 0; i < inputs; ++i) {
      Value input = op->getOperand(i);
      Sizes own = sizesOf(input);
      // Windows reach over the end, where the padding is, too.
      op->setOperand(i, maskPadding(b, input, own, allDims(input), op->getOperand(inputs + i)));
      for (auto [size, given] : llvm::zip(sizes, own)) {
        if (!size) size = given;
      }
    }
    for (auto [d, size] : llvm::enumerate(sizes)) {
      if (!size) continue;
      if (valueOr(op.getBaseDilations(), d) != 1) {
        return unsupported(op, "padding between elements of a dimension of bounded size");
      }
      int64_t window = (op.getWindowDimensions()[d] - 1) * valueOr(op.getWindowDilations(), d) + 1;
      size = windowsIn(b, size, padding[2 * d] + padding[2 * d + 1], window,
                       valueOr(op.getWindowStrides(), d));
    }
    for (Value result : op.getResults()) setSizes(result, sizes);
    return mlir::success();
  }

  LogicalResult rewriteConvolution(shlo::ConvolutionOp op, ArrayBuilder& b) {
    shlo::ConvDimensionNumbersAttr numbers = op.getDimensionNumbers();
    Sizes left = sizesOf(op.getLhs()), right = sizesOf(op.getRhs());
    Sizes sizes(tensorTypeOf(op.getResult()).getRank());
    if (op.getBatchGroupCount() != 1 || op.getFeatureGroupCount() != 1) {
      return unsupported(op, "groups");
    }
    Dims summed(numbers.getInputSpatialDimensions());
    summed.push_back(numbers.getInputFeatureDimension());
    int64_t kernelFeature = numbers.getKernelInputFeatureDimension();
    Dims padding = paddingOf(op.getPadding(), numbers.getInputSpatialDimensions().size());
    for (auto [i, d] : llvm::enumerate(numbers.getInputSpatialDimensions())) {
      int64_t kernel = numbers.getKernelSpatialDimensions()[i];
      if (right[kernel]) return unsupported(op, "a window of bounded size");
      if (!left[d]) continue;
      if (valueOr(op.getLhsDilation(), i) != 1) {
        return unsupported(op, "padding between elements of a dimension of bounded size");
      }
      int64_t window =
          (tensorTypeOf(op.getRhs()).getDimSize(kernel) - 1) * valueOr(op.getRhsDilation(), i) + 1;
      sizes[numbers.getOutputSpatialDimensions()[i]] =
          windowsIn(b, left[d], padding[2 * i] + padding[2 * i + 1], window,
                    valueOr(op.getWindowStrides(), i));
    }
    sizes[numbers.getOutputBatchDimension()] = left[numbers.getInputBatchDimension()];
    sizes[numbers.getOutputFeatureDimension()] = right[numbers.getKernelOutputFeatureDimension()];
    // Both: a zero times what lies beyond the other's size may be NaN.
    Value& features = left[numbers.getInputFeatureDimension()];
    if (!features) features = right[kernelFeature];
    if (!right[kernelFeature]) right[kernelFeature] = features;
    op.getLhsMutable().assign(maskPadding(b, op.getLhs(), left, summed, zeroLike(b, op.getLhs())));
    op.getRhsMutable().assign(
        maskPadding(b, op.getRhs(), right, kernelFeature, zeroLike(b, op.getRhs())));
    setSizes(op.getResult(), std::move(sizes));
    return mlir::success();
  }

  // ---- Order and indices -----------------------------------------------------------------------

  // Turned round, the elements come last; they are moved to the front.
  LogicalResult rewriteReverse(shlo::ReverseOp op, ArrayBuilder& b) {
    Sizes sizes = sizesOf(op.getOperand());
    RankedTensorType type = tensorTypeOf(op.getOperand());
    builder_.setInsertionPointAfter(op);
    Value result = op.getResult();
    mlir::SmallPtrSet<mlir::Operation*, 4> own{};
    for (int64_t d : op.getDimensions()) {
      if (!sizes[d]) continue;
      Dims none(type.getRank(), 0), high = none, twice(type.getShape());
      high[d] = type.getDimSize(d);
      twice[d] *= 2;
      Value padded = shlo::PadOp::create(builder_, b.location(), type.clone(twice), result,
                                         zeroLike(b, result), none, high, none);
      own.insert(padded.getDefiningOp());
      llvm::SmallVector<Value> starts(type.getRank(), number(b, 0));
      starts[d] = b.sub(number(b, type.getDimSize(d)), sizes[d]);
      result = shlo::DynamicSliceOp::create(builder_, b.location(), type, padded, starts,
                                            type.getShape());
    }
    op.getResult().replaceAllUsesExcept(result, own);
    setSizes(result, std::move(sizes));
    return mlir::success();
  }

  // Along a dimension of bounded size what lies beyond comes last: whether it does is the first
  // key.
  LogicalResult rewriteSort(shlo::SortOp op, ArrayBuilder& b) {
    RankedTensorType type = tensorTypeOf(op->getOperand(0));
    int64_t dim = op.getDimension();
    Sizes sizes(type.getRank());
    for (Value operand : op->getOperands()) {
      for (auto [size, given] : llvm::zip(sizes, sizesOf(operand))) {
        if (!size) size = given;
      }
    }
    for (Value result : op->getResults()) setSizes(result, sizes);
    if (!sizes[dim]) return mlir::success();
    RankedTensorType placeType = type.clone(builder_.getI32Type());
    Value place = b.iota(placeType, dim);
    Value isBeyond = b.convert(b.compare(place, b.broadcast(sizes[dim], type.getShape(), {}),
                                         shlo::ComparisonDirection::GE),
                               builder_.getI32Type());
    llvm::SmallVector<Value> operands(op->getOperands());
    operands.push_back(isBeyond);
    llvm::SmallVector<mlir::Type> types(op->getResultTypes());
    types.push_back(placeType);
    auto sorted =
        shlo::SortOp::create(builder_, op.getLoc(), types, operands, dim, op.getIsStable());
    sorted.getComparator().takeBody(op.getComparator());
    mlir::Block& block = sorted.getComparator().front();
    Value left = block.addArgument(scalarType(), op.getLoc());
    Value right = block.addArgument(scalarType(), op.getLoc());
    mlir::Operation* end = block.getTerminator();
    builder_.setInsertionPoint(end);
    ArrayBuilder inner(op, builder_);
    Value first = inner.compare(left, right, shlo::ComparisonDirection::LT);
    Value same = inner.compare(left, right, shlo::ComparisonDirection::EQ);
    Value both = inner.make<shlo::AndOp>(same, end->getOperand(0));
    end->setOperand(0, inner.make<shlo::OrOp>(first, both));
    auto kept = sorted->getResults().drop_back();
    for (Value result : kept) setSizes(result, sizes);
    op->replaceAllUsesWith(kept);
    op->erase();
    return mlir::success();
  }

  // A size in the type of the indices of `model`, as large as that type allows.
  Value asIndex(ArrayBuilder& b, Value size, Value model) {
    auto type = llvm::cast<mlir::IntegerType>(tensorTypeOf(model).getElementType());
    if (type.getWidth() < 32) {
      int64_t largest = (int64_t{1} << (type.getWidth() - (type.isUnsigned() ? 0 : 1))) - 1;
      size = b.make<shlo::MinOp>(size, number(b, largest));
    }
    return b.convert(size, type);
  }

  // Starts that keep a block inside the sizes.
  llvm::SmallVector<Value> keptInside(ArrayBuilder& b, mlir::OperandRange starts,
                                      const Sizes& sizes, llvm::ArrayRef<int64_t> block) {
    llvm::SmallVector<Value> result(starts);
    for (auto [d, size] : llvm::enumerate(sizes)) {
      if (!size) continue;
      Value last = b.make<shlo::MaxOp>(b.sub(size, number(b, block[d])), number(b, 0));
      result[d] = b.make<shlo::MinOp>(result[d], asIndex(b, last, result[d]));
    }
    return result;
  }

  LogicalResult rewriteDynamicSlice(shlo::DynamicSliceOp op, ArrayBuilder& b) {
    Sizes sizes = sizesOf(op.getOperand());
    op.getStartIndicesMutable().assign(
        keptInside(b, op.getStartIndices(), sizes, op.getSliceSizes()));
    return mlir::success();
  }

  LogicalResult rewriteUpdate(shlo::DynamicUpdateSliceOp op, ArrayBuilder& b) {
    if (hasAny(sizesOf(op.getUpdate()))) return unsupported(op, "an update of bounded size");
    Sizes sizes = sizesOf(op.getOperand());
    op.getStartIndicesMutable().assign(
        keptInside(b, op.getStartIndices(), sizes, tensorTypeOf(op.getUpdate()).getShape()));
    setSizes(op.getResult(), std::move(sizes));
    return mlir::success();
  }

  // The component of an index at each place along its dimension: those that address `dims` from
  // `map` are kept below `limits`, which are null where there is nothing to keep.
  Value boundIndices(ArrayBuilder& b, Value indices, llvm::ArrayRef<int64_t> map, int64_t vectorDim,
                     llvm::ArrayRef<Value> limits) {
    RankedTensorType type = tensorTypeOf(indices);
    Value component;
    for (auto [k, d] : llvm::enumerate(map)) {
      if (!limits[d]) continue;
      Value limit = b.broadcast(asIndex(b, limits[d], indices), type.getShape(), {});
      Value bounded = b.make<shlo::MinOp>(indices, limit);
      if (vectorDim == type.getRank()) return bounded;
      if (!component) component = b.iota(type.clone(builder_.getI32Type()), vectorDim);
      Value here = b.compare(component, b.like(static_cast<double>(k), component),
                             shlo::ComparisonDirection::EQ);
      indices = b.select(here, bounded, indices);
    }
    return indices;
  }

  LogicalResult rewriteGather(shlo::GatherOp op, ArrayBuilder& b) {
    shlo::GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
    Sizes own = sizesOf(op.getOperand()), places = sizesOf(op.getStartIndices());
    RankedTensorType operand = tensorTypeOf(op.getOperand());
    RankedTensorType type = tensorTypeOf(op.getResult());
    llvm::SmallVector<Value> limits(own.size());
    Sizes sizes(type.getRank()), window;
    for (auto [d, size] : llvm::enumerate(own)) {
      auto dim = static_cast<int64_t>(d);
      bool isIndexed = llvm::is_contained(numbers.getStartIndexMap(), dim);
      if (size && isIndexed) {
        limits[d] =
            b.make<shlo::MaxOp>(b.sub(size, number(b, op.getSliceSizes()[d])), number(b, 0));
      }
      bool isWhole = op.getSliceSizes()[d] == operand.getDimSize(dim);
      if (size && !isIndexed && !isWhole &&
          !llvm::is_contained(numbers.getOperandBatchingDims(), dim)) {
        return unsupported(op, "a part of a dimension of bounded size");
      }
      if (llvm::is_contained(numbers.getCollapsedSliceDims(), dim) ||
          llvm::is_contained(numbers.getOperandBatchingDims(), dim)) {
        continue;
      }
      window.push_back(isIndexed ? Value() : size);
    }
    size_t nextWindow = 0, nextPlace = 0;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (llvm::is_contained(numbers.getOffsetDims(), d)) {
        sizes[d] = window[nextWindow++];
        continue;
      }
      if (static_cast<int64_t>(nextPlace) == numbers.getIndexVectorDim()) ++nextPlace;
      sizes[d] = places[nextPlace++];
    }
    op.getStartIndicesMutable().assign(boundIndices(
        b, op.getStartIndices(), numbers.getStartIndexMap(), numbers.getIndexVectorDim(), limits));
    setSizes(op.getResult(), std::move(sizes));
    return mlir::success();
  }

  // Updates beyond a size go to an index that no operand has, where they are dropped.
  LogicalResult rewriteScatter(shlo::ScatterOp op, ArrayBuilder& b) {
    shlo::ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
    Value indices = op.getScatterIndices();
    RankedTensorType indexType = tensorTypeOf(indices);
    Sizes places = sizesOf(indices);
    for (Value update : op.getUpdates()) {
      Sizes own = sizesOf(update);
      int64_t place = 0;
      for (auto [d, size] : llvm::enumerate(own)) {
        if (llvm::is_contained(numbers.getUpdateWindowDims(), static_cast<int64_t>(d))) {
          if (size) return unsupported(op, "windows of bounded size");
          continue;
        }
        if (place == numbers.getIndexVectorDim()) ++place;
        if (!places[place]) places[place] = size;
        ++place;
      }
    }
    if (hasAny(places)) {
      if (numbers.getScatterDimsToOperandDims().empty()) {
        return unsupported(op, "updates that are all written to one place");
      }
      auto element = llvm::cast<mlir::IntegerType>(indexType.getElementType());
      llvm::APInt outside = element.isUnsigned() ? llvm::APInt::getMaxValue(element.getWidth())
                                                 : llvm::APInt::getAllOnes(element.getWidth());
      auto scalar = RankedTensorType::get({}, element);
      Value fill = shlo::ConstantOp::create(builder_, b.location(),
                                            mlir::DenseElementsAttr::get(scalar, outside));
      indices = maskPadding(b, indices, places, allDims(indices), fill);
      op.getScatterIndicesMutable().assign(indices);
    }
    for (auto [input, result] : llvm::zip(op.getInputs(), op.getResults())) {
      setSizes(result, sizesOf(input));
    }
    return mlir::success();
  }

  // ---- Control flow: sizes of bounded values are values of their own
  // ------------------------------

  // The values and dimensions of `types` that have a size.
  static llvm::SmallVector<std::pair<size_t, int64_t>> sized(mlir::TypeRange types) {
    llvm::SmallVector<std::pair<size_t, int64_t>> result;
    for (auto [i, type] : llvm::enumerate(types)) {
      RankedTensorType array = boundedType(type);
      if (!array) continue;
      for (int64_t d = 0; d < array.getRank(); ++d) {
        if (array.isDynamicDim(d)) result.push_back({i, d});
      }
    }
    return result;
  }

  // Of `values` at `places`; the bound where a value has no size of its own.
  llvm::SmallVector<Value> sizesAt(mlir::Operation* at, mlir::ValueRange values,
                                   llvm::ArrayRef<std::pair<size_t, int64_t>> places) {
    builder_.setInsertionPoint(at);
    ArrayBuilder b(at, builder_);
    llvm::SmallVector<Value> result;
    for (auto [i, d] : places) {
      Value size = sizesOf(values[i])[d];
      if (!size) size = number(b, tensorTypeOf(values[i]).getDimSize(d));
      result.push_back(size);
    }
    return result;
  }

  // The value at each place gets the size that follows the first `values` of `all`.
  void takeSizes(mlir::ValueRange all, size_t values,
                 llvm::ArrayRef<std::pair<size_t, int64_t>> places) {
    for (auto [k, place] : llvm::enumerate(places)) {
      Sizes sizes = sizesOf(all[place.first]);
      sizes[place.second] = all[values + k];
      setSizes(all[place.first], std::move(sizes));
    }
  }

  // The operation again, with more results; its regions move.
  mlir::Operation* grown(mlir::Operation* op, mlir::ValueRange operands, size_t added) {
    builder_.setInsertionPoint(op);
    mlir::OperationState state(op->getLoc(), op->getName());
    state.addOperands(operands);
    state.addAttributes(op->getAttrs());
    for (mlir::Type type : op->getResultTypes()) state.addTypes(paddedType(type));
    state.addTypes(llvm::SmallVector<mlir::Type>(added, scalarType()));
    for (mlir::Region& region : op->getRegions()) state.addRegion()->takeBody(region);
    mlir::Operation* result = builder_.create(state);
    op->replaceAllUsesWith(result->getResults().take_front(op->getNumResults()));
    return result;
  }

  LogicalResult rewriteBranches(mlir::Operation* op) {
    auto places = sized(op->getResultTypes());
    size_t values = op->getNumResults();
    for (mlir::Region& region : op->getRegions()) {
      if (mlir::failed(run(region.front()))) return mlir::failure();
      mlir::Operation* end = region.front().getTerminator();
      llvm::SmallVector<Value> results(end->getOperands());
      llvm::append_range(results, sizesAt(end, end->getOperands(), places));
      end->setOperands(results);
    }
    if (places.empty()) return mlir::success();
    mlir::Operation* result = grown(op, op->getOperands(), places.size());
    takeSizes(result->getResults(), values, places);
    op->erase();
    return mlir::success();
  }

  LogicalResult rewriteWhile(shlo::WhileOp op) {
    auto places = sized(op->getResultTypes());
    size_t values = op->getNumResults();
    llvm::SmallVector<Value> operands(op->getOperands());
    llvm::append_range(operands, sizesAt(op, op->getOperands(), places));
    for (mlir::Region* region : {&op.getCond(), &op.getBody()}) {
      mlir::Block& block = region->front();
      for (Value argument : block.getArguments()) {
        argument.setType(paddedType(argument.getType()));
      }
      for (size_t k = 0; k < places.size(); ++k) block.addArgument(scalarType(), op->getLoc());
      takeSizes(block.getArguments(), values, places);
      if (mlir::failed(run(block))) return mlir::failure();
    }
    if (places.empty()) return mlir::success();
    mlir::Operation* end = op.getBody().front().getTerminator();
    llvm::SmallVector<Value> next(end->getOperands());
    llvm::append_range(next, sizesAt(end, end->getOperands(), places));
    end->setOperands(next);
    mlir::Operation* result = grown(op, operands, places.size());
    takeSizes(result->getResults(), values, places);
    op->erase();
    return mlir::success();
  }

  mlir::OpBuilder builder_;
  llvm::DenseMap<Value, Sizes> sizes_;
};

struct PadBoundedPass : impl::PadBoundedPassBase<PadBoundedPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<mlir::func::FuncOp>()) {
      if (function.isExternal() || !hasBounded(function)) continue;
      mlir::Block& block = function.getBody().front();
      // A parameter is as large as its bound: callers cannot say less.
      for (Value argument : block.getArguments()) argument.setType(paddedType(argument.getType()));
      if (mlir::failed(Padder(&getContext()).run(block))) return signalPassFailure();
      function.setType(mlir::FunctionType::get(&getContext(), block.getArgumentTypes(),
                                               block.getTerminator()->getOperandTypes()));
    }
  }

  static bool hasBounded(mlir::func::FuncOp function) {
    return llvm::any_of(function.getArgumentTypes(), isBounded) ||
           function
               .walk([](mlir::Operation* op) {
                 return llvm::any_of(op->getResultTypes(), isBounded)
                            ? mlir::WalkResult::interrupt()
                            : mlir::WalkResult::advance();
               })
               .wasInterrupted();
  }
};

}  // namespace
}  // namespace isthmus
