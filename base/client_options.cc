#include "base/client_options.h"

#include <algorithm>
#include <iterator>

namespace isthmus {
namespace {

constexpr int64_t kMaxDevices = 1024;
constexpr std::string_view kMemoryKinds[] = {"device", "pinned_host", "unpinned_host"};

}  // namespace

StatusOr<int64_t> integerOption(const std::string& name, const AttributeValue& value) {
  if (const int64_t* number = std::get_if<int64_t>(&value)) return *number;
  return invalidArgument("client option ", name, " must be an integer");
}

StatusOr<std::string> textOption(const std::string& name, const AttributeValue& value) {
  const std::string* text = std::get_if<std::string>(&value);
  if (text && !text->empty()) return *text;
  return invalidArgument("client option ", name, " must be a string");
}

Status checkNumDevices(int64_t count) {
  if (count >= 1 && count <= kMaxDevices) return {};
  return invalidArgument("client option num_devices is ", count, ", expected 1 to ", kMaxDevices);
}

void addMemories(DeviceDescription& device) {
  for (std::string_view kind : kMemoryKinds) {
    device.memories.push_back({std::string(kind), kind == kMemoryKinds[0]});
  }
}

Status checkMemoryKind(std::string_view kind) {
  if (std::find(std::begin(kMemoryKinds), std::end(kMemoryKinds), kind) != std::end(kMemoryKinds)) {
    return {};
  }
  return invalidArgument("no memory of kind ", kind);
}

}  // namespace isthmus
