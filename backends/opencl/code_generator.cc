// From a fused program to kernels and the steps that launch them.
#include "backends/opencl/code_generator.h"

#include <algorithm>

#include "backends/opencl/codegen/loop_controls.h"
#include "backends/opencl/codegen/opencl_c.h"
#include "backends/opencl/codegen/spirv.h"
#include "backends/opencl/executable.h"
#include "backends/shared/serialization/sealed_bytes.h"
#include "backends/shared/staging/device_target.h"
#include "backends/shared/staging/staged_codegen.h"
#include "compiler/cost/time.h"
#include "compiler/cost/work.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/plan/op_error.h"
#include "compiler/schedule/attention/attention.h"
#include "compiler/schedule/dot_scheduler.h"
#include "compiler/schedule/products/product_scheduler.h"
#include "compiler/schedule/products/roles.h"
#include "compiler/target/element_kind.h"
#include "isthmus/flags.h"
#include "isthmus/trace.h"

namespace isthmus::opencl {
namespace {

// More would leave a device's units with few groups each.
constexpr uint64_t kMaxLocalBytes = 32 << 10;

// Drivers of CPUs that take SPIR-V take its vectors as well; OpenCL C is written without.
KernelDevice kernelDevice(const DeviceFacts& facts) {
  std::string way = flagString("ISTHMUS_OPENCL_KERNELS");
  if (way.empty()) way = !facts.isCpu ? "groups" : facts.takesSpirv ? "vectors" : "elements";
  KernelDevice device;
  device.maxParameters = static_cast<int64_t>(facts.parameterBytes / sizeof(void*));
  // OpenCL C is written without f16, which is an integer of its bits there.
  device.convertsF16 = facts.takesSpirv && facts.hasHalves;
  device.atomicBits = facts.hasLongAtomics ? 64 : 32;
  if (way == "vectors") device.vectorBits = std::max(facts.vectorBits, 128U);
  const bool isEmulated = way == "emulated-matrices";
  if (way != "groups" && !isEmulated) return device;
  if (facts.hasMatrices) device.matrices = MatrixUnit::kIntel;
  // OpenCL C is written without vectors.
  device.hasVectors = facts.takesSpirv;
  device.hasSubgroupShuffle = facts.hasSubgroupShuffle;
  if (isEmulated && facts.takesSpirv) device.matrices = MatrixUnit::kEmulated;
  device.groupItems = static_cast<unsigned>(std::min<size_t>(facts.maxWorkGroupItems, 1024));
  device.localBytes = static_cast<int64_t>(std::min<uint64_t>(facts.localBytes, kMaxLocalBytes));
  return device;
}

bool isDouble(mlir::Type type) {
  auto array = llvm::dyn_cast<mlir::RankedTensorType>(type);
  mlir::Type element = array ? array.getElementType() : type;
  if (auto complex = llvm::dyn_cast<mlir::ComplexType>(element)) element = complex.getElementType();
  return element.isF64();
}

// Among `op` and what is in it.
mlir::Operation* findDoubles(mlir::Operation* op) {
  mlir::Operation* found = nullptr;
  op->walk([&](mlir::Operation* inner) {
    // What says most is an operation of the program, not the fusion around it.
    if (llvm::isa<ir::FusionOp>(inner)) return mlir::WalkResult::advance();
    bool hasDoubles = llvm::any_of(inner->getOperandTypes(), isDouble) ||
                      llvm::any_of(inner->getResultTypes(), isDouble);
    if (hasDoubles) found = inner;
    return hasDoubles ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  });
  return found;
}

// Schedules of kernels whose threads share what they compute are no good elsewhere.
bool isHostDevice(const DeviceFacts& facts, const TargetModel& target) {
  return facts.isCpu && facts.hasFineSvm && !target.hasGroups();
}

// Whether numbers that are multiplied by one number, or added up, are neighbours: the host's
// kernels copy others together.
bool hasNearFeatures(shlo::ConvolutionOp conv) {
  shlo::ConvDimensionNumbersAttr numbers = conv.getDimensionNumbers();
  const int64_t last = llvm::cast<mlir::RankedTensorType>(conv.getType()).getRank() - 1;
  return !llvm::is_contained(numbers.getInputSpatialDimensions(), last) &&
         !llvm::is_contained(numbers.getOutputSpatialDimensions(), last);
}

// Of one matrix, or a convolution of all channels.
bool isUngrouped(mlir::Operation* op) {
  if (auto conv = llvm::dyn_cast<shlo::ConvolutionOp>(op)) {
    return conv.getFeatureGroupCount() == 1 && conv.getBatchGroupCount() == 1;
  }
  shlo::DotDimensionNumbersAttr numbers =
      llvm::cast<shlo::DotGeneralOp>(op).getDotDimensionNumbers();
  return numbers.getLhsBatchingDimensions().empty();
}

// Whether the rows and columns of a product, or the features of a convolution, fill a tile of sums:
// kernels of the device take several times as long where they do not.
bool fillsTiles(mlir::Operation* op) {
  constexpr int64_t kSide = 64, kFeatures = 16;
  if (auto conv = llvm::dyn_cast<shlo::ConvolutionOp>(op)) {
    return convRolesOf(conv).outputFeatures >= kFeatures;
  }
  const SumsMatrix sums = sumsMatrixOf(llvm::cast<shlo::DotGeneralOp>(op));
  return std::min(sums.rows, sums.cols) >= kSide;
}

// Whether the host is worth waiting for: what vectors of the device would take, on one thread.
bool isLongProduct(const TargetModel& target, mlir::Operation* op, double minNs) {
  return contractionNs(target, workOf(op).products) >= minNs;
}
// The same of work-items that compute element by element.
bool isLongOneByOne(const TargetModel& target, mlir::Operation* op, double minNs) {
  return oneByOneNs(target, workOf(op).products) >= minNs;
}
constexpr double kMinNs = 50'000;          // where they take several times as long
constexpr double kMinNsOfTiles = 200'000;  // where they do not

// A product for whose types the host has instructions that SPIR-V does not name, and vectors of 16
// elements do not become.
bool wantsHostInstructions(const TargetModel& target, mlir::Operation* op) {
  constexpr int kFewestTerms = 4;  // as many as there are bytes in a lane
  if (linkedHostFunctions().termsAtOnce(op) < kFewestTerms) return false;
  const bool isFilled = fillsTiles(op);
  if (!isLongProduct(target, op, isFilled ? kMinNsOfTiles : kMinNs)) return false;
  auto dot = llvm::dyn_cast<shlo::DotGeneralOp>(op);
  if (!dot) return isUngrouped(op);
  if (isFilled) return true;
  // A product by a vector waits for memory, and many small ones the host multiplies one by one.
  const SumsMatrix sums = sumsMatrixOf(dot);
  return isUngrouped(op) && std::min(sums.rows, sums.cols) > 1;
}

// A product that has no vectors in the device's kernels, or a long convolution that fills none of
// them, as of a few channels a group, but in the host's. Those of narrow floats and of integers the
// host converts and copies, which is less than going without vectors if there is only one to
// prepare.
bool hasHostVectors(const TargetModel& target, mlir::Operation* op) {
  auto areAll = [&](auto&& isOne) {
    return llvm::all_of(op->getOperands(), [&](mlir::Value value) {
      std::optional<ElementKind> kind = kindOf(value);
      return kind && isOne(*kind);
    });
  };
  const bool areWide = areAll(
      [](const ElementKind& kind) { return kind.isComplex() || (kind.isFloat() && !kind.small); });
  const bool areNarrow = areAll([](const ElementKind& kind) { return kind.bits <= 16; });
  if (!areWide && !(areNarrow && isUngrouped(op))) return false;
  const DotStage chosen = chooseProduct(op, target);
  if (chosen.product.form == ProductForm::kItems) return true;
  const unsigned full = target.vectorLanes(kindOf(op->getResult(0))->computeBits());
  return isLongProduct(target, op, kMinNs) && areWide && llvm::isa<shlo::ConvolutionOp>(op) &&
         chosen.lanes < full;
}

// A product that the host computes better, where the device is the host: by instructions if the
// features of a convolution are side by side.
bool isHostProduct(const DeviceFacts& facts, const TargetModel& target, mlir::Operation* op) {
  if (!isContraction(op) || !isHostDevice(facts, target)) return false;
  auto conv = llvm::dyn_cast<shlo::ConvolutionOp>(op);
  if (wantsHostInstructions(target, op) && (!conv || hasNearFeatures(conv))) return true;
  return isLongOneByOne(target, op, kMinNs) && hasHostVectors(target, op);
}

class OpenclCodegen final : public StagedCodegen {
 public:
  OpenclCodegen(DeviceFacts facts, OpenclCodeGenerator::Load load, CodegenSettings settings)
      : StagedCodegen(std::move(settings), kernelForm(kernelDevice(facts))),
        facts_(std::move(facts)),
        load_(std::move(load)) {}

  Status begin() {
    ISTHMUS_ASSIGN_OR_RETURN(std::unique_ptr<llvm::Module> module,
                             makeModule("kernels", context()));
    return StagedCodegen::begin(&linkedHostFunctions(), "xpu", std::move(module));
  }

 protected:
  Status mayHaveKernel(mlir::Operation* op) override {
    mlir::Operation* found = facts_.hasDoubles ? nullptr : findDoubles(op);
    return found ? unsupportedOp(found, "the device has no 64-bit floats") : Status();
  }
  bool isHost() const override { return isHostDevice(facts_, form().target); }
  // Without groups of work-items there is no kernel of attention: the host has one.
  StatusOr<std::optional<OtherCode>> selectFusion(ir::FusionOp fusion) override {
    if (!isHost() || !attentionOf(fusion)) return std::optional<OtherCode>();
    OtherCode code;
    ISTHMUS_ASSIGN_OR_RETURN(code.hostFunction, addHostFunction(fusion));
    return std::optional(std::move(code));
  }
  StatusOr<OtherCode> selectOther(mlir::Operation* op) override {
    if (!isHostProduct(facts_, form().target, op)) return StagedCodegen::selectOther(op);
    OtherCode code;
    ISTHMUS_ASSIGN_OR_RETURN(code.hostFunction, addHostFunction(op));
    return code;
  }
  StatusOr<std::shared_ptr<const Executable>> load(DeviceProgram program) override;

 private:
  Status writeKernels(ProgramImage& image);

  DeviceFacts facts_;
  OpenclCodeGenerator::Load load_;
};

Status OpenclCodegen::writeKernels(ProgramImage& image) {
  ISTHMUS_RETURN_IF_ERROR(dumpAndOverrideKernels());
  if (image.kernels.empty()) return {};
  callBuiltins(module());
  if (facts_.takesSpirv) {
    if (facts_.isCpu) {
      maskSigns(module());
      limitUnrolling(module());
    }
    ISTHMUS_ASSIGN_OR_RETURN(image.spirv, compileToSpirv(module()));
    dump("kernels.spv", image.spirv);
  } else {
    ISTHMUS_RETURN_IF_ERROR(widenIntegers(module()));
    ISTHMUS_ASSIGN_OR_RETURN(image.source, writeOpenclC(module()));
    dump("kernels.cl", image.source);
  }
  return {};
}

StatusOr<std::shared_ptr<const Executable>> OpenclCodegen::load(DeviceProgram program) {
  ProgramImage image;
  ISTHMUS_RETURN_IF_ERROR(finishImage(std::move(program), image));
  {
    trace::Scope scope("stage", "compile");
    ISTHMUS_RETURN_IF_ERROR(writeKernels(image));
  }
  image.info.memory.generatedCodeBytes =
      static_cast<int64_t>(image.spirv.size() + image.source.size() + image.constants.size());
  trace::Scope scope("stage", "load");
  return load_(std::move(image));
}

}  // namespace

OpenclCodeGenerator::OpenclCodeGenerator(Driver& driver)
    : OpenclCodeGenerator(driver.facts(0), driver.identity(), [&driver](ProgramImage image) {
        return OpenclExecutable::load(driver, std::move(image));
      }) {}

std::string OpenclCodeGenerator::identity() const {
  return buildId() + "\n" + identity_ + flagString("ISTHMUS_OPENCL_KERNELS");
}

TargetModel OpenclCodeGenerator::target() const { return kernelForm(kernelDevice(facts_)).target; }

void OpenclCodeGenerator::configure(PipelineOptions& options) const {
  configureStages(target(), options);
  // Groups of work-items have a kernel of it, and so has the host.
  options.attention =
      options.fusion.target.hasGroups() || isHostDevice(facts_, options.fusion.target);
  // A kernel of vectors selects among all arrays for each element; the host copies them in place.
  options.fusion.target.joinsByCopies = options.fusion.target.device == DeviceKind::kCpu &&
                                        isHostDevice(facts_, options.fusion.target);
  options.channelsLast = isHostDevice(facts_, options.fusion.target);
  options.wantsChannelsLast = [target = target()](mlir::Operation* op) {
    return wantsHostInstructions(target, op);
  };
  options.hasKernel = [facts = facts_, target = target()](mlir::Operation* op) {
    return (facts.hasDoubles || !findDoubles(op)) && !isHostProduct(facts, target, op);
  };
}

StatusOr<std::unique_ptr<ProgramCodegen>> OpenclCodeGenerator::begin(
    CodegenSettings settings) const {
  auto codegen = std::make_unique<OpenclCodegen>(facts_, load_, std::move(settings));
  ISTHMUS_RETURN_IF_ERROR(codegen->begin());
  return std::unique_ptr<ProgramCodegen>(std::move(codegen));
}

}  // namespace isthmus::opencl
