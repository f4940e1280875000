// Executables as bytes: native code and metadata, loadable without a compiler.
#pragma once

#include <string>
#include <string_view>

#include "backends/cpu/executable.h"
#include "isthmus/status.h"

namespace isthmus::cpu {

std::string serializeImage(const ProgramImage& image);

// kInvalidArgument if the bytes are not an executable or are damaged; kFailedPrecondition, with
// what is needed and what is here, if they are for another build, interface or CPU.
StatusOr<ProgramImage> deserializeImage(std::string_view bytes);

// What code of this plugin cannot run without: version and interface.
std::string buildId();

// The features of `needed` ("+avx2,-sse4a,+fma") that `available` lacks, joined by commas.
std::string missingFeatures(std::string_view needed, std::string_view available);

}  // namespace isthmus::cpu
