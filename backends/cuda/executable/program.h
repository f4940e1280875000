// A compiled program as plain data: PTX, and the steps that the host enqueues.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "backends/cuda/codegen/ptx.h"
#include "backends/cuda/libraries/dnn_attention.h"
#include "backends/cuda/libraries/dnn_convolution.h"
#include "backends/cuda/libraries/matrix_product.h"
#include "backends/shared/staging/staged_program.h"

namespace isthmus::cuda {

// A call of cuBLASLt or of cuDNN: over lhs, rhs, what their epilogues add (a residual, of
// convolutions, and a bias, if they have such), result and scratch memory; or over what
// DnnAttention::bufferBytes names, and scratch memory.
struct LibraryWork {
  std::variant<BlasProduct, DnnConvolution, DnnAttention> what;
  int64_t scratchBytes = 0;
  std::string description;  // the operation and its source position
};

struct ProgramImage : StagedProgram {
  int capability = 0;               // that the PTX is written for
  std::string ptx;                  // of all kernels; empty if there are none
  std::vector<LaunchShape> shapes;  // by kernel
  std::vector<LibraryWork> calls;   // by the number of a LibraryCall
};

}  // namespace isthmus::cuda
