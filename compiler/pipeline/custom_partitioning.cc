#include "compiler/pipeline/custom_partitioning.h"

#include "base/custom_partitioners.h"
#include "compiler/dialect/diagnostics/diagnostics.h"
#include "compiler/import/hlo/shapes.h"
#include "compiler/import/hlo/sharding.h"
#include "compiler/import/import.h"
#include "compiler/pipeline/pipeline.h"
#include "isthmus/wire_format.h"

namespace isthmus {
namespace {

JAX_CustomCallPartitioner_string viewOf(const std::string& text) {
  return {text.data(), text.size()};
}

std::string_view viewOf(JAX_CustomCallPartitioner_string text) { return {text.data, text.size}; }

// Of one value itself, of several as a tuple.
std::string shardingMessage(const std::vector<std::string>& shardings) {
  constexpr uint64_t kTuple = 2;
  if (shardings.size() == 1) return shardings[0];
  wire::Writer message;
  message.varint(1, kTuple);
  for (const std::string& sharding : shardings) message.bytes(5, sharding);
  return message.take();
}

Status readShardings(JAX_CustomCallPartitioner_string message, size_t count,
                     std::vector<std::string>& texts) {
  hlo::Sharding sharding;
  importer::ErrorSink sink;
  if (!hlo::parse(viewOf(message), sharding)) {
    return invalidArgument("a custom partitioner gave a malformed sharding");
  }
  return importer::leafShardings(sharding, count, texts, sink) ? Status() : sink.status();
}

// Frees what the function's results live in.
class Results {
 public:
  explicit Results(JAX_CustomCallPartitioner_version_and_error& header) : header_(header) {}
  ~Results() {
    if (header_.cleanup_fn != nullptr) header_.cleanup_fn(header_.data);
  }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

 private:
  JAX_CustomCallPartitioner_version_and_error& header_;
};

}  // namespace

StatusOr<std::optional<PartitionedCall>> partitionCustomCall(
    shlo::CustomCallOp call, const std::vector<std::string>& operands,
    const std::vector<std::string>& results) {
  JAX_CustomCallPartitioner_Callbacks* partitioner =
      findCustomPartitioner(call.getCallTargetName());
  if (partitioner == nullptr) return std::optional<PartitionedCall>();
  importer::ErrorSink sink;
  std::vector<std::string> shapes;
  for (mlir::Type type : call->getOperandTypes()) {
    shapes.push_back(importer::shapeMessage(type, sink));
  }
  const std::string resultShape = importer::shapeMessage(call->getResultTypes(), sink);
  const std::string resultSharding = shardingMessage(results);
  auto config = llvm::dyn_cast_or_null<mlir::StringAttr>(call.getBackendConfigAttr());
  const std::string key = config ? config.getValue().str() : std::string();
  if (sink.failed()) return sink.status().withContext(sourceLocation(call.getLoc()));

  std::vector<JAX_CustomCallPartitioner_aval> values;
  for (size_t i = 0; i < operands.size(); ++i) {
    values.push_back({viewOf(shapes[i]), true, viewOf(operands[i])});
  }
  JAX_CustomCallPartitioner_Partition_Args args = {};
  args.num_args = values.size();
  args.op_args = values.data();
  args.op_result = {viewOf(resultShape), true, viewOf(resultSharding)};
  args.backend_config = viewOf(key);
  Results owned(args.header);
  partitioner->partition(partitioner, &args);
  if (args.header.has_error) {
    return Status(static_cast<StatusCode>(args.header.code),
                  std::string(viewOf(args.header.error_msg)))
        .withContext(sourceLocation(call.getLoc()));
  }
  PartitionedCall part;
  part.operands.resize(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    std::vector<std::string> one;
    ISTHMUS_RETURN_IF_ERROR(readShardings(args.args_sharding[i], 1, one));
    part.operands[i] = one[0];
  }
  ISTHMUS_RETURN_IF_ERROR(readShardings(args.result_sharding, results.size(), part.results));
  ISTHMUS_ASSIGN_OR_RETURN(part.program,
                           importProgram(viewOf(args.mlir_module), "mlir", *call.getContext()));
  PipelineOptions options;
  options.stopAfter = "legalize";
  ISTHMUS_RETURN_IF_ERROR(runPipeline(part.program, options));
  return std::optional<PartitionedCall>(std::move(part));
}

}  // namespace isthmus
