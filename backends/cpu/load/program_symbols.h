// The function that a generated program is and those that it may call, by name.
#pragma once

#include <string>

namespace isthmus::cpu {

// An IsthmusMain (abi.h).
inline constexpr char kMainSymbol[] = "isthmus_main";

// A library function of ours (abi.h), or one of the C library's that generated code may use; null
// if there is none of that name.
void* resolveProgramSymbol(const std::string& name);

}  // namespace isthmus::cpu
