#include "backends/cuda/codegen/ptx.h"

#include <limits>
#include <mutex>

#include "backends/cuda/codegen/libdevice.h"
#include "backends/cuda/target/nvidia.h"
#include "compiler/codegen/module/analyses.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

namespace isthmus::cuda {
namespace {

// Threads of a block whose work-items have nothing to do with each other.
constexpr int64_t kBlockThreads = 256;
constexpr int64_t kMaxBlocks = (int64_t{1} << 31) - 1;

StatusOr<std::unique_ptr<llvm::TargetMachine>> makeMachine(int capability) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  TargetModel model = nvidiaTarget(capability);
  std::string error;
  llvm::Triple triple(model.triple);
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) return internalError("no code generator for ", model.triple, ": ", error);
  llvm::TargetOptions options;
  // What is not one operation in the program is not contracted to one.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, model.cpu, model.features, options, std::nullopt,
                                  std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine) return internalError("cannot make a code generator for ", model.triple);
  return machine;
}

llvm::Value* readRegister(llvm::IRBuilder<>& b, llvm::Intrinsic::ID id) {
  return b.CreateIntrinsic(b.getInt32Ty(), id, {});
}

// The number of the thread in the launch is taken apart, so that no thread of a block is idle where
// a dimension is short. In 32 bits where that is enough, since division in 64 takes many times as
// long.
std::array<llvm::Value*, 3> indicesOf(llvm::IRBuilder<>& b, const codegen::Items& items) {
  int64_t total = items[0] * items[1] * items[2];
  bool isNarrow = total <= kMaxBlocks - kBlockThreads;
  llvm::Type* type = isNarrow ? b.getInt32Ty() : b.getInt64Ty();
  auto constant = [&](int64_t value) {
    return llvm::ConstantInt::get(type, static_cast<uint64_t>(value));
  };
  llvm::Value* block =
      b.CreateZExt(readRegister(b, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x), type);
  llvm::Value* thread =
      b.CreateZExt(readRegister(b, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x), type);
  llvm::Value* rest = b.CreateAdd(b.CreateMul(block, constant(kBlockThreads), "", true, isNarrow),
                                  thread, "item", true, isNarrow);
  std::array<llvm::Value*, 3> indices{b.getInt64(0), b.getInt64(0), b.getInt64(0)};
  if (total == 1) indices[0] = b.CreateZExt(rest, b.getInt64Ty());
  int64_t above = total;
  for (size_t d = 0; d < items.size(); ++d) {
    above = items[d] > 0 ? above / items[d] : 0;
    if (items[d] == 1) continue;
    // The last dimension that is longer than 1 keeps what is beyond the launch.
    llvm::Value* index = above > 1 ? b.CreateURem(rest, constant(items[d])) : rest;
    if (above > 1) rest = b.CreateUDiv(rest, constant(items[d]));
    indices[d] = b.CreateZExt(index, b.getInt64Ty());
  }
  return indices;
}

// How many threads a block has is known, which tells the assembler how many registers each may use.
Status setLaunchBounds(llvm::Module& module, std::span<const codegen::KernelInfo> kernels) {
  for (const codegen::KernelInfo& kernel : kernels) {
    llvm::Function* function = module.getFunction(kernel.name);
    if (!function) return internalError("kernel ", kernel.name, " was not generated");
    ISTHMUS_ASSIGN_OR_RETURN(LaunchShape shape, launchShape(kernel));
    function->addFnAttr("nvvm.reqntid", std::to_string(shape.threads));
  }
  return {};
}

}  // namespace

StatusOr<int> ptxCapability(int deviceCapability) {
  if (deviceCapability < kOldestCapability) {
    return failedPrecondition("the device has compute capability ", deviceCapability / 10, ".",
                              deviceCapability % 10, ", expected 8.0 or newer");
  }
  return deviceCapability >= 90 ? 90 : kOldestCapability;
}

codegen::WorkItemForm kernelForm(int capability) {
  codegen::WorkItemForm form;
  form.target = nvidiaTarget(capability);
  form.convention = llvm::CallingConv::PTX_Kernel;
  form.indices = indicesOf;
  auto wide = [](llvm::Intrinsic::ID id) {
    return [id](llvm::IRBuilder<>& b) -> llvm::Value* {
      return b.CreateZExt(readRegister(b, id), b.getInt64Ty());
    };
  };
  form.groupIndex = wide(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  form.threadInGroup = wide(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  form.subgroupShuffle = [](llvm::IRBuilder<>& b, llvm::Value* value, llvm::Value* distance) {
    constexpr uint32_t kAllThreads = 0xffffffff, kLastLane = 31;
    return b.CreateIntrinsic(b.getInt32Ty(), llvm::Intrinsic::nvvm_shfl_sync_bfly_i32,
                             {b.getInt32(kAllThreads), value, distance, b.getInt32(kLastLane)});
  };
  form.barrier = [](llvm::IRBuilder<>& b) {
    b.CreateIntrinsic(b.getVoidTy(), llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all,
                      {b.getInt32(0)});
  };
  return form;
}

StatusOr<LaunchShape> launchShape(const codegen::KernelInfo& kernel) {
  LaunchShape shape;
  shape.blocks = 1;
  for (int64_t items : kernel.items) {
    if (items > 0 && shape.blocks > std::numeric_limits<int64_t>::max() / items) {
      return unimplemented(kernel.description, ": more work-items than a device can count");
    }
    shape.blocks *= items;
  }
  shape.threads = kernel.groupThreads;
  if (kernel.groupThreads == 1) {
    shape.threads = kBlockThreads;
    shape.blocks = shape.blocks / kBlockThreads + (shape.blocks % kBlockThreads != 0);
  }
  if (shape.blocks > kMaxBlocks) {
    return unimplemented(kernel.description, ": ", shape.blocks, " blocks, at most ", kMaxBlocks,
                         " are supported");
  }
  return shape;
}

StatusOr<std::unique_ptr<llvm::Module>> makeModule(std::string_view name,
                                                   llvm::LLVMContext& context, int capability) {
  ISTHMUS_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, makeMachine(capability));
  auto module = std::make_unique<llvm::Module>(llvm::StringRef(name), context);
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  return module;
}

StatusOr<std::string> compileToPtx(llvm::Module& module, int capability,
                                   std::span<const codegen::KernelInfo> kernels,
                                   const std::string& libdevice) {
  ISTHMUS_RETURN_IF_ERROR(linkLibdevice(module, libdevice));
  ISTHMUS_RETURN_IF_ERROR(setLaunchBounds(module, kernels));
  std::string problems;
  llvm::raw_string_ostream said(problems);
  if (llvm::verifyModule(module, &said)) {
    return internalError("generated kernels are malformed: ", problems);
  }
  ISTHMUS_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, makeMachine(capability));
  codegen::runDefaultPipeline(module, *machine);
  for (llvm::Function& function : module) {
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty()) {
      return internalError("a kernel calls ", function.getName().str(), ", which no device has");
    }
  }
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
    return internalError("the code generator cannot write PTX");
  }
  passes.run(module);
  return text.str().str();
}

}  // namespace isthmus::cuda
