// The entries of PJRT_Executable.
#include <algorithm>
#include <cstring>
#include <string>

#include "pjrt/bindings.h"
#include "pjrt/entry.h"
#include "pjrt/executable/loaded_executable.h"
#include "pjrt/extensions/layouts/layouts.h"
#include "runtime/executable/compile.h"

struct PJRT_SerializedExecutable {
  std::string bytes;
};

struct PJRT_SerializedCompileOptions {
  std::string bytes;
};

namespace {

isthmus::AttributeMap toAttributes(const std::map<std::string, double>& costs) {
  isthmus::AttributeMap attributes;
  for (const auto& [name, value] : costs) attributes[name] = static_cast<float>(value);
  return attributes;
}

}  // namespace

PJRT_Executable::PJRT_Executable(std::shared_ptr<const isthmus::Executable> source)
    : executable(std::move(source)), info(executable->info()), costs(toAttributes(info.costs)) {
  for (const auto& output : info.outputs) {
    outputTypes.push_back(static_cast<PJRT_Buffer_Type>(output.type.elementType));
    outputDims.insert(outputDims.end(), output.type.dims.begin(), output.type.dims.end());
    outputRanks.push_back(output.type.dims.size());
    outputMemoryKinds.add(output.memoryKind);
    outputLayouts.push_back(isthmus::pjrt::layoutOf(output.type));
  }
  for (const auto& parameter : info.parameters) {
    parameterMemoryKinds.add(parameter.memoryKind);
    parameterLayouts.push_back(isthmus::pjrt::layoutOf(parameter.type));
  }
  auto hasSharding = [](const isthmus::BufferSpec& spec) { return !spec.sharding.empty(); };
  if (std::all_of(info.outputs.begin(), info.outputs.end(), hasSharding)) {
    for (const auto& output : info.outputs) outputShardings.add(output.sharding);
  }
  if (std::all_of(info.parameters.begin(), info.parameters.end(), hasSharding)) {
    for (const auto& parameter : info.parameters) parameterShardings.add(parameter.sharding);
  }
}

namespace isthmus::pjrt {

PJRT_Executable* newExecutableHandle(std::shared_ptr<const Executable> executable) {
  return new PJRT_Executable(std::move(executable));
}

std::shared_ptr<const Executable> executableOf(const PJRT_Executable* executable) {
  return executable->executable;
}

namespace {

Status executableDestroy(PJRT_Executable_Destroy_Args& args) {
  delete args.executable;
  return {};
}

Status executableName(PJRT_Executable_Name_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  args.executable_name = args.executable->info.name.data();
  args.executable_name_size = args.executable->info.name.size();
  return {};
}

Status executableNumReplicas(PJRT_Executable_NumReplicas_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  args.num_replicas = static_cast<size_t>(args.executable->info.options.numReplicas);
  return {};
}

Status executableNumPartitions(PJRT_Executable_NumPartitions_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  args.num_partitions = static_cast<size_t>(args.executable->info.options.numPartitions);
  return {};
}

Status executableNumOutputs(PJRT_Executable_NumOutputs_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  args.num_outputs = args.executable->info.outputs.size();
  return {};
}

Status executableSizeOfGeneratedCode(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  args.size_in_bytes = args.executable->info.memory.generatedCodeBytes;
  return {};
}

Status executableFingerprint(PJRT_Executable_Fingerprint_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  args.executable_fingerprint = args.executable->info.fingerprint.data();
  args.executable_fingerprint_size = args.executable->info.fingerprint.size();
  return {};
}

Status executableGetCostAnalysis(PJRT_Executable_GetCostAnalysis_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  args.properties = args.executable->costs.data();
  args.num_properties = args.executable->costs.size();
  return {};
}

Status executableGetCompiledMemoryStats(PJRT_Executable_GetCompiledMemoryStats_Args& args) {
  using Args = PJRT_Executable_GetCompiledMemoryStats_Args;
  ISTHMUS_REQUIRE(args, executable);
  const MemoryAnalysis& memory = args.executable->info.memory;
  args.generated_code_size_in_bytes = memory.generatedCodeBytes;
  args.argument_size_in_bytes = memory.argumentBytes;
  args.output_size_in_bytes = memory.outputBytes;
  args.alias_size_in_bytes = memory.aliasBytes;
  args.temp_size_in_bytes = memory.tempBytes;
  int64_t total = memory.argumentBytes + memory.outputBytes - memory.aliasBytes + memory.tempBytes;
  for (int64_t Args::* hostField :
       {&Args::host_generated_code_size_in_bytes, &Args::host_argument_size_in_bytes,
        &Args::host_output_size_in_bytes, &Args::host_alias_size_in_bytes,
        &Args::host_temp_size_in_bytes, &Args::indefinite_allocations}) {
    put(args, hostField, int64_t{0});
  }
  put(args, &Args::peak_memory_in_bytes, total);
  put(args, &Args::total_size_in_bytes, total + memory.generatedCodeBytes);
  put(args, &Args::total_allocation_bytes, total);
  put(args, &Args::peak_unpadded_heap_bytes, memory.tempBytes);
  return {};
}

Status executableOutputElementTypes(PJRT_Executable_OutputElementTypes_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  args.output_types = args.executable->outputTypes.data();
  args.num_output_types = args.executable->outputTypes.size();
  return {};
}

Status executableOutputDimensions(PJRT_Executable_OutputDimensions_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  args.num_outputs = args.executable->outputRanks.size();
  args.dims = args.executable->outputDims.data();
  args.dim_sizes = args.executable->outputRanks.data();
  return {};
}

Status executableParameterMemoryKinds(PJRT_Executable_ParameterMemoryKinds_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  const auto& kinds = args.executable->parameterMemoryKinds;
  args.num_parameters = kinds.data.size();
  args.memory_kinds = kinds.data.data();
  args.memory_kind_sizes = kinds.sizes.data();
  return {};
}

Status executableOutputMemoryKinds(PJRT_Executable_OutputMemoryKinds_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  const auto& kinds = args.executable->outputMemoryKinds;
  args.num_outputs = kinds.data.size();
  args.memory_kinds = kinds.data.data();
  args.memory_kind_sizes = kinds.sizes.data();
  return {};
}

// Called twice: first with a null `code` for the size, then to fill the caller's memory.
Status executableOptimizedProgram(PJRT_Executable_OptimizedProgram_Args& args) {
  static constexpr std::string_view kFormat = "mlir";
  ISTHMUS_REQUIRE(args, executable);
  ISTHMUS_RETURN_IF_ERROR(checkSize(args.program));
  PJRT_Program& program = *args.program;
  std::lock_guard lock(args.executable->optimizedProgramMutex);
  std::string& code = args.executable->optimizedProgram;
  if (code.empty()) {
    StatusOr<std::string> made = isthmus::optimizedProgram(linkedBackend(), args.executable->info);
    if (!made.ok()) {
      return made.status().withContext("PJRT_Executable_OptimizedProgram of '" +
                                       args.executable->info.name + "'");
    }
    code = std::move(*made);
  }
  program.format = kFormat.data();
  program.format_size = kFormat.size();
  if (program.code == nullptr) {
    program.code_size = code.size();
    return {};
  }
  if (program.code_size < code.size()) {
    return invalidArgument("PJRT_Executable_OptimizedProgram: `code_size` is ", program.code_size,
                           " bytes, the program needs ", code.size());
  }
  std::memcpy(program.code, code.data(), code.size());
  program.code_size = code.size();
  return {};
}

Status executableSerialize(PJRT_Executable_Serialize_Args& args) {
  args.serialized_bytes = nullptr;
  args.serialized_bytes_size = 0;
  args.serialized_executable = nullptr;
  args.serialized_executable_deleter = nullptr;
  ISTHMUS_REQUIRE(args, executable);
  ISTHMUS_ASSIGN_OR_RETURN(std::string bytes, args.executable->executable->serialize());
  auto* serialized = new PJRT_SerializedExecutable{std::move(bytes)};
  args.serialized_bytes = serialized->bytes.data();
  args.serialized_bytes_size = serialized->bytes.size();
  args.serialized_executable = serialized;
  args.serialized_executable_deleter = [](PJRT_SerializedExecutable* object) { delete object; };
  return {};
}

Status executableGetCompileOptions(PJRT_Executable_GetCompileOptions_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  auto* serialized = new PJRT_SerializedCompileOptions{args.executable->info.options.serialized};
  args.serialized_bytes = serialized->bytes.data();
  args.serialized_bytes_size = serialized->bytes.size();
  args.serialized_compile_options = serialized;
  args.serialized_compile_options_deleter = [](PJRT_SerializedCompileOptions* object) {
    delete object;
  };
  return {};
}

}  // namespace

void bindExecutable(PJRT_Api& api) {
  api.PJRT_Executable_Destroy = kEntry<&executableDestroy>;
  api.PJRT_Executable_Name = kEntry<&executableName>;
  api.PJRT_Executable_NumReplicas = kEntry<&executableNumReplicas>;
  api.PJRT_Executable_NumPartitions = kEntry<&executableNumPartitions>;
  api.PJRT_Executable_NumOutputs = kEntry<&executableNumOutputs>;
  api.PJRT_Executable_SizeOfGeneratedCodeInBytes = kEntry<&executableSizeOfGeneratedCode>;
  api.PJRT_Executable_Fingerprint = kEntry<&executableFingerprint>;
  api.PJRT_Executable_GetCostAnalysis = kEntry<&executableGetCostAnalysis>;
  api.PJRT_Executable_GetCompiledMemoryStats = kEntry<&executableGetCompiledMemoryStats>;
  api.PJRT_Executable_OutputElementTypes = kEntry<&executableOutputElementTypes>;
  api.PJRT_Executable_OutputDimensions = kEntry<&executableOutputDimensions>;
  api.PJRT_Executable_ParameterMemoryKinds = kEntry<&executableParameterMemoryKinds>;
  api.PJRT_Executable_OutputMemoryKinds = kEntry<&executableOutputMemoryKinds>;
  api.PJRT_Executable_OptimizedProgram = kEntry<&executableOptimizedProgram>;
  api.PJRT_Executable_Serialize = kEntry<&executableSerialize>;
  api.PJRT_Executable_GetCompileOptions = kEntry<&executableGetCompileOptions>;
}

}  // namespace isthmus::pjrt
