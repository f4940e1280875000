// The functions that generated programs may call, by name.
#pragma once

#include <string>

namespace isthmus::cpu {

// A library function of ours (abi.h), or one of the C library's that generated code may use; null
// if there is none of that name.
void* resolveProgramSymbol(const std::string& name);

}  // namespace isthmus::cpu
