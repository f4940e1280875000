// Registers this folder's library functions and resolves names. Both are in one file so that
// whoever links the look-up links every function.
#include "backends/cpu/load/program_symbols.h"

#include "backends/cpu/exception_guard.h"
#include "backends/cpu/load/collective_functions.h"
#include "backends/cpu/load/copy_functions.h"
#include "backends/cpu/load/custom_call_functions.h"
#include "backends/cpu/load/object_loader.h"

namespace isthmus::cpu {
namespace {

const LibraryFunction kFunctions[] = {
    {"isthmus_rt_all_gather", guarded<isthmus_rt_all_gather>},
    {"isthmus_rt_all_reduce", guarded<isthmus_rt_all_reduce>},
    {"isthmus_rt_all_to_all", guarded<isthmus_rt_all_to_all>},
    {"isthmus_rt_collective_broadcast", guarded<isthmus_rt_collective_broadcast>},
    {"isthmus_rt_collective_permute", guarded<isthmus_rt_collective_permute>},
    {"isthmus_rt_copy", guarded<isthmus_rt_copy>},
    {"isthmus_rt_custom_call", guarded<isthmus_rt_custom_call>},
    {"isthmus_rt_await", guarded<isthmus_rt_await>},
    {"isthmus_rt_process_id", guarded<isthmus_rt_process_id>},
    {"isthmus_rt_reduce_scatter", guarded<isthmus_rt_reduce_scatter>},
    {"isthmus_rt_swap", guarded<isthmus_rt_swap>},
};

}  // namespace

void* resolveProgramSymbol(const std::string& name) {
  if (IsthmusLibraryFunction function = findLibraryFunction(name.c_str())) {
    return reinterpret_cast<void*>(function);
  }
  return resolveRuntimeSymbol(name);
}

}  // namespace isthmus::cpu
