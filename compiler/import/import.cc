// From program bytes to a verified module: the first stage of the compiler.
#include "compiler/import/import.h"

#include <string>

#include "compiler/dialect/dialect.h"
#include "compiler/import/attribute_decoder.h"
#include "compiler/import/container.h"
#include "compiler/import/diagnostics.h"
#include "compiler/import/hlo/hlo_import.h"
#include "compiler/import/operation_reader.h"
#include "compiler/import/text.h"
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
  return Status(sink.status().code(),
                std::string(sink.status().message()) + "\n" + diagnostics.text());
}

Module readBytecode(llvm::StringRef code, mlir::MLIRContext& context, ErrorSink& sink) {
  importer::Container file;
  if (!importer::readContainer(code, file, sink)) return {};
  importer::AttributeDecoder decoder(file, &context, sink);
  return importer::readModule(decoder);
}

Module readText(llvm::StringRef code, mlir::MLIRContext& context, ErrorSink& sink) {
  if (!importer::checkNesting(code, sink)) return {};
  std::string renamed, packed;
  if (code.contains("mhlo")) {
    renamed = importer::renameMhlo(code, context);
    code = renamed;
  }
  if (code.contains("dense<\"0x")) {
    packed = importer::packHexBooleans(code);
    code = packed;
  }
  // Verified by our caller, after the sizes of types.
  mlir::ParserConfig config(&context, /*verifyAfterParse=*/false);
  return mlir::parseSourceString<mlir::ModuleOp>(code, config, "program");
}

// The bytecode reader has checked its types already; the text parser takes any size.
bool checkTypes(mlir::ModuleOp module, ErrorSink& sink) {
  llvm::DenseSet<mlir::Type> checked;
  auto check = [&](mlir::Type type) {
    if (!checked.insert(type).second) return true;
    bool isFine = true;
    type.walk([&](mlir::RankedTensorType tensor) {
      isFine = isFine && importer::isReasonableShape(tensor.getShape());
    });
    return isFine ||
           sink.fail(StatusCode::kInvalidArgument, "program has a tensor that is too large");
  };
  auto result = module.walk([&](mlir::Operation* op) {
    bool isFine = llvm::all_of(op->getResultTypes(), check);
    for (mlir::Region& region : op->getRegions()) {
      for (mlir::Block& block : region) {
        isFine = isFine && llvm::all_of(block.getArgumentTypes(), check);
      }
    }
    return isFine ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
  });
  return !result.wasInterrupted();
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
  if (isText && !checkTypes(*module, sink)) return toStatus(sink, diagnostics);
  if (mlir::failed(mlir::verify(*module))) return toStatus(sink, diagnostics);
  return module;
}

}  // namespace isthmus
