// What is behind the context that a handler gets with each call.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "isthmus/run_services.h"
#include "isthmus/status.h"
#include "isthmus/xla_ffi_c_api.h"
#include "runtime/ffi/user_data.h"

namespace isthmus::ffi {

// An object that a handler has made in one stage for the later ones. Destroys it.
class State {
 public:
  State() = default;
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Takes the object over. kInvalidArgument if the type is not registered, or there is an object.
  Status set(int64_t typeId, void* object);
  // kNotFound if there is none, kInvalidArgument if it is of another type.
  StatusOr<void*> get(int64_t typeId) const;

 private:
  int64_t typeId_ = 0;
  void* object_ = nullptr;
  void (*deleter_)(void*) = nullptr;
};

}  // namespace isthmus::ffi

// One per call. Handlers with asynchronous work use it from their own threads too.
struct XLA_FFI_InvokeContext {
  XLA_FFI_InvokeContext() = default;
  ~XLA_FFI_InvokeContext();
  XLA_FFI_InvokeContext(const XLA_FFI_InvokeContext&) = delete;

  isthmus::StatusOr<void*> allocate(size_t bytes, size_t alignment);
  isthmus::Status free(void* data);

  // Null when an executable is loaded, before any launch.
  isthmus::RunServices* services = nullptr;
  const isthmus::ffi::UserData* userData = nullptr;
  int32_t deviceOrdinal = 0;
  int64_t runId = 0;
  // By stage; that of `instantiate` belongs to the call site.
  std::array<isthmus::ffi::State*, 3> states{};

 private:
  struct Allocation {
    void* data;   // what the handler got
    void* block;  // what the services gave
    size_t bytes;
  };
  std::mutex mutex_;
  std::vector<Allocation> allocations_;
};
