// Custom calls whose framework says how they are split over devices, such as those of
// jax.experimental.custom_partitioning.
#pragma once

#include "compiler/partition/partition.h"

namespace isthmus {

// Asks the function that is registered for the call's name (base/custom_partitioners.h), which may
// take the GIL and as long as it likes, and brings the program that it gives to the form that
// programs have when they are partitioned. Nothing if none is registered. Errors: what the function
// reports, a program that cannot be read.
StatusOr<std::optional<PartitionedCall>> partitionCustomCall(
    shlo::CustomCallOp call, const std::vector<std::string>& operands,
    const std::vector<std::string>& results);

}  // namespace isthmus
