// Numbers a program, finds its arrays and when each is alive.
#include "compiler/plan/liveness.h"

#include <algorithm>

#include "compiler/dialect/facts/byte_size.h"
#include "compiler/plan/op_error.h"

namespace isthmus {
namespace {

mlir::Block& onlyBlock(mlir::Operation* op, unsigned region) {
  return op->getRegion(region).front();
}

Status checkRegions(mlir::Operation* op) {
  for (mlir::Region& region : op->getRegions()) {
    if (!region.hasOneBlock() || roleOf(&region.front().back()) != OpRole::kTerminator) {
      return unsupportedOp(op, "its regions must have one block with a terminator each");
    }
  }
  if (roleOf(op) != OpRole::kWhile) return {};
  unsigned carried = op->getNumOperands();
  if (op->getNumRegions() != 2 || op->getNumResults() != carried ||
      onlyBlock(op, kConditionRegion).getNumArguments() != carried ||
      onlyBlock(op, kBodyRegion).getNumArguments() != carried ||
      onlyBlock(op, kBodyRegion).back().getNumOperands() != carried ||
      onlyBlock(op, kConditionRegion).back().getNumOperands() != 1) {
    return unsupportedOp(op, "condition, body, operands and results must carry the same values");
  }
  return {};
}

}  // namespace

StatusOr<Liveness> Liveness::compute(mlir::func::FuncOp main) {
  if (!main.getBody().hasOneBlock()) {
    return unsupportedOp(main, "the program must have one block");
  }
  Liveness result;
  mlir::Block& entry = main.getBody().front();
  for (mlir::BlockArgument argument : entry.getArguments()) {
    LiveArray array;
    array.origin = LiveArray::Origin::kParameter;
    array.index = argument.getArgNumber();
    array.value = argument;
    ISTHMUS_RETURN_IF_ERROR(result.addArray(std::move(array)));
  }
  ISTHMUS_RETURN_IF_ERROR(result.number(entry, 0));
  result.endTime_ = 2 * result.clock_;
  result.recordUses();
  result.finishLifetimes();
  return result;
}

Status Liveness::addArray(LiveArray array) {
  ISTHMUS_ASSIGN_OR_RETURN(array.bytes, byteSize(array.value.getType()));
  if (array.bytes == 0) return {};
  ids_[array.value] = static_cast<int>(arrays_.size());
  arrays_.push_back(std::move(array));
  return {};
}

Status Liveness::number(mlir::Block& block, int loopDepth) {
  for (mlir::Operation& op : block) {
    operations_.push_back(&op);
    loopDepths_[&op] = loopDepth;
    int64_t time = clock_++;
    times_[&op] = time;
    OpRole role = roleOf(&op);
    if (role == OpRole::kView && op.getNumResults() != op.getNumOperands()) {
      return unsupportedOp(&op, "a view has one result per operand");
    }
    if (role != OpRole::kWhile && role != OpRole::kBranch) {
      if (role != OpRole::kCompute && role != OpRole::kConstant) continue;
      for (mlir::OpResult opResult : op.getResults()) {
        LiveArray array;
        array.origin =
            role == OpRole::kConstant ? LiveArray::Origin::kConstant : LiveArray::Origin::kComputed;
        array.definition = &op;
        array.index = opResult.getResultNumber();
        array.value = opResult;
        array.loopDepth = loopDepth;
        array.touchesLoop = loopDepth > 0;
        Status status = addArray(std::move(array));
        if (!status.ok()) return unsupportedOp(&op, status.message());
      }
      continue;
    }
    if (Status status = checkRegions(&op); !status.ok()) return status;
    for (unsigned i = 0; i < op.getNumResults(); ++i) {
      if (role == OpRole::kWhile && isPassedThrough(&op, i)) continue;
      LiveArray array;
      array.origin =
          role == OpRole::kWhile ? LiveArray::Origin::kCarried : LiveArray::Origin::kSelected;
      array.definition = &op;
      array.index = static_cast<int>(i);
      array.value = op.getResult(i);
      array.loopDepth = loopDepth + (role == OpRole::kWhile ? 1 : 0);
      array.touchesLoop = array.loopDepth > 0;
      Status status = addArray(std::move(array));
      if (!status.ok()) return unsupportedOp(&op, status.message());
    }
    RegionTimes filled{time, 0, {}};
    for (mlir::Region& region : op.getRegions()) {
      ISTHMUS_RETURN_IF_ERROR(number(region.front(), loopDepth + (role == OpRole::kWhile ? 1 : 0)));
      filled.terminators.push_back(clock_ - 1);
    }
    filled.end = clock_++;
    regions_[&op] = std::move(filled);
  }
  return {};
}

bool Liveness::isPassedThrough(mlir::Operation* whileOp, unsigned index) const {
  mlir::Block& body = onlyBlock(whileOp, kBodyRegion);
  mlir::Value value = body.back().getOperand(index);
  for (;;) {
    if (value == body.getArgument(index)) return true;
    auto opResult = llvm::dyn_cast<mlir::OpResult>(value);
    if (!opResult) return false;
    mlir::Operation* op = opResult.getOwner();
    OpRole role = roleOf(op);
    bool isAlias = role == OpRole::kView ||
                   (role == OpRole::kWhile && isPassedThrough(op, opResult.getResultNumber()));
    if (!isAlias) return false;
    value = op->getOperand(opResult.getResultNumber());
  }
}

// Follows views and passed-through carried values to the value that owns the memory. Both block
// arguments of a carried value lead to the while's result.
mlir::Value Liveness::baseOf(mlir::Value value) const {
  for (;;) {
    mlir::Operation* op = nullptr;
    unsigned index = 0;
    if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
      op = argument.getOwner()->getParentOp();
      index = argument.getArgNumber();
      if (!op || roleOf(op) != OpRole::kWhile) return value;
      if (!isPassedThrough(op, index)) return op->getResult(index);
    } else {
      auto opResult = llvm::cast<mlir::OpResult>(value);
      op = opResult.getOwner();
      index = opResult.getResultNumber();
      OpRole role = roleOf(op);
      bool isAlias =
          role == OpRole::kView || (role == OpRole::kWhile && isPassedThrough(op, index));
      if (!isAlias) return value;
    }
    value = op->getOperand(index);
  }
}

int Liveness::arrayOf(mlir::Value value) const {
  auto it = ids_.find(baseOf(value));
  return it == ids_.end() ? -1 : it->second;
}

void Liveness::recordUse(mlir::Value value, mlir::Operation* user, int64_t time) {
  // A carried value used inside its own loop: the SSA value that is used tells inside from after.
  mlir::Value base = baseOf(value);
  int id = arrayOf(base);
  if (id < 0) return;
  LiveArray& array = arrays_[id];
  if (loopDepths_.lookup(user) > 0) array.touchesLoop = true;

  mlir::Block* home = base.getParentBlock();
  mlir::Value key = base;
  if (array.origin == LiveArray::Origin::kCarried) {
    for (mlir::Operation* op = user->getParentOp(); op; op = op->getParentOp()) {
      if (op != array.definition) continue;
      home = nullptr;
      // Inside: the use is in the condition or the body, whichever block encloses it.
      for (mlir::Region& region : op->getRegions()) {
        if (region.isAncestor(user->getParentRegion())) home = &region.front();
      }
      key = home->getArgument(array.index);
      break;
    }
  }
  for (mlir::Block* block = user->getBlock(); block != home;
       block = block->getParentOp()->getBlock()) {
    mlir::Operation* parent = block->getParentOp();
    if (roleOf(parent) == OpRole::kWhile) time = std::max(time, 2 * regions_[parent].end + 1);
  }
  int64_t& last = lastUses_[key];
  last = std::max(last, time);
}

void Liveness::recordUses() {
  for (mlir::Operation* op : operations_) {
    int64_t time = times_[op];
    switch (roleOf(op)) {
      case OpRole::kView:
      case OpRole::kNothing:
        break;  // its own uses are recorded where they happen
      case OpRole::kWhile:
        for (unsigned i = 0; i < op->getNumOperands(); ++i) {
          if (!isPassedThrough(op, i)) recordUse(op->getOperand(i), op, 2 * time);
        }
        break;
      case OpRole::kTerminator: {
        mlir::Operation* parent = op->getParentOp();
        bool isBody = roleOf(parent) == OpRole::kWhile &&
                      op->getParentRegion() == &parent->getRegion(kBodyRegion);
        for (unsigned i = 0; i < op->getNumOperands(); ++i) {
          if (isBody && isPassedThrough(parent, i)) continue;
          recordUse(op->getOperand(i), op, 2 * time);
        }
        break;
      }
      default:
        for (mlir::Value operand : op->getOperands()) recordUse(operand, op, 2 * time + 1);
    }
  }
}

void Liveness::finishLifetimes() {
  for (LiveArray& array : arrays_) {
    mlir::Operation* op = array.definition;
    switch (array.origin) {
      case LiveArray::Origin::kParameter:
        array.lifetimes.push_back({0, lastUses_.lookup(array.value)});
        break;
      case LiveArray::Origin::kConstant:
        array.lifetimes.push_back({0, endTime_});
        break;
      case LiveArray::Origin::kComputed: {
        int64_t time = times_[op];
        array.lifetimes.push_back(
            {2 * time, std::max(2 * time + 1, lastUses_.lookup(array.value))});
        break;
      }
      case LiveArray::Origin::kCarried: {
        const RegionTimes& times = regions_[op];
        int64_t inside = 2 * times.terminators[kConditionRegion] + 1;
        for (unsigned region : {kConditionRegion, kBodyRegion}) {
          inside =
              std::max(inside, lastUses_.lookup(onlyBlock(op, region).getArgument(array.index)));
        }
        array.lifetimes.push_back({2 * times.begin + 1, inside});
        int64_t after = lastUses_.lookup(array.value);
        array.lifetimes.push_back({2 * times.end, std::max(after, 2 * times.end + 1)});
        break;
      }
      case LiveArray::Origin::kSelected: {
        int64_t end = regions_[op].end;
        array.lifetimes.push_back({2 * end, std::max(2 * end + 1, lastUses_.lookup(array.value))});
        break;
      }
    }
    // Control flow writes these before their lifetime begins, while the sources of its other
    // copies are still needed.
    array.extent = {array.lifetimes.front().begin, array.lifetimes.back().end};
    if (array.origin == LiveArray::Origin::kCarried ||
        array.origin == LiveArray::Origin::kSelected) {
      array.extent.begin = 2 * regions_[op].begin;
    }
  }
}

}  // namespace isthmus
