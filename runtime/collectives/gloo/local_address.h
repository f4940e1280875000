// Which of this machine's addresses other processes of the job can reach.
#pragma once

#include <string>

#include "isthmus/status.h"

namespace isthmus {

// The numeric address that this machine sends from when it talks to `coordinator` ("host:port" or
// "[v6]:port"). With an empty coordinator: the address of the default route, or the loopback where
// there is none.
StatusOr<std::string> localAddressTowards(const std::string& coordinator);

}  // namespace isthmus
