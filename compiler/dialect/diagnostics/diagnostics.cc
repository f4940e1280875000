#include "compiler/dialect/diagnostics/diagnostics.h"

#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Verifier.h"

namespace isthmus {
namespace {

// Long reports help nobody, and hostile programs can make as many errors as they like.
constexpr size_t kMaxReportBytes = 8192;

// Metadata of a diagnostic, for which MLIR has no use of its own.
void setCode(mlir::Diagnostic& diagnostic, StatusCode code) {
  diagnostic.getMetadata().emplace_back(static_cast<int32_t>(code));
}

mlir::InFlightDiagnostic asInvalid(mlir::InFlightDiagnostic diagnostic) {
  setCode(*diagnostic.getUnderlyingDiagnostic(), StatusCode::kInvalidArgument);
  return diagnostic;
}

}  // namespace

void emitStatus(mlir::Operation* op, const Status& status) {
  mlir::InFlightDiagnostic diagnostic = op->emitError(std::string(status.message()));
  setCode(*diagnostic.getUnderlyingDiagnostic(), status.code());
}

mlir::InFlightDiagnostic emitInvalid(mlir::Operation* op, const llvm::Twine& message) {
  return asInvalid(op->emitOpError(message));
}

mlir::InFlightDiagnostic emitInvalid(mlir::Location place, const llvm::Twine& message) {
  return asInvalid(mlir::emitError(place, message));
}

mlir::LogicalResult verifyRules(mlir::Operation* op, bool isRecursive) {
  mlir::ScopedDiagnosticHandler handler(op->getContext(), [](mlir::Diagnostic& diagnostic) {
    setCode(diagnostic, StatusCode::kInvalidArgument);
    return mlir::failure();  // for the handler before
  });
  return mlir::verify(op, isRecursive);
}

DiagnosticCollector::DiagnosticCollector(mlir::MLIRContext* context)
    : handler_(context, [this](mlir::Diagnostic& diagnostic) {
        if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error) return mlir::success();
        if (text_.empty() && !diagnostic.getMetadata().empty()) {
          code_ = static_cast<StatusCode>(diagnostic.getMetadata().front().getAsInteger());
        }
        if (text_.size() > kMaxReportBytes) return mlir::success();
        llvm::raw_string_ostream out(text_);
        if (!text_.empty()) out << "\n";
        if (std::string place = sourceLocation(diagnostic.getLocation()); !place.empty()) {
          out << place << ": ";
        }
        out << diagnostic.str();
        for (mlir::Diagnostic& note : diagnostic.getNotes()) out << "\n  " << note.str();
        return mlir::success();
      }) {}

Status DiagnosticCollector::status(StatusCode code, std::string_view fallback) const {
  return Status(code_ == StatusCode::kOk ? code : code_,
                text_.empty() ? std::string(fallback) : text_);
}

}  // namespace isthmus
