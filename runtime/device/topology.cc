// Topologies as text: every number is followed by a space, every string by its length before it.
#include "runtime/device/topology.h"

#include <bit>
#include <charconv>
#include <limits>
#include <unordered_set>

#include "runtime/stable_hash.h"

namespace isthmus {
namespace {

constexpr std::string_view kMagic = "isthmus-topology-1 ";

class Writer {
 public:
  void number(int64_t value) { text_ += std::to_string(value) + " "; }
  void string(std::string_view value) {
    number(static_cast<int64_t>(value.size()));
    text_ += value;
  }
  void attributes(const AttributeMap& map) {
    number(static_cast<int64_t>(map.size()));
    for (const auto& [name, value] : map) {
      string(name);
      number(static_cast<int64_t>(value.index()));
      std::visit([this](const auto& v) { write(v); }, value);
    }
  }
  std::string take() { return std::move(text_); }

 private:
  void write(const std::string& value) { string(value); }
  void write(int64_t value) { number(value); }
  void write(const std::vector<int64_t>& values) {
    number(static_cast<int64_t>(values.size()));
    for (int64_t value : values) number(value);
  }
  void write(float value) { number(std::bit_cast<int32_t>(value)); }
  void write(bool value) { number(value ? 1 : 0); }

  std::string text_{kMagic};
};

// Reads what Writer wrote; after the first mistake everything is empty and `isValid` false.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool isValid() const { return isValid_; }
  bool isAtEnd() const { return rest_.empty(); }

  int64_t number() {
    int64_t value = 0;
    auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    auto length = static_cast<size_t>(end - rest_.data());
    if (error != std::errc() || length == rest_.size() || *end != ' ') return fail();
    rest_.remove_prefix(length + 1);
    return value;
  }
  // An id or rank: a number from `least` on that an int holds.
  int index(int64_t least) {
    int64_t value = number();
    if (value < least || value > std::numeric_limits<int>::max()) value = fail();
    return static_cast<int>(value);
  }
  // A count of things that each take at least a byte.
  int64_t count() {
    int64_t value = number();
    return value < 0 || value > static_cast<int64_t>(rest_.size()) ? fail() : value;
  }
  std::string string() {
    auto length = static_cast<size_t>(count());
    std::string value(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return value;
  }
  AttributeMap attributes() {
    AttributeMap map;
    for (int64_t left = count(); left > 0 && isValid_; --left) {
      std::string name = string();
      map[name] = attribute(number());
    }
    return map;
  }

 private:
  AttributeValue attribute(int64_t kind) {
    switch (kind) {
      case 0:
        return string();
      case 1:
        return number();
      case 2: {
        std::vector<int64_t> values;
        for (int64_t left = count(); left > 0 && isValid_; --left) values.push_back(number());
        return values;
      }
      case 3:
        return std::bit_cast<float>(static_cast<int32_t>(number()));
      case 4:
        return number() != 0;
      default:
        return fail();
    }
  }
  int64_t fail() {
    isValid_ = false;
    rest_ = {};
    return 0;
  }

  std::string_view rest_;
  bool isValid_ = true;
};

}  // namespace

StatusOr<Topology> Topology::create(Backend& backend, AttributeMap options) {
  Topology topology;
  topology.platformName = backend.platformName();
  if (auto name = options.find("platform_name"); name != options.end()) {
    const auto* text = std::get_if<std::string>(&name->second);
    if (text == nullptr || text->empty()) {
      return invalidArgument("client option platform_name: expected a non-empty string");
    }
    topology.platformName = *text;
    options.erase(name);
  }
  ISTHMUS_ASSIGN_OR_RETURN(topology.devices, backend.describeDevices(options));
  // Only now may a backend have a driver to name.
  topology.platformVersion = backend.platformVersion();
  return topology;
}

std::string Topology::serialize() const {
  Writer writer;
  writer.string(platformName);
  writer.string(platformVersion);
  writer.attributes(attributes);
  writer.number(static_cast<int64_t>(devices.size()));
  for (const DeviceDescription& device : devices) {
    writer.number(device.id);
    writer.number(device.processIndex);
    writer.number(device.localHardwareId);
    writer.string(device.kind);
    writer.string(device.debugString);
    writer.attributes(device.attributes);
    writer.number(static_cast<int64_t>(device.memories.size()));
    for (const MemoryDescription& memory : device.memories) {
      writer.string(memory.kind);
      writer.number(memory.isDefault ? 1 : 0);
    }
  }
  return writer.take();
}

StatusOr<Topology> Topology::deserialize(std::string_view text) {
  if (!text.starts_with(kMagic)) {
    return invalidArgument("serialized topology: does not start with \"", kMagic, "\"");
  }
  Reader reader(text.substr(kMagic.size()));
  Topology topology;
  topology.platformName = reader.string();
  topology.platformVersion = reader.string();
  topology.attributes = reader.attributes();
  for (int64_t left = reader.count(); left > 0 && reader.isValid(); --left) {
    DeviceDescription& device = topology.devices.emplace_back();
    device.id = reader.index(0);
    device.processIndex = reader.index(0);
    device.localHardwareId = reader.index(-1);
    device.kind = reader.string();
    device.debugString = reader.string();
    device.attributes = reader.attributes();
    for (int64_t memories = reader.count(); memories > 0 && reader.isValid(); --memories) {
      MemoryDescription& memory = device.memories.emplace_back();
      memory.kind = reader.string();
      memory.isDefault = reader.number() != 0;
    }
  }
  if (!reader.isValid() || !reader.isAtEnd()) {
    return invalidArgument("serialized topology: malformed after the header");
  }
  std::unordered_set<int> ids;
  for (const DeviceDescription& device : topology.devices) {
    if (!ids.insert(device.id).second) {
      return invalidArgument("serialized topology: two devices have the id ", device.id);
    }
  }
  return topology;
}

uint64_t Topology::fingerprint() const { return stableHash(serialize()); }

}  // namespace isthmus
