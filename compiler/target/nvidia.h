// The models of NVIDIA's GPUs.
#pragma once

#include "compiler/target/target_model.h"

namespace isthmus {

// GPUs of compute capability 8.0 and newer: the model of an A100 for capabilities (times ten) from
// 80 to 89, of an H100 from 90 on.
TargetModel nvidiaTarget(int capability);

// What a kernel of these generations may use, in 32-bit registers: of a unit on which groups run,
// and of one thread.
inline constexpr int64_t kNvidiaUnitRegisters = 64 << 10;
inline constexpr int64_t kNvidiaThreadRegisters = 255;

// On how many such units groups run at the same time.
int64_t nvidiaUnits(int capability);

}  // namespace isthmus
