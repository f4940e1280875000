#include "compiler/dialect/diagnostics.h"

#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace isthmus {
namespace {

// Long reports help nobody, and hostile programs can make as many errors as they like.
constexpr size_t kMaxReportBytes = 8192;

}  // namespace

std::string sourceLocation(mlir::Location location) {
  if (auto file = llvm::dyn_cast<mlir::FileLineColRange>(location)) {
    std::string text;
    llvm::raw_string_ostream(text) << file.getFilename().getValue() << ":" << file.getStartLine()
                                   << ":" << file.getStartColumn();
    return text;
  }
  if (auto named = llvm::dyn_cast<mlir::NameLoc>(location)) {
    std::string child = sourceLocation(named.getChildLoc());
    // A name is what JAX calls the op ("jit(f)/add"); without a file it is all there is.
    return child.empty() ? named.getName().str() : child;
  }
  if (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(location)) {
    return sourceLocation(call.getCallee());
  }
  if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(location)) {
    for (mlir::Location part : fused.getLocations()) {
      if (std::string text = sourceLocation(part); !text.empty()) return text;
    }
  }
  return "";
}

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
