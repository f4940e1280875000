// From program bytes to an executable, for every backend: import, the compiler's stages, the memory
// plan, and the backend's code.
#pragma once

#include <memory>
#include <string>

#include "compiler/driver/code_generator.h"
#include "isthmus/backend.h"
#include "isthmus/device_compiler.h"
#include "isthmus/status.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus {

// Backend::compile. Reads ISTHMUS_DUMP, ISTHMUS_OVERRIDE, ISTHMUS_OPTIMIZATION (or the program's
// own option isthmus_optimization), and compares with the reference evaluator if ISTHMUS_COMPARE
// says so.
StatusOr<std::shared_ptr<const Executable>> compileProgram(const CodeGenerator& generator,
                                                           const CompileRequest& request);

// What comes after the stages: describes, selects, plans, generates. `module` holds `@main`, fused.
// `info` has what its function does not say (name, code, options, fingerprint).
StatusOr<std::shared_ptr<const Executable>> generateProgram(const CodeGenerator& generator,
                                                            mlir::ModuleOp module, ProgramInfo info,
                                                            CodegenSettings settings);

// The program after stage `options.stopAfter` of the table (allStages()) as text: the module as it
// was imported or the pipeline leaves it, the plan, LLVM IR, assembly; what was loaded, in a line.
// `module` is an imported program, or what the stage before `options.startAt` left, which is one of
// the pipeline's. Backends give LLVM IR and assembly as they dump them.
StatusOr<std::string> textAfterStage(const CodeGenerator& generator,
                                     mlir::OwningOpRef<mlir::ModuleOp>& module,
                                     PipelineOptions options);

}  // namespace isthmus
