// Checks of the options that callers name: jit(compiler_options={...}).
#pragma once

#include "isthmus/backend.h"
#include "isthmus/status.h"

namespace isthmus::pjrt {

// Checks names and types, and turns what came as text into the option's type. XLA's debug options
// (xla_*) are accepted, since programs carry them from one platform to another; none of them
// changes what is computed. kInvalidArgument "No such compile option: 'NAME'" for anything unknown,
// and "'VALUE' is not a valid TYPE value." for a value of another type.
Status checkOverrides(AttributeMap& overrides);

}  // namespace isthmus::pjrt
