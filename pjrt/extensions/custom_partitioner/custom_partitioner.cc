// Extension 2: functions that split custom calls over devices.
#include "base/custom_partitioners.h"
#include "pjrt/entry.h"
#include "pjrt/extensions/extensions.h"

namespace isthmus::pjrt {
namespace {

Status registerPartitioner(PJRT_Register_Custom_Partitioner_Args& args) {
  ISTHMUS_REQUIRE(args, name);
  ISTHMUS_REQUIRE(args, callbacks);
  if (args.callbacks->partition == nullptr) {
    return invalidArgument("a custom partitioner without a function that partitions");
  }
  registerCustomPartitioner({args.name, args.name_size}, args.callbacks);
  return {};
}

// Each call says itself how many leading dimensions are a batch (num_batch_dims), and is split by
// that whatever its name.
Status registerBatchPartitionable(PJRT_Register_Batch_Partitionable_Args& args) {
  ISTHMUS_REQUIRE(args, name);
  return {};
}

}  // namespace

PJRT_Extension_Base& customPartitionerExtension() {
  static PJRT_Custom_Partitioner_Extension extension = {
      .base = {sizeof(PJRT_Custom_Partitioner_Extension), PJRT_Extension_Type_Custom_Partitioner,
               nullptr},
      .register_custom_partitioner = kEntry<&registerPartitioner>,
      .register_batch_partitionable = kEntry<&registerBatchPartitionable>,
  };
  return extension.base;
}

}  // namespace isthmus::pjrt
