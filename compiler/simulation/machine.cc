#include "compiler/simulation/machine.h"

#include <limits>

#include "base/program/device_limit.h"
#include "llvm/Support/JSON.h"

namespace isthmus::simulation {
namespace {

// Reads the members of one JSON object, and says which of them nobody asked for.
class Members {
 public:
  Members(const llvm::json::Object& object, std::string where)
      : object_(object), where_(std::move(where)) {}

  StatusOr<double> number(llvm::StringRef name, double least) {
    known_.push_back(name);
    std::optional<double> value = object_.getNumber(name);
    if (!value) return invalidArgument(where_, ": no number ", name.str());
    if (!(*value >= least) || *value > 1e30) {
      return invalidArgument(where_, ": ", name.str(), " is ", *value, ", expected ", least,
                             " or more");
    }
    return *value;
  }

  StatusOr<std::string> text(llvm::StringRef name) {
    known_.push_back(name);
    std::optional<llvm::StringRef> value = object_.getString(name);
    if (!value) return invalidArgument(where_, ": no text ", name.str());
    return value->str();
  }

  StatusOr<const llvm::json::Object*> object(llvm::StringRef name) {
    known_.push_back(name);
    const llvm::json::Object* value = object_.getObject(name);
    if (!value) return invalidArgument(where_, ": no object ", name.str());
    return value;
  }

  StatusOr<const llvm::json::Array*> array(llvm::StringRef name) {
    known_.push_back(name);
    const llvm::json::Array* value = object_.getArray(name);
    if (!value) return invalidArgument(where_, ": no array ", name.str());
    return value;
  }

  void ignore(llvm::StringRef name) { known_.push_back(name); }

  // A misspelt member would otherwise be a default that nobody chose.
  Status checkAllKnown() const {
    for (const auto& [name, value] : object_) {
      if (!llvm::is_contained(known_, llvm::StringRef(name))) {
        return invalidArgument(where_, ": unknown member ", llvm::StringRef(name).str());
      }
    }
    return {};
  }

 private:
  const llvm::json::Object& object_;
  std::string where_;
  std::vector<llvm::StringRef> known_;
};

constexpr double kMinRate = 1;

Status readDevice(const llvm::json::Object& object, Machine& machine) {
  Members members(object, "device");
  ISTHMUS_ASSIGN_OR_RETURN(const llvm::json::Object* rates, members.object("contraction_flops"));
  for (const auto& [type, value] : *rates) {
    std::string name = llvm::StringRef(type).str();
    ISTHMUS_ASSIGN_OR_RETURN(machine.contractionFlops[name],
                             Members(*rates, "contraction_flops").number(name, kMinRate));
  }
  if (!machine.contractionFlops.contains("f32")) {
    return invalidArgument("contraction_flops: no number f32");
  }
  ISTHMUS_ASSIGN_OR_RETURN(machine.elementFlops, members.number("element_flops", kMinRate));
  ISTHMUS_ASSIGN_OR_RETURN(machine.memoryBytesPerSecond,
                           members.number("memory_bytes_per_second", kMinRate));
  ISTHMUS_ASSIGN_OR_RETURN(double bytes, members.number("memory_bytes", 1));
  if (bytes > 1e18) return invalidArgument("device: memory_bytes is more than 10^18");
  machine.memoryBytes = static_cast<int64_t>(bytes);
  ISTHMUS_ASSIGN_OR_RETURN(machine.launchSeconds, members.number("launch_seconds", 0));
  return members.checkAllKnown();
}

StatusOr<Link> readLink(const llvm::json::Value& value) {
  const llvm::json::Object* object = value.getAsObject();
  if (!object) return invalidArgument("network: a level is no object");
  Members members(*object, "network");
  Link link;
  ISTHMUS_ASSIGN_OR_RETURN(link.name, members.text("name"));
  ISTHMUS_ASSIGN_OR_RETURN(double size, members.number("size", 1));
  if (size > kMaxProgramDevices || size != static_cast<double>(static_cast<int64_t>(size))) {
    return invalidArgument("network: size of ", link.name, " is ", size,
                           ", expected a whole number");
  }
  link.size = static_cast<int64_t>(size);
  ISTHMUS_ASSIGN_OR_RETURN(link.bytesPerSecond, members.number("bytes_per_second", kMinRate));
  ISTHMUS_ASSIGN_OR_RETURN(link.latencySeconds, members.number("latency_seconds", 0));
  ISTHMUS_RETURN_IF_ERROR(members.checkAllKnown());
  return link;
}

}  // namespace

int64_t Machine::numDevices() const {
  int64_t count = 1;
  for (const Link& link : network) count *= link.size;
  return count;
}

StatusOr<Machine> parseMachine(std::string_view json) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(json);
  if (!parsed) return invalidArgument("no JSON: ", llvm::toString(parsed.takeError()));
  const llvm::json::Object* object = parsed->getAsObject();
  if (!object) return invalidArgument("the machine is no JSON object");
  Machine machine;
  Members members(*object, "machine");
  members.ignore("source");  // where the numbers are from
  ISTHMUS_ASSIGN_OR_RETURN(machine.name, members.text("name"));
  ISTHMUS_ASSIGN_OR_RETURN(const llvm::json::Object* device, members.object("device"));
  ISTHMUS_RETURN_IF_ERROR(readDevice(*device, machine));
  ISTHMUS_ASSIGN_OR_RETURN(const llvm::json::Array* levels, members.array("network"));
  double devices = 1;
  for (const llvm::json::Value& level : *levels) {
    ISTHMUS_ASSIGN_OR_RETURN(Link link, readLink(level));
    devices *= static_cast<double>(link.size);
    if (devices > kMaxProgramDevices)
      return invalidArgument("network: more than ", kMaxProgramDevices, " devices");
    machine.network.push_back(std::move(link));
  }
  ISTHMUS_RETURN_IF_ERROR(members.checkAllKnown());
  return machine;
}

}  // namespace isthmus::simulation
