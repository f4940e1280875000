// From a fused program to the steps of a device.
#include "compiler/driver/device_codegen.h"

#include <algorithm>
#include <limits>

#include "compiler/codegen/kernel_emitter.h"
#include "compiler/cost/library_time.h"
#include "compiler/cost/time.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/facts/trip_count.h"
#include "compiler/driver/host_loops.h"
#include "compiler/driver/step_fusion.h"
#include "compiler/driver/swap_addresses.h"
#include "compiler/plan/op_error.h"
#include "compiler/program/constant_bytes.h"
#include "compiler/schedule/attention/attention.h"
#include "compiler/schedule/data/data_scheduler.h"
#include "compiler/schedule/loop/sharing.h"
#include "isthmus/flags.h"
#include "isthmus/log.h"
#include "isthmus/trace.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace isthmus {
namespace {

void addMoves(const std::vector<Move>& moves, std::vector<Step>& steps) {
  for (const Move& move : moves) {
    if (move.to.bytes > 0) steps.push_back({move});
  }
}

bool callsHost(const std::vector<Step>& steps) {
  return !forEachStep(
      steps, [](const Step& step) { return !std::holds_alternative<HostCall>(step.what); });
}

}  // namespace

Status DeviceCodegen::select(std::span<const Computation> computations) {
  for (const Computation& computation : computations) {
    StatusOr<OperationCode> code = selectOne(computation.op);
    if (code.status().code() == StatusCode::kUnimplemented) {
      code = fallBack(computation.op, code.status());
    }
    if (!code.ok()) return code.status();
    code_[computation.op] = *std::move(code);
  }
  return {};
}

StatusOr<DeviceCodegen::OperationCode> DeviceCodegen::selectOne(mlir::Operation* op) {
  OperationCode code;
  if (auto fusion = llvm::dyn_cast<ir::FusionOp>(op)) {
    ISTHMUS_ASSIGN_OR_RETURN(std::optional<OtherCode> other, selectFusion(fusion));
    if (other) {
      static_cast<OtherCode&>(code) = *std::move(other);
      return code;
    }
    ISTHMUS_RETURN_IF_ERROR(mayHaveKernel(op));
    if (!kernels().hasRoomFor(op)) {
      ISTHMUS_ASSIGN_OR_RETURN(code.hostFunction, addHostFunction(op));
      return code;
    }
    ISTHMUS_ASSIGN_OR_RETURN(code.kernels, kernels().add(fusion));
  } else {
    ISTHMUS_ASSIGN_OR_RETURN(static_cast<OtherCode&>(code), selectOther(op));
  }
  return code;
}

StatusOr<DeviceCodegen::OperationCode> DeviceCodegen::fallBack(mlir::Operation* op,
                                                               const Status& why) {
  const std::string& where = flagString("ISTHMUS_FALLBACK");
  if (where.empty()) return why;
  if (where != "cpu") {
    return invalidArgument("ISTHMUS_FALLBACK is ", where, ", expected cpu or nothing");
  }
  StatusOr<int> function = addHostFunction(op);
  if (!function.ok()) {
    return function.status().code() == StatusCode::kUnimplemented ? why : function.status();
  }
  log(LogLevel::kWarning, "ISTHMUS_FALLBACK: ", why.message(), "; the CPU does it instead");
  OperationCode code;
  code.hostFunction = *function;
  return code;
}

bool DeviceCodegen::canShare(mlir::Operation* op, unsigned operand, unsigned result) const {
  auto fusion = llvm::dyn_cast<ir::FusionOp>(op);
  auto it = code_.find(op);
  const bool repeatsElements =
      it != code_.end() && it->second.kernels && it->second.kernels->repeatsElements;
  const bool isOfLibrary = it != code_.end() && it->second.libraryCall >= 0;
  // What is computed twice reads its operands twice, and a library in an order of its own.
  if (!fusion || repeatsElements || isOfLibrary) return false;
  // Sums of a product with an epilogue stay in registers.
  return canShareBuffer(fusion, operand, result,
                        attentionOf(fusion) ? SumsPlace::kResult : SumsPlace::kApart);
}

bool DeviceCodegen::prefersInPlace(mlir::Operation* op, unsigned operand, unsigned result) const {
  auto fusion = llvm::dyn_cast<ir::FusionOp>(op);
  return fusion && fusion.updatesInPlace() && canShareBuffer(fusion, operand, result);
}

int64_t DeviceCodegen::scratchBytes(mlir::Operation* op) const {
  auto it = code_.find(op);
  return it == code_.end() ? 0 : it->second.scratchBytes();
}

Status DeviceCodegen::placeConstants(const MemoryPlan& plan) {
  for (mlir::Operation* op : plan.constants()) {
    StatusOr<std::string> bytes = constantBytes(op->getAttr("value"));
    if (!bytes.ok()) return atOp(op, bytes.status());
    program_.constants.resize(llvm::alignTo(program_.constants.size(), kBufferAlignment));
    program_.constantOffsets.push_back(static_cast<int64_t>(program_.constants.size()));
    program_.constants += *bytes;
  }
  return {};
}

void DeviceCodegen::placeSlots(const MemoryPlan& plan) {
  program_.arenaBytes = plan.arenaBytes();
  int64_t end = program_.arenaBytes;
  for (int64_t bytes : plan.stackSlots()) {
    end = static_cast<int64_t>(llvm::alignTo(end, kBufferAlignment));
    program_.slotOffsets.push_back(end);
    end += bytes;
  }
  program_.scratchBytes = end;
  program_.info.memory.tempBytes = end;
}

Status DeviceCodegen::addOperation(mlir::Operation* op, const MemoryPlan& plan,
                                   std::vector<Step>& steps) {
  auto it = code_.find(op);
  if (it == code_.end()) return unsupportedOp(op, "the backend has no code for it");
  OperationCode& code = it->second;
  auto placesOf = [&](mlir::ValueRange values) {
    std::vector<Location> places;
    for (mlir::Value value : values) {
      if (llvm::isa<mlir::RankedTensorType>(value.getType())) places.push_back(plan.locate(value));
    }
    return places;
  };
  std::vector<Location> operands = placesOf(op->getOperands());
  std::vector<Location> results = placesOf(op->getResults());
  if (code.hostFunction >= 0) {
    steps.push_back(
        {HostCall{code.hostFunction, std::move(operands), std::move(results), profileStep(op)}});
    return {};
  }
  if (!code.libraryOperands.empty()) {
    std::vector<Location> wanted;
    for (unsigned operand : code.libraryOperands) wanted.push_back(operands[operand]);
    operands = std::move(wanted);
  }
  auto inputs = static_cast<int>(operands.size());
  std::vector<Location> buffers = std::move(operands);
  buffers.insert(buffers.end(), results.begin(), results.end());
  if (code.scratchBytes() > 0) buffers.push_back(plan.scratchOf(op));
  if (code.libraryCall >= 0) {
    steps.push_back({LibraryCall{code.libraryCall, std::move(buffers), profileStep(op)}});
    return {};
  }
  const int32_t step = profileStep(op);
  bool isFirst = true;
  for (const codegen::KernelModule::Stage& stage : code.kernels->stages) {
    bool isInPlace =
        stage.copiesFrom >= 0 && buffers[stage.copiesFrom].isSamePlace(buffers[stage.copiesTo]);
    if (isInPlace) continue;
    steps.push_back({KernelLaunch{stage.kernel, inputs, buffers, step, !isFirst}});
    isFirst = false;
  }
  return {};
}

void DeviceCodegen::giveLoopToHost(mlir::Operation* loop, const MemoryPlan& plan) {
  if (!isHost()) return;
  const TargetModel& target = kernels().form().target;
  llvm::SmallVector<mlir::Operation*, 8> others;  // that the host does not carry out anyway
  double kernelNs = 0;                            // of the largest one, on one thread
  double productNs = 0;                           // the same of products
  double roundNs = 0;  // of a round, on one thread; those of loops inside counted once
  double launches = 0;
  bool isOfLibrary = false;
  bool hasHostCall = false;
  loop->walk([&](mlir::Operation* op) {
    const OpRole around = roleOf(op->getParentOp());
    if (roleOf(op) == OpRole::kTerminator &&
        (around == OpRole::kWhile || around == OpRole::kBranch)) {
      for (const Move& move : plan.movesAt(op)) {
        if (move.to.isSamePlace(move.from)) continue;
        const auto bytes = static_cast<double>(move.to.bytes);
        kernelNs = std::max(kernelNs, 2 * bytes / target.memoryBytesPerNs);
        // As a kernel of one thread copies.
        roundNs += oneByOneNs(target, bytes / sizeof(int64_t));
        ++launches;
      }
    }
    auto it = code_.find(op);
    if (it == code_.end()) return;
    const OperationCode& code = it->second;
    isOfLibrary |= code.libraryCall >= 0;
    hasHostCall |= code.hostFunction >= 0;
    if (code.hostFunction < 0) others.push_back(op);
    if (!code.kernels) return;
    double ns = 0;
    for (const codegen::KernelModule::Stage& stage : code.kernels->stages) {
      // Loops update what they carry in place.
      if (stage.copiesFrom >= 0) continue;
      ns += stage.ns;
      ++launches;
    }
    kernelNs = std::max(kernelNs, ns);
    if (const Work work = workOf(op); work.products > 0) {
      productNs = std::max(productNs, contractionNs(target, work.products));
      // As the kernel of one thread would read its operands; what comes before copies some.
      const int kernel = code.kernels->stages.back().kernel;
      const bool isVector = kernels().kernels()[static_cast<size_t>(kernel)].isVector;
      ns = std::max(ns, repeatedProductNs(target, work, isVector));
    }
    roundNs += ns;
  });
  if (isOfLibrary) return;
  // A round of less work needs no launches, since the loop becomes a kernel.
  const bool isKernel = roundNs <= std::max(target.fusedStepsNs, target.commandNs * launches);
  const bool isLittle = hasHostCall
                            ? kernelNs <= target.hostRoundNs
                            : !isKernel && std::max(kernelNs, productNs) <= target.launchedRoundNs;
  if (!isLittle) return;
  // All or none.
  llvm::SmallVector<int, 8> functions;
  for (mlir::Operation* op : others) {
    StatusOr<int> function = addHostFunction(op);
    if (!function.ok()) return;
    functions.push_back(*function);
  }
  for (auto [op, function] : llvm::zip(others, functions)) code_[op].hostFunction = function;
}

Status DeviceCodegen::addLoop(mlir::Operation* op, const MemoryPlan& plan,
                              std::vector<Step>& steps) {
  giveLoopToHost(op, plan);
  addMoves(plan.movesInto(op), steps);
  Loop loop;
  mlir::Block& condition = op->getRegion(0).front();
  ISTHMUS_RETURN_IF_ERROR(addSteps(condition, plan, loop.condition));
  loop.predicate = plan.locate(condition.getTerminator()->getOperand(0));
  if (loop.predicate.bytes != 1) {
    return internalError("a predicate of ", loop.predicate.bytes, " bytes");
  }
  mlir::Block& body = op->getRegion(1).front();
  ISTHMUS_RETURN_IF_ERROR(addSteps(body, plan, loop.body));
  addMoves(plan.movesAt(&body.back()), loop.body);
  // What the host does in a condition may be seen from outside.
  if (!callsHost(loop.condition)) {
    loop.rounds = tripCount(llvm::cast<shlo::WhileOp>(op)).value_or(-1);
  }
  steps.push_back({std::move(loop)});
  return {};
}

Status DeviceCodegen::addBranch(mlir::Operation* op, const MemoryPlan& plan,
                                std::vector<Step>& steps) {
  Branch branch;
  branch.isIf = llvm::isa<shlo::IfOp>(op);
  branch.index = plan.locate(op->getOperand(0));
  if (branch.index.bytes != (branch.isIf ? 1 : 4)) {
    return internalError("an index of a branch of ", branch.index.bytes, " bytes");
  }
  for (mlir::Region& region : op->getRegions()) {
    std::vector<Step>& inner = branch.branches.emplace_back();
    ISTHMUS_RETURN_IF_ERROR(addSteps(region.front(), plan, inner));
    addMoves(plan.movesAt(&region.front().back()), inner);
  }
  steps.push_back({std::move(branch)});
  return {};
}

Status DeviceCodegen::addSteps(mlir::Block& block, const MemoryPlan& plan,
                               std::vector<Step>& steps) {
  for (mlir::Operation& op : block) {
    switch (roleOf(&op)) {
      case OpRole::kConstant:
      case OpRole::kView:
      case OpRole::kNothing:
      case OpRole::kTerminator:
        break;
      case OpRole::kWhile:
        ISTHMUS_RETURN_IF_ERROR(addLoop(&op, plan, steps));
        break;
      case OpRole::kBranch:
        ISTHMUS_RETURN_IF_ERROR(addBranch(&op, plan, steps));
        break;
      case OpRole::kCompute:
        ISTHMUS_RETURN_IF_ERROR(addOperation(&op, plan, steps));
        break;
    }
  }
  return {};
}

double DeviceCodegen::estimateNs(const std::vector<Step>& steps) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  const TargetModel& target = kernels().form().target;
  llvm::DenseMap<int, double> kernelNs;
  for (const auto& [op, code] : code_) {
    if (!code.kernels) continue;
    double ns = 0;
    for (const codegen::KernelModule::Stage& stage : code.kernels->stages) ns += stage.ns;
    // Only those of fusions know.
    if (ns == 0) ns = libraryNs(target, op);
    const auto launches = static_cast<double>(code.kernels->stages.size());
    for (const codegen::KernelModule::Stage& stage : code.kernels->stages) {
      kernelNs[stage.kernel] = ns / launches;
    }
  }
  double ns = 0;
  forEachStep(steps, [&](const Step& step) {
    if (auto* launch = std::get_if<KernelLaunch>(&step.what)) {
      ns += kernelNs.at(launch->kernel);
    } else if (auto* move = std::get_if<Move>(&step.what)) {
      ns += trafficNs(target, 2 * static_cast<double>(move->to.bytes));
    } else if (!std::holds_alternative<Branch>(step.what)) {
      ns = kUnknown;
    }
    return ns != kUnknown;
  });
  return ns;
}

std::string DeviceCodegen::kernelText() {
  std::string text;
  llvm::raw_string_ostream out(text);
  kernels().module().print(out, nullptr);
  return text;
}

Status DeviceCodegen::generate(mlir::func::FuncOp main, const MemoryPlan& plan) {
  trace::Scope scope("stage", "generate");
  placeSlots(plan);
  ISTHMUS_RETURN_IF_ERROR(placeConstants(plan));
  mlir::Block& body = main.getBody().front();
  ISTHMUS_RETURN_IF_ERROR(addSteps(body, plan, program_.steps));
  addMoves(plan.movesAt(body.getTerminator()), program_.steps);
  program_.estimatedNs = estimateNs(program_.steps);
  KernelOrigins origins;
  for (auto& [op, code] : code_) {
    if (!code.kernels || !mayFuseStep(op, kernels().form().target)) continue;
    for (auto [number, stage] : llvm::enumerate(code.kernels->stages)) {
      origins[stage.kernel] = {op, number, stage.ns};
    }
  }
  ISTHMUS_RETURN_IF_ERROR(fuseSteps(kernels(), origins, profile_, program_.steps));
  swapAddresses(program_.steps);
  if (isHost()) {
    ISTHMUS_RETURN_IF_ERROR(
        addHostLoops(program_.steps, [this](const Loop& loop) { return addHostLoop(loop); }));
  }
  llvm::DenseSet<int> launched;
  forEachStep(program_.steps, [&](const Step& step) {
    if (auto* launch = std::get_if<KernelLaunch>(&step.what)) launched.insert(launch->kernel);
    return true;
  });
  for (auto [kernel, origin] : origins) {
    if (!launched.contains(kernel)) kernels().makeEmpty(kernel);
  }
  kernels().shareFunctions();
  program_.kernels = kernels().kernels();
  program_.profile = profile_.take();
  return {};
}

StatusOr<std::shared_ptr<const Executable>> DeviceCodegen::finish(mlir::func::FuncOp main,
                                                                  const MemoryPlan& plan,
                                                                  ProgramInfo info) {
  program_.info = std::move(info);
  ISTHMUS_RETURN_IF_ERROR(generate(main, plan));
  return load(std::move(program_));
}

bool forEachStep(const std::vector<Step>& steps, llvm::function_ref<bool(const Step&)> visit) {
  return llvm::all_of(steps, [&](const Step& step) {
    if (!visit(step)) return false;
    if (auto* loop = std::get_if<Loop>(&step.what)) {
      return forEachStep(loop->condition, visit) && forEachStep(loop->body, visit);
    }
    auto* branch = std::get_if<Branch>(&step.what);
    return !branch || llvm::all_of(branch->branches, [&](const std::vector<Step>& inner) {
      return forEachStep(inner, visit);
    });
  });
}

bool forEachPlace(const Step& step, llvm::function_ref<bool(const Location&)> visit) {
  if (auto* launch = std::get_if<KernelLaunch>(&step.what)) {
    return llvm::all_of(launch->buffers, visit);
  }
  if (auto* call = std::get_if<LibraryCall>(&step.what)) return llvm::all_of(call->buffers, visit);
  if (auto* call = std::get_if<HostCall>(&step.what)) {
    return llvm::all_of(call->inputs, visit) && llvm::all_of(call->outputs, visit);
  }
  if (auto* move = std::get_if<Move>(&step.what)) return visit(move->to) && visit(move->from);
  if (auto* branch = std::get_if<Branch>(&step.what)) return visit(branch->index);
  const Loop& loop = std::get<Loop>(step.what);
  return visit(loop.predicate) && llvm::all_of(loop.addressSwaps, [&](const Move& move) {
           return visit(move.to) && visit(move.from);
         });
}

int64_t swappedBytes(const std::vector<Step>& steps) {
  int64_t bytes = 0;
  auto consider = [&](const Move& move) {
    if (move.isSwap) bytes = std::max(bytes, move.to.bytes);
  };
  forEachStep(steps, [&](const Step& step) {
    if (auto* move = std::get_if<Move>(&step.what)) consider(*move);
    if (auto* loop = std::get_if<Loop>(&step.what)) llvm::for_each(loop->addressSwaps, consider);
    return true;
  });
  return bytes;
}

void* addressOf(const Location& place, const DeviceProgram& program,
                const ProgramAddresses& addresses) {
  auto at = [](void* base, int64_t offset) { return static_cast<char*>(base) + offset; };
  switch (place.space) {
    case Location::Space::kNone:
      return nullptr;
    case Location::Space::kParameter:
      // Programs write to parameters only where donation lets them.
      return const_cast<void*>(addresses.parameters[place.index]);
    case Location::Space::kResult:
      return addresses.results[place.index];
    case Location::Space::kConstant:
      return at(addresses.constants, program.constantOffsets[place.index]);
    case Location::Space::kStack:
      return at(addresses.scratch, program.slotOffsets[place.index]);
    case Location::Space::kArena:
      return at(addresses.scratch, place.offset);
  }
  return nullptr;
}

size_t chosenBranch(const Branch& branch, int32_t index) {
  size_t last = branch.branches.size() - 1;
  if (branch.isIf) return index ? 0 : last;
  return index >= 0 && static_cast<size_t>(index) < last ? static_cast<size_t>(index) : last;
}

Support supportByKernels(std::string_view op, DeviceKind device) {
  const OpFacts* facts = findOpFacts(llvm::StringRef(op));
  if (facts == nullptr) return Support::kNo;
  switch (facts->kernels) {
    case KernelDevices::kNever:
      return Support::kNo;
    case KernelDevices::kNone:
      return Support::kByHost;
    case KernelDevices::kGpus:
      return hasSortsAndTransforms(device) ? Support::kOnDevice : Support::kByHost;
    case KernelDevices::kAll:
      return Support::kOnDevice;
  }
  return Support::kNo;
}

std::string hostOperations(DeviceKind device) {
  std::string names;
  for (const OpFacts& facts : allOpFacts()) {
    std::string name = std::string("stablehlo.") + facts.name;
    if (supportByKernels(name, device) == Support::kByHost)
      names += (names.empty() ? "" : " ") + name;
  }
  return names;
}

}  // namespace isthmus
