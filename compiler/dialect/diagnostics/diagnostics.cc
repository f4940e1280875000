#include "compiler/dialect/diagnostics/diagnostics.h"

#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace isthmus {
namespace {

// Long reports help nobody, and hostile programs can make as many errors as they like.
constexpr size_t kMaxReportBytes = 8192;

}  // namespace

void emitStatus(mlir::Operation* op, const Status& status) {
  mlir::InFlightDiagnostic diagnostic = op->emitError(std::string(status.message()));
  diagnostic.getUnderlyingDiagnostic()->getMetadata().emplace_back(
      static_cast<int32_t>(status.code()));
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
