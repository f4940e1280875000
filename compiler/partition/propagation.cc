#include "compiler/partition/propagation.h"

#include <limits>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/facts/trip_count.h"
#include "compiler/partition/one_device.h"
#include "compiler/partition/sharding/gspmd_sharding.h"
#include "compiler/partition/split/split_rules.h"

namespace isthmus {
namespace {

using mlir::Value;

// Each pass carries shardings as far as straight-line code goes; only loops need more than two.
constexpr int kMaxPasses = 8;
// Until then, an elementwise operation whose operands differ waits for what its users say.
constexpr int kUndecidedPasses = 2;

bool fits(Value value, const MeshSharding& sharding) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && isWorthPadding(sharding, type.getShape());
}

double elementsOf(Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type && type.hasStaticShape() ? static_cast<double>(type.getNumElements())
                                       : std::numeric_limits<double>::infinity();
}

}  // namespace

StatusOr<Propagation> Propagation::run(mlir::func::FuncOp main, mlir::ModuleOp module,
                                       int64_t numPartitions) {
  Propagation propagation(module, numPartitions);
  if (numPartitions == 1) return propagation;
  ISTHMUS_RETURN_IF_ERROR(propagation.seed(main));
  mlir::Block& body = main.getBody().front();
  for (int i = 0; i < kMaxPasses; ++i) {
    propagation.hasChanged_ = false;
    propagation.pass_ = i;
    for (const auto& [id, values] : propagation.groups_) propagation.unite(values);
    propagation.visitBlock(body, i % 2 == 0);
    if (i >= kUndecidedPasses && !propagation.hasChanged_) break;
  }
  return propagation;
}

MeshSharding Propagation::of(Value value) const {
  auto found = shardings_.find(value);
  return found != shardings_.end() ? found->second
                                   : replicatedSharding(rankOf(value), numPartitions_);
}

bool Propagation::usersKeep(Value value, const MeshSharding& sharding,
                            std::optional<int64_t> rounds) const {
  return llvm::all_of(value.getUses(), [&](mlir::OpOperand& use) {
    mlir::Operation* user = use.getOwner();
    // Handed on: those who get it have preferences of their own.
    if (user->hasTrait<mlir::OpTrait::IsTerminator>() ||
        llvm::isa<shlo::WhileOp, shlo::OptimizationBarrierOp>(user) ||
        llvm::isa<sdy::SdyDialect>(user->getDialect()) || gspmdCall(user, kGspmdConstraint) ||
        runsWithBlocks(user)) {
      return true;
    }
    std::vector<MeshSharding> operandShardings;
    for (Value operand : user->getOperands()) operandShardings.push_back(of(operand));
    operandShardings[use.getOperandNumber()] = sharding;
    std::optional<SplitRule> rule = splitRule(user, operandShardings, {});
    // What is picked from blocks by index is summed each time, which may be more than the whole.
    if (rule && !rule->indexedDims.empty() &&
        llvm::isa<shlo::GatherOp, shlo::DynamicSliceOp>(user)) {
      const double picked = elementsOf(user->getResult(0));
      if (!rounds || 2 * picked * static_cast<double>(*rounds) > elementsOf(value)) return false;
    }
    if (rule && llvm::any_of(rule->halos, [](const HaloRows& rows) { return rows.isPlaced; })) {
      return false;
    }
    return rule && rule->operands[use.getOperandNumber()] == sharding;
  });
}

Status Propagation::seed(mlir::func::FuncOp main) {
  mlir::Block& body = main.getBody().front();
  for (unsigned i = 0; i < body.getNumArguments(); ++i) {
    ISTHMUS_RETURN_IF_ERROR(seedBoundary(body.getArgument(i), main.getArgAttrDict(i)));
  }
  ISTHMUS_RETURN_IF_ERROR(seedBlock(body));
  for (auto [i, result] : llvm::enumerate(body.getTerminator()->getOperands())) {
    ISTHMUS_RETURN_IF_ERROR(seedBoundary(result, main.getResultAttrDict(i)));
  }
  return {};
}

Status Propagation::seedBoundary(Value value, mlir::DictionaryAttr attributes) {
  ISTHMUS_ASSIGN_OR_RETURN(std::optional<MeshSharding> sharding,
                           interfaceSharding(attributes, value, numPartitions_, module_));
  if (sharding) say(value, *sharding);
  return {};
}

Status Propagation::seedValue(Value value, sdy::TensorShardingAttr sharding,
                              const std::vector<std::string>* onlyAxes) {
  if (!sharding) return {};
  ISTHMUS_ASSIGN_OR_RETURN(
      MeshSharding resolved,
      resolveSharding(sharding, rankOf(value), numPartitions_, module_, onlyAxes));
  if (isOpen(sharding)) {
    assign(value, resolved);
  } else {
    say(value, resolved);
  }
  return {};
}

Status Propagation::seedBlock(mlir::Block& block) {
  for (mlir::Operation& op : block) {
    if (auto manual = llvm::dyn_cast<sdy::ManualComputationOp>(op)) {
      std::vector<std::string> axes = manualAxesOf(manual);
      auto ins = manual.getInShardings().getShardings();
      auto outs = manual.getOutShardings().getShardings();
      for (auto [value, sharding] : llvm::zip(manual.getTensors(), ins)) {
        ISTHMUS_RETURN_IF_ERROR(seedValue(value, sharding, &axes));
      }
      for (auto [value, sharding] : llvm::zip(manual->getResults(), outs)) {
        ISTHMUS_RETURN_IF_ERROR(seedValue(value, sharding, &axes));
      }
      ISTHMUS_RETURN_IF_ERROR(seedManual(manual));
    } else if (auto constraint = llvm::dyn_cast<sdy::ShardingConstraintOp>(op)) {
      ISTHMUS_RETURN_IF_ERROR(seedValue(op.getResult(0), constraint.getSharding()));
    } else if (auto reshard = llvm::dyn_cast<sdy::ReshardOp>(op)) {
      ISTHMUS_RETURN_IF_ERROR(seedValue(op.getResult(0), reshard.getSharding()));
    } else if (auto group = llvm::dyn_cast<sdy::ShardingGroupOp>(op)) {
      groups_[group.getGroupId()].push_back(op.getOperand(0));
    } else if (gspmdCall(&op, kGspmdConstraint) || gspmdCall(&op, kGspmdToWhole)) {
      ISTHMUS_ASSIGN_OR_RETURN(std::optional<MeshSharding> sharding,
                               gspmdShardingOf(llvm::cast<shlo::CustomCallOp>(op), numPartitions_));
      if (sharding) say(op.getResult(0), *sharding);
    } else if (isControlFlow(&op)) {
      for (mlir::Region& region : op.getRegions()) {
        ISTHMUS_RETURN_IF_ERROR(seedBlock(region.front()));
      }
    }
  }
  return {};
}

Status Propagation::seedManual(sdy::ManualComputationOp op) {
  ISTHMUS_ASSIGN_OR_RETURN(std::optional<MeshSharding> manual,
                           manualParts(op, numPartitions_, module_));
  if (!manual) return {};
  ManualShardings shardings{std::move(manual->unreduced), {}, {}};
  std::vector<std::string> axes = manualAxesOf(op);
  auto resolve = [&](mlir::ValueRange values, llvm::ArrayRef<sdy::TensorShardingAttr> shardings,
                     std::vector<MeshSharding>& list) -> Status {
    for (auto [value, sharding] : llvm::zip(values, shardings)) {
      ISTHMUS_ASSIGN_OR_RETURN(
          MeshSharding resolved,
          resolveSharding(sharding, rankOf(value), numPartitions_, module_, &axes));
      list.push_back(std::move(resolved));
    }
    return {};
  };
  ISTHMUS_RETURN_IF_ERROR(
      resolve(op.getTensors(), op.getInShardings().getShardings(), shardings.operands));
  ISTHMUS_RETURN_IF_ERROR(
      resolve(op->getResults(), op.getOutShardings().getShardings(), shardings.results));
  manualShardings_[op] = std::move(shardings);
  return seedBlock(op.getBody().front());
}

void Propagation::say(Value value, const MeshSharding& sharding) {
  assign(value, sharding);
  said_.insert(value);
}

void Propagation::assign(Value value, const MeshSharding& sharding) {
  MeshSharding reduced = sharding.reduced();
  if (said_.contains(value) || reduced.isReplicated() || !fits(value, reduced)) return;
  auto [found, isNew] = shardings_.try_emplace(value, reduced);
  hasChanged_ |= isNew;
  MeshSharding& known = found->second;
  if (isNew || known.positionOf != reduced.positionOf) return;
  for (size_t d = 0; d < known.dims.size(); ++d) {
    const std::vector<AxisPart>& more = reduced.dims[d];
    if (more.empty() || !known.canAlsoSplit(d, more)) continue;
    known.dims[d] = more;
    hasChanged_ = true;
  }
}

// What is known of `value` to be split as `before` says is split more finely.
void Propagation::refine(Value value, const MeshSharding& before, const MeshSharding& finer) {
  assign(value, finer);
  auto found = shardings_.find(value);
  if (found == shardings_.end() || said_.contains(value) || !fits(value, finer)) return;
  MeshSharding& known = found->second;
  if (known.positionOf != finer.positionOf) return;
  for (size_t d = 0; d < known.dims.size(); ++d) {
    if (known.dims[d] != before.dims[d] || known.dims[d] == finer.dims[d]) continue;
    MeshSharding others = known;
    others.dims[d].clear();
    if (!others.canAlsoSplit(static_cast<int64_t>(d), finer.dims[d])) continue;
    known.dims[d] = finer.dims[d];
    hasChanged_ = true;
  }
}

// All of one shape: what is known of one is wanted for all.
void Propagation::unite(llvm::ArrayRef<Value> values) {
  for (Value value : values) {
    auto found = shardings_.find(value);
    if (found == shardings_.end()) continue;
    MeshSharding sharding = found->second;
    for (Value other : values) assign(other, sharding);
  }
}

void Propagation::transfer(mlir::Operation& op) {
  std::vector<MeshSharding> operandShardings, wanted;
  bool isKnown = false;
  auto read = [&](mlir::ValueRange values, std::vector<MeshSharding>& list) {
    for (Value value : values) {
      isKnown |= shardings_.contains(value);
      list.push_back(of(value));
    }
  };
  read(op.getOperands(), operandShardings);
  read(op.getResults(), wanted);
  if (!isKnown) return;
  std::optional<SplitRule> rule = splitRule(&op, operandShardings, wanted);
  if (!rule) return;
  if (rule->hasConflict && pass_ < kUndecidedPasses &&
      fusionClass(&op) == FusionClass::kElementwise) {
    return;
  }
  for (auto [value, sharding] : llvm::zip(op.getOperands(), rule->operands))
    assign(value, sharding);
  for (auto [value, sharding] : llvm::zip(op.getResults(), rule->results)) assign(value, sharding);
}

void Propagation::visit(mlir::Operation& op, bool isForward) {
  if (auto manual = llvm::dyn_cast<sdy::ManualComputationOp>(op)) {
    visitManual(manual, isForward);
  } else if (auto loop = llvm::dyn_cast<shlo::WhileOp>(op)) {
    visitLoop(loop, isForward);
  } else if (llvm::isa<shlo::CaseOp, shlo::IfOp>(op)) {
    visitBranches(op, isForward);
  } else if (llvm::isa<shlo::OptimizationBarrierOp>(op)) {
    for (auto [operand, result] : llvm::zip(op.getOperands(), op.getResults())) {
      unite({operand, result});
    }
  } else if (llvm::isa<sdy::ShardingConstraintOp, sdy::ReshardOp>(op) ||
             gspmdCall(&op, kGspmdConstraint)) {
    unite({op.getResult(0), op.getOperand(0)});
  } else if (!llvm::isa<sdy::SdyDialect>(op.getDialect())) {
    transfer(op);
  }
}

void Propagation::visitBlock(mlir::Block& block, bool isForward) {
  if (isForward) {
    for (mlir::Operation& op : block.without_terminator()) visit(op, isForward);
  } else {
    for (mlir::Operation& op : llvm::reverse(block.without_terminator())) visit(op, isForward);
  }
}

// What a block of a value is split by, over axes that are left to us, holds inside as outside.
void Propagation::visitManual(sdy::ManualComputationOp op, bool isForward) {
  auto found = manualShardings_.find(op);
  if (found == manualShardings_.end()) return;
  const ManualShardings& manual = found->second;
  mlir::Block& body = op.getBody().front();
  auto cross = [&](mlir::ValueRange outside, mlir::ValueRange inside,
                   llvm::ArrayRef<MeshSharding> cuts) {
    for (auto [whole, block, cut] : llvm::zip(outside, inside, cuts)) {
      if (shardings_.contains(whole)) assign(block, withoutOuter(of(whole), cut, manual.axes));
      if (!shardings_.contains(block)) continue;
      if (std::optional<MeshSharding> both = composed(cut, of(block))) refine(whole, cut, *both);
    }
  };
  cross(op.getTensors(), body.getArguments(), manual.operands);
  visitBlock(body, isForward);
  cross(op->getResults(), body.getTerminator()->getOperands(), manual.results);
}

void Propagation::visitLoop(shlo::WhileOp op, bool isForward) {
  mlir::Block& body = op.getBody().front();
  auto carry = [&] {
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      Value argument = body.getArgument(i), returned = body.getTerminator()->getOperand(i);
      if (returned != argument) {
        unite({op->getOperand(i), argument, returned, op->getResult(i)});
      } else if (MeshSharding sharding = of(op->getOperand(i));
                 usersKeep(argument, sharding, tripCount(op))) {
        assign(argument, sharding);
      }
    }
  };
  carry();
  visitBlock(body, isForward);
  carry();
}

void Propagation::visitBranches(mlir::Operation& op, bool isForward) {
  auto join = [&] {
    for (unsigned i = 0; i < op.getNumResults(); ++i) {
      llvm::SmallVector<Value> values = {op.getResult(i)};
      for (mlir::Region& region : op.getRegions()) {
        values.push_back(region.front().getTerminator()->getOperand(i));
      }
      unite(values);
    }
  };
  join();
  for (mlir::Region& region : op.getRegions()) visitBlock(region.front(), isForward);
  join();
}

}  // namespace isthmus
