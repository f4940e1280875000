// Files as the command line tools take them.
#pragma once

#include <string>

#include "isthmus/status.h"

namespace isthmus {

// All of a file, or of standard input where the name is "-". kNotFound if it cannot be read.
StatusOr<std::string> readAll(const std::string& name);

}  // namespace isthmus
