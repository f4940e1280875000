// One call of a handler in a compiled program.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/program/custom_call.h"
#include "isthmus/status.h"
#include "isthmus/types.h"
#include "isthmus/xla_ffi_c_api.h"
#include "runtime/ffi/attributes.h"
#include "runtime/ffi/invoke_context.h"
#include "runtime/ffi/registry.h"

namespace isthmus::ffi {

// Immutable after it was made, but for what the handler's own state does; called from many threads.
class CallSite {
 public:
  // Looks the handler up, and runs its stage `instantiate`. kUnimplemented if there is none.
  static StatusOr<std::unique_ptr<CallSite>> create(CallSpec spec);

  struct Launch {
    RunServices* services;
    const UserData* userData;
    int32_t deviceOrdinal;
    int64_t runId;
  };
  // `buffers` has the addresses of the operands, then of the results, tokens left out. Returns when
  // the handler's work is done, also the asynchronous part.
  Status call(const Launch& launch, void* const* buffers);

  const CallSpec& spec() const { return spec_; }

 private:
  CallSite(CallSpec spec, Handler handler);
  CallSite(const CallSite&) = delete;

  Status callTyped(const Launch& launch, void* const* operands, void* const* results);
  Status callUntyped(void* const* operands, void* const* results);
  Status runStage(XLA_FFI_Handler* handler, XLA_FFI_ExecutionStage stage, XLA_FFI_CallFrame& frame);

  CallSpec spec_;
  Handler handler_;
  AttributeFrame attributes_;
  std::vector<XLA_FFI_Buffer> operands_;  // without data
  std::vector<XLA_FFI_Buffer> results_;
  std::vector<XLA_FFI_ArgType> operandTypes_;
  std::vector<XLA_FFI_RetType> resultTypes_;
  State state_;
};

}  // namespace isthmus::ffi
