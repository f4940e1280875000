// Programs of one device from their text to their results, through the runtime, as tests of
// platform cuda run them.
#pragma once

#include <string>
#include <vector>

#include "runtime/client.h"
#include "runtime/device/device.h"
#include "runtime/executable/loaded_executable.h"

namespace isthmus::cuda::testing {

using Floats = std::vector<float>;

inline StatusOr<Ref<LoadedExecutable>> compile(Client& client, const std::string& text) {
  CompileRequest request;
  request.code = text;
  request.format = "mlir";
  return client.compile(request);
}

// The program's one result, of the last of so many runs over the same buffers on the first device.
inline StatusOr<Floats> run(LoadedExecutable& executable, const std::vector<Floats>& arguments,
                            int runs = 1) {
  Client& client = executable.client();
  Device& device = *client.addressableDevices().front();
  std::vector<BufferRef> buffers;
  std::vector<Buffer*> pointers;
  for (size_t i = 0; i < arguments.size(); ++i) {
    HostArray array{arguments[i].data(), executable.info().parameters[i].type};
    ISTHMUS_ASSIGN_OR_RETURN(Client::FromHost made,
                             client.bufferFromHost(*device.defaultMemory(), array));
    buffers.push_back(std::move(made.buffer));
    pointers.push_back(&*buffers.back());
  }
  Floats values(static_cast<size_t>(executable.info().outputs[0].type.numElements()));
  for (int i = 0; i < runs; ++i) {
    std::vector<BufferRef> results(executable.numOutputs());
    Event complete;
    DeviceLaunch launch{pointers, results, &complete};
    ISTHMUS_RETURN_IF_ERROR(executable.execute({&launch, 1}, {}));
    ISTHMUS_RETURN_IF_ERROR(complete.await());
    ISTHMUS_ASSIGN_OR_RETURN(Event copied,
                             results[0]->copyToHost(values.data(), values.size() * sizeof(float)));
    ISTHMUS_RETURN_IF_ERROR(copied.await());
  }
  return values;
}

}  // namespace isthmus::cuda::testing
