// Error messages about one operation: name, types, reason and source position.
#include "compiler/plan/op_error.h"

#include "compiler/dialect/diagnostics/source_location.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus {

Status unsupportedOp(mlir::Operation* op, std::string_view reason) {
  return atOp(op, unimplemented(reason));
}

Status atOp(mlir::Operation* op, const Status& error) {
  const std::string_view reason = error.message();
  std::string message;
  llvm::raw_string_ostream out(message);
  out << op->getName().getStringRef();
  // A custom call or a composite is known by what it calls.
  for (llvm::StringRef name : {"call_target_name", "name"}) {
    if (auto target = op->getAttrOfType<mlir::StringAttr>(name)) out << " @" << target.getValue();
  }
  out << " " << signatureOf(op) << ": " << llvm::StringRef(reason.data(), reason.size());
  if (std::string position = sourcePosition(op->getLoc()); !position.empty()) {
    out << " [at " << position << "]";
  }
  return error.withMessage(std::move(message));
}

}  // namespace isthmus
