// The text that an operation with kernels of its own carries of them, as fusions carry theirs.
#pragma once

#include <optional>

#include "compiler/schedule/schedule.h"
#include "mlir/IR/Operation.h"

namespace isthmus {

// An array of texts, one of each stage.
inline constexpr llvm::StringLiteral kOpScheduleName = "isthmus.schedule";

// What `op` carries, read but not verified; nothing if it carries none. kInvalidArgument of what is
// not read.
StatusOr<std::optional<KernelSchedule>> carriedSchedule(mlir::Operation* op);
// Makes `op`, which is no fusion, carry `schedule`.
void attachOpSchedule(const KernelSchedule& schedule, mlir::Operation* op);

}  // namespace isthmus
