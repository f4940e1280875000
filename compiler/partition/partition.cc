#include "compiler/partition/partition.h"

#include <optional>

#include "compiler/dialect/diagnostics/diagnostics.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/indexing.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/facts/trip_count.h"
#include "compiler/dialect/sdy.h"
#include "compiler/partition/one_device.h"
#include "compiler/partition/propagation.h"
#include "compiler/partition/reshard/replica_groups.h"
#include "compiler/partition/rules/factor_rules.h"
#include "compiler/partition/sharding/gspmd_sharding.h"
#include "compiler/partition/sharding/inspect_sharding.h"
#include "compiler/partition/sharding/mesh_sharding.h"
#include "compiler/partition/split/first_rows.h"
#include "compiler/partition/split/indexed_blocks.h"
#include "compiler/partition/split/local_values.h"
#include "compiler/partition/split/row_windows.h"
#include "compiler/partition/split/running_windows.h"
#include "compiler/partition/split/shifts.h"
#include "compiler/partition/split/split_rules.h"
#include "compiler/partition/spmd_builder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus {
namespace {

using mlir::RankedTensorType;
using mlir::Value;

int64_t largestChannel(mlir::ModuleOp module) {
  int64_t largest = 0;
  module.walk([&](mlir::Operation* op) {
    auto channel = op->getAttrOfType<shlo::ChannelHandleAttr>("channel_handle");
    if (channel) largest = std::max(largest, channel.getHandle());
  });
  return largest;
}

class Partitioner {
 public:
  Partitioner(mlir::ModuleOp module, int64_t numPartitions, const TargetModel& target,
              Propagation propagation, CallPartitioner partitionCall)
      : module_(module),
        partitionCall_(std::move(partitionCall)),
        numPartitions_(numPartitions),
        propagation_(std::move(propagation)),
        builder_(module.getContext()),
        spmd_(builder_, largestChannel(module) + 1),
        values_(builder_, spmd_, numPartitions, target) {}

  Status run(mlir::func::FuncOp main) {
    mlir::Block& block = main.getBody().front();
    auto function = mlir::func::FuncOp::create(main.getLoc(), "main", main.getFunctionType());
    mlir::Block* body = function.addEntryBlock();
    builder_.setInsertionPointToEnd(body);
    Status status = buildBody(main, block, function, *body);
    if (!status.ok()) {
      function.erase();
      return status;
    }
    for (mlir::NamedAttribute attribute : main->getDiscardableAttrs()) {
      function->setAttr(attribute.getName(), attribute.getValue());
    }
    if (main.getSymVisibilityAttr()) function.setVisibility(main.getVisibility());
    main->getBlock()->getOperations().insert(main->getIterator(), function);
    main.erase();
    return {};
  }

 private:
  Status buildBody(mlir::func::FuncOp main, mlir::Block& block, mlir::func::FuncOp function,
                   mlir::Block& body) {
    for (unsigned i = 0; i < block.getNumArguments(); ++i) {
      Value argument = block.getArgument(i);
      ISTHMUS_ASSIGN_OR_RETURN(
          std::optional<MeshSharding> asked,
          interfaceSharding(main.getArgAttrDict(i), argument, numPartitions_, module_));
      MeshSharding sharding = asked ? *asked : replicatedSharding(rankOf(argument), numPartitions_);
      ISTHMUS_ASSIGN_OR_RETURN(mlir::Type type, values_.localType(argument.getType(), sharding));
      body.getArgument(i).setType(type);
      function.setArgAttrs(i, interfaceAttributes(main.getArgAttrDict(i), sharding));
      values_.set(argument, body.getArgument(i), sharding);
    }
    ISTHMUS_RETURN_IF_ERROR(buildBlock(block));
    mlir::Operation* terminator = block.getTerminator();
    llvm::SmallVector<Value> results;
    llvm::SmallVector<mlir::Type> types;
    for (auto [i, operand] : llvm::enumerate(terminator->getOperands())) {
      ISTHMUS_ASSIGN_OR_RETURN(
          std::optional<MeshSharding> asked,
          interfaceSharding(main.getResultAttrDict(i), operand, numPartitions_, module_));
      // Where nothing is asked for, what is split stays so.
      MeshSharding sharding = asked ? *asked : overWholeAxes(evenShardingOf(operand), module_);
      ISTHMUS_ASSIGN_OR_RETURN(Value local,
                               values_.evenOf(operand, sharding, terminator->getLoc()));
      function.setResultAttrs(i, interfaceAttributes(main.getResultAttrDict(i), sharding));
      results.push_back(local);
      types.push_back(local.getType());
    }
    mlir::func::ReturnOp::create(builder_, terminator->getLoc(), results);
    function.setType(mlir::FunctionType::get(module_.getContext(), body.getArgumentTypes(), types));
    return {};
  }

  // The attributes of a parameter or result without Shardy's, and with ours.
  mlir::DictionaryAttr interfaceAttributes(mlir::DictionaryAttr attributes,
                                           const MeshSharding& sharding) {
    mlir::NamedAttrList list(attributes);
    list.erase(sdy::kSharding);
    list.erase(kGspmdSharding);
    if (numPartitions_ > 1) {
      list.set(kShardingAttribute, builder_.getStringAttr(sharding.toOpSharding()));
    }
    return list.getDictionary(module_.getContext());
  }

  Status buildBlock(mlir::Block& block) {
    for (mlir::Operation& op : block.without_terminator()) {
      if (auto manual = llvm::dyn_cast<sdy::ManualComputationOp>(op)) {
        ISTHMUS_RETURN_IF_ERROR(buildManual(manual).withContext(sourceLocation(op.getLoc())));
      } else if (auto constraint = llvm::dyn_cast<sdy::ShardingConstraintOp>(op)) {
        ISTHMUS_RETURN_IF_ERROR(buildConstraint(op, constraint.getSharding()));
      } else if (auto reshard = llvm::dyn_cast<sdy::ReshardOp>(op)) {
        ISTHMUS_RETURN_IF_ERROR(buildConstraint(op, reshard.getSharding()));
      } else if (llvm::isa<sdy::PropagationBarrierOp>(op)) {
        values_.setLike(op.getResult(0), op.getOperand(0));
      } else if (llvm::isa<sdy::ShardingGroupOp>(op)) {
        ISTHMUS_RETURN_IF_ERROR(buildGroupMember(op.getOperand(0), op.getLoc()));
      } else if (llvm::isa<sdy::SdyDialect>(op.getDialect())) {
        return unimplemented(sourceLocation(op.getLoc()),
                             ": partition: ", op.getName().getStringRef().str(),
                             " is not supported");
      } else if (auto loop = llvm::dyn_cast<shlo::WhileOp>(op)) {
        ISTHMUS_RETURN_IF_ERROR(buildLoop(loop));
      } else if (llvm::isa<shlo::CaseOp, shlo::IfOp>(op)) {
        ISTHMUS_RETURN_IF_ERROR(buildBranches(op));
      } else if (llvm::isa<shlo::OptimizationBarrierOp>(op)) {
        ISTHMUS_RETURN_IF_ERROR(buildBarrier(op));
      } else {
        ISTHMUS_ASSIGN_OR_RETURN(bool isBuilt, buildSpecialCall(op));
        if (!isBuilt) ISTHMUS_RETURN_IF_ERROR(buildOperation(op));
      }
    }
    return {};
  }

  // Splits the operand as asked. Dimensions that are left open stay as they are.
  Status buildConstraint(mlir::Operation& op, sdy::TensorShardingAttr asked) {
    Value operand = op.getOperand(0);
    ISTHMUS_ASSIGN_OR_RETURN(MeshSharding sharding,
                             resolveSharding(asked, rankOf(operand), numPartitions_, module_));
    for (const MeshSharding& more :
         {values_.shardingOf(operand), propagation_.of(op.getResult(0))}) {
      ISTHMUS_RETURN_IF_ERROR(refineOpen(asked, more, numPartitions_, module_, sharding));
    }
    return constrain(op, sharding, isOpen(asked));
  }

  // What is to be split alike is asked for once.
  Status buildGroupMember(Value member, mlir::Location location) {
    MeshSharding sharding = propagation_.of(member);
    if (sharding.isReplicated()) return {};
    values_.set(member, values_.localOf(member, sharding, location), sharding);
    return {};
  }

  Status constrain(mlir::Operation& op, const MeshSharding& sharding, bool isOpen) {
    Value operand = op.getOperand(0);
    auto type = llvm::dyn_cast<RankedTensorType>(operand.getType());
    if (numPartitions_ == 1 || (isOpen && sharding.isReplicated()) || !type ||
        !isWorthPadding(sharding, type.getShape())) {
      // A constraint may ask for blocks that are mostly padding; the array is right without it.
      values_.setLike(op.getResult(0), operand);
      return {};
    }
    values_.set(op.getResult(0), values_.localOf(operand, sharding, op.getLoc()), sharding);
    return {};
  }

  // How a value is split, as far as code that is not ours can tell blocks from padding.
  MeshSharding evenShardingOf(Value value) const {
    return values_.shardingOf(value).evenPart(shapeOf(value));
  }

  // A custom call that not all devices run alike.
  StatusOr<bool> buildSpecialCall(mlir::Operation& op) {
    auto call = llvm::dyn_cast<shlo::CustomCallOp>(op);
    if (!call) return false;
    if (call.getCallTargetName() == kInspectSharding && op.getNumOperands() == 1 &&
        op.getNumResults() == 1) {
      ISTHMUS_RETURN_IF_ERROR(reportSharding(
          call, manualDepth_ > 0 ? manualOpSharding()
                                 : values_.shardingOf(op.getOperand(0)).toOpSharding()));
      values_.setLike(op.getResult(0), op.getOperand(0));
      return true;
    }
    if (gspmdCall(&op, kGspmdConstraint) || gspmdCall(&op, kGspmdToBlocks) ||
        gspmdCall(&op, kGspmdToWhole)) {
      ISTHMUS_RETURN_IF_ERROR(buildGspmd(call).withContext(sourceLocation(op.getLoc())));
      return true;
    }
    if (numPartitions_ == 1) return false;
    ISTHMUS_ASSIGN_OR_RETURN(bool isBuilt, buildPartitionedCall(call));
    if (isBuilt) return true;
    if (runsWithBlocks(&op)) {
      // Each device calls its function with its block, as what the user asks for carries on to
      // here: how an operation before was split for less to move is nothing that a user should see.
      llvm::SmallVector<Value> operands;
      for (Value operand : op.getOperands()) {
        MeshSharding sharding = propagation_.of(operand).evenPart(shapeOf(operand));
        operands.push_back(values_.localOf(operand, sharding, op.getLoc()));
      }
      mlir::Operation* copy = builder_.clone(op);
      copy->setOperands(operands);
      copy->removeAttr(sdy::kSharding);
      for (auto [original, result] : llvm::zip(op.getResults(), copy->getResults())) {
        values_.setReplicated(original, result);
      }
      return true;
    }
    ISTHMUS_ASSIGN_OR_RETURN(std::optional<int64_t> partition,
                             onlyPartitionOf(call, numPartitions_));
    if (!partition) return false;
    llvm::SmallVector<Value> operands;
    for (Value operand : op.getOperands()) operands.push_back(values_.fullOf(operand, op.getLoc()));
    llvm::SmallVector<Value> results =
        callOnOnePartition(call, operands, *partition, numPartitions_, builder_, spmd_);
    for (auto [original, result] : llvm::zip(op.getResults(), results))
      values_.setReplicated(original, result);
    return true;
  }

  // A call that somebody else splits.
  StatusOr<bool> buildPartitionedCall(shlo::CustomCallOp call) {
    if (!partitionCall_) return false;
    std::vector<MeshSharding> operandShardings;
    for (Value operand : call->getOperands()) operandShardings.push_back(evenShardingOf(operand));
    std::vector<MeshSharding> wanted = wantedResults(*call, operandShardings);
    for (auto [result, sharding] : llvm::zip(call->getResults(), wanted)) {
      sharding = sharding.evenPart(shapeOf(result));
    }
    if (std::optional<SplitRule> rule = splitRule(call, operandShardings, wanted)) {
      operandShardings = std::move(rule->operands);
      wanted = std::move(rule->results);
    }
    auto messages = [](const std::vector<MeshSharding>& shardings) {
      std::vector<std::string> list;
      for (const MeshSharding& sharding : shardings) list.push_back(sharding.toOpSharding());
      return list;
    };
    ISTHMUS_ASSIGN_OR_RETURN(std::optional<PartitionedCall> part,
                             partitionCall_(call, messages(operandShardings), messages(wanted)));
    if (!part) return false;
    auto main = part->program->lookupSymbol<mlir::func::FuncOp>("main");
    bool fits = main && !main.isExternal() && part->operands.size() == call->getNumOperands() &&
                part->results.size() == call->getNumResults() &&
                main.getNumArguments() == call->getNumOperands() &&
                main.getNumResults() == call->getNumResults();
    if (!fits) return partitionerFailed(call, "gave a program with other operands or results");
    ISTHMUS_RETURN_IF_ERROR(resolveReplicaGroups(*part->program));
    mlir::IRMapping mapping;
    for (auto [i, operand] : llvm::enumerate(call->getOperands())) {
      ISTHMUS_ASSIGN_OR_RETURN(MeshSharding sharding, shardingFrom(part->operands[i], operand));
      ISTHMUS_ASSIGN_OR_RETURN(Value block, values_.evenOf(operand, sharding, call.getLoc()));
      if (block.getType() != main.getArgumentTypes()[i]) {
        return partitionerFailed(call, "gave a program for other blocks of its operands");
      }
      mapping.map(main.getArgument(i), block);
    }
    for (mlir::Operation& op : main.getBody().front().without_terminator()) {
      mlir::Operation* copy = builder_.clone(op, mapping);
      copy->walk([&](mlir::Operation* nested) {
        // Channels of another program.
        if (nested->hasAttr("channel_handle")) {
          nested->setAttr("channel_handle", spmd_.nextChannel());
        }
      });
    }
    auto returned = main.getBody().front().getTerminator()->getOperands();
    for (auto [i, result] : llvm::enumerate(call->getResults())) {
      ISTHMUS_ASSIGN_OR_RETURN(MeshSharding sharding, shardingFrom(part->results[i], result));
      ISTHMUS_ASSIGN_OR_RETURN(mlir::Type type, values_.localType(result.getType(), sharding));
      Value block = mapping.lookupOrDefault(returned[i]);
      if (block.getType() != type) {
        return partitionerFailed(call, "gave a program with other blocks of its results");
      }
      values_.set(result, block, sharding);
    }
    return true;
  }

  Status partitionerFailed(shlo::CustomCallOp call, std::string_view what) {
    return invalidArgument(sourceLocation(call.getLoc()), ": the partitioner of @",
                           call.getCallTargetName().str(), " ", what);
  }

  StatusOr<MeshSharding> shardingFrom(llvm::StringRef text, Value value) {
    ISTHMUS_ASSIGN_OR_RETURN(std::optional<MeshSharding> sharding,
                             readGspmdSharding(text, rankOf(value), numPartitions_));
    return sharding ? *sharding : replicatedSharding(rankOf(value), numPartitions_);
  }

  // A constraint of GSPMD, or the boundary of code for one device: blocks of the value there are
  // values of the program here.
  Status buildGspmd(shlo::CustomCallOp call) {
    Value operand = call->getOperand(0), result = call->getResult(0);
    if (call.getCallTargetName() == kGspmdToBlocks) {
      // The constraint before the boundary says how it cuts.
      std::optional<MeshSharding> asked;
      mlir::Operation* before = operand.getDefiningOp();
      if (before && gspmdCall(before, kGspmdConstraint)) {
        ISTHMUS_ASSIGN_OR_RETURN(
            asked, gspmdShardingOf(llvm::cast<shlo::CustomCallOp>(before), numPartitions_));
      }
      MeshSharding sharding = asked ? *asked : evenShardingOf(operand);
      ISTHMUS_ASSIGN_OR_RETURN(Value local, values_.evenOf(operand, sharding, call.getLoc()));
      if (local.getType() != result.getType()) {
        return invalidArgument("partition: @", kGspmdToBlocks.str(),
                               " does not give the type of its operand's block");
      }
      values_.setReplicated(result, local);
      return {};
    }
    ISTHMUS_ASSIGN_OR_RETURN(std::optional<MeshSharding> asked,
                             gspmdShardingOf(call, numPartitions_));
    if (call.getCallTargetName() == kGspmdToWhole) {
      MeshSharding sharding = asked ? *asked : replicatedSharding(rankOf(result), numPartitions_);
      Value local = values_.fullOf(operand, call.getLoc());
      ISTHMUS_ASSIGN_OR_RETURN(mlir::Type type, values_.localType(result.getType(), sharding));
      if (local.getType() != type) {
        return invalidArgument("partition: @", kGspmdToWhole.str(),
                               " does not give the array that its operand is a block of");
      }
      values_.set(result, local, sharding);
      return {};
    }
    // Dimensions that are left to the compiler are named in the backend_config.
    auto config = llvm::dyn_cast_or_null<mlir::StringAttr>(call.getBackendConfigAttr());
    bool isOpen = !asked || (config && config.getValue().contains("unspecified_dims"));
    return constrain(*call, asked ? *asked : replicatedSharding(rankOf(result), numPartitions_),
                     isOpen);
  }

  // The region is per-device code over the manual axes. What it does with blocks is split further
  // over the others.
  Status buildManual(sdy::ManualComputationOp op) {
    std::vector<std::string> axes = manualAxesOf(op);
    ISTHMUS_ASSIGN_OR_RETURN(std::optional<MeshSharding> parts,
                             manualParts(op, numPartitions_, module_));
    std::vector<AxisPart> manual = values_.manual(), outside = manual;
    if (parts) llvm::append_range(manual, parts->unreduced);
    mlir::Block& body = op.getBody().front();
    for (auto [i, operand] : llvm::enumerate(op.getTensors())) {
      ISTHMUS_ASSIGN_OR_RETURN(
          MeshSharding cut, resolveSharding(op.getInShardings().getShardings()[i], rankOf(operand),
                                            numPartitions_, module_, &axes));
      Value argument = body.getArgument(i);
      MeshSharding inside = propagation_.of(argument).evenPart(shapeOf(argument));
      std::optional<MeshSharding> whole = composed(cut, inside);
      if (!whole) {
        inside = replicatedSharding(rankOf(operand), numPartitions_);
        whole = cut;
      }
      ISTHMUS_ASSIGN_OR_RETURN(Value local, values_.evenOf(operand, *whole, op.getLoc()));
      ISTHMUS_ASSIGN_OR_RETURN(mlir::Type type, values_.localType(argument.getType(), inside));
      if (local.getType() != type) {
        return invalidArgument("partition: manual_computation argument ", i,
                               " does not have the type of its operand's block");
      }
      values_.set(argument, local, inside);
    }
    values_.setManual(std::move(manual));
    ++manualDepth_;
    ISTHMUS_RETURN_IF_ERROR(buildBlock(body));
    --manualDepth_;
    for (auto [i, returned] : llvm::enumerate(body.getTerminator()->getOperands())) {
      Value result = op->getResult(i);
      ISTHMUS_ASSIGN_OR_RETURN(
          MeshSharding cut, resolveSharding(op.getOutShardings().getShardings()[i], rankOf(result),
                                            numPartitions_, module_, &axes));
      MeshSharding inside = evenShardingOf(returned);
      std::optional<MeshSharding> whole = composed(cut, inside);
      if (!whole) {
        inside = replicatedSharding(rankOf(result), numPartitions_);
        whole = cut;
      }
      values_.set(result, values_.localOf(returned, inside, op.getLoc()), *whole);
    }
    values_.setManual(std::move(outside));
    return {};
  }

  // How the results of `op` would be liked. What is made of whole operands alone is cut only if
  // nobody needs it whole.
  std::vector<MeshSharding> wantedResults(mlir::Operation& op,
                                          llvm::ArrayRef<MeshSharding> operandShardings) {
    bool isWhole =
        llvm::all_of(operandShardings, [](const MeshSharding& one) { return one.isReplicated(); });
    std::vector<MeshSharding> wanted;
    for (Value result : op.getResults()) {
      MeshSharding sharding = propagation_.of(result);
      bool isRefused =
          isWhole && !sharding.isReplicated() && !propagation_.usersKeep(result, sharding);
      wanted.push_back(isRefused ? replicatedSharding(rankOf(result), numPartitions_) : sharding);
    }
    return wanted;
  }

  // Whether `op` gives a sum over devices of what it gives of each device's partial sum of
  // `operand`.
  bool isOfPartialSums(mlir::Operation& op, Value operand, const MeshSharding& current) {
    if (llvm::isa<shlo::TransposeOp>(op)) return true;
    if (auto reduce = llvm::dyn_cast<shlo::ReduceOp>(op)) {
      std::optional<FactorRule> rule = factorRule(&op);
      return rule && rule->isSum && llvm::all_of(reduce.getDimensions(), [&](int64_t d) {
               return current.dims[d].empty();
             });
    }
    if (!current.reduced().isReplicated()) return false;
    auto type = llvm::dyn_cast<RankedTensorType>(op.getResult(0).getType());
    auto from = llvm::dyn_cast<RankedTensorType>(operand.getType());
    if (!type || !from || !type.hasStaticShape() || !from.hasStaticShape()) return false;
    if (llvm::isa<shlo::ReshapeOp, shlo::BroadcastInDimOp>(op)) {
      return type.getNumElements() == from.getNumElements();
    }
    auto wide = llvm::dyn_cast<mlir::FloatType>(type.getElementType());
    auto narrow = llvm::dyn_cast<mlir::FloatType>(from.getElementType());
    return llvm::isa<shlo::ConvertOp>(op) && wide && narrow && wide.getWidth() >= narrow.getWidth();
  }

  // Sums and what moves elements go before the sum over devices: that is made once, of what they
  // give, if nobody else needs it sooner.
  bool buildOnPartialSums(mlir::Operation& op) {
    std::optional<MeshSharding> sum;
    size_t numArrays = 1;
    if (llvm::isa<shlo::AddOp>(op)) {
      numArrays = 2;
      MeshSharding left = values_.storedShardingOf(op.getOperand(0)),
                   right = values_.storedShardingOf(op.getOperand(1));
      bool areAlone = op.getOperand(0).hasOneUse() && op.getOperand(1).hasOneUse();
      if (!left.unreduced.empty() &&
          (accumulators_.contains(op.getOperand(0)) || (areAlone && left == right))) {
        sum = left;
      } else if (accumulators_.contains(op.getOperand(1)) && !right.unreduced.empty()) {
        sum = right;
      }
    } else if (llvm::isa<shlo::DynamicUpdateSliceOp>(op)) {
      numArrays = 2;
      MeshSharding current = values_.storedShardingOf(op.getOperand(0));
      if (accumulators_.contains(op.getOperand(0)) && current.reduced().isReplicated())
        sum = current;
    } else if ((op.getNumOperands() == 1 || llvm::isa<shlo::ReduceOp>(op)) &&
               op.getNumResults() == 1 && op.getOperand(0).hasOneUse()) {
      MeshSharding current = values_.storedShardingOf(op.getOperand(0));
      if (!current.unreduced.empty() && isOfPartialSums(op, op.getOperand(0), current)) {
        sum = current;
      }
    }
    if (!sum || sum->unreduced.empty()) return false;
    llvm::SmallVector<Value> operands;
    for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
      MeshSharding sharding = *sum;
      sharding.dims.resize(rankOf(operand));
      operands.push_back(i < numArrays ? values_.localOf(operand, sharding, op.getLoc())
                                       : values_.fullOf(operand, op.getLoc()));
    }
    MeshSharding result = *sum;
    result.dims.assign(rankOf(op.getResult(0)), {});
    const IndexingMaps maps = indexingMaps(&op);
    for (auto [d, parts] : llvm::enumerate(sum->dims)) {
      std::optional<DimIndex> index = maps.index(0, static_cast<int64_t>(d));
      if (index && index->isDim()) result.dims[*index->dim] = parts;
    }
    mlir::Operation* copy = builder_.clone(op);
    copy->setOperands(operands);
    copy->removeAttr(sdy::kSharding);
    copy->getResult(0).setType(LocalValues::blockType(op.getResult(0).getType(), result));
    values_.set(op.getResult(0), copy->getResult(0), result);
    if (numArrays == 2 && llvm::any_of(op.getOperands(), [&](Value operand) {
          return accumulators_.contains(operand);
        })) {
      accumulators_.insert(op.getResult(0));
    }
    return true;
  }

  // Computes blocks where a rule says how, else the whole on every device.
  Status buildOperation(mlir::Operation& op) {
    if (numPartitions_ > 1 && buildOnPartialSums(op)) return {};
    std::vector<MeshSharding> operandShardings;
    for (Value operand : op.getOperands()) operandShardings.push_back(values_.shardingOf(operand));
    if (buildFirstRows(op, operandShardings)) return {};
    std::optional<SplitRule> rule =
        splitRule(&op, operandShardings, wantedResults(op, operandShardings), /*mayMove=*/true);
    if (auto iota = llvm::dyn_cast<shlo::IotaOp>(op); iota && rule) {
      mlir::Type type = LocalValues::blockType(op.getResultTypes()[0], rule->results[0]);
      values_.set(
          op.getResult(0),
          spmd_.iota(llvm::cast<RankedTensorType>(type),
                     static_cast<int64_t>(iota.getIotaDimension()), rule->results[0], op.getLoc()),
          rule->results[0]);
      return {};
    }
    llvm::SmallVector<Value> operands;
    for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
      operands.push_back(rule ? values_.localOf(operand, rule->operands[i], op.getLoc())
                              : values_.fullOf(operand, op.getLoc()));
    }
    if (std::optional<Shift> shift = shiftOf(&op)) {
      MeshSharding sharding =
          rule ? rule->results[0] : replicatedSharding(rankOf(op.getResult(0)), numPartitions_);
      Value moved = shiftBlocks(*shift, shapeOf(op.getResult(0))[shift->dimension], operands,
                                sharding, builder_, spmd_, op.getLoc());
      values_.set(op.getResult(0), moved, sharding);
      return {};
    }
    if (rule && rule->concatenatedDim) {
      const int64_t d = *rule->concatenatedDim;
      const MeshSharding& sharding = rule->results[0];
      Value all = moveRows(concatenatedSources(&op, d, rule->operands),
                           concatenationRequest(&op, d, sharding.shards(d)), operands, nullptr, d,
                           sharding, builder_, spmd_, op.getLoc());
      values_.set(op.getResult(0), all, sharding);
      return {};
    }
    if (rule) {
      addHalos(op, *rule, operands);
      maskPadding(op, *rule, operands);
    }
    std::vector<IndexedBlocks> indexed;
    for (int64_t d : rule ? rule->indexedDims : std::vector<int64_t>()) {
      indexed.emplace_back(&op, d, rule->operands[0], builder_, spmd_);
      indexed.back().localize(operands);
    }
    for (IndexedBlocks& blocks : indexed) blocks.keepOthers(operands);
    mlir::IRMapping mapping;
    for (mlir::Region& region : op.getRegions()) mapCaptured(region, mapping);
    mlir::Operation* copy = builder_.clone(op, mapping);
    copy->setOperands(operands);
    copy->removeAttr(sdy::kSharding);
    if (rule) fitToBlocks(copy, *rule);
    if (auto reverse = llvm::dyn_cast<shlo::ReverseOp>(op); reverse && rule) {
      Value blocks = copy->getResult(0);
      for (int64_t d : reverse.getDimensions()) {
        blocks = spmd_.reverseBlocks(blocks, d, rule->results[0], op.getLoc());
      }
      values_.set(op.getResult(0), blocks, rule->results[0]);
      return {};
    }
    if (llvm::isa<shlo::SelectAndScatterOp>(op) && rule && !rule->halos.empty()) {
      values_.set(op.getResult(0), ownRows(*copy, *rule), rule->results[0]);
      return {};
    }
    if (rule && rule->runsOverBlocks) {
      std::optional<RunningWindow> window = runningWindowOf(llvm::cast<shlo::ReduceWindowOp>(op));
      values_.set(op.getResult(0),
                  runOverBlocks(*window, llvm::cast<shlo::ReduceWindowOp>(copy), rule->results[0],
                                builder_, spmd_),
                  rule->results[0]);
      return {};
    }
    if (rule && !rule->combined.empty()) {
      combineParts(op, copy, *rule);
      return {};
    }
    if (!indexed.empty()) {
      for (auto [i, original] : llvm::enumerate(op.getResults())) {
        Value result = copy->getResult(i);
        for (IndexedBlocks& blocks : indexed) result = blocks.masked(result);
        values_.set(original, result, rule->results[i]);
      }
      return {};
    }
    for (auto [i, original] : llvm::enumerate(op.getResults())) {
      if (rule) {
        values_.set(original, copy->getResult(i), rule->results[i]);
      } else {
        values_.setReplicated(original, copy->getResult(i));
      }
    }
    return {};
  }

  // A sort of which the first rows are enough, and the slices that take them.
  bool buildFirstRows(mlir::Operation& op, llvm::ArrayRef<MeshSharding> operandShardings) {
    auto slice = llvm::dyn_cast<shlo::SliceOp>(op);
    if (auto found = slice ? sorted_.find(slice.getOperand()) : sorted_.end();
        found != sorted_.end()) {
      const auto& [sharding, first] = found->second;
      std::vector<int64_t> limits = sharding.blockShape(shapeOf(slice.getResult()));
      Value rows = shlo::SliceOp::create(builder_, op.getLoc(), first, slice.getStartIndices(),
                                         limits, slice.getStrides());
      values_.set(slice.getResult(), rows, sharding);
      return true;
    }
    auto sort = llvm::dyn_cast<shlo::SortOp>(op);
    std::optional<FirstRows> rows = sort ? firstRowsOf(sort, operandShardings) : std::nullopt;
    if (!rows) return false;
    mlir::IRMapping mapping;
    mapCaptured(op.getRegion(0), mapping);
    auto copy = llvm::cast<shlo::SortOp>(builder_.clone(op, mapping));
    for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
      copy->setOperand(i, values_.localOf(operand, rows->sharding, op.getLoc()));
      copy->getResult(i).setType(copy->getOperand(i).getType());
    }
    copy->removeAttr(sdy::kSharding);
    // What is made of the operands comes before the sort.
    copy->moveBefore(builder_.getBlock(), builder_.getInsertionPoint());
    MeshSharding whole = rows->sharding;
    whole.dims[sort.getDimension()].clear();
    for (auto [original, first] :
         llvm::zip(op.getResults(), sortFirstRows(copy, *rows, builder_, spmd_))) {
      sorted_[original] = {whole, first};
    }
    return true;
  }

  // Gives blocks the rows around them, and what the operation has for rows outside of the array.
  void addHalos(mlir::Operation& op, const SplitRule& rule, llvm::MutableArrayRef<Value> operands) {
    for (const HaloRows& rows : rule.halos) {
      Value fill = llvm::isa<shlo::PadOp>(op) ? operands[1] : nullptr;
      if (auto window = llvm::dyn_cast<shlo::ReduceWindowOp>(op)) {
        fill = operands[window.getInputs().size() + rows.operand];
      }
      RowSource source{shapeOf(op.getOperand(rows.operand))[rows.dim], 0};
      Value& operand = operands[rows.operand];
      if (rows.isPlaced) {
        operand = placeRows(source, rows.request, operand, rows.dim, rule.operands[rows.operand],
                            builder_, spmd_, op.getLoc());
        continue;
      }
      operand = moveRows(source, rows.request, operand, fill, rows.dim, rule.operands[rows.operand],
                         builder_, spmd_, op.getLoc());
    }
  }

  // `copy` scattered to all rows that its windows have; this device's block is among them.
  Value ownRows(mlir::Operation& copy, const SplitRule& rule) {
    auto block = llvm::cast<RankedTensorType>(copy.getResult(0).getType());
    copy.getResult(0).setType(copy.getOperand(0).getType());
    const MeshSharding& sharding = rule.results[0];
    llvm::SmallVector<Value> starts(
        block.getRank(), spmd_.perPartition(std::vector<int64_t>(numPartitions_), copy.getLoc()));
    for (const HaloRows& rows : rule.halos) {
      if (rows.operand != 0) continue;
      std::vector<int64_t> places;
      for (int64_t p = 0; p < numPartitions_; ++p) {
        const int64_t b = sharding.shardIndex(rows.dim, p);
        places.push_back(b * block.getDimSize(rows.dim) - rows.request.starts[b]);
      }
      starts[rows.dim] = spmd_.perPartition(places, copy.getLoc());
    }
    return shlo::DynamicSliceOp::create(builder_, copy.getLoc(), block, copy.getResult(0), starts,
                                        block.getShape());
  }

  // What padding there is does not change sums, nor other reductions.
  void maskPadding(mlir::Operation& op, const SplitRule& rule,
                   llvm::MutableArrayRef<Value> operands) {
    bool hasInits = llvm::isa<shlo::ReduceOp, shlo::ReduceWindowOp>(op);
    for (const MaskedRows& rows : rule.masks) {
      Value& operand = operands[rows.operand];
      Value neutral = hasInits ? operands[operands.size() / 2 + rows.operand]
                               : spmd_.zero(mlir::getElementTypeOrSelf(operand), op.getLoc());
      operand = spmd_.masked(operand, rows.dim, rows.rows, rule.operands[rows.operand], neutral,
                             op.getLoc());
    }
  }

  // `copy` reduced, or scattered, what this device has.
  void combineParts(mlir::Operation& op, mlir::Operation* copy, const SplitRule& rule) {
    const MeshSharding& mesh = rule.results[0];
    if (op.getNumResults() == 1) {
      Value all = spmd_.combine(copy->getResult(0), mesh.groups(rule.combined), copy->getRegion(0),
                                op.getLoc());
      values_.set(op.getResult(0), all, mesh);
      return;
    }
    llvm::SmallVector<Value> wholes =
        spmd_.reduceParts(llvm::cast<shlo::ReduceOp>(copy), mesh, rule.combined);
    for (auto [i, whole] : llvm::enumerate(wholes)) {
      values_.set(op.getResult(i), whole, rule.results[i]);
    }
  }

  Status buildBarrier(mlir::Operation& op) {
    std::vector<MeshSharding> shardings;
    llvm::SmallVector<Value> operands;
    for (Value operand : op.getOperands()) {
      shardings.push_back(values_.shardingOf(operand));
      operands.push_back(values_.localOf(operand, shardings.back(), op.getLoc()));
    }
    mlir::Operation* copy = builder_.clone(op);
    copy->setOperands(operands);
    copy->removeAttr(sdy::kSharding);
    setResults(op, copy, shardings);
    return {};
  }

  // Gives the results of `copy` the types of blocks and sets them as the results of `op`.
  void setResults(mlir::Operation& op, mlir::Operation* copy,
                  llvm::ArrayRef<MeshSharding> shardings) {
    for (auto [i, original] : llvm::enumerate(op.getResults())) {
      mlir::OpResult result = copy->getResult(i);
      result.setType(LocalValues::blockType(original.getType(), shardings[i]));
      values_.set(original, result, shardings[i]);
    }
  }

  // What a loop adds to what it carries, if it does nothing else with that; null if it does.
  static Value addedTo(shlo::WhileOp op, unsigned i) {
    mlir::Block& body = op.getBody().front();
    Value value = body.getArgument(i), added;
    if (!op.getCond().front().getArgument(i).use_empty()) return nullptr;
    while (value.hasOneUse()) {
      mlir::OpOperand& use = *value.getUses().begin();
      mlir::Operation* user = use.getOwner();
      if (user == body.getTerminator()) {
        return use.getOperandNumber() == i ? added : nullptr;
      }
      if (user->getBlock() != &body) return nullptr;
      if (llvm::isa<shlo::AddOp>(user)) {
        added = user->getOperand(1 - use.getOperandNumber());
      } else if (llvm::isa<shlo::DynamicUpdateSliceOp>(user) && use.getOperandNumber() == 0) {
        added = user->getOperand(1);
      } else if (!llvm::isa<sdy::ShardingConstraintOp, sdy::ReshardOp>(user)) {
        return nullptr;
      }
      value = user->getResult(0);
    }
    return nullptr;
  }

  // How `added` is likely to come, if as partial sums.
  std::optional<MeshSharding> likelyPartialSums(Value added) {
    mlir::Operation* op = added.getDefiningOp();
    while (op && llvm::isa<shlo::TransposeOp>(op) && op->getOperand(0).hasOneUse()) {
      op = op->getOperand(0).getDefiningOp();
    }
    if (!op || !sumsUpFactors(op)) return std::nullopt;
    std::vector<MeshSharding> operandShardings, wanted;
    for (Value operand : op->getOperands()) operandShardings.push_back(propagation_.of(operand));
    wanted.push_back(propagation_.of(op->getResult(0)));
    std::optional<SplitRule> rule = splitRule(op, operandShardings, wanted);
    if (!rule || rule->results[0].unreduced.empty()) return std::nullopt;
    return rule->results[0];
  }

  // How a loop may carry sums to which it only adds: as partial sums, which are summed after it.
  std::optional<MeshSharding> partialSumCarry(shlo::WhileOp op, unsigned i,
                                              const MeshSharding& sharding) {
    Value added = addedTo(op, i);
    if (!added || !isSummable(op->getResult(i))) return std::nullopt;
    MeshSharding current = values_.storedShardingOf(op->getOperand(i));
    if (!current.unreduced.empty()) return current;
    std::optional<MeshSharding> partialSums = likelyPartialSums(added);
    // Sums that are to be split are scattered at once.
    if (!partialSums || !sharding.isReplicated() || !partialSums->reduced().isReplicated()) {
      return std::nullopt;
    }
    MeshSharding carried = sharding;
    carried.positionOf = partialSums->positionOf;
    carried.unreduced = partialSums->unreduced;
    return carried;
  }

  // What a loop carries stays split as it comes in, or is cut as its body likes it. What it only
  // reads and would gather each time is gathered once, before.
  Status buildLoop(shlo::WhileOp op) {
    mlir::Block& body = op.getBody().front();
    std::vector<MeshSharding> shardings;
    llvm::SmallVector<Value> operands;
    for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
      Value argument = body.getArgument(i);
      MeshSharding sharding = values_.shardingOf(operand);
      if (body.getTerminator()->getOperand(i) == argument) {
        Value tested = op.getCond().front().getArgument(i);
        bool isKept = propagation_.usersKeep(argument, sharding, tripCount(op)) &&
                      propagation_.usersKeep(tested, sharding);
        if (!isKept) sharding = replicatedSharding(rankOf(operand), numPartitions_);
      } else if (sharding.isReplicated()) {
        sharding = propagation_.of(argument);
      }
      if (std::optional<MeshSharding> partialSums = partialSumCarry(op, i, sharding)) {
        sharding = std::move(*partialSums);
        accumulators_.insert(argument);
      }
      operands.push_back(values_.localOf(operand, sharding, op.getLoc()));
      shardings.push_back(std::move(sharding));
    }
    mlir::Operation* copy = builder_.cloneWithoutRegions(*op);
    copy->setOperands(operands);
    copy->removeAttr(sdy::kSharding);
    std::vector<MeshSharding> predicate = {replicatedSharding(0, numPartitions_)};
    ISTHMUS_RETURN_IF_ERROR(
        buildRegion(op.getCond(), copy->getRegion(0), shardings, operands, predicate));
    ISTHMUS_RETURN_IF_ERROR(
        buildRegion(op.getBody(), copy->getRegion(1), shardings, operands, shardings));
    setResults(*op, copy, shardings);
    return {};
  }

  // Results are split as their users like them, else as the first branch has them.
  Status buildBranches(mlir::Operation& op) {
    Value choice = values_.fullOf(op.getOperand(0), op.getLoc());
    mlir::Operation* copy = builder_.cloneWithoutRegions(op);
    copy->setOperand(0, choice);
    copy->removeAttr(sdy::kSharding);
    std::vector<MeshSharding> shardings;
    for (auto [region, target] : llvm::zip(op.getRegions(), copy->getRegions())) {
      ISTHMUS_RETURN_IF_ERROR(buildRegion(region, target, {}, {}, shardings, op.getResults()));
    }
    setResults(op, copy, shardings);
    return {};
  }

  // Builds `region` into `target`. Its arguments are split as `arguments` says and have the types
  // of `values`; what it returns is split as `returned` says, which it decides for `results` if
  // that is empty.
  Status buildRegion(mlir::Region& region, mlir::Region& target,
                     llvm::ArrayRef<MeshSharding> arguments, llvm::ArrayRef<Value> values,
                     std::vector<MeshSharding>& returned, mlir::ValueRange results = {}) {
    mlir::OpBuilder::InsertionGuard guard(builder_);
    mlir::Block& block = region.front();
    mlir::Block* copy = builder_.createBlock(&target);
    // What the region gathers exists only inside it.
    LocalValues::Snapshot outside = values_.takeSnapshot();
    for (auto [i, argument] : llvm::enumerate(block.getArguments())) {
      values_.set(argument, copy->addArgument(values[i].getType(), argument.getLoc()),
                  arguments[i]);
    }
    ISTHMUS_RETURN_IF_ERROR(buildBlock(block));
    mlir::Operation* terminator = block.getTerminator();
    if (returned.empty()) {
      for (auto [operand, result] : llvm::zip(terminator->getOperands(), results)) {
        MeshSharding wanted = propagation_.of(result);
        returned.push_back(wanted.isReplicated() ? values_.shardingOf(operand) : wanted);
      }
    }
    llvm::SmallVector<Value> blocks;
    for (auto [i, operand] : llvm::enumerate(terminator->getOperands())) {
      blocks.push_back(values_.localOf(operand, returned[i], terminator->getLoc()));
    }
    builder_.clone(*terminator)->setOperands(blocks);
    values_.restore(std::move(outside));
    return {};
  }

  void mapCaptured(mlir::Region& region, mlir::IRMapping& mapping) {
    region.walk([&](mlir::Operation* nested) {
      for (Value operand : nested->getOperands()) {
        if (region.isAncestor(operand.getParentRegion()) || mapping.contains(operand)) continue;
        mapping.map(operand, values_.fullOf(operand, nested->getLoc()));
      }
    });
  }

  mlir::ModuleOp module_;
  CallPartitioner partitionCall_;
  int64_t numPartitions_;
  Propagation propagation_;
  mlir::OpBuilder builder_;
  SpmdBuilder spmd_;
  LocalValues values_;
  llvm::DenseSet<Value> accumulators_;  // which loops carry as partial sums
  // Of sorts of which only the first rows are used, what begins with those.
  llvm::DenseMap<Value, std::pair<MeshSharding, Value>> sorted_;
  int manualDepth_ = 0;  // how many manual computations the current operation is in
};

// Scalar computations (of reductions, sorts, …) have nothing to split: JAX constrains their values
// where axes are left to the compiler.
void dropNestedConstraints(mlir::ModuleOp module) {
  module.walk([](mlir::Operation* op) {
    bool isConstraint =
        llvm::isa<sdy::ShardingConstraintOp, sdy::ReshardOp, sdy::PropagationBarrierOp>(op) ||
        gspmdCall(op, kGspmdConstraint);
    mlir::Operation* parent = op->getParentOp();
    if (!isConstraint || isControlFlow(parent) ||
        llvm::isa<mlir::func::FuncOp, sdy::ManualComputationOp>(parent)) {
      return;
    }
    op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    op->erase();
  });
}

}  // namespace

Status partitionProgram(mlir::ModuleOp module, int64_t numPartitions, const TargetModel& target,
                        CallPartitioner partitionCall) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  if (!main || main.isExternal()) return invalidArgument("the program has no function @main");
  ISTHMUS_RETURN_IF_ERROR(checkGspmdCalls(module));
  ISTHMUS_RETURN_IF_ERROR(resolveReplicaGroups(module));
  dropNestedConstraints(module);
  bool sharded = false;
  module.walk([&](mlir::Operation* op) {
    sharded |= llvm::isa<sdy::SdyDialect>(op->getDialect()) || gspmdCall(op, kGspmdConstraint) ||
               gspmdCall(op, kGspmdToBlocks) || gspmdCall(op, kGspmdToWhole) ||
               gspmdCall(op, kInspectSharding);
  });
  if (numPartitions == 1 && !sharded) {
    module.walk([](mlir::Operation* op) { op->removeAttr(sdy::kSharding); });
    return {};
  }
  if (numPartitions > 1) recognizeShifts(module);
  ISTHMUS_ASSIGN_OR_RETURN(Propagation propagation, Propagation::run(main, module, numPartitions));
  if (numPartitions > 1 && splitWindows(module, propagation)) {
    ISTHMUS_ASSIGN_OR_RETURN(propagation, Propagation::run(main, module, numPartitions));
  }
  ISTHMUS_RETURN_IF_ERROR(
      Partitioner(module, numPartitions, target, std::move(propagation), std::move(partitionCall))
          .run(main));
  for (auto mesh : llvm::make_early_inc_range(module.getOps<sdy::MeshOp>())) mesh.erase();
  return {};
}

}  // namespace isthmus
