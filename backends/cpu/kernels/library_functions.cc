// The table of library functions. It is in one file with the look-up, so that whoever links the
// look-up links every function.
#include <cstring>
#include <exception>
#include <new>

#include "backends/cpu/abi.h"
#include "backends/cpu/exception_guard.h"
#include "backends/cpu/kernels/concatenate.h"
#include "backends/cpu/kernels/conv/conv.h"
#include "backends/cpu/kernels/fft/fft.h"
#include "backends/cpu/kernels/gemm/attention.h"
#include "backends/cpu/kernels/gemm/dot.h"
#include "backends/cpu/kernels/linalg/decompositions.h"
#include "backends/cpu/kernels/linalg/linalg.h"
#include "backends/cpu/kernels/rng/rng.h"
#include "backends/cpu/kernels/sort/sort.h"
#include "backends/cpu/kernels/special_functions.h"
#include "isthmus/out_of_memory.h"

namespace isthmus::cpu {
namespace {

// Constant-initialized, hence null before any constructor below or elsewhere runs.
constinit LibraryFunction* head = nullptr;

const LibraryFunction kAttention("isthmus_rt_attention", guarded<isthmus_rt_attention>);
const LibraryFunction kConcatenate("isthmus_rt_concatenate", guarded<isthmus_rt_concatenate>);
const LibraryFunction kConv("isthmus_rt_conv", guarded<isthmus_rt_conv>);
const LibraryFunction kDecompose("isthmus_rt_decompose", guarded<isthmus_rt_decompose>);
const LibraryFunction kDot("isthmus_rt_dot", guarded<isthmus_rt_dot>);
const LibraryFunction kFft("isthmus_rt_fft", guarded<isthmus_rt_fft>);
const LibraryFunction kCholesky("isthmus_rt_cholesky", guarded<isthmus_rt_cholesky>);
const LibraryFunction kTriangularSolve("isthmus_rt_triangular_solve",
                                       guarded<isthmus_rt_triangular_solve>);
const LibraryFunction kRng("isthmus_rt_rng", guarded<isthmus_rt_rng>);
const LibraryFunction kSort("isthmus_rt_sort", guarded<isthmus_rt_sort>);
const LibraryFunction kSpecial("isthmus_rt_special", guarded<isthmus_rt_special>);
const LibraryFunction kTopK("isthmus_rt_top_k", guarded<isthmus_rt_top_k>);

}  // namespace

int32_t failByException(IsthmusRun* run) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return fail(run, outOfHostMemory());
  } catch (const std::exception& error) {
    try {
      return fail(run, internalError("a program's function failed: ", error.what()));
    } catch (...) {
      return fail(run, outOfHostMemory());
    }
  } catch (...) {
    return fail(run, outOfHostMemory());
  }
}

LibraryFunction::LibraryFunction(const char* name, IsthmusLibraryFunction function)
    : name(name), function(function), next(head) {
  head = this;
}

IsthmusLibraryFunction findLibraryFunction(const char* name) {
  for (const LibraryFunction* entry = head; entry != nullptr; entry = entry->next) {
    if (std::strcmp(entry->name, name) == 0) return entry->function;
  }
  return nullptr;
}

}  // namespace isthmus::cpu
