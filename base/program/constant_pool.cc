// Storage of large constants.
#include "base/program/constant_pool.h"

#include "isthmus/backend.h"

namespace isthmus {

int64_t ConstantPool::add(const std::string& bytes) {
  auto [position, isNew] = offsets_.try_emplace(std::hash<std::string>()(bytes));
  for (int64_t offset : position->second) {
    if (bytes_.compare(offset, bytes.size(), bytes) == 0) return offset;
  }
  bytes_.resize((bytes_.size() + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment);
  int64_t offset = static_cast<int64_t>(bytes_.size());
  bytes_ += bytes;
  position->second.push_back(offset);
  return offset;
}

AlignedBytes::AlignedBytes(std::string_view bytes) : size_(bytes.size()) {
  if (bytes.empty()) return;
  data_.reset(static_cast<char*>(
      ::operator new(bytes.size(), std::align_val_t(kBufferAlignment), std::nothrow)));
  if (data_) std::memcpy(data_.get(), bytes.data(), bytes.size());
}

void AlignedBytes::Free::operator()(char* data) const {
  ::operator delete(data, std::align_val_t(kBufferAlignment));
}

}  // namespace isthmus
