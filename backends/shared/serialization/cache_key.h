// The key that says which serialized executables are ours: they are native code, and whoever can
// write to a cache folder without it could run theirs.
#pragma once

#include <string>
#include <string_view>

#include "isthmus/status.h"

namespace isthmus {

// The contents of the file that ISTHMUS_CACHE_KEY_FILE names, read anew by each call; empty without
// the flag. kFailedPrecondition if it cannot be read or is shorter than 32 bytes: then nothing may
// be loaded.
StatusOr<std::string> cacheKey();

// HMAC-SHA256 of `message`, 32 bytes.
std::string authenticationCode(std::string_view key, std::string_view message);

// Takes the same time wherever they differ.
bool isEqualCode(std::string_view a, std::string_view b);

}  // namespace isthmus
