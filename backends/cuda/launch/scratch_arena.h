// Temporary memory that programs of one device share.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

#include "backends/cuda/driver/driver.h"
#include "base/memory/program_memory.h"
#include "isthmus/status.h"

namespace isthmus::cuda {

// For programs that are enqueued as a whole, one at a time: the compute stream lets the next one
// begin when its predecessor has ended. As the address stays, so do recorded graphs. Grows to the
// largest program; goes where memory runs out. Thread-safe.
class ScratchArena {
 public:
  // Both outlive it. What the arena has is counted in `memory`.
  ScratchArena(Driver& driver, int device, ProgramMemory& memory);

  // Holds the arena while a program is enqueued.
  class Lease {
   public:
    Lease() = default;
    Lease(ScratchArena* arena, void* data, std::unique_lock<std::mutex> lock)
        : arena_(arena), data_(data), lock_(std::move(lock)) {}
    Lease(Lease&& other) noexcept { *this = std::move(other); }
    Lease& operator=(Lease&& other) noexcept;
    ~Lease();
    void* data() const { return data_; }

   private:
    ScratchArena* arena_ = nullptr;
    void* data_ = nullptr;
    std::unique_lock<std::mutex> lock_;
  };
  // At least `bytes` bytes for what is enqueued on the compute stream, for the program of that
  // name. Blocks while another program is enqueued. kResourceExhausted if there is no memory.
  StatusOr<Lease> take(size_t bytes, const std::string& program);

 private:
  void drop();

  Driver& driver_;
  int device_;
  ProgramMemory& memory_;
  std::mutex leased_;
  std::mutex mutex_;  // of what follows
  bool isLeased_ = false;
  void* data_ = nullptr;
  size_t bytes_ = 0;
  ProgramMemory::Block counted_;
};

}  // namespace isthmus::cuda
