// The envelope of serialized executables, of every backend: who made them, for what device, and
// that they are as they were made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "isthmus/status.h"

namespace isthmus {

// The version of what code for the host is compiled against (backends/cpu/abi.h, descriptors of
// library functions). Executables for other devices have such code too.
inline constexpr int32_t kAbiVersion = 8;

// What executables of this plugin cannot run without: version and interface.
std::string buildId();

// `magic` says of which kind the body is. `device` is what it needs to run; with a key
// (cache_key.h), the bytes say by whom they were made.
std::string sealBytes(std::string_view magic, std::string_view device, std::string_view body,
                      std::string_view key);

struct UnsealedBytes {
  std::string device;
  std::string_view body;  // of the bytes that were unsealed
};

// kInvalidArgument if the bytes are not an executable of the kind `magic`, of the backend that
// `backend` names ("CPU"), or are damaged; kFailedPrecondition, with what is needed and what is
// here, if they are for another build, or were not made with `key`, if there is one.
StatusOr<UnsealedBytes> unsealBytes(std::string_view bytes, std::string_view magic,
                                    std::string_view backend, std::string_view key);

// The body of bytes that were sealed for exactly this device; kFailedPrecondition with both names
// if it was another one.
StatusOr<std::string_view> unsealBytesFor(std::string_view device, std::string_view bytes,
                                          std::string_view magic, std::string_view backend,
                                          std::string_view key);

}  // namespace isthmus
