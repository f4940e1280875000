// From program bytes to a verified module: the first stage of the compiler.
#pragma once

#include <string_view>

#include "isthmus/status.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace isthmus {

// Reads a program and returns it as a verified module of the `stablehlo` and `func` dialects (and
// `sdy`, `chlo` where the program has them), with the source locations of the program.
//
// `format` is PJRT's: "mlir" is bytecode (a StableHLO portable artifact of any version from
// 0.9.0 to 1.20.0, or plain MLIR bytecode) or text; "hlo" and
// "hlo_with_config" are XLA's HloModuleProto and HloModuleProtoWithConfig.
//
// `code` may hold anything: malformed or hostile bytes give kInvalidArgument, a program that uses
// something this build does not know gives kUnimplemented, an unknown format kInvalidArgument. The
// message has MLIR's diagnostics with their source locations. `code` is only read during the call.
//
// Loads the dialects that the program needs into `context`. Not for concurrent use of one context.
StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> importProgram(std::string_view code,
                                                          std::string_view format,
                                                          mlir::MLIRContext& context);

}  // namespace isthmus
