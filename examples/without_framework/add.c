// Compiles a program of StableHLO and runs it on arrays of C, by the PJRT C API and nothing else.
// usage: add LIBRARY PROGRAM.mlir
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "isthmus/pjrt_c.h"

static const PJRT_Api* api;

// The arguments of an entry, whose last field is `last`.
#define ARGS(name, last) \
  PJRT_##name##_Args name = {.struct_size = ISTHMUS_STRUCT_SIZE(PJRT_##name##_Args, last)}
#define CALL(name) check(#name, api->PJRT_##name(&name))

static void check(const char* what, PJRT_Error* error) {
  if (error == NULL) return;
  PJRT_Error_Message_Args message = {
      .struct_size = ISTHMUS_STRUCT_SIZE(PJRT_Error_Message_Args, message_size), .error = error};
  api->PJRT_Error_Message(&message);
  fprintf(stderr, "%s: %.*s\n", what, (int)message.message_size, message.message);
  exit(1);
}

static void await(PJRT_Event* event) {
  ARGS(Event_Await, event);
  Event_Await.event = event;
  CALL(Event_Await);
  ARGS(Event_Destroy, event);
  Event_Destroy.event = event;
  CALL(Event_Destroy);
}

static PJRT_Buffer* put(PJRT_Client* client, PJRT_Device* device, const float* data, int64_t size) {
  ARGS(Client_BufferFromHostBuffer, buffer);
  Client_BufferFromHostBuffer.client = client;
  Client_BufferFromHostBuffer.data = data;
  Client_BufferFromHostBuffer.type = PJRT_Buffer_Type_F32;
  Client_BufferFromHostBuffer.dims = &size;
  Client_BufferFromHostBuffer.num_dims = 1;
  Client_BufferFromHostBuffer.device = device;
  CALL(Client_BufferFromHostBuffer);
  await(Client_BufferFromHostBuffer.done_with_host_buffer);
  return Client_BufferFromHostBuffer.buffer;
}

int main(int argc, char** argv) {
  if (argc != 3) return fprintf(stderr, "usage: add LIBRARY PROGRAM.mlir\n"), 1;
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  api = ((const PJRT_Api* (*)(void))dlsym(library, "GetPjrtApi"))();
  PJRT_Plugin_Initialize_Args Plugin_Initialize = {
      .struct_size = ISTHMUS_STRUCT_SIZE(PJRT_Plugin_Initialize_Args, extension_start)};
  CALL(Plugin_Initialize);

  char text[4096];
  FILE* file = fopen(argv[2], "r");
  if (file == NULL) return perror(argv[2]), 1;
  size_t size = fread(text, 1, sizeof text, file);
  fclose(file);

  ARGS(Client_Create, kv_try_get_user_arg);
  CALL(Client_Create);
  PJRT_Client* client = Client_Create.client;
  ARGS(Client_AddressableDevices, num_addressable_devices);
  Client_AddressableDevices.client = client;
  CALL(Client_AddressableDevices);
  PJRT_Device* device = Client_AddressableDevices.addressable_devices[0];

  PJRT_Program program = {.struct_size = ISTHMUS_STRUCT_SIZE(PJRT_Program, format_size),
                          .code = text,
                          .code_size = size,
                          .format = "mlir",
                          .format_size = 4};
  ARGS(Client_Compile, executable);
  Client_Compile.client = client;
  Client_Compile.program = &program;
  // CompileOptionsProto: build options of one replica and one partition.
  Client_Compile.compile_options = "\x1a\x04\x20\x01\x28\x01";
  Client_Compile.compile_options_size = 6;
  CALL(Client_Compile);

  const float x[] = {1, 2, 3, 4}, y[] = {10, 20, 30, 40};
  PJRT_Buffer* arguments[] = {put(client, device, x, 4), put(client, device, y, 4)};
  PJRT_Buffer* results[1];
  PJRT_Buffer* const* argument_list = arguments;
  PJRT_Buffer** result_list = results;
  PJRT_ExecuteOptions options = {.struct_size =
                                     ISTHMUS_STRUCT_SIZE(PJRT_ExecuteOptions, launch_id)};
  ARGS(LoadedExecutable_Execute, execute_device);
  LoadedExecutable_Execute.executable = Client_Compile.executable;
  LoadedExecutable_Execute.options = &options;
  LoadedExecutable_Execute.argument_lists = &argument_list;
  LoadedExecutable_Execute.num_devices = 1;
  LoadedExecutable_Execute.num_args = 2;
  LoadedExecutable_Execute.output_lists = &result_list;
  CALL(LoadedExecutable_Execute);  // returns at once

  float sum[4];
  ARGS(Buffer_ToHostBuffer, event);
  Buffer_ToHostBuffer.src = results[0];
  Buffer_ToHostBuffer.dst = sum;
  Buffer_ToHostBuffer.dst_size = sizeof sum;
  CALL(Buffer_ToHostBuffer);
  await(Buffer_ToHostBuffer.event);
  for (int i = 0; i < 4; ++i) printf("%g ", sum[i]);
  printf("\n");

  PJRT_Buffer* all[] = {arguments[0], arguments[1], results[0]};
  for (int i = 0; i < 3; ++i) {
    ARGS(Buffer_Destroy, buffer);
    Buffer_Destroy.buffer = all[i];
    CALL(Buffer_Destroy);
  }
  ARGS(LoadedExecutable_Destroy, executable);
  LoadedExecutable_Destroy.executable = Client_Compile.executable;
  CALL(LoadedExecutable_Destroy);
  ARGS(Client_Destroy, client);
  Client_Destroy.client = client;
  CALL(Client_Destroy);
  return 0;
}
