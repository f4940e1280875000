// Calls of a backend's compiler, whose recursion and memory follow programs of strangers: on a
// stack of their own, and what is thrown comes back as an error.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/memory/program_memory.h"
#include "isthmus/backend.h"
#include "isthmus/status.h"

namespace isthmus {

// Backend::compile, Backend::optimizedProgram and Backend::deserialize. They block. Besides the
// backend's errors kResourceExhausted if there is no memory, and kInternal if a library that the
// compiler is made of gives up.
// What programs have of devices is held to `limits`; null: to nobody's.
StatusOr<std::shared_ptr<const Executable>> compileProgram(
    Backend& backend, const CompileRequest& request, const ProgramMemory::Limits* limits = nullptr);
StatusOr<std::string> optimizedProgram(Backend& backend, const ProgramInfo& info);
StatusOr<std::shared_ptr<const Executable>> deserializeProgram(
    Backend& backend, std::string_view bytes, const ProgramMemory::Limits* limits = nullptr);

}  // namespace isthmus
