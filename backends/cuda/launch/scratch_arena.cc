#include "backends/cuda/launch/scratch_arena.h"

#include <utility>

namespace isthmus::cuda {

ScratchArena::Lease& ScratchArena::Lease::operator=(Lease&& other) noexcept {
  std::swap(arena_, other.arena_);
  std::swap(data_, other.data_);
  std::swap(lock_, other.lock_);
  return *this;
}

ScratchArena::Lease::~Lease() {
  if (!arena_) return;
  std::lock_guard lock(arena_->mutex_);
  arena_->isLeased_ = false;
}

ScratchArena::ScratchArena(Driver& driver, int device, ProgramMemory& memory)
    : driver_(driver), device_(device), memory_(memory) {
  driver_.onExhausted(device, [this] { drop(); });
  memory_.onShortage([this] { drop(); });
}

StatusOr<ScratchArena::Lease> ScratchArena::take(size_t bytes, const std::string& program) {
  std::unique_lock leased(leased_);
  {
    std::lock_guard lock(mutex_);
    if (bytes <= bytes_) {
      isLeased_ = true;
      return Lease(this, data_, std::move(leased));
    }
  }
  // First, so that both need not fit. What is under way still has it.
  drop();
  ISTHMUS_ASSIGN_OR_RETURN(ProgramMemory::Block counted,
                           memory_.add(bytes, "temporaries of " + program));
  ISTHMUS_ASSIGN_OR_RETURN(void* data, driver_.allocate(device_, Queue::kCompute, bytes));
  std::lock_guard lock(mutex_);
  data_ = data;
  bytes_ = bytes;
  counted_ = std::move(counted);
  isLeased_ = true;
  return Lease(this, data_, std::move(leased));
}

void ScratchArena::drop() {
  std::lock_guard lock(mutex_);
  if (isLeased_) return;
  driver_.free(device_, Queue::kCompute, std::exchange(data_, nullptr));
  bytes_ = 0;
  counted_ = {};
}

}  // namespace isthmus::cuda
