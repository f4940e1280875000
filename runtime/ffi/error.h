// The error objects that cross the ABI.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "isthmus/status.h"
#include "isthmus/xla_ffi_c_api.h"

// Owned by whoever received it last.
struct XLA_FFI_Error {
  XLA_FFI_Error(isthmus::StatusCode errorCode, std::string text)
      : abslStatus(static_cast<uintptr_t>(errorCode) << 2 | 1),
        code(errorCode),
        message(std::move(text)) {}

  // Handlers inside jaxlib know that XLA's errors are an absl::Status and take that out, instead of
  // asking through the table. They find one here: abseil's form for a code without a message.
  uintptr_t abslStatus;
  isthmus::StatusCode code;
  std::string message;
};

namespace isthmus::ffi {

// Null for success.
inline XLA_FFI_Error* toError(const Status& status) {
  if (status.ok()) return nullptr;
  return new XLA_FFI_Error(status.code(), std::string(status.message()));
}

// Takes the error over; null is success.
inline Status toStatus(XLA_FFI_Error* error) {
  if (error == nullptr) return {};
  std::unique_ptr<XLA_FFI_Error> owned(error);
  // An error whose code says success would be lost.
  StatusCode code = owned->code == StatusCode::kOk ? StatusCode::kUnknown : owned->code;
  return Status(code, std::move(owned->message));
}

}  // namespace isthmus::ffi
