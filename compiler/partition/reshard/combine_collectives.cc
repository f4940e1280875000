#include "compiler/partition/reshard/combine_collectives.h"

#include <vector>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/collective_groups.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/types/array_shape.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace isthmus {
namespace {

using Dims = llvm::SmallVector<int64_t>;

// The reduction of a collective that has one.
mlir::Operation* reducerOf(mlir::Operation* op) {
  return op->getNumRegions() == 1 ? soleOperation(op->getRegion(0)) : nullptr;
}

// How an array lies among the members of a group: for each member, `outer` runs of `inner` elements
// of the array in its order.
struct Parts {
  int64_t members = 1;
  int64_t outer = 1;
  int64_t inner = 1;
  int64_t elements() const { return outer * inner; }
  bool isInOrder() const { return outer == 1 || members == 1; }
};

Parts partsAlong(mlir::RankedTensorType type, int64_t dimension, int64_t members) {
  Parts parts{members, 1, 1};
  for (auto [d, size] : llvm::enumerate(type.getShape())) {
    (static_cast<int64_t>(d) < dimension ? parts.outer : parts.inner) *= size;
  }
  parts.inner /= members;
  return parts;
}

Parts partsOf(mlir::Value array) { return {1, 1, tensorTypeOf(array).getNumElements()}; }

// What a collective sends to each member of its group, and what it has of each.
struct Exchange {
  Parts sent;
  Parts received;
};

Exchange exchangeOf(mlir::Operation* op, size_t i) {
  mlir::Value operand = op->getOperand(i), result = op->getResult(i);
  auto along = [](mlir::Value array, int64_t d, int64_t members) {
    return partsAlong(tensorTypeOf(array), d, members);
  };
  auto ratio = [](mlir::Value whole, mlir::Value part, int64_t d) {
    return tensorTypeOf(whole).getDimSize(d) / tensorTypeOf(part).getDimSize(d);
  };
  if (auto gather = llvm::dyn_cast<shlo::AllGatherOp>(op)) {
    auto d = static_cast<int64_t>(gather.getAllGatherDim());
    return {partsOf(operand), along(result, d, ratio(result, operand, d))};
  }
  if (auto scatter = llvm::dyn_cast<shlo::ReduceScatterOp>(op)) {
    auto d = static_cast<int64_t>(scatter.getScatterDimension());
    return {along(operand, d, ratio(operand, result, d)), partsOf(result)};
  }
  if (auto exchange = llvm::dyn_cast<shlo::AllToAllOp>(op)) {
    auto members = static_cast<int64_t>(exchange.getSplitCount());
    return {along(operand, static_cast<int64_t>(exchange.getSplitDimension()), members),
            along(result, static_cast<int64_t>(exchange.getConcatDimension()), members)};
  }
  return {partsOf(operand), partsOf(result)};
}

// Collectives that are joined by sending their operands one behind the other.
bool isPacked(mlir::Operation* op) {
  return llvm::isa<shlo::AllGatherOp, shlo::ReduceScatterOp, shlo::AllToAllOp,
                   shlo::CollectivePermuteOp>(op);
}

int64_t sizeOf(mlir::Operation* op) {
  if (!isPacked(op)) return arrayBytes(op->getOperands());
  return std::max(arrayBytes(op->getOperands()), arrayBytes(op->getResults()));
}

bool isCombinable(mlir::Operation* op, const TargetModel& target) {
  if (!llvm::isa<shlo::AllReduceOp>(op) && !isPacked(op)) return false;
  auto isArray = [](mlir::Type type) {
    auto ranked = llvm::dyn_cast<mlir::RankedTensorType>(type);
    return ranked && ranked.hasStaticShape() && ranked.getNumElements() > 0;
  };
  if (!llvm::all_of(op->getOperandTypes(), isArray) ||
      !llvm::all_of(op->getResultTypes(), isArray)) {
    return false;
  }
  if (op->getNumRegions() == 1 && !reducerOf(op)) return false;
  return sizeOf(op) <= (isPacked(op) ? target.maxPackedPartBytes : target.maxJoinedReductionBytes);
}

bool hasChannelOf(mlir::Operation* op) {
  auto channel = op->getAttrOfType<shlo::ChannelHandleAttr>("channel_handle");
  return channel && channel.getHandle() > 0;
}

bool isAlike(mlir::Operation* a, mlir::Operation* b) {
  auto haveSame = [&](llvm::StringRef name) { return a->getAttr(name) == b->getAttr(name); };
  auto element = [](mlir::Value value) { return mlir::getElementTypeOrSelf(value.getType()); };
  if (a->getName() != b->getName() || !haveSame("replica_groups") ||
      !haveSame("source_target_pairs") || !haveSame("split_count") ||
      !haveSame("use_global_device_ids") || hasChannelOf(a) != hasChannelOf(b) ||
      element(a->getOperand(0)) != element(b->getOperand(0)) ||
      element(a->getResult(0)) != element(b->getResult(0))) {
    return false;
  }
  if (isPacked(a)) {
    Exchange first = exchangeOf(a, 0), second = exchangeOf(b, 0);
    if (first.sent.members != second.sent.members ||
        first.received.members != second.received.members) {
      return false;
    }
  }
  mlir::Operation *first = reducerOf(a), *second = reducerOf(b);
  return !first == !second && (!first || (first->getName() == second->getName() &&
                                          first->getResultTypes() == second->getResultTypes()));
}

struct Group {
  std::vector<mlir::Operation*> ops;
  int64_t bytes = 0;
};

// Has what is joined sent at once, with the memory order of a table of a row for each member.
class Packer {
 public:
  Packer(mlir::OpBuilder& builder, mlir::Location location)
      : builder_(builder), location_(location) {}

  mlir::Value toRows(mlir::Value array, const Parts& parts) {
    if (!parts.isInOrder()) {
      array = swapLeading(reshape(array, {parts.outer, parts.members, parts.inner}));
    }
    return reshape(array, {parts.members, parts.elements()});
  }

  mlir::Value fromRows(mlir::Value rows, const Parts& parts, mlir::Type type) {
    if (!parts.isInOrder()) {
      rows = swapLeading(reshape(rows, {parts.members, parts.outer, parts.inner}));
    }
    return reshape(rows, llvm::cast<mlir::RankedTensorType>(type).getShape());
  }

  mlir::Value join(llvm::ArrayRef<mlir::Value> tables) {
    Dims shape(tensorTypeOf(tables[0]).getShape());
    shape[1] = 0;
    for (mlir::Value table : tables) shape[1] += tensorTypeOf(table).getDimSize(1);
    return shlo::ConcatenateOp::create(builder_, location_, like(tables[0], shape), tables,
                                       /*dimension=*/uint64_t{1});
  }

  mlir::Value columns(mlir::Value table, int64_t first, int64_t count) {
    Dims shape(tensorTypeOf(table).getShape()), starts{0, first}, limits{shape[0], first + count};
    shape[1] = count;
    return shlo::SliceOp::create(builder_, location_, like(table, shape), table, starts, limits,
                                 Dims{1, 1});
  }

  mlir::RankedTensorType like(mlir::Value array, llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, tensorTypeOf(array).getElementType());
  }

 private:
  mlir::Value reshape(mlir::Value array, llvm::ArrayRef<int64_t> shape) {
    if (tensorTypeOf(array).getShape() == shape) return array;
    return shlo::ReshapeOp::create(builder_, location_, like(array, shape), array);
  }

  mlir::Value swapLeading(mlir::Value array) {
    llvm::ArrayRef<int64_t> shape = tensorTypeOf(array).getShape();
    Dims swapped{shape[1], shape[0], shape[2]};
    return shlo::TransposeOp::create(builder_, location_, like(array, swapped), array,
                                     Dims{1, 0, 2});
  }

  mlir::OpBuilder& builder_;
  mlir::Location location_;
};

// One that does what `model` does, to other arrays.
mlir::Operation* createLike(mlir::Operation* model, mlir::OpBuilder& builder,
                            mlir::ValueRange operands, mlir::TypeRange types) {
  mlir::OperationState state(model->getLoc(), model->getName(), operands, types);
  state.propertiesAttr = model->getPropertiesAsAttribute();
  for (mlir::Region& region : model->getRegions()) {
    mlir::IRMapping mapping;
    region.cloneInto(state.addRegion(), mapping);
  }
  mlir::Operation* op = builder.create(state);
  op->setDiscardableAttrs(model->getDiscardableAttrDictionary());
  return op;
}

void replaceTogether(const Group& group, mlir::OpBuilder& builder) {
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Operation* op : group.ops) {
    llvm::append_range(operands, op->getOperands());
    llvm::append_range(types, op->getResultTypes());
  }
  mlir::Operation* all = createLike(group.ops.front(), builder, operands, types);
  size_t next = 0;
  for (mlir::Operation* op : group.ops) {
    for (mlir::Value result : op->getResults()) result.replaceAllUsesWith(all->getResult(next++));
    op->erase();
  }
}

void replacePacked(const Group& group, mlir::OpBuilder& builder) {
  mlir::Operation* first = group.ops.front();
  Packer packer(builder, first->getLoc());
  llvm::SmallVector<mlir::Value> tables;
  for (mlir::Operation* op : group.ops) {
    for (size_t i = 0; i < op->getNumOperands(); ++i) {
      tables.push_back(packer.toRows(op->getOperand(i), exchangeOf(op, i).sent));
    }
  }
  mlir::Value sent = packer.join(tables);
  // Blocks that members give or take are rows of the table.
  Exchange exchange = exchangeOf(first, 0);
  int64_t columns = tensorTypeOf(sent).getDimSize(1);
  mlir::Operation* all =
      createLike(first, builder, {sent}, {packer.like(sent, {exchange.received.members, columns})});
  if (auto gather = llvm::dyn_cast<shlo::AllGatherOp>(all)) gather.setAllGatherDim(0);
  if (auto scatter = llvm::dyn_cast<shlo::ReduceScatterOp>(all)) scatter.setScatterDimension(0);
  if (auto swap = llvm::dyn_cast<shlo::AllToAllOp>(all)) {
    swap.setSplitDimension(0);
    swap.setConcatDimension(0);
  }
  int64_t column = 0;
  for (mlir::Operation* op : group.ops) {
    for (mlir::OpResult result : op->getResults()) {
      Parts parts = exchangeOf(op, result.getResultNumber()).received;
      mlir::Value part = packer.columns(all->getResult(0), column, parts.elements());
      result.replaceAllUsesWith(packer.fromRows(part, parts, result.getType()));
      column += parts.elements();
    }
    op->erase();
  }
}

// One collective before `place` for all of a group.
void replace(const Group& group, mlir::Operation* place) {
  if (group.ops.size() == 1) return;
  mlir::OpBuilder builder(place);
  if (isPacked(group.ops.front())) {
    replacePacked(group, builder);
  } else {
    replaceTogether(group, builder);
  }
}

// Goes through a block and puts off collectives, and what is computed of them, until something that
// cannot be put off needs them.
class BlockCombiner {
 public:
  explicit BlockCombiner(const TargetModel& target) : target_(target) {}

  void run(mlir::Block& block) {
    for (mlir::Operation& op : llvm::make_early_inc_range(block)) {
      if (&op == &block.back()) {
        flush(&op, llvm::SmallBitVector(groups_.size(), true));
        break;
      }
      const bool isCollective = isCombinable(&op, target_);
      llvm::SmallBitVector needed = groupsNeededBy(op);
      if (needed.any() && !isCollective && canPutOff(op) && late_.size() < kMaxLate) {
        late_.push_back(&op);
        waitsFor_[&op] = std::move(needed);
        continue;
      }
      if (needed.any()) flush(&op, needed);
      if (isCollective) add(&op);
    }
  }

 private:
  // What waits keeps its operands alive.
  static constexpr size_t kMaxLate = 4096;

  void add(mlir::Operation* op) {
    const int64_t bytes = sizeOf(op);
    if (isPacked(op)) {
      if (waitingBytes_ + bytes > target_.maxWaitingBytes) return;
      waitingBytes_ += bytes;
    }
    const int64_t most = isPacked(op) ? target_.maxPackedBytes : target_.maxJoinedReductionBytes;
    auto group = llvm::find_if(groups_, [&](const Group& group) {
      return !group.ops.empty() && isAlike(group.ops.front(), op) && group.bytes + bytes <= most;
    });
    if (group == groups_.end()) group = groups_.insert(groups_.end(), Group());
    group->ops.push_back(op);
    group->bytes += bytes;
    llvm::SmallBitVector& own = waitsFor_[op];
    own.resize(groups_.size());
    own.set(group - groups_.begin());
  }

  llvm::SmallBitVector groupsNeededBy(mlir::Operation& op) {
    llvm::SmallBitVector needed(groups_.size());
    op.walk([&](mlir::Operation* nested) {
      for (mlir::Value operand : nested->getOperands()) {
        auto found = waitsFor_.find(operand.getDefiningOp());
        if (found != waitsFor_.end()) needed |= found->second;
      }
    });
    return needed;
  }

  static bool canPutOff(mlir::Operation& op) {
    // Loops and branches may meet other devices.
    bool isPlain = op.getNumRegions() == 0 || llvm::isa<shlo::ReduceOp>(op);
    return isPlain && mlir::isMemoryEffectFree(&op);
  }

  // Puts the groups, and what waits for no other ones, before `place`.
  void flush(mlir::Operation* place, const llvm::SmallBitVector& groups) {
    for (unsigned index : groups.set_bits()) {
      Group& group = groups_[index];
      if (group.ops.empty()) continue;
      for (mlir::Operation* op : group.ops) waitsFor_.erase(op);
      if (isPacked(group.ops.front())) waitingBytes_ -= group.bytes;
      replace(group, place);
      group = {};
    }
    llvm::erase_if(late_, [&](mlir::Operation* op) {
      llvm::SmallBitVector& waitsFor = waitsFor_[op];
      waitsFor.reset(groups);
      if (waitsFor.any()) return false;
      op->moveBefore(place);
      waitsFor_.erase(op);
      return true;
    });
  }

  const TargetModel& target_;
  std::vector<Group> groups_;  // empty: it is done
  std::vector<mlir::Operation*> late_;
  // The groups that collectives are in, and that what is put off waits for.
  llvm::DenseMap<mlir::Operation*, llvm::SmallBitVector> waitsFor_;
  int64_t waitingBytes_ = 0;
};

}  // namespace

void combineCollectives(mlir::ModuleOp module, const TargetModel& target) {
  llvm::SmallVector<mlir::Block*> blocks;
  module.walk([&](mlir::Block* block) {
    auto isCollective = [&](mlir::Operation& op) { return isCombinable(&op, target); };
    if (llvm::count_if(*block, isCollective) > 1) blocks.push_back(block);
  });
  for (mlir::Block* block : blocks) BlockCombiner(target).run(*block);
}

}  // namespace isthmus
