// Transfers in parts: host to device by a manager, and to a running program by a stream.
#pragma once

#include "isthmus/pjrt_c_api/types.h"

struct PJRT_AsyncHostToDeviceTransferManager_Destroy_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
};
ISTHMUS_PJRT_SIZE(PJRT_AsyncHostToDeviceTransferManager_Destroy_Args, transfer_manager);

// `offset` and `transfer_size` are in bytes.
struct PJRT_AsyncHostToDeviceTransferManager_TransferData_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  int buffer_index;
  const void* data;
  int64_t offset;
  int64_t transfer_size;
  bool is_last_transfer;
  PJRT_Event* done_with_h2d_transfer;
};
ISTHMUS_PJRT_SIZE(PJRT_AsyncHostToDeviceTransferManager_TransferData_Args, done_with_h2d_transfer);

struct PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  int buffer_index;
  PJRT_Buffer* buffer_out;
};
ISTHMUS_PJRT_SIZE(PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args, buffer_out);

struct PJRT_AsyncHostToDeviceTransferManager_Device_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  PJRT_Device* device_out;
};
ISTHMUS_PJRT_SIZE(PJRT_AsyncHostToDeviceTransferManager_Device_Args, device_out);

struct PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  size_t buffer_count;
};
ISTHMUS_PJRT_SIZE(PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args, buffer_count);

struct PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  int buffer_index;
  size_t buffer_size;
};
ISTHMUS_PJRT_SIZE(PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args, buffer_size);

struct PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  int buffer_index;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
};
ISTHMUS_PJRT_SIZE(PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args, error_message_size);

struct PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  const PJRT_NamedValue* transfer_metadata;
  size_t num_metadata;
};
ISTHMUS_PJRT_SIZE(PJRT_AsyncHostToDeviceTransferManager_AddMetadata_Args, num_metadata);

struct PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
  int buffer_index;
  const void* data;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Event* done_with_h2d_transfer;
};
ISTHMUS_PJRT_SIZE(PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args,
                  done_with_h2d_transfer);

// A part of a transfer. The receiver calls `deleter` when it is done with `data`.

struct PJRT_Chunk {
  void* data;
  size_t size;
  void (*deleter)(void* data, void* deleter_arg);
  void* deleter_arg;
};

struct PJRT_CopyToDeviceStream_Destroy_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_CopyToDeviceStream* stream;
};
ISTHMUS_PJRT_SIZE(PJRT_CopyToDeviceStream_Destroy_Args, stream);

struct PJRT_CopyToDeviceStream_AddChunk_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_CopyToDeviceStream* stream;
  PJRT_Chunk* chunk;
  PJRT_Event* transfer_complete;
};
ISTHMUS_PJRT_SIZE(PJRT_CopyToDeviceStream_AddChunk_Args, transfer_complete);

struct PJRT_CopyToDeviceStream_TotalBytes_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_CopyToDeviceStream* stream;
  int64_t total_bytes;
};
ISTHMUS_PJRT_SIZE(PJRT_CopyToDeviceStream_TotalBytes_Args, total_bytes);

struct PJRT_CopyToDeviceStream_GranuleSize_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_CopyToDeviceStream* stream;
  int64_t granule_size_in_bytes;
};
ISTHMUS_PJRT_SIZE(PJRT_CopyToDeviceStream_GranuleSize_Args, granule_size_in_bytes);

struct PJRT_CopyToDeviceStream_CurrentBytes_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_CopyToDeviceStream* stream;
  int64_t current_bytes;
};
ISTHMUS_PJRT_SIZE(PJRT_CopyToDeviceStream_CurrentBytes_Args, current_bytes);
