// Executables of platform cuda as bytes, loadable without a compiler of ours: PTX and steps. The
// driver compiles the PTX again, or finds what it made of it in its own cache.
#pragma once

#include <string>
#include <string_view>

#include "backends/cuda/executable/program.h"
#include "isthmus/status.h"

namespace isthmus::cuda {

// `device`: CompileTarget::identity() of what the program is compiled for. With a key
// (backends/shared/serialization/cache_key.h), the bytes say by whom they were made.
std::string serializeImage(const ProgramImage& image, std::string_view device,
                           std::string_view key = {});

// kInvalidArgument if the bytes are not an executable, are damaged or contradict themselves;
// kFailedPrecondition, with what is needed and what is here, if they are for another build, other
// devices or CPU, or were not made with `key`, if there is one.
StatusOr<ProgramImage> deserializeImage(std::string_view bytes, std::string_view device,
                                        std::string_view key = {});

}  // namespace isthmus::cuda
