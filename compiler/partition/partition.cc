#include "compiler/partition/partition.h"

#include <optional>

#include "compiler/dialect/diagnostics.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/sdy.h"
#include "compiler/partition/gspmd_sharding.h"
#include "compiler/partition/inspect_sharding.h"
#include "compiler/partition/mesh_sharding.h"
#include "compiler/partition/one_device.h"
#include "compiler/partition/propagation.h"
#include "compiler/partition/replica_groups.h"
#include "compiler/partition/split_rules.h"
#include "compiler/partition/spmd_builder.h"
#include "isthmus/log.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace isthmus {
namespace {

using mlir::RankedTensorType;
using mlir::Value;

// The target of JAX's callbacks that each device shall run with its own blocks.
constexpr llvm::StringLiteral kPartitionedCallback = "xla_ffi_partitioned_python_cpu_callback";

// What a device has of one value of the original program.
struct Held {
  Value full;                            // the whole array, once somebody asked for it
  Value local;                           // this device's block
  std::optional<MeshSharding> sharding;  // of `local`
};

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
  Partitioner(mlir::ModuleOp module, int64_t numPartitions, Propagation wishes)
      : module_(module),
        numPartitions_(numPartitions),
        wishes_(std::move(wishes)),
        builder_(module.getContext()),
        spmd_(builder_, largestChannel(module) + 1) {}

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
      ISTHMUS_ASSIGN_OR_RETURN(mlir::Type type, localType(argument.getType(), sharding));
      body.getArgument(i).setType(type);
      function.setArgAttrs(i, interfaceAttributes(main.getArgAttrDict(i), sharding));
      hold(argument, body.getArgument(i), sharding);
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
      MeshSharding sharding = asked ? *asked : heldSharding(operand);
      ISTHMUS_ASSIGN_OR_RETURN(Value local, localOf(operand, sharding, terminator->getLoc()));
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

  StatusOr<mlir::Type> localType(mlir::Type type, const MeshSharding& sharding) {
    if (sharding.isReplicated()) return type;
    auto ranked = llvm::cast<RankedTensorType>(type);
    ISTHMUS_ASSIGN_OR_RETURN(std::vector<int64_t> shape, sharding.localShape(ranked.getShape()));
    return mlir::Type(RankedTensorType::get(shape, ranked.getElementType()));
  }

  void hold(Value original, Value local, const MeshSharding& sharding) {
    Held& held = held_[original];
    held.local = local;
    held.sharding = sharding;
    if (sharding.isReplicated()) held.full = local;
  }

  void holdFull(Value original, Value full) { held_[original].full = full; }

  // How a value is split on the devices, once it is summed; not at all if every device has it
  // whole.
  MeshSharding heldSharding(Value original) {
    const Held& held = held_[original];
    return held.local && held.sharding ? held.sharding->settled()
                                       : replicatedSharding(rankOf(original), numPartitions_);
  }

  Value fullOf(Value original, mlir::Location location) {
    settle(original, location);
    Held& held = held_[original];
    if (!held.full) {
      if (logs(LogLevel::kInfo)) {
        std::string type;
        llvm::raw_string_ostream(type) << original.getType();
        log(LogLevel::kInfo, "partition: gathers ", type, " for ", sourceLocation(location),
            ", where no rule keeps it split");
      }
      held.full = spmd_.gather(held.local, *held.sharding, location);
    }
    return held.full;
  }

  // Sums what the devices have, if they have only summands.
  void settle(Value original, mlir::Location location) {
    Held& held = held_[original];
    if (!held.local || held.sharding->unreduced.empty()) return;
    Value sum = spmd_.sum(held.local, held.sharding->groups(held.sharding->unreduced), location);
    hold(original, sum, held.sharding->settled());
  }

  StatusOr<Value> localOf(Value original, const MeshSharding& sharding, mlir::Location location) {
    auto isHeld = [&] {
      const Held& held = held_[original];
      return held.local && held.sharding->hasSameBlocks(sharding);
    };
    if (isHeld()) return held_[original].local;
    settle(original, location);
    if (std::optional<int64_t> d = placeable(held_[original], sharding)) {
      return spmd_.place(held_[original].local, *d, *held_[original].sharding, location);
    }
    Held& held = held_[original];
    if (isHeld()) return held.local;
    if (!sharding.unreduced.empty()) {
      ISTHMUS_ASSIGN_OR_RETURN(Value sum, localOf(original, sharding.settled(), location));
      return spmd_.summand(sum, sharding.groups(sharding.unreduced), location);
    }
    if (sharding.isReplicated()) return fullOf(original, location);
    if (std::optional<MeshSharding> excess = excessOver(held, sharding)) {
      return spmd_.gather(held.local, *excess, location);
    }
    auto type = llvm::cast<RankedTensorType>(original.getType());
    ISTHMUS_ASSIGN_OR_RETURN(std::vector<int64_t> shape, sharding.localShape(type.getShape()));
    if (mlir::SplatElementsAttr splat; mlir::matchPattern(original, mlir::m_Constant(&splat))) {
      auto block = RankedTensorType::get(shape, type.getElementType());
      return Value(shlo::ConstantOp::create(builder_, location, splat.resizeSplat(block)));
    }
    return spmd_.slice(fullOf(original, location), sharding, shape, location);
  }

  // The dimension whose blocks are summands of what `wanted` sums, if all else is split alike.
  std::optional<int64_t> placeable(const Held& held, const MeshSharding& wanted) {
    if (wanted.unreduced.empty() || !held.local || held.sharding->positionOf != wanted.positionOf) {
      return std::nullopt;
    }
    auto d = llvm::find(held.sharding->dims, wanted.unreduced);
    if (d == held.sharding->dims.end()) return std::nullopt;
    MeshSharding rest = *held.sharding;
    int64_t found = d - held.sharding->dims.begin();
    rest.dims[found].clear();
    return rest == wanted.settled() ? std::optional(found) : std::nullopt;
  }

  // The splits of dimensions that `wanted` has whole, if all other dimensions are split alike.
  std::optional<MeshSharding> excessOver(const Held& held, const MeshSharding& wanted) {
    if (!held.local || held.sharding->positionOf != wanted.positionOf) return std::nullopt;
    MeshSharding excess = *held.sharding;
    for (size_t d = 0; d < wanted.dims.size(); ++d) {
      if (excess.dims[d] == wanted.dims[d]) {
        excess.dims[d].clear();
      } else if (!wanted.dims[d].empty()) {
        return std::nullopt;
      }
    }
    return excess;
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
        held_[op.getResult(0)] = Held(held_[op.getOperand(0)]);
      } else if (llvm::isa<sdy::ShardingGroupOp>(op)) {
        continue;
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
    return constrain(op, sharding, isOpen(asked));
  }

  Status constrain(mlir::Operation& op, const MeshSharding& sharding, bool isOpen) {
    Value operand = op.getOperand(0);
    auto type = llvm::dyn_cast<RankedTensorType>(operand.getType());
    if (numPartitions_ == 1 || (isOpen && sharding.isReplicated()) || !type ||
        !sharding.localShape(type.getShape()).ok()) {
      // A constraint may ask for blocks of unequal sizes; the array is right without it.
      held_[op.getResult(0)] = Held(held_[operand]);
      return {};
    }
    ISTHMUS_ASSIGN_OR_RETURN(Value local, localOf(operand, sharding, op.getLoc()));
    Value full = held_[operand].full;
    hold(op.getResult(0), local, sharding);
    if (full) holdFull(op.getResult(0), full);
    return {};
  }

  // A custom call that not all devices run alike.
  StatusOr<bool> buildSpecialCall(mlir::Operation& op) {
    auto call = llvm::dyn_cast<shlo::CustomCallOp>(op);
    if (!call) return false;
    if (call.getCallTargetName() == kInspectSharding && op.getNumOperands() == 1 &&
        op.getNumResults() == 1) {
      ISTHMUS_RETURN_IF_ERROR(
          reportSharding(call, manualDepth_ > 0 ? manualOpSharding()
                                                : heldSharding(op.getOperand(0)).toOpSharding()));
      held_[op.getResult(0)] = Held(held_[op.getOperand(0)]);
      return true;
    }
    if (gspmdCall(&op, kGspmdConstraint) || gspmdCall(&op, kGspmdToBlocks) ||
        gspmdCall(&op, kGspmdToWhole)) {
      ISTHMUS_RETURN_IF_ERROR(buildGspmd(call).withContext(sourceLocation(op.getLoc())));
      return true;
    }
    if (numPartitions_ == 1) return false;
    bool isPartitioned = call.getCallTargetName() == kPartitionedCallback;
    if (isPartitioned && llvm::all_of(op.getResultTypes(), llvm::IsaPred<shlo::TokenType>)) {
      // Each device calls its function with what it has.
      llvm::SmallVector<Value> operands;
      for (Value operand : op.getOperands()) {
        ISTHMUS_ASSIGN_OR_RETURN(Value block, localOf(operand, heldSharding(operand), op.getLoc()));
        operands.push_back(block);
      }
      mlir::Operation* copy = builder_.clone(op);
      copy->setOperands(operands);
      copy->removeAttr(sdy::kSharding);
      for (auto [original, result] : llvm::zip(op.getResults(), copy->getResults())) {
        holdFull(original, result);
      }
      return true;
    }
    ISTHMUS_ASSIGN_OR_RETURN(std::optional<int64_t> partition,
                             onlyPartitionOf(call, numPartitions_));
    if (!partition) return false;
    llvm::SmallVector<Value> operands;
    for (Value operand : op.getOperands()) operands.push_back(fullOf(operand, op.getLoc()));
    llvm::SmallVector<Value> results =
        callOnOnePartition(call, operands, *partition, numPartitions_, builder_, spmd_);
    for (auto [original, result] : llvm::zip(op.getResults(), results)) holdFull(original, result);
    return true;
  }

  // A constraint of GSPMD, or a border between the program and code for one device: blocks of the
  // value there are values of the program here.
  Status buildGspmd(shlo::CustomCallOp call) {
    Value operand = call->getOperand(0), result = call->getResult(0);
    if (call.getCallTargetName() == kGspmdToBlocks) {
      // The constraint before the border says how it cuts.
      std::optional<MeshSharding> asked;
      mlir::Operation* before = operand.getDefiningOp();
      if (before && gspmdCall(before, kGspmdConstraint)) {
        ISTHMUS_ASSIGN_OR_RETURN(
            asked, gspmdShardingOf(llvm::cast<shlo::CustomCallOp>(before), numPartitions_));
      }
      MeshSharding sharding = asked ? *asked : heldSharding(operand);
      ISTHMUS_ASSIGN_OR_RETURN(Value local, localOf(operand, sharding, call.getLoc()));
      if (local.getType() != result.getType()) {
        return invalidArgument("partition: @", kGspmdToBlocks.str(),
                               " does not give the type of its operand's block");
      }
      holdFull(result, local);
      return {};
    }
    ISTHMUS_ASSIGN_OR_RETURN(std::optional<MeshSharding> asked,
                             gspmdShardingOf(call, numPartitions_));
    if (call.getCallTargetName() == kGspmdToWhole) {
      MeshSharding sharding = asked ? *asked : replicatedSharding(rankOf(result), numPartitions_);
      Value local = fullOf(operand, call.getLoc());
      ISTHMUS_ASSIGN_OR_RETURN(mlir::Type type, localType(result.getType(), sharding));
      if (local.getType() != type) {
        return invalidArgument("partition: @", kGspmdToWhole.str(),
                               " does not give the array that its operand is a block of");
      }
      hold(result, local, sharding);
      return {};
    }
    // Dimensions that are left to the compiler are named in the backend_config.
    auto config = llvm::dyn_cast_or_null<mlir::StringAttr>(call.getBackendConfigAttr());
    bool isOpen = !asked || (config && config.getValue().contains("unspecified_dims"));
    return constrain(*call, asked ? *asked : replicatedSharding(rankOf(result), numPartitions_),
                     isOpen);
  }

  // The region is per-device code over the manual axes.
  Status buildManual(sdy::ManualComputationOp op) {
    std::vector<std::string> axes = manualAxesOf(op);
    mlir::Block& body = op.getBody().front();
    for (auto [i, operand] : llvm::enumerate(op.getTensors())) {
      ISTHMUS_ASSIGN_OR_RETURN(MeshSharding sharding,
                               resolveSharding(op.getInShardings().getShardings()[i],
                                               rankOf(operand), numPartitions_, module_, &axes));
      ISTHMUS_ASSIGN_OR_RETURN(Value local, localOf(operand, sharding, op.getLoc()));
      if (local.getType() != body.getArgument(i).getType()) {
        return invalidArgument("partition: manual_computation argument ", i,
                               " does not have the type of its operand's block");
      }
      holdFull(body.getArgument(i), local);
    }
    ++manualDepth_;
    ISTHMUS_RETURN_IF_ERROR(buildBlock(body));
    --manualDepth_;
    for (auto [i, returned] : llvm::enumerate(body.getTerminator()->getOperands())) {
      Value result = op->getResult(i);
      ISTHMUS_ASSIGN_OR_RETURN(MeshSharding sharding,
                               resolveSharding(op.getOutShardings().getShardings()[i],
                                               rankOf(result), numPartitions_, module_, &axes));
      hold(result, fullOf(returned, op.getLoc()), sharding);
    }
    return {};
  }

  // How the results of `op` would be liked. What is made of whole operands alone is cut only if
  // nobody needs it whole.
  std::vector<MeshSharding> wantedResults(mlir::Operation& op, llvm::ArrayRef<MeshSharding> held) {
    bool isWhole = llvm::all_of(held, [](const MeshSharding& one) { return one.isReplicated(); });
    std::vector<MeshSharding> wanted;
    for (Value result : op.getResults()) {
      MeshSharding sharding = wishes_.of(result);
      bool isRefused = isWhole && !sharding.isReplicated() && !wishes_.usersKeep(result, sharding);
      wanted.push_back(isRefused ? replicatedSharding(rankOf(result), numPartitions_) : sharding);
    }
    return wanted;
  }

  // Computes blocks where a rule says how, else the whole on every device.
  Status buildOperation(mlir::Operation& op) {
    std::vector<MeshSharding> held;
    for (Value operand : op.getOperands()) held.push_back(heldSharding(operand));
    std::optional<SplitRule> rule = splitRule(&op, held, wantedResults(op, held));
    if (auto iota = llvm::dyn_cast<shlo::IotaOp>(op); iota && rule) {
      ISTHMUS_ASSIGN_OR_RETURN(mlir::Type type,
                               localType(op.getResultTypes()[0], rule->results[0]));
      hold(op.getResult(0),
           spmd_.iota(llvm::cast<RankedTensorType>(type),
                      static_cast<int64_t>(iota.getIotaDimension()), rule->results[0], op.getLoc()),
           rule->results[0]);
      return {};
    }
    llvm::SmallVector<Value> operands;
    for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
      Value block;
      if (rule) {
        ISTHMUS_ASSIGN_OR_RETURN(block, localOf(operand, rule->operands[i], op.getLoc()));
      } else {
        block = fullOf(operand, op.getLoc());
      }
      operands.push_back(block);
    }
    mlir::IRMapping mapping;
    for (mlir::Region& region : op.getRegions()) mapCaptured(region, mapping);
    mlir::Operation* copy = builder_.clone(op, mapping);
    copy->setOperands(operands);
    copy->removeAttr(sdy::kSharding);
    if (rule) fitToBlocks(copy, *rule);
    if (auto reverse = llvm::dyn_cast<shlo::ReverseOp>(op); reverse && rule) {
      Value blocks = copy->getResult(0);
      for (int64_t d : reverse.getDimensions()) {
        blocks = spmd_.mirror(blocks, d, rule->results[0], op.getLoc());
      }
      hold(op.getResult(0), blocks, rule->results[0]);
      return {};
    }
    if (rule && !rule->combined.empty()) {
      Value all = spmd_.combine(copy->getResult(0), rule->results[0].groups(rule->combined),
                                op.getRegion(0), op.getLoc());
      hold(op.getResult(0), all, rule->results[0]);
      return {};
    }
    for (auto [i, original] : llvm::enumerate(op.getResults())) {
      if (rule) {
        hold(original, copy->getResult(i), rule->results[i]);
      } else {
        holdFull(original, copy->getResult(i));
      }
    }
    return {};
  }

  Status buildBarrier(mlir::Operation& op) {
    std::vector<MeshSharding> shardings;
    llvm::SmallVector<Value> operands;
    for (Value operand : op.getOperands()) {
      shardings.push_back(heldSharding(operand));
      ISTHMUS_ASSIGN_OR_RETURN(Value block, localOf(operand, shardings.back(), op.getLoc()));
      operands.push_back(block);
    }
    mlir::Operation* copy = builder_.clone(op);
    copy->setOperands(operands);
    copy->removeAttr(sdy::kSharding);
    holdResults(op, copy, shardings);
    return {};
  }

  // Gives the results of `copy` the types of blocks and holds them as the results of `op`.
  void holdResults(mlir::Operation& op, mlir::Operation* copy,
                   llvm::ArrayRef<MeshSharding> shardings) {
    for (auto [i, original] : llvm::enumerate(op.getResults())) {
      mlir::OpResult result = copy->getResult(i);
      if (auto type = localType(original.getType(), shardings[i]); type.ok()) result.setType(*type);
      hold(original, result, shardings[i]);
    }
  }

  // What a loop carries stays split as it comes in, or is cut as its body likes it. What it only
  // reads and would gather each time is gathered once, before.
  Status buildLoop(shlo::WhileOp op) {
    mlir::Block& body = op.getBody().front();
    std::vector<MeshSharding> shardings;
    llvm::SmallVector<Value> operands;
    for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
      Value argument = body.getArgument(i);
      MeshSharding sharding = heldSharding(operand);
      if (body.getTerminator()->getOperand(i) == argument) {
        bool isKept = wishes_.usersKeep(argument, sharding) &&
                      wishes_.usersKeep(op.getCond().front().getArgument(i), sharding);
        if (!isKept) sharding = replicatedSharding(rankOf(operand), numPartitions_);
      } else if (sharding.isReplicated()) {
        sharding = wishes_.of(argument);
      }
      ISTHMUS_ASSIGN_OR_RETURN(Value value, localOf(operand, sharding, op.getLoc()));
      operands.push_back(value);
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
    holdResults(*op, copy, shardings);
    return {};
  }

  // Results are split as their users like them, else as the first branch has them.
  Status buildBranches(mlir::Operation& op) {
    Value choice = fullOf(op.getOperand(0), op.getLoc());
    mlir::Operation* copy = builder_.cloneWithoutRegions(op);
    copy->setOperand(0, choice);
    copy->removeAttr(sdy::kSharding);
    std::vector<MeshSharding> shardings;
    for (auto [region, target] : llvm::zip(op.getRegions(), copy->getRegions())) {
      ISTHMUS_RETURN_IF_ERROR(buildRegion(region, target, {}, {}, shardings, op.getResults()));
    }
    holdResults(op, copy, shardings);
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
    llvm::DenseMap<Value, Held> outside = held_;
    for (auto [i, argument] : llvm::enumerate(block.getArguments())) {
      hold(argument, copy->addArgument(values[i].getType(), argument.getLoc()), arguments[i]);
    }
    ISTHMUS_RETURN_IF_ERROR(buildBlock(block));
    mlir::Operation* terminator = block.getTerminator();
    if (returned.empty()) {
      for (auto [operand, result] : llvm::zip(terminator->getOperands(), results)) {
        MeshSharding wanted = wishes_.of(result);
        returned.push_back(wanted.isReplicated() ? heldSharding(operand) : wanted);
      }
    }
    llvm::SmallVector<Value> blocks;
    for (auto [i, operand] : llvm::enumerate(terminator->getOperands())) {
      ISTHMUS_ASSIGN_OR_RETURN(Value value, localOf(operand, returned[i], terminator->getLoc()));
      blocks.push_back(value);
    }
    builder_.clone(*terminator)->setOperands(blocks);
    held_ = std::move(outside);
    return {};
  }

  void mapCaptured(mlir::Region& region, mlir::IRMapping& mapping) {
    region.walk([&](mlir::Operation* nested) {
      for (Value operand : nested->getOperands()) {
        if (region.isAncestor(operand.getParentRegion()) || mapping.contains(operand)) continue;
        mapping.map(operand, fullOf(operand, nested->getLoc()));
      }
    });
  }

  mlir::ModuleOp module_;
  int64_t numPartitions_;
  Propagation wishes_;
  mlir::OpBuilder builder_;
  SpmdBuilder spmd_;
  llvm::DenseMap<Value, Held> held_;
  int manualDepth_ = 0;  // how many manual computations the current operation is in
};

// Scalar computations (of reductions, sorts, …) have nothing to split: JAX constrains their values
// where axes are left to the compiler.
void dropNestedConstraints(mlir::ModuleOp module) {
  module.walk([](mlir::Operation* op) {
    bool isConstraint =
        llvm::isa<sdy::ShardingConstraintOp, sdy::ReshardOp, sdy::PropagationBarrierOp>(op) ||
        gspmdCall(op, kGspmdConstraint);
    if (!isConstraint || llvm::isa<mlir::func::FuncOp, sdy::ManualComputationOp, shlo::WhileOp,
                                   shlo::CaseOp, shlo::IfOp>(op->getParentOp())) {
      return;
    }
    op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    op->erase();
  });
}

}  // namespace

Status partitionProgram(mlir::ModuleOp module, int64_t numPartitions) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  if (!main || main.isExternal()) return invalidArgument("the program has no function @main");
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
  ISTHMUS_ASSIGN_OR_RETURN(Propagation wishes, Propagation::run(main, module, numPartitions));
  ISTHMUS_RETURN_IF_ERROR(Partitioner(module, numPartitions, std::move(wishes)).run(main));
  for (auto mesh : llvm::make_early_inc_range(module.getOps<sdy::MeshOp>())) mesh.erase();
  return {};
}

}  // namespace isthmus
