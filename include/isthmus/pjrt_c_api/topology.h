// Topologies, and compilation for them, of the PJRT C API.
#pragma once

#include "isthmus/pjrt_c_api/types.h"

// Describes devices that this process need not have.
struct PJRT_TopologyDescription_Create_Args {
  ISTHMUS_PJRT_HEAD
  const char* topology_name;
  size_t topology_name_size;
  const PJRT_NamedValue* create_options;
  size_t num_options;
  PJRT_TopologyDescription* topology;
};
ISTHMUS_PJRT_SIZE(PJRT_TopologyDescription_Create_Args, topology);

struct PJRT_TopologyDescription_Destroy_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_TopologyDescription* topology;
};
ISTHMUS_PJRT_SIZE(PJRT_TopologyDescription_Destroy_Args, topology);

struct PJRT_TopologyDescription_PlatformVersion_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_TopologyDescription* topology;
  const char* platform_version;
  size_t platform_version_size;
};
ISTHMUS_PJRT_SIZE(PJRT_TopologyDescription_PlatformVersion_Args, platform_version_size);

struct PJRT_TopologyDescription_PlatformName_Args {
  ISTHMUS_PJRT_HEAD
  const PJRT_TopologyDescription* topology;
  const char* platform_name;
  size_t platform_name_size;
};
ISTHMUS_PJRT_SIZE(PJRT_TopologyDescription_PlatformName_Args, platform_name_size);

struct PJRT_TopologyDescription_GetDeviceDescriptions_Args {
  ISTHMUS_PJRT_HEAD
  const PJRT_TopologyDescription* topology;
  PJRT_DeviceDescription* const* descriptions;
  size_t num_descriptions;
};
ISTHMUS_PJRT_SIZE(PJRT_TopologyDescription_GetDeviceDescriptions_Args, num_descriptions);

struct PJRT_TopologyDescription_Serialize_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_TopologyDescription* topology;
  const char* serialized_bytes;
  size_t serialized_bytes_size;
  PJRT_SerializedTopology* serialized_topology;
  void (*serialized_topology_deleter)(PJRT_SerializedTopology* serialized_topology);
};
ISTHMUS_PJRT_SIZE(PJRT_TopologyDescription_Serialize_Args, serialized_topology_deleter);

struct PJRT_TopologyDescription_Deserialize_Args {
  ISTHMUS_PJRT_HEAD
  const char* serialized_topology;
  size_t serialized_topology_size;
  PJRT_TopologyDescription* topology;
};
ISTHMUS_PJRT_SIZE(PJRT_TopologyDescription_Deserialize_Args, topology);

struct PJRT_TopologyDescription_Attributes_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_TopologyDescription* topology;
  const PJRT_NamedValue* attributes;
  size_t num_attributes;
};
ISTHMUS_PJRT_SIZE(PJRT_TopologyDescription_Attributes_Args, num_attributes);

struct PJRT_TopologyDescription_Fingerprint_Args {
  ISTHMUS_PJRT_HEAD
  const PJRT_TopologyDescription* topology;
  uint64_t fingerprint;
};
ISTHMUS_PJRT_SIZE(PJRT_TopologyDescription_Fingerprint_Args, fingerprint);

struct PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args {
  ISTHMUS_PJRT_HEAD
  const PJRT_TopologyDescription* topology;
  int memory_space_kind_id;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
  const PJRT_Buffer_MemoryLayout* layout;
  const char* serialized_shape;
  size_t serialized_shape_size;
  void (*serialized_shape_deleter)(const char*);
};
ISTHMUS_PJRT_SIZE(PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace_Args,
                  serialized_shape_deleter);

struct PJRT_TopologyDescription_GetMemorySpaceKindIds_Args {
  ISTHMUS_PJRT_HEAD
  const PJRT_TopologyDescription* topology;
  const int* memory_space_kind_ids;
  size_t num_memory_space_kind_ids;
};
ISTHMUS_PJRT_SIZE(PJRT_TopologyDescription_GetMemorySpaceKindIds_Args, num_memory_space_kind_ids);

// Compiles for a topology; `client` may be null.
struct PJRT_Compile_Args {
  ISTHMUS_PJRT_HEAD
  const PJRT_TopologyDescription* topology;
  const PJRT_Program* program;
  const char* compile_options;
  size_t compile_options_size;
  PJRT_Client* client;
  PJRT_Executable* executable;
};
ISTHMUS_PJRT_SIZE(PJRT_Compile_Args, executable);
