// The one function of libisthmus_gloo.so.
#pragma once

#include <memory>

#include "runtime/collectives/transport.h"

namespace isthmus {

// Sets `transport`, or `status` to an error. Built with the same compiler from the same tree as the
// caller, so classes may cross.
using OpenGloo = void(KeyValueStore& store, const TransportOptions& options,
                      std::unique_ptr<Transport>& transport, Status& status);

}  // namespace isthmus

extern "C" __attribute__((visibility("default"))) isthmus::OpenGloo isthmus_open_gloo;
