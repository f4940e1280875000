// Registers this folder's library functions and resolves names. Both are in one file so that
// whoever links the look-up links every function.
#include "backends/cpu/load/program_symbols.h"

#include "backends/cpu/load/collective_functions.h"
#include "backends/cpu/load/copy_functions.h"
#include "backends/cpu/load/custom_call_functions.h"
#include "backends/cpu/load/object_loader.h"
#include "backends/cpu/walled.h"

namespace isthmus::cpu {
namespace {

const LibraryFunction kFunctions[] = {
    {"isthmus_rt_all_gather", walled<isthmus_rt_all_gather>},
    {"isthmus_rt_all_reduce", walled<isthmus_rt_all_reduce>},
    {"isthmus_rt_all_to_all", walled<isthmus_rt_all_to_all>},
    {"isthmus_rt_collective_broadcast", walled<isthmus_rt_collective_broadcast>},
    {"isthmus_rt_collective_permute", walled<isthmus_rt_collective_permute>},
    {"isthmus_rt_copy", walled<isthmus_rt_copy>},
    {"isthmus_rt_custom_call", walled<isthmus_rt_custom_call>},
    {"isthmus_rt_await", walled<isthmus_rt_await>},
    {"isthmus_rt_process_id", walled<isthmus_rt_process_id>},
    {"isthmus_rt_reduce_scatter", walled<isthmus_rt_reduce_scatter>},
    {"isthmus_rt_swap", walled<isthmus_rt_swap>},
};

}  // namespace

void* resolveProgramSymbol(const std::string& name) {
  if (IsthmusLibraryFunction function = findLibraryFunction(name.c_str())) {
    return reinterpret_cast<void*>(function);
  }
  return resolveRuntimeSymbol(name);
}

}  // namespace isthmus::cpu
