// The most devices of one program.
#pragma once

#include <cstdint>

namespace isthmus {

// More, in options, serialized executables, meshes or networks, are taken for a mistake: products
// of numbers of devices then fit an int.
inline constexpr int64_t kMaxProgramDevices = int64_t{1} << 20;

}  // namespace isthmus
