// What must hold of every import, whatever the bytes were.
#pragma once

#include <string_view>

namespace isthmus::fuzz {

// Imports `code`. Ends the process with a message unless the outcome is an error that says why, or
// a module that verifies and prints.
void checkImport(std::string_view code, std::string_view format);

}  // namespace isthmus::fuzz
