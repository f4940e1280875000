// Executables as bytes: native code and metadata, loadable without a compiler.
#pragma once

#include <string>
#include <string_view>

#include "backends/cpu/load/executable.h"
#include "backends/shared/serialization/sealed_bytes.h"
#include "isthmus/status.h"

namespace isthmus::cpu {

// With a key (cache_key.h), the bytes say by whom they were made.
std::string serializeImage(const ProgramImage& image, std::string_view key = {});

// kInvalidArgument if the bytes are not an executable, are damaged or contradict themselves;
// kFailedPrecondition, with what is needed and what is here, if they are for another build,
// interface or CPU, or were not made with `key`, if there is one.
StatusOr<ProgramImage> deserializeImage(std::string_view bytes, std::string_view key = {});

}  // namespace isthmus::cpu
