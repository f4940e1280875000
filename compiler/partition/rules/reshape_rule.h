// Reshapes whose blocks are blocks of the operand, however many dimensions share their split.
#pragma once

#include <optional>

#include "compiler/partition/sharding/mesh_sharding.h"
#include "llvm/ADT/ArrayRef.h"

namespace isthmus {

// How the devices' blocks of an array of shape `from`, split evenly as `sharding` says, split it
// when it has shape `to`: 32 rows in 8 blocks are 4 x 8 of them in 4 x 2. Nothing if the elements
// of a block are not a block there.
std::optional<MeshSharding> reshapedSharding(const MeshSharding& sharding,
                                             llvm::ArrayRef<int64_t> from,
                                             llvm::ArrayRef<int64_t> to);

}  // namespace isthmus
