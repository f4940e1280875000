#include "backends/cuda/codegen/libdevice.h"

#include <vector>

#include "isthmus/flags.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/IPO/Internalize.h"

namespace isthmus::cuda {
namespace {

constexpr const char* kFile = "nvvm/libdevice/libdevice.10.bc";

StatusOr<std::string> findFile(const std::string& given) {
  std::vector<std::string> places;
  if (!given.empty()) {
    places = {given};
  } else {
    places = {"/usr/local/cuda/" + std::string(kFile), "/opt/cuda/" + std::string(kFile),
              "/usr/lib/nvidia-cuda-toolkit/libdevice/libdevice.10.bc"};
  }
  for (const std::string& place : places) {
    if (llvm::sys::fs::exists(place)) return place;
  }
  return notFound("this program computes a function that needs libdevice.10.bc, which is not at ",
                  places[0],
                  "; it comes with CUDA or with PyPI's nvidia-cuda-nvcc-cu12, and client option "
                  "libdevice or ISTHMUS_CUDA_LIBDEVICE names another place");
}

bool isMathFunction(const llvm::Function& function) {
  llvm::Type* result = function.getReturnType();
  return function.isDeclaration() && !function.isIntrinsic() &&
         (result->isFloatTy() || result->isDoubleTy());
}

}  // namespace

Status linkLibdevice(llvm::Module& module, const std::string& path) {
  bool isNeeded = false;
  for (llvm::Function& function : module) {
    if (!isMathFunction(function)) continue;
    isNeeded = true;
    function.setName("__nv_" + function.getName());
  }
  if (!isNeeded) return {};
  ISTHMUS_ASSIGN_OR_RETURN(std::string file, findFile(path));
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> bytes = llvm::MemoryBuffer::getFile(file);
  if (!bytes) return notFound("cannot read ", file, ": ", bytes.getError().message());
  llvm::Expected<std::unique_ptr<llvm::Module>> library =
      llvm::parseBitcodeFile(**bytes, module.getContext());
  if (!library) {
    return internalError(file, " is no bitcode: ", llvm::toString(library.takeError()));
  }
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  bool failed = llvm::Linker::linkModules(
      module, std::move(*library), llvm::Linker::Flags::LinkOnlyNeeded,
      [](llvm::Module& linked, const llvm::StringSet<>& names) {
        llvm::internalizeModule(linked, [&](const llvm::GlobalValue& value) {
          return !value.hasName() || !names.contains(value.getName());
        });
      });
  if (failed) return internalError("cannot link ", file);
  // Subnormal numbers are not flushed to zero.
  module.addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", 0u);
  for (llvm::Function& function : module) {
    if (isMathFunction(function) && !function.use_empty()) {
      return internalError(file, " has no ", function.getName().str());
    }
  }
  return {};
}

}  // namespace isthmus::cuda
