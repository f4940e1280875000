// The channels-last pass: convolutions over arrays whose features lie side by side, and what is
// computed between them in that order too.
#include <functional>
#include <map>

#include "compiler/cost/work.h"
#include "compiler/dialect/dead_code.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/dialect/types/permutation.h"
#include "compiler/passes/passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/Builders.h"

namespace isthmus {

#define GEN_PASS_DEF_CHANNELSLASTPASS
#include "compiler/passes/passes.h.inc"

namespace {

using Dims = llvm::SmallVector<int64_t>;
using DimsRef = llvm::ArrayRef<int64_t>;

// Element i is list[places[i]].
Dims pick(DimsRef list, DimsRef places) {
  Dims picked;
  for (int64_t place : places) picked.push_back(list[place]);
  return picked;
}

// Null for what is no array, or has open sizes.
mlir::RankedTensorType staticTypeOf(mlir::Value value) {
  return isStaticArray(value) ? tensorTypeOf(value) : mlir::RankedTensorType();
}

// Moves the channels of images, dimension 1, behind the rest.
Dims imageOrder(int64_t rank) {
  Dims order{0};
  for (int64_t d = 2; d < rank; ++d) order.push_back(d);
  order.push_back(1);
  return order;
}

// `first`, then the spatial dimensions in their order, then `last`.
Dims around(DimsRef first, DimsRef spatial, DimsRef last) {
  Dims order(first);
  Dims sorted(spatial);
  llvm::sort(sorted);
  order.append(sorted);
  order.append(last.begin(), last.end());
  return order;
}

// Makes transposes next to what they transpose, each once. Of a transposed array it transposes the
// original.
class Transposes {
 public:
  mlir::Value of(mlir::Value value, DimsRef permutation) {
    if (isIdentity(permutation)) return value;
    if (auto inner = value.getDefiningOp<shlo::TransposeOp>()) {
      return of(inner.getOperand(), pick(inner.getPermutation(), permutation));
    }
    mlir::Value& known = known_[{value.getAsOpaquePointer(), std::vector<int64_t>(permutation)}];
    if (known) return known;
    mlir::OpBuilder builder(value.getContext());
    builder.setInsertionPointAfterValue(value);
    return known = shlo::TransposeOp::create(builder, value.getLoc(),
                                             permuted(value.getType(), permutation), value,
                                             builder.getDenseI64ArrayAttr(permutation));
  }

 private:
  std::map<std::pair<void*, std::vector<int64_t>>, mlir::Value> known_;
};

// Gives a convolution operands and a result whose last dimension is not a spatial one; values that
// are transposed as images for it, in their old order, are added to `images`.
void moveFeatures(shlo::ConvolutionOp conv, const TargetModel& target, Transposes& transposes,
                  llvm::SetVector<mlir::Value>& images) {
  mlir::RankedTensorType lhs = staticTypeOf(conv.getLhs());
  mlir::RankedTensorType rhs = staticTypeOf(conv.getRhs());
  mlir::RankedTensorType out = staticTypeOf(conv.getResult());
  if (!lhs || !rhs || !out || lhs.getRank() < 3) return;
  const int64_t rank = lhs.getRank();
  shlo::ConvDimensionNumbersAttr n = conv.getDimensionNumbers();
  auto endsSpatial = [&](DimsRef spatial) { return llvm::is_contained(spatial, rank - 1); };
  auto volume = [](mlir::RankedTensorType type, DimsRef spatial) {
    double product = 1;
    for (int64_t d : spatial) product *= static_cast<double>(type.getDimSize(d));
    return product;
  };
  const double positions = volume(out, n.getOutputSpatialDimensions());
  const double taps = volume(rhs, n.getKernelSpatialDimensions());
  if (productsOf(conv) < target.minMovedProducts) return;

  const Dims asIs = llvm::to_vector(llvm::seq<int64_t>(rank));
  Dims lhsOrder = asIs, rhsOrder = asIs, outOrder = asIs;
  // A gradient with respect to the kernel sums over the batch, which then counts as features: the
  // images' channels, its "batch", are the second dimension nevertheless.
  const bool sumsImages = n.getInputFeatureDimension() < n.getInputBatchDimension();
  int64_t outer = n.getInputBatchDimension(), inner = n.getInputFeatureDimension();
  if (sumsImages) std::swap(outer, inner);
  if (endsSpatial(n.getInputSpatialDimensions())) {
    lhsOrder = around({outer}, n.getInputSpatialDimensions(), {inner});
  }
  const int64_t in = n.getKernelInputFeatureDimension();
  const int64_t features = n.getKernelOutputFeatureDimension();
  if (endsSpatial(n.getKernelSpatialDimensions())) {
    rhsOrder = taps > positions ? around({in}, n.getKernelSpatialDimensions(), {features})
                                : around({}, n.getKernelSpatialDimensions(), {in, features});
  }
  const int64_t batch = n.getOutputBatchDimension();
  const int64_t result = n.getOutputFeatureDimension();
  if (endsSpatial(n.getOutputSpatialDimensions())) {
    outOrder = sumsImages ? around({}, n.getOutputSpatialDimensions(), {batch, result})
                          : around({batch}, n.getOutputSpatialDimensions(), {result});
  }
  if (isIdentity(lhsOrder) && isIdentity(rhsOrder) && isIdentity(outOrder)) return;

  const Dims image = imageOrder(rank);
  if (lhsOrder == image) images.insert(conv.getLhs());
  if (rhsOrder == image) images.insert(conv.getRhs());
  const Dims l = inverseOf(lhsOrder), r = inverseOf(rhsOrder), o = inverseOf(outOrder);
  mlir::OpBuilder builder(conv);
  auto moved = llvm::cast<shlo::ConvolutionOp>(builder.clone(*conv));
  moved.getLhsMutable().assign(transposes.of(conv.getLhs(), lhsOrder));
  moved.getRhsMutable().assign(transposes.of(conv.getRhs(), rhsOrder));
  moved.getResult().setType(permuted(out, outOrder));
  moved.setDimensionNumbersAttr(shlo::ConvDimensionNumbersAttr::get(
      conv.getContext(), l[n.getInputBatchDimension()], l[n.getInputFeatureDimension()],
      pick(l, n.getInputSpatialDimensions()), r[in], r[features],
      pick(r, n.getKernelSpatialDimensions()), o[batch], o[result],
      pick(o, n.getOutputSpatialDimensions())));
  mlir::Value back = transposes.of(moved.getResult(), o);
  if (outOrder == image) images.insert(back);
  conv.getResult().replaceAllUsesWith(back);
  conv.erase();
}

// The operands of an operation that computes images of images, of the same channels, whichever
// order their dimensions have; none for other operations.
llvm::SmallVector<mlir::OpOperand*> imageOperands(mlir::Operation* op) {
  llvm::SmallVector<mlir::OpOperand*> images;
  auto first = [&](unsigned count) {
    for (unsigned i = 0; i < count; ++i) images.push_back(&op->getOpOperand(i));
  };
  if (llvm::isa<shlo::PadOp>(op)) {
    first(1);
  } else if (auto window = llvm::dyn_cast<shlo::ReduceWindowOp>(op)) {
    first(static_cast<unsigned>(window.getInputs().size()));
  } else if (llvm::isa<shlo::SelectAndScatterOp>(op)) {
    first(2);
  } else if (fusionClass(op) == FusionClass::kElementwise && op->getNumRegions() == 0 &&
             op->getNumResults() == 1 && mlir::isMemoryEffectFree(op)) {
    mlir::RankedTensorType result = staticTypeOf(op->getResult(0));
    if (!result) return {};
    for (mlir::OpOperand& operand : op->getOpOperands()) {
      mlir::RankedTensorType type = staticTypeOf(operand.get());
      if (!type) return {};
      if (type.getShape() == result.getShape()) images.push_back(&operand);
    }
  }
  for (mlir::OpOperand* operand : images) {
    if (!staticTypeOf(operand->get())) return {};
  }
  return images;
}

// Images that operations make of each other, and what it costs to have them all channels last.
class Component {
 public:
  Component(mlir::Value seed, llvm::DenseSet<mlir::Value>& seen, const TargetModel& target)
      : target_(target),
        rank_(staticTypeOf(seed).getRank()),
        order_(imageOrder(rank_)),
        back_(inverseOf(order_)),
        block_(seed.getParentBlock()) {
    values_.insert(seed);
    for (size_t i = 0; i < values_.size(); ++i) spread(values_[i]);
    seen.insert_range(values_);
  }

  bool isWorthIt() const {
    double saved = 0, spent = 0;
    for (mlir::Value value : values_) {
      mlir::RankedTensorType type = staticTypeOf(value);
      if (type.getRank() != rank_ || type.getDimSize(1) < target_.minChannels) return false;
      const double size = static_cast<double>(type.getNumElements());
      mlir::Operation* maker = value.getDefiningOp();
      if (isTranspose(maker, back_)) {
        saved += size;
      } else if (!(follows(maker) || hasNoOrder(maker))) {
        spent += size;
      }
      bool isMoved = false, isNeeded = false;
      for (mlir::Operation* user : value.getUsers()) {
        if (isTranspose(user, order_)) {
          isMoved = true;
        } else if (!(follows(user) || canReduce(user))) {
          isNeeded = true;
        }
      }
      saved += isMoved ? size : 0;
      spent += isNeeded ? size : 0;
    }
    return saved > spent;
  }

  void move() {
    // In the order of the program; what comes from elsewhere first.
    llvm::SmallVector<mlir::Value> values;
    llvm::SmallVector<mlir::Value> made;
    for (mlir::Value value : values_) (here(value) ? made : values).push_back(value);
    llvm::sort(made, [](mlir::Value a, mlir::Value b) {
      return a.getDefiningOp() != b.getDefiningOp()
                 ? a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp())
                 : llvm::cast<mlir::OpResult>(a).getResultNumber() <
                       llvm::cast<mlir::OpResult>(b).getResultNumber();
    });
    values.append(made);
    for (mlir::Value value : values) makeMoved(value);
    for (mlir::Value value : values) useMoved(value);
  }

 private:
  mlir::Operation* here(mlir::Value value) const {
    mlir::Operation* op = value.getDefiningOp();
    return op && op->getBlock() == block_ ? op : nullptr;
  }
  bool follows(mlir::Operation* op) const {
    return op && op->getBlock() == block_ && !imageOperands(op).empty();
  }
  static bool isTranspose(mlir::Operation* op, DimsRef permutation) {
    auto transpose = llvm::dyn_cast_or_null<shlo::TransposeOp>(op);
    return transpose && transpose.getPermutation() == permutation;
  }
  // Whether an array can as well be made in the other order.
  static bool hasNoOrder(mlir::Operation* op) {
    if (auto constant = llvm::dyn_cast_or_null<shlo::ConstantOp>(op)) {
      return constant.getValue().isSplat();
    }
    return llvm::isa_and_nonnull<shlo::BroadcastInDimOp>(op);
  }
  // Whether its results are the same whichever order its operand has.
  bool canReduce(mlir::Operation* op) const {
    auto reduce = llvm::dyn_cast<shlo::ReduceOp>(op);
    if (!reduce || op->getBlock() != block_ || reduce.getInputs().size() != 1) return false;
    Dims kept;
    for (int64_t d = 0; d < rank_; ++d) {
      if (!llvm::is_contained(reduce.getDimensions(), d)) kept.push_back(back_[d]);
    }
    return llvm::is_sorted(kept);
  }

  void spread(mlir::Value value) {
    auto join = [&](mlir::Operation* op) {
      if (!follows(op)) return;
      for (mlir::OpOperand* operand : imageOperands(op)) values_.insert(operand->get());
      values_.insert_range(op->getResults());
    };
    join(value.getDefiningOp());
    for (mlir::Operation* user : value.getUsers()) join(user);
  }

  // What an attribute says of each dimension, in the other order.
  mlir::Attribute movedAttribute(mlir::Attribute attribute) const {
    const auto rank = static_cast<size_t>(rank_);
    if (auto list = llvm::dyn_cast<mlir::DenseI64ArrayAttr>(attribute)) {
      if (list.asArrayRef().size() != rank) return {};
      return mlir::DenseI64ArrayAttr::get(attribute.getContext(), pick(list, order_));
    }
    auto pairs = llvm::dyn_cast<mlir::DenseIntElementsAttr>(attribute);
    if (!pairs || pairs.getType().getShape() != DimsRef{rank_, 2}) return {};
    Dims values(pairs.getValues<int64_t>()), moved;
    for (int64_t d : order_) moved.append({values[2 * d], values[2 * d + 1]});
    return mlir::DenseIntElementsAttr::get(pairs.getType(), moved);
  }

  void makeMoved(mlir::Value value) {
    if (moved_.contains(value)) return;
    mlir::Operation* maker = value.getDefiningOp();
    mlir::OpBuilder builder(value.getContext());
    if (maker) builder.setInsertionPoint(maker);
    if (follows(maker)) {
      mlir::Operation* copy = builder.clone(*maker);
      for (mlir::OpOperand* operand : imageOperands(maker)) {
        copy->setOperand(operand->getOperandNumber(), moved_.lookup(operand->get()));
      }
      for (mlir::NamedAttribute attribute : maker->getAttrDictionary()) {
        if (mlir::Attribute moved = movedAttribute(attribute.getValue())) {
          copy->setAttr(attribute.getName(), moved);
        }
      }
      for (auto [old, result] : llvm::zip_equal(maker->getResults(), copy->getResults())) {
        result.setType(permuted(old.getType(), order_));
        moved_[old] = result;
      }
      return;
    }
    if (auto broadcast = llvm::dyn_cast_or_null<shlo::BroadcastInDimOp>(maker)) {
      moved_[value] = shlo::BroadcastInDimOp::create(
          builder, maker->getLoc(), permuted(value.getType(), order_), broadcast.getOperand(),
          builder.getDenseI64ArrayAttr(pick(back_, broadcast.getBroadcastDimensions())));
      return;
    }
    if (hasNoOrder(maker)) {
      auto splat =
          llvm::cast<mlir::DenseElementsAttr>(llvm::cast<shlo::ConstantOp>(maker).getValue());
      moved_[value] = shlo::ConstantOp::create(
          builder, maker->getLoc(), splat.resizeSplat(permuted(value.getType(), order_)));
      return;
    }
    moved_[value] = transposes_.of(value, order_);
  }

  void useMoved(mlir::Value value) {
    mlir::Value moved = moved_.lookup(value);
    const bool isMade = follows(value.getDefiningOp());
    for (mlir::OpOperand& use : llvm::make_early_inc_range(value.getUses())) {
      mlir::Operation* user = use.getOwner();
      if (follows(user)) continue;  // it has been copied and is dead
      if (isTranspose(user, order_) && user->getResult(0) != moved) {
        user->getResult(0).replaceAllUsesWith(moved);
      } else if (canReduce(user)) {
        auto reduce = llvm::cast<shlo::ReduceOp>(user);
        Dims dims = pick(back_, reduce.getDimensions());
        llvm::sort(dims);
        use.set(moved);
        reduce.setDimensions(dims);
      } else if (isMade) {
        use.set(transposes_.of(moved, back_));
      }
    }
  }

  const TargetModel& target_;
  int64_t rank_;
  Dims order_, back_;
  mlir::Block* block_;
  llvm::SetVector<mlir::Value> values_;
  llvm::DenseMap<mlir::Value, mlir::Value> moved_;
  Transposes transposes_;
};

struct ChannelsLastPass : impl::ChannelsLastPassBase<ChannelsLastPass> {
  ChannelsLastPass() = default;
  ChannelsLastPass(const TargetModel& target, std::function<bool(mlir::Operation*)> wants)
      : target_(target), wants_(std::move(wants)) {}

  void runOnOperation() override {
    llvm::SmallVector<shlo::ConvolutionOp> convolutions;
    getOperation().walk([&](shlo::ConvolutionOp conv) {
      if (!wants_ || wants_(conv)) convolutions.push_back(conv);
    });
    if (convolutions.empty()) return;
    llvm::SetVector<mlir::Value> images;
    Transposes transposes;
    for (shlo::ConvolutionOp conv : convolutions) {
      moveFeatures(conv, target_, transposes, images);
    }
    llvm::DenseSet<mlir::Value> seen;
    for (mlir::Value image : images) {
      if (seen.contains(image)) continue;
      Component component(image, seen, target_);
      if (component.isWorthIt()) component.move();
    }
    // Copies have replaced operations, and arrays are no longer transposed.
    getOperation().walk([](mlir::Block* block) { eraseDead(*block); });
    // Of images of one channel there is nothing to move.
    getOperation().walk([](shlo::TransposeOp op) {
      if (!keepsElements(op.getOperand().getType().getShape(), op.getPermutation())) return;
      mlir::OpBuilder builder(op);
      op.replaceAllUsesWith(
          shlo::ReshapeOp::create(builder, op.getLoc(), op.getType(), op.getOperand()).getResult());
      op.erase();
    });
  }

  TargetModel target_;
  std::function<bool(mlir::Operation*)> wants_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createChannelsLastPass(const TargetModel& target,
                                                   std::function<bool(mlir::Operation*)> wants) {
  return std::make_unique<ChannelsLastPass>(target, std::move(wants));
}

}  // namespace isthmus
