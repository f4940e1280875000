// From program bytes to a verified module: the first stage of the compiler.
#include "compiler/import/import.h"

#include <string>

#include "compiler/dialect/dialect.h"
#include "compiler/import/bytecode/attribute_decoder.h"
#include "compiler/import/bytecode/attribute_sizes.h"
#include "compiler/import/bytecode/container.h"
#include "compiler/import/bytecode/operation_reader.h"
#include "compiler/import/diagnostics.h"
#include "compiler/import/hlo/hlo_import.h"
#include "compiler/import/text/resources.h"
#include "compiler/import/text/text.h"
#include "compiler/import/text/text_limits.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

namespace isthmus {
namespace {

using importer::DiagnosticCollector;
using importer::ErrorSink;
using Module = mlir::OwningOpRef<mlir::ModuleOp>;

// The first error of our own, and MLIR's diagnostics, which say where.
Status toStatus(const ErrorSink& sink, const DiagnosticCollector& diagnostics) {
  if (!sink.failed()) {
    return invalidArgument(diagnostics.text().empty() ? "program is malformed"
                                                      : diagnostics.text());
  }
  if (diagnostics.text().empty()) return sink.status();
  return sink.status().withMessage(std::string(sink.status().message()) + "\n" +
                                   diagnostics.text());
}

Module readBytecode(llvm::StringRef code, mlir::MLIRContext& context, ErrorSink& sink) {
  importer::Container file;
  if (!importer::readContainer(code, file, sink)) return {};
  importer::AttributeDecoder decoder(file, &context, sink);
  return importer::readModule(decoder);
}

Module readText(llvm::StringRef code, mlir::MLIRContext& context, ErrorSink& sink) {
  if (!importer::checkTextLimits(code, sink)) return {};
  // A copy of our own: MLIR's lexer ends at a zero after the text, which the caller's bytes lack.
  std::string text = code.contains("mhlo") ? importer::renameMhlo(code, context) : code.str();
  if (llvm::StringRef(text).contains("dense<\"0x")) text = importer::packHexBooleans(text);
  // Verified by our caller, after the sizes.
  mlir::ParserConfig config(&context, /*verifyAfterParse=*/false);
  return mlir::parseSourceString<mlir::ModuleOp>(text, config, "program");
}

}  // namespace

StatusOr<Module> importProgram(std::string_view code, std::string_view format,
                               mlir::MLIRContext& context) {
  const bool isHlo = format == "hlo" || format == "hlo_with_config";
  if (!isHlo && format != "mlir") {
    return invalidArgument("Unknown program format '", format, "'.");
  }

  loadAllDialects(context);
  ErrorSink sink;
  DiagnosticCollector diagnostics(context);
  const bool isText = !isHlo && !importer::isBytecode(code);
  Module module = isHlo    ? importer::readHlo(code, format == "hlo_with_config", context, sink)
                  : isText ? readText(code, context, sink)
                           : readBytecode(code, context, sink);
  if (!module || sink.failed()) return toStatus(sink, diagnostics);
  if (!importer::checkSizes(*module, sink)) return toStatus(sink, diagnostics);
  if (mlir::failed(mlir::verify(*module))) return toStatus(sink, diagnostics);
  if (!importer::readResources(*module, sink)) return toStatus(sink, diagnostics);
  return module;
}

}  // namespace isthmus
