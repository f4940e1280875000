// PJRT_Error: a Status that the caller owns.
#pragma once

#include <string_view>

#include "isthmus/pjrt_c_api.h"
#include "isthmus/status.h"

namespace isthmus::pjrt {

// Null for success, otherwise a new error that the caller owns. The message of an internal one ends
// with the line of our sources that made it.
PJRT_Error* toError(Status status) noexcept;

// The status that an error made by `toError` or `callbackError` holds; null is success. Does not
// take ownership.
Status toStatus(const PJRT_Error* error);

// Frees an error; null is fine.
void destroyError(PJRT_Error* error) noexcept;

// Takes ownership of `error` and returns its status.
Status takeStatus(PJRT_Error* error);

// A status from the three arguments by which callers hand over errors. A code that is not one of
// PJRT_Error_Code becomes kUnknown.
Status statusFromParts(PJRT_Error_Code code, const char* message, size_t messageSize);

// What the framework's callbacks make their errors with (PJRT_CallbackError).
PJRT_Error* callbackError(PJRT_Error_Code code, const char* message, size_t messageSize);

}  // namespace isthmus::pjrt
