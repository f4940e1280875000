#include "runtime/ffi/registry.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "runtime/ffi/api.h"
#include "runtime/ffi/error.h"
#include "runtime/threads/fork_mutex.h"

namespace isthmus::ffi {
namespace {

// Ids of our own making are far from those that a framework counts up from one, and from its
// addresses.
constexpr int64_t kFirstOwnTypeId = int64_t{1} << 56;

struct Registry {
  ForkMutex mutex;
  std::map<std::pair<std::string, std::string>, Handler> handlers;  // by platform and target
  std::map<int64_t, TypeInfo> types;
  std::map<std::string, int64_t, std::less<>> typeIds;
  int64_t nextTypeId = kFirstOwnTypeId;
};

Registry& registry() {
  static Registry& registry = *new Registry;
  return registry;
}

std::string canonicalPlatform(std::string_view platform) {
  std::string name(platform);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name == "host") return "cpu";
  if (name == "isthmus" || name == "xpu") return "";
  return name;
}

// Asks the handler which version of the interface it was compiled for.
Status checkVersion(std::string_view target, XLA_FFI_Handler* handler) {
  XLA_FFI_Metadata metadata{};
  metadata.struct_size = sizeof(XLA_FFI_Metadata);
  metadata.api_version.struct_size = kXlaFfiStructSize<XLA_FFI_Api_Version>;
  XLA_FFI_Metadata_Extension extension{};
  extension.extension_base.struct_size = kXlaFfiStructSize<XLA_FFI_Metadata_Extension>;
  extension.extension_base.type = XLA_FFI_Extension_Metadata;
  extension.metadata = &metadata;
  XLA_FFI_CallFrame frame{};
  frame.struct_size = kXlaFfiStructSize<XLA_FFI_CallFrame>;
  frame.extension_start = &extension.extension_base;
  frame.api = &api();
  frame.stage = XLA_FFI_ExecutionStage_EXECUTE;
  ISTHMUS_RETURN_IF_ERROR(
      toStatus(handler(&frame)).withContext("asking FFI handler " + std::string(target)));
  if (metadata.api_version.major_version != XLA_FFI_API_MAJOR) {
    return invalidArgument("FFI handler ", target, " was compiled for version ",
                           metadata.api_version.major_version, ".",
                           metadata.api_version.minor_version, " of the interface, expected ",
                           XLA_FFI_API_MAJOR, ".x");
  }
  return {};
}

bool isSame(const Handler& a, const Handler& b) {
  return a.bundle.instantiate == b.bundle.instantiate && a.bundle.prepare == b.bundle.prepare &&
         a.bundle.initialize == b.bundle.initialize && a.bundle.execute == b.bundle.execute &&
         a.untyped == b.untyped;
}

}  // namespace

Status registerHandler(std::string_view target, std::string_view platform, const Handler& handler) {
  if (target.empty()) return invalidArgument("an FFI handler without a name");
  if (handler.bundle.execute == nullptr && handler.untyped == nullptr) {
    return invalidArgument("FFI handler ", target, " has no function for the stage execute");
  }
  if (handler.isTyped()) ISTHMUS_RETURN_IF_ERROR(checkVersion(target, handler.bundle.execute));
  std::lock_guard lock(registry().mutex);
  auto [place, isNew] = registry().handlers.emplace(
      std::pair(canonicalPlatform(platform), std::string(target)), handler);
  if (!isNew && !isSame(place->second, handler)) {
    return Status(StatusCode::kAlreadyExists,
                  "FFI handler " + std::string(target) + " is registered with other functions");
  }
  return {};
}

std::optional<Handler> findHandler(std::string_view target) {
  std::lock_guard lock(registry().mutex);
  for (const char* platform : {"", "cpu"}) {
    auto found = registry().handlers.find(std::pair(std::string(platform), std::string(target)));
    if (found != registry().handlers.end()) return found->second;
  }
  return std::nullopt;
}

StatusOr<int64_t> registerType(std::string_view name, int64_t typeId,
                               void (*deleter)(void* object)) {
  if (name.empty()) return invalidArgument("an FFI type without a name");
  std::lock_guard lock(registry().mutex);
  Registry& all = registry();
  auto known = all.typeIds.find(name);
  if (known != all.typeIds.end()) {
    if (typeId != 0 && typeId != known->second) {
      return invalidArgument("FFI type ", name, " has id ", known->second, " already, not ",
                             typeId);
    }
    if (deleter != nullptr) all.types[known->second].deleter = deleter;
    return known->second;
  }
  if (typeId == 0) typeId = all.nextTypeId++;
  auto [place, isNew] = all.types.emplace(typeId, TypeInfo{std::string(name), deleter});
  if (!isNew) {
    return invalidArgument("FFI type ", name, ": id ", typeId, " is that of type ",
                           place->second.name);
  }
  all.typeIds.emplace(std::string(name), typeId);
  return typeId;
}

std::optional<TypeInfo> findType(int64_t typeId) {
  std::lock_guard lock(registry().mutex);
  auto found = registry().types.find(typeId);
  if (found == registry().types.end()) return std::nullopt;
  return found->second;
}

}  // namespace isthmus::ffi
