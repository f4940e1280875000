// What our devices do with single operations, outside of functions that are compiled as a whole.
#pragma once

namespace isthmus::tensorflow_bridge {

// What TensorFlow translates its operations for. The CPU wheel has no other kernels.
inline constexpr char kCompilationDevice[] = "XLA_CPU_JIT";

// TensorFlow's type of these devices, "ISTHMUS" or the platform's name in capitals; it lives as
// long as the process.
const char* deviceType();

// Registers the kernels of our devices. Once, before there are devices.
void registerKernels();

}  // namespace isthmus::tensorflow_bridge
