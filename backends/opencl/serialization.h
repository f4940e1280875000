// Executables of platform xpu as bytes, loadable without a compiler of ours, and without the
// driver's where it takes the binaries that it made.
#pragma once

#include <string>
#include <string_view>

#include "backends/opencl/program.h"
#include "isthmus/status.h"

namespace isthmus::opencl {

// `device`: Driver::identity() of the devices that the program is for. With a key
// (backends/shared/serialization/cache_key.h), the bytes say by whom they were made.
std::string serializeImage(const ProgramImage& image, std::string_view device,
                           std::string_view key = {});

// kInvalidArgument if the bytes are not an executable, are damaged or contradict themselves;
// kFailedPrecondition, with what is needed and what is here, if they are for another build, other
// devices or CPU, or were not made with `key`, if there is one.
StatusOr<ProgramImage> deserializeImage(std::string_view bytes, std::string_view device,
                                        std::string_view key = {});

}  // namespace isthmus::opencl
