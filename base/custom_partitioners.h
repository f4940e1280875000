// Functions of a framework that split custom calls over devices, by the calls' names.
#pragma once

#include <string_view>

#include "isthmus/pjrt_c_api/extensions.h"

namespace isthmus {

// From now on calls of `name` are split by `partitioner`, for the rest of the process: it is never
// destroyed, since a program may be compiled at any time. Whoever had the name before is forgotten.
// For any thread.
void registerCustomPartitioner(std::string_view name,
                               JAX_CustomCallPartitioner_Callbacks* partitioner);

// Null if nobody splits calls of this name.
JAX_CustomCallPartitioner_Callbacks* findCustomPartitioner(std::string_view name);

}  // namespace isthmus
