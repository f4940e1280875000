// The opaque objects, element types and layouts of the PJRT C API.
#pragma once

#include "isthmus/pjrt_c_api/base.h"

struct PJRT_AsyncHostToDeviceTransferManager;
struct PJRT_AsyncTrackingEvent;
struct PJRT_Buffer;
struct PJRT_Client;
struct PJRT_CopyToDeviceStream;
struct PJRT_Device;
struct PJRT_Device_Attributes;
struct PJRT_DeviceAssignmentSerialized;
struct PJRT_DeviceDescription;
struct PJRT_Executable;
struct PJRT_ExecuteContext;
struct PJRT_FulfillAliasBufferCallback;
struct PJRT_LoadedExecutable;
struct PJRT_Memory;
struct PJRT_MultiSlice_Config;
struct PJRT_SerializedCompileOptions;
struct PJRT_SerializedExecutable;
struct PJRT_SerializedTopology;
struct PJRT_TopologyDescription;

// Element types. The numbers are not those of XLA's PrimitiveType.
enum PJRT_Buffer_Type : int {
  PJRT_Buffer_Type_INVALID = 0,
  PJRT_Buffer_Type_PRED = 1,
  PJRT_Buffer_Type_S8 = 2,
  PJRT_Buffer_Type_S16 = 3,
  PJRT_Buffer_Type_S32 = 4,
  PJRT_Buffer_Type_S64 = 5,
  PJRT_Buffer_Type_U8 = 6,
  PJRT_Buffer_Type_U16 = 7,
  PJRT_Buffer_Type_U32 = 8,
  PJRT_Buffer_Type_U64 = 9,
  PJRT_Buffer_Type_F16 = 10,
  PJRT_Buffer_Type_F32 = 11,
  PJRT_Buffer_Type_F64 = 12,
  PJRT_Buffer_Type_BF16 = 13,
  PJRT_Buffer_Type_C64 = 14,
  PJRT_Buffer_Type_C128 = 15,
  PJRT_Buffer_Type_F8E5M2 = 16,
  PJRT_Buffer_Type_F8E4M3FN = 17,
  PJRT_Buffer_Type_F8E4M3B11FNUZ = 18,
  PJRT_Buffer_Type_F8E5M2FNUZ = 19,
  PJRT_Buffer_Type_F8E4M3FNUZ = 20,
  PJRT_Buffer_Type_S4 = 21,
  PJRT_Buffer_Type_U4 = 22,
  PJRT_Buffer_Type_TOKEN = 23,
  PJRT_Buffer_Type_S2 = 24,
  PJRT_Buffer_Type_U2 = 25,
  PJRT_Buffer_Type_F8E4M3 = 26,
  PJRT_Buffer_Type_F8E3M4 = 27,
  PJRT_Buffer_Type_F8E8M0FNU = 28,
  PJRT_Buffer_Type_F4E2M1FN = 29,
  PJRT_Buffer_Type_S1 = 30,
  PJRT_Buffer_Type_U1 = 31,
  PJRT_Buffer_Type_F6E2M3FN = 32,
  PJRT_Buffer_Type_F6E3M2FN = 33,
};

// How long the plugin may read the host's memory, and whether it may keep it as the buffer's own.
enum PJRT_HostBufferSemantics : int {
  PJRT_HostBufferSemantics_kImmutableOnlyDuringCall = 0,
  PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes = 1,
  PJRT_HostBufferSemantics_kImmutableZeroCopy = 2,
  PJRT_HostBufferSemantics_kMutableZeroCopy = 3,
};

enum PJRT_Buffer_MemoryLayout_Type : int {
  PJRT_Buffer_MemoryLayout_Type_Tiled = 0,
  PJRT_Buffer_MemoryLayout_Type_Strides = 1,
};

// minor_to_major[0] varies fastest. Tile t has tile_dim_sizes[t] dimensions; all are concatenated
// in `tile_dims`.
struct PJRT_Buffer_MemoryLayout_Tiled {
  ISTHMUS_PJRT_HEAD
  const int64_t* minor_to_major;
  size_t minor_to_major_size;
  const int64_t* tile_dims;
  const size_t* tile_dim_sizes;
  size_t num_tiles;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_MemoryLayout_Tiled, num_tiles);

// In bytes, one per dimension.
struct PJRT_Buffer_MemoryLayout_Strides {
  ISTHMUS_PJRT_HEAD
  const int64_t* byte_strides;
  size_t num_byte_strides;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_MemoryLayout_Strides, num_byte_strides);

struct PJRT_Buffer_MemoryLayout {
  ISTHMUS_PJRT_HEAD
  union {
    PJRT_Buffer_MemoryLayout_Tiled tiled;
    PJRT_Buffer_MemoryLayout_Strides strides;
  };
  PJRT_Buffer_MemoryLayout_Type type;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_MemoryLayout, type);

struct PJRT_ShapeSpec {
  ISTHMUS_PJRT_HEAD
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
};
ISTHMUS_PJRT_SIZE(PJRT_ShapeSpec, element_type);

// `format` is "mlir", "hlo" or "hlo_with_config". In OptimizedProgram, a null `code` asks for the
// size and the format only.
struct PJRT_Program {
  ISTHMUS_PJRT_HEAD
  char* code;
  size_t code_size;
  const char* format;
  size_t format_size;
};
ISTHMUS_PJRT_SIZE(PJRT_Program, format_size);
