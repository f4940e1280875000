// Made while there is memory.
#include "isthmus/out_of_memory.h"

namespace isthmus {
namespace {

const Status& made() {
  // Never destroyed: threads may fail while the process exits.
  static const Status& status = *new Status(StatusCode::kResourceExhausted, "out of host memory");
  return status;
}
[[maybe_unused]] const Status& kMadeEarly = made();

}  // namespace

Status outOfHostMemory() noexcept { return made(); }

}  // namespace isthmus
