// A module and the reference evaluator.
#include "isthmus/reference_program.h"

#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/import/import.h"
#include "compiler/pipeline/pipeline.h"
#include "compiler/program/program_info.h"
#include "compiler/reference/interpreter.h"

namespace isthmus {
namespace {

using reference::Tensor;
using reference::Value;

class EvaluatedProgram final : public ReferenceProgram {
 public:
  Status compile(const CompileRequest& request) {
    if (request.options.numReplicas * request.options.numPartitions > 1) {
      return unimplemented("the reference evaluator runs programs of one device, got ",
                           request.options.numReplicas, " replicas and ",
                           request.options.numPartitions, " partitions");
    }
    context_ = makeContext();
    ISTHMUS_ASSIGN_OR_RETURN(module_, importProgram(request.code, request.format, *context_));
    PipelineOptions pipeline;
    pipeline.compile = request.options;
    pipeline.stopAfter = "partition";
    ISTHMUS_RETURN_IF_ERROR(runPipeline(module_, pipeline));
    main_ = module_->lookupSymbol<mlir::func::FuncOp>("main");
    if (!main_ || main_.isExternal()) return invalidArgument("the program has no function main");
    info_.name = module_->getName().value_or("main").str();
    info_.code = request.code;
    info_.format = request.format;
    info_.options = request.options;
    info_.fingerprint = Digest()
                            .add("reference")
                            .add(request.format)
                            .add(request.code)
                            .add(request.options.serialized)
                            .hex();
    ISTHMUS_RETURN_IF_ERROR(describeProgram(main_, info_));
    if (request.options.deviceAssignment)
      info_.deviceAssignment = *request.options.deviceAssignment;
    countCosts(main_, info_.costs);
    return {};
  }

  const ProgramInfo& info() const override { return info_; }

  Status run(std::span<const void* const> parameters,
             std::span<void* const> results) const override {
    if (parameters.size() != info_.parameters.size() || results.size() != info_.outputs.size()) {
      return internalError("program ", info_.name, " was given ", parameters.size(),
                           " parameters and ", results.size(), " results");
    }
    // As the function has them: in the order in which they lie in memory.
    std::vector<Value> arguments;
    for (size_t i = 0; i < parameters.size(); ++i) {
      ISTHMUS_ASSIGN_OR_RETURN(Value value, argument(i, parameters[i]));
      arguments.push_back(std::move(value));
    }
    std::lock_guard lock(mutex_);
    reference::Interpreter interpreter(*module_);
    StatusOr<std::vector<Value>> values = interpreter.run(main_, std::move(arguments));
    if (!values.ok()) return values.status().withContext("program " + info_.name);
    for (size_t i = 0; i < results.size(); ++i) {
      const Tensor& tensor = (*values)[i].tensor;
      if (tensor.sizeBytes() != info_.outputs[i].type.sizeBytes()) {
        return internalError("program ", info_.name, ": result ", i, " has ", tensor.sizeBytes(),
                             " bytes, expected ", info_.outputs[i].type.sizeBytes());
      }
      if (tensor.sizeBytes() > 0) std::memcpy(results[i], tensor.data(), tensor.sizeBytes());
    }
    return {};
  }

 private:
  StatusOr<Value> argument(size_t index, const void* data) const {
    const ArrayType& type = info_.parameters[index].type;
    if (type.elementType == ElementType::kToken) return Value::token();
    // Dimensions from the slowest in memory to the fastest.
    ArrayType inMemory{type.elementType, type.dims};
    for (size_t i = 0; i < type.minorToMajor.size(); ++i) {
      size_t from = type.minorToMajor.size() - 1 - i;
      inMemory.dims[i] = type.dims[static_cast<size_t>(type.minorToMajor[from])];
    }
    ISTHMUS_ASSIGN_OR_RETURN(Tensor tensor, Tensor::make(std::move(inMemory)));
    if (tensor.sizeBytes() > 0) std::memcpy(tensor.data(), data, tensor.sizeBytes());
    return Value(std::move(tensor));
  }

  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::func::FuncOp main_;
  ProgramInfo info_;
  mutable std::mutex mutex_;
};

}  // namespace

bool ReferenceProgram::knows(std::string_view op) {
  return findOpFacts(llvm::StringRef(op)) != nullptr;
}

StatusOr<std::unique_ptr<ReferenceProgram>> ReferenceProgram::compile(
    const CompileRequest& request) {
  auto program = std::make_unique<EvaluatedProgram>();
  ISTHMUS_RETURN_IF_ERROR(program->compile(request));
  return std::unique_ptr<ReferenceProgram>(std::move(program));
}

}  // namespace isthmus
