// The extensions of the plugin. Each lives in a folder of its own and returns its node, whose
// `next` the table sets.
#pragma once

#include "isthmus/pjrt_c_api.h"

namespace isthmus::pjrt {

PJRT_Extension_Base& layoutsExtension();
PJRT_Extension_Base& shardingsExtension();
PJRT_Extension_Base& memoryDescriptionsExtension();
PJRT_Extension_Base& ffiExtension();
PJRT_Extension_Base& customCallExtension();
PJRT_Extension_Base& profilerExtension();
PJRT_Extension_Base& customPartitionerExtension();
PJRT_Extension_Base& crossHostTransfersExtension();
PJRT_Extension_Base& streamExtension();

}  // namespace isthmus::pjrt
