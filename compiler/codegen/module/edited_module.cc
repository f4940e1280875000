#include "compiler/codegen/module/edited_module.h"

#include <string>

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

namespace isthmus::codegen {
namespace {

// Why `edited` cannot stand for `generated`; empty if it can.
std::string misfitOf(const llvm::Module& edited, const llvm::Module& generated) {
  if (edited.getTargetTriple() != generated.getTargetTriple() ||
      edited.getDataLayout() != generated.getDataLayout()) {
    return "it is for another target than " + generated.getTargetTriple().str();
  }
  for (const llvm::Function& function : generated) {
    if (function.isDeclaration() || function.hasLocalLinkage()) continue;
    const llvm::Function* same = edited.getFunction(function.getName());
    const std::string name = function.getName().str();
    if (!same || same->isDeclaration()) return "it lacks the function " + name;
    if (same->getFunctionType() != function.getFunctionType() ||
        same->getCallingConv() != function.getCallingConv()) {
      return "its function " + name + " has another type";
    }
  }
  for (const llvm::GlobalVariable& array : generated.globals()) {
    if (array.isDeclaration() || array.hasLocalLinkage()) continue;
    const llvm::GlobalVariable* same = edited.getGlobalVariable(array.getName());
    if (!same || same->isDeclaration() || same->getValueType() != array.getValueType()) {
      return "it lacks " + array.getName().str() + ", or has another of this name";
    }
  }
  // The loader knows the names that the generated module uses, and no others.
  for (const llvm::GlobalValue& value : edited.global_values()) {
    const auto* function = llvm::dyn_cast<llvm::Function>(&value);
    if (!value.isDeclaration() || (function && function->isIntrinsic())) continue;
    if (!generated.getNamedValue(value.getName())) {
      return "nothing is called " + value.getName().str() + ", which it uses";
    }
  }
  return "";
}

}  // namespace

StatusOr<std::unique_ptr<llvm::Module>> readEditedModule(const llvm::Module& generated,
                                                         std::string_view text,
                                                         std::string_view fileName) {
  auto wrong = [&](std::string_view why) {
    return invalidArgument("override ", fileName, ": ", why);
  };
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> edited = llvm::parseAssemblyString(
      llvm::StringRef(text.data(), text.size()), problem, generated.getContext());
  if (!edited) {
    return wrong("line " + std::to_string(problem.getLineNo()) + ": " + problem.getMessage().str());
  }
  std::string problems;
  llvm::raw_string_ostream said(problems);
  if (llvm::verifyModule(*edited, &said)) return wrong(problems);
  if (std::string why = misfitOf(*edited, generated); !why.empty()) return wrong(why);
  edited->setModuleIdentifier(generated.getModuleIdentifier());
  return edited;
}

}  // namespace isthmus::codegen
