#include "compiler/partition/sharding/inspect_sharding.h"

#include <dlfcn.h>

#include <cstring>

#include "compiler/dialect/diagnostics/diagnostics.h"

namespace isthmus {
namespace {

// The layouts that jaxlib compiled its side with.
extern "C" {

struct InspectArguments {
  char* sharding;  // a serialized xla.OpSharding
  size_t shardingBytes;
  const char* error;  // set by the callee; `release` frees it
  void* errorOwner;
  void (*release)(InspectArguments*);
};

struct InspectCallback {
  void (*call)(void* data, InspectArguments*);
  void* data;
};

}  // extern "C"

}  // namespace

Status reportSharding(shlo::CustomCallOp call, std::string opSharding) {
  InspectCallback callback;
  auto config = llvm::dyn_cast_or_null<mlir::StringAttr>(call.getBackendConfigAttr());
  if (!config || config.getValue().size() != sizeof callback) {
    return invalidArgument(sourceLocation(call.getLoc()),
                           ": partition: the backend_config of @InspectSharding is not a callback");
  }
  std::memcpy(&callback, config.getValue().data(), sizeof callback);
  Dl_info library;
  if (!callback.call || !callback.data ||
      dladdr(reinterpret_cast<void*>(callback.call), &library) == 0) {
    return invalidArgument(
        sourceLocation(call.getLoc()),
        ": partition: the callback of @InspectSharding is no function of this process");
  }
  InspectArguments arguments{opSharding.data(), opSharding.size(), nullptr, nullptr, nullptr};
  callback.call(callback.data, &arguments);
  if (!arguments.error) return {};
  Status status = internalError(sourceLocation(call.getLoc()),
                                ": the callback of @InspectSharding failed: ", arguments.error);
  if (arguments.release) arguments.release(&arguments);
  return status;
}

}  // namespace isthmus
