// Clients of other minors of the C API: they pass structures that end where theirs did, with
// anything behind them, and know fewer entries.
//
// Source: XLA's changelog of the API, 0.54 to 0.105, for which version appended what. 0.56 had an
// entry in the middle of the table and was withdrawn by 0.57; no client of it can be served.
#include <cstring>
#include <memory>
#include <new>

#include "pjrt/testing/c_api_testing.h"

namespace isthmus::pjrt {
namespace {

constexpr int kOldest = 54, kWithdrawn = 56;
constexpr unsigned char kBehind = 0xcd;

// The size of a structure that a client of this minor passes. By default no version has changed it.
template <typename Args>
size_t sizeAt(int) {
  return kPjrtStructSize<Args>;
}

#define ISTHMUS_END(type, field) (offsetof(type, field) + sizeof(type::field))

template <>
size_t sizeAt<PJRT_Client_Create_Args>(int minor) {
  return minor < 61 ? ISTHMUS_END(PJRT_Client_Create_Args, client)
                    : ISTHMUS_END(PJRT_Client_Create_Args, kv_try_get_user_arg);
}
template <>
size_t sizeAt<PJRT_Client_CreateViewOfDeviceBuffer_Args>(int minor) {
  return minor < 66 ? ISTHMUS_END(PJRT_Client_CreateViewOfDeviceBuffer_Args, buffer)
                    : ISTHMUS_END(PJRT_Client_CreateViewOfDeviceBuffer_Args, memory);
}
template <>
size_t sizeAt<PJRT_ExecuteOptions>(int minor) {
  if (minor < 64) return ISTHMUS_END(PJRT_ExecuteOptions, num_non_donatable_input_indices);
  if (minor < 76) return ISTHMUS_END(PJRT_ExecuteOptions, context);
  if (minor < 78) return ISTHMUS_END(PJRT_ExecuteOptions, call_location);
  if (minor < 97) return ISTHMUS_END(PJRT_ExecuteOptions, incarnation_ids);
  if (minor < 106) return ISTHMUS_END(PJRT_ExecuteOptions, multi_slice_config);
  return kPjrtStructSize<PJRT_ExecuteOptions>;
}
template <>
size_t sizeAt<PJRT_Executable_DeserializeAndLoad_Args>(int minor) {
  if (minor < 71) return ISTHMUS_END(PJRT_Executable_DeserializeAndLoad_Args, loaded_executable);
  if (minor < 106) {
    return ISTHMUS_END(PJRT_Executable_DeserializeAndLoad_Args,
                       overridden_serialized_compile_options_size);
  }
  return kPjrtStructSize<PJRT_Executable_DeserializeAndLoad_Args>;
}
template <>
size_t sizeAt<PJRT_Executable_GetCompiledMemoryStats_Args>(int minor) {
  using Args = PJRT_Executable_GetCompiledMemoryStats_Args;
  if (minor < 72) return ISTHMUS_END(Args, host_temp_size_in_bytes);
  if (minor < 90) return ISTHMUS_END(Args, peak_memory_in_bytes);
  if (minor < 104) return ISTHMUS_END(Args, total_size_in_bytes);
  return kPjrtStructSize<Args>;
}
template <>
size_t sizeAt<PJRT_Client_CreateErrorBuffer_Args>(int minor) {
  return minor < 103 ? ISTHMUS_END(PJRT_Client_CreateErrorBuffer_Args, buffer)
                     : kPjrtStructSize<PJRT_Client_CreateErrorBuffer_Args>;
}

// A structure as a client of some minor has it: zeros up to its size, and then what belongs to
// somebody else, which nobody may read or write.
template <typename Args>
class Skewed {
 public:
  explicit Skewed(int minor) : size_(sizeAt<Args>(minor)) {
    std::memset(bytes_, kBehind, sizeof(bytes_));
    std::memset(bytes_, 0, size_);
    args_ = reinterpret_cast<Args*>(bytes_);
    args_->struct_size = size_;
  }
  ~Skewed() {
    for (size_t i = size_; i < sizeof(bytes_); ++i) {
      EXPECT_EQ(bytes_[i], kBehind)
          << kPjrtStructName<Args> << ": byte " << i << " behind " << size_;
    }
  }
  Args* operator->() { return args_; }
  Args& operator*() { return *args_; }

 private:
  size_t size_;
  alignas(16) unsigned char bytes_[sizeof(Args) + 64];
  Args* args_;
};

class ClientOf : public testing::TestWithParam<int> {
 protected:
  const PJRT_Api& api_ = *pjrtApi();

  void SetUp() override {
    Skewed<PJRT_Client_Create_Args> create(GetParam());
    ASSERT_PJRT_OK(call(api_.PJRT_Client_Create, *create));
    client_ = create->client;
    Skewed<PJRT_Client_AddressableDevices_Args> devices(GetParam());
    devices->client = client_;
    ASSERT_PJRT_OK(call(api_.PJRT_Client_AddressableDevices, *devices));
    device_ = devices->addressable_devices[0];
  }
  void TearDown() override {
    Skewed<PJRT_Client_Destroy_Args> destroy(GetParam());
    destroy->client = client_;
    EXPECT_PJRT_OK(call(api_.PJRT_Client_Destroy, *destroy));
  }

  void finish(PJRT_Event* event) {
    Skewed<PJRT_Event_Await_Args> await(GetParam());
    await->event = event;
    EXPECT_PJRT_OK(call(api_.PJRT_Event_Await, *await));
    Skewed<PJRT_Event_Destroy_Args> destroy(GetParam());
    destroy->event = event;
    EXPECT_PJRT_OK(call(api_.PJRT_Event_Destroy, *destroy));
  }

  PJRT_Buffer* fromHost(const float* data) {
    static constexpr int64_t kDims[] = {4};
    Skewed<PJRT_Client_BufferFromHostBuffer_Args> args(GetParam());
    args->client = client_;
    args->data = data;
    args->type = PJRT_Buffer_Type_F32;
    args->dims = kDims;
    args->num_dims = 1;
    args->device = device_;
    EXPECT_PJRT_OK(call(api_.PJRT_Client_BufferFromHostBuffer, *args));
    finish(args->done_with_host_buffer);
    return args->buffer;
  }

  PJRT_LoadedExecutable* compile() {
    std::string code = "stablehlo.add";
    Skewed<PJRT_Program> program(GetParam());
    program->code = code.data();
    program->code_size = code.size();
    program->format = "mlir";
    program->format_size = 4;
    Skewed<PJRT_Client_Compile_Args> args(GetParam());
    args->client = client_;
    args->program = &*program;
    EXPECT_PJRT_OK(call(api_.PJRT_Client_Compile, *args));
    return args->executable;
  }

  void runAndCheck(PJRT_LoadedExecutable* executable, PJRT_Buffer* a, PJRT_Buffer* b) {
    Skewed<PJRT_ExecuteOptions> options(GetParam());
    PJRT_Buffer* arguments[] = {a, b};
    PJRT_Buffer* const* lists[] = {arguments};
    PJRT_Buffer* output = nullptr;
    PJRT_Buffer** outputs[] = {&output};
    Skewed<PJRT_LoadedExecutable_Execute_Args> args(GetParam());
    args->executable = executable;
    args->options = &*options;
    args->argument_lists = lists;
    args->num_devices = 1;
    args->num_args = 2;
    args->output_lists = outputs;
    ASSERT_PJRT_OK(call(api_.PJRT_LoadedExecutable_Execute, *args));
    float values[4] = {};
    Skewed<PJRT_Buffer_ToHostBuffer_Args> back(GetParam());
    back->src = output;
    back->dst = values;
    back->dst_size = sizeof(values);
    ASSERT_PJRT_OK(call(api_.PJRT_Buffer_ToHostBuffer, *back));
    finish(back->event);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(values[i], static_cast<float>(11 * (i + 1)));
    destroy(output);
  }

  void destroy(PJRT_Buffer* buffer) {
    Skewed<PJRT_Buffer_Destroy_Args> args(GetParam());
    args->buffer = buffer;
    EXPECT_PJRT_OK(call(api_.PJRT_Buffer_Destroy, *args));
  }
  void destroy(PJRT_LoadedExecutable* executable) {
    Skewed<PJRT_LoadedExecutable_Destroy_Args> args(GetParam());
    args->executable = executable;
    EXPECT_PJRT_OK(call(api_.PJRT_LoadedExecutable_Destroy, *args));
  }

  PJRT_Client* client_ = nullptr;
  PJRT_Device* device_ = nullptr;
};

TEST_P(ClientOf, CompilesRunsAndLoads) {
  const float a[] = {1, 2, 3, 4}, b[] = {10, 20, 30, 40};
  PJRT_Buffer* left = fromHost(a);
  PJRT_Buffer* right = fromHost(b);
  PJRT_LoadedExecutable* loaded = compile();
  ASSERT_NE(loaded, nullptr);
  runAndCheck(loaded, left, right);

  Skewed<PJRT_LoadedExecutable_GetExecutable_Args> get(GetParam());
  get->loaded_executable = loaded;
  ASSERT_PJRT_OK(call(api_.PJRT_LoadedExecutable_GetExecutable, *get));
  Skewed<PJRT_Executable_GetCompiledMemoryStats_Args> memory(GetParam());
  memory->executable = get->executable;
  ASSERT_PJRT_OK(call(api_.PJRT_Executable_GetCompiledMemoryStats, *memory));
  EXPECT_EQ(memory->argument_size_in_bytes, 32);
  Skewed<PJRT_Executable_Serialize_Args> serialize(GetParam());
  serialize->executable = get->executable;
  ASSERT_PJRT_OK(call(api_.PJRT_Executable_Serialize, *serialize));
  Skewed<PJRT_Executable_DeserializeAndLoad_Args> load(GetParam());
  load->client = client_;
  load->serialized_executable = serialize->serialized_bytes;
  load->serialized_executable_size = serialize->serialized_bytes_size;
  ASSERT_PJRT_OK(call(api_.PJRT_Executable_DeserializeAndLoad, *load));
  serialize->serialized_executable_deleter(serialize->serialized_executable);
  runAndCheck(load->loaded_executable, left, right);

  destroy(load->loaded_executable);
  Skewed<PJRT_Executable_Destroy_Args> drop(GetParam());
  drop->executable = get->executable;
  EXPECT_PJRT_OK(call(api_.PJRT_Executable_Destroy, *drop));
  destroy(loaded);
  destroy(left);
  destroy(right);
}

TEST_P(ClientOf, SharesMemoryAndMakesErrors) {
  static constexpr int64_t kDims[] = {4};
  alignas(64) float data[] = {1, 2, 3, 4};
  Skewed<PJRT_Client_CreateViewOfDeviceBuffer_Args> view(GetParam());
  view->client = client_;
  view->device_buffer_ptr = data;
  view->dims = kDims;
  view->num_dims = 1;
  view->element_type = PJRT_Buffer_Type_F32;
  view->device = device_;
  ASSERT_PJRT_OK(call(api_.PJRT_Client_CreateViewOfDeviceBuffer, *view));
  destroy(view->buffer);
  if (GetParam() < 82) return;  // there was no such entry
  Skewed<PJRT_Buffer_Memory_Args> where(GetParam());
  PJRT_Buffer* buffer = fromHost(data);
  where->buffer = buffer;
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_Memory, *where));
  Skewed<PJRT_Client_CreateErrorBuffer_Args> error(GetParam());
  error->client = client_;
  error->error_code = PJRT_Error_Code_ABORTED;
  error->error_message = "no";
  error->error_message_size = 2;
  error->shape_dims = kDims;
  error->shape_num_dims = 1;
  error->shape_element_type = PJRT_Buffer_Type_F32;
  error->memory = where->memory;
  ASSERT_PJRT_OK(call(api_.PJRT_Client_CreateErrorBuffer, *error));
  destroy(error->buffer);
  destroy(buffer);
}

std::vector<int> minors() {
  std::vector<int> all;
  // Newer ones pass what we do not know yet; today they are served as the newest known.
  for (int minor = kOldest; minor <= PJRT_API_MINOR + 4; ++minor) {
    if (minor != kWithdrawn) all.push_back(minor);
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Minor, ClientOf, testing::ValuesIn(minors()),
                         testing::PrintToStringParamName());

// Structures of a newer API are larger; what we do not know in them is left alone.
TEST(NewerClient, PassesLargerStructures) {
  const PJRT_Api& api = *pjrtApi();
  struct {
    PJRT_Client_Create_Args args = make<PJRT_Client_Create_Args>();
    unsigned char more[32];
  } create;
  std::memset(create.more, kBehind, sizeof(create.more));
  create.args.struct_size = sizeof(create);
  ASSERT_PJRT_OK(call(api.PJRT_Client_Create, create.args));
  for (unsigned char byte : create.more) EXPECT_EQ(byte, kBehind);
  auto destroy = make<PJRT_Client_Destroy_Args>();
  destroy.client = create.args.client;
  EXPECT_PJRT_OK(call(api.PJRT_Client_Destroy, destroy));
}

// Entries are appended, so that an older client finds those it knows where it looks for them. The
// numbers are those of the versions that appended them.
TEST(OlderClient, FindsItsEntriesInTheTable) {
  constexpr size_t kFirst = 40;
  auto slot = [](size_t offset) { return (offset - kFirst) / sizeof(void*); };
  EXPECT_EQ(slot(offsetof(PJRT_Api, PJRT_Error_Destroy)), 0u);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_Client_Create), 120u);
  EXPECT_EQ(offsetof(PJRT_Api, PJRT_LoadedExecutable_Execute), 480u);
  // Appended in this order: 0.60, 0.67, 0.69, 0.73, 0.82, 0.89, 0.95, 0.98.
  const size_t appended[] = {
      offsetof(PJRT_Api, PJRT_Client_CreateBuffersForAsyncHostToDevice),
      offsetof(PJRT_Api, PJRT_Client_DmaMap),
      offsetof(PJRT_Api, PJRT_Client_CreateUninitializedBuffer),
      offsetof(PJRT_Api, PJRT_Client_UpdateGlobalProcessInfo),
      offsetof(PJRT_Api, PJRT_Client_CreateErrorBuffer),
      offsetof(PJRT_Api, PJRT_Event_Create),
      offsetof(PJRT_Api, PJRT_Client_Load),
      offsetof(PJRT_Api, PJRT_Buffer_Bitcast),
  };
  for (size_t i = 1; i < std::size(appended); ++i) EXPECT_LT(appended[i - 1], appended[i]) << i;
}

}  // namespace
}  // namespace isthmus::pjrt
