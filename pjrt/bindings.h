// Fills the function table, one call per object. Slots that nobody binds keep their stub.
#pragma once

#include "isthmus/pjrt_c_api.h"

namespace isthmus::pjrt {

void bindBuffer(PJRT_Api& api);
void bindBufferTransfers(PJRT_Api& api);
void bindClient(PJRT_Api& api);
void bindClientBuffers(PJRT_Api& api);
void bindCopyToDeviceStream(PJRT_Api& api);
void bindDevice(PJRT_Api& api);
void bindDeviceDescription(PJRT_Api& api);
void bindError(PJRT_Api& api);
void bindEvent(PJRT_Api& api);
void bindExecutable(PJRT_Api& api);
void bindExecute(PJRT_Api& api);
void bindLoadedExecutable(PJRT_Api& api);
void bindMemory(PJRT_Api& api);
void bindPlugin(PJRT_Api& api);
void bindTopology(PJRT_Api& api);
void bindTransferManager(PJRT_Api& api);

}  // namespace isthmus::pjrt
