// The envelope of serialized executables, of this backend and of those that stage on it: who made
// them, for what device, and that they are as they were made.
#pragma once

#include <string>
#include <string_view>

#include "isthmus/status.h"

namespace isthmus::cpu {

// What code of this plugin cannot run without: version and interface.
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

// The features of `needed` ("+avx2,-sse4a,+fma") that `available` lacks, joined by commas.
std::string missingFeatures(std::string_view needed, std::string_view available);

// kFailedPrecondition, naming them, if this machine's CPU lacks some of `needed`.
Status checkFeatures(std::string_view needed);

}  // namespace isthmus::cpu
