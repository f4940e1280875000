// The entries of PJRT_TopologyDescription, and PJRT_Compile.
#include <algorithm>
#include <charconv>
#include <memory>
#include <string>

#include "pjrt/bindings.h"
#include "pjrt/compile/compile_options.h"
#include "pjrt/compile/compile_request.h"
#include "pjrt/entry.h"
#include "pjrt/executable/loaded_executable.h"
#include "pjrt/handles.h"
#include "runtime/executable/compile.h"

struct PJRT_SerializedTopology {
  std::string bytes;
};

namespace isthmus::pjrt {
namespace {

// Names are "", "default", "isthmus", the platform's name, and each of them (but "") followed by
// ":n", which stands for the option num_devices = n.
Status applyTopologyName(std::string_view name, const std::string& platform,
                         AttributeMap& options) {
  size_t colon = name.find(':');
  std::string_view base = name.substr(0, colon);
  if (!base.empty() && base != "default" && base != "isthmus" && base != platform) {
    return invalidArgument("unknown topology '", name, "': expected '", platform, "' or '",
                           platform, ":<number of devices>'");
  }
  if (colon == std::string_view::npos) return {};
  std::string_view digits = name.substr(colon + 1);
  int64_t count = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error != std::errc() || end != digits.data() + digits.size() || count < 1) {
    return invalidArgument("topology '", name, "': '", digits,
                           "' is not a positive number of devices");
  }
  options["num_devices"] = count;
  return {};
}

Status topologyCreate(PJRT_TopologyDescription_Create_Args& args) {
  args.topology = nullptr;
  ISTHMUS_ASSIGN_OR_RETURN(AttributeMap options,
                           parseNamedValues(args.create_options, args.num_options));
  Backend& backend = linkedBackend();
  if (args.topology_name != nullptr) {
    ISTHMUS_RETURN_IF_ERROR(applyTopologyName({args.topology_name, args.topology_name_size},
                                              backend.platformName(), options));
  }
  ISTHMUS_ASSIGN_OR_RETURN(Topology topology, Topology::create(backend, std::move(options)));
  args.topology = new PJRT_TopologyDescription(std::move(topology), /*isOwnedByClient=*/false);
  return {};
}

Status topologyDestroy(PJRT_TopologyDescription_Destroy_Args& args) {
  if (args.topology != nullptr && !args.topology->isOwnedByClient) delete args.topology;
  return {};
}

Status topologyPlatformName(PJRT_TopologyDescription_PlatformName_Args& args) {
  ISTHMUS_REQUIRE(args, topology);
  args.platform_name = args.topology->topology.platformName.data();
  args.platform_name_size = args.topology->topology.platformName.size();
  return {};
}

Status topologyPlatformVersion(PJRT_TopologyDescription_PlatformVersion_Args& args) {
  ISTHMUS_REQUIRE(args, topology);
  args.platform_version = args.topology->topology.platformVersion.data();
  args.platform_version_size = args.topology->topology.platformVersion.size();
  return {};
}

Status topologyGetDeviceDescriptions(PJRT_TopologyDescription_GetDeviceDescriptions_Args& args) {
  ISTHMUS_REQUIRE(args, topology);
  args.descriptions = args.topology->descriptionPointers.data();
  args.num_descriptions = args.topology->descriptionPointers.size();
  return {};
}

Status topologySerialize(PJRT_TopologyDescription_Serialize_Args& args) {
  ISTHMUS_REQUIRE(args, topology);
  auto* serialized = new PJRT_SerializedTopology{args.topology->topology.serialize()};
  args.serialized_bytes = serialized->bytes.data();
  args.serialized_bytes_size = serialized->bytes.size();
  args.serialized_topology = serialized;
  args.serialized_topology_deleter = [](PJRT_SerializedTopology* topology) { delete topology; };
  return {};
}

Status topologyDeserialize(PJRT_TopologyDescription_Deserialize_Args& args) {
  args.topology = nullptr;
  ISTHMUS_REQUIRE(args, serialized_topology);
  ISTHMUS_ASSIGN_OR_RETURN(
      Topology topology,
      Topology::deserialize({args.serialized_topology, args.serialized_topology_size}));
  args.topology = new PJRT_TopologyDescription(std::move(topology), /*isOwnedByClient=*/false);
  return {};
}

Status topologyAttributes(PJRT_TopologyDescription_Attributes_Args& args) {
  ISTHMUS_REQUIRE(args, topology);
  args.attributes = args.topology->attributes.data();
  args.num_attributes = args.topology->attributes.size();
  return {};
}

Status topologyFingerprint(PJRT_TopologyDescription_Fingerprint_Args& args) {
  ISTHMUS_REQUIRE(args, topology);
  args.fingerprint = args.topology->topology.fingerprint();
  return {};
}

Status topologyMakeCanonicalShape(
    PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args& args) {
  args.serialized_shape = nullptr;
  args.serialized_shape_size = 0;
  args.serialized_shape_deleter = nullptr;
  ISTHMUS_REQUIRE(args, topology);
  const auto& kinds = args.topology->memoryKindIds;
  if (std::find(kinds.begin(), kinds.end(), args.memory_space_kind_id) == kinds.end()) {
    return invalidArgument("no memory space of kind id ", args.memory_space_kind_id);
  }
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType type,
                           toArrayType(args.element_type, args.dims, args.num_dims));
  std::string shape = serializeShape(type);
  char* copy = new char[shape.size()];
  std::copy(shape.begin(), shape.end(), copy);
  args.serialized_shape = copy;
  args.serialized_shape_size = shape.size();
  args.serialized_shape_deleter = [](const char* bytes) { delete[] bytes; };
  return {};
}

Status topologyGetMemorySpaceKindIds(PJRT_TopologyDescription_GetMemorySpaceKindIds_Args& args) {
  ISTHMUS_REQUIRE(args, topology);
  args.memory_space_kind_ids = args.topology->memoryKindIds.data();
  args.num_memory_space_kind_ids = args.topology->memoryKindIds.size();
  return {};
}

Status compile(PJRT_Compile_Args& args) {
  args.executable = nullptr;
  ISTHMUS_REQUIRE(args, topology);
  ISTHMUS_ASSIGN_OR_RETURN(CompileRequest request,
                           parseCompileRequest("PJRT_Compile", args.program, args.compile_options,
                                               args.compile_options_size));
  ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                           compileProgram(linkedBackend(), request));
  args.executable = newExecutableHandle(std::move(executable));
  return {};
}

}  // namespace

void bindTopology(PJRT_Api& api) {
  api.PJRT_TopologyDescription_Create = kEntry<&topologyCreate>;
  api.PJRT_TopologyDescription_Destroy = kEntry<&topologyDestroy>;
  api.PJRT_TopologyDescription_PlatformName = kEntry<&topologyPlatformName>;
  api.PJRT_TopologyDescription_PlatformVersion = kEntry<&topologyPlatformVersion>;
  api.PJRT_TopologyDescription_GetDeviceDescriptions = kEntry<&topologyGetDeviceDescriptions>;
  api.PJRT_TopologyDescription_Serialize = kEntry<&topologySerialize>;
  api.PJRT_TopologyDescription_Deserialize = kEntry<&topologyDeserialize>;
  api.PJRT_TopologyDescription_Attributes = kEntry<&topologyAttributes>;
  api.PJRT_TopologyDescription_Fingerprint = kEntry<&topologyFingerprint>;
  api.PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace =
      kEntry<&topologyMakeCanonicalShape>;
  api.PJRT_TopologyDescription_GetMemorySpaceKindIds = kEntry<&topologyGetMemorySpaceKindIds>;
  api.PJRT_Compile = kEntry<&compile>;
}

}  // namespace isthmus::pjrt
