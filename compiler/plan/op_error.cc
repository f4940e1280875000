// Error messages about one operation: name, types, reason and source position.
#include "compiler/plan/op_error.h"

#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus {

std::string sourcePosition(mlir::Location location) {
  if (auto file = llvm::dyn_cast<mlir::FileLineColRange>(location)) {
    return (file.getFilename().getValue() + ":" + llvm::Twine(file.getStartLine()) + ":" +
            llvm::Twine(file.getStartColumn()))
        .str();
  }
  if (auto named = llvm::dyn_cast<mlir::NameLoc>(location)) {
    return sourcePosition(named.getChildLoc());
  }
  if (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(location)) {
    std::string callee = sourcePosition(call.getCallee());
    return callee.empty() ? sourcePosition(call.getCaller()) : callee;
  }
  if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(location)) {
    for (mlir::Location part : fused.getLocations()) {
      if (std::string found = sourcePosition(part); !found.empty()) return found;
    }
  }
  return "";
}

Status unsupportedOp(mlir::Operation* op, std::string_view reason) {
  std::string message;
  llvm::raw_string_ostream out(message);
  out << op->getName().getStringRef();
  // A custom call or a composite is known by what it calls.
  for (llvm::StringRef name : {"call_target_name", "name"}) {
    if (auto target = op->getAttrOfType<mlir::StringAttr>(name)) out << " @" << target.getValue();
  }
  out << " (";
  llvm::interleaveComma(op->getOperandTypes(), out);
  out << ") -> (";
  llvm::interleaveComma(op->getResultTypes(), out);
  out << "): " << llvm::StringRef(reason.data(), reason.size());
  if (std::string position = sourcePosition(op->getLoc()); !position.empty()) {
    out << " [at " << position << "]";
  }
  return Status(StatusCode::kUnimplemented, std::move(message));
}

}  // namespace isthmus
