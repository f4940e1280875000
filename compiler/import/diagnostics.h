// Collects MLIR's diagnostics into the message of a Status.
#pragma once

#include <string>

#include "mlir/IR/Diagnostics.h"

namespace isthmus::importer {

// "file.py:3:4 (jit(f)/add)", or as much of it as the location has; empty if it has nothing.
std::string describeLocation(mlir::Location location);

// Catches the errors of a context while it lives. Warnings and remarks are dropped.
class DiagnosticCollector {
 public:
  explicit DiagnosticCollector(mlir::MLIRContext& context);

  // One error a line, with its location and notes; at most kMaxErrors.
  const std::string& text() const { return text_; }

 private:
  static constexpr int kMaxErrors = 8;

  std::string text_;
  int numErrors_ = 0;
  mlir::ScopedDiagnosticHandler handler_;
};

}  // namespace isthmus::importer
