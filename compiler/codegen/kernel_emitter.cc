// From one fusion to its stages, by its kind.
#include "compiler/codegen/kernel_emitter.h"

#include <functional>

#include "compiler/codegen/stages.h"
#include "compiler/dialect/dialect.h"
#include "llvm/IR/Module.h"

namespace isthmus {
namespace {

using codegen::Root;
using codegen::StageContext;

llvm::SmallVector<int64_t, 4> squeezed(mlir::Value value) {
  llvm::SmallVector<int64_t, 4> shape;
  for (int64_t extent : mlir::cast<mlir::RankedTensorType>(value.getType()).getShape()) {
    if (extent != 1) shape.push_back(extent);
  }
  return shape;
}

// The stages of one fusion; on failure, none of its functions stays in the module.
class StageList {
 public:
  StageList(const StageContext& context, std::string_view symbol)
      : context_(context), symbol_(symbol) {}

  using Emit = std::function<StatusOr<KernelStage>(const std::string& symbol)>;
  Status add(const Emit& emit) {
    std::string name = symbol_;
    if (!kernel_.stages.empty()) name += "." + std::to_string(kernel_.stages.size());
    StatusOr<KernelStage> stage = emit(name);
    if (!stage.ok()) {
      for (const KernelStage& earlier : kernel_.stages) {
        context_.module.getFunction(earlier.symbol)->eraseFromParent();
      }
      return stage.status();
    }
    kernel_.stages.push_back(std::move(*stage));
    return Status();
  }
  Status addLoop(llvm::ArrayRef<Root> roots) {
    return add([&](const std::string& name) { return emitLoopStage(context_, name, roots); });
  }
  Kernel take() { return std::move(kernel_); }

 private:
  const StageContext& context_;
  std::string symbol_;
  Kernel kernel_;
};

// The results of `op` in place of copies of its first operands.
Status copyOperands(StageList& stages, const StageContext& context, mlir::ValueRange operands,
                    llvm::ArrayRef<unsigned> buffers) {
  for (auto [operand, buffer] : llvm::zip(operands, buffers)) {
    auto argument = mlir::dyn_cast<mlir::BlockArgument>(operand);
    Root root{operand, buffer, argument ? static_cast<int>(argument.getArgNumber()) : -1};
    ISTHMUS_RETURN_IF_ERROR(stages.addLoop(root));
  }
  return Status();
}

}  // namespace

StatusOr<Kernel> emitKernel(ir::FusionOp fusion, const KernelTarget& target, llvm::Module& module,
                            std::string_view symbol) {
  StageContext context{fusion, target, module};
  StageList stages(context, symbol);
  mlir::Operation* yield = fusion.getBody().front().getTerminator();
  for (mlir::Value operand : yield->getOperands()) {
    auto type = mlir::dyn_cast<mlir::RankedTensorType>(operand.getType());
    if (!type || !type.hasStaticShape()) {
      return unimplemented("a kernel's result must be an array of static shape");
    }
  }
  std::vector<bool> done(yield->getNumOperands(), false);
  for (unsigned i = 0; i < yield->getNumOperands(); ++i) {
    if (done[i]) continue;
    mlir::Value value = yield->getOperand(i);
    mlir::Operation* op = value.getDefiningOp();
    // Ops that are kernels of their own, with all their results at once.
    bool isWhole =
        op && (mlir::isa<shlo::ScatterOp, shlo::SelectAndScatterOp>(op) || codegen::isScan(op));
    bool updates = op && fusion.getKind() == ir::FusionKind::kUpdateSlice &&
                   mlir::isa<shlo::DynamicUpdateSliceOp>(op);
    if (isWhole || updates) {
      llvm::SmallVector<unsigned> buffers;
      bool allYielded = true;
      for (mlir::Value result : op->getResults()) {
        bool found = false;
        for (unsigned j = i; j < yield->getNumOperands() && !found; ++j) {
          if (yield->getOperand(j) != result || done[j]) continue;
          done[j] = found = true;
          buffers.push_back(context.resultBuffer(j));
        }
        allYielded &= found;
      }
      if (!allYielded) {
        return unimplemented("a fusion must yield all results of ",
                             op->getName().getStringRef().str());
      }
      if (auto update = mlir::dyn_cast<shlo::DynamicUpdateSliceOp>(op)) {
        ISTHMUS_RETURN_IF_ERROR(copyOperands(stages, context, update.getOperand(), buffers));
        ISTHMUS_RETURN_IF_ERROR(stages.add([&](const std::string& name) {
          return emitUpdateSliceStage(context, name, op, buffers[0]);
        }));
      } else if (auto scatter = mlir::dyn_cast<shlo::ScatterOp>(op)) {
        ISTHMUS_RETURN_IF_ERROR(copyOperands(stages, context, scatter.getInputs(), buffers));
        ISTHMUS_RETURN_IF_ERROR(stages.add(
            [&](const std::string& name) { return emitScatterStage(context, name, op, buffers); }));
      } else if (auto select = mlir::dyn_cast<shlo::SelectAndScatterOp>(op)) {
        ISTHMUS_RETURN_IF_ERROR(
            stages.addLoop(Root{select.getInitValue(), buffers[0], -1, op->getResult(0)}));
        ISTHMUS_RETURN_IF_ERROR(stages.add([&](const std::string& name) {
          return emitSelectAndScatterStage(context, name, op, buffers[0]);
        }));
      } else {
        ISTHMUS_RETURN_IF_ERROR(stages.add(
            [&](const std::string& name) { return emitScanStage(context, name, op, buffers); }));
      }
      continue;
    }
    // Roots of one shape, but for dimensions of size 1, share their loops; each shape is a stage.
    llvm::SmallVector<Root, 4> roots;
    for (unsigned j = i; j < yield->getNumOperands(); ++j) {
      if (done[j] || squeezed(yield->getOperand(j)) != squeezed(value)) continue;
      done[j] = true;
      roots.push_back({yield->getOperand(j), context.resultBuffer(j)});
    }
    ISTHMUS_RETURN_IF_ERROR(stages.addLoop(roots));
  }
  return stages.take();
}

}  // namespace isthmus
