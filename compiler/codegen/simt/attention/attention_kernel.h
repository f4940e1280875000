// Attention that stores no scores, by groups of threads.
#pragma once

#include <string>

#include "compiler/codegen/kernel_emitter.h"
#include "compiler/codegen/simt/work_item_kernel.h"
#include "compiler/dialect/isthmus.h"
#include "isthmus/status.h"

namespace isthmus::codegen {

// Adds the function `symbol` to `module`, as emitKernel does, of a fusion that is an attention: its
// tiles are shared by groups of threads. Other errors than those of single operations are those of
// its schedule.
StatusOr<Kernel> emitAttention(ir::FusionOp fusion, llvm::Module& module, const WorkItemForm& form,
                               const std::string& symbol);

}  // namespace isthmus::codegen
