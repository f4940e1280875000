// The entries of PJRT_CopyToDeviceStream.
//
// Streams reach callers only through receive callbacks, which no program of this plugin makes, so
// there is never one to act on: destroying none is fine, everything else is an error.
#include "pjrt/bindings.h"
#include "pjrt/entry.h"

namespace isthmus::pjrt {
namespace {

template <typename Args>
Status noStream(Args& args) {
  ISTHMUS_REQUIRE(args, stream);
  return unimplemented(kPjrtStructName<Args>, ": receive callbacks are not supported");
}

Status copyToDeviceStreamDestroy(PJRT_CopyToDeviceStream_Destroy_Args& args) {
  return args.stream == nullptr ? Status() : noStream(args);
}

// The chunk is ours whatever happens.
Status copyToDeviceStreamAddChunk(PJRT_CopyToDeviceStream_AddChunk_Args& args) {
  args.transfer_complete = nullptr;
  if (args.chunk != nullptr && args.chunk->deleter != nullptr) {
    args.chunk->deleter(args.chunk->data, args.chunk->deleter_arg);
  }
  return noStream(args);
}

}  // namespace

void bindCopyToDeviceStream(PJRT_Api& api) {
  api.PJRT_CopyToDeviceStream_Destroy = kEntry<&copyToDeviceStreamDestroy>;
  api.PJRT_CopyToDeviceStream_AddChunk = kEntry<&copyToDeviceStreamAddChunk>;
  api.PJRT_CopyToDeviceStream_TotalBytes =
      kEntry<&noStream<PJRT_CopyToDeviceStream_TotalBytes_Args>>;
  api.PJRT_CopyToDeviceStream_GranuleSize =
      kEntry<&noStream<PJRT_CopyToDeviceStream_GranuleSize_Args>>;
  api.PJRT_CopyToDeviceStream_CurrentBytes =
      kEntry<&noStream<PJRT_CopyToDeviceStream_CurrentBytes_Args>>;
}

}  // namespace isthmus::pjrt
