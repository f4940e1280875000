// Programs in C++ over the PJRT C API: owners of its objects, errors as exceptions. Nothing to
// link: the plugin, ours or another's, is loaded when the program runs (link -ldl where dlopen
// needs it).
//
//   isthmus::client::Client client(isthmus::client::Plugin("libisthmus.so"));
//   isthmus::client::Executable add = client.compile(text);
//   std::vector<float> sum = add({client.put(x, {4}), client.put(y, {4})})[0].to<float>();
//
// Calls may come from any thread. Computing is asynchronous: `to` and `wait` wait.
#pragma once

#include <dlfcn.h>

#include <complex>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "isthmus/pjrt_c_api.h"

namespace isthmus::client {

// What every function here throws: an error of the plugin, or one of this header about the plugin.
class Error : public std::runtime_error {
 public:
  Error(PJRT_Error_Code code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  PJRT_Error_Code code() const { return code_; }

 private:
  PJRT_Error_Code code_;
};

// The number of a C++ type in the interface.
template <typename T>
constexpr PJRT_Buffer_Type elementType() {
  if constexpr (std::is_same_v<T, bool>) return PJRT_Buffer_Type_PRED;
  if constexpr (std::is_same_v<T, float>) return PJRT_Buffer_Type_F32;
  if constexpr (std::is_same_v<T, double>) return PJRT_Buffer_Type_F64;
  if constexpr (std::is_same_v<T, std::complex<float>>) return PJRT_Buffer_Type_C64;
  if constexpr (std::is_same_v<T, std::complex<double>>) return PJRT_Buffer_Type_C128;
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    constexpr int log2 = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    constexpr int first = std::is_signed_v<T> ? int{PJRT_Buffer_Type_S8} : int{PJRT_Buffer_Type_U8};
    return static_cast<PJRT_Buffer_Type>(first + log2);
  }
  return PJRT_Buffer_Type_INVALID;
}

// A loaded library. It stays loaded: plugins have threads.
class Plugin {
 public:
  explicit Plugin(const std::string& library) {
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw Error(PJRT_Error_Code_NOT_FOUND, dlerror());
    auto get = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(handle, "GetPjrtApi"));
    if (get == nullptr) {
      throw Error(PJRT_Error_Code_NOT_FOUND, library + " has no function GetPjrtApi");
    }
    api_ = get();
    call<PJRT_Plugin_Initialize_Args>(&PJRT_Api::PJRT_Plugin_Initialize);
  }

  const PJRT_Api& api() const { return *api_; }

  // Calls an entry with the arguments that `fill` sets; they hold its results.
  template <typename Args, typename Fill>
  Args call(PJRT_Entry<Args> PJRT_Api::* entry, Fill&& fill) const {
    auto args = make<Args>();
    fill(args);
    check((api_->*entry)(&args));
    return args;
  }
  template <typename Args>
  Args call(PJRT_Entry<Args> PJRT_Api::* entry) const {
    return call<Args>(entry, [](Args&) {});
  }

  template <typename Args>
  static Args make() {
    Args args{};
    args.struct_size = kPjrtStructSize<Args>;
    return args;
  }

  void check(PJRT_Error* error) const {
    if (error == nullptr) return;
    auto message = make<PJRT_Error_Message_Args>();
    message.error = error;
    api_->PJRT_Error_Message(&message);
    auto code = make<PJRT_Error_GetCode_Args>();
    code.error = error;
    api_->PJRT_Error_GetCode(&code);
    Error thrown(code.code, std::string(message.message, message.message_size));
    auto destroy = make<PJRT_Error_Destroy_Args>();
    destroy.error = error;
    api_->PJRT_Error_Destroy(&destroy);
    throw thrown;
  }

  // Waits for an event and destroys it; throws its error.
  void wait(PJRT_Event* event) const {
    auto await = make<PJRT_Event_Await_Args>();
    await.event = event;
    PJRT_Error* error = api_->PJRT_Event_Await(&await);
    auto destroy = make<PJRT_Event_Destroy_Args>();
    destroy.event = event;
    api_->PJRT_Event_Destroy(&destroy);
    check(error);
  }

 private:
  const PJRT_Api* api_ = nullptr;
};

// An array on a device, perhaps not computed yet. Copies share it.
class Buffer {
 public:
  // Takes over a buffer of the interface.
  Buffer(Plugin plugin, PJRT_Buffer* buffer)
      : plugin_(plugin), buffer_(buffer, [plugin](PJRT_Buffer* object) {
          auto args = Plugin::make<PJRT_Buffer_Destroy_Args>();
          args.buffer = object;
          plugin.api().PJRT_Buffer_Destroy(&args);
        }) {}

  PJRT_Buffer* get() const { return buffer_.get(); }

  std::vector<int64_t> dims() const {
    auto args = plugin_.call<PJRT_Buffer_Dimensions_Args>(&PJRT_Api::PJRT_Buffer_Dimensions,
                                                          [&](auto& a) { a.buffer = get(); });
    return {args.dims, args.dims + args.num_dims};
  }

  PJRT_Buffer_Type type() const {
    return plugin_
        .call<PJRT_Buffer_ElementType_Args>(&PJRT_Api::PJRT_Buffer_ElementType,
                                            [&](auto& a) { a.buffer = get(); })
        .type;
  }

  // Waits until it is computed; throws the error of the program that was to compute it.
  void wait() const {
    plugin_.wait(plugin_
                     .call<PJRT_Buffer_ReadyEvent_Args>(&PJRT_Api::PJRT_Buffer_ReadyEvent,
                                                        [&](auto& a) { a.buffer = get(); })
                     .event);
  }

  // The elements, row-major. Waits.
  template <typename T>
  std::vector<T> to() const {
    static_assert(!std::is_same_v<T, bool>, "read booleans as uint8_t");
    const PJRT_Buffer_Type type = this->type();
    const bool isBytes = sizeof(T) == 1 && type == PJRT_Buffer_Type_PRED;
    if (type != elementType<T>() && !isBytes) {
      throw Error(PJRT_Error_Code_INVALID_ARGUMENT, "the array has another element type");
    }
    auto args = Plugin::make<PJRT_Buffer_ToHostBuffer_Args>();
    args.src = get();
    plugin_.check(plugin_.api().PJRT_Buffer_ToHostBuffer(&args));
    std::vector<T> result(args.dst_size / sizeof(T));
    if (result.empty()) return result;
    args.dst = result.data();
    plugin_.check(plugin_.api().PJRT_Buffer_ToHostBuffer(&args));
    plugin_.wait(args.event);
    return result;
  }

 private:
  Plugin plugin_;
  std::shared_ptr<PJRT_Buffer> buffer_;
};

// A compiled program. Copies share it.
class Executable {
 public:
  Executable(Plugin plugin, PJRT_LoadedExecutable* executable)
      : plugin_(plugin), executable_(executable, [plugin](PJRT_LoadedExecutable* object) {
          auto args = Plugin::make<PJRT_LoadedExecutable_Destroy_Args>();
          args.executable = object;
          plugin.api().PJRT_LoadedExecutable_Destroy(&args);
        }) {
    auto unloaded = plugin_.call<PJRT_LoadedExecutable_GetExecutable_Args>(
        &PJRT_Api::PJRT_LoadedExecutable_GetExecutable,
        [&](auto& args) { args.loaded_executable = executable; });
    numOutputs_ = plugin_
                      .call<PJRT_Executable_NumOutputs_Args>(
                          &PJRT_Api::PJRT_Executable_NumOutputs,
                          [&](auto& args) { args.executable = unloaded.executable; })
                      .num_outputs;
    plugin_.call<PJRT_Executable_Destroy_Args>(&PJRT_Api::PJRT_Executable_Destroy, [&](auto& args) {
      args.executable = unloaded.executable;
    });
  }

  size_t numOutputs() const { return numOutputs_; }

  // Starts the program and returns at once.
  std::vector<Buffer> operator()(const std::vector<Buffer>& arguments) const {
    std::vector<PJRT_Buffer*> inputs, outputs(numOutputs_);
    for (const Buffer& argument : arguments) inputs.push_back(argument.get());
    PJRT_Buffer* const* inputList = inputs.data();
    PJRT_Buffer** outputList = outputs.data();
    auto options = Plugin::make<PJRT_ExecuteOptions>();
    plugin_.call<PJRT_LoadedExecutable_Execute_Args>(&PJRT_Api::PJRT_LoadedExecutable_Execute,
                                                     [&](auto& args) {
                                                       args.executable = executable_.get();
                                                       args.options = &options;
                                                       args.argument_lists = &inputList;
                                                       args.num_devices = 1;
                                                       args.num_args = inputs.size();
                                                       args.output_lists = &outputList;
                                                     });
    std::vector<Buffer> results;
    for (PJRT_Buffer* output : outputs) results.emplace_back(plugin_, output);
    return results;
  }

 private:
  Plugin plugin_;
  std::shared_ptr<PJRT_LoadedExecutable> executable_;
  size_t numOutputs_ = 0;
};

// The devices of a plugin. Outlives nothing: buffers and executables keep what they need.
class Client {
 public:
  explicit Client(Plugin plugin, std::vector<PJRT_NamedValue> options = {}) : plugin_(plugin) {
    auto created =
        plugin_.call<PJRT_Client_Create_Args>(&PJRT_Api::PJRT_Client_Create, [&](auto& args) {
          args.create_options = options.data();
          args.num_options = options.size();
        });
    client_ = std::shared_ptr<PJRT_Client>(created.client, [plugin](PJRT_Client* object) {
      auto args = Plugin::make<PJRT_Client_Destroy_Args>();
      args.client = object;
      plugin.api().PJRT_Client_Destroy(&args);
    });
    auto found = plugin_.call<PJRT_Client_AddressableDevices_Args>(
        &PJRT_Api::PJRT_Client_AddressableDevices, [&](auto& a) { a.client = client_.get(); });
    devices_.assign(found.addressable_devices,
                    found.addressable_devices + found.num_addressable_devices);
  }

  size_t numDevices() const { return devices_.size(); }

  std::string platform() const {
    auto args = plugin_.call<PJRT_Client_PlatformName_Args>(
        &PJRT_Api::PJRT_Client_PlatformName, [&](auto& a) { a.client = client_.get(); });
    return {args.platform_name, args.platform_name_size};
  }

  // StableHLO as text or bytecode, for one device.
  Executable compile(std::string_view program, std::string_view format = "mlir") const {
    auto source = Plugin::make<PJRT_Program>();
    source.code = const_cast<char*>(program.data());
    source.code_size = program.size();
    source.format = format.data();
    source.format_size = format.size();
    // CompileOptionsProto: build options of one replica and one partition.
    static constexpr std::string_view kOneDevice("\x1a\x04\x20\x01\x28\x01", 6);
    auto compiled =
        plugin_.call<PJRT_Client_Compile_Args>(&PJRT_Api::PJRT_Client_Compile, [&](auto& args) {
          args.client = client_.get();
          args.program = &source;
          args.compile_options = kOneDevice.data();
          args.compile_options_size = kOneDevice.size();
        });
    return {plugin_, compiled.executable};
  }

  // Copies a row-major array to a device.
  template <typename T>
  Buffer put(const T* data, const std::vector<int64_t>& dims, size_t device = 0) const {
    static_assert(elementType<T>() != PJRT_Buffer_Type_INVALID, "no element type of arrays");
    auto args = plugin_.call<PJRT_Client_BufferFromHostBuffer_Args>(
        &PJRT_Api::PJRT_Client_BufferFromHostBuffer, [&](auto& a) {
          a.client = client_.get();
          a.data = data;
          a.type = elementType<T>();
          a.dims = dims.data();
          a.num_dims = dims.size();
          a.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
          a.device = devices_.at(device);
        });
    Buffer buffer(plugin_, args.buffer);
    plugin_.wait(args.done_with_host_buffer);
    return buffer;
  }
  template <typename T>
  Buffer put(const std::vector<T>& data, const std::vector<int64_t>& dims,
             size_t device = 0) const {
    size_t elements = 1;
    for (int64_t dim : dims) elements *= static_cast<size_t>(dim);
    if (elements != data.size()) {
      throw Error(PJRT_Error_Code_INVALID_ARGUMENT, "the array has not as many elements");
    }
    return put(data.data(), dims, device);
  }

 private:
  Plugin plugin_;
  std::shared_ptr<PJRT_Client> client_;
  std::vector<PJRT_Device*> devices_;
};

}  // namespace isthmus::client
