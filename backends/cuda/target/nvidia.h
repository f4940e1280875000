// The models of NVIDIA's GPUs.
#pragma once

#include "compiler/target/target_model.h"

namespace isthmus::cuda {

// The first compute capability that is supported, times ten as all capabilities are here.
inline constexpr int kOldestCapability = 80;

// GPUs from that one on: the model of an A100 for capabilities up to 89, of an H100 from 90 on.
TargetModel nvidiaTarget(int capability);

// On how many units groups run at the same time.
int64_t nvidiaUnits(int capability);

// What a warp's mma.sync multiplies: rows and columns of the sums, and bytes of a row of the left
// operand. The kernel of tensor cores (kernels/tensor_dot.h) is written for its registers.
struct Mma {
  static constexpr int64_t kRows = 16, kColumns = 8, kBytes = 32;
};

}  // namespace isthmus::cuda
