// Names the steps of a program after their operations and the lines that these come from.
#pragma once

#include "base/program/program_steps.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/Operation.h"

namespace isthmus {

class StepTable {
 public:
  // The index of the new step.
  int64_t add(mlir::Operation* op) { return add(llvm::ArrayRef(op)); }
  // One step of several operations, named after the first.
  int64_t add(llvm::ArrayRef<mlir::Operation*> ops);
  ProgramSteps take();

 private:
  int32_t text(llvm::StringRef value);

  llvm::StringMap<int32_t> numbers_;
  ProgramSteps steps_;
};

}  // namespace isthmus
