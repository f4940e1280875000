// Collects MLIR's diagnostics into the message of a Status.
#include "compiler/import/diagnostics.h"

#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace isthmus::importer {
namespace {

void append(std::string& text, mlir::Diagnostic& diagnostic) {
  if (!text.empty()) text += '\n';
  const std::string location = describeLocation(diagnostic.getLocation());
  if (!location.empty()) text += location + ": ";
  text += diagnostic.str();
}

}  // namespace

std::string describeLocation(mlir::Location location) {
  std::string result;
  llvm::raw_string_ostream out(result);
  if (auto file = location->findInstanceOf<mlir::FileLineColLoc>()) {
    out << file.getFilename().getValue() << ":" << file.getStartLine() << ":"
        << file.getStartColumn();
  }
  if (auto name = location->findInstanceOf<mlir::NameLoc>()) {
    const bool isAlone = result.empty();
    out << (isAlone ? "" : " (") << name.getName().getValue() << (isAlone ? "" : ")");
  }
  return result;
}

DiagnosticCollector::DiagnosticCollector(mlir::MLIRContext& context)
    : handler_(&context, [this](mlir::Diagnostic& diagnostic) {
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error &&
            numErrors_++ < kMaxErrors) {
          append(text_, diagnostic);
          for (mlir::Diagnostic& note : diagnostic.getNotes()) append(text_, note);
        }
        return mlir::success();
      }) {}

}  // namespace isthmus::importer
