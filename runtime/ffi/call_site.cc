#include "runtime/ffi/call_site.h"

#include <cstring>
#include <optional>

#include "isthmus/float_mode.h"
#include "runtime/ffi/api.h"
#include "runtime/ffi/error.h"
#include "runtime/ffi/future.h"

namespace isthmus::ffi {
namespace {

XLA_FFI_Buffer describe(ArrayType& type) {
  XLA_FFI_Buffer buffer{};
  buffer.struct_size = kXlaFfiStructSize<XLA_FFI_Buffer>;
  buffer.dtype = toDataType(type.elementType);
  buffer.rank = static_cast<int64_t>(type.dims.size());
  buffer.dims = type.dims.data();
  return buffer;
}

// What older custom calls report failures through: a message, if there was one.
struct UntypedStatus {
  std::optional<std::string> message;
};

}  // namespace

CallSite::CallSite(CallSpec spec, Handler handler)
    : spec_(std::move(spec)), handler_(handler), attributes_(spec_.attributes) {
  for (ArrayType& type : spec_.operands) operands_.push_back(describe(type));
  for (ArrayType& type : spec_.results) results_.push_back(describe(type));
  operandTypes_.assign(operands_.size(), XLA_FFI_ArgType_BUFFER);
  resultTypes_.assign(results_.size(), XLA_FFI_RetType_BUFFER);
}

StatusOr<std::unique_ptr<CallSite>> CallSite::create(CallSpec spec) {
  std::optional<Handler> handler = findHandler(spec.target);
  if (!handler) {
    return unimplemented("no handler is registered for custom call ", spec.description,
                         " on this platform");
  }
  bool wantsTyped = spec.version == CallVersion::kTyped;
  if (handler->isTyped() != wantsTyped) {
    return unimplemented("custom call ", spec.description, " has API version ",
                         static_cast<int>(spec.version), ", but its handler was registered as ",
                         handler->isTyped() ? "a typed one" : "an untyped one");
  }
  std::unique_ptr<CallSite> site(new CallSite(std::move(spec), *handler));
  if (handler->bundle.instantiate == nullptr) return site;
  XLA_FFI_InvokeContext context;
  context.states[XLA_FFI_ExecutionStage_INSTANTIATE] = &site->state_;
  XLA_FFI_CallFrame frame{};
  frame.ctx = &context;
  ISTHMUS_RETURN_IF_ERROR(
      site->runStage(handler->bundle.instantiate, XLA_FFI_ExecutionStage_INSTANTIATE, frame)
          .withContext(site->spec_.description));
  return site;
}

Status CallSite::runStage(XLA_FFI_Handler* handler, XLA_FFI_ExecutionStage stage,
                          XLA_FFI_CallFrame& frame) {
  frame.struct_size = kXlaFfiStructSize<XLA_FFI_CallFrame>;
  frame.api = &api();
  frame.stage = stage;
  frame.args.struct_size = kXlaFfiStructSize<XLA_FFI_Args>;
  frame.rets.struct_size = kXlaFfiStructSize<XLA_FFI_Rets>;
  frame.attrs = attributes_.attrs();
  frame.future = nullptr;
  Status status = toStatus(handler(&frame));
  if (frame.future != nullptr) {
    std::unique_ptr<XLA_FFI_Future> future(frame.future);
    Status later = future->wait();
    if (status.ok()) status = later;
  }
  return status;
}

Status CallSite::call(const Launch& launch, void* const* buffers) {
  std::vector<void*> operands(operands_.size());
  std::vector<void*> results(results_.size());
  auto place = [&](const std::vector<XLA_FFI_Buffer>& described, std::vector<void*>& data) {
    for (size_t i = 0; i < described.size(); ++i) {
      data[i] = described[i].dtype == XLA_FFI_DataType_TOKEN ? nullptr : *buffers++;
    }
  };
  place(operands_, operands);
  place(results_, results);
  // Where the plan could not give both one place, the operand moves to the result's.
  for (auto [operand, result] : spec_.aliases) {
    if (operands[operand] == results[result] || results[result] == nullptr) continue;
    std::memcpy(results[result], operands[operand], spec_.results[result].sizeBytes());
    operands[operand] = results[result];
  }
  // User code expects the mode that all code outside of programs runs in.
  ScopedFloatMode mode(FloatMode::kIeee);
  Status status = spec_.version == CallVersion::kTyped
                      ? callTyped(launch, operands.data(), results.data())
                      : callUntyped(operands.data(), results.data());
  return status.withContext(spec_.description);
}

Status CallSite::callTyped(const Launch& launch, void* const* operands, void* const* results) {
  std::vector<XLA_FFI_Buffer> operandBuffers(operands_);
  std::vector<XLA_FFI_Buffer> resultBuffers(results_);
  std::vector<void*> arguments(operands_.size());
  std::vector<void*> returns(results_.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    operandBuffers[i].data = operands[i];
    arguments[i] = &operandBuffers[i];
  }
  for (size_t i = 0; i < returns.size(); ++i) {
    resultBuffers[i].data = results[i];
    returns[i] = &resultBuffers[i];
  }

  State prepared;
  State initialized;
  XLA_FFI_InvokeContext context;
  context.services = launch.services;
  context.userData = launch.userData;
  context.deviceOrdinal = launch.deviceOrdinal;
  context.runId = launch.runId;
  context.states = {&state_, &prepared, &initialized};
  XLA_FFI_CallFrame frame{};
  frame.ctx = &context;
  frame.args.size = static_cast<int64_t>(arguments.size());
  frame.args.types = operandTypes_.data();
  frame.args.args = arguments.data();
  frame.rets.size = static_cast<int64_t>(returns.size());
  frame.rets.types = resultTypes_.data();
  frame.rets.rets = returns.data();

  if (handler_.bundle.prepare != nullptr) {
    ISTHMUS_RETURN_IF_ERROR(
        runStage(handler_.bundle.prepare, XLA_FFI_ExecutionStage_PREPARE, frame));
  }
  if (handler_.bundle.initialize != nullptr) {
    ISTHMUS_RETURN_IF_ERROR(
        runStage(handler_.bundle.initialize, XLA_FFI_ExecutionStage_INITIALIZE, frame));
  }
  return runStage(handler_.bundle.execute, XLA_FFI_ExecutionStage_EXECUTE, frame);
}

Status CallSite::callUntyped(void* const* operands, void* const* results) {
  // One result is passed as itself, several as the list of their addresses.
  void* out = results_.size() == 1 ? results[0] : const_cast<void**>(results);
  auto* in = const_cast<const void**>(reinterpret_cast<const void* const*>(operands));
  UntypedStatus status;
  switch (spec_.version) {
    case CallVersion::kOriginal:
      reinterpret_cast<void (*)(void*, const void**)>(handler_.untyped)(out, in);
      break;
    case CallVersion::kStatusReturning:
      reinterpret_cast<void (*)(void*, const void**, UntypedStatus*)>(handler_.untyped)(out, in,
                                                                                        &status);
      break;
    case CallVersion::kUnified:
      reinterpret_cast<void (*)(void*, const void**, const char*, size_t, UntypedStatus*)>(
          handler_.untyped)(out, in, spec_.opaque.data(), spec_.opaque.size(), &status);
      break;
    default:
      return unimplemented("custom call ", spec_.description, " has API version ",
                           static_cast<int>(spec_.version));
  }
  if (status.message) return internalError(*status.message);
  return {};
}

}  // namespace isthmus::ffi
