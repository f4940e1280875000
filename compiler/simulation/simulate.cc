#include "compiler/simulation/simulate.h"

#include <algorithm>

#include "compiler/cost/work.h"
#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/byte_size.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/facts/trip_count.h"
#include "compiler/dialect/isthmus.h"
#include "compiler/import/import.h"
#include "compiler/pipeline/pipeline.h"
#include "compiler/plan/memory_plan.h"
#include "compiler/program/program_info.h"
#include "compiler/schedule/loop/sharing.h"
#include "compiler/simulation/read_collective.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace isthmus::simulation {
namespace {

// Seconds of a block: see Report.
struct Times {
  double synchronous = 0;
  double overlapped = 0;
  double kernels = 0;
  double collectives = 0;
};

// When values are there, and when the device's two resources are free, while a block runs.
struct Clock {
  llvm::DenseMap<mlir::Value, double> ready;
  double kernels = 0;
  double network = 0;

  double operandsReady(mlir::Operation& op) const {
    double time = 0;
    for (mlir::Value operand : op.getOperands()) time = std::max(time, ready.lookup(operand));
    return time;
  }
  void finish(mlir::Operation& op, double time) {
    for (mlir::Value result : op.getResults()) ready[result] = time;
  }
};

std::string nameOf(mlir::Operation& op) {
  if (!llvm::isa<ir::FusionOp>(op)) return op.getName().stripDialect().str();
  // The last operations say best what a kernel is for.
  std::vector<llvm::StringRef> parts;
  for (mlir::Operation& inner : op.getRegion(0).front().without_terminator()) {
    if (fusionClass(&inner) != FusionClass::kConstant)
      parts.push_back(inner.getName().stripDialect());
  }
  std::string name = "fusion";
  size_t first = parts.size() > 4 ? parts.size() - 4 : 0;
  if (first > 0) name += " …";
  for (size_t i = first; i < parts.size(); ++i) name += " " + parts[i].str();
  return name;
}

std::string sourceOf(mlir::Operation& op) {
  if (std::string position = sourcePosition(op.getLoc()); !position.empty()) return position;
  if (!llvm::isa<ir::FusionOp>(op)) return "";
  for (mlir::Operation& inner : llvm::reverse(op.getRegion(0).front().getOperations())) {
    if (std::string position = sourcePosition(inner.getLoc()); !position.empty()) return position;
  }
  return "";
}

Step describedStep(mlir::Operation& op) {
  Step step;
  step.name = nameOf(op);
  step.source = sourceOf(op);
  return step;
}

class Simulator {
 public:
  Simulator(const Machine& machine, DeviceGrid grid, Report& report)
      : machine_(machine), grid_(grid), report_(report) {}

  StatusOr<Times> run(mlir::Block& block, double times) {
    Times total;
    Clock clock;
    for (mlir::Operation& op : block) {
      OpRole role = roleOf(&op);
      if (role == OpRole::kWhile || role == OpRole::kBranch) {
        ISTHMUS_ASSIGN_OR_RETURN(Times inner, runRegions(op, role, times));
        // Nothing of the block passes a loop or a branch.
        double end =
            std::max({clock.kernels, clock.network, clock.operandsReady(op)}) + inner.overlapped;
        clock.kernels = clock.network = end;
        clock.finish(op, end);
        add(total, inner, 1);
        continue;
      }
      if (role != OpRole::kCompute) {
        clock.finish(op, clock.operandsReady(op));
        continue;
      }
      ISTHMUS_ASSIGN_OR_RETURN(std::optional<Collective> collective, readCollective(&op, grid_));
      Step step = collective ? collectiveStep(op, *collective) : kernelStep(op);
      step.times = times;
      double& resource = collective ? clock.network : clock.kernels;
      resource = std::max(resource, clock.operandsReady(op)) + step.seconds;
      clock.finish(op, resource);
      total.synchronous += step.seconds;
      (collective ? total.collectives : total.kernels) += step.seconds;
      report_.flops += step.flops * times;
      report_.bytes += step.bytes * times;
      report_.sentBytes += step.sentBytes * times;
      report_.steps.push_back(std::move(step));
    }
    total.overlapped = std::max(clock.kernels, clock.network);
    return total;
  }

 private:
  static void add(Times& total, const Times& more, double times) {
    total.synchronous += more.synchronous * times;
    total.kernels += more.kernels * times;
    total.collectives += more.collectives * times;
    total.overlapped += more.overlapped * times;
  }

  StatusOr<Times> runRegions(mlir::Operation& op, OpRole role, double times) {
    Times total;
    if (role == OpRole::kBranch) {
      Report longest;
      for (mlir::Region& region : op.getRegions()) {
        Report branch;
        std::swap(branch, report_);
        StatusOr<Times> inner = run(region.front(), times);
        std::swap(branch, report_);
        ISTHMUS_RETURN_IF_ERROR(inner.status());
        for (std::string& text : branch.notes) remember(std::move(text));
        if (inner->synchronous < total.synchronous) continue;
        total = *inner;
        longest = std::move(branch);
      }
      report_.flops += longest.flops;
      report_.bytes += longest.bytes;
      report_.sentBytes += longest.sentBytes;
      llvm::move(longest.steps, std::back_inserter(report_.steps));
      return total;
    }
    std::optional<int64_t> rounds = tripCount(llvm::cast<shlo::WhileOp>(op));
    if (!rounds) note(op, "runs as often as its data say: counted once");
    auto count = static_cast<double>(rounds.value_or(1));
    for (mlir::Region& region : op.getRegions()) {
      ISTHMUS_ASSIGN_OR_RETURN(Times inner, run(region.front(), times * count));
      add(total, inner, count);
    }
    return total;
  }

  Step collectiveStep(mlir::Operation& op, const Collective& collective) {
    CollectiveCost cost = costOf(machine_, collective);
    Step step = describedStep(op);
    step.seconds = cost.seconds;
    step.sentBytes = cost.sentBytes;
    step.bytes = accessedBytes(&op);
    step.bound = cost.link.empty() ? "launch" : cost.link;
    return step;
  }

  Step kernelStep(mlir::Operation& op) {
    Step step = describedStep(op);
    Work work = workOf(&op);
    double contractionSeconds = 0;
    op.walk([&](mlir::Operation* inner) {
      double products = productsOf(inner);
      if (products == 0) return;
      contractionSeconds += 2 * products / contractionRate(inner->getOperand(0).getType());
    });
    step.flops = costsOf(&op).flops;
    step.bytes = work.bytes;
    if (findOpFacts(&op) && findOpFacts(&op)->isLibrary && step.flops == 0) {
      note(op, "is counted by its memory traffic alone");
      work.additions = 0;
    }
    double compute = contractionSeconds + work.additions / machine_.elementFlops;
    double memory = work.bytes / machine_.memoryBytesPerSecond;
    step.seconds = std::max({compute, memory, machine_.launchSeconds});
    step.bound = step.seconds == compute ? "compute" : step.seconds == memory ? "memory" : "launch";
    return step;
  }

  // Of a type that the machine's description lacks: that of f32.
  double contractionRate(mlir::Type type) {
    std::string name;
    llvm::raw_string_ostream(name) << mlir::getElementTypeOrSelf(type);
    auto it = machine_.contractionFlops.find(name);
    if (it != machine_.contractionFlops.end()) return it->second;
    std::string text = "contractions of " + name + " are counted at the rate of f32";
    remember(std::move(text));
    return machine_.contractionFlops.at("f32");
  }

  void note(mlir::Operation& op, const char* what) {
    std::string where = sourceOf(op);
    remember(nameOf(op) + (where.empty() ? "" : " at " + where) + " " + what);
  }

  void remember(std::string text) {
    if (!llvm::is_contained(report_.notes, text)) report_.notes.push_back(std::move(text));
  }

  const Machine& machine_;
  DeviceGrid grid_;
  Report& report_;
};

Status describeMemory(mlir::func::FuncOp main, Report& report) {
  ProgramInfo info;
  ISTHMUS_RETURN_IF_ERROR(describeProgram(main, info));
  PlanOptions options;
  options.parameters = parameterUses(info);
  options.canShare = [](mlir::Operation* op, unsigned operand, unsigned result) {
    auto fusion = llvm::dyn_cast<ir::FusionOp>(op);
    return fusion ? canShareBuffer(fusion, operand, result) : mayUpdateInPlace(op, operand, result);
  };
  options.prefersInPlace = [&](mlir::Operation* op, unsigned operand, unsigned result) {
    auto fusion = llvm::dyn_cast<ir::FusionOp>(op);
    return (!fusion || fusion.updatesInPlace()) && options.canShare(op, operand, result);
  };
  ISTHMUS_ASSIGN_OR_RETURN(MemoryPlan plan, planMemory(main, options));
  for (mlir::Type type : main.getArgumentTypes()) {
    ISTHMUS_ASSIGN_OR_RETURN(int64_t bytes, byteSize(type));
    report.argumentBytes += bytes;
  }
  for (auto [type, output] : llvm::enumerate(main.getResultTypes())) {
    bool isArgument = llvm::any_of(info.parameters, [&, i = type](const ParameterSpec& parameter) {
      return parameter.aliasedOutput == static_cast<int>(i);
    });
    ISTHMUS_ASSIGN_OR_RETURN(int64_t bytes, byteSize(output));
    if (!isArgument) report.resultBytes += bytes;
  }
  report.temporaryBytes = plan.arenaBytes();
  return {};
}

// The compiler's idea of the machine, for what it fuses.
TargetModel targetOf(const Machine& machine) {
  TargetModel target = gpuTarget("nvptx64-nvidia-cuda", "sm_80");
  // Machines are described without caches: as much faster than memory as others' are.
  target.cacheBytesPerNs *= machine.memoryBytesPerSecond * 1e-9 / target.memoryBytesPerNs;
  target.memoryBytesPerNs = machine.memoryBytesPerSecond * 1e-9;
  target.elementOpsPerNs = machine.elementFlops * 1e-9;
  target.kernelNs = machine.launchSeconds * 1e9;
  return target;
}

}  // namespace

StatusOr<Report> simulate(std::string_view code, std::string_view format, const Machine& machine) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  ISTHMUS_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module,
                           importProgram(code, format, *context));
  PipelineOptions options;
  options.attention = false;
  options.epilogues = false;  // rooflines are of products and of kernels
  readDeviceCounts(*module, options.compile);
  options.fusion.target = targetOf(machine);
  DeviceGrid grid{options.compile.numReplicas, options.compile.numPartitions};
  if (grid.numDevices() > machine.numDevices()) {
    return invalidArgument("the program is for ", grid.numDevices(), " devices, and ", machine.name,
                           " has ", machine.numDevices());
  }
  ISTHMUS_RETURN_IF_ERROR(runPipeline(module, options));
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  if (!main || !main.getBody().hasOneBlock()) {
    return invalidArgument("the program has no function main of one block");
  }
  Report report;
  report.machine = machine.name;
  report.numDevices = grid.numDevices();
  report.memoryBytes = machine.memoryBytes;
  ISTHMUS_ASSIGN_OR_RETURN(Times times,
                           Simulator(machine, grid, report).run(main.getBody().front(), 1));
  report.synchronousSeconds = times.synchronous;
  report.overlappedSeconds = times.overlapped;
  report.kernelSeconds = times.kernels;
  report.collectiveSeconds = times.collectives;
  ISTHMUS_RETURN_IF_ERROR(describeMemory(main, report));
  return report;
}

}  // namespace isthmus::simulation
