// Assembly of the function table: stubs everywhere, then each object's entries over them.
#include "pjrt/table.h"

#include "pjrt/bindings.h"
#include "pjrt/entry.h"
#include "pjrt/extensions/extensions.h"

namespace isthmus::pjrt {
namespace {

// Frameworks decide by this number which entries they may call; 1144 bytes hold all of them.
static_assert(sizeof(PJRT_Api) == 1144);

PJRT_Api makeApi() {
  PJRT_Api api = {};
  api.struct_size = kPjrtStructSize<PJRT_Api>;
  api.pjrt_api_version.struct_size = kPjrtStructSize<PJRT_Api_Version>;
  api.pjrt_api_version.major_version = PJRT_API_MAJOR;
  api.pjrt_api_version.minor_version = PJRT_API_MINOR;

#define ISTHMUS_PJRT_STUB(name) api.PJRT_##name = kStub<PJRT_##name##_Args>;
  ISTHMUS_PJRT_SLOTS(ISTHMUS_PJRT_STUB)
#undef ISTHMUS_PJRT_STUB

  bindError(api);
  bindPlugin(api);
  bindEvent(api);
  bindClient(api);
  bindClientBuffers(api);
  bindDeviceDescription(api);
  bindDevice(api);
  bindMemory(api);
  bindBuffer(api);
  bindBufferTransfers(api);
  bindTransferManager(api);
  bindCopyToDeviceStream(api);
  bindExecutable(api);
  bindLoadedExecutable(api);
  bindExecute(api);
  bindTopology(api);

  for (PJRT_Extension_Base* extension :
       {&layoutsExtension(), &shardingsExtension(), &memoryDescriptionsExtension(), &ffiExtension(),
        &customCallExtension(), &profilerExtension(), &customPartitionerExtension(),
        &crossHostTransfersExtension(), &streamExtension()}) {
    extension->next = api.extension_start;
    api.extension_start = extension;
  }
  return api;
}

}  // namespace

const PJRT_Api* pjrtApi() {
  static const PJRT_Api& api = *new PJRT_Api(makeApi());
  return &api;
}

}  // namespace isthmus::pjrt
