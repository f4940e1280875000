// Imports in a context that is renewed from time to time, for it keeps every attribute it ever saw.
#include "fuzz/inputs/import_check.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "compiler/import/import.h"
#include "fuzz/inputs/guarded_bytes.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

namespace isthmus::fuzz {
namespace {

constexpr int kImportsPerContext = 256;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "import: %s\n", what);
  std::abort();
}

}  // namespace

void checkImport(std::string_view code, std::string_view format) {
  static std::unique_ptr<mlir::MLIRContext> context;
  static int imports = 0;
  if (imports++ % kImportsPerContext == 0) {
    context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  }
  auto module = importProgram(guardEnd(code), format, *context);
  if (!module.ok()) {
    if (module.status().message().empty()) fail("an error without a message");
    return;
  }
  if (mlir::failed(mlir::verify(**module))) fail("the module does not verify");
  std::string printed;
  llvm::raw_string_ostream out(printed);
  (*module)->print(out, mlir::OpPrintingFlags().enableDebugInfo());
  if (printed.empty()) fail("the module prints nothing");
}

}  // namespace isthmus::fuzz
