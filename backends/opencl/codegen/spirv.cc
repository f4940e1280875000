#include "backends/opencl/codegen/spirv.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "backends/opencl/codegen/builtin_call.h"
#include "backends/opencl/codegen/emit_spirv.h"
#include "backends/opencl/codegen/matrix_ops.h"
#include "backends/shared/staging/device_target.h"
#include "compiler/codegen/module/unoptimized.h"
#include "compiler/codegen/target/group_threads.h"
#include "compiler/schedule/loop/scatter_dims.h"
#include "compiler/target/portable_cpu.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

namespace isthmus::opencl {
namespace {

constexpr const char* kTriple = "spirv64-unknown-unknown";
// Of a sub-group whose work-items read each other's registers: all that have that have this size.
constexpr unsigned kSubgroupItems = 16;
constexpr unsigned kVectorBits = 128;  // of OpenCL's vectors that a work-item reads at once

StatusOr<std::unique_ptr<llvm::TargetMachine>> makeMachine() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeSPIRVTargetInfo();
    LLVMInitializeSPIRVTarget();
    LLVMInitializeSPIRVTargetMC();
    LLVMInitializeSPIRVAsmPrinter();
  });
  std::string error;
  llvm::Triple triple(kTriple);
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) return internalError("no code generator for ", kTriple, ": ", error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, "", "", options, std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine) return internalError("cannot make a code generator for ", kTriple);
  return machine;
}

llvm::Value* shuffleInSubgroup(llvm::IRBuilder<>& b, llvm::Value* value, llvm::Value* distance) {
  requireSubgroupsOf(kSubgroupItems, *b.GetInsertBlock()->getParent());
  return callBuiltin(b, "_Z21sub_group_shuffle_xorij", b.getInt32Ty(), {value, distance},
                     Builtin::kConvergent);
}

TargetModel kernelTarget(const KernelDevice& device) {
  if (device.vectorBits > 0) {
    TargetModel target = portableCpuTarget(kTriple, device.vectorBits);
    target.convertsF16 = device.convertsF16;
    limitParameters(target, device.maxParameters);
    return target;
  }
  TargetModel target =
      groupTarget(kTriple, {.threads = device.groupItems,
                            .memoryBytes = device.localBytes,
                            .subgroupThreads = device.hasSubgroupShuffle ? kSubgroupItems : 0,
                            .atomicBits = device.atomicBits,
                            .vectorBits = device.hasVectors ? kVectorBits : 0});
  target.convertsF16 = device.convertsF16;
  limitParameters(target, device.maxParameters);
  if (device.matrices != MatrixUnit::kNone) {
    target.products.unit = ProductUnit::kSubgroups;
    target.products.instructionRows = kMatrixRows;
    target.products.instructionColumns = kMatrixThreads;
    target.products.instructionBytes = kMatrixBytes;
  }
  return target;
}

}  // namespace

codegen::WorkItemForm kernelForm(const KernelDevice& device) {
  codegen::WorkItemForm form;
  form.target = kernelTarget(device);
  form.indices = [](llvm::IRBuilder<>& b, const codegen::Items& items) {
    std::array<llvm::Value*, 3> indices{};
    for (unsigned d = 0; d < items.size(); ++d) {
      indices[d] = items[d] == 1 ? static_cast<llvm::Value*>(b.getInt64(0))
                                 : callBuiltin(b, "_Z13get_global_idj", b.getInt64Ty(),
                                               {b.getInt32(d)}, Builtin::kPure);
    }
    return indices;
  };
  if (form.target.device == DeviceKind::kCpu) return form;
  form.groupIndex = [](llvm::IRBuilder<>& b) -> llvm::Value* {
    return callBuiltin(b, "_Z12get_group_idj", b.getInt64Ty(), {b.getInt32(0)}, Builtin::kPure);
  };
  form.threadInGroup = [](llvm::IRBuilder<>& b) -> llvm::Value* {
    return callBuiltin(b, "_Z12get_local_idj", b.getInt64Ty(), {b.getInt32(0)}, Builtin::kPure);
  };
  form.barrier = [](llvm::IRBuilder<>& b) {
    constexpr uint32_t kLocalMemoryFence = 1;
    callBuiltin(b, "_Z7barrierj", b.getVoidTy(), {b.getInt32(kLocalMemoryFence)},
                Builtin::kConvergent);
  };
  if (device.hasSubgroupShuffle) form.subgroupShuffle = shuffleInSubgroup;
  if (device.matrices == MatrixUnit::kIntel) form.matrixOps = intelMatrixOps();
  if (device.matrices == MatrixUnit::kEmulated) {
    form.matrixOps = emulatedMatrixOps(form.target.groupSize);
  }
  return form;
}

namespace {

// Intel's compiler for CPUs takes the result of a function for different in each work-item of a
// vector, and gathers from an address that depends on it.
void selectExtremes(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* extreme = llvm::dyn_cast<llvm::MinMaxIntrinsic>(&instruction);
    if (!extreme) continue;
    llvm::IRBuilder<> b(extreme);
    llvm::Value* isLeft =
        b.CreateICmp(extreme->getPredicate(), extreme->getLHS(), extreme->getRHS());
    extreme->replaceAllUsesWith(b.CreateSelect(isLeft, extreme->getLHS(), extreme->getRHS()));
    extreme->eraseFromParent();
  }
}

// OpenCL's saturating conversions of NaN should give zero, but need not: Intel's driver for CPUs
// gives 2^31 as an unsigned number of 32 bits.
void convertNansToZero(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* convert = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (!convert) continue;
    llvm::Intrinsic::ID id = convert->getIntrinsicID();
    if (id != llvm::Intrinsic::fptosi_sat && id != llvm::Intrinsic::fptoui_sat) continue;
    llvm::IRBuilder<> b(convert->getNextNode());
    llvm::Value* x = convert->getArgOperand(0);
    llvm::Value* isNumber = b.CreateFCmpORD(x, x);
    llvm::Value* zero = llvm::Constant::getNullValue(convert->getType());
    auto* result = llvm::cast<llvm::SelectInst>(b.CreateSelect(isNumber, convert, zero));
    convert->replaceUsesWithIf(result, [&](llvm::Use& use) { return use.getUser() != result; });
  }
}

bool hasSpirvWidth(const llvm::Type* type) {
  if (!type->isIntOrIntVectorTy()) return true;
  unsigned bits = type->getScalarSizeInBits();
  return bits == 1 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

// LLVM's passes make remainders by powers of two numbers of few bits, which its code generator for
// SPIR-V takes for wider ones: they become masks. kInternal if something else became of them.
Status widenIntegers(llvm::Function& function) {
  llvm::SmallSetVector<llvm::Instruction*, 4> replaced;
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* extend = llvm::dyn_cast<llvm::ZExtInst>(&instruction);
    if (!extend || hasSpirvWidth(extend->getSrcTy())) continue;
    auto* narrow = llvm::dyn_cast<llvm::TruncInst>(extend->getOperand(0));
    if (!narrow) continue;
    llvm::IRBuilder<> b(extend);
    llvm::Type* wide = narrow->getSrcTy();
    llvm::APInt mask = llvm::APInt::getLowBitsSet(wide->getScalarSizeInBits(),
                                                  narrow->getType()->getScalarSizeInBits());
    llvm::Value* masked = b.CreateAnd(narrow->getOperand(0), llvm::ConstantInt::get(wide, mask));
    extend->replaceAllUsesWith(b.CreateZExtOrTrunc(masked, extend->getType()));
    extend->eraseFromParent();
    replaced.insert(narrow);
  }
  for (llvm::Instruction* narrow : replaced) {
    if (narrow->use_empty()) narrow->eraseFromParent();
  }
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    if (hasSpirvWidth(instruction.getType())) continue;
    std::string text;
    llvm::raw_string_ostream(text) << instruction;
    return internalError("SPIR-V has no integers of this width: ", text);
  }
  return {};
}

// SPIR-V orders integers only, and LLVM's code generator for it lets comparisons of booleans
// through, which Intel's driver then takes for something else.
void compareBooleans(llvm::Function& function) {
  using Predicate = llvm::CmpInst::Predicate;
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&instruction);
    if (!compare || !compare->getOperand(0)->getType()->isIntOrIntVectorTy(1)) continue;
    if (compare->isEquality()) continue;
    llvm::IRBuilder<> b(compare);
    llvm::Value* left = compare->getOperand(0);
    llvm::Value* right = compare->getOperand(1);
    // As a signed number a set bit is -1.
    Predicate predicate = compare->getPredicate();
    bool isLess = llvm::ICmpInst::isLT(predicate) || llvm::ICmpInst::isLE(predicate);
    if (isLess != compare->isSigned()) std::swap(left, right);
    llvm::Value* result = compare->isTrueWhenEqual() ? b.CreateOr(left, b.CreateNot(right))
                                                     : b.CreateAnd(left, b.CreateNot(right));
    compare->replaceAllUsesWith(result);
    compare->eraseFromParent();
  }
}

// Whether any lane holds, by halves: SPIR-V has no such reduction that all drivers take.
llvm::Value* anyOf(llvm::IRBuilder<>& b, llvm::Value* lanes) {
  unsigned width = llvm::cast<llvm::FixedVectorType>(lanes->getType())->getNumElements();
  for (; width > 2; width /= 2) {
    llvm::SmallVector<int, 8> low, high;
    for (unsigned i = 0; i < width / 2; ++i) {
      low.push_back(static_cast<int>(i));
      high.push_back(static_cast<int>(i + width / 2));
    }
    lanes = b.CreateOr(b.CreateShuffleVector(lanes, low), b.CreateShuffleVector(lanes, high));
  }
  return b.CreateOr(b.CreateExtractElement(lanes, uint64_t{0}),
                    b.CreateExtractElement(lanes, uint64_t{1}));
}

void expandReductions(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (!call || call->getIntrinsicID() != llvm::Intrinsic::vector_reduce_or) continue;
    llvm::IRBuilder<> b(call);
    call->replaceAllUsesWith(anyOf(b, call->getArgOperand(0)));
    call->eraseFromParent();
  }
}

}  // namespace

Status widenIntegers(llvm::Module& module) {
  for (llvm::Function& function : module) ISTHMUS_RETURN_IF_ERROR(widenIntegers(function));
  return {};
}

static void maskSigns(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (!call || call->getIntrinsicID() != llvm::Intrinsic::fabs) continue;
    llvm::IRBuilder<> b(call);
    llvm::Type* integer = b.getIntNTy(call->getType()->getScalarSizeInBits());
    llvm::Type* bits = call->getType()->getWithNewType(integer);
    const unsigned width = integer->getIntegerBitWidth();
    llvm::Value* mask = llvm::ConstantInt::get(bits, llvm::APInt::getSignedMaxValue(width));
    llvm::Value* magnitude = b.CreateAnd(b.CreateBitCast(call->getArgOperand(0), bits), mask);
    call->replaceAllUsesWith(b.CreateBitCast(magnitude, call->getType()));
    call->eraseFromParent();
  }
}

void maskSigns(llvm::Module& module) {
  for (llvm::Function& function : module) maskSigns(function);
}

static void callAsFunction(llvm::Function& function) {
  function.setCallingConv(llvm::CallingConv::SPIR_FUNC);
  for (llvm::User* user : function.users()) {
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(user)) {
      call->setCallingConv(llvm::CallingConv::SPIR_FUNC);
    }
  }
}

void callBuiltins(llvm::Module& module) {
  for (llvm::Function& function : module) {
    selectExtremes(function);
    expandReductions(function);
    convertNansToZero(function);
  }
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    if (function.hasLocalLinkage()) callAsFunction(function);
    llvm::Type* result = function.getReturnType();
    bool isMath = function.isDeclaration() && !function.isIntrinsic() &&
                  !function.getName().starts_with("_Z") &&
                  (result->isFloatTy() || result->isDoubleTy());
    if (!isMath) continue;
    std::string name = function.getName().str();
    if (result->isFloatTy() && name.back() == 'f') name.pop_back();
    // As C++ names it: the length, the name, a letter for each parameter.
    std::string mangled = "_Z" + std::to_string(name.size()) + name;
    for (llvm::Type* type : function.getFunctionType()->params()) {
      mangled += type->isFloatTy() ? 'f' : 'd';
    }
    function.setName(mangled);
    callAsFunction(function);
  }
}

StatusOr<std::unique_ptr<llvm::Module>> makeModule(std::string_view name,
                                                   llvm::LLVMContext& context) {
  ISTHMUS_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, makeMachine());
  auto module = std::make_unique<llvm::Module>(llvm::StringRef(name), context);
  module->setTargetTriple(llvm::Triple(kTriple));
  module->setDataLayout(machine->createDataLayout());
  return module;
}

// Tells drivers that a kernel's work-items compute in vectors. Intel's compiler for CPUs would take
// these apart and join elements of work-items instead, and take twenty times as long about it.
static void hintVectors(llvm::Function& kernel) {
  for (const llvm::Instruction& instruction : llvm::instructions(kernel)) {
    auto* type = llvm::dyn_cast<llvm::FixedVectorType>(instruction.getType());
    if (!type) continue;
    llvm::LLVMContext& context = kernel.getContext();
    auto* hint =
        llvm::FixedVectorType::get(llvm::Type::getFloatTy(context), type->getNumElements());
    auto* isSigned = llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), 0);
    kernel.setMetadata(
        "vec_type_hint",
        llvm::MDNode::get(context, {llvm::ConstantAsMetadata::get(llvm::UndefValue::get(hint)),
                                    llvm::ConstantAsMetadata::get(isSigned)}));
    return;
  }
}

StatusOr<std::string> compileToSpirv(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    hintVectors(function);
    compareBooleans(function);
    ISTHMUS_RETURN_IF_ERROR(widenIntegers(function));
    // Drivers optimise. LLVM's reduction of strength in loops would make such numbers again.
    codegen::leaveUnoptimized(function);
  }
  std::string problems;
  llvm::raw_string_ostream said(problems);
  if (llvm::verifyModule(module, &said)) {
    return internalError("generated kernels are malformed: ", problems);
  }
  ISTHMUS_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, makeMachine());
  ISTHMUS_ASSIGN_OR_RETURN(llvm::SmallString<0> binary, emitSpirv(module, *machine));
  return binary.str().str();
}

}  // namespace isthmus::opencl
