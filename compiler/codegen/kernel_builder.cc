// One kernel function under construction.
#include "compiler/codegen/kernel_builder.h"

#include "compiler/schedule/dot_scheduler.h"
#include "llvm/IR/Module.h"

namespace isthmus::codegen {
namespace {

// What a device's kernel has in registers of the sums that it hands to an epilogue.
llvm::Type* typeOfSums(ir::FusionOp fusion, const DotStage& stage, llvm::LLVMContext& context) {
  llvm::Type* type = elementKind(sumsTypeOf(contractionOf(fusion)))->computeType(context);
  const unsigned lanes = epilogueLanesOf(stage);
  return lanes == 1 ? type : llvm::FixedVectorType::get(type, lanes);
}

}  // namespace

KernelBuilder::KernelBuilder(const StageContext& stageContext, const StageSchedule& stage,
                             const std::string& symbol) {
  const TargetModel& target = stageContext.target;
  ir::FusionOp fusion = stageContext.fusion;
  llvm::LLVMContext& context = stageContext.module.getContext();
  llvm::Type* i64 = llvm::Type::getInt64Ty(context);
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  llvm::SmallVector<llvm::Type*, 7> parameters = {pointer, i64, i64};
  if (const auto* dot = stage.as<DotStage>()) {
    if (dot->product.form == ProductForm::kNone) {
      parameters.append({i64, i64, pointer, i64});
    } else {
      parameters.append({i64, typeOfSums(fusion, *dot, context)});
    }
  }
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), parameters, false);
  function_ =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, &stageContext.module);
  if (target.device == DeviceKind::kCpu) {
    function_->addFnAttr("target-cpu", target.cpu);
    function_->addFnAttr("target-features", target.features);
    function_->addFnAttr("prefer-vector-width", std::to_string(target.vectorBits));
  }
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  // The table of buffers is never written by a kernel: what was loaded from it stays.
  function_->addParamAttr(0, llvm::Attribute::NoAlias);
  buffers_ = function_->getArg(0);
  begin_ = function_->getArg(1);
  end_ = function_->getArg(2);
  loops_.emplace(function_, target);
  bool wide = false;
  fusion->walk([&](mlir::Operation* op) {
    for (mlir::Value value : op->getOperands()) {
      auto array = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
      // Lane indices are 32 bits wide, and count single floats of complex numbers.
      if (array && array.hasStaticShape() && array.getNumElements() >= (int64_t{1} << 29)) {
        wide = true;
      }
    }
  });
  if (wide) loops_->useWideLanes();
  llvm::SmallVector<llvm::Value*, 8> operands;
  for (unsigned i = 0; i < fusion.getOperands().size(); ++i) operands.push_back(buffer(i));
  evaluator_.emplace(*loops_, fusion, stage.as<FusedStage>(), operands);
}

llvm::Value* KernelBuilder::buffer(unsigned index) {
  llvm::IRBuilder<>& b = loops_->at(loops_->entry());
  llvm::Value* slot = b.CreateConstInBoundsGEP1_64(b.getPtrTy(), buffers_, index);
  return b.CreateLoad(b.getPtrTy(), slot, "buffer");
}

llvm::Value* KernelBuilder::allocate(const ElementKind& kind, int64_t count) {
  auto* array = llvm::ArrayType::get(kind.storageType(loops_->context()),
                                     static_cast<uint64_t>(count) * kind.parts());
  llvm::AllocaInst* memory = loops_->at(loops_->entry()).CreateAlloca(array);
  memory->setAlignment(llvm::Align(64));
  return memory;
}

Status KernelBuilder::finish() {
  loops_->at(loops_->entry()).CreateRetVoid();
  Status status = evaluator_->status();
  if (!status.ok()) {
    evaluator_.reset();
    loops_.reset();
    function_->eraseFromParent();
  }
  return status;
}

}  // namespace isthmus::codegen
