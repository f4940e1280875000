// The program after what the compiler does above code generation.
#include "compiler/driver/driver.h"
#include "compiler/import/import.h"
#include "compiler/pipeline/portable.h"
#include "llvm/Support/raw_ostream.h"

namespace isthmus {

StatusOr<std::string> optimizedProgramText(const ProgramInfo& info) {
  if (info.code.empty()) return unimplemented("the executable came without its program");
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  ISTHMUS_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module,
                           importProgram(info.code, info.format, *context));
  PipelineOptions pipeline;
  pipeline.compile = info.options;
  pipeline.stopAfter = "simplify";  // what comes after is not StableHLO any more
  ISTHMUS_RETURN_IF_ERROR(runPipeline(module, pipeline));
  makePortable(*module);
  mlir::OpPrintingFlags flags;
  flags.printGenericOpForm();
  // Versions of MLIR differ in the bits of booleans in hexadecimal form.
  module->walk([&](mlir::Operation* op) {
    auto value = op->getAttrOfType<mlir::DenseElementsAttr>("value");
    if (value && !value.isSplat() && value.getElementType().isInteger(1)) {
      flags.printLargeElementsAttrWithHex(-1);
    }
  });
  std::string text;
  llvm::raw_string_ostream out(text);
  module->print(out, flags);
  return text;
}

}  // namespace isthmus
