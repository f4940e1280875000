// The framework's key-value callbacks as a KeyValueStore.
#pragma once

#include <memory>

#include "isthmus/pjrt_c_api.h"
#include "isthmus/status.h"
#include "runtime/bootstrap/key_value_store.h"

namespace isthmus::pjrt {

// The callbacks must stay valid as long as the store. kInvalidArgument if those that are needed are
// missing.
StatusOr<std::shared_ptr<KeyValueStore>> makeKeyValueStore(const PJRT_Client_Create_Args& args);

}  // namespace isthmus::pjrt
