// The StableHLO versions whose portable artifacts can be imported.
#pragma once

#include <array>
#include <cstdint>

namespace isthmus {

// {major, minor, patch}. Frameworks lower to the smaller of the plugin's current version and their
// own; the values are the PJRT plugin attributes `stablehlo_current_version` and
// `stablehlo_minimum_version`.
inline constexpr std::array<int64_t, 3> kStablehloCurrentVersion = {1, 20, 0};
inline constexpr std::array<int64_t, 3> kStablehloMinimumVersion = {0, 9, 0};

}  // namespace isthmus
