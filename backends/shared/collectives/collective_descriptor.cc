#include "backends/shared/collectives/collective_descriptor.h"

#include <cstring>

namespace isthmus {

std::string makeCollectiveDescriptor(CollectiveDescriptor head,
                                     std::span<const CollectiveOperand> operands,
                                     std::span<const int64_t> ids, std::string_view description) {
  head.numOperands = static_cast<int32_t>(operands.size());
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof(head));
  bytes.append(reinterpret_cast<const char*>(operands.data()), operands.size_bytes());
  bytes.append(reinterpret_cast<const char*>(ids.data()), ids.size_bytes());
  bytes.append(description);
  bytes.push_back('\0');
  return bytes;
}

Collective::Collective(const void* data) {
  const char* bytes = static_cast<const char*>(data);
  std::memcpy(&head, bytes, sizeof(head));
  bytes += sizeof(head);
  operands = {reinterpret_cast<const CollectiveOperand*>(bytes),
              static_cast<size_t>(head.numOperands)};
  bytes += operands.size_bytes();
  ids = {reinterpret_cast<const int64_t*>(bytes),
         static_cast<size_t>(head.numGroups * head.groupSize)};
  description = bytes + ids.size_bytes();
}

}  // namespace isthmus
