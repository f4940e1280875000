// What a program is to the runtime and its callers, as plain data: how it is to be compiled, its
// parameters and results, what it costs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "isthmus/types.h"

namespace isthmus {

// A value of a client option, of a plugin or device attribute, or of a compiler option.
using AttributeValue = std::variant<std::string, int64_t, std::vector<int64_t>, float, bool>;
using AttributeMap = std::map<std::string, AttributeValue>;

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
  // Of each argument, where the caller says them: the program may leave sizes open.
  std::vector<std::vector<int64_t>> argumentShapes;
  AttributeMap overrides;  // env_option_overrides: jit(compiler_options=...)
  std::string serialized;  // the CompileOptionsProto as it came
};

// What Backend::compile is asked for.
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
  // Of an output: where the user's program computes it ("train.py:12"), for errors; may be empty.
  std::string source;
};

// What becomes of a parameter's memory.
enum class DonationKind {
  kNone,
  kMayDonate,  // jax.buffer_donor: the program may reuse the memory, and the caller loses it
  kMustAlias,  // tf.aliasing_output: output `aliasedOutput` is written into this memory
};

// A parameter: what it is, and whether the program may write into it.
struct ParameterSpec : BufferSpec {
  DonationKind donation = DonationKind::kNone;
  int aliasedOutput = -1;
};

// Bytes on one device.
struct MemoryAnalysis {
  int64_t generatedCodeBytes = 0;
  int64_t argumentBytes = 0;
  int64_t outputBytes = 0;
  int64_t aliasBytes = 0;
  int64_t tempBytes = 0;  // the arena
};

// What is known of a compiled program before it runs; the same on all devices.
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

}  // namespace isthmus
