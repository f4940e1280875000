// What a hardware vendor implements: one Backend, and the Executables that it compiles to.
//
// Everything above this header (the C API, buffers, events, asynchronous execution, donation,
// sharding, caches) is inherited. All methods may be called from any thread at any time unless a
// comment says otherwise. Errors are returned, never thrown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "isthmus/status.h"
#include "isthmus/types.h"

namespace isthmus {

namespace ffi {
class UserData;  // runtime/ffi/user_data.h
}

// A value of a client option, of a plugin or device attribute, or of a compiler option.
using AttributeValue = std::variant<std::string, int64_t, std::vector<int64_t>, float, bool>;
using AttributeMap = std::map<std::string, AttributeValue>;

// ---- Devices and memories -----------------------------------------------------------------------

struct MemoryDescription {
  std::string kind;  // "device", "pinned_host", "unpinned_host"
  bool isDefault = false;
};

struct DeviceDescription {
  int id = 0;  // unique among all processes; 0 … n-1
  int processIndex = 0;
  int localHardwareId = 0;
  std::string kind;         // "cpu"
  std::string debugString;  // "IsthmusCpuDevice(id=0)"
  AttributeMap attributes;
  std::vector<MemoryDescription> memories;
};

// ---- Programs -----------------------------------------------------------------------------------

// replicaDevices[replica * numPartitions + partition] is a global device id.
struct DeviceAssignment {
  int numReplicas = 1;
  int numPartitions = 1;
  std::vector<int> deviceIds;
};

// The fields of CompileOptionsProto that change what is compiled.
struct CompileOptions {
  int numReplicas = 1;
  int numPartitions = 1;
  bool useSpmdPartitioning = false;
  bool useShardyPartitioner = false;
  bool parameterIsTupled = false;
  // One entry for all, or one per parameter / output.
  std::vector<bool> allowSpmdShardingPropagationToParameters;
  std::vector<bool> allowSpmdShardingPropagationToOutput;
  std::optional<DeviceAssignment> deviceAssignment;
  bool compilePortableExecutable = false;
  int deviceOrdinal = -1;
  AttributeMap overrides;  // env_option_overrides: jit(compiler_options=...)
  std::string serialized;  // the CompileOptionsProto as it came
};

struct CompileRequest {
  std::string_view code;    // only read during the call
  std::string_view format;  // "mlir", "hlo", "hlo_with_config"
  CompileOptions options;
};

// A parameter or an output of one device's program.
struct BufferSpec {
  ArrayType type;
  std::string memoryKind = "device";
  // A serialized xla.OpSharding of the global array, or empty if none is known.
  std::string sharding;
};

enum class DonationKind {
  kNone,
  kMayDonate,  // jax.buffer_donor: the program may reuse the memory, and the caller loses it
  kMustAlias,  // tf.aliasing_output: output `aliasedOutput` is written into this memory
};

struct ParameterSpec : BufferSpec {
  DonationKind donation = DonationKind::kNone;
  int aliasedOutput = -1;
};

struct MemoryAnalysis {
  int64_t generatedCodeBytes = 0;
  int64_t argumentBytes = 0;
  int64_t outputBytes = 0;
  int64_t aliasBytes = 0;
  int64_t tempBytes = 0;  // the arena
};

struct ProgramInfo {
  std::string name;
  std::vector<ParameterSpec> parameters;  // tuples are flattened
  std::vector<BufferSpec> outputs;
  CompileOptions options;
  DeviceAssignment deviceAssignment;  // filled by the client where the options have none
  std::string fingerprint;            // equal programs and options have equal fingerprints
  // A digest of what it exchanges with other devices, equal wherever it is compiled; empty if
  // nothing. Only programs with equal ones can meet across processes.
  std::string exchanges;
  std::map<std::string, double> costs;  // "flops", "bytes accessed", "transcendentals"
  MemoryAnalysis memory;
  // The program as it came, for callers who ask what became of it; may be empty.
  std::string code;
  std::string format;
};

class RunServices;

// One launch of an executable on one device.
struct RunRequest {
  int replica = 0;
  int partition = 0;
  int deviceId = 0;
  int64_t launchId = 0;  // equal on all devices of one launch
  // Addresses of the parameters and of the results, in ProgramInfo's order. All are ready and of
  // the right size. Results are aligned to kBufferAlignment; parameters only to their elements (a
  // complex one to its parts), since they may be memory of the host program: read them with
  // unaligned vector loads. A kMustAlias parameter and its output have the same address; otherwise
  // results overlap nothing. They stay valid until the run returns.
  std::span<const void* const> parameters;
  std::span<void* const> results;
  const DeviceAssignment* assignment = nullptr;
  RunServices* services = nullptr;          // threads, collectives, temporary memory; never null
  const ffi::UserData* userData = nullptr;  // of the launch, for FFI handlers; may be null
};

inline constexpr size_t kBufferAlignment = 64;

// A compiled program: immutable, shared by all the devices that run it.
class Executable {
 public:
  virtual ~Executable() = default;
  virtual const ProgramInfo& info() const = 0;

  // Runs the program on the calling thread (helped by the services' pool) and returns when the
  // results are written. Called concurrently for several devices and several launches.
  virtual Status run(const RunRequest& request) const = 0;

  // True if a run takes so little time that handing it to another thread costs more.
  virtual bool isCheap() const { return false; }

  // True if a run calls code of the user or the framework, which may block, or launch and await
  // other programs. It then gets a thread of its own, and holds up no other program of its device.
  virtual bool callsUserCode() const { return false; }

  // Bytes that Backend::deserialize turns back into this executable.
  virtual StatusOr<std::string> serialize() const {
    return unimplemented("this backend's executables cannot be serialized");
  }
};

// ---- The backend --------------------------------------------------------------------------------

class Backend {
 public:
  virtual ~Backend() = default;

  // What clients see: "cpu", "xpu". `options` may override it.
  virtual std::string platformName() const = 0;
  virtual std::string platformVersion() const = 0;

  // The devices of a client. Called once, when the client is made with these options; an unknown
  // or malformed option is kInvalidArgument.
  virtual StatusOr<std::vector<DeviceDescription>> describeDevices(const AttributeMap& options) = 0;

  // Memory of `bytes` bytes (0 is legal and gives a unique pointer), aligned to kBufferAlignment.
  // kResourceExhausted when there is none.
  virtual StatusOr<void*> allocate(int deviceId, std::string_view memoryKind, size_t bytes) = 0;
  virtual void deallocate(int deviceId, std::string_view memoryKind, void* data, size_t bytes) = 0;
  virtual AttributeMap memoryStats(int deviceId) const { return {}; }

  // Whether the host can read and write device memory through its address (IsOnCpu).
  virtual bool isHostAddressable() const { return true; }

  // Copies of `bytes` bytes, done when they return; called only if memory is not host-addressable.
  // `device`, `to` and `from` are what `allocate` returned: addresses or handles, never computed
  // with.
  virtual Status copyFromHost(int deviceId, void* device, size_t offset, const void* host,
                              size_t bytes) {
    return unimplemented("this backend has no copy from the host");
  }
  virtual Status copyToHost(int deviceId, const void* device, size_t offset, void* host,
                            size_t bytes) {
    return unimplemented("this backend has no copy to the host");
  }
  // Both from their beginning; the devices may be the same.
  virtual Status copyBetween(int toDeviceId, void* to, int fromDeviceId, const void* from,
                             size_t bytes) {
    return unimplemented("this backend has no copy between device memories");
  }

  virtual StatusOr<std::shared_ptr<const Executable>> compile(const CompileRequest& request) = 0;
  // The program as text in plain StableHLO, after what the compiler does above code generation.
  // Made anew for each call, from `info.code`.
  virtual StatusOr<std::string> optimizedProgram(const ProgramInfo& info) {
    return unimplemented("this backend does not show optimized programs");
  }
  virtual StatusOr<std::shared_ptr<const Executable>> deserialize(std::string_view bytes) {
    return unimplemented("this backend cannot load serialized executables");
  }
};

// Each plugin links exactly one backend, which defines this. Owned by the process, never destroyed.
Backend& linkedBackend();

}  // namespace isthmus
