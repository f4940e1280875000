#include "compiler/dialect/diagnostics/source_location.h"

#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace isthmus {
namespace {

// Both walk a location from the inside out and take the first part that says something.
std::string firstText(mlir::Location location, bool names) {
  if (auto file = llvm::dyn_cast<mlir::FileLineColRange>(location)) {
    return (file.getFilename().getValue() + ":" + llvm::Twine(file.getStartLine()) + ":" +
            llvm::Twine(file.getStartColumn()))
        .str();
  }
  if (auto named = llvm::dyn_cast<mlir::NameLoc>(location)) {
    std::string child = firstText(named.getChildLoc(), names);
    return child.empty() && names ? named.getName().str() : child;
  }
  if (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(location)) {
    std::string callee = firstText(call.getCallee(), names);
    return callee.empty() ? firstText(call.getCaller(), names) : callee;
  }
  if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(location)) {
    for (mlir::Location part : fused.getLocations()) {
      if (std::string text = firstText(part, names); !text.empty()) return text;
    }
  }
  return "";
}

}  // namespace

std::string sourcePosition(mlir::Location location) { return firstText(location, /*names=*/false); }

std::string sourceLocation(mlir::Location location) { return firstText(location, /*names=*/true); }

std::string signatureOf(mlir::Operation* op) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "(";
  llvm::interleaveComma(op->getOperandTypes(), out);
  out << ") -> (";
  llvm::interleaveComma(op->getResultTypes(), out);
  out << ")";
  return text;
}

std::string describe(mlir::Operation* op) {
  std::string text = op->getName().getStringRef().str() + " " + signatureOf(op);
  if (std::string place = sourceLocation(op->getLoc()); !place.empty()) text += " at " + place;
  return text;
}

std::string describeBriefly(mlir::Operation* op) {
  std::string place = sourceLocation(op->getLoc());
  return op->getName().stripDialect().str() + (place.empty() ? "" : " at " + place);
}

std::string scopeName(mlir::Location location) {
  if (auto named = llvm::dyn_cast<mlir::NameLoc>(location)) return named.getName().str();
  if (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(location)) {
    std::string caller = scopeName(call.getCaller());
    std::string callee = scopeName(call.getCallee());
    return caller.empty() || callee.empty() ? caller + callee : caller + "/" + callee;
  }
  if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(location)) {
    for (mlir::Location part : fused.getLocations()) {
      if (std::string name = scopeName(part); !name.empty()) return name;
    }
  }
  return "";
}

}  // namespace isthmus
