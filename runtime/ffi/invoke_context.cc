#include "runtime/ffi/invoke_context.h"

#include <algorithm>
#include <bit>

#include "isthmus/backend.h"
#include "runtime/ffi/registry.h"

namespace isthmus::ffi {

State::~State() {
  if (object_ != nullptr && deleter_ != nullptr) deleter_(object_);
}

Status State::set(int64_t typeId, void* object) {
  if (object_ != nullptr) return failedPrecondition("an FFI state was set twice in one stage");
  std::optional<TypeInfo> info = findType(typeId);
  if (!info) return invalidArgument("the type of an FFI state, id ", typeId, ", is not registered");
  typeId_ = typeId;
  object_ = object;
  deleter_ = info->deleter;
  return {};
}

StatusOr<void*> State::get(int64_t typeId) const {
  if (object_ == nullptr) return notFound("the FFI handler has set no state in this stage");
  if (typeId != typeId_) {
    return invalidArgument("the FFI state has type id ", typeId_, ", was asked for as ", typeId);
  }
  return object_;
}

}  // namespace isthmus::ffi

XLA_FFI_InvokeContext::~XLA_FFI_InvokeContext() {
  for (const Allocation& left : allocations_) services->freeScratch(left.block, left.bytes);
}

isthmus::StatusOr<void*> XLA_FFI_InvokeContext::allocate(size_t bytes, size_t alignment) {
  if (services == nullptr) {
    return isthmus::failedPrecondition("FFI device memory is there only while a program runs");
  }
  if (!std::has_single_bit(std::max<size_t>(alignment, 1))) {
    return isthmus::invalidArgument("FFI device memory: alignment ", alignment,
                                    " is not a power of two");
  }
  size_t slack = alignment > isthmus::kBufferAlignment ? alignment : 0;
  size_t total = 0;
  if (__builtin_add_overflow(bytes, slack, &total)) {
    return isthmus::resourceExhausted("FFI device memory of ", bytes, " bytes");
  }
  void* block = services->allocateScratch(total);
  if (block == nullptr) {
    return isthmus::resourceExhausted("no memory for ", total, " bytes of FFI device memory");
  }
  void* data = block;
  if (slack != 0) {
    auto address = reinterpret_cast<uintptr_t>(block);
    data = static_cast<char*>(block) + ((alignment - address % alignment) % alignment);
  }
  std::lock_guard lock(mutex_);
  allocations_.push_back({data, block, total});
  return data;
}

isthmus::Status XLA_FFI_InvokeContext::free(void* data) {
  if (data == nullptr) return {};
  std::lock_guard lock(mutex_);
  auto found = std::find_if(allocations_.begin(), allocations_.end(),
                            [&](const Allocation& held) { return held.data == data; });
  if (found == allocations_.end()) {
    return isthmus::invalidArgument("FFI device memory is freed that was not allocated here");
  }
  services->freeScratch(found->block, found->bytes);
  allocations_.erase(found);
  return {};
}
