// Turns MLIR diagnostics into a Status.
#pragma once

#include <string>
#include <string_view>

#include "compiler/dialect/diagnostics/source_location.h"
#include "isthmus/status.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace isthmus {

// Reports the error `status` at `op`; a DiagnosticCollector keeps its code.
void emitStatus(mlir::Operation* op, const Status& status);

// Report that the program is wrong, which a DiagnosticCollector gives kInvalidArgument whatever it
// would give other errors: at an operation, which is quoted, or at a place.
mlir::InFlightDiagnostic emitInvalid(mlir::Operation* op, const llvm::Twine& message);
mlir::InFlightDiagnostic emitInvalid(mlir::Location place, const llvm::Twine& message);

// mlir::verify, whose errors are the program's.
mlir::LogicalResult verifyRules(mlir::Operation* op, bool isRecursive = true);

// While it lives, collects the errors that MLIR reports in `context`, each as
// "<user's location>: <message>"; notes follow their error. Warnings and remarks are dropped.
// Not thread-safe: the context must be used by one thread, as all of ours are.
class DiagnosticCollector {
 public:
  explicit DiagnosticCollector(mlir::MLIRContext* context);

  // The collected errors as one Status of the code that emitStatus gave the first of them, else of
  // `code`; `fallback` is its message if none was reported.
  Status status(StatusCode code, std::string_view fallback) const;

 private:
  std::string text_;
  StatusCode code_ = StatusCode::kOk;
  mlir::ScopedDiagnosticHandler handler_;
};

}  // namespace isthmus
