#include "compiler/dialect/diagnostics.h"

#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace isthmus {
namespace {

// Long reports help nobody, and hostile programs can make as many errors as they like.
constexpr size_t kMaxReportBytes = 8192;

}  // namespace

DiagnosticCollector::DiagnosticCollector(mlir::MLIRContext* context)
    : handler_(context, [this](mlir::Diagnostic& diagnostic) {
        if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error) return mlir::success();
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
  return Status(code, text_.empty() ? std::string(fallback) : text_);
}

}  // namespace isthmus
