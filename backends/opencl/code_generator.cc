// From a fused program to kernels and the steps that launch them.
#include "backends/opencl/code_generator.h"

#include "backends/cpu/load/serialization.h"
#include "backends/opencl/codegen/spirv.h"
#include "backends/opencl/executable.h"
#include "backends/opencl/host_functions.h"
#include "backends/opencl/kernel_module.h"
#include "compiler/codegen/kernel_emitter.h"
#include "compiler/dialect/dialect.h"
#include "compiler/plan/op_error.h"
#include "compiler/program/constant_bytes.h"
#include "isthmus/trace.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::opencl {
namespace {

// How one operation is carried out.
struct OperationCode {
  KernelModule::Code kernels;
  int hostFunction = -1;
};
using ProgramCode = llvm::DenseMap<mlir::Operation*, OperationCode>;

class OpenclCodegen final : public ProgramCodegen {
 public:
  OpenclCodegen(Driver& driver, CodegenSettings settings, std::unique_ptr<KernelModule> kernels,
                std::unique_ptr<HostFunctionTable> host)
      : driver_(driver),
        settings_(std::move(settings)),
        kernels_(std::move(kernels)),
        host_(std::move(host)) {}

  Status select(std::span<const Computation> computations) override;
  bool canShare(mlir::Operation* op, unsigned operand, unsigned result) const override;
  bool wantsShare(mlir::Operation* op, unsigned operand, unsigned result) const override;
  int64_t scratchBytes(mlir::Operation* op) const override;
  StatusOr<std::shared_ptr<const Executable>> finish(mlir::func::FuncOp main,
                                                     const MemoryPlan& plan,
                                                     ProgramInfo info) override;

 private:
  Status placeConstants(const MemoryPlan& plan);
  void placeSlots(const MemoryPlan& plan);
  Status addSteps(mlir::Block& block, const MemoryPlan& plan, std::vector<Step>& steps);
  Status addOperation(mlir::Operation* op, const MemoryPlan& plan, std::vector<Step>& steps);
  Status addLoop(mlir::Operation* op, const MemoryPlan& plan, std::vector<Step>& steps);
  Status addBranch(mlir::Operation* op, const MemoryPlan& plan, std::vector<Step>& steps);

  Driver& driver_;
  CodegenSettings settings_;
  ProgramImage image_;
  std::unique_ptr<KernelModule> kernels_;
  std::unique_ptr<HostFunctionTable> host_;
  ProgramCode code_;
};

void addMoves(const std::vector<Move>& moves, std::vector<Step>& steps) {
  for (const Move& move : moves) {
    if (move.to.bytes > 0) steps.push_back({move});
  }
}

Status OpenclCodegen::select(std::span<const Computation> computations) {
  for (const Computation& computation : computations) {
    OperationCode code;
    if (auto fusion = llvm::dyn_cast<ir::FusionOp>(computation.op)) {
      ISTHMUS_ASSIGN_OR_RETURN(code.kernels, kernels_->add(fusion));
    } else {
      ISTHMUS_ASSIGN_OR_RETURN(std::optional<KernelModule::Code> kernels,
                               kernels_->add(computation.op));
      if (kernels) {
        code.kernels = std::move(*kernels);
      } else {
        ISTHMUS_ASSIGN_OR_RETURN(code.hostFunction, host_->add(computation.op));
      }
    }
    code_[computation.op] = std::move(code);
  }
  return {};
}

bool OpenclCodegen::canShare(mlir::Operation* op, unsigned operand, unsigned result) const {
  auto fusion = llvm::dyn_cast<ir::FusionOp>(op);
  return fusion && canShareBuffer(fusion, operand, result);
}

bool OpenclCodegen::wantsShare(mlir::Operation* op, unsigned operand, unsigned result) const {
  auto fusion = llvm::dyn_cast<ir::FusionOp>(op);
  return fusion && fusion.updatesInPlace() && canShareBuffer(fusion, operand, result);
}

int64_t OpenclCodegen::scratchBytes(mlir::Operation* op) const {
  auto it = code_.find(op);
  return it == code_.end() ? 0 : it->second.kernels.scratchBytes;
}

Status OpenclCodegen::placeConstants(const MemoryPlan& plan) {
  for (mlir::Operation* op : plan.constants()) {
    StatusOr<std::string> bytes = constantBytes(op->getAttr("value"));
    if (!bytes.ok()) return unsupportedOp(op, bytes.status().message());
    image_.constants.resize(llvm::alignTo(image_.constants.size(), kBufferAlignment));
    image_.constantOffsets.push_back(static_cast<int64_t>(image_.constants.size()));
    image_.constants += *bytes;
  }
  return {};
}

void OpenclCodegen::placeSlots(const MemoryPlan& plan) {
  image_.arenaBytes = plan.arenaBytes();
  int64_t end = image_.arenaBytes;
  for (int64_t bytes : plan.stackSlots()) {
    end = static_cast<int64_t>(llvm::alignTo(end, kBufferAlignment));
    image_.slotOffsets.push_back(end);
    end += bytes;
  }
  image_.scratchBytes = end;
  image_.info.memory.tempBytes = end;
}

Status OpenclCodegen::addOperation(mlir::Operation* op, const MemoryPlan& plan,
                                   std::vector<Step>& steps) {
  auto it = code_.find(op);
  if (it == code_.end()) return unsupportedOp(op, "the OpenCL backend has no code for it");
  const OperationCode& code = it->second;
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
    steps.push_back({HostCall{code.hostFunction, std::move(operands), std::move(results)}});
    return {};
  }
  std::vector<Location> buffers = std::move(operands);
  buffers.insert(buffers.end(), results.begin(), results.end());
  if (code.kernels.scratchBytes > 0) buffers.push_back(plan.scratchOf(op));
  for (const KernelModule::Stage& stage : code.kernels.stages) {
    bool isInPlace =
        stage.copiesFrom >= 0 && buffers[stage.copiesFrom].isSamePlace(buffers[stage.copiesTo]);
    if (!isInPlace) steps.push_back({KernelLaunch{stage.kernel, buffers}});
  }
  return {};
}

Status OpenclCodegen::addLoop(mlir::Operation* op, const MemoryPlan& plan,
                              std::vector<Step>& steps) {
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
  steps.push_back({std::move(loop)});
  return {};
}

Status OpenclCodegen::addBranch(mlir::Operation* op, const MemoryPlan& plan,
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

Status OpenclCodegen::addSteps(mlir::Block& block, const MemoryPlan& plan,
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

StatusOr<std::shared_ptr<const Executable>> OpenclCodegen::finish(mlir::func::FuncOp main,
                                                                  const MemoryPlan& plan,
                                                                  ProgramInfo info) {
  image_.info = std::move(info);
  placeSlots(plan);
  ISTHMUS_RETURN_IF_ERROR(placeConstants(plan));
  mlir::Block& body = main.getBody().front();
  ISTHMUS_RETURN_IF_ERROR(addSteps(body, plan, image_.steps));
  addMoves(plan.movesAt(body.getTerminator()), image_.steps);

  ISTHMUS_RETURN_IF_ERROR(host_->finish(image_));
  ISTHMUS_RETURN_IF_ERROR(kernels_->finish(image_, settings_.dump));
  image_.info.memory.generatedCodeBytes =
      static_cast<int64_t>(image_.spirv.size() + image_.source.size() + image_.constants.size());
  trace::Scope scope("load");
  return OpenclExecutable::load(driver_, std::move(image_));
}

}  // namespace

std::string OpenclCodeGenerator::identity() const {
  const DeviceFacts& device = driver_.facts(0);
  return cpu::buildId() + "\n" + device.name + "\n" + device.version + "\n" + device.driverVersion;
}

void OpenclCodeGenerator::configure(PipelineOptions& options) const {
  // Work-items do not share a row's intermediate values yet.
  options.fusion.rows = false;
  options.fusion.transposes = false;
  options.fusion.target = kernelTarget();
}

StatusOr<std::unique_ptr<ProgramCodegen>> OpenclCodeGenerator::begin(
    CodegenSettings settings) const {
  ISTHMUS_ASSIGN_OR_RETURN(std::unique_ptr<KernelModule> kernels,
                           KernelModule::create(driver_.facts(0).takesSpirv));
  ISTHMUS_ASSIGN_OR_RETURN(std::unique_ptr<HostFunctionTable> host, HostFunctionTable::create());
  return std::unique_ptr<ProgramCodegen>(
      new OpenclCodegen(driver_, std::move(settings), std::move(kernels), std::move(host)));
}

}  // namespace isthmus::opencl
