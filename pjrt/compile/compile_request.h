// What Compile, PJRT_Compile and Load get from their callers.
#pragma once

#include <optional>
#include <string_view>

#include "isthmus/backend.h"
#include "isthmus/pjrt_c_api.h"
#include "isthmus/status.h"

namespace isthmus::pjrt {

// Checks the program and reads the options. The request points into the caller's program.
// `entry` opens the messages.
StatusOr<CompileRequest> parseCompileRequest(std::string_view entry, const PJRT_Program* program,
                                             const char* options, size_t optionsSize);

// Leaves `result` empty where the caller gave no options.
Status parseOptionalCompileOptions(std::string_view entry, const char* options, size_t optionsSize,
                                   std::optional<CompileOptions>& result);

}  // namespace isthmus::pjrt
