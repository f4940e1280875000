// What a client lets programs use of its devices.
#pragma once

#include "base/memory/program_memory.h"
#include "runtime/client.h"

namespace isthmus {

// For one compilation, load or run.
class ProgramLimits final : public ProgramMemory::Limits {
 public:
  // The client outlives it.
  explicit ProgramLimits(const Client& client) : client_(client) {}
  // kResourceExhausted if the device's limit would be passed, with its largest blocks.
  Status check(const ProgramMemory& memory, size_t bytes) const override;

 private:
  const Client& client_;
};

}  // namespace isthmus
