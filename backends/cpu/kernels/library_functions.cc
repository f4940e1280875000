// The table of library functions. It is in one file with the look-up, so that whoever links the
// look-up links every function.
#include <cstring>

#include "backends/cpu/abi.h"
#include "backends/cpu/kernels/conv.h"
#include "backends/cpu/kernels/decompositions.h"
#include "backends/cpu/kernels/dot.h"
#include "backends/cpu/kernels/fft.h"
#include "backends/cpu/kernels/linalg.h"
#include "backends/cpu/kernels/rng.h"
#include "backends/cpu/kernels/sort.h"
#include "backends/cpu/kernels/special_functions.h"

namespace isthmus::cpu {
namespace {

// Constant-initialized, hence null before any constructor below or elsewhere runs.
constinit LibraryFunction* head = nullptr;

const LibraryFunction kConv("isthmus_rt_conv", isthmus_rt_conv);
const LibraryFunction kDecompose("isthmus_rt_decompose", isthmus_rt_decompose);
const LibraryFunction kDot("isthmus_rt_dot", isthmus_rt_dot);
const LibraryFunction kFft("isthmus_rt_fft", isthmus_rt_fft);
const LibraryFunction kCholesky("isthmus_rt_cholesky", isthmus_rt_cholesky);
const LibraryFunction kTriangularSolve("isthmus_rt_triangular_solve", isthmus_rt_triangular_solve);
const LibraryFunction kRng("isthmus_rt_rng", isthmus_rt_rng);
const LibraryFunction kSort("isthmus_rt_sort", isthmus_rt_sort);
const LibraryFunction kSpecial("isthmus_rt_special", isthmus_rt_special);
const LibraryFunction kTopK("isthmus_rt_top_k", isthmus_rt_top_k);

}  // namespace

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
